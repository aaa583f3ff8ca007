"""A copy of a module, so that neither changes the other."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from fltheory.errors import InputError
from sims.refusals import reason_of
from sims.training.spoil import owner_of, reached


def copied(module: nn.Module) -> nn.Module:
    """A deep copy of a module; results of earlier passes that it holds are numbers in it.

    What functions and classes hold is not copied: that no pass reads parts of the module there is tried elsewhere
    (`sims.training.spoil`). Raises InputError for a module that has no copy.
    """
    held = [value for part in module.modules() for value in vars(part).values() if isinstance(value, Tensor)]
    results = {id(tensor): tensor.detach().clone() for tensor in held if not tensor.is_leaf}  # torch copies none
    memo: dict[int, Any] = {**results}
    try:
        with torch.no_grad():  # else parameters of scripts are results, too
            own = copy.deepcopy(module, memo)
            for given in module.parameters():  # torch copies a parameter without what it is told to remember
                if isinstance(memo.get(id(given)), Tensor):
                    vars(memo[id(given)]).update(copy.deepcopy(vars(given), memo))
    except Exception as error:  # such as a lock
        allowed = f"one of which copy.deepcopy makes a copy ({reason_of(error)})"
        raise InputError("module", type(module).__name__, allowed) from None
    if not isinstance(own, nn.Module):
        raise InputError("module", type(module).__name__, "one whose copy.deepcopy is a module")
    for (name, part), (_, given) in zip(own.named_parameters(), module.named_parameters(), strict=False):
        if part.data_ptr() == given.data_ptr() and part.numel():
            raise InputError("module", type(module).__name__, f"one whose copy.deepcopy has a {name} of its own")
        if not same(part, given):
            allowed = f"one whose copy.deepcopy has its numbers (not of {name})"
            raise InputError("module", type(module).__name__, allowed)
        part.requires_grad_(given.requires_grad)
    return own


def same(one: Tensor, other: Tensor) -> bool:
    """Whether numbers are the same, NaN as NaN."""
    if torch.equal(one, other):
        return True
    broken = one.is_floating_point() or one.is_complex()
    return broken and one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)


@contextmanager
def in_own_memory(module: nn.Module) -> Iterator[None]:
    """Within it tensors of a module are copied to torch's memory where theirs is other, such as a file's.

    Trying the module writes to its parameters, and other memory may be one that can only be read. Tensors that share
    memory still do. Memory of an array that the module holds stays: a pass may look at it there.
    """
    held = reached(module)
    arrays = [owner_of(one) for one in held if isinstance(one, np.ndarray)]
    places = [range(one.ctypes.data, one.ctypes.data + one.nbytes) for one in arrays if one is not None]
    memory: dict[tuple[int, int], torch.UntypedStorage] = {}
    before = []
    for tensor in held:
        if not isinstance(tensor, Tensor) or is_lazy(tensor):
            continue
        if tensor.layout != torch.strided or tensor.is_meta or tensor.is_inference():
            continue
        own = tensor.untyped_storage()
        if own.resizable() or any(own.data_ptr() in place for place in places):
            continue
        key = own.data_ptr(), own.nbytes()
        if key not in memory:
            memory[key] = own.clone()  # type: ignore[no-untyped-call]
        before.append((tensor, tensor.data, memory[key]))
    try:
        for tensor, data, there in before:
            empty = torch.empty(0, dtype=data.dtype, device=data.device)
            tensor.data = empty.set_(there, data.storage_offset(), data.shape, data.stride())
        yield
    finally:
        for tensor, data, _ in before:
            tensor.data = data
