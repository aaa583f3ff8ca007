"""FedAMD: exact second moments of its caches and iterates, against numbers that were computed elsewhere.

Its rounds count from 0 after the warm start, which here is a first round of all clients, all anchors.
"""

from __future__ import annotations

import math
from fractions import Fraction as F

import pytest

from fltheory.errors import InputError
from sims.algorithms import fedamd
from sims.exact import Engine, Setting, paths
from sims.problems.base import full_gradient
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import in_turn, roles, schedule, uniform_subsets
from tests.sims.digits import digits


def engine(curvatures, scenario, local_lr, *, global_lr=1, steps=1, x0=1, centres=0, noise=None, warm=True):
    if warm:
        scenario = in_turn(roles(schedule([[True] * len(curvatures)]), 1), 1, scenario)
    problem = DiagonalQuadratic(curvatures, centres, noise)
    return Engine(Setting(fedamd.fedamd, problem, fedamd.Hyper(local_lr, global_lr, steps), [x0]), scenario)


def cache_error(one):
    """|mean of the caches - grad F(x)|^2."""
    problem, n = one.setting.problem, one.setting.problem.n_clients
    return one.quadratic(lambda s: ((s["caches"].sum(axis=-2) / n - full_gradient(problem, s["x"])) ** 2).sum(axis=-1))


def squared_gradient(one):
    problem = one.setting.problem
    return one.quadratic(lambda s: (full_gradient(problem, s["x"]) ** 2).sum(axis=-1))


def along(one, form, rounds):
    return [moments.expected(form) for moments in one.moments(rounds)]


def test_witness_1():
    """M = A = 1, F = x^2 / 2, p = 1/2, eta = 1/4: E|g - grad F|^2 in rounds 0 to 6."""
    one = engine([1], roles(schedule([[True]]), F(1, 2)), F(1, 4))
    sequence = along(one, cache_error(one), 7)[1:]
    assert sequence[:5] == [0, F(1, 32), F(5, 64), F(233, 2048), F(269, 2048)]
    given = ("0", ".03125", ".078125", ".11376953", ".13134766", ".13306427", ".12401962")
    assert all(digits(*pair) for pair in zip(sequence, given, strict=True))


def test_virtual_average_in_witness_1():
    """The same with h_{t+1} = (h_t + grad F(x_t)) / 2, h_0 = grad F(x_0), for g, path by path."""
    one = engine([1], roles(schedule([[True]]), F(1, 2)), F(1, 4))
    virtual, spread, cross = ([F(0)] * 7 for _ in range(3))
    for probability, states in paths(one.setting, one.scenario, 7):
        h = F(1)
        for t, state in enumerate(states[1:]):
            x, g = state.linear["x"][0], state.linear["caches"][0, 0]
            virtual[t] += probability * (h - x) ** 2
            spread[t] += probability * (g - h) ** 2
            cross[t] += probability * 2 * (g - h) * (h - x)
            h = (h + x) / 2
    given = ("0", ".03125", ".0546875", ".06396484", ".06237793", ".05490875", ".0453968")
    assert all(digits(*pair) for pair in zip(virtual, given, strict=True))
    assert (virtual[2], spread[2], cross[2]) == (F(7, 128), F(1, 128), F(1, 64))


def test_sequential_anchors():
    """M = 2, A = 1, tau = 2, h = (1, -1/2), eta = 1/9, t = 5."""
    one = engine([1, F(-1, 2)], roles(uniform_subsets(2, 1), (1, 0)), F(1, 9))
    assert along(one, cache_error(one), 6)[6] == F(32209, 107495424)


def test_heterogeneous_case_at_the_step_of_theorem_4_8():
    """M = 2, A = 1, p = .1, h = (1, -.98), K = 2, t = 199: the true error is 1.1391e-5."""
    a = math.sqrt(0.9) / 0.05
    scenario = roles(uniform_subsets(2, 1), 0.1)
    one = engine(
        [1.0, -0.98], scenario, 1 / (4 * math.sqrt(6)), global_lr=2 * math.sqrt(6) / (1 + 2 * a), steps=2, x0=1.0
    )
    assert digits(along(one, cache_error(one), 200)[200], "1.1391e-5")


def test_cold_caches():
    """Without the warm start the model leaves the optimum it starts from; eta = 1/4 and Theorem 4.8's step."""
    scenario = roles(uniform_subsets(2, 1), F(2, 3))
    one = engine([1, 1], scenario, F(1, 4), x0=0, centres=[1, -1], warm=False)
    assert along(one, squared_gradient(one), 4) == [0, 0, F(1, 288), F(1, 108), F(1289, 82944)]
    one = engine([1.0, 1.0], scenario, 1 / (1 + 2 * math.sqrt(3)), x0=0.0, centres=[1.0, -1.0], warm=False)
    sequence = along(one, squared_gradient(one), 4)
    assert digits(one.setting.hyper.local_lr, "0.22401")
    given = ("0", "0", "0.0027878", "0.0074341", "0.0124995")
    assert all(digits(*pair) for pair in zip(sequence, given, strict=True))
    one = engine([1, 1], scenario, F(1, 4), x0=0, centres=[1, -1])
    assert along(one, squared_gradient(one), 5) == [0] * 6


