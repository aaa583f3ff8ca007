"""The interval divergence delta~^2(P) of amplified FedAvg, (7) of the paper, of a log and of a process."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from analysis.trace_report.counts import participants
from analysis.traces import Log
from analysis.traces.log import AT_ONCE, Floats, Ints
from fltheory.errors import InputError, count
from fltheory.estimate import Estimate
from fltheory.participation import ParticipationProcess
from sims.montecarlo.confidence import empirical_bernstein


@dataclass(frozen=True)
class Divergence:
    """delta~^2(P) / d^2 over the intervals of P rounds that a log holds; between 0 and 1.

    largest    what (7) asks for, which wants one bound for all intervals; `first` is where its interval begins
    mean       over the intervals, which bounds what Theorem 3.1 needs (`amplified.thm31.average`)
    intervals  how many
    left_out   rounds of the log in which nobody was seen on: they are passed over, as nothing happens in them, though
               Theorem 3.1 wants somebody in every round
    """

    interval: int
    largest: float
    mean: float
    first: int
    intervals: int
    left_out: int


def interval_divergence(weights: npt.ArrayLike) -> Floats:
    """The smallest delta~^2 / d^2 for which (7) holds whatever the objectives are under Assumption 3.

    weights   the participation weights q^n of each client, averaged over an interval; (..., n_clients)

    (7) asks for |sum of q^n (grad F_n - grad f)|^2 <= delta~^2, where the differences have norms of at most d and sum
    to zero. Along the direction of the sum this is a linear program in numbers from -d to d, which is solved by +d for
    the upper half of the weights and -d for the lower half: delta~ / d is the sum of |q^n - median|. It is attained,
    by objectives that differ by linear functions. 0 exactly if all weights are equal (Proposition 4.2).

    >>> interval_divergence([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]).tolist()
    [1.0, 0.0]
    """
    q = np.asarray(weights, dtype=np.float64)
    if q.ndim == 0 or not q.shape[-1]:
        raise InputError("weights", weights, "an array with a weight for each client along its last axis")
    return np.asarray(np.abs(q - np.median(q, axis=-1, keepdims=True)).sum(axis=-1) ** 2)


def log_divergence(log: Log, interval: int) -> Divergence:
    """delta~^2(P) / d^2 of a log for P = `interval`, each participant of a round having the weight 1 / participants.

    Intervals begin at multiples of P among the rounds with participants, and are whole. Who was not observed did not
    take part. Raises InputError unless `interval` is a whole number from 1 to the number of rounds with participants.
    """
    return divergences(log, [interval])[0]


def divergences(log: Log, intervals: list[int]) -> list[Divergence]:
    """`log_divergence` for several intervals; the cost of each is that of sorting the participations."""
    on = participants(log)
    return [_divergence(log, on, interval) for interval in intervals]


def _divergence(log: Log, on: Ints, interval: int) -> Divergence:
    held = np.flatnonzero(on)
    interval = count("interval", interval, most=max(held.size, 1))
    intervals = held.size // interval
    if not intervals:
        raise InputError("log", "no participation", "one with a participation")
    # Weights of one interval are at most those of its participations, and of all clients.
    sizes = on[held[: intervals * interval]].reshape(intervals, interval).sum(axis=1)
    group = np.cumsum(np.minimum(sizes, log.n_clients)) // AT_ONCE
    edges = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), intervals]
    halves = [_some(log, on, held[first * interval : last * interval], interval) for first, last in pairwise(edges)]
    apart = np.concatenate(halves)
    apart[apart < 1e-12] = 0  # halves that are equal but for rounding
    squared = np.minimum(apart**2, 1.0)  # up to rounding it is
    worst = int(np.argmax(squared))
    begins, left_out = int(held[worst * interval]), on.size - held.size
    return Divergence(interval, float(squared[worst]), float(squared.mean()), begins, intervals, left_out)


def _some(log: Log, on: Ints, held: Ints, interval: int) -> Floats:
    """`_halves` of the successive intervals that make up the rounds `held`."""
    turn, weight = np.full(on.size, -1), np.zeros(on.size)
    turn[held], weight[held] = np.arange(held.size) // interval, 1 / on[held]
    parts, averages = [], []
    for _, block in log.blocks():
        inside = (block.round >= held[0]) & (block.round <= held[-1])
        client, when = block.client[inside], block.round[inside]
        part = turn[when]
        # Sorted by client, then round: what one client does in one interval stands together.
        first = np.flatnonzero((np.diff(client, prepend=-1) != 0) | (np.diff(part, prepend=-1) != 0))
        parts.append(part[first])
        averages.append(np.add.reduceat(weight[when], first) / interval if first.size else np.zeros(0))
    return _halves(np.concatenate(parts), np.concatenate(averages), held.size // interval, log.n_clients)


def _halves(part: Ints, average: Floats, parts: int, n_clients: int) -> Floats:
    """The upper half of the averaged weights of each interval less the lower half; weights not given are 0."""
    order = np.lexsort((-average, part))
    size = np.bincount(part, minlength=parts)
    rank = np.arange(part.size) - np.repeat(np.cumsum(size) - size, size)
    half = n_clients // 2
    sign = (rank < half) - 1.0 * (rank >= n_clients - half)
    return np.asarray(np.bincount(part[order], weights=sign * average[order], minlength=parts), dtype=np.float64)


def process_divergence(
    process: ParticipationProcess, interval: int, replicates: int, seed: int = 0, level: float = 0.99
) -> Estimate:
    """The expectation of delta~^2(P) / d^2 over one interval of P rounds of a process, by simulation.

    Its interval adapts to the variance (`sims.montecarlo.confidence`). Rounds without participants are passed over, so
    that an interval has fewer than P rounds then; one without any participant counts as 1.
    """
    interval, replicates = count("interval", interval), count("replicates", replicates)
    drawn = np.array([_one(process.sample(interval, seed + i)) for i in range(replicates)])
    return empirical_bernstein(replicates, float(drawn.mean()), float(drawn.var()), low=0.0, high=1.0, level=level)


def _one(on: npt.NDArray[np.bool_]) -> float:
    on = on[on.any(axis=1)]
    return float(interval_divergence((on / on.sum(axis=1, keepdims=True)).mean(axis=0))) if len(on) else 1.0
