"""Two-state Markov chains, in two parametrisations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, probabilities
from fltheory.participation.base import ParticipationProcess, per_client, read_only
from fltheory.participation.marginals import TwoStateChain
from fltheory.participation.runs import FloatArray, Runs, two_state_runs

if TYPE_CHECKING:
    from fltheory.distributions import TwoStateInterval


class Markov(ParticipationProcess):
    """Independent stationary two-state chains with availability p[n] (FedAU, Appendix C.6.1).

    p           stationary probability, a number (one client) or an array (n_clients,), in (0, 1]
    max_enter   largest P(off -> on), in (0, 1], a number or an array (n_clients,)

    enter = P(off -> on) = min(max_enter, p / (1 - p)) and leave = P(on -> off) = enter (1 - p) / p. A client
    with p < max_enter / (1 + max_enter), 1/21 by default, cannot reach `max_enter`, as leave would exceed 1:
    it has leave = 1 and enter = p / (1 - p). The paper is silent on such p, and its authors' code does the
    same; elsewhere the two agree, and both start in the stationary law. So `Markov(p)` is at once
    "as_in_paper" and "as_in_code".

    Clients are independent: adding one changes nobody else's trace. Raises InputError for an argument outside
    (0, 1].

    >>> chain = Markov([0.02, 0.1])
    >>> chain.enter.round(6), chain.leave.round(6)
    (array([0.020408, 0.05    ]), array([1.  , 0.45]))
    """

    def __init__(self, p: npt.ArrayLike, max_enter: npt.ArrayLike = 0.05) -> None:
        self.p = per_client("p", p)
        self.n_clients = len(self.p)
        largest = _for_each("max_enter", probabilities("max_enter", max_enter), self.n_clients)
        with np.errstate(divide="ignore"):
            self.enter = read_only(np.minimum(largest, self.p / (1 - self.p)))
        self.leave = read_only(np.minimum(self.enter * (1 - self.p) / self.p, 1.0))

    @property
    def rate(self) -> FloatArray:
        return self.p

    @property
    def max_gap(self) -> FloatArray:
        """1 for a client that is never off, 2 for one that is off for a single round at most."""
        return np.where(self.leave == 0, 1.0, np.where(self.enter == 1, 2.0, math.inf))

    @classmethod
    def from_stability(cls, p: npt.ArrayLike, stability: npt.ArrayLike) -> Markov:
        """The chain with P(on | on) = stability + (1 - stability) p and P(on | off) = (1 - stability) p.

        stability   the chain's second eigenvalue = lag-1 correlation, in [0, 1), a number or an array
                    (n_clients,); 0 is Bernoulli(p)

        >>> Markov.from_stability(0.1, 0.5).enter
        array([0.05])
        """
        rate = per_client("p", p)
        kept = _for_each("stability", stability, len(rate))
        if not ((kept >= 0) & (kept < 1)).all():
            raise InputError("stability", stability, "in [0, 1)")
        return cls(rate, max_enter=(1 - kept) * rate)

    def interval_law(self) -> TwoStateInterval:
        """P(X = 1) = 1 - leave and P(X = k) = leave (1 - enter)^(k-2) enter for k >= 2."""
        from fltheory.distributions import TwoStateInterval

        return TwoStateInterval(self.enter, self.leave)

    def marginal(self) -> TwoStateChain:
        return TwoStateChain(self.enter, self.leave)

    def _autocovariance(self, lag: int) -> FloatArray:
        return self.marginal().autocovariance(lag)

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        return two_state_runs(self.enter, self.leave, rounds, seed, "participation.markov")


def _for_each(argument: str, value: npt.ArrayLike, n_clients: int) -> FloatArray:
    """`value` as (n_clients,) floats: one number for all clients, or one for each."""
    try:
        array = np.asarray(value, dtype=np.float64)
        if array.ndim <= 1:
            return np.broadcast_to(array, n_clients)
    except (TypeError, ValueError):
        pass
    raise InputError(argument, value, f"a number, or one for each client ({n_clients})")
