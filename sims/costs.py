"""What a run has cost so far: local computation and communication."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import is_numpy_array, to_device

from sims.algorithms.protocol import Algorithm, Cohort, Work
from sims.arrays import Array, marked
from sims.problems.base import Problem

IntArray = npt.NDArray[np.int64]


class Costs:
    """Counts for R replicates of N clients, (R, N) each.

    participations   rounds in which the client took part
    stochastic       stochastic gradients that it computed; a step of a recursive estimate takes two
    exact            exact gradients that it computed
    """

    def __init__(self, algorithm: Algorithm, replicates: int, n_clients: int) -> None:
        self.vectors_a_round = algorithm.down + algorithm.up
        self.participations, self.stochastic, self.exact = np.zeros((3, replicates, n_clients), dtype=np.int64)

    def update(self, work: Work, cohort: Cohort, participated: npt.NDArray[np.bool_]) -> None:
        """Take in a round: what was asked of whom."""
        self.participations += participated
        steps = work.steps * (1 if work.direction is None else 2)
        times = 0 if work.gradient_at is None else 1 if work.gradient_since is None else 2
        self.stochastic += steps * _who(work.steps_by, cohort, participated)
        asked = _who(work.gradient_by, cohort, participated)
        self.stochastic += times * (work.batch or 0) * asked
        self.exact += (times if work.batch is None else 0) * asked

    def samples(self, problem: Problem) -> IntArray:
        """Gradients of single samples, (R,); a stochastic gradient is one where the problem has no data."""
        of_a_batch, of_a_client = getattr(problem, "samples", (1, 1))
        return np.asarray((self.stochastic * of_a_batch + self.exact * of_a_client).sum(axis=-1))

    def vectors(self) -> IntArray:
        """Parameter vectors sent to and from clients, (R,): every participant's, whatever its role."""
        return np.asarray(self.vectors_a_round * self.participations.sum(axis=-1))

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """All that changes over time."""
        return {"participations": self.participations, "stochastic": self.stochastic, "exact": self.exact}

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from there."""
        self.participations, self.stochastic, self.exact = (
            state[name].copy() for name in ("participations", "stochastic", "exact")
        )


def _who(slots: Array | None, cohort: Cohort, participated: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which clients (R, N) stand in these slots; all who take part if there is no choice."""
    return participated if slots is None else _numpy(marked(cohort.clients, slots, cohort.n_clients))


def _numpy(array: Any) -> npt.NDArray[Any]:
    return array if is_numpy_array(array) else np.asarray(to_device(array, "cpu"))
