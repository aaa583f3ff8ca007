"""Errors while an experiment is put together, made into one sentence that says which part of it is at fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from fltheory.errors import InputError, printable


@contextmanager
def building(part: str, parameters: Mapping[str, Any]) -> Iterator[None]:
    """What a constructor makes of parameters that it does not check, as an InputError that names both.

    part   what it is, and its name: parameters are not at fault where memory is used up, and are left out

    For the time before a run only: an error of the running simulation is a fault of the program and must be seen.
    """
    try:
        with np.errstate(all="ignore"):  # what overflows is refused; a warning would say it twice
            yield
    except InputError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, RuntimeError, MemoryError) as error:
        if is_out_of_memory(error):
            what, _, name = part.partition(" ")
            raise InputError(what, name, f"one that fits into memory ({reason_of(error)})") from error
        raise InputError(part, dict(parameters), f"given other parameters ({reason_of(error)})") from error


@contextmanager
def loading(package: str, argument: str, value: str) -> Iterator[None]:
    """Why a package of the extra `training` that the value of an argument needs cannot be had, as an InputError."""
    try:
        yield
    except (ImportError, OSError, MemoryError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == package:
            allowed = f"asked for with {package} installed (the extra `training`)"
        elif is_out_of_memory(error):
            allowed = f"asked for where memory holds {package} ({reason_of(error)})"
        else:
            allowed = f"asked for with a {package} that can be loaded ({reason_of(error)})"
        raise InputError(argument, value, allowed) from error


def reason_of(error: BaseException) -> str:
    """What an error of a library says, in one short line."""
    reason = printable(" ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":"))
    return reason if len(reason) <= 160 else reason[:157] + "..."


def is_out_of_memory(error: BaseException) -> bool:
    """Whether there was no memory left.

    Torch raises a RuntimeError for it, of a kind of its own on a card alone, and a library that does not fit into what
    the shell allows (`ulimit -v`) is an ImportError.
    """
    says = str(error).lower()
    told = ("out of memory", "allocate memory", "failed to map segment")
    return isinstance(error, MemoryError) or any(words in says for words in told)


@contextmanager
def about(label: str) -> Iterator[None]:
    """Put the label of the algorithm that is at fault before the sentence; nothing for an empty one."""
    try:
        yield
    except InputError as error:
        if label:
            error.args = (f"algorithm {label!r}: {error}",)
        raise
