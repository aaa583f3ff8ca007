"""The falsifier: search the spaces of a claim's trials for a point that satisfies every condition and violates it.

It climbs left/right in floats, makes what it finds exact, and shrinks it while it stays a counterexample in exact
arithmetic. It knows nothing of a claim but its statement and how to compute its two sides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.trials import Judgement, Point, Trial, judge
from fltheory.errors import InputError
from fltheory.ledger import Claim
from fltheory.streams import stream

ELITE = 12  # best points of a trial that the search goes on from
EXPLORE = 0.3  # share of fresh points
MARGIN = 1e-9  # a float ratio must pass 1 by more than rounding before exact arithmetic is asked
EXACT_SHARE = 0.3  # of the budget that making one candidate exact and smaller may take


@dataclass(frozen=True)
class Found:
    """An exact counterexample, the trial it belongs to, and how it looks."""

    trial: Trial
    point: dict[str, Any]
    judgement: Judgement


@dataclass
class Search:
    """What a search did: points tried and admitted, the largest ratio found (never a supremum), the counterexample."""

    tried: int = 0
    admitted: int = 0
    largest: float = 0.0
    seconds: float = 0.0
    found: Found | None = None


def falsify(
    claim: Claim,
    trials: list[Trial],
    *,
    seconds: float,
    seed: int = 0,
    report: Callable[[Search], None] = lambda search: None,
) -> Search:
    """Search the trials of a claim in turn for at most `seconds`; stop at the first exact counterexample.

    The points tried depend on the seed alone, how many of them on the time. Raises InputError for a budget that is
    not positive or a claim without trials.
    """
    if not seconds > 0:
        raise InputError("budget", seconds, "a positive number of seconds")
    if not trials:
        raise InputError("claim", claim.id, "a claim that can be put to the test (one with a trial)")
    search, start = Search(), time.monotonic()
    climbs = [_climb(trial, claim, seed, k) for k, trial in enumerate(trials)]
    while search.found is None and search.seconds < seconds:
        for trial, climb in zip(trials, climbs, strict=True):
            point, judgement = next(climb)
            search.tried += 1
            search.seconds = time.monotonic() - start
            if judgement is not None and judgement.admitted:
                search.admitted += 1
                search.largest = max(search.largest, judgement.ratio)
                if judgement.ratio > 1 + MARGIN:
                    search.found = exact_witness(trial, claim, point, seconds=EXACT_SHARE * seconds)
                    if search.found is not None:
                        break
            report(search)
    search.seconds = time.monotonic() - start
    return search


def searched(trial: Trial, claim: Claim, points: int, seed: int = 0) -> Search:
    """The same with a number of points instead of a time: what checks use, since it is deterministic."""
    search, climb = Search(), _climb(trial, claim, seed, 0)
    for _ in range(points):
        point, judgement = next(climb)
        search.tried += 1
        if judgement is not None and judgement.admitted:
            search.admitted += 1
            search.largest = max(search.largest, judgement.ratio)
            if judgement.ratio > 1 + MARGIN:
                search.found = exact_witness(trial, claim, point, seconds=20)
                if search.found is not None:
                    break
    return search


def _climb(trial: Trial, claim: Claim, seed: int, number: int) -> Iterator[tuple[dict[str, Any], Judgement | None]]:
    """Points one after the other: fresh ones, and neighbours of the best admitted so far."""
    rng = stream(seed, f"falsify {claim.id}", number)
    best: list[tuple[float, int, dict[str, Any]]] = []
    tried = 0
    while True:
        if not best or rng.random() < EXPLORE:
            point = {name: domain.draw(rng) for name, domain in trial.space.items()}
        else:
            rank = min(int(rng.geometric(0.3)) - 1, len(best) - 1)
            point = dict(best[rank][2])
            for name in rng.choice(list(point), size=min(len(point), int(rng.geometric(0.6))), replace=False):
                point[name] = trial.space[name].near(point[name], rng)
        tried += 1
        judgement = _judged(trial, claim, point)
        yield point, judgement
        if judgement is not None and judgement.admitted and not np.isnan(judgement.ratio):
            best.append((-judgement.ratio, tried, point))
            best.sort(key=lambda entry: entry[:2])
            del best[ELITE:]


def _judged(trial: Trial, claim: Claim, point: Point) -> Judgement | None:
    """The judgement, or None where the trial refuses the point (parameters that do not fit together)."""
    try:
        with np.errstate(all="ignore"):
            return judge(trial, claim, point)
    except (InputError, ZeroDivisionError, OverflowError, FloatingPointError):
        return None


def exact_witness(trial: Trial, claim: Claim, point: Point, *, seconds: float) -> Found | None:
    """The point in exact numbers, made as simple as it gets within the time; None if it is no counterexample then."""
    stop = time.monotonic() + seconds
    exact = {name: trial.space[name].exact(value) for name, value in point.items()}
    judgement = _judged(trial, claim, exact)
    if judgement is None or not judgement.violated:
        return None
    shrunk = True
    while shrunk and time.monotonic() < stop:
        shrunk = False
        for name, domain in trial.space.items():
            for candidate in domain.simpler(exact[name]):
                if time.monotonic() > stop:
                    break
                simpler = {**exact, name: candidate}
                found = _judged(trial, claim, simpler)
                if found is not None and found.violated:
                    exact, judgement, shrunk = simpler, found, True
                    break
    return Found(trial, exact, judgement)
