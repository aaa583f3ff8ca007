"""The two-moment recursion of FedAU's trials is that of the exact engine on the library's FedAvg."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from analysis.checks.fedau.quadratics import Run, cyclic
from sims.algorithms.fedavg import Hyper, fedavg
from sims.exact import Engine, Setting
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import bernoulli, weighted


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("noise", [F(0), F(1, 2)])
def test_moments_are_those_of_the_engine(steps: int, noise: F) -> None:
    curvatures, centres = [F(1), F(3), F(-1, 2)], [F(-1), F(2), F(0)]
    rates, weights = [F(1, 3), F(1), F(1, 5)], [F(2), F(1, 2), F(3)]
    run = Run(curvatures, centres, rates, noise**2, F(1, 10), F(3, 2), steps)
    problem = DiagonalQuadratic(curvatures, centres, Additive(noise, "rademacher"))
    engine = Engine(
        Setting(fedavg, problem, Hyper(F(1, 10), F(3, 2), steps), [F(2)]), weighted(bernoulli(rates), weights)
    )
    mean, second = F(2), F(4)
    for moments in engine.moments(4):
        assert (mean, second) == (moments.mean("x")[0], moments.second[0, 0])
        mean, second = run.step(mean, second, weights)


def test_values_are_read_over_and_over() -> None:
    assert cyclic((1, 2), 5) == [1, 2, 1, 2, 1]
