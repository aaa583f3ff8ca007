"""The plus-minus-one family's recursion against the library's FedAvg, its snapshots and its exact moments."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from analysis.checks.fast.family import AWAY, Family, average_square, periodic, short
from analysis.checks.fast.nonconvex import followed, least_average, power_between
from fltheory.errors import InputError
from sims.algorithms import fedavg
from sims.algorithms.protocol import State
from sims.exact import Engine, Setting, run
from sims.problems.base import full_gradient
from sims.problems.noise import Additive
from sims.problems.quadratic import plus_minus_one
from sims.scenarios import average_participating, schedule, snapshots, uniform_subsets, weighted
from sims.selection import always, snapshot

SIDES = {1: [True, False], -1: [False, True], None: [True, True]}


def setting(lr, steps, x0, noise=0):  # noise is a standard deviation, the family has a variance
    return Setting(fedavg.fedavg, plus_minus_one(2, Additive(noise)), fedavg.Hyper(lr, 1, steps), [x0])


@pytest.mark.parametrize("steps", [1, 3])
def test_means_are_the_run_of_the_library(steps):
    targets = periodic(3, 14, (1, -1, 1))
    scenario = weighted(schedule([SIDES[target] for target in targets]), average_participating)
    states = run(setting(F(1, 20), steps, F(2, 3)), scenario, 14)
    found = Family(F(1, 20), steps).moments(F(2, 3), targets)
    assert [mean for mean, _ in found] == [state.linear["x"][0] for state in states]


def test_periodic_snapshots_are_those_of_the_selection():
    select, memory, taken = snapshot(2, always(0), interval=4), {}, []
    rng = np.random.default_rng(0)
    for _ in range(11):
        _, memory = select(np.ones(2, dtype=bool), State({}), memory, rng)
        taken.append(bool(memory["snapshot"]))
    assert taken == [target is None for target in periodic(4, 11, (1,))]


@pytest.mark.parametrize("m", [1, 2])
def test_moments_with_drawn_clients_and_noise(m):
    scenario = snapshots(uniform_subsets(2, m), schedule([SIDES[1]]), interval=2)
    engine = Engine(setting(F(1, 8), 2, F(1, 2), 2), weighted(scenario, average_participating))
    form = engine.quadratic(lambda s: (full_gradient(engine.setting.problem, s["x"]) ** 2).sum(axis=-1))
    exact = [moments.expected(form) for moments in engine.moments(6)]
    found = Family(F(1, 8), 2, F(4), m).moments(F(1, 2), periodic(2, len(exact) - 1, (1,)))
    assert [mean**2 + variance for mean, variance in found] == exact


@pytest.mark.parametrize("m", [1, 2])
def test_coins_in_closed_form(m):
    scenario = snapshots(uniform_subsets(2, m), schedule([SIDES[1]]), probability=F(1, 3))
    engine = Engine(setting(F(1, 8), 2, F(1, 2), 2), weighted(scenario, average_participating))
    form = engine.quadratic(lambda s: (full_gradient(engine.setting.problem, s["x"]) ** 2).sum(axis=-1))
    exact = sum(moments.expected(form) for moments in list(engine.moments(9))[:9]) / 9
    assert Family(F(1, 8), 2, F(4), m).average_with_coins(F(1, 3), F(1, 2), 9) == exact


@pytest.mark.parametrize("m", [1, 2])
def test_followed_runs_are_on_the_safe_side(m):
    family, targets = Family(F(1, 23), 2, m=m), periodic(3, 60, (1, AWAY))
    exact = followed(family, F(-3, 7), targets)
    rough = followed(Family(1 / 23, 2, m=m), -3 / 7, targets)
    assert vars(exact).keys() == vars(rough).keys()
    assert all(float(value) == pytest.approx(vars(rough)[name]) for name, value in vars(exact).items())
    true = min(average_square(family.moments(F(-3, 7), targets), family))
    assert true - F(1, 10**30) < exact.average <= true
    if m == 2:
        squares = [(mean * family.summed) ** 2 for mean, _ in family.moments(F(-3, 7), targets)[:-1]]
        largest = max(square for square, target in zip(squares, targets, strict=True) if target is None)
        assert exact.least_1 <= largest <= exact.most_3


def test_powers_and_averages_are_enclosed():
    least, most = power_between(F(199, 200), 1000)
    assert least < F(199, 200) ** 1000 < most < least + F(1, 10**30)
    family = Family(F(1, 50), 1, m=1)
    _, limit = family.coins(F(1))
    for start in (F(0), F(1, 2)):
        true = min(average_square(family.moments(start, [None] * 40), family))
        assert true - F(1, 10**30) < least_average(start, limit, family.keep, 40) <= true


def test_long_numbers_are_rounded_to_the_side_asked_for():
    third = F(1, 3**100)
    assert short(third) <= third <= short(third, up=True)
    assert short(F(1, 3)) == F(1, 3)


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="m <= M"):
        Family(F(1, 2), 1, m=3)
    with pytest.raises(InputError, match="rounds"):
        periodic(2, 10**6, (1,))
