"""What every availability process offers; a family supplies a few private hooks.

The clock: round t = 0, 1, ...; `trace[t, n]` says whether client n could take part in round t. A process is
oblivious: it never looks at the state of the training run.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count, probabilities
from fltheory.participation.marginals import Marginal, TwoStateChain
from fltheory.participation.runs import BoolArray, FloatArray, IntArray, Runs

if TYPE_CHECKING:
    from fltheory.distributions import IntervalLaw, KCutoffGeometric

_Number = TypeVar("_Number", bound=np.generic)


class ParticipationProcess(ABC):
    """Who is available in which round, for `n_clients` clients."""

    n_clients: int

    @property
    @abstractmethod
    def rate(self) -> FloatArray:
        """Stationary (long-run) probability that a client is available, exact, float array (n_clients,)."""

    @property
    @abstractmethod
    def max_gap(self) -> FloatArray:
        """Most rounds there can be from one participation to the next, (n_clients,); inf without a bound."""

    def autocovariance(self, lag: int) -> FloatArray:
        """Exact stationary covariance of a client's indicators `lag` >= 0 rounds apart, (n_clients,)."""
        return self._autocovariance(count("lag", lag, least=0))

    def sample(self, rounds: int, seed: int) -> BoolArray:
        """One trace, bool array (rounds, n_clients).

        `sample(T, seed)` is the beginning of `sample(T + 1, seed)`. Raises InputError unless `rounds` >= 1
        and `seed` >= 0 are whole numbers.
        """
        rounds = count("rounds", rounds)
        trace = np.zeros((rounds, self.n_clients), dtype=np.bool_)
        for runs in self._runs(rounds, count("seed", seed, least=0)):
            client, when = runs.events()
            trace[when, client] = True
        return trace

    def sample_events(self, rounds: int, seed: int) -> tuple[IntArray, IntArray]:
        """The trace of `sample(rounds, seed)` as int64 arrays (client, round), sorted by client, then round.

        Takes memory for the participations only, so it serves a million clients.
        """
        rounds = count("rounds", rounds)
        keys = [np.zeros(0, dtype=np.int64)]
        for runs in self._runs(rounds, count("seed", seed, least=0)):
            client, when = runs.events()
            keys.append(client * rounds + when)
        key = np.concatenate(keys)
        keys.clear()
        key.sort()
        client, when = np.divmod(key, rounds)
        return client, when

    @abstractmethod
    def interval_law(self) -> IntervalLaw | None:
        """Law of the rounds from one participation to the next, one a client; None where there is none."""

    @abstractmethod
    def marginal(self) -> Marginal | None:
        """How a single client behaves over time, for exact laws; None where there is no such description."""

    @abstractmethod
    def _autocovariance(self, lag: int) -> FloatArray: ...

    @abstractmethod
    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        """The trace as disjoint runs inside [0, rounds), in any order."""


class IndependentRounds(ParticipationProcess):
    """A process whose rounds are independent and alike: the rate says everything about a single client."""

    @property
    def max_gap(self) -> FloatArray:
        return np.where(self.rate == 1, 1.0, math.inf)

    def interval_law(self) -> KCutoffGeometric | None:
        """Geometric with the client's rate; None if a client never takes part."""
        from fltheory.distributions import KCutoffGeometric

        return KCutoffGeometric(self.rate, math.inf) if (self.rate > 0).all() else None

    def marginal(self) -> TwoStateChain:
        return TwoStateChain(self.rate, 1 - self.rate)

    def _autocovariance(self, lag: int) -> FloatArray:
        return self.rate * (1 - self.rate) if lag == 0 else np.zeros(self.n_clients)


def per_client(argument: str, value: npt.ArrayLike) -> FloatArray:
    """Probabilities in (0, 1] as a read-only float array (n_clients,); a number is one client."""
    array = probabilities(argument, value)
    if array.ndim > 1 or array.size == 0:
        raise InputError(argument, array, "a number or a one-dimensional array with at least one client")
    return read_only(array.reshape(-1).copy())


def read_only(array: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    array.setflags(write=False)
    return array
