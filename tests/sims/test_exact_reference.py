"""Numbers that were computed elsewhere, from the papers' pseudo-code, reproduced by the exact engine to their digits.

Fractions are compared exactly, decimals as far as they are given.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.weights import exact_weight_law, fedau_weights
from sims.algorithms import amplified, fedavg, fedlaavg, fedprox
from sims.algorithms.protocol import Cohort
from sims.exact import Engine, Setting, paths, run
from sims.problems.base import Draws
from sims.problems.local import local_update
from sims.problems.quadratic import DiagonalQuadratic, example_1
from sims.scenarios import (
    average_participating,
    bernoulli,
    fedau_weighted,
    schedule,
    weighted,
)
from tests.sims.digits import digits

ONE, TWO = [True, False], [False, True]


def averaging(scenario):
    return weighted(scenario, average_participating)


# ---- FedAU: objective inconsistency --------------------------------------------------------------------------

RATES = [F(1, 10), F(1, 2), F(9, 10)]
RULES = {
    "known": [1 / p for p in RATES],
    "all": [1, 1, 1],
    "participating": average_participating,
    "fedau": [(1 - (1 - p) ** 5) / p for p in RATES],
}
LIMITS = {"known": F(8, 7), "all": F(76, 47), "participating": F(1076, 631), "fedau": F(855916, 634697)}
WITNESS = DiagonalQuadratic([1, 2, 4], [-1, F(1, 2), 2])


def inconsistent(rule, lr, steps):
    engine = Engine(
        Setting(fedavg.fedavg, WITNESS, fedavg.Hyper(lr, 1, steps), [0]), weighted(bernoulli(RATES), RULES[rule])
    )
    return engine


@pytest.mark.parametrize("rule", RULES)
def test_limit_of_each_weighting_rule(rule):
    """With one step the mean is the limit at every step size; with five it approaches it linearly."""
    limit = LIMITS[rule]
    assert inconsistent(rule, F(1, 50), 1).stationary().mean("x")[0] == limit
    assert inconsistent(rule, F(1, 10), 1).stationary().mean("x")[0] == limit
    # phi_n a_n, of which the map is the mean gradient step: (gamma (I - 1) / 2) sum phi a^2 (b - x) / sum phi a
    on = [(p, who.valid, weight) for p, who, _ in bernoulli(RATES).outcomes(None, {}) for weight in [RULES[rule]]]
    phi = sum(p * valid * np.array(w(valid) if callable(w) else w) for p, valid, w in on)
    a, b = (np.array([v[0] for v in table]) for table in (WITNESS.curvature, WITNESS.centre))
    slope = -2 * (phi * a**2 * (b - limit)).sum() / (phi * a).sum()
    gaps = [
        (inconsistent(rule, gamma, 5).stationary_mean()["x"][0] - limit) / gamma for gamma in (F(1, 10**4), F(1, 10**5))
    ]
    assert abs(gaps[1] - slope) < F(1, 10**3)
    assert gaps[1] - slope == pytest.approx((gaps[0] - slope) / 10, rel=1e-2)


@pytest.mark.parametrize(
    ("lr", "steps", "means"),
    [
        (F(1, 20), 5, {"all": "1.549533", "participating": "1.650003", "known": "1.011564", "fedau": "1.248504"}),
        (F(1, 5), 5, {"all": "1.374415", "participating": "1.502575", "known": "0.689281", "fedau": "1.001068"}),
        (F(1, 5), 20, {"known": "0.505787"}),
    ],
)
def test_bias_at_a_fixed_step_size(lr, steps, means):
    assert all(digits(inconsistent(rule, lr, steps).stationary_mean()["x"][0], mean) for rule, mean in means.items())


def test_known_rates_with_many_local_steps_have_a_mean_but_no_variance():
    """gamma = .2, I = 20: the mean settles at .505787 while the second moment grows by a tenth a round."""
    engine = inconsistent("known", F(1, 5), 20)
    assert engine.growth() == pytest.approx(1.10053802)
    with pytest.raises(InputError, match=r"order 2 times 1\.10053802 a round"):
        engine.stationary()


def test_stationary_variances():
    for rule, variance in {"all": ".0200195", "known": ".3584346", "fedau": ".0950270"}.items():
        assert digits(inconsistent(rule, F(1, 20), 5).stationary().covariance("x")[0, 0], variance)


# ---- FedAU: its own weights depend on the path ---------------------------------------------------------------


@pytest.mark.parametrize(("cutoff", "rounds"), [(1, 4), (2, 6), (math.inf, 5)])
def test_fedau_on_all_participation_paths(cutoff, rounds):
    """The joint chain of model and estimator, all 4^T paths of the algorithm, and Monte Carlo."""
    rates, problem = [F(1, 3), F(3, 4)], DiagonalQuadratic([1, 2], [-1, 2])
    one = Setting(fedavg.fedavg, problem, fedavg.Hyper(F(1, 5), 1, 2), ["1/2"])
    scenario = fedau_weighted(bernoulli(rates), cutoff)
    *_, last = Engine(one, scenario).moments(rounds)
    ends = [(p, states[-1].linear["x"][0]) for p, states in paths(one, scenario, rounds)]
    assert len(ends) == 4**rounds
    assert last.mean("x")[0] == sum(p * x for p, x in ends)
    assert last.second[0, 0] == sum(p * x * x for p, x in ends)
    # Weights of their own: the mean differs from that of weights drawn anew with the same means.
    x = fedau_monte_carlo(problem, [float(p) for p in rates], cutoff, rounds, replicates=40_000)
    for sample, exact in ((x, last.mean("x")[0]), (x**2, last.second[0, 0])):
        assert abs(sample.mean() - float(exact)) < 5 * sample.std() / math.sqrt(sample.size)  # false alarm 6e-7


def fedau_monte_carlo(problem, rates, cutoff, rounds, replicates):
    rng = np.random.default_rng(0)
    history = rng.random((replicates, rounds, 2)) < rates
    weights = fedau_weights(history, cutoff)
    hyper = fedavg.Hyper(0.2, 1, 2)
    state = fedavg.init(hyper, np.full((replicates, 1), 0.5), 2)
    everyone = np.tile(np.arange(2), (replicates, 1))
    for t in range(rounds):
        now = Cohort(everyone, history[:, t], 2, weight=weights[:, t])
        local = local_update(problem, fedavg.work(state, now, hyper), now, Draws())
        state = fedavg.apply(state, now, local, hyper)
    return state.linear["x"][:, 0]


def test_fedau_weights_depend_on_the_path():
    """Witness: after three rounds the mean is not that of the same weights, had they been independent of the model."""
    rates, problem = [F(1, 3), F(3, 4)], DiagonalQuadratic([1, 2], [-1, 2])
    one = Setting(fedavg.fedavg, problem, fedavg.Hyper(F(1, 5)), ["1/2"])
    own = [m.mean("x")[0] for m in Engine(one, fedau_weighted(bernoulli(rates), 3)).moments(3)]
    law = [exact_weight_law(float(p), 3, 3).mean for p in rates]
    apart = one.x0[0]
    for t in range(3):
        mean = [F(weights[t]).limit_denominator(1000) for weights in law]
        step = weighted(bernoulli(rates), mean)
        apart = list(Engine(replace(one, x0=[apart]), step).moments(1))[1].mean("x")[0]
        assert (apart == own[t + 1]) == (t < 2)  # the first two weights are always 1


# ---- amplified FedAvg ----------------------------------------------------------------------------------------


def test_cyclic_participation_leaves_a_bias_that_amplification_does_not_change():
    """x_kP -> sum_t (1 - A)^(P-1-t) b_t / sum_t (1 - A)^(P-1-t), A = 1 - (1 - gamma L)^I, for every eta."""
    lr, steps, centres = F(1, 20), 3, [F(2), F(-1), F(5), F(0)]
    period = len(centres)
    stay = (1 - 2 * lr) ** steps
    shares = [stay ** (period - 1 - t) for t in range(period)]
    limit = sum(s * b for s, b in zip(shares, centres, strict=True)) / sum(shares)
    turns = averaging(schedule(np.eye(period, dtype=bool)))
    for eta in (1, F(3, 2), 2):
        hyper = amplified.Hyper(lr, eta, period, steps)
        one = Setting(amplified.amplified, DiagonalQuadratic([2] * period, centres), hyper, [7])
        assert Engine(one, turns).limit_cycle()[0].mean("x")[0] == limit
    assert limit != F(sum(centres), period)


def test_amplified_reset_example():
    one = Setting(amplified.amplified, DiagonalQuadratic([1], [0]), amplified.Hyper(F(1, 10), 3, 2), [1])
    states = run(one, weighted(schedule([[True]]), [1]), 4)
    assert [s.linear["x"][0] for s in states] == [1, F("0.9"), F("0.43"), F("0.387"), F("0.1849")]


# ---- FedLaAvg ------------------------------------------------------------------------------------------------


def blocks(first, second):
    return schedule([ONE] * first + [TWO] * second)


def example_1_limit(times, centres, lr, steps=1, proximal=0):
    hyper = fedprox.Hyper(lr, proximal, 1, steps)
    return Engine(Setting(fedprox.fedprox, example_1(centres), hyper, [0]), averaging(blocks(*times))).limit_cycle()[0]


@pytest.mark.parametrize(
    ("times", "centres", "lr", "limit"),
    [
        ((3, 1), (1, -1), F(1, 10), F(119, 369)),
        ((2, 5), (4, -3), F(1, 4), F(-360, 127)),
        ((1, 9), (0, 1), F(1, 20), F(6125795110, 6513215599)),
        ((4, 4), (1, -1), F(1, 10), F(-369, 881)),
        ((2, 5), (4, -3), F(1, 1000), "-1.009999959936"),
        ((50, 150), (0, 10), F(1, 10**4), "7.537377792959"),
    ],
)
def test_theorem_1_of_fedlaavg(times, centres, lr, limit):
    """FedAvg on Example 1, at the start of the first client's block."""
    found = example_1_limit(times, centres, lr).mean("x")[0]
    assert digits(found, limit) if isinstance(limit, str) else found == limit


