"""A copy of a module that has nothing of it, so that neither changes the other."""

from __future__ import annotations

import copy
import dis
import weakref
from collections import deque
from collections.abc import Iterable
from functools import cached_property, partial
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fltheory.errors import InputError
from sims.refusals import reason_of

TABLES = (list, tuple, set, frozenset, deque)


def copied(module: nn.Module) -> nn.Module:
    """A deep copy of a module; results of earlier passes that it holds are numbers in it.

    Raises InputError for a module that has none, or one that holds parts of the module, as functions do that are no
    methods: hooks and attributes that were made with the module, or with its tensors and tables, at hand.
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
        allowed = (
            f"one that shares nothing with its copy.deepcopy, but both hold {found} (only what self holds is copied)"
        )
        raise InputError("module", type(module).__name__, allowed)
    return own


def _of_both(own: nn.Module, module: nn.Module) -> str | None:
    """A part of the module that its copy holds, and by what."""
    theirs = _parts(module)
    left: list[tuple[Any, str]] = [(part, "") for part in own.modules()]
    seen: set[int] = set()
    while left:
        one, how = left.pop()
        if id(one) in theirs:
            return f"its {type(one).__name__}" + (f" by {how}" if how else "")
        if id(one) not in seen:
            seen.add(id(one))
            left += [(value, by or how) for value, by in _held_by(one)]
    return None


def _parts(module: nn.Module) -> set[int]:
    """The ids of what somebody who has a module may change: modules, and tensors, arrays and tables in attributes."""
    left: list[Any] = list(module.modules())
    found: set[int] = set()
    while left:
        one = left.pop()
        if id(one) in found:
            continue
        if isinstance(one, nn.Module):
            left += vars(one).values()
        elif isinstance(one, dict):
            left += one.values()
        elif isinstance(one, TABLES):
            left += one
        elif not isinstance(one, Tensor | np.ndarray):
            continue
        if not isinstance(one, tuple | frozenset):
            found.add(id(one))
    return found


def _held_by(one: Any) -> Iterable[tuple[Any, str]]:
    """What an object holds, as far as a pass may come upon it through the object itself, and by what; "": by itself."""
    if isinstance(one, dict):
        yield from ((value, "") for value in one.values())
        yield getattr(one, "default_factory", None), ""
    elif isinstance(one, TABLES):
        yield from ((value, "") for value in one)
    elif isinstance(one, FunctionType):
        yield from _held_by_function(one)
    elif isinstance(one, MethodType | BuiltinMethodType | MethodWrapperType):
        yield one.__self__, f"the method {one.__name__}"
        yield getattr(one, "__func__", None), ""
    elif isinstance(one, partial):
        yield from ((value, "a partial function") for value in (one.func, *one.args, *one.keywords.values()))
    elif isinstance(one, weakref.ref):
        yield one(), "a weak reference"
    elif isinstance(one, property):
        yield one.fget, ""
    elif isinstance(one, staticmethod | classmethod | cached_property):
        yield getattr(one, "__func__", None) or getattr(one, "func", None), ""
    elif not isinstance(one, type | ModuleType):
        yield from ((value, "") for value in getattr(one, "__dict__", {}).values())
        yield from _held_by_classes(type(one), one)


def _held_by_function(one: FunctionType) -> Iterable[tuple[Any, str]]:
    name = one.__qualname__
    yield from ((cell.cell_contents, f"the function {name}") for cell in one.__closure__ or () if _is_full(cell))
    for value in (*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values()):
        yield value, f"a default of {name}"
    for word in _globals_of(one.__code__):
        if word in one.__globals__:
            yield one.__globals__[word], f"the global {word} of {name}"


def _globals_of(code: CodeType) -> Iterable[str]:
    """The names of the globals that a function, and the functions within, look up."""
    yield from (step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals_of(inner)


def _held_by_classes(kind: type, one: Any) -> Iterable[tuple[Any, str]]:
    """What an object holds in slots and by its classes, those of torch and of Python apart."""
    for each in kind.__mro__:
        if each.__module__.partition(".")[0] not in ("torch", "builtins"):
            slots = vars(each).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                yield getattr(one, name, None), ""
            yield from ((value, f"the class {each.__name__}") for value in vars(each).values())


def _is_full(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
