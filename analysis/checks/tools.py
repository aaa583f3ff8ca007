"""What checks of several papers share: exact values of formulas, and the accuracy that is granted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import sympy
from sympy import Rational

from analysis.evidence import Evidence, Tally
from analysis.trials import Judgement, Point, Trial, judge
from fltheory.ledger import Claim
from fltheory.verdicts import Verdict

# The exact law is accurate to 1e-12 relative; a bound may be missed by that much and no more.
SLACK = 1e-11


def at(expression: Any, **values: Any) -> Fraction:
    """A formula at exact values (Fraction, int or math.inf, by the names of its symbols), as a Fraction."""
    known = {s: values[s.name] for s in expression.free_symbols}
    value = expression.subs({s: sympy.oo if v == math.inf else Rational(v) for s, v in known.items()})
    return Fraction(int(value.p), int(value.q))


def admitted(claim: Claim, **values: Any) -> bool:
    """Whether the claim states its conclusion there: all its conditions hold, compared exactly."""
    return all(
        bool(condition.subs({s: Rational(values[s.name]) for s in condition.free_symbols}))
        for condition in claim.conditions.values()
    )


def rational_sample(residual: Any) -> Any:
    """A residual at p = 1/3, K = 4, T = 7, t = 2 and distinct values, none of them 1, of the other letters."""
    first = {"p": Rational(1, 3), "rate": Rational(1, 3), "K": 4, "cutoff": 4, "rounds": 7, "round_index": 2}
    others = sorted({s.name for s in residual.free_symbols} - set(first))
    values = first | {name: Rational(3 + 2 * i, 4) for i, name in enumerate(others)}
    return residual.subs({s: values[s.name] for s in residual.free_symbols})


def witnessed(trial: Trial, claim: Claim, point: Point, summary: str) -> Evidence:
    """`refuted` if the exact point satisfies every condition of the claim and violates it, else `not checked`."""
    trial.require(point)
    found = judge(trial, claim, point)
    if found.violated:
        return Evidence(
            "refuted", "exact witness", summary, cases=1, largest=found.ratio, witness=facts_of(point, found)
        )
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


def tested(
    trial: Trial, claim: Claim, points: Iterable[Point], good: Verdict, method: str, summary: str, *, domain: str
) -> Evidence:
    """`good` with the largest ratio found if no admitted point violates the claim, else `refuted` with the first."""
    tally = Tally(slack=SLACK)
    for point in points:
        found = judge(trial, claim, point)
        if found.admitted:
            facts = facts_of(point, found)
            tally.at_most(facts.pop("left"), facts.pop("right"), **facts)
    return tally.evidence(
        good, method, f"{summary}; largest ratio found {tally.largest:.4g}.", domain=domain, ratio=True
    )
