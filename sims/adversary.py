"""Worst availability: what the most unfavourable clients can do to a selection within their assumption.

Assumption (FedLaAvg, Assumption 4): every client is available at least once in any `window` successive iterations.
`worst_staleness` goes through everything the availability can do, for a few clients; `local_search` climbs, for more
of them and for any objective. The age of a client is t - T_i in FedLaAvg's letters: the iterations since it last took
part, or since the start.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count
from fltheory.streams import stream

BoolArray = npt.NDArray[np.bool_]
Clients = tuple[int, ...]

# All sets of participants that a selection may make of (ages, available clients, cohort size).
Rule = Callable[[Sequence[int], Clients, int], Iterable[Clients]]


def least_recently_used(ages: Sequence[int], available: Clients, size: int) -> Iterator[Clients]:
    """Those of the highest ages, all of them if they are fewer than `size`; ties broken in every way.

    Source: FedLaAvg, Algorithm 1, line 6.

    >>> list(least_recently_used([3, 1, 1], (0, 1, 2), 2))
    [(0, 1), (0, 2)]
    """
    if len(available) <= size:
        yield available
        return
    last = sorted((ages[client] for client in available), reverse=True)[size - 1]
    sure = tuple(client for client in available if ages[client] > last)
    tied = [client for client in available if ages[client] == last]
    for chosen in itertools.combinations(tied, size - len(sure)):
        yield tuple(sorted(sure + chosen))


def first_by_number(ages: Sequence[int], available: Clients, size: int) -> Iterator[Clients]:
    """The same with ties broken by the smaller client number."""
    yield tuple(sorted(sorted(available, key=lambda client: (-ages[client], client))[:size]))


@dataclass(frozen=True)
class Worst:
    """The largest age that availability can bring about, math.inf if it passed the limit, and how it does.

    available, participates   bool (iterations, n_clients); the age is reached after the last iteration
    """

    staleness: float
    available: BoolArray
    participates: BoolArray


class _Step(NamedTuple):
    before: Any
    available: Clients
    chosen: Clients
    order: Clients  # which client of the state before stands where in the state after


def worst_staleness(
    n_clients: int,
    cohort_size: int,
    window: int,
    *,
    least: int = 0,
    rule: Rule = least_recently_used,
    symmetric: bool = True,
    limit: int | None = None,
) -> Worst:
    """The largest age over all availability patterns that satisfy the assumption and all choices of the rule.

    least       at least so many clients are available in every iteration
    symmetric   the rule does not look at client numbers, so that states that differ by a permutation are one
    limit       stop at an age above this; twice the bound of Lemma 1 if not given

    A breadth-first search of all states (age, iterations since last available) of the clients, so the pattern it
    returns is a shortest one. Source: FedLaAvg, Lemma 1, which bounds the age by ceil(N / K) E - 1.
    """
    n_clients, cohort_size = count("n_clients", n_clients), count("cohort_size", cohort_size)
    window, least = count("window", window), count("least", least, least=0)
    limit = 2 * math.ceil(n_clients / cohort_size) * window if limit is None else count("limit", limit)
    start = ((0, 0),) * n_clients
    steps: dict[tuple[tuple[int, int], ...], _Step | None] = {start: None}
    pending, worst = deque([start]), start
    while pending and _age(worst) <= limit:
        state = pending.popleft()
        ages = [age for age, _ in state]
        for available in _possible(state, window, least):
            for chosen in rule(ages, available, cohort_size):
                after = [
                    (0 if n in chosen else age + 1, 0 if n in available else missed + 1)
                    for n, (age, missed) in enumerate(state)
                ]
                order = tuple(sorted(range(n_clients), key=after.__getitem__) if symmetric else range(n_clients))
                reached = tuple(after[n] for n in order)
                if reached not in steps:
                    steps[reached] = _Step(state, available, chosen, order)
                    pending.append(reached)
                    worst = max(worst, reached, key=_age)
    staleness = _age(worst)
    return Worst(math.inf if staleness > limit else staleness, *_replayed(steps, worst, n_clients))


def staleness(available: npt.ArrayLike, cohort_size: int, rule: Rule = least_recently_used) -> tuple[int, int]:
    """The largest age under an availability pattern (iterations, n_clients): for the luckiest and unluckiest choices.

    >>> staleness([[True, True], [True, True], [True, True]], 1)
    (1, 1)
    """
    cohort_size = count("cohort_size", cohort_size)
    try:
        pattern = np.asarray(available, dtype=np.bool_)
    except ValueError:  # rows of different lengths
        pattern = np.zeros(0, dtype=np.bool_)
    if pattern.ndim != 2 or pattern.shape[1] == 0:
        raise InputError("available", available, "of shape (iterations, n_clients), with at least one client")
    reached = {(0,) * pattern.shape[1]: (0, 0)}
    for row in pattern:
        here = tuple(np.flatnonzero(row).tolist())
        then: dict[Clients, tuple[int, int]] = {}
        for ages, (low, high) in reached.items():
            for chosen in rule(ages, here, cohort_size):
                after = tuple(0 if n in chosen else age + 1 for n, age in enumerate(ages))
                oldest = max(after)
                least, most = max(low, oldest), max(high, oldest)
                known = then.get(after, (least, most))
                then[after] = min(known[0], least), max(known[1], most)
        reached = then
    return min(low for low, _ in reached.values()), max(high for _, high in reached.values())


def local_search(
    objective: Callable[[BoolArray], float], n_clients: int, window: int, rounds: int, *, seed: int, steps: int
) -> tuple[float, BoolArray]:
    """A pattern (rounds, n_clients) of high objective within the assumption, and its objective.

    Starts from coin tosses, changes a few entries or a whole round at a time, and keeps what does not lower the
    objective. What it finds is a lower bound of the worst case. Raises InputError where the objective is NaN.
    """
    rng = stream(seed, "adversary")
    best = repaired(rng.random((count("rounds", rounds), count("n_clients", n_clients))) < 0.5, window)
    value = _of(objective, best)
    for _ in range(count("steps", steps)):
        trial = best.copy()
        if rng.random() < 0.5:
            trial[rng.integers(rounds)] = rng.random() < 0.5
        else:
            entries = rng.integers(rounds, size=3), rng.integers(n_clients, size=3)
            trial[entries] = ~trial[entries]
        trial = repaired(trial, window)
        if (found := _of(objective, trial)) >= value:
            best, value = trial, found
    return value, best


def _of(objective: Callable[[BoolArray], float], pattern: BoolArray) -> float:
    value = objective(pattern)
    if math.isnan(value):  # neither above nor below any other: the search would stand still
        raise InputError("objective", value, "a number for every pattern")
    return value


def repaired(available: BoolArray, window: int) -> BoolArray:
    """The pattern with clients made available in the last iteration in which the assumption still can be kept."""
    kept, window = available.copy(), count("window", window)
    missed = np.zeros(available.shape[1], dtype=np.int64)
    for t in range(len(kept)):
        kept[t] |= missed == window - 1
        missed = np.where(kept[t], 0, missed + 1)
    return kept


def _possible(state: Sequence[tuple[int, int]], window: int, least: int) -> Iterator[Clients]:
    """Sets of available clients that keep the assumption."""
    due = [missed == window - 1 for _, missed in state]
    for on in itertools.product(*((True,) if must else (False, True) for must in due)):
        if sum(on) >= least:
            yield tuple(n for n, here in enumerate(on) if here)


def _age(state: Sequence[tuple[int, int]]) -> int:
    return max(age for age, _ in state)


def _replayed(steps: Mapping[Any, _Step | None], state: Any, n_clients: int) -> tuple[BoolArray, BoolArray]:
    """Availability and participation on the way to a state, by client number."""
    path = []
    while (step := steps[state]) is not None:
        path.append(step)
        state = step.before
    available = np.zeros((len(path), n_clients), dtype=np.bool_)
    participates = available.copy()
    client = np.arange(n_clients)
    for row, step in enumerate(reversed(path)):
        available[row, client[list(step.available)]] = True
        participates[row, client[list(step.chosen)]] = True
        client = client[list(step.order)]
    return available, participates
