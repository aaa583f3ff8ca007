"""A copy of a module that has nothing of it, so that neither changes the other."""

from __future__ import annotations

import copy
import weakref
from collections import deque
from collections.abc import Iterable
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from fltheory.errors import InputError
from sims.refusals import reason_of


def copied(module: nn.Module) -> nn.Module:
    """A deep copy of a module; results of earlier passes that it holds are numbers in it.

    Raises InputError for a module that has none, or one that holds parts of the module, as functions do that are no
    methods: hooks and attributes that were made with the module at hand.
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
        if not torch.equal(part, given):
            allowed = f"one whose copy.deepcopy has its numbers (not of {name})"
            raise InputError("module", type(module).__name__, allowed)
        part.requires_grad_(given.requires_grad)
    if (found := _of_both(own, module)) is not None:
        allowed = "one whose copy.deepcopy has nothing of it (no function or hook holds parts of it, but methods)"
        raise InputError("module", f"{type(module).__name__}, of which the copy holds a {found}", allowed)
    return own


def _of_both(own: nn.Module, module: nn.Module) -> str | None:
    """The kind of a part of the module that its copy holds."""
    parts = (*module.modules(), *(p for _, p in module.named_parameters()), *(b for _, b in module.named_buffers()))
    theirs = {id(part): type(part).__name__ for part in parts}
    left: list[Any] = list(own.modules())
    seen: set[int] = set()
    while left:
        one = left.pop()
        if id(one) in theirs:
            return theirs[id(one)]
        if id(one) not in seen:
            seen.add(id(one))
            left += _held_by(one)
    return None


def _held_by(one: Any) -> Iterable[Any]:
    """What an object holds, as far as a pass may come upon it through the object itself."""
    if isinstance(one, dict):
        return list(one.values())
    if isinstance(one, list | tuple | set | frozenset | deque):
        return list(one)
    if isinstance(one, FunctionType):
        cells = [cell.cell_contents for cell in one.__closure__ or () if _is_full(cell)]
        named = [one.__globals__[name] for name in one.__code__.co_names if name in one.__globals__]
        return [*cells, *named, *(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values()]
    if isinstance(one, MethodType):
        return [one.__self__, one.__func__]
    if isinstance(one, partial):
        return [one.func, *one.args, *one.keywords.values()]
    if isinstance(one, weakref.ref):
        return [one()]
    if isinstance(one, type | ModuleType) or not hasattr(one, "__dict__"):
        return []
    if isinstance(one, Tensor):
        return list(vars(one).values())
    functions = [value for value in vars(type(one)).values() if isinstance(value, FunctionType)]
    return [*vars(one).values(), *functions]


def _is_full(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
