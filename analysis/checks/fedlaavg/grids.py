"""Trials held against declared points: the facts of a point are collected only where it violates the claim."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.checks.tools import SLACK, facts_of
from analysis.evidence import Evidence, Tally
from analysis.trials import Point, Trial, judge
from fltheory.ledger import Claim
from fltheory.verdicts import Verdict


def tally_of(trial: Trial, claim: Claim, points: Iterable[Point]) -> Tally:
    """Cases and largest ratio over the admitted points, and the first that violates the claim."""
    tally = Tally()
    for point in points:
        found = judge(trial, claim, point)
        if not found.admitted:
            continue
        left, right = found.sides.left, found.sides.right
        ratio = found.ratio
        tally.cases += 1
        tally.largest = max(tally.largest, ratio)
        allowed = right * (1 + SLACK) if isinstance(left, float) or isinstance(right, float) else right
        if not tally.witness and bool(left > allowed):
            tally.witness = {name: _short(value) for name, value in facts_of(point, found).items()}
    return tally


def no_violation(
    trial: Trial, claim: Claim, points: Iterable[Point], good: Verdict, method: str, *, domain: str
) -> Evidence:
    """`good` with the largest ratio found if no admitted point violates the claim, else `refuted` with the first."""
    tally = tally_of(trial, claim, points)
    summary = f"No violation; largest ratio found {tally.largest:.4g}."
    return tally.evidence(good, method, summary, domain=domain, ratio=True)


def _short(value: object) -> object:
    """Six digits of a float: the last ones differ between processors."""
    return float(f"{value:.6g}") if isinstance(value, float) else value
