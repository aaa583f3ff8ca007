"""Proofs of FedAU's bounds as chains of machine-checked facts: identities, and polynomials without a negative sign.

A chain that does not reach a bound says nothing against it; only a violation does. So a proof is reported together
with exact points at which the bound was put to the test.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import sympy

from analysis.checks.tools import SLACK, facts_of
from analysis.evidence import Evidence, Tally
from analysis.trials import Point, Trial, judge
from fltheory.ledger import Claim


@dataclass(frozen=True)
class Fact:
    """A step of a proof in words, and whether it was certified."""

    statement: str
    holds: bool


def identity(statement: str, residual: Any) -> Fact:
    """`residual` is identically zero."""
    return Fact(statement, sympy.cancel(sympy.expand(residual)) == 0)


def nonnegative(statement: str, expression: Any) -> Fact:
    """`expression` >= 0 for all nonnegative values of its symbols: no coefficient is negative, above or below."""
    parts = sympy.fraction(sympy.together(sympy.expand(expression)))
    return Fact(statement, all(_without_minus(part) for part in parts) and parts[1] != 0)


def _without_minus(expression: Any) -> bool:
    symbols = sorted(expression.free_symbols, key=str)
    if not symbols:
        return bool(expression >= 0)
    polynomial = sympy.Poly(sympy.expand(expression), *symbols)
    return all(c.is_number and bool(c >= 0) for c in polynomial.coeffs())


def limit_of(claim: Claim, name: str, product: Any) -> Any:
    """The number that a condition "left <= right" leaves for left * product; infinity without the condition."""
    if name not in claim.conditions:
        return sympy.oo
    return sympy.simplify(claim.conditions[name].rhs * product)


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


def proved(facts: Iterable[Fact], points: Evidence, summary: str) -> Evidence:
    """`proved` if every fact is certified and no point violates the claim; what fails otherwise, worst first."""
    if points.verdict != "exact":
        return points
    done = []
    for fact in facts:
        if not fact.holds:
            return replace(points, verdict="not checked", summary=f"The proof does not reach it: {fact.statement}.")
        done.append(fact.statement)
    return Evidence(
        "proved",
        "algebra and exact points",
        f"{summary} {points.summary}",
        f"all parameters that the conditions admit. Steps: {'; '.join(done)}. Points: {points.domain}",
        len(done) + points.cases,
        points.largest,
    )
