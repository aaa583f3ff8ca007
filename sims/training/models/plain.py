"""Models of no paper in particular, of any width; with torch's default initialisation."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from fltheory.errors import InputError, count
from sims.training.models.layers import Chain, dense

WIDEST = 2**30  # beyond it torch has no weights between two layers


def logistic(d: int, classes: int) -> Chain:
    """Multinomial logistic regression, d-classes, on anything that flattens to (B, d). (d + 1) classes parameters."""
    return Chain(nn.Flatten(), nn.Linear(count("d", d, most=WIDEST), count("classes", classes, least=2, most=WIDEST)))


def mlp(widths: Sequence[int]) -> Chain:
    """Linear layers of these widths with ReLU between them, on anything that flattens to (B, widths[0]).

    Sum of (in + 1) out parameters over the layers.
    """
    if isinstance(widths, str) or not isinstance(widths, Sequence) or len(widths) < 2:
        raise InputError("widths", widths, "a list of at least two whole numbers: inputs, hidden widths, classes")
    return Chain(nn.Flatten(), *dense([count("widths", width, most=WIDEST) for width in widths]))
