"""Checks of hyper-parameters that several algorithms share."""

from __future__ import annotations

import math
from typing import Any

from fltheory.errors import InputError, count


def positive(**numbers: Any) -> None:
    """Raise InputError unless every number is above 0 and finite; ints, floats and Fractions will do."""
    for name, value in numbers.items():
        try:
            good = value > 0 and math.isfinite(value)
        except (TypeError, ValueError):
            good = False
        if not good:
            raise InputError(name, value, "a finite number above 0")


def not_negative(**numbers: Any) -> None:
    """Raise InputError unless every number is at least 0 and finite."""
    for name, value in numbers.items():
        if value != 0:
            try:
                positive(**{name: value})
            except InputError:
                raise InputError(name, value, "a finite number of at least 0") from None


def batch_size(batch: int | None) -> None:
    """Raise InputError unless `batch` is a number of samples, or None for all there are."""
    if batch is not None:
        count("batch", batch)
