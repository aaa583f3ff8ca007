"""FAST on F_1 = (x - 1)^2 / 2, F_2 = (x + 1)^2 / 2: certificates against its Theorem 1, and the limits.

The numbers were computed elsewhere. Arbitrary rounds ask client 1, snapshots 2 clients (or 1) of 2.
"""

from __future__ import annotations

import math
from fractions import Fraction as F

import pytest

from sims.algorithms import fedavg
from sims.exact import Engine, Setting, run
from sims.problems.base import full_gradient
from sims.problems.noise import Additive
from sims.problems.quadratic import plus_minus_one
from sims.scenarios import Scenario, average_participating, cohort, schedule, snapshots, uniform_subsets, weighted
from tests.sims.digits import digits

ONE, TWO, BOTH = [True, False], [False, True], [True, True]


def fast(scenario, lr, x0, steps=1, problem=None):
    setting = Setting(fedavg.fedavg, problem or plus_minus_one(), fedavg.Hyper(lr, 1, steps), [x0])
    return Engine(setting, weighted(scenario, average_participating))


def squared_gradient(engine):
    problem = engine.setting.problem
    return engine.quadratic(lambda s: (full_gradient(problem, s["x"]) ** 2).sum(axis=-1))


def periodic(interval, rounds):
    return [BOTH if r % interval == 0 else ONE for r in range(rounds)]


def mean_squared_gradient(rows, x0, lr):
    """Averages of |grad F|^2 over rounds 1, ..., R and 0, ..., R - 1, exactly, along the run itself."""
    engine = fast(schedule(rows), lr, x0)
    squares = [state.linear["x"][0] ** 2 for state in run(engine.setting, engine.scenario, len(rows))]
    assert all(isinstance(square, F) for square in squares)
    return sum(squares[1:]) / len(rows), sum(squares[:-1]) / len(rows)


@pytest.mark.parametrize(
    ("rows", "x0", "lr", "given"),
    [
        ([*periodic(23, 22), TWO], F(3, 50), F(51, 2000), (".092039", ".084685")),
        ([*periodic(24, 23), TWO], F(31, 500), F(3, 125), (".090916", ".083911")),
        (periodic(66, 66), F(-51, 100), F(19, 400), (".450375", ".441008")),
        (periodic(66, 66), F(-51, 100), F(47, 1000), (".445719", ".436415")),
        (periodic(10, 80), F(-59, 125), F(43, 1000), (".398534", ".391699")),
        (periodic(5, 85), F(-221, 500), F(81, 2000), (".312074", ".307238")),
        (periodic(4, 88), F(-107, 250), F(19, 500), (".265738", ".261849")),
        (periodic(3, 102), F(-41, 100), F(73, 2000), (".227940", ".225389")),
        (periodic(2, 154), F(-19, 50), F(57, 2000), (".141842", ".141176")),
        (periodic(2, 480), F(-43, 100), F(3, 100), (".216072", ".215921")),
    ],
)
def test_certificates_with_deterministic_snapshots(rows, x0, lr, given):
    assert all(digits(*pair) for pair in zip(mean_squared_gradient(rows, x0, lr), given, strict=True))


def test_certificate_with_a_sampled_snapshot():
    """m = n = 1: the client of the only snapshot, in round 0, is drawn; the average over both."""
    branches = [mean_squared_gradient([first, *[ONE] * 69], F(-71, 125), F(49, 1000)) for first in (ONE, TWO)]
    averages = [sum(values) / 2 for values in zip(*branches, strict=True)]
    assert digits(averages[0], ".483128")
    assert digits(averages[1], ".474792")


def coin(probability, size):
    return snapshots(uniform_subsets(2, size), schedule([ONE]), probability=probability)


@pytest.mark.parametrize(
    ("probability", "rounds", "given"),
    [
        (1 / 16, 10**6, ".936945"),
        (1 / 16, 10**9, ".879025"),
        (1 / 2, 10**6, ".304923"),
        (1 / 2, 10**9, ".250430"),
        (9 / 10, 10**9, ".010546"),
        (99 / 100, 10**9, ".000650"),
    ],
)
def test_moments_with_random_snapshots(probability, rounds, given):
    """x0 = 10, eta = 1/1000, m = n = 1, over rounds 1, ..., R."""
    assert digits(over_rounds_from_1(fast(coin(probability, 1), 1e-3, 10.0), rounds), given)


def over_rounds_from_1(engine, rounds):
    (start,) = engine.moments(0)
    last, average = engine.after(rounds)
    form = squared_gradient(engine)
    return average.expected(form) + (last.expected(form) - start.expected(form)) / rounds


def test_ratio_to_the_bound_along_the_step_of_corollary_1():
    """eta = 1 / sqrt(R): LHS / (4 zeta / (R eta) + (120 (1 - q) + 60 q) eta^2) grows like sqrt(R)."""
    for rounds, given in ((10**8, "12.77"), (10**10, "125.3"), (10**12, "1250.3")):
        lr = rounds**-0.5
        bound = 4 * 50 / (rounds * lr) + 90 * lr**2
        value = over_rounds_from_1(fast(coin(0.5, 1), lr, 10.0), rounds)
        assert digits(value / bound, given)


