"""Participation as runs [start, stop) of consecutive rounds, from which traces and events are made.

Lengths are drawn by inversion, one standard exponential a length, row by row of a block's stream: a client
reads its own column only, so neither the rates of its neighbours nor the number of rounds asked for move its
draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fltheory.streams import CLIENT_BLOCK, client_blocks

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_PAIRS_AT_ONCE = 4096  # bounds the memory of one draw to a few MiB, however many rounds are asked for
RUNS_AT_ONCE = 65536


class Runs(NamedTuple):
    """Client `client[i]` takes part in rounds `start[i]` to `stop[i] - 1`; int64 arrays of one length."""

    client: IntArray
    start: IntArray
    stop: IntArray

    def events(self) -> tuple[IntArray, IntArray]:
        """Every single participation: (client, round), in the order of the runs."""
        lengths = self.stop - self.start
        before = np.cumsum(lengths) - lengths
        rounds = np.arange(lengths.sum()) + np.repeat(self.start - before, lengths)
        return np.repeat(self.client, lengths), rounds


def clipped(client: IntArray, start: IntArray, stop: IntArray, rounds: int) -> Runs:
    """The runs cut to rounds 0, ..., rounds - 1, without the empty ones; the arrays broadcast."""
    start, stop = np.maximum(start, 0), np.minimum(stop, rounds)
    inside = start < stop
    return Runs(np.broadcast_to(client, inside.shape)[inside], start[inside], stop[inside])


def two_state_runs(enter: FloatArray, leave: FloatArray, rounds: int, seed: int, purpose: str) -> Iterator[Runs]:
    """Runs of independent stationary two-state chains with P(off -> on) = enter and P(on -> off) = leave."""
    off_scale, on_scale = _scale(enter), _scale(leave)
    rate = enter / (enter + leave)
    for clients, rng in client_blocks(seed, purpose, len(rate)):
        width = clients.stop - clients.start
        ids = np.arange(clients.start, clients.stop)[:, None]
        on_at_start = rng.random(CLIENT_BLOCK)[:width] < rate[clients]
        turns = rounds * float(np.max(rate[clients] * leave[clients]))  # expected number of runs
        pairs = min(int(turns + 4 * turns**0.5) + 2, _PAIRS_AT_ONCE)
        end = np.zeros((width, 1), dtype=np.int64)
        while (end < rounds).any():
            draws = rng.standard_exponential((pairs, 2, CLIENT_BLOCK))[:, :, :width].T
            off = _lengths(draws[:, 0], off_scale[clients, None], rounds)
            on = _lengths(draws[:, 1], on_scale[clients, None], rounds)
            off[on_at_start, 0] = 0
            on_at_start[:] = False
            stop = end + np.cumsum(off + on, axis=1)
            yield clipped(ids, stop - on, stop, rounds)
            end = stop[:, -1:]


def _scale(change: FloatArray) -> FloatArray:
    """The s for which ceil(s E) is geometric; 0 where the change is certain, inf where it is impossible."""
    with np.errstate(divide="ignore", over="ignore"):
        return -1 / np.log1p(-change)


def _lengths(exponentials: FloatArray, scale: FloatArray, longest: int) -> IntArray:
    """Geometric numbers 1, 2, ... by inversion, cut at `longest`."""
    with np.errstate(invalid="ignore", over="ignore"):  # fmin passes over the NaN of 0 * inf
        return np.maximum(np.fmin(np.ceil(exponentials * scale), longest), 1).astype(np.int64)


def regular_runs(first: IntArray, on: IntArray, cycle: IntArray, rounds: int) -> Iterator[Runs]:
    """Runs [first + j cycle, first + j cycle + on) for j = 0, 1, ...; arrays (n_clients,), first > -cycle."""
    step = max(1, RUNS_AT_ONCE // (rounds // int(cycle.min()) + 2))
    for low in range(0, len(first), step):
        part = slice(low, low + step)
        turns = np.arange(rounds // int(cycle[part].min()) + 2)
        start = first[part, None] + turns * cycle[part, None]
        ids = np.arange(low, low + len(start))[:, None]
        yield clipped(ids, start, start + on[part, None], rounds)


def cohort_runs(cohorts: Iterator[IntArray], rounds: int, cohort_size: int) -> Iterator[Runs]:
    """Runs one round long: the clients of the t-th cohort take part in round t."""
    step = max(1, RUNS_AT_ONCE // cohort_size)
    for low in range(0, rounds, step):
        when = np.arange(low, min(low + step, rounds)).repeat(cohort_size)
        clients = np.concatenate(list(islice(cohorts, len(when) // cohort_size)))
        yield Runs(clients, when, when + 1)
