"""The longest time that a client stayed away: the window E in which FedLaAvg wants everybody at least once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.traces import Log
from analysis.traces.log import Ints


@dataclass(frozen=True, eq=False)
class Absences:
    """The longest absence of each client within the log, in rounds of the log; arrays (n_clients,).

    A client takes part in every window of E successive rounds of the log exactly if its longest absence is shorter
    than E. An unobserved round may have been on or off, so the absence is known up to two ends.

    sure, sure_from   longest run of rounds in which the client was seen off, and its first round
    most, most_from   the same if it was also off in all rounds in which nobody looked

    The two are equal where every round was observed. A first round is -1 where there is no such run.
    """

    n_rounds: int
    sure: Ints
    sure_from: Ints
    most: Ints
    most_from: Ints

    @property
    def window(self) -> tuple[int, int]:
        """(least, most) E that the log allows for all clients; beyond `n_rounds` where the log is too short to say."""
        return int(self.sure.max()) + 1, int(self.most.max()) + 1


def absences(log: Log) -> Absences:
    """The longest absence of each client. The beginning and the end of the log count as ends of an absence.

    >>> away = absences(Log(("a",), 9, np.array([0, 0]), np.array([1, 6])))
    >>> away.most.tolist(), away.most_from.tolist(), away.window
    ([4], [2], (5, 5))
    """
    parts = [_absences(part) for _, part in log.blocks()]
    return Absences(log.n_rounds, *(np.concatenate(each) for each in zip(*parts, strict=True)))


def _absences(log: Log) -> tuple[Ints, Ints, Ints, Ints]:
    most, most_from = _between(log)
    if log.observed is None:
        seen = ~log.never_seen()
        return np.where(seen, most, 0), np.where(seen, most_from, -1), most, most_from
    return *_seen_off(log, *log.observed), most, most_from


def _between(log: Log) -> tuple[Ints, Ints]:
    """Longest stretch of rounds without a participation of the client, and its first round."""
    first = np.diff(log.client, prepend=-1) != 0
    before = np.where(first, -1, np.roll(log.round, 1))
    last = np.full(log.n_clients, -1, dtype=np.int64)
    np.maximum.at(last, log.client, log.round)
    client = np.append(log.client, np.arange(log.n_clients))
    start = np.append(before, last) + 1
    stop = np.append(log.round, np.full(log.n_clients, log.n_rounds))
    return _longest(client, start, stop - start, log.n_clients)


def _seen_off(log: Log, client: Ints, when: Ints) -> tuple[Ints, Ints]:
    """Longest run of successive rounds in which the client was observed and off, and its first round."""
    off = ~log.observed_on()
    client, when = client[off], when[off]
    begins = (np.diff(client, prepend=-1) != 0) | (np.diff(when, prepend=-1) != 1)
    at = np.flatnonzero(begins)
    return _longest(client[at], when[at], np.diff(np.append(at, client.size)), log.n_clients)


def _longest(client: Ints, start: Ints, length: Ints, n_clients: int) -> tuple[Ints, Ints]:
    """The longest run of each client and where the first such run starts; 0 and -1 where there is none."""
    longest = np.zeros(n_clients, dtype=np.int64)
    np.maximum.at(longest, client, length)
    found = np.flatnonzero((length == longest[client]) & (length > 0))
    where = np.full(n_clients, nowhere := np.iinfo(np.int64).max)
    np.minimum.at(where, client[found], start[found])
    return longest, np.where(where == nowhere, -1, where)
