"""A participation log in event form: who took part, who was seen not to, and what nobody saw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

AT_ONCE = 4 * 10**6  # events looked at together, at least one client's: what is made of them takes some hundred MB


@dataclass(frozen=True, eq=False)
class Log:
    """Participations of `n_clients` clients over `n_rounds` rounds, as events: a million clients fit.

    Three states are kept apart. In an *observed* round a client is on or off. An *unobserved* round is one
    that the log says nothing about. A *never seen* client is one that the log does not mention at all: it
    has no observed round, hence no rate and no weight.

    clients           names, in the order of every per-client array
    client, round     participations, (n_participations,), sorted by client, then round; int64, but of
                      more than AT_ONCE a smaller type: add and multiply in one of the `blocks`, which have int64
    observed          observations in the same form as a pair of arrays, or None: then every round of every
                      client that was `seen` was observed
    seen              those clients, bool (n_clients,), or None: what was observed is not recorded, and a client
                      that took part counts as seen
    n_rows            rows of the file, clients of a FedScale one
    n_unsorted        rows that stood after a later round of the same client
    n_duplicates      times that a row says again what is known of a client and round; they are merged
    n_contradictions  (client, round) pairs said to be both available and not; they count as available
    when              the column that says when: "round", "timestamp", "start" of intervals, "active" of FedScale;
                      empty for a log that was not read and a matrix without rounds
    ignored           the other one of them, where the file has both
    start             microseconds on `clock` at which round 0 begins; None where the log has rounds only
    clock             what its times are: a kind that `analysis.traces.columns` names, with zero at the begin of 1970
                      (UTC, or without an offset) or wherever its seconds begin; empty where there are none
    """

    clients: tuple[str, ...]
    n_rounds: int
    client: Ints
    round: Ints
    observed: tuple[Ints, Ints] | None = None
    seen: Bools | None = None
    n_rows: int = 0
    n_unsorted: int = 0
    n_duplicates: int = 0
    n_contradictions: int = 0
    when: str = ""
    ignored: str = ""
    start: int | None = None
    clock: str = ""

    @property
    def n_clients(self) -> int:
        return len(self.clients)

    @property
    def records_observation(self) -> bool:
        """Whether the log says what was observed, so that a round without a participation is known to be off."""
        return self.observed is not None or self.seen is not None

    def reading(self) -> dict[str, int | str | None]:
        """Rows read, how many of them were mended in which way, and the columns that said when (None for none)."""
        return {
            "rows": self.n_rows,
            "unsorted": self.n_unsorted,
            "duplicates": self.n_duplicates,
            "contradictions": self.n_contradictions,
            "time_column": self.when or None,
            "ignored_column": self.ignored or None,
        }

    def participations(self) -> Ints:
        """Number of rounds in which each client took part, (n_clients,)."""
        return np.diff(edges_of(self.client, self.n_clients))

    def observed_rounds(self) -> Ints:
        """Number of rounds in which each client was observed, on or off, (n_clients,)."""
        if self.observed is None:
            seen = self.participations() > 0 if self.seen is None else self.seen
            return np.where(seen, self.n_rounds, 0).astype(np.int64)
        return np.diff(edges_of(self.observed[0], self.n_clients))

    def never_seen(self) -> Bools:
        """Which clients the log does not mention at all, (n_clients,)."""
        return np.equal(self.observed_rounds(), 0)

    def observed_clock(self) -> Ints:
        """How many observed rounds of its client came before each participation, (n_participations,)."""
        if self.observed is None:
            return self.round
        first = np.searchsorted(self.observed[0], np.arange(self.n_clients))
        return (self._among(*self.observed) - first[self.client]).astype(np.int64)

    def observed_on(self) -> Bools:
        """Which of the observations that the log lists, in their order, are participations."""
        assert self.observed is not None
        on: Bools = np.zeros(self.observed[0].size, dtype=np.bool_)
        on[self._among(*self.observed)] = True
        return on

    def _among(self, client: Ints, round_: Ints) -> Ints:
        """Where each participation stands among the observations."""
        places = np.searchsorted(_key(client, round_, self.n_rounds), _key(self.client, self.round, self.n_rounds))
        return places.astype(np.int64)

    def history(self, clients: npt.ArrayLike) -> tuple[Bools, Bools]:
        """Dense (participated, observed) of the clients asked for, boolean arrays (n_rounds, len(clients)).

        `participated[observed[:, i], i]` is the history of `clients[i]` over its observed rounds. Raises
        InputError for an index outside 0..n_clients-1.
        """
        chosen = np.atleast_1d(np.asarray(clients))
        integer = chosen.size == 0 or np.issubdtype(chosen.dtype, np.integer)
        if not integer or chosen.ndim > 1 or ((chosen < 0) | (chosen >= self.n_clients)).any():
            raise InputError("clients", clients, f"whole numbers from 0 to {self.n_clients - 1}")
        dense = np.zeros((2, self.n_rounds, chosen.size), dtype=np.bool_)
        for column, client in enumerate(chosen):
            dense[0, self._rounds_of(client, self.client, self.round), column] = True
            if self.observed is not None:
                dense[1, self._rounds_of(client, *self.observed), column] = True
            else:
                dense[1, :, column] = dense[0, :, column].any() if self.seen is None else self.seen[client]
        return dense[0], dense[1]

    @staticmethod
    def _rounds_of(client: int, clients: Ints, rounds: Ints) -> Ints:
        first, last = np.searchsorted(clients, np.array([client, client + 1], dtype=clients.dtype))
        return rounds[first:last]

    def blocks(self, at_once: int | None = None) -> Iterator[tuple[slice, Log]]:
        """The log in parts: some successive clients, and a log of them alone, whose arrays are int64.

        What is made of a part takes memory for it alone, however long the log is.

        at_once   events of a part, unless it is one of a single client; AT_ONCE where it is left out

        >>> log = Log(("a", "b"), 3, np.array([0, 1], dtype=np.int8), np.array([2, 1], dtype=np.int8))
        >>> [(which, part.client.tolist()) for which, part in log.blocks()]
        [(slice(0, 2, None), [0, 1])]
        """
        edges = edges_of(self.client, self.n_clients)
        known = edges if self.observed is None else edges_of(self.observed[0], self.n_clients)
        for which in successive(edges + known, at_once):
            yield which, self._part(which, edges, known)

    def only(self, clients: Ints) -> Log:
        """The log of these clients alone, sorted indices; they become 0, 1, ... ."""
        edges = edges_of(self.client, self.n_clients)
        known = edges if self.observed is None else edges_of(self.observed[0], self.n_clients)
        return Log(
            tuple(self.clients[n] for n in clients),
            self.n_rounds,
            *_picked(clients, edges, self.round),
            None if self.observed is None else _picked(clients, known, self.observed[1]),
            None if self.seen is None else self.seen[clients],
        )

    def _part(self, which: slice, edges: Ints, known: Ints) -> Log:
        def cut(client: Ints, round_: Ints, edges: Ints) -> tuple[Ints, Ints]:
            there = slice(edges[which.start], edges[which.stop])
            return client[there].astype(np.int64) - which.start, round_[there].astype(np.int64)

        observed = None if self.observed is None else cut(*self.observed, known)
        seen = None if self.seen is None else self.seen[which]
        return Log(self.clients[which], self.n_rounds, *cut(self.client, self.round, edges), observed, seen)


def successive(edges: Ints, at_once: int | None = None) -> Iterator[slice]:
    """Successive clients that have at most AT_ONCE events together, or a single client, until there are no more.

    at_once   another number of events
    """
    first, most = 0, AT_ONCE if at_once is None else at_once
    while first < edges.size - 1:
        stop = max(first + 1, int(np.searchsorted(edges, edges[first] + most, side="right")) - 1)
        yield slice(first, stop)
        first = stop


def types_of(n_clients: int, n_rounds: int, n_events: int) -> tuple[npt.DTypeLike, npt.DTypeLike]:
    """Types of the clients and the rounds of events: int64, of more than AT_ONCE events the smallest signed one.

    It holds sums of two, too.
    """
    if n_events <= AT_ONCE:
        return np.int64, np.int64
    client, round_ = (
        next(kind for kind in (np.int16, np.int32, np.int64) if 2 * most <= np.iinfo(kind).max)
        for most in (n_clients, n_rounds)
    )
    return client, round_


def edges_of(client: Ints, n_clients: int) -> Ints:
    """Where the events of each client begin, and where those of the last one end, (n_clients + 1,)."""
    edges = np.searchsorted(client, np.arange(n_clients).astype(client.dtype))  # of another type it would copy them all
    return np.append(edges, client.size).astype(np.int64)


def _picked(clients: Ints, edges: Ints, rounds: Ints) -> tuple[Ints, Ints]:
    each = [rounds[edges[n] : edges[n + 1]] for n in clients]
    client = np.repeat(np.arange(len(each)), [len(one) for one in each])
    return client, np.concatenate([*each, np.zeros(0, dtype=np.int64)]).astype(np.int64)


def _key(client: Ints, round_: Ints, n_rounds: int) -> Ints:
    return client.astype(np.int64) * n_rounds + round_
