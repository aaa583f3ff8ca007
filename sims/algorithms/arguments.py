"""Checks of hyper-parameters that several algorithms share."""

from __future__ import annotations

import dataclasses
import math
import numbers
from typing import Any

import numpy as np

from fltheory.errors import InputError, count
from sims.arrays import Array, is_exact


def positive(**numbers: Any) -> None:
    """Raise InputError unless every number is above 0 and finite; ints, floats and Fractions will do."""
    for name, value in numbers.items():
        try:
            good = not _is_truth(value) and value > 0 and math.isfinite(value)
        except (TypeError, ValueError, OverflowError):
            good = False
        if not good:
            raise InputError(name, value, "a finite number above 0")


def not_negative(**numbers: Any) -> None:
    """Raise InputError unless every number is at least 0 and finite."""
    for name, value in numbers.items():
        if _is_truth(value) or value != 0:
            try:
                positive(**{name: value})
            except InputError:
                raise InputError(name, value, "a finite number of at least 0") from None


def batch_size(batch: int | None) -> None:
    """Raise InputError unless `batch` is a number of stochastic gradients, or None for the exact one."""
    if batch is not None:
        count("batch", batch)


def truth(**flags: Any) -> None:
    """Raise InputError unless every value is True or False: the text "no" would count as true."""
    for name, value in flags.items():
        if not _is_truth(value):
            raise InputError(name, value, "true or false")


def of_one_kind(hyper: Any, model: Array) -> None:
    """Raise InputError for a float among the parameters of an exact model, or a Fraction among those of a float one.

    Their products would silently be floats, or arrays of objects.
    """
    exact = is_exact(model)
    allowed = "an int or a Fraction, as the model is exact" if exact else "a float or an int, as the model is in floats"
    for name, value in _parameters(hyper):
        if _is_truth(value) or isinstance(value, int | np.integer) or not isinstance(value, numbers.Number):
            continue
        rational = isinstance(value, numbers.Rational)
        if not (rational if exact else isinstance(value, numbers.Real) and not rational):
            raise InputError(name, value, allowed)


def _parameters(hyper: Any) -> list[tuple[str, Any]]:
    """Name and value of every parameter, and of every number of those that are sequences."""
    if not dataclasses.is_dataclass(hyper):
        return []
    given = [(field.name, getattr(hyper, field.name)) for field in dataclasses.fields(hyper)]
    return [(name, one) for name, value in given for one in _flat(value)]


def _flat(value: Any) -> Any:
    return value if isinstance(value, tuple | list | np.ndarray) else [value]


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)
