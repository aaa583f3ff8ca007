"""Amplified FedAvg and waiting: the witness of the reset, special cases, and faults that must be caught."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fltheory.errors import InputError
from sims.algorithms import fedavg, minibatch_sgd
from sims.algorithms.amplified import Hyper, WaitHyper, amplified, wait_full, wait_minibatch
from tests.sims.algorithms.cases_one import AMPLIFIED, RATES, STEPS, WAIT_FULL, WAIT_MINIBATCH, catches
from tests.sims.algorithms.scenario_one import Scenario, example_1, models, run, scenarios

F = Fraction


def same_models(left: Any, right: Any) -> bool:
    return all((a == b).all() for a, b in zip(models(left), models(right), strict=True))


def everybody(scenario: Scenario) -> Scenario:
    return replace(scenario, cohorts=[list(range(scenario.n_clients)) for _ in scenario.cohorts])


def test_the_accumulator_is_reset() -> None:
    """f = x^2/2, step size 0.1, P = 2, eta = 3 from 1: 1, .9, .43, .387, .1849 (without a reset it ends at -.1951)."""
    alone = example_1((4, 0), (0, 0), x0=1, curvature=1)
    orbit = [x[0] for x in models(run(amplified, Hyper(F(1, 10), 3, 2), alone))]
    assert orbit == [F(9, 10), F(43, 100), F(387, 1000), F(1849, 10_000)]


@given(scenario=scenarios(), local_lr=RATES, steps=STEPS, interval=st.integers(1, 4))
@settings(max_examples=20)
def test_amplification_1_is_fedavg(scenario: Scenario, local_lr: Any, steps: int, interval: int) -> None:
    plain = run(fedavg.fedavg, fedavg.Hyper(local_lr, local_steps=steps), scenario)
    assert same_models(run(amplified, Hyper(local_lr, 1, interval, steps), scenario), plain)


@given(scenario=scenarios(), local_lr=RATES, eta=st.sampled_from([F(1, 2), 3]))
@settings(max_examples=20)
def test_an_interval_of_one_round_is_a_global_step_size(scenario: Scenario, local_lr: Any, eta: Any) -> None:
    two_sided = run(fedavg.fedavg, fedavg.Hyper(local_lr, eta), scenario)
    assert same_models(run(amplified, Hyper(local_lr, eta, 1), scenario), two_sided)


@given(scenario=scenarios(), local_lr=RATES)
@settings(max_examples=20)
def test_an_unfinished_interval_is_not_amplified(scenario: Scenario, local_lr: Any) -> None:
    endless = len(scenario.cohorts) + 1
    plain = run(amplified, Hyper(local_lr, 1, endless), scenario)
    assert same_models(run(amplified, Hyper(local_lr, 5, endless), scenario), plain)


@pytest.mark.parametrize("eta", [F(1, 2), 1, 3, 10])
def test_the_limit_of_cyclic_participation_does_not_depend_on_the_amplification(eta: Any) -> None:
    """One of three clients a round, P = 3, equal curvature: sum_t (1-A)^(2-t) b_t / sum_t (1-A)^(2-t)."""
    local_lr, steps = F(1, 10), 2
    shrink = (1 - local_lr) ** steps  # 1 - A
    cyclic = Scenario(
        x0=np.array([F(0)], dtype=object),
        curvature=np.full((3, 1), F(1), dtype=object),
        centre=np.array([[F(1)], [F(-2)], [F(5)]], dtype=object),
        weights=np.full((3, 3), F(3), dtype=object),
        noise=np.full((3, 3, 3, 1), F(0), dtype=object),
        extra_noise=np.full((3, 3, 1), F(0), dtype=object),
        cohorts=[[0], [1], [2]],
    )
    limit = (shrink**2 * 1 - shrink * 2 + 5) / (shrink**2 + shrink + 1)
    settled = replace(cyclic, x0=np.array([limit], dtype=object))
    assert models(run(amplified, Hyper(local_lr, eta, 3, steps), settled))[-1][0] == limit


@given(scenario=scenarios().map(everybody), global_lr=RATES)
@settings(max_examples=20)
def test_waiting_one_round_for_everybody_is_minibatch_sgd(scenario: Scenario, global_lr: Any) -> None:
    weighted = replace(scenario, weights=0 * scenario.weights + 1)
    expected = run(minibatch_sgd.minibatch_sgd, minibatch_sgd.Hyper(global_lr), weighted)
    assert same_models(run(wait_minibatch, WaitHyper(global_lr, 1), scenario), expected)


@given(scenario=scenarios(), global_lr=RATES, interval=st.integers(1, 4))
@settings(max_examples=20)
def test_waiting_with_all_data_sees_no_noise(scenario: Scenario, global_lr: Any, interval: int) -> None:
    quiet = replace(scenario, extra_noise=0 * scenario.extra_noise)
    hyper = WaitHyper(global_lr, interval)
    assert same_models(run(wait_full, hyper, scenario), run(wait_minibatch, hyper, quiet))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"accumulated": xp.where(due, nothing, accumulated)', '"accumulated": accumulated'),
        ("(hyper.amplification - 1) *", "hyper.amplification *"),
        (
            'clock = (state.discrete["clock"] + 1) % hyper.interval\n    due,',
            'clock = state.discrete["clock"]\n    due,',
        ),
        ("weighted(local.delta, cohort) / cohort.n_clients", "weighted(local.delta, cohort)"),
        ('{"x": x, "accumulated"', '{"x": x - update, "accumulated"'),
    ],
)
def test_faults_of_amplification_are_caught(right: str, wrong: str) -> None:
    assert catches(AMPLIFIED, right, wrong)


@pytest.mark.parametrize("case", [WAIT_MINIBATCH, WAIT_FULL], ids=str)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("cleared(table), 0 * taken", "table, 0 * taken"),
        ("cleared(table), 0 * taken", "cleared(table), taken"),
        ("xp.where(heard > 0, heard, 1)[..., None]", "cohort.n_clients"),
        ("take_rows(table, cohort.clients) + local.gradient", "local.gradient"),
        ("if bool(xp.all(clock == 0)):", "if True:"),
    ],
)
def test_faults_of_waiting_are_caught(case: Any, right: str, wrong: str) -> None:
    assert catches(case, right, wrong)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_bad_amplifications_are_named(value: Any) -> None:
    with pytest.raises(InputError, match="amplification must be a finite number above 0"):
        Hyper(1, value, 2)


@pytest.mark.parametrize("value", [0, 2.5, None])
def test_bad_intervals_are_named(value: Any) -> None:
    with pytest.raises(InputError, match="interval must be a whole number of at least 1"):
        Hyper(1, 2, value)
    with pytest.raises(InputError, match="interval must be a whole number of at least 1"):
        WaitHyper(1, value)
