"""Arguments of laws: numbers, probabilities and whole numbers as arrays, shapes, generators."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fltheory.errors import LARGEST, InputError, count

Floats: TypeAlias = npt.NDArray[np.float64]


def numbers(argument: str, value: npt.ArrayLike) -> Floats:
    """`value` as a float array without NaN; text and truth values are no numbers."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iufO":
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, value, "a number or array of numbers") from None
    if np.isnan(array).any():
        raise InputError(argument, math.nan, "a number or array of numbers, NaN not among them")
    return array


def whole_numbers(argument: str, value: npt.ArrayLike, *, infinity: bool = False) -> Floats:
    """`value` as a float array of whole numbers from 1 to 2**53 (or, with `infinity`, infinite)."""
    array = numbers(argument, value)
    good = (array >= 1) & (array <= LARGEST) & (array == np.floor(array)) | (infinity & (array == math.inf))
    if (array == LARGEST).any():  # which 2**53 + 1 is rounded to
        good &= np.asarray(value, dtype=object) == array
    if not good.all():
        allowed = "a whole number from 1 to 2**53" + (", or infinity" if infinity else "")
        raise InputError(argument, np.asarray(value, dtype=object)[~good].flat[0], allowed)
    return array


def broadcast(**parameters: Floats) -> list[Floats]:
    """Read-only copies of the parameters, broadcast to one shape."""
    shapes = [array.shape for array in parameters.values()]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise InputError("shapes of " + " and ".join(parameters), shapes, "compatible") from None
    return [np.broadcast_to(array.copy(), shape) for array in parameters.values()]


def sample_shape(size: int | tuple[int, ...] | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    """`size` as a shape that parameters of shape `shape` broadcast to; None stands for `shape` itself."""
    if size is None:
        return shape
    wanted = tuple(count("size", n, least=0) for n in (size if isinstance(size, tuple) else (size,)))
    try:
        if np.broadcast_shapes(wanted, shape) == wanted:
            return wanted
    except ValueError:
        pass
    raise InputError("size", size, f"a shape that the parameters' shape {shape} broadcasts to")
