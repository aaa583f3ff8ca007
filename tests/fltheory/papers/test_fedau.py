"""The ledger's symbolic statements and the numeric functions of `fltheory.weights` say the same."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

from fltheory.distributions import KCutoffGeometric
from fltheory.ledger import ledger
from fltheory.papers import fedau
from fltheory.symbols import min_rate
from fltheory.weights import corollary4_cutoff, exact_weight_law, weight_error_bound

GRID = [(p, K, T) for p in (0.02, 0.1, 0.5, 0.9) for K in (1, 2, 5, 50) for T in (2, 3, 10, 1000)]


@pytest.mark.parametrize(("p", "cutoff", "rounds"), GRID)
def test_bounds_agree_with_the_numeric_ones(p: float, cutoff: int, rounds: int) -> None:
    variance = float(KCutoffGeometric(p, cutoff).var())
    constants = {"rate": p, "cutoff": cutoff, "rounds": rounds, "interval_variance": variance}
    for claim, which in ((fedau.thm3, "theorem3"), (fedau.thm3_improved, "improved")):
        assert claim.bound is not None
        known = {s.name: constants[s.name] for s in claim.bound.rhs.free_symbols}
        value = weight_error_bound(p, cutoff, rounds, which)  # type: ignore[arg-type]
        assert claim.bound.at(**known) == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize(("p", "cutoff", "rounds"), GRID)
def test_the_per_round_bound_averages_to_the_repaired_one(p: float, cutoff: int, rounds: int) -> None:
    variance = float(KCutoffGeometric(p, cutoff).var())
    early = ledger["fedau.thm3.repaired"].bound
    late = fedau.eqB68b_unconditional.bound
    assert early is not None
    assert late is not None
    known = {"rate": p, "cutoff": cutoff, "interval_variance": variance}
    parts = [(early if t < cutoff else late).at(**known, round_index=t) for t in range(1, rounds)]
    expected = ((1 - p) ** 2 + sum(parts)) / rounds
    assert weight_error_bound(p, cutoff, rounds, "repaired") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("p_min", ["0.02", "0.1", "0.3", "0.9"])
@pytest.mark.parametrize("rounds", [2, 10, 1000, 10_000])
def test_the_cutoff_of_corollary_4(p_min: str, rounds: int) -> None:
    """The least K with (1 - p_min)^(2K) <= 1/T, also where the logarithm is a whole number (0.9 and T = 10,000)."""
    least = next(K for K in range(1, 1000) if (1 - Fraction(p_min)) ** (2 * K) * rounds <= 1)
    assert corollary4_cutoff(float(p_min), rounds) == least
    formula = fedau.lemB71.formulas["cutoff"].subs({min_rate: sympy.Rational(p_min), fedau.T: rounds})
    assert int(formula.evalf()) == least


def test_the_closed_mean_is_that_of_the_law() -> None:
    p, cutoff, rounds = 0.1, 50, 200
    early, late = (fedau.law_mean.formulas[name] for name in ("early", "late"))
    law = exact_weight_law(p, cutoff, rounds)
    form = [
        float((late if t >= cutoff else early).subs({fedau.p: p, fedau.K: cutoff, fedau.t: t})) for t in range(rounds)
    ]
    np.testing.assert_allclose(law.mean[1:], form[1:], rtol=1e-12)
    assert math.isclose(law.mean[0], 1)
