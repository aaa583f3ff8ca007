"""One round by all branches: on quadratics the library's engine, otherwise a plain enumeration of signs."""

from __future__ import annotations

import itertools
from fractions import Fraction as F

import pytest

from analysis.checks.fast.branches import branching_round, local_moments
from analysis.trials import judge
from fltheory.papers import fast
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from tests.analysis.checks_fast.test_coins import engine_of

POINT = {
    "smoothness": F(2), "flatness": F(1), "spread": F(3), "noise": F(5), "noisy": "everywhere", "start": F(1, 4),
    "step_share": F(1), "steps": 3, "sampled": 3, "asked": 2, "arbitrary": F(1, 3), "young": F(1),
}  # fmt: skip


@pytest.mark.parametrize(("m", "n", "steps"), [(3, 2, 3), (1, 1, 2), (4, 2, 1)])
def test_one_curvature_is_a_quadratic(m: int, n: int, steps: int) -> None:
    point = POINT | {"sampled": m, "asked": n, "steps": steps}
    found = judge(branching_round, fast.thm2_gen, point).sides
    problem = DiagonalQuadratic([F(2)] * 4, 0, Additive(F(5), "rademacher"), slope=[F(3), F(3), F(-3), F(-3)])
    assert problem.constants.heterogeneity == found.constants["heterogeneity"]
    engine = engine_of(problem, [POINT["start"]], m, n, F(2, 3), found.constants["local_lr"], steps)
    assert list(engine.moments(1))[-1].second[0, 0] == found.left


@pytest.mark.parametrize("noisy", ["above", "below", "everywhere"])
def test_two_curvatures_and_noise_on_one_side(noisy: str) -> None:
    point, lr, slope = POINT | {"flatness": F(1, 4), "noisy": noisy}, F(1, 10), F(-3)
    ends = []
    for signs in itertools.product((-1, 1), repeat=point["steps"]):
        x = point["start"]
        for sign in signs:
            seen = {"above": x > 0, "below": x <= 0, "everywhere": True}[noisy]
            x -= lr * ((2 * x if x > 0 else x / 2) + slope + sign * seen * 5)
        ends.append(x)
    mean = sum(ends) / F(len(ends))
    assert local_moments(point, slope, lr) == (mean, sum((x - mean) ** 2 for x in ends) / F(len(ends)))
