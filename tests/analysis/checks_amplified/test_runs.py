"""The scalar runs that trials evaluate against the library's own algorithm and engine."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from analysis.checks.amplified.algorithm import weighted_schedule
from analysis.checks.amplified.runs import quadratic_run
from analysis.checks.amplified.waves import Waves, wave_slope, wave_value
from analysis.checks.amplified.weighting import divergences, schedule
from sims.algorithms.amplified import Hyper, amplified
from sims.exact import Engine, Setting
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic

CURVATURE, SLOPES = F(2), [F(1), F(-3), F(2)]


@pytest.mark.parametrize(
    ("steps", "interval", "factor"), [(1, 1, F(3)), (2, 3, F(5, 2)), (3, 2, F(1, 2)), (2, 4, F(1))]
)
def test_moments_are_those_of_the_engine(steps: int, interval: int, factor: F) -> None:
    rows = schedule((1, 6, 3, 7), (F(1), F(1, 2)), 3, 7)
    problem = DiagonalQuadratic([CURVATURE] * 3, 0, Additive(F(3, 2)), slope=SLOPES)
    setting = Setting(amplified, problem, Hyper(F(1, 20), factor, interval, steps), [F(2)])
    engine = Engine(setting, weighted_schedule(rows))
    wanted = [CURVATURE**2 * m.second[0, 0] for m in engine.moments(6)]
    assert quadratic_run(CURVATURE, SLOPES, F(2), F(9, 4), F(1, 20), factor, steps, interval, rows) == wanted


def test_scatter_is_the_variance_of_weights_drawn_in_every_round() -> None:
    found = quadratic_run(F(1), [F(0)], F(0), F(0), F(1, 2), F(3), 1, 2, [(F(1),)] * 3, scatter=F(4))
    # x_1 = -z_0/2; x_2 = 3 (x_1/2 - z_1/2), with Var z = 4
    assert found == [0, 1, 9 * (F(1, 4) + 1)]


def test_a_wave_is_the_integral_of_its_slope() -> None:
    grid = np.linspace(-9, 9, 3601)
    slopes = np.array([wave_slope(x) for x in grid])
    values = np.array([wave_value(x) for x in grid])
    assert np.abs(np.diff(slopes)).max() <= 0.005 * (1 + 1e-9)
    assert np.diff(values) == pytest.approx(0.0025 * (slopes[1:] + slopes[:-1]), abs=1e-12)
    assert values.min() >= 0
    assert wave_value(F(2)) == 1
    assert wave_slope(F(5, 2)) == F(-1, 2)


def test_a_wave_near_its_minimum_is_a_quadratic() -> None:
    rows = schedule((1, 2), (F(1),), 2, 5)
    slopes = [F(1, 100), F(-1, 100)]
    wave = Waves(F(1), [F(0), F(0)], slopes).run(F(1, 2), F(1, 10), F(2), 2, 2, rows)
    assert wave == quadratic_run(F(1), slopes, F(1, 2), F(0), F(1, 10), F(2), 2, 2, rows)


def test_constants_of_waves_are_those_of_a_grid() -> None:
    problem = Waves(1.5, [0.0, 1.25, -0.5], [0.5, -1.0, 0.5])
    rows = schedule((1, 6, 3, 7), (1.0, 0.5), 3, 6)
    grid = np.linspace(-2, 2, 4001)
    at = [problem.gradients(x) for x in grid]
    local = [divergences([g - sum(row) / 3 for g in row], rows, 2) for row in at]
    wanted = [max(values) for values in zip(*local, strict=True)]
    assert list(problem.divergences(rows, 2)) == pytest.approx(wanted, rel=2e-3)
    assert problem.lowest() == pytest.approx(min(problem.value(x) for x in grid), abs=1e-5)
    assert problem.lowest() <= min(problem.value(x) for x in grid)


def test_divergences_of_two_clients_in_turn() -> None:
    found = divergences([F(1), F(-1)], schedule((1, 2), (F(1),), 2, 4), 2)
    assert found == (1, 1, 0, 0, 1)
    assert divergences([F(1), F(-1)], schedule((1, 2), (F(1),), 2, 3), 1).delta2 == 1
