"""Trials at declared points."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.checks.tools import SLACK, facts_of
from analysis.evidence import Evidence, Tally
from analysis.trials import Point, Trial, judge
from fltheory.ledger import Claim


def at_points(
    trial: Trial, claim: Claim, points: Iterable[Point], *, domain: str, method: str = "exact points"
) -> Evidence:
    """`exact` with the largest ratio found if no admitted point violates the claim, else `refuted` with the first."""
    tally = Tally(slack=SLACK)
    for point in points:
        trial.require(point)
        found = judge(trial, claim, point)
        if found.admitted:
            facts = {name: value for name, value in facts_of(point, found).items() if name not in ("left", "right")}
            tally.at_most(found.sides.left, found.sides.right, **facts)
    summary = f"No violation; largest ratio found {tally.largest:.4g}."
    return tally.evidence("exact", method, summary, domain=domain, ratio=True)