# ---- Theorem 4.4: the noise of one anchor round moves the model (tau - 1) times -------------------------------


def anchored(tau, lr, global_lr=1):
    """F = x^2 / 2 from its minimum, K = 1, anchor noise of variance 1, one anchor round in tau."""
    zero = 0 * lr
    return engine(
        [1],
        roles(schedule([[True]]), [1] + [0] * (tau - 1)),
        lr,
        global_lr=global_lr,
        x0=zero,
        noise=Additive(1),
        warm=False,
    )


@pytest.mark.parametrize("tau", [2, 3, 10])
def test_stationary_value_at_the_start_of_a_cycle(tau):
    """s / (2 - s) with s = (tau - 1) gamma, exactly."""
    one = anchored(tau, F(1, 20))
    cycle, s = one.limit_cycle(), F(tau - 1, 20)
    assert len(cycle) == tau
    assert cycle[0].expected(squared_gradient(one)) == s / (2 - s)
    assert one.stationary().given((0, 0)).expected(squared_gradient(one)) == s / (2 - s)


@pytest.mark.parametrize(
    ("tau", "average", "least", "bound", "ratio"),
    [
        (2, "0.017305", "0.017305", "1.088710", "0.016"),
        (50, "0.033739", "0.033341", "0.043594", "0.774"),
        (64, "0.033888", "0.033489", "0.034069", "0.995"),
        (65, "0.033896", "0.033497", "0.033545", "1.0105"),
        (100, "0.034080", "0.033681", "0.021821", "1.562"),
        (1000, "0.034386", "0.033987", "0.002225", "15.45"),
    ],
)
def test_bound_47_is_violated_for_long_periods(tau, average, least, bound, ratio):
    """At the largest step the theorem allows, eta_l = 1e-3."""
    local_lr, step = 1e-3, 1 / (6 * math.sqrt(6) * tau)
    one = anchored(tau, local_lr, step / local_lr)
    form = squared_gradient(one)
    values = [moments.expected(form) for moments in one.limit_cycle()]
    right = 16 * local_lr * (2 * step / local_lr + 3 * local_lr)
    found = (sum(values) / tau, min(values), right, sum(values) / tau / right)
    assert all(digits(*pair) for pair in zip(found, (average, least, bound, ratio), strict=True))


def test_bound_47_after_2000_rounds():
    one = anchored(100, 1e-3, 1 / (0.6 * math.sqrt(6)))
    values = along(one, squared_gradient(one), 1999)
    assert digits(sum(values) / 2000, "0.0223267")


# ---- stability -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("theta", "settles"), [(1, True), (1.5, False), (3, False)])
def test_mean_square_stability(theta, settles):
    """M = 2, h = (1, -1 + 1/1000), p = .05: theta = eta / q above sqrt(2) diverges."""
    one = engine([1.0, -0.999], roles(uniform_subsets(2, 1), 0.05), theta * 0.025, x0=1.0)
    assert (one.growth() < 1) == settles
    if not settles:
        with pytest.raises(InputError, match="settle"):
            one.stationary()


def test_growth_at_three_times_the_critical_step():
    """The same with h = (1, -.98) and theta = 3."""
    one = engine([1.0, -0.98], roles(uniform_subsets(2, 1), 0.05), 3 * 0.025, x0=1.0)
    assert digits(one.growth(), "1.0181")


def test_corollary_4_12_without_a_factor_L_diverges():
    """L = 1e4, mu = 250, M = 2, A = 1, K = 1, p = .0996016: growth per round, and E F(x_2000) / F(x_0)."""
    curvatures, local_lr = [1e4, -0.95e4], 1 / (2 * math.sqrt(6) * 1e4)
    scenario = roles(uniform_subsets(2, 1), 0.0996016)
    wild = engine(curvatures, scenario, local_lr, global_lr=1.376118, x0=1.0)
    assert digits(wild.growth(), "1.082945")
    value = wild.quadratic(lambda s: wild.setting.problem.objective(s["x"]))
    (start,) = wild.moments(0)
    assert digits(wild.after(2001)[0].expected(value) / start.expected(value), "6.9e66")
    tame = engine(curvatures, scenario, local_lr, global_lr=3.81178e-4, x0=1.0)
    assert digits(tame.growth(), "0.9999965")
