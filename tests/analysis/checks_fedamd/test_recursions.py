"""The short recursions that FedAMD's checks search with, against `sims.exact` on the library's FedAMD."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest

from analysis.checks.fedamd.cycles import Cycles
from analysis.checks.fedamd.full import quadratics_with_cycles, quadratics_with_cycles_on_average
from analysis.checks.fedamd.miners import Miner, averaged
from analysis.checks.fedamd.moments import Quadratics, accumulating, after
from analysis.trials import judge
from fltheory.papers import fedamd as claims
from sims.algorithms import fedamd
from sims.exact import Engine, Setting
from sims.problems.base import full_gradient
from sims.problems.noise import Additive, Multiplicative
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import in_turn, roles, schedule, uniform_subsets

NOISES = (None, Additive(F(1, 2)), Multiplicative(F(1, 3)))


def engine(curvatures, scenario, *, noise, steps, x0=1, warm=True):
    """eta_l = 1/10, eta_s = 2; anchors average 3 samples of additive noise, and see no other noise."""
    batch = 3 if isinstance(noise, Additive) else None
    if warm:
        scenario = in_turn(roles(schedule([[True] * len(curvatures)]), 1), 1, scenario)
    problem = DiagonalQuadratic(list(curvatures), 0, noise)
    return Engine(Setting(fedamd.fedamd, problem, fedamd.Hyper(F(1, 10), 2, steps, batch), [x0]), scenario)


def variances(noise):
    """Variance of an anchor's gradient, and of the curvature of a miner's sample."""
    return (F(1, 12), F(0)) if isinstance(noise, Additive) else (F(0), F(1, 9) if noise else F(0))


def squared_gradient(one):
    problem = one.setting.problem
    return one.quadratic(lambda s: (full_gradient(problem, s["x"]) ** 2).sum(axis=-1))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("curvatures", "size"), [((1,), 1), ((1, -2), 1), ((1, F(1, 2)), 2)])
def test_moments_with_a_constant_probability(curvatures, size, noise):
    chance, n = F(1, 3), len(curvatures)
    one = engine(curvatures, roles(uniform_subsets(n, size), chance), noise=noise, steps=2)
    anchors, samples = variances(noise)
    short = Quadratics([F(h) for h in curvatures], size, F(1, 10), 2, F(1, 5), anchors, samples)
    mean, second = short.round(chance)
    first, start = short.start(F(1))
    error = one.quadratic(
        lambda s: ((s["caches"].sum(axis=-2) / n - full_gradient(one.setting.problem, s["x"])) ** 2).sum(axis=-1)
    )
    gradient, cached = short.vector(model=short.curvature), short.vector(model=-short.curvature, caches=1)
    for t, moments in enumerate(list(one.moments(4))[1:]):
        state = after(start, [(second, t)])
        assert short.form(gradient) @ state == moments.expected(squared_gradient(one))
        assert short.form(cached) @ state == moments.expected(error)
        assert after(first, [(mean, t)])[0] == moments.mean("x")[0]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("tau", [2, 3, 5])
def test_cycles_of_all_clients(tau, steps, noise):
    curvatures, cycles = (1, F(-1, 4)), 2
    scenario = roles(schedule([[True] * 2]), [1] + [0] * (tau - 1))
    one = engine(curvatures, scenario, noise=noise, steps=steps, warm=False)
    values = [m.expected(squared_gradient(one)) for m in one.moments(tau * cycles - 1)]
    anchors, samples = variances(noise)
    mean, square = averaged([Miner(F(h), F(1, 10), steps, samples) for h in curvatures])
    short = Cycles(sum(map(F, curvatures)) / 2, tau, mean / 5, (square - mean**2) / 25, anchors / 2)
    assert short.average(F(1), cycles, anchors=True) == sum(values) / len(values)
    assert short.least(F(1), cycles) == min(values)
    moving = [value for t, value in enumerate(values) if t % tau]
    assert short.average(F(1), cycles, anchors=False) == sum(moving) / len(moving)


@pytest.mark.parametrize(("tau", "ratio"), [(65, 1.0105), (100, 1.5618), (1000, 15.452)])
def test_theorem_4_4_at_its_largest_step(tau, ratio):
    """The average from a stationary start, K = 1, eta_l K L = 1/1000."""
    move = 1 / (6 * math.sqrt(6))
    shift = (tau - 1) * move / tau
    point = {
        "anchor_period": tau, "cycles": 2000, "curvatures": (1.0,), "local_steps": 1, "local": 1e-3, "product": move,
        "start": 0.0, "noise": "anchors", "noise_size": 2.0, "anchor_batch": 4,
    }  # fmt: skip
    found = judge(quadratics_with_cycles_on_average, claims.thm44_proof, point)
    assert found.ratio == pytest.approx(ratio, rel=0.01)
    start = math.sqrt(shift / (2 - shift))
    least = judge(quadratics_with_cycles, claims.thm44, {**point, "start": start})
    assert least.ratio < found.ratio


def test_sums_and_exact_steps_agree_with_floats():
    exact = Quadratics([F(1), F(-1, 2)], 1, F(1, 10), 2, F(1, 5), F(1, 3), F(1, 4))
    floats = Quadratics([1.0, -0.5], 1, 0.1, 2, 0.2, 1 / 3, 0.25)
    ends = []
    for run, chance, one in ((exact, F(1, 3), F(1)), (floats, 1 / 3, 1.0)):
        _, second = run.round(chance)
        row = run.form(run.vector(model=1))
        start = np.append(run.start(one)[1], [one * 0])
        ends.append([float(v) for v in after(start, [(accumulating(second, row), 7)])])
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)
