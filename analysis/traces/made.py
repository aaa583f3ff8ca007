"""Logs that are made: from a process, and from another log by a bootstrap that keeps the hour of the day."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from analysis.traces.columns import rounds_of_a_day
from analysis.traces.log import Bools, Ints, Log
from analysis.traces.read import read_log
from fltheory.errors import InputError, count
from fltheory.participation import ParticipationProcess
from fltheory.participation.base import MOST_EVENTS
from fltheory.streams import stream
from sims import catalogue
from sims.availability import Reactive, availability
from sims.experiment import content_of


def of_file(path: Path, clients: int, rounds: int | None, seed: int | None) -> Log:
    """A trace of the process in an experiment file, which says rounds and seed (or 0) where they are None."""
    content = content_of(path)
    if "process" not in content:
        raise InputError("EXPERIMENT.toml", str(path), "a file with a table [process]")
    rounds = content.get("rounds") if rounds is None else rounds
    if rounds is None:
        raise InputError("--rounds", None, "given, where the file has no rounds")
    process = catalogue.process(catalogue.with_infinity(content["process"]), clients)
    return from_process(process, rounds, content.get("seed", 0) if seed is None else seed)


def of_log(path: Path, clients: int, rounds: int | None, seed: int, round_length: str | None, day: int | None) -> Log:
    """`day_shifted` of the log at `path`; a length of rounds says how many a day has, else `day` must."""
    if (round_length is None) == (day is None):
        given = {"--round-length": round_length, "--day": day}
        raise InputError(
            "--from", given, "given with --round-length, or for a log without times with --day, the rounds of a day"
        )
    log = read_log(path, rounds=rounds, round_length=round_length)
    if round_length is not None:
        day = rounds_of_a_day("--round-length", round_length)
        if not day:
            raise InputError("--round-length", round_length, "such that a day is a whole number of rounds")
    assert day is not None
    return day_shifted(log, clients, day, seed)


def from_process(process: ParticipationProcess | Reactive, rounds: int, seed: int) -> Log:
    """A trace of a process: clients 0..N-1, all of them observed in every round.

    A reactive process sees everybody take part who is available. Raises InputError for rounds that are no whole
    number of at least 1, a seed below 0, and for more participations than `sample_events` gives.
    """
    rounds, seed = count("rounds", rounds), count("seed", seed, least=0)
    if isinstance(process, ParticipationProcess):
        client, when = process.sample_events(rounds, seed)
    else:
        one = availability(process, rounds, 1, stream(seed, "traces.reactive"))
        trace = np.empty((rounds, process.n_clients), dtype=np.bool_)
        for t in range(rounds):
            available = one.available(t)
            one.update(t, available)
            trace[t] = available[0]
        client, when = np.nonzero(trace.T)
    names = tuple(map(str, range(process.n_clients)))
    return Log(names, rounds, client, when, seen=np.ones(process.n_clients, dtype=np.bool_))


def day_shifted(log: Log, n_clients: int, day: int, seed: int) -> Log:
    """A log of clients 0..N-1, each of them a client of `log` drawn at random, moved on by a random number of days.

    The log is taken as a circle of whole days, of which the rounds after the last whole day are no part; what
    is unobserved moves along. So the time of day, gaps and rates of clients stay as they are (but where the circle is
    closed), while clients whose days differ are independent of one another. Clients never seen are not drawn. A new
    client depends on the seed and its number alone.

    day   rounds of a day

    Raises InputError for a log shorter than a day or without a client seen in it, and for numbers that are not whole
    or too large.

    >>> log = day_shifted(Log(("a",), 7, np.array([0, 0]), np.array([1, 3])), n_clients=2, day=2, seed=0)
    >>> log.n_rounds, log.client.tolist(), log.round.tolist()
    (6, [0, 0, 1, 1], [1, 5, 1, 3])
    """
    n_clients, day = count("clients", n_clients), count("day", day)
    days = log.n_rounds // day
    if not days:
        raise InputError("day", day, f"at most the {log.n_rounds} rounds of the log")
    rounds = days * day
    shown = _cut(log.client, log.round, rounds) if log.observed is None else _cut(*log.observed, rounds)
    sources = np.unique(shown[0]) if log.seen is None or log.observed is not None else np.flatnonzero(log.seen)
    if not len(sources):
        raise InputError("the log", f"{rounds} rounds in whole days", "one in which a client was seen")
    draws = stream(seed, "traces.day-shift").integers(0, [len(sources), days], size=(n_clients, 2))
    source, shift = sources[draws[:, 0]], draws[:, 1] * day
    observed = None if log.observed is None else _moved(*shown, source, shift, rounds)
    participations = _moved(*_cut(log.client, log.round, rounds), source, shift, rounds)
    seen = np.ones(n_clients, dtype=np.bool_) if log.observed is None else None
    return Log(tuple(map(str, range(n_clients))), rounds, *participations, observed, seen)


def _cut(client: Ints, round_: Ints, rounds: int) -> tuple[Ints, Ints]:
    within: Bools = round_ < rounds
    return client[within], round_[within]


def _moved(client: Ints, round_: Ints, source: Ints, shift: Ints, rounds: int) -> tuple[Ints, Ints]:
    """The events of `source[j]` as those of client j, `shift[j]` rounds later on the circle; sorted."""
    first, last = (np.searchsorted(client, source, side=side) for side in ("left", "right"))
    lengths = last - first
    if lengths.sum() > MOST_EVENTS:
        raise InputError(
            "clients", len(source), f"so few that they have at most {MOST_EVENTS:.0e} rounds on or observed"
        )
    whose = np.repeat(np.arange(len(source)), lengths)
    at = np.arange(len(whose)) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
    key = whose * rounds + (round_[at] + shift[whose]) % rounds
    key.sort()
    return key // rounds, key % rounds
