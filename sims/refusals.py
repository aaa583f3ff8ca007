"""Errors while an experiment is put together, made into one sentence that says which part of it is at fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from fltheory.errors import InputError


@contextmanager
def building(part: str, parameters: Mapping[str, Any]) -> Iterator[None]:
    """What a constructor makes of parameters that it does not check, as an InputError that names both.

    For the time before a run only: an error of the running simulation is a fault of the program and must be seen.
    """
    try:
        with np.errstate(all="ignore"):  # what overflows is refused; a warning would say it twice
            yield
    except InputError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, RuntimeError, MemoryError) as error:
        allowed = "one that fits into memory" if is_out_of_memory(error) else "given other parameters"
        raise InputError(part, dict(parameters), f"{allowed} ({reason_of(error)})") from error


def reason_of(error: Exception) -> str:
    """What an error of a library says, in one short line."""
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return reason if len(reason) <= 160 else reason[:157] + "..."


def is_out_of_memory(error: Exception) -> bool:
    """Whether there was no memory left; torch raises a RuntimeError for it, of a kind of its own on a card alone."""
    says = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in says or "allocate memory" in says


@contextmanager
def about(label: str) -> Iterator[None]:
    """Put the label of the algorithm that is at fault before the sentence; nothing for an empty one."""
    try:
        yield
    except InputError as error:
        if label:
            error.args = (f"algorithm {label!r}: {error}",)
        raise
