"""Learning-rate schedules: factors of the local step size as functions of the round."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

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
