"""Proofs of FedAMD's statements as machine-checked facts: identities, and comparisons of exact numbers or polynomials.

A proof that does not reach a bound says nothing against it; only a violation does. So a proof is reported together
with exact points at which the bound was put to the test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy
from sympy import Rational

from analysis.evidence import Evidence
from fltheory.ledger import Claim


@dataclass(frozen=True)
class Fact:
    """A step of a proof in words, and whether it was certified."""

    statement: str
    holds: bool


def identity(statement: str, residual: Any) -> Fact:
    """`residual` is identically zero."""
    return Fact(statement, sympy.simplify(sympy.expand(residual)) == 0)


def at_most(statement: str, left: Any, right: Any) -> Fact:
    """left <= right for two exact numbers, compared by sympy to as many digits as it takes."""
    difference = sympy.sympify(right) - sympy.sympify(left)
    return Fact(statement, bool(difference.is_number and (difference == 0 or difference.evalf(30) > 0)))


def nonnegative(statement: str, expression: Any, where: Mapping[Any, Any] | None = None) -> Fact:
    """After the substitutions the expression is a ratio of polynomials without a negative coefficient."""
    return Fact(statement, _one_sign(sympy.sympify(expression).subs(dict(where or {}), simultaneous=True)))


def _one_sign(expression: Any) -> bool:
    try:
        numerator, denominator = sympy.fraction(sympy.cancel(sympy.together(expression)))
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
    return least + sympy.Dummy("m", nonnegative=True)


def below_one() -> Any:
    """Any number in [0, 1)."""
    r = sympy.Dummy("r", nonnegative=True)
    return r / (1 + r)


def rhs(claim: Claim) -> Any:
    """The right-hand side of a claim that is a bound."""
    assert claim.bound is not None
    return claim.bound.rhs


def limit_of(claim: Claim, name: str, product: Any) -> Any:
    """The number that a condition "left <= right" leaves for left * product; infinity without the condition."""
    if name not in claim.conditions:
        return sympy.oo
    condition: Any = claim.conditions[name]
    return sympy.simplify(condition.rhs * product)


def upper(number: Any) -> Any:
    """A rational number of four digits above an exact one."""
    return Rational(int(sympy.ceiling(number * 10**4)), 10**4)


def displacement(move: Any, noise: Any) -> tuple[Any, Any]:
    """(y, w): a miner's change is eta_l K (g + R) with |R| <= (y move + w) |g| in mean square, for any K >= 2.

    move is the largest eta_l K L, noise the largest K eta_l^2 L_sigma^2/b'. R = (1/K) sum over k < K of (K - k) D_k,
    D_k = g_{k+1} - g_k, of which at most eta_l L |g_k| is predictable and the rest are martingale differences; and
    |g_k| <= exp(alpha k/K) |g| with alpha = (2 move + move^2/2 + noise)/2. Since (1-s) exp(alpha s) falls in s, sums
    are at most integrals: y = int (1-s) exp(alpha s), w^2 = noise int (1-s)^2 exp(2 alpha s). For K = 1, R = 0.
    """
    alpha = upper((2 * move + move**2 / 2 + noise) / 2)
    twice = 2 * alpha
    predictable = (sympy.exp(alpha) - 1 - alpha) / alpha**2
    wandering = noise * (2 * sympy.exp(twice) - twice**2 - 2 * twice - 2) / twice**3
    return upper(predictable), upper(sympy.sqrt(wandering)) if noise else sympy.Integer(0)


def error_factor(move: Any, noise: Any) -> Any:
    """c with E|change/(eta_l K) - grad F|^2 <= c |g - grad F|^2 + |grad F|^2/2, by Young's inequality."""
    predictable, wandering = displacement(move, noise)
    z = upper(predictable * move + wandering)
    return (1 + z**2 / (Rational(1, 2) - z**2)) * (1 + z) ** 2


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
        f"all parameters that the conditions admit. Steps: {found.domain}. Points: {points.domain}",
        found.cases + points.cases,
        points.largest,
    )


def chain(facts: Iterable[Fact], summary: str) -> Evidence:
    """`proved` if every fact is certified, else `not checked` with the first that is not."""
    done: list[str] = []
    for fact in facts:
        if not fact.holds:
            return Evidence("not checked", "algebra", f"not certified: {fact.statement}", cases=len(done))
        done.append(fact.statement)
    return Evidence("proved", "algebra", summary, "; ".join(done), len(done))