def test_first_violation_along_the_step_of_corollary_1():
    above = []
    for rounds in (337_736, 337_737):
        lr = rounds**-0.5
        above.append(over_rounds_from_1(fast(coin(0.5, 1), lr, 10.0), rounds) - 200 / (rounds * lr) - 90 * lr**2)
    assert above[0] < 0 < above[1]


def test_realistic_size():
    """M = 100, half of them each, m = n = 10, K = 5, noise of variance 1; what counts of a subset is how many are +."""
    chances = [F(math.comb(50, k) * math.comb(50, 10 - k), math.comb(100, 10)) for k in range(11)]
    counted = [(p, cohort([*_first(k, 50), *_first(10 - k, 50)]), None) for k, p in enumerate(chances)]
    scenario = snapshots(Scenario({None: 1}, lambda *state: counted), schedule([_first(10, 100)]), probability=0.5)
    engine = fast(scenario, 2e-4, 10.0, steps=5, problem=plus_minus_one(100, Additive(1)))
    assert digits(over_rounds_from_1(engine, 10**6), ".304727")


def _first(k, n):
    return [i < k for i in range(n)]


def test_client_sampling_alone():
    """q = 1 with m = 1 of 2: plain FedAvg, x0 = 1/5, R = 10^6; and its stationary error for eta = 1 / sqrt(R K)."""
    for steps, lr, given in ((1, 1e-3, "5.1997e-4"), (10, 3.1623e-4, "1.58745e-3")):
        assert digits(over_rounds_from_1(fast(uniform_subsets(2, 1), lr, 0.2, steps), 10**6), given)
    for steps, given in ((1, ".526"), (4, "2.006"), (16, "8.002"), (64, "32.000")):
        rounds = 100 * steps**3
        engine = fast(uniform_subsets(2, 1), (rounds * steps) ** -0.5, 0.0, steps)
        assert digits(engine.stationary().expected(squared_gradient(engine)) * math.sqrt(steps * rounds), given)


@pytest.mark.parametrize(("interval", "given"), [(2, ".250006"), (10, ".810008"), (100, ".980108")])
def test_limit_cycle_of_periodic_snapshots(interval, given):
    engine = fast(snapshots(schedule([BOTH]), schedule([ONE]), interval=interval), F(1, 100), 0)
    cycle = engine.limit_cycle()
    assert len(cycle) == interval
    form = squared_gradient(engine)
    assert digits(sum(m.expected(form) for m in cycle) / interval, given)


@pytest.mark.parametrize("probability", [F(1, 10), F(1, 2), F(9, 10), F(99, 100)])
def test_limit_of_random_snapshots(probability):
    """(1 - q)^2 + eta q (1 - q) / (2 - eta), exactly, for m = M; at eta = 1e-4 about .81000, .25001, .01000."""
    q, lr = probability, F(1, 10**4)
    engine = fast(coin(q, 2), lr, 0)
    value = engine.stationary().expected(squared_gradient(engine))
    assert value == (1 - q) ** 2 + lr * q * (1 - q) / (2 - lr)


def test_limits_of_block_schedules():
    """q = 1/2, R = 4e5, eta = 1/100, x0 = 0: all arbitrary rounds first, or all snapshots first."""
    for order, given in (((ONE, BOTH), ".499751"), ((BOTH, ONE), ".499626")):
        x, total = 0.0, 0.0
        for row in order:
            engine = fast(schedule([row]), 0.01, x)
            last, average = engine.after(200_000)
            x, total = float(last.mean("x")[0]), total + average.expected(squared_gradient(engine)) / 2
        assert digits(total, given)


def test_server_weight_on_arbitrary_rounds():
    """Weight alpha there gives the bias (alpha (1 - q) / (q + alpha (1 - q)))^2; q = 1/2, to first order in eta."""
    for alpha, given in ((F(1), ".2500"), (F(1, 2), ".1111"), (F(1, 10), ".00826")):

        def rule(valid, alpha=alpha):
            return [1, 1] if valid.all() else [2 * alpha, 2 * alpha]

        engine = fast(coin(F(1, 2), 2), F(1, 10**6), 0)
        weighed = Engine(engine.setting, weighted(coin(F(1, 2), 2), rule))
        assert digits(weighed.stationary().mean("x")[0] ** 2, given)


def test_the_run_is_that_of_a_plain_loop():
    """R = 40, a snapshot in every second round."""
    x, lr = F(-43, 100), F(3, 100)
    orbit = [x]
    for r in range(40):
        x = x - lr * (x if r % 2 == 0 else x - 1)
        orbit.append(x)
    engine = fast(snapshots(schedule([BOTH]), schedule([ONE]), interval=2), lr, orbit[0])
    assert [state.linear["x"][0] for state in run(engine.setting, engine.scenario, 40)] == orbit
