"""FedLaAvg: its orbit on Example 1, its special cases, its memory, unbalanced data, and faults to be caught."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from fltheory.errors import InputError
from sims.algorithms import fedsgd
from sims.algorithms.fedlaavg import Hyper, as_in_code, as_in_paper, drift, fedlaavg
from sims.algorithms.protocol import Cohort, State
from sims.problems.base import Draws
from sims.problems.local import local_update
from tests.sims.algorithms.cases_one import FEDLAAVG, RATES, catches, trials
from tests.sims.algorithms.scenario_one import Quadratic, Scenario, example_1, models, run, scenarios

F = Fraction


def test_orbit_on_example_1() -> None:
    """Theorem 2's system with t = (1, 1), e = (1, -1), step size 1/10 from x0 = e_1."""
    orbit = [x[0] for x in models(run(fedlaavg, as_in_paper(F(1, 10)), example_1((1, 1), (1, -1), 1, periods=3)))]
    assert orbit == [1, F(4, 5), F(31, 50), F(239, 500), F(1841, 5000), F(14179, 50_000)]


def test_two_local_steps_by_hand() -> None:
    """f_1 = (x-1)^2/2, f_2 = (x+1)^2, both clients, 2 steps of 1/10 from 1: 16/25 (0 and -18/25, halved)."""
    scenario = replace(
        example_1((1, 0), (1, -1), 1), cohorts=[[0, 1]], curvature=np.array([[F(1)], [F(2)]], dtype=object)
    )
    assert models(run(fedlaavg, as_in_paper(F(1, 10), 2), scenario))[0][0] == F(16, 25)


@given(scenario=scenarios(), local_lr=RATES)
@settings(max_examples=20)
def test_everybody_and_one_step_is_fedsgd(scenario: Scenario, local_lr: Any) -> None:
    everybody = list(range(scenario.n_clients))
    scenario = replace(scenario, cohorts=[everybody for _ in scenario.cohorts], weights=0 * scenario.weights + 1)
    left = models(run(fedlaavg, as_in_paper(local_lr), scenario))
    right = models(run(fedsgd.fedsgd, fedsgd.Hyper(local_lr), scenario))
    assert all((a == b).all() for a, b in zip(left, right, strict=True))


@given(trial=trials(FEDLAAVG))
@settings(max_examples=20)
def test_the_running_average_is_the_average(trial: tuple[Scenario, Hyper]) -> None:
    """Equation (3); and "age" counts the rounds since a client took part, or since the start."""
    scenario, hyper = trial
    last = dict.fromkeys(range(scenario.n_clients), 0)
    for t, state in enumerate(run(fedlaavg, hyper, scenario), start=1):
        last |= dict.fromkeys(scenario.cohorts[t - 1], t)
        assert (drift(state) == 0).all()
        assert state.discrete["age"].tolist() == [t - last[n] for n in range(scenario.n_clients)]


def long_float32_run(refresh: int | None, rounds: int) -> State:
    """100 clients, 10 of them a round, in single precision."""
    n, rng = 100, np.random.default_rng(1)
    problem = Quadratic(np.ones((n, 1), np.float32), rng.normal(size=(n, 1)).astype(np.float32))
    hyper = Hyper(np.float32(0.01), refresh=refresh)
    state = fedlaavg.init(hyper, np.ones(1, np.float32), n)
    for _ in range(rounds):
        cohort = Cohort(rng.choice(n, 10, replace=False), np.ones(10, dtype=bool), n)
        local = local_update(problem, fedlaavg.work(state, cohort, hyper), cohort, Draws())
        state = fedlaavg.apply(state, cohort, local, hyper)
    return state


def test_refreshing_ends_the_drift() -> None:
    """The running average of single-precision numbers is off in every round but those that refresh it."""
    running, refreshed = long_float32_run(None, 1000), long_float32_run(100, 1000)
    assert running.linear["x"].dtype == np.float32
    # A round makes 12 roundings (a sum of 10, a division, an addition) of numbers below 0.5.
    assert 0 < abs(drift(running)[0]) < 1000 * 12 * 0.5 * 2**-24
    assert drift(refreshed)[0] == 0


def test_unbalanced_data() -> None:
    """w = (3/4, 1/4), e = (1, -1), equal curvature: the weighted optimum is 1/2, the pseudo-code settles at 0."""
    scenario = replace(example_1((1, 0), (1, -1), 0, periods=60), cohorts=[[0, 1]] * 60)
    shares = (F(3, 4), F(1, 4))
    literal = models(run(fedlaavg, as_in_paper(F(1, 4)), scenario, "float"))[-1][0]
    scaled = models(run(fedlaavg, as_in_code(F(1, 4), 1, shares), scenario, "float"))[-1][0]
    # Each round halves the distance, exactly in binary; 60 rounds leave less than half a unit in the last place.
    assert literal == 0
    assert scaled == pytest.approx(0.5, abs=2**-52)


def test_memory_of_gradients_follows_the_step_size() -> None:
    """Client 0 takes part once at step size 1/10; the next round, empty, has step size 1/20."""
    scenario = example_1((1, 0), (1, -1), 0)
    for gradients, step in ((False, F(1, 10)), (True, F(1, 20))):
        hyper = Hyper(F(1, 10), gradient_memory=gradients)
        (state,) = run(fedlaavg, hyper, scenario)
        before = state.linear["x"][0]
        assert before == F(1, 10)  # - (1/10) (1/2) 2 (0 - 1)
        empty = Cohort(np.array([0]), np.array([False]), 2)
        later = replace(hyper, local_lr=F(1, 20))
        problem = Quadratic(scenario.curvature, scenario.centre)
        local = local_update(problem, fedlaavg.work(state, empty, later), empty, Draws())
        assert fedlaavg.apply(state, empty, local, later).linear["x"][0] == before + step


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("change / cohort.n_clients", "change / max(1, int(cohort.valid.sum()))"),
        ("latest = put_rows(latest, cohort.clients, cohort.valid, fresh)", "pass"),
        ("fresh - take_rows(latest, cohort.clients)", "fresh"),
        ('average = state.linear["average"] + change', "average = change"),
        ("_mean(latest, average), average)", "_mean(latest, average) + average, average)"),
        ("step_size * cohort.n_clients * shares", "step_size * shares"),
        ("+ unit * average", "+ average"),
    ],
)
def test_faults_are_caught(right: str, wrong: str) -> None:
    assert catches(FEDLAAVG, right, wrong)


@pytest.mark.parametrize("weights", [(F(1, 2), F(1, 4)), (F(3, 2), F(-1, 2)), (math.nan, 1.0)])
def test_bad_shares_are_named(weights: Any) -> None:
    with pytest.raises(InputError, match="weights must be"):
        Hyper(1, weights=weights)


def test_shares_of_other_clients_are_refused() -> None:
    with pytest.raises(InputError, match="one number for each of the 3 clients"):
        fedlaavg.init(Hyper(1, weights=(F(1, 2), F(1, 2))), np.zeros(1), 3)
