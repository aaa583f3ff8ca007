"""Learning-rate schedules: factors of the local step size as functions of the round."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from fltheory.errors import InputError, count
from sims.algorithms.arguments import positive

Schedule = Callable[[int, int], float]  # (round, number of rounds) -> factor


def constant() -> Schedule:
    """The step size as it is."""
    return _constant


def inverse_sqrt() -> Schedule:
    """The step size over sqrt(T) for a run of T rounds, as the papers' corollaries ask.

    >>> inverse_sqrt()(17, 100)
    0.1
    """
    return _inverse_sqrt


def decay(at: Sequence[int], factor: float) -> Schedule:
    """The step size times `factor` once more from each round of `at` on.

    >>> [decay(at=[2, 3], factor=0.5)(t, 5) for t in range(5)]
    [1.0, 1.0, 0.5, 0.25, 0.25]
    """
    if not isinstance(at, Sequence):
        raise InputError("at", at, "a list of rounds")
    positive(factor=factor)
    return partial(_decay, at=tuple(count("at", t, least=0) for t in at), factor=factor)


def scheduled(schedule: Schedule, local_lr: Any, round: int, rounds: int) -> Any:
    """The local step size in a round; InputError that names the schedule where it rounds to 0 or overflows."""
    try:
        scaled = local_lr * schedule(round, rounds)
    except OverflowError:
        scaled = math.inf
    if not 0 < scaled < math.inf:
        allowed = f"one that keeps local_lr above 0 and finite; in round {round} it would be {scaled}"
        raise InputError("schedule", name_of(schedule), allowed)
    return scaled


def name_of(schedule: Schedule) -> str:
    """Its name in experiment files."""
    return str(getattr(getattr(schedule, "func", schedule), "__name__", schedule)).strip("_")


SCHEDULES: Mapping[str, Callable[..., Schedule]] = {
    "constant": constant,
    "decay": decay,
    "inverse_sqrt": inverse_sqrt,
}


def _constant(round: int, rounds: int) -> float:
    return 1.0


def _inverse_sqrt(round: int, rounds: int) -> float:
    return 1 / math.sqrt(rounds)


def _decay(round: int, rounds: int, *, at: tuple[int, ...], factor: float) -> float:
    return float(factor ** sum(round >= t for t in at))
