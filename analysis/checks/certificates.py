"""Proofs as chains of machine-checked facts: identities, and inequalities without a negative coefficient.

An inequality between quantities of known ranges is brought to rational functions of symbols that may take any
nonnegative value (N >= 2 becomes N = 2 + m, rho <= 1 becomes rho = 1/(1 + r)); if then numerator and denominator have
nonnegative coefficients only, it is true. A chain that does not reach a statement says nothing against it; only a
violation does, so a proof is reported together with points at which the statement was put to the test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy
from sympy import Dummy

from analysis.evidence import EVERYWHERE, Evidence
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim


@dataclass(frozen=True)
class Fact:
    """A step of a proof in words, and whether it was certified."""

    statement: str
    holds: bool


def identity(statement: str, residual: Any) -> Fact:
    """`residual` is identically zero: it cancels, or simplifies, to 0."""
    expanded = sympy.expand(sympy.sympify(residual))
    return Fact(statement, Step(statement, expanded).holds or sympy.simplify(expanded) == 0)


def at_most(statement: str, left: Any, right: Any) -> Fact:
    """left <= right for two exact numbers, compared by sympy to as many digits as it takes."""
    difference = sympy.sympify(right) - sympy.sympify(left)
    return Fact(statement, bool(difference.is_number and (difference == 0 or difference.evalf(30) > 0)))


def nonnegative(statement: str, difference: Any, where: Mapping[Any, Any] | None = None) -> Fact:
    """An inequality: after the substitutions of `where` the difference is a ratio of polynomials of one sign."""
    return Fact(statement, _one_sign(sympy.sympify(difference).subs(dict(where or {}), simultaneous=True)))


def _one_sign(expression: Any) -> bool:
    try:
        numerator, denominator = sympy.fraction(sympy.cancel(sympy.together(sympy.powdenest(expression, force=True))))
        return bool(numerator == 0 or _signs(numerator) * _signs(denominator) > 0)
    except sympy.PolynomialError:  # not a rational function: nothing is certified
        return False


def _signs(polynomial: Any) -> int:
    """1 if no coefficient is negative, -1 if none is positive, 0 if there are both."""
    symbols = sorted(polynomial.free_symbols, key=str)
    values = sympy.Poly(polynomial, *symbols).coeffs() if symbols else [polynomial]
    if all(value.is_nonnegative for value in values):
        return 1
    return -1 if all(value.is_nonpositive for value in values) else 0


def more_than(least: Any) -> Any:
    """Any number of at least `least`: it plus a nonnegative symbol."""
    return least + Dummy("m", nonnegative=True)


def at_most_one() -> Any:
    """Any number in (0, 1]."""
    return 1 / (1 + Dummy("r", nonnegative=True))


def below_one() -> Any:
    """Any number in [0, 1)."""
    r = Dummy("r", nonnegative=True)
    return r / (1 + r)


def limit_of(claim: Claim, name: str, quantity: Any) -> Any:
    """The largest number that a condition of this name leaves for a quantity; infinity if it bounds something else."""
    if name not in claim.conditions:
        return sympy.oo
    condition: Any = claim.conditions[name]
    limit = sympy.simplify(quantity * condition.gts / condition.lts)
    return limit if limit.is_number else sympy.oo


def weighted_sum(expression: Any, variable: Any, sums: Mapping[int, Any]) -> Any:
    """sum_n q_n expression(a_n) for a polynomial in `variable`, given sum_n q_n a_n^k as sums[k]: linearity."""
    powers = sympy.Poly(sympy.expand(expression), variable).all_coeffs()[::-1]
    return sum(coefficient * sums[power] for power, coefficient in enumerate(powers))


def chain(steps: Iterable[Fact], summary: str, over: str = EVERYWHERE) -> Evidence:
    """`proved` over all of `over` if every step holds, else `not checked` with the first that does not."""
    done: list[str] = []
    for step in steps:
        if not step.holds:
            return Evidence("not checked", "algebra", f"not certified: {step.statement}", cases=len(done))
        done.append(step.statement)
    return Evidence("proved", "algebra", summary, over, len(done), steps=tuple(done))


def proved(facts: Iterable[Fact], points: Evidence, summary: str) -> Evidence:
    """`proved` if every fact is certified and no point violates the claim; what fails otherwise, worst first."""
    if points.verdict != "exact":
        return points
    found = chain(facts, summary)
    if found.verdict != "proved":
        return replace(points, verdict="not checked", summary=f"The proof does not reach it: {found.summary}")
    return Evidence(
        "proved",
        "algebra and exact points",
        f"{summary} {points.summary}",
        f"{found.domain}; points: {points.domain}",
        found.cases + points.cases,
        points.largest,
        largest_at=points.largest_at,
        steps=found.steps,
    )


def confirmed(proof: Evidence, numbers: Evidence) -> Evidence:
    """A proof held against computed numbers: a violation refutes, and numbers alone are not taken for a proof."""
    if numbers.verdict == "refuted":
        return numbers
    if proof.verdict != "proved":
        return proof
    domain = f"{proof.domain}; points: {numbers.domain}"
    return replace(joined(proof, numbers), domain=domain, largest=numbers.largest, largest_at=numbers.largest_at)


def joined(first: Evidence, second: Evidence) -> Evidence:
    """Two findings of one kind as one, in the words of the first."""
    summary, cases = f"{first.summary} {second.summary}", first.cases + second.cases
    larger = max(first, second, key=lambda found: found.largest or 0.0)
    domain = "; ".join(dict.fromkeys(found.domain for found in (first, second)))
    return replace(
        first, summary=summary, domain=domain, cases=cases, largest=larger.largest or 0.0, largest_at=larger.largest_at
    )