def test_local_steps_and_fedprox_on_example_1():
    cases = [(0, "0.339970"), (1, "0.347876"), (F(1, 100), "0.340052")]
    for proximal, limit in cases:
        assert digits(example_1_limit((3, 1), (1, -1), F(1, 100), 10, proximal).mean("x")[0], limit)
    assert digits(example_1_limit((50, 150), (0, 10), F(1, 10**4), 10).mean("x")[0], "7.861652541989")


def test_step_range_of_theorem_1():
    """t = (2, 3): converges for all 0 < gamma < 1, also outside [e2, e1]."""
    for lr, limit in (("0.1", "-0.451690"), ("0.75", "-1.181818"), ("0.9", "-1.277657"), ("0.99", "-1.039152")):
        assert digits(example_1_limit((2, 3), (1, -1), F(lr)).mean("x")[0], limit)
    with pytest.raises(InputError, match="settle"):
        example_1_limit((2, 3), (1, -1), F(1))
    with pytest.raises(InputError, match="settle"):
        example_1_limit((2, 3), (1, -1), F("1.01"))


def test_orbit_of_fedlaavg():
    one = Setting(fedlaavg.fedlaavg, example_1(), fedlaavg.as_in_paper(F(1, 10)), [1])
    orbit = [state.linear["x"][0] for state in run(one, blocks(1, 1), 6)]
    assert orbit == [1, 1, F(4, 5), F(31, 50), F(239, 500), F(1841, 5000), F(14179, 50000)]
    cycle = Engine(one, blocks(1, 1)).limit_cycle()
    assert [m.mean("x")[0] for m in cycle] == [0, 0]


@pytest.mark.parametrize(
    ("times", "lr", "radius"),
    [
        ((1, 1), "0.001", "0.996"),
        ((1, 1), "0.01", "0.959996"),
        ((1, 1), "0.1", "0.593141"),
        ((1, 1), "0.3", "0.3"),
        ((2, 3), "0.01", "0.902174"),
        ((2, 3), "0.1", "0.1684"),
        ((10, 10), "0.1", "0.038742"),
        ((10, 10), "0.5", "0.992195"),
    ],
)
def test_contraction_of_a_period_of_fedlaavg(times, lr, radius):
    one = Setting(fedlaavg.fedlaavg, example_1(), fedlaavg.as_in_paper(F(lr)), [1])
    assert digits(Engine(one, blocks(*times)).growth() ** (sum(times) / 2), radius)
