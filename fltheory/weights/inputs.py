"""What the weight rules accept: participation indicators, cutoffs, one probability, a saved state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory import errors
from fltheory.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def participation(argument: str, value: npt.ArrayLike, shape: tuple[int, ...] | None = None) -> BoolArray:
    """`value` as a boolean array, if need be of this shape; anything but booleans, zeros and ones is refused."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(argument, value, "an array of booleans or of zeros and ones, all rows of one length") from None
    if shape is not None and array.shape != shape:
        raise InputError(argument, array.shape, f"an array of shape {shape}")
    if array.dtype != np.bool_ and not ((array == 0) | (array == 1)).all():
        raise InputError(argument, array, "an array of booleans or of zeros and ones")
    return array.astype(np.bool_)


def whole_cutoff(cutoff: float) -> int:
    """A cutoff as a 64-bit whole number, the largest one standing for infinity."""
    checked = errors.cutoff("cutoff", cutoff)
    return int(np.iinfo(np.int64).max) if checked == math.inf else int(checked)


def probability(argument: str, value: npt.ArrayLike) -> float:
    """One probability in (0, 1]."""
    array = errors.probabilities(argument, value)
    if array.ndim:
        raise InputError(argument, array, "a single number in (0, 1]")
    return float(array)


def lone_rate(process_or_p: Any) -> float | None:
    """The rate, if it is one; None for a process. Anything else is refused, also the class of a process."""
    if isinstance(process_or_p, type):
        allowed = f"a rate or a process, such as {process_or_p.__name__}(0.1), not a class"
        raise InputError("process_or_p", process_or_p, allowed)
    if hasattr(process_or_p, "marginal"):
        return None
    try:
        return probability("process_or_p", process_or_p)
    except InputError:
        raise InputError("process_or_p", process_or_p, "a rate in (0, 1], or a participation process") from None


def read_array(
    state: Mapping[str, npt.ArrayLike], name: str, shape: tuple[int, ...], kinds: str = "iu"
) -> npt.NDArray[Any]:
    """The array of this name, shape and kind (of numpy's, by default whole numbers) in a saved state."""
    if not isinstance(state, Mapping):
        raise InputError("state", state, "a mapping of names to arrays, as `state_dict` gives")
    array = np.asarray(state[name]) if name in state else np.empty(0, dtype=np.object_)
    if array.shape != shape or array.dtype.kind not in kinds:
        shown = {key: np.shape(value) for key, value in state.items()}
        raise InputError("state", shown, f"a mapping with an array {name!r} of shape {shape} and kind {kinds!r}")
    return array
