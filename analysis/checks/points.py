"""Trials at points: known witnesses, declared grids, points drawn from a trial's own space with a fixed seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from analysis.checks.tools import SLACK
from analysis.evidence import Evidence, Tally, ratio_text
from analysis.falsify import searched
from analysis.trials import Judgement, Point, Trial, exact_value, judge
from fltheory.ledger import Claim
from fltheory.verdicts import Verdict


def drawn(trial: Trial, number: int, **fixed: Any) -> Iterator[Point]:
    """Points of the trial's space from a fixed seed, with some coordinates fixed."""
    rng = np.random.default_rng(20221128)
    for _ in range(number):
        yield {name: domain.draw(rng) for name, domain in trial.space.items()} | fixed


def value_of(formula: Any, constants: Mapping[str, Any]) -> Any:
    """A formula at constants of any kind: a float as soon as one constant that it uses is a float, else exact."""
    used = {s.name: constants[s.name] for s in formula.free_symbols}
    if any(isinstance(value, float) for value in used.values()):
        return float(_function(formula)(**used))
    return exact_value(formula, used)


@lru_cache(maxsize=256)
def _function(formula: Any) -> Any:
    return sympy.lambdify(sorted(formula.free_symbols, key=str), formula, "math")


def witnessed(trial: Trial, claim: Claim, point: Point, summary: str) -> Evidence:
    """`refuted` if the exact point satisfies every condition of the claim and violates it, else `not checked`.

    `{left}` and `{right}` in the summary stand for the two sides, to four digits.
    """
    trial.require(point)
    found = judge(trial, claim, point)
    if found.violated:
        for name, side in (("{left}", found.sides.left), ("{right}", found.sides.right)):
            summary = summary.replace(name, f"{float(side):.4g}")
        what = " ".join((trial.evaluate.__doc__ or "").split())
        return Evidence("refuted", "exact witness", summary, what, 1, found.ratio, witness=facts_of(point, found))
    reason = "a condition fails there" if not found.admitted else "both sides agree with the claim there"
    return Evidence("not checked", "exact witness", f"The known witness does not violate this statement: {reason}.")


def facts_of(point: Point, found: Judgement) -> dict[str, Any]:
    """Everything a reader needs to check a point by hand: coordinates, constants, conditions, both sides."""
    sides = found.sides
    return {
        **point,
        **{name: value for name, value in sides.constants.items() if name not in point},
        **{f"condition {name!r}": holds for name, holds in found.conditions.items()},
        **sides.facts,
        "left": sides.left,
        "right": sides.right,
    }


def tally_of(trial: Trial, claim: Claim, points: Iterable[Point]) -> Tally:
    """Cases and largest ratio over the admitted points, and the first that violates the claim.

    Exact points are compared exactly; floats are granted `SLACK`. A left side that is not a number is a violation.
    """
    tally = Tally()
    for point in points:
        trial.require(point)
        found = judge(trial, claim, point)
        if not found.admitted:
            continue
        left, right = found.sides.left, found.sides.right
        tally.cases += 1
        tally.rate(found.ratio, point)
        allowed = right * (1 + SLACK) if isinstance(left, float) or isinstance(right, float) else right
        if not tally.witness and not bool(left <= allowed):
            tally.witness = {name: _short(value) for name, value in facts_of(point, found).items()}
    tally.largest = float(ratio_text(tally.largest, ".4g"))  # the last digits differ between processors
    return tally


def held_at(
    trial: Trial,
    claim: Claim,
    points: Iterable[Point],
    good: Verdict = "exact",
    method: str = "exact points",
    summary: str = "No violation",
    *,
    domain: str,
    ratio: bool = True,
) -> Evidence:
    """`good` with the largest ratio found if no admitted point violates the claim, else `refuted` with the first."""
    tally = tally_of(trial, claim, points)
    finding = f"{summary} at {tally.cases} points" + (
        f"; largest ratio found {ratio_text(tally.largest, '.6g')}." if ratio else "."
    )
    return tally.evidence(good, method, finding, domain=domain, ratio=ratio)


def not_broken(trial: Trial, claim: Claim, number: int, summary: str = "") -> Evidence:
    """`supported` if a seeded search over so many points finds no counterexample, else `refuted` with an exact one."""
    search = searched(trial, claim, number)
    if search.found is not None:
        witness = facts_of(search.found.point, search.found.judgement)
        return Evidence("refuted", "search", f"A search of {trial.name} finds a violation.", witness=witness)
    if not search.admitted:
        return Evidence("not checked", "search", "no point of the search satisfies every condition")
    largest = float(ratio_text(search.largest, ".3g"))
    ratio = ratio_text(largest, ".6g")
    found = f"{summary} No violation at {search.admitted} admitted points, largest ratio found {ratio}."
    place, where = Tally(), f"a seeded search of `{trial.name}`"
    place.rate(search.largest, search.largest_at)
    return Evidence("supported", "search", found.strip(), where, search.admitted, largest, largest_at=place.largest_at)


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value
