"""The falsifier: search the spaces of a claim's trials for a point that satisfies every condition and violates it.

It climbs left/right in floats, shrinks what it finds, in floats first, where a try is cheap, and makes it exact; then
it shrinks on while the point stays a counterexample in exact arithmetic. A search that finds nothing takes its whole
budget; shrinking takes what is left of it, and at least a fifth of it, by which a late find may pass the budget. It
knows nothing of a claim but its statement and how to compute its two sides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from analysis.domains import Choice, Domain, Real, Several, Whole
from analysis.trials import Judgement, Point, Trial, judge
from fltheory.errors import InputError
from fltheory.ledger import Claim
from fltheory.streams import stream

ELITE = 12  # best points of a trial that the search goes on from
EXPLORE = 0.3  # share of fresh points
MARGIN = 1e-9  # a float ratio must pass 1 by more than rounding before exact arithmetic is asked
RESERVE = 0.2  # share of the budget that shrinking gets at least, beyond the budget after a late find
IN_FLOATS = 0.4  # share of the time for shrinking that may be spent before anything is exact
BITS = (1, 2, 3, 4, 6, 8, 12)  # after the point, to which all numbers are rounded before they shrink one by one


Violates = Callable[[Trial, Claim, Point], Judgement | None]
_ORDER = {Whole: 0, Several: 1, Choice: 2}  # in which coordinates are made simpler


@dataclass(frozen=True)
class Found:
    """An exact counterexample, the trial it belongs to, and how it looks."""

    trial: Trial
    point: dict[str, Any]
    judgement: Judgement


@dataclass
class Search:
    """What a search did: points tried and admitted, the largest ratio found (no supremum) and where, the witness."""

    tried: int = 0
    admitted: int = 0
    largest: float = 0.0
    seconds: float = 0.0
    found: Found | None = None
    largest_at: Point = field(default_factory=dict)

    def admit(self, point: Point, judgement: Judgement) -> None:
        """Count an admitted point."""
        self.admitted += 1
        if judgement.ratio > self.largest:
            self.largest, self.largest_at = judgement.ratio, point


def falsify(
    claim: Claim,
    trials: list[Trial],
    *,
    seconds: float,
    seed: int = 0,
    report: Callable[[Search], None] = lambda search: None,
) -> Search:
    """Search the trials of a claim in turn for `seconds`, and shrink the first counterexample, which ends the search.

    The points tried depend on the seed alone, how many of them on the time. The budget is passed by one evaluation at
    most, and after a late find by shrinking, which may take a fifth of it longer. Raises InputError for a budget that
    is not positive or a claim without trials.
    """
    if not seconds > 0:
        raise InputError("budget", seconds, "a positive number of seconds")
    if not trials:
        raise InputError("claim", claim.id, f"a claim with points to try; for its evidence: fltheory show {claim.id}")
    search, start = Search(), time.monotonic()
    climbs = [_climb(trial, claim, seed, k) for k, trial in enumerate(trials)]
    while search.found is None and search.seconds < seconds:
        for trial, climb in zip(trials, climbs, strict=True):
            point, judgement = next(climb)
            search.tried += 1
            search.seconds = time.monotonic() - start
            if judgement is not None and judgement.admitted:
                search.admit(point, judgement)
                if judgement.ratio > 1 + MARGIN:
                    left = max(seconds - search.seconds, RESERVE * seconds)
                    search.found = exact_witness(trial, claim, point, seconds=left)
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
            search.admit(point, judgement)
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
    """The point in exact numbers, made as simple as it gets within the time; None if it is no counterexample then.

    What shrank in floats may fail in exact arithmetic, by rounding or at the edge of a condition; then the point
    itself is tried.
    """
    start = time.monotonic()
    whole = {name: trial.space[name].exact(value) for name, value in point.items()}
    small, _ = _shrunk(
        trial, claim, _few_bits(trial, claim, whole), _violates_in_floats, stop=start + IN_FLOATS * seconds
    )
    for exact in (small, whole) if small != whole else (whole,):
        judgement = _violates(trial, claim, exact)
        if judgement is not None:
            least, better = _shrunk(trial, claim, exact, _violates, stop=start + seconds)
            return Found(trial, least, better or judgement)
    return None


def _few_bits(trial: Trial, claim: Claim, point: dict[str, Any]) -> dict[str, Any]:
    """All numbers rounded alike, to as few bits as leave a violation: what is computed of them in long runs stays
    short, where a single number of many digits would make it long."""
    for bits in BITS:
        rounded = {name: _rounded(trial.space[name], value, bits) for name, value in point.items()}
        inside = all(trial.space[name].contains(value) for name, value in rounded.items())
        if inside and _violates_in_floats(trial, claim, rounded) is not None:
            return rounded
    return point


def _rounded(domain: Domain, value: Any, bits: int) -> Any:
    if isinstance(domain, Several):
        return tuple(_rounded(domain.of, part, bits) for part in value)
    return Fraction(round(value * 2**bits), 2**bits) if isinstance(domain, Real) else value


def _shrunk(
    trial: Trial, claim: Claim, point: dict[str, Any], violates: Violates, *, stop: float
) -> tuple[dict[str, Any], Judgement | None]:
    """The simplest violation that is reached from a point coordinate by coordinate, and its judgement if it is new.

    Whole numbers come first (a horizon cut in half makes all further tries cheaper), then sequences (clients), then
    choices and rational numbers. In each coordinate the largest cuts come first.
    """
    names = sorted(trial.space, key=lambda name: _ORDER.get(type(trial.space[name]), len(_ORDER)))
    found, again = None, True
    while again:
        again = False
        for name in names:
            for candidate in _cuts(trial.space[name], point[name]):
                if time.monotonic() >= stop:
                    return point, found
                judgement = violates(trial, claim, {**point, name: candidate})
                if judgement is not None:
                    point, found, again = {**point, name: candidate}, judgement, True
                    break
    return point, found


def _cuts(domain: Domain, value: Any) -> Iterator[Any]:
    """Simpler values, the largest cuts first: of a sequence one half or the other, before single parts."""
    if isinstance(domain, Several):
        half = max(len(value) // 2, domain.least)
        if half < len(value):
            yield value[:half]
            yield value[len(value) - half :]
    yield from domain.simpler(value)


def _violates(trial: Trial, claim: Claim, point: Point) -> Judgement | None:
    judgement = _judged(trial, claim, point)
    return judgement if judgement is not None and judgement.violated else None


def _violates_in_floats(trial: Trial, claim: Claim, point: Point) -> Judgement | None:
    """The same with floats for fractions, by more than rounding."""
    judgement = _judged(trial, claim, {name: _rough(trial.space[name], value) for name, value in point.items()})
    good = judgement is not None and judgement.admitted and judgement.ratio > 1 + MARGIN
    return judgement if good else None


def _rough(domain: Domain, value: Any) -> Any:
    """An exact value as the search has it: fractions of real coordinates as floats."""
    if isinstance(domain, Several):
        return tuple(_rough(domain.of, part) for part in value)
    return float(value) if isinstance(domain, Real) else value
