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
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        reason = reason if len(reason) <= 160 else reason[:157] + "..."
        raise InputError(part, dict(parameters), f"given other parameters ({reason})") from error


@contextmanager
def about(label: str) -> Iterator[None]:
    """Put the label of the algorithm that is at fault before the sentence; nothing for an empty one."""
    try:
        yield
    except InputError as error:
        if label:
            error.args = (f"algorithm {label!r}: {error}",)
        raise
