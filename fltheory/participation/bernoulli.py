"""Independent coin flips."""

from __future__ import annotations

from collections.abc import Iterator

import numpy.typing as npt

from fltheory.participation.base import IndependentRounds, per_client
from fltheory.participation.runs import FloatArray, Runs, two_state_runs


class Bernoulli(IndependentRounds):
    """Client n is available in every round with probability p[n], independently (FedAU, Assumption 4).

    p   a number (one client) or an array (n_clients,), in (0, 1]

    Clients are independent: adding one changes nobody else's trace. Raises InputError for a p outside (0, 1].

    >>> Bernoulli([0.1, 0.5]).sample(1000, seed=0).shape
    (1000, 2)
    """

    def __init__(self, p: npt.ArrayLike) -> None:
        self.p = per_client("p", p)
        self.n_clients = len(self.p)

    @property
    def rate(self) -> FloatArray:
        return self.p

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        return two_state_runs(self.p, 1 - self.p, rounds, seed, "participation.bernoulli")
