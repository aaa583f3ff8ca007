"""What every availability process offers; a family supplies a few private hooks.

The clock: round t = 0, 1, ...; `trace[t, n]` says whether client n could take part in round t. A process is
oblivious: it never looks at the state of the training run.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count, probabilities
from fltheory.participation.marginals import Marginal, TwoStateChain
from fltheory.participation.runs import BoolArray, FloatArray, IntArray, Runs

if TYPE_CHECKING:
    from fltheory.distributions import IntervalLaw, KCutoffGeometric

_Number = TypeVar("_Number", bound=np.generic)
MOST_ROUNDS = 2**48  # up to here a sum of a few thousand stretches of rounds fits in an int64
MOST_EVENTS = 10**9  # participations that a trace may be expected to have: two int64 numbers each
MOST_CLIENTS = 10**8  # in an array with a number for each


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
        return self._autocovariance(count("lag", lag, least=0, most=MOST_ROUNDS))

    def sample(self, rounds: int, seed: int) -> BoolArray:
        """One trace, bool array (rounds, n_clients).

        `sample(T, seed)` is the beginning of `sample(T + 1, seed)`. Raises InputError unless `rounds`, from 1 to
        2**48, and `seed` >= 0 are whole numbers, and for more clients or rounds than fit in memory.
        """
        require_few_clients(self.n_clients)
        rounds, seed = count("rounds", rounds, most=MOST_ROUNDS), count("seed", seed, least=0)
        with _in_memory(rounds, "a trace (`sample_events` keeps participations only)"):
            trace = np.zeros((rounds, self.n_clients), dtype=np.bool_)
            for runs in self._runs(rounds, seed):
                client, when = runs.events()
                trace[when, client] = True
        return trace

    def sample_events(self, rounds: int, seed: int) -> tuple[IntArray, IntArray]:
        """The trace of `sample(rounds, seed)` as int64 arrays (client, round), sorted by client, then round.

        Takes memory for the participations only, so it serves a million clients. Raises InputError as `sample`
        does, where a client and a round together have no 64-bit number, and for more than 10**9 expected
        participations.
        """
        rounds, seed = count("rounds", rounds, most=MOST_ROUNDS), count("seed", seed, least=0)
        require_keys(self.n_clients, "rounds", rounds)
        expected = self._expected_events(rounds)
        if expected > MOST_EVENTS:
            allowed = f"so few that at most {MOST_EVENTS:.0e} participations are expected, not {expected:.1e}"
            raise InputError("rounds", rounds, allowed)
        with _in_memory(rounds, "the participations"):
            keys = [np.zeros(0, dtype=np.int64)]
            for runs in self._runs(rounds, seed):
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

    def marginal_within(self, rounds: int) -> Marginal | None:
        """`marginal()`, of which only the first `rounds` rounds are asked for: that may take far less."""
        count("rounds", rounds)
        return self.marginal()

    @abstractmethod
    def _autocovariance(self, lag: int) -> FloatArray: ...

    @abstractmethod
    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        """The trace as disjoint runs inside [0, rounds), in any order."""

    def _expected_events(self, rounds: int) -> float:
        """About how many participations so many rounds have; asked before any is drawn, so it should be cheap."""
        return rounds * float(np.sum(self.rate))

    def __getstate__(self) -> dict[str, Any]:
        """What defines the process: a property that was computed and kept is no part of it, nor of its hash."""
        kept = {
            name for kind in type(self).__mro__ for name, it in vars(kind).items() if isinstance(it, cached_property)
        }
        return {name: value for name, value in vars(self).items() if name not in kept}


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


def require_keys(n_clients: int, argument: str, rounds: int) -> None:
    """Refuse so many rounds that client * rounds + round, which orders participations, passes an int64."""
    if n_clients * rounds > np.iinfo(np.int64).max:
        raise InputError(argument, rounds, f"at most {np.iinfo(np.int64).max // n_clients} for {n_clients} clients")


def require_few_clients(n_clients: int) -> int:
    """Refuse more clients than an array of numbers, one for each, should have."""
    if n_clients > MOST_CLIENTS:
        raise InputError("n_clients", n_clients, f"at most {MOST_CLIENTS:.0e} where there is a number for each client")
    return n_clients


@contextmanager
def _in_memory(rounds: int, what: str) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except (MemoryError, ValueError) as error:  # numpy has a ValueError of its own for sizes beyond an int64
        if isinstance(error, ValueError) and "too big" not in str(error) and "Maximum allowed" not in str(error):
            raise
        raise InputError("rounds", rounds, f"so few that {what} of all clients fit in memory") from None


def read_only(array: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    array.setflags(write=False)
    return array
