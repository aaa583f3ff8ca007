"""A fresh uniform cohort every round."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from fltheory.errors import InputError, count
from fltheory.participation.base import IndependentRounds, read_only, require_few_clients
from fltheory.participation.runs import FloatArray, IntArray, Runs, cohort_runs
from fltheory.streams import stream


class UniformSubset(IndependentRounds):
    """`cohort_size` of `n_clients` clients, uniformly without replacement, independently every round.

    The clients of a round depend on one another; a single client behaves like Bernoulli(cohort_size /
    n_clients). Raises InputError unless 1 <= cohort_size <= n_clients.

    >>> UniformSubset(n_clients=100, cohort_size=10).sample(5, seed=0).sum(axis=1)
    array([10, 10, 10, 10, 10])
    """

    def __init__(self, n_clients: int, cohort_size: int) -> None:
        self.n_clients, self.cohort_size = cohort_of(n_clients, cohort_size)

    @cached_property
    def rate(self) -> FloatArray:
        return read_only(np.full(require_few_clients(self.n_clients), self.cohort_size / self.n_clients))

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        rng = stream(seed, "participation.uniform-subset")
        return cohort_runs(self._cohorts(rng), rounds, self.cohort_size)

    def _expected_events(self, rounds: int) -> float:
        return float(rounds * self.cohort_size)

    def _cohorts(self, rng: np.random.Generator) -> Iterator[IntArray]:
        while True:
            yield rng.choice(self.n_clients, self.cohort_size, replace=False, shuffle=False)


def cohort_of(n_clients: int, cohort_size: int) -> tuple[int, int]:
    """Both numbers checked: 1 <= cohort_size <= n_clients."""
    n_clients, cohort_size = count("n_clients", n_clients), count("cohort_size", cohort_size)
    if cohort_size > n_clients:
        raise InputError("cohort_size", cohort_size, f"at most the number of clients, {n_clients}")
    return n_clients, cohort_size
