"""The models of FAST (Appendix B.1.1), with torch's default initialisation.

The paper gives the kinds of layers and their numbers and leaves the rest to source code that is not public. Chosen
here: kernels 3x3 with padding 1, filters 32, 64 (and 64), one hidden width of 128, and for characters the widths
of LEAF's Shakespeare model (embedding 8, two LSTM layers of 256 units), with dropout 0.2.
"""

from __future__ import annotations

from torch import Tensor, nn

from fltheory.errors import count
from sims.training.models.layers import Chain, Dropout, Lstm, Masks, Model, cnn


def fashion(channels: int = 1, size: int = 28, classes: int = 10) -> Chain:
    """Fashion-MNIST: conv 3x3 32, pool, conv 3x3 64, pool, 3136-128-10. 421,642 parameters (widths chosen here)."""
    return cnn(channels, size, (32, 64), 3, (128,), classes)


def cifar10(channels: int = 3, size: int = 32, classes: int = 10) -> Chain:
    """CIFAR-10: conv 3x3 32, 64, 64, a pool after each, 1024-128-10. 188,810 parameters (widths chosen here)."""
    return cnn(channels, size, (32, 64, 64), 3, (128,), classes)


class CharLstm(Model):
    """Token ids (B, length) -> logits (B, vocabulary) of the character that follows the last position."""

    def __init__(self, vocabulary: int, embedding: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(count("vocabulary", vocabulary, least=2), count("embedding", embedding))
        self.lstm = Lstm(embedding, hidden, 2)
        self.dropout = Dropout(dropout, hidden)
        self.linear = nn.Linear(hidden, vocabulary)

    def forward(self, x: Tensor, masks: Masks = None) -> Tensor:
        (mask,) = self._masks(masks)
        out: Tensor = self.linear(self.dropout(self.lstm(self.embedding(x))[:, -1], mask))
        return out


def char_lstm(vocabulary: int = 80, embedding: int = 8, hidden: int = 256, dropout: float = 0.2) -> CharLstm:
    """Shakespeare: embedding 80x8, LSTM of two layers of 256 units, dropout 0.2, linear 256-80 (widths chosen here).

    819,920 parameters. The loss is that of one character a sequence, the next one. The dropout layer stands between
    the LSTM's last output and the linear layer; its rate is chosen here too.
    """
    return CharLstm(vocabulary, embedding, hidden, dropout)
