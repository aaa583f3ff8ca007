"""How ONE client behaves over time: what exact laws of a client's weight need to know of a process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fltheory.errors import InputError, count, probabilities
from fltheory.participation.runs import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class TwoStateChain:
    """Each client is a stationary Markov chain on {off, on}.

    enter   P(off -> on), float array (n_clients,), in [0, 1]
    leave   P(on -> off), float array (n_clients,), in [0, 1]; enter + leave > 0

    Independent rounds with rate p are the chain enter = p, leave = 1 - p.

    >>> import numpy as np
    >>> chain = TwoStateChain(np.array([0.05]), np.array([0.45]))
    >>> chain.rate, chain.autocovariance(1)
    (array([0.1]), array([0.045]))
    """

    enter: FloatArray
    leave: FloatArray

    def __post_init__(self) -> None:
        probabilities("enter", self.enter, zero=True)
        probabilities("leave", self.leave, zero=True)
        if not (self.enter + self.leave > 0).all():
            raise InputError("enter + leave", 0.0, "above 0 (a chain that never moves has no stationary rate)")

    @property
    def rate(self) -> FloatArray:
        """Stationary P(on) = enter / (enter + leave)."""
        return self.enter / (self.enter + self.leave)

    def autocovariance(self, lag: int) -> FloatArray:
        """Cov(I_t, I_{t+lag}) = p (1 - p) (1 - enter - leave)^lag of the indicators, shape (n_clients,)."""
        total = self.enter + self.leave
        # (1 - enter) - leave, in this order, is exactly 0 for independent rounds
        correlation = (1 - self.enter) - self.leave
        return self.enter * self.leave / total**2 * correlation ** count("lag", lag, least=0, most=2**53)


@dataclass(frozen=True, eq=False)
class Phases:
    """Each client follows one of finitely many fixed histories, chosen once and for all.

    probability   float array, sums to 1: (n_phases,), or (n_phases, n_clients) where each client has its own
    history       history(rounds, clients) -> bool array (n_phases, rounds, len(clients)) for the clients of a
                  slice or an index array; all of them without one

    Only the law of each single client is meant: that clients share a phase here does not say that they do so
    in the process.
    """

    probability: FloatArray
    history: Callable[..., BoolArray]


Marginal = TwoStateChain | Phases
