"""Who plays which part in a round, for algorithms with two: role 1 or 0 for every slot of a cohort.

A rule is a function (round, cohort, rng) -> integers (..., S); the functions below make one from its settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from fltheory.errors import InputError, count, probabilities
from sims.algorithms import fedamd
from sims.algorithms.protocol import Cohort

Roles = Callable[[int, Cohort, np.random.Generator], np.ndarray]


def constant(probability: Any) -> Roles:
    """Each client for itself: role 1, FedAMD's anchor, with this probability."""
    _one_probability(probability)
    return partial(_constant, probability=probability)


def sequential(period: int) -> Roles:
    """All clients have role 1 in rounds 0, period, 2 period, ..., nobody in the others."""
    return partial(_sequential, period=count("period", period, least=2))


def full_rounds(probability: Any) -> Roles:
    """All clients of a replicate have role 1 in round 0, and later with this probability (FedPAGE)."""
    _one_probability(probability)
    return partial(_full_rounds, probability=probability)


def one() -> Roles:
    """Role 1 for one client of the cohort, uniformly (BVR-L-SGD)."""
    return _one


ROLES: Mapping[str, Callable[..., Roles]] = {
    "constant": constant,
    "full_rounds": full_rounds,
    "one": one,
    "sequential": sequential,
}


def _one_probability(value: Any) -> None:
    if probabilities("probability", value, zero=True).ndim:
        raise InputError("probability", value, "one number in [0, 1]")


def _constant(round: int, cohort: Cohort, rng: np.random.Generator, *, probability: Any) -> np.ndarray:
    return fedamd.roles(probability, cohort.clients.shape, rng)


def _sequential(round: int, cohort: Cohort, rng: np.random.Generator, *, period: int) -> np.ndarray:
    return np.full(cohort.clients.shape, fedamd.sequential(period, round))


def _full_rounds(round: int, cohort: Cohort, rng: np.random.Generator, *, probability: Any) -> np.ndarray:
    full = (rng.random(cohort.clients.shape[:-1]) < probability) | (round == 0)
    return np.broadcast_to(full[..., None].astype(np.int64), cohort.clients.shape)


def _one(round: int, cohort: Cohort, rng: np.random.Generator) -> np.ndarray:
    draws = np.where(cohort.valid, rng.random(cohort.clients.shape), -1)
    picked = draws.argmax(axis=-1)[..., None]
    return np.where(np.arange(draws.shape[-1]) == picked, 1, 0)
