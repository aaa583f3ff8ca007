"""Each term of Theorem 3.1 is put to the test: runs refute the bound without it, whatever the chain says."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
import sympy

from analysis.checks.amplified.chances import average_exceeds, coin_exceeds, exceeds
from analysis.checks.amplified.theorem import average_quadratics, average_waves, noiseless_waves
from analysis.checks.certificates import identity, nonnegative, weighted_sum
from analysis.trials import judge
from fltheory.papers import amplified
from fltheory.papers.amplified import beta, delta, gap, nu, sigma

POINT: dict[str, Any] = {
    "curvature": 1.0, "variance": 0.0, "slopes": (0.0,), "who": (1,), "emphasis": (1.0,), "start": 0.0,
    "steps": 4, "interval": 2, "rounds": 60, "local_share": 0.99, "product_share": 0.5,
}  # fmt: skip
ALONE: dict[Any, dict[str, Any]] = {
    gap: {"start": 1.0},
    sigma: {"variance": 1.0},
    delta: {"slopes": (1.0, -1.0), "who": (1,)},
    beta: {"slopes": (1.0, -1.0), "who": (1, 2)},
}


@pytest.mark.parametrize("term", list(ALONE))
def test_a_dropped_term_is_missed(term: sympy.Symbol) -> None:
    claim = amplified.thm31_average
    assert claim.bound is not None
    point = POINT | ALONE[term]
    assert not judge(average_quadratics, claim, point).violated
    without = replace(claim, bound=replace(claim.bound, rhs=claim.bound.rhs.subs({term: 0, nu: 0})))
    if term == delta:  # a schedule with an interval divergence has a round divergence too
        without = replace(claim, bound=replace(claim.bound, rhs=without.bound.rhs.subs(beta, 0)))  # type: ignore[union-attr]
    assert judge(average_quadratics, without, point).violated


def test_runs_on_waves_settle_at_minima() -> None:
    point = {k: v for k, v in POINT.items() if k not in ("curvature", "variance")} | {
        "height": 2.0,
        "start": 1.5,
        "centres": (0.0,),
    }
    first = judge(average_waves, amplified.thm31_average, point)
    assert first.admitted
    assert not first.violated
    assert judge(noiseless_waves, amplified.thm31, point).sides.left < first.sides.left


def test_certificates_refuse_what_is_false() -> None:
    a, m = sympy.symbols("a m", nonnegative=True)
    assert nonnegative("", (a + 1) ** 2 - 2 * a).holds
    assert not nonnegative("", a - 1).holds
    assert not nonnegative("", sympy.log(a) + 1).holds
    assert not identity("", (a + m) ** 2 - a**2 - m**2).holds
    assert weighted_sum((a - m) ** 2, a, {0: 1, 1: m, 2: 5}) == 5 - m**2


@pytest.mark.parametrize(("rounds", "level"), [(1, 0.5), (4, 0.2), (7, 0.1)])
def test_tails_by_all_paths(rounds: int, level: float) -> None:
    def share(picks: tuple[int, ...]) -> float:
        paths = list(itertools.product(picks, repeat=rounds))
        return sum((sum(path) / rounds) ** 2 > level for path in paths) / len(paths)

    assert exceeds((1.0, -1.0), rounds, level) == pytest.approx(share((1, -1)))
    assert exceeds((2.0, -1.0, -1.0), rounds, level) == pytest.approx(share((2, -1, -1)))
    assert coin_exceeds(0.5, 2.0, rounds, level) == pytest.approx(share((1, -1)))
    assert average_exceeds(rounds, 1, level) == pytest.approx(share((1, -1)))


def test_the_tail_of_an_average_of_two_intervals() -> None:
    paths = list(itertools.product((1, -1), repeat=6))
    squares = [((sum(path[:3]) / 3) ** 2 + (sum(path[3:]) / 3) ** 2) / 2 for path in paths]
    assert average_exceeds(3, 2, 0.3) == pytest.approx(sum(square > 0.3 for square in squares) / len(paths))
