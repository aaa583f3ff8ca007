"""What a log says of each client: rates with their intervals, and the stretches between participations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.traces.log import Bools, Floats, Ints, Log


@dataclass(frozen=True, eq=False)
class Stretches:
    """How long each client was off, in its observed rounds.

    length   rounds from the participation before (excluded) to each participation (included), or from the
             start of the log to the first one, (n_participations,)
    initial  whether a stretch began with the log, (n_participations,); the others are gaps
    since    rounds after each client's last participation, or all of them, (n_clients,)
    """

    length: Ints
    initial: Bools
    since: Ints


def stretches(log: Log) -> Stretches:
    """The observed time of each client, cut at its participations.

    >>> cut = stretches(Log(("a",), 6, np.array([0, 0]), np.array([1, 4])))
    >>> cut.length.tolist(), cut.initial.tolist(), cut.since.tolist()
    ([2, 3], [True, False], [1])
    """
    clock = log.observed_clock().astype(np.int64)
    initial = np.diff(log.client, prepend=-1) != 0
    before = np.where(initial, -1, np.roll(clock, 1))
    last = np.full(log.n_clients, -1, dtype=np.int64)
    np.maximum.at(last, log.client, clock)
    return Stretches(clock - before, initial, log.observed_rounds() - 1 - last)


def clopper_pearson(successes: Ints, trials: Ints, level: float) -> tuple[Floats, Floats]:
    """The interval for a probability that covers it at least with `level`, whatever it is; NaN for no trials.

    Clopper and Pearson (1934). Any shape.

    >>> low, high = clopper_pearson(np.array([0, 2]), np.array([2, 2]), level=0.95)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.1581], [0.8419, 1.0])
    """
    failures, tail = trials - successes, (1 - level) / 2
    low = np.where(successes > 0, special.betaincinv(np.maximum(successes, 1), failures + 1, tail), 0.0)
    high = np.where(failures > 0, special.betaincinv(successes + 1, np.maximum(failures, 1), 1 - tail), 1.0)
    return np.where(trials > 0, low, math.nan), np.where(trials > 0, high, math.nan)
