"""The constants that Theorem 2's chain arrives at, and claims that it must not reach."""

from __future__ import annotations

import pytest
import sympy
from sympy import Rational

from analysis.checks import mutate, without
from analysis.checks.certificates import chain
from analysis.checks.fast.contraction import all_rounds_covered, before, largest, round_at_most
from fltheory.papers import fast
from fltheory.papers.fast import K, L, eta, mu, n, sigma, sigma_G

AT = {n: 1, K: 1, L: 1, eta: Rational(1, 20)}  # the largest step


def test_eight_and_two_are_not_reached() -> None:
    found = sympy.expand(round_at_most(n, biased=False).subs(mu, 0).subs(AT) - before)
    constants = {symbol: found.coeff(power) / unit for symbol, power, unit in (
        ("start", before, AT[eta] ** 2), ("heterogeneity", sigma_G**2, AT[eta] ** 2), ("noise", sigma**2, AT[eta] ** 2),
    )}  # fmt: skip
    assert constants == {
        "start": Rational("7.3375"),
        "heterogeneity": Rational("7.3375"),
        "noise": Rational("1.95625"),
    }


def test_the_step_is_read_off_the_claim() -> None:
    assert largest(fast.thm2_app) == Rational(1, 20)
    assert largest(without("step").apply(fast.thm2_app)) == sympy.oo


@pytest.mark.parametrize("change", [lambda c: c.lhs <= c.rhs * fast.m, lambda c: c.lhs <= c.rhs * fast.Max(fast.m, n)])
def test_a_step_that_does_not_fall_with_the_cohort_is_not_certified(change: object) -> None:
    claim = mutate("step", "larger", change).apply(fast.thm2_app)  # type: ignore[arg-type]
    assert chain(all_rounds_covered(claim, claim.formulas["epsilon"]), "").verdict == "not checked"
