"""That a copy of a module reads nothing of the original, tried by making the original useless.

`copy.deepcopy` leaves functions and classes as they are, and with them what they hold, such as a layer in a closure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    held = _reached(module)
    parts = [(part, part.training) for part in held if isinstance(part, nn.Module)]
    numbers = [one.data for one in held if isinstance(one, Tensor) and is_plain(one)]  # .data: graphs do not see it
    tensors = [*numbers, *(tensor for one in held if isinstance(one, np.ndarray) for tensor in _memory_of(one))]
    before = [tensor.clone() for tensor in tensors]
    try:
        for part, training in parts:
            part.training = not training
        for tensor in tensors:
            if tensor.dtype in WHOLE:
                tensor.bitwise_not_()
            else:
                tensor.fill_(torch.nan)
        yield
    finally:
        for tensor, kept in zip(tensors, before, strict=True):
            tensor.copy_(kept)
        for part, training in parts:
            part.training = training


def _memory_of(array: np.ndarray[Any, Any]) -> Iterator[Tensor]:
    """An array as a tensor with its memory, if torch has such numbers and the array may be written to."""
    if array.flags.writeable:
        with suppress(TypeError, ValueError):  # of objects, or from behind
            tensor = torch.from_numpy(array)
            if is_plain(tensor):
                yield tensor


def _reached(module: nn.Module) -> list[Any]:
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


def is_plain(tensor: Tensor) -> bool:
    """Whether it has numbers of a usual kind, each with memory of its own that can be written to."""
    if (
        tensor.dtype not in (*WHOLE, *BROKEN)
        or tensor.layout != torch.strided
        or tensor.is_inference()
        or tensor.device.type == "meta"
    ):
        return False
    return all(step or size == 1 for step, size in zip(tensor.stride(), tensor.shape, strict=True))
