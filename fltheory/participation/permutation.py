"""Regularised participation: everybody once before anybody twice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fltheory.errors import InputError
from fltheory.participation.base import ParticipationProcess, read_only, require_few_clients
from fltheory.participation.runs import FloatArray, IntArray, Runs, cohort_runs
from fltheory.participation.subset import cohort_of
from fltheory.streams import stream

if TYPE_CHECKING:
    from fltheory.distributions import Discrete


class Permutation(ParticipationProcess):
    """A fresh uniform permutation of the clients is dealt out over every C = n_clients / cohort_size rounds.

    This is the regularised participation of amplified FedAvg (NeurIPS 2022, section 5). Cycles begin in
    rounds 0, C, 2C, ...; `autocovariance` is averaged over the position in the cycle: (1/C)(1 - 1/C) at lag
    0, -(1/C^2)(1 - lag/C) for 0 < lag < C, then 0. Raises InputError unless `cohort_size` divides
    `n_clients`.

    >>> Permutation(n_clients=6, cohort_size=2).sample(3, seed=0).sum(axis=0)
    array([1, 1, 1, 1, 1, 1])
    """

    def __init__(self, n_clients: int, cohort_size: int) -> None:
        self.n_clients, self.cohort_size = cohort_of(n_clients, cohort_size)
        require_few_clients(self.n_clients)
        if self.n_clients % self.cohort_size:
            raise InputError("cohort_size", cohort_size, f"a divisor of the number of clients, {n_clients}")
        self.cycle = self.n_clients // self.cohort_size

    @cached_property
    def rate(self) -> FloatArray:
        return read_only(np.full(self.n_clients, 1 / self.cycle))

    @cached_property
    def max_gap(self) -> FloatArray:
        return read_only(np.full(self.n_clients, 2.0 * self.cycle - 1))

    def interval_law(self) -> Discrete:
        """Triangular on 1, ..., 2C - 1: P(X = k) = (C - |k - C|) / C^2."""
        from fltheory.distributions import Discrete

        values = np.arange(1, 2 * self.cycle)
        triangle = (self.cycle - np.abs(values - self.cycle)) / self.cycle**2
        return Discrete(values, np.broadcast_to(triangle, (self.n_clients, len(values))))

    def marginal(self) -> None:
        """None: the place in a permutation is drawn afresh in every cycle."""

    def _autocovariance(self, lag: int) -> FloatArray:
        c = self.cycle
        return np.full(self.n_clients, (1 - 1 / c) / c if lag == 0 else -max(1 - lag / c, 0) / c**2)

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        rng = stream(seed, "participation.permutation")
        return cohort_runs(self._cohorts(rng), rounds, self.cohort_size)

    def _expected_events(self, rounds: int) -> float:
        return float(rounds * self.cohort_size)

    def _cohorts(self, rng: np.random.Generator) -> Iterator[IntArray]:
        while True:
            yield from rng.permutation(self.n_clients).reshape(self.cycle, self.cohort_size)
