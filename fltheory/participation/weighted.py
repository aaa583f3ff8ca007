"""Cohorts drawn with unequal preference: FAST's Beta, Gamma and Weibull participation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fltheory.errors import InputError
from fltheory.participation.base import IndependentRounds, read_only, require_few_clients
from fltheory.participation.runs import FloatArray, IntArray, Runs, cohort_runs
from fltheory.participation.subset import cohort_of
from fltheory.participation.successive import inclusion_probabilities
from fltheory.streams import stream

if TYPE_CHECKING:
    from scipy.stats.distributions import rv_frozen

POOL = 100_000  # draws whose largest normalises the index interpretation
NEVER = 1e-250  # a weight this small beside the largest is as good as none, and its reciprocal overflows


class WeightedDraws(IndependentRounds):
    """`cohort_size` clients a round, preferred as a scalar law says (FAST, Appendix B.1.3).

    law              "beta" (1, 10), "gamma" (shape 10, scale 0.01), "weibull" (shape 10, scale 1), or any
                     frozen scipy.stats distribution on the positive numbers
    interpretation   "index": draw x from the law, take client floor(n_clients x / scale), pass over values of
                     n_clients and above, until the cohort is full of distinct clients; "weights": each client
                     gets a weight from the law, once, and each round draws clients one after the other with
                     probability proportional to weight, without replacement
    normalise        for "index": scale = the largest of a pool of 100,000 draws, instead of 1
    law_seed         seed of what is drawn once, the weights or the pool

    The paper does not say how its laws become cohorts. "index" with `normalise` makes the three laws about
    equally uneven, which is what its tables suggest. Either way rounds are independent and a round is
    successive sampling, for "index" with the masses of the n_clients bins as weights: passing over a client
    already in the cohort is drawing among the others. The Weibull density is printed with its prefactor
    inverted (scale / shape, which integrates to 0.01); the usual law with shape 10 and scale 1 is meant.

    `weights` (n_clients,) sum to 1. Raises InputError for an unknown law or interpretation, or if fewer
    clients than `cohort_size` have a positive weight.

    >>> draws = WeightedDraws("beta", n_clients=100, cohort_size=10)
    >>> float(draws.rate.sum().round(9)), bool((np.diff(draws.rate) < 0).all())
    (10.0, True)
    """

    def __init__(
        self,
        law: str | rv_frozen[Any],
        n_clients: int,
        cohort_size: int,
        *,
        interpretation: Literal["index", "weights"] = "index",
        normalise: bool = True,
        law_seed: int = 0,
    ) -> None:
        self.n_clients, self.cohort_size = cohort_of(n_clients, cohort_size)
        require_few_clients(self.n_clients)
        frozen = _frozen(law)
        rng = stream(law_seed, "participation.weighted-draws.law")
        if interpretation == "index":
            scale = float(_drawn(frozen, POOL, rng, law).max()) if normalise else 1.0
            weights = _bin_masses(frozen, self.n_clients, scale)
        elif interpretation == "weights":
            weights = _drawn(frozen, self.n_clients, rng, law)
        else:
            raise InputError("interpretation", interpretation, '"index" or "weights"')
        weights = np.where(weights > NEVER * weights.max(), weights, 0)
        able = int((weights > 0).sum())
        if able < self.cohort_size:
            raise InputError("cohort_size", cohort_size, f"at most the number of clients ever drawn, {able}")
        self.weights = read_only(weights / weights.sum())

    @cached_property
    def rate(self) -> FloatArray:
        """Exact inclusion probabilities, computed when first asked for."""
        return read_only(inclusion_probabilities(self.weights, self.cohort_size))

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        rng = stream(seed, "participation.weighted-draws")
        return cohort_runs(self._cohorts(rng), rounds, self.cohort_size)

    def _expected_events(self, rounds: int) -> float:
        return float(rounds * self.cohort_size)

    def _cohorts(self, rng: np.random.Generator) -> Iterator[IntArray]:
        able = np.flatnonzero(self.weights)
        weights = self.weights[able]
        while True:
            rings = rng.standard_exponential(len(able)) / weights
            yield able[np.argpartition(rings, self.cohort_size - 1)[: self.cohort_size]]


def _frozen(law: str | rv_frozen[Any]) -> rv_frozen[Any]:
    from scipy import stats

    named: dict[str, rv_frozen[Any]] = {
        "beta": stats.beta(1, 10),
        "gamma": stats.gamma(10, scale=0.01),
        "weibull": stats.weibull_min(10, scale=1),
    }
    frozen = named.get(law) if isinstance(law, str) else law
    if frozen is None or not hasattr(frozen, "dist") or frozen.cdf(0) != 0:
        allowed = ", ".join(named) + " or a frozen scipy.stats distribution on the positive numbers"
        raise InputError("law", law, allowed)
    return frozen


def _drawn(frozen: rv_frozen[Any], size: int, rng: np.random.Generator, law: object) -> FloatArray:
    with np.errstate(over="ignore"):
        draws = np.asarray(frozen.rvs(size=size, random_state=rng), dtype=np.float64)
        if not np.isfinite(draws.sum()):
            raise InputError("law", law, "a distribution whose draws and their sum fit in a float")
    return draws


def _bin_masses(law: rv_frozen[Any], n_clients: int, scale: float) -> FloatArray:
    """P(floor(n_clients x / scale) = i) for i < n_clients, each from the tail that keeps its digits."""
    edges = scale * np.arange(n_clients + 1) / n_clients
    below, above = law.cdf(edges), law.sf(edges)
    return np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
