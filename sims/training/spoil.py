"""That a copy of a module reads nothing of the original, tried by making the original useless.

`copy.deepcopy` leaves functions and classes as they are, and with them what they hold, such as a layer in a closure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fltheory.errors import InputError
from sims.refusals import is_out_of_memory

WHOLE = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
BROKEN = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128)
OF_ITS_OWN = (
    "one whose passes read its layers, tensors and arrays by self alone, as a task has a copy of it: what functions, "
    "hooks and classes hold is not copied"
)


@contextmanager
def reading_nothing_of(original: nn.Module) -> Iterator[None]:
    """Within it the original is spoiled; whatever a copy of it raises then is for that."""
    with spoiled(original):
        try:
            yield
        except (Exception, SystemExit) as error:
            if is_out_of_memory(error):
                raise
            raise InputError("module", type(original).__name__, OF_ITS_OWN) from None


@contextmanager
def spoiled(module: nn.Module) -> Iterator[None]:
    """Within it all that a module holds is of no use: numbers are none or others, and its parts in the other mode.

    What a copy of it makes of inputs then is what it made before, unless it holds parts of the module.
    """
    held = reached(module)
    parts = [(part, part.training) for part in held if isinstance(part, nn.Module)]
    tensors = [(one, one.data) for one in held if isinstance(one, Tensor) and is_plain(one)]
    arrays = [(one, one.copy()) for one in held if isinstance(one, np.ndarray) and _may_be_spoiled(one)]
    try:
        for part, training in parts:
            part.training = not training
        for tensor, numbers in tensors:  # other memory: this may be a file, or be read by a graph of its owner
            whole = tensor.dtype in WHOLE
            tensor.data = torch.bitwise_not(numbers) if whole else torch.full_like(numbers, torch.nan)
        for array, before in arrays:
            array[...] = np.nan if array.dtype.kind in "fc" else np.invert(before)
        yield
    finally:
        for tensor, numbers in tensors:
            tensor.data = numbers
        for array, before in arrays:
            array[...] = before
        for part, training in parts:
            part.training = training


def is_plain(tensor: Tensor) -> bool:
    """Whether it has numbers of a usual kind, each with memory of its own that can be written to."""
    if tensor.dtype not in (*WHOLE, *BROKEN) or tensor.layout != torch.strided:
        return False
    if tensor.is_inference() or tensor.device.type == "meta":
        return False
    return all(step or size == 1 for step, size in zip(tensor.stride(), tensor.shape, strict=True))


def _may_be_spoiled(array: np.ndarray[Any, Any]) -> bool:
    return array.flags.writeable and array.dtype.kind in "fcbiu" and owner_of(array) is not None


def owner_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """The array whose memory this one shows; None for memory that is not numpy's or torch's, such as a file."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    ours = array.base is None or (isinstance(array.base, Tensor) and array.base.untyped_storage().resizable())
    return array if ours else None


def reached(module: nn.Module) -> list[Any]:
    """What a module holds by attributes, in lists and tables, and in other objects: what `copy.deepcopy` copies."""
    found: dict[int, Any] = {}
    left: list[Any] = [module]
    while left:
        one = left.pop()
        if id(one) in found or isinstance(one, type | ModuleType | FunctionType | str | bytes):
            continue
        found[id(one)] = one
        if isinstance(one, dict):
            left += (*one.keys(), *one.values())
        elif isinstance(one, list | tuple | set | frozenset | deque):
            left += one
        own = getattr(one, "__dict__", None)
        if isinstance(own, dict):
            left += own.values()
    return list(found.values())
