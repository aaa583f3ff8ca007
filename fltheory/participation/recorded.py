"""A recorded participation log."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count
from fltheory.participation.base import MOST_CLIENTS, ParticipationProcess, read_only, require_few_clients, require_keys
from fltheory.participation.marginals import Phases
from fltheory.participation.runs import RUNS_AT_ONCE, BoolArray, FloatArray, IntArray, Runs, clipped

if TYPE_CHECKING:
    from fltheory.distributions import Discrete

End = Literal["raise", "repeat", "hold"]


class Recorded(ParticipationProcess):
    """What was logged, played back; build it with `from_matrix` or `from_events`.

    end   what follows the last round of the log: "raise" (asking for more is an error), "repeat" (the log
          starts again) or "hold" (everybody stays as in the last round)

    `sample` plays the log whatever the seed. `rate` is the share of the log's rounds, `autocovariance(lag)`
    the mean of (x_t - rate)(x_{t+lag} - rate) over the pairs of rounds in the log, going round its end for
    "repeat". `interval_law` and `max_gap` count completed intervals of the log, and for "repeat" also the one
    round its end; `max_gap` is infinite for a client with none, and for "hold" if it ends the log absent.

    >>> log = Recorded.from_events([0, 1, 0], [2, 0, 0], n_clients=2, n_rounds=3, end="repeat")
    >>> log.sample(4, seed=0).astype(int).tolist()
    [[1, 1], [0, 0], [1, 0], [1, 1]]
    """

    def __init__(self, client: IntArray, when: IntArray, n_clients: int, n_rounds: int, end: End) -> None:
        if end not in ("raise", "repeat", "hold"):
            raise InputError("end", end, '"raise", "repeat" or "hold"')
        self.n_clients, self.n_rounds, self.end = n_clients, n_rounds, end
        self._key = np.unique(client * n_rounds + when)
        self._client, self._when = np.divmod(self._key, n_rounds)

    @cached_property
    def rate(self) -> FloatArray:
        return read_only(self._per_client(self._client) / self.n_rounds)

    @cached_property
    def max_gap(self) -> FloatArray:
        client, gap = self._intervals()
        longest = np.zeros(require_few_clients(self.n_clients))
        np.maximum.at(longest, client, gap)
        if self.end == "hold":
            present = self._client[self._when == self.n_rounds - 1]
            held = np.zeros(self.n_clients)
            held[present] = np.maximum(longest[present], 1)
            longest = held
        return read_only(np.where(longest == 0, math.inf, longest))

    @cached_property
    def participants(self) -> IntArray:
        """Participants of each round of the log that has some, in their order, (rounds with participants,)."""
        return read_only(np.unique(self._when, return_counts=True)[1])

    @classmethod
    def from_matrix(cls, matrix: npt.ArrayLike, end: End = "raise") -> Recorded:
        """From a boolean matrix (rounds, clients); zeros and ones will do, else InputError."""
        try:
            array = np.asarray(matrix)
        except ValueError:
            raise InputError("matrix", matrix, "of shape (rounds, clients), all rows of one length") from None
        if array.ndim != 2 or array.size == 0:
            raise InputError("matrix", array.shape, "of shape (rounds, clients), neither of them 0")
        if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
            raise InputError("matrix", array, "boolean")
        when, client = np.nonzero(array)
        return cls(client, when, array.shape[1], array.shape[0], end)

    @classmethod
    def from_events(
        cls,
        clients: npt.ArrayLike,
        rounds: npt.ArrayLike,
        *,
        n_clients: int,
        n_rounds: int,
        end: End = "raise",
    ) -> Recorded:
        """From events: client `clients[i]` took part in round `rounds[i]`; any order, duplicates count once.

        `n_clients` and `n_rounds` are asked for because a log cannot show who and what came after its last
        event. Raises InputError for bad arguments, and for 2**63 cells (clients times rounds) or more.
        """
        n_clients, n_rounds = count("n_clients", n_clients), count("n_rounds", n_rounds)
        require_keys(n_clients, "n_rounds", n_rounds)
        client, when = _numbers("clients", clients, n_clients), _numbers("rounds", rounds, n_rounds)
        if len(client) != len(when):
            raise InputError("rounds", f"{len(when)} numbers", f"as many numbers as clients, {len(client)}")
        return cls(client, when, n_clients, n_rounds, end)

    def interval_law(self) -> Discrete | None:
        """The empirical law of completed intervals; None if a client has none."""
        from fltheory.distributions import Discrete

        client, gap = self._intervals()
        if not self._per_client(client).all():
            return None
        values, column = np.unique(gap, return_inverse=True)
        if self.n_clients * len(values) > MOST_CLIENTS:
            allowed = f"at most {MOST_CLIENTS // len(values)} where intervals have {len(values)} lengths"
            raise InputError("n_clients", self.n_clients, allowed)
        cells = np.bincount(client * len(values) + column, minlength=self.n_clients * len(values))
        counts = cells.reshape(self.n_clients, len(values))
        return Discrete(values, counts / counts.sum(axis=1, keepdims=True))

    def marginal(self) -> Phases:
        def history(rounds: int, clients: slice | IntArray = slice(None)) -> BoolArray:
            return self.sample(rounds, seed=0)[None, :, clients]

        return Phases(np.ones(1), history)

    def _autocovariance(self, lag: int) -> FloatArray:
        n = self.n_rounds
        if self.end == "repeat":
            other = self._client * n + (self._when + lag % n) % n
            return self._per_client(self._client[self._logged(other)]) / n - self.rate**2
        if lag >= n:
            raise InputError("lag", lag, f"below the number of rounds of the log, {n}")
        early, late = self._when < n - lag, self._when >= lag
        both = self._client[early][self._logged(self._key[early] + lag)]
        single = self._per_client(self._client[early]) + self._per_client(self._client[late])
        return (self._per_client(both) - self.rate * single) / (n - lag) + self.rate**2

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        if rounds > self.n_rounds and self.end == "raise":
            raise InputError("rounds", rounds, f'at most the {self.n_rounds} rounds of the log with end="raise"')
        if not len(self._when):
            return
        copies = -(-rounds // self.n_rounds) if self.end == "repeat" else 1
        step = max(1, RUNS_AT_ONCE // len(self._when))
        for low in range(0, copies, step):
            copy = np.arange(low, min(low + step, copies))
            start = self._when + copy[:, None] * self.n_rounds
            stop = start + 1
            if self.end == "hold":
                stop = np.where(self._when == self.n_rounds - 1, max(rounds, self.n_rounds), stop)
            yield clipped(self._client, start, stop, rounds)

    def _expected_events(self, rounds: int) -> float:
        whole, rest = divmod(rounds, self.n_rounds)
        begun = float(np.count_nonzero(self._when < rest))
        if self.end == "repeat":
            return float(whole) * len(self._when) + begun
        held = rounds - self.n_rounds if self.end == "hold" else 0
        return begun if not whole else len(self._when) + float(held) * int((self._when == self.n_rounds - 1).sum())

    def _intervals(self) -> tuple[IntArray, IntArray]:
        """Client and length of every completed interval."""
        same = self._client[1:] == self._client[:-1]
        client, gap = self._client[1:][same], np.diff(self._when)[same]
        if self.end != "repeat":
            return client, gap
        seen, first = np.unique(self._client, return_index=True)
        last = np.searchsorted(self._client, seen, side="right") - 1
        round_the_end = self._when[first] + self.n_rounds - self._when[last]
        return np.append(client, seen), np.append(gap, round_the_end)

    def _per_client(self, clients: IntArray) -> IntArray:
        return np.bincount(clients, minlength=require_few_clients(self.n_clients))

    def _logged(self, key: IntArray) -> BoolArray:
        logged: BoolArray = np.isin(key, self._key, assume_unique=True)
        return logged


def _numbers(argument: str, value: npt.ArrayLike, limit: int) -> IntArray:
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(argument, value, "a one-dimensional array of whole numbers") from None
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(argument, array, "a one-dimensional array of whole numbers")
    outside = (array < 0) | (array >= limit)
    if outside.any():
        raise InputError(argument, int(array[outside][0]), f"from 0 to {limit - 1}")
    return array.astype(np.int64)
