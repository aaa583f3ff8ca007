"""The models of FedLaAvg (Yan et al., Section 5), with torch's default initialisation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from fltheory.errors import InputError, count
from sims.training.models import plain
from sims.training.models.layers import Chain, FrozenVectors, Lstm, Masks, Model


def logistic(inputs: int = 784, classes: int = 10) -> Chain:
    """MNIST: multinomial logistic regression 784-10. 7,850 parameters."""
    return plain.logistic(inputs, classes)


class TextLstm(Model):
    """Token ids (B, length), padded with `padding`, -> logits (B, classes) after the last token that is not padding.

    The first class has logit 0, as in the authors' code, where one output stands against 0.
    """

    def __init__(self, vectors: Any, hidden: int, classes: int, padding: int | None) -> None:
        super().__init__()
        self.vectors = FrozenVectors(vectors)
        tokens, width = self.vectors.table.shape
        if padding is not None and count("padding", padding, least=0) >= tokens:
            raise InputError("padding", padding, f"one of the {tokens} tokens, or None")
        self.padding = padding
        self.lstm = Lstm(width, hidden, 2)
        self.linear = nn.Linear(hidden, count("classes", classes, least=2) - 1)

    def forward(self, x: Tensor, masks: Masks = None) -> Tensor:
        self._masks(masks)
        outputs = self.lstm(self.vectors(x))
        if self.padding is None:
            last = outputs[:, -1]
        else:
            place = torch.arange(x.shape[1], device=x.device) * (x != self.padding)
            at = place.amax(1)[:, None, None].expand(-1, 1, outputs.shape[-1])
            last = outputs.gather(1, at)[:, 0]
        logits = self.linear(last)
        return torch.cat([torch.zeros_like(logits[:, :1]), logits], 1)


def lstm(vectors: Any, hidden: int = 16, classes: int = 2, padding: int | None = 0) -> TextLstm:
    """Sentiment of tweets: frozen word vectors (tokens, d), LSTM of two layers of 16 units, linear 16-(classes - 1).

    4,945 parameters with the paper's 25-d vectors and 2 classes; 6,545 with 50-d vectors; 6,562 with 50-d vectors and
    3 classes. The vectors are data: they are not counted, not trained and not kept in a state dict. Row `padding` of
    the table stands for padding (None: there is none); a word without a vector is a row of zeros, as in the code.
    """
    return TextLstm(vectors, hidden, classes, padding)
