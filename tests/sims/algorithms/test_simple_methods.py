"""FedProx, FedAvgM, FedSGD, minibatch and sequential SGD: special cases, exact numbers, faults to be caught."""

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
from sims.algorithms import fedavg, fedavgm, fedprox, fedsgd, minibatch_sgd, sequential_sgd
from sims.algorithms.protocol import Cohort, Local, State
from tests.sims.algorithms.cases_one import (
    FEDAVGM,
    FEDPROX,
    FEDSGD,
    GLOBAL,
    MINIBATCH_SGD,
    RATES,
    SEQUENTIAL_SGD,
    STEPS,
    Case,
    catches,
)
from tests.sims.algorithms.scenario_one import Scenario, limit, models, run, scenarios

F = Fraction


def same_models(left: Any, right: Any) -> bool:
    return all((a == b).all() for a, b in zip(models(left), models(right), strict=True))


@given(scenario=scenarios(), local_lr=RATES, global_lr=GLOBAL, steps=STEPS)
@settings(max_examples=20)
def test_without_their_parameter_they_are_fedavg(scenario: Scenario, local_lr: Any, global_lr: Any, steps: int) -> None:
    plain = run(fedavg.fedavg, fedavg.Hyper(local_lr, global_lr, steps), scenario)
    assert same_models(run(fedprox.fedprox, fedprox.Hyper(local_lr, 0, global_lr, steps), scenario), plain)
    assert same_models(run(fedavgm.fedavgm, fedavgm.Hyper(local_lr, 0, global_lr, steps), scenario), plain)
    one_step = run(fedavg.fedavg, fedavg.Hyper(local_lr), scenario)
    assert same_models(run(fedsgd.fedsgd, fedsgd.Hyper(local_lr), scenario), one_step)


@given(scenario=scenarios(), lr=RATES)
@settings(max_examples=20)
def test_minibatch_sgd_with_the_noise_of_a_local_step_is_fedsgd(scenario: Scenario, lr: Any) -> None:
    alike = replace(scenario, extra_noise=scenario.noise[:, 0])
    batched = run(minibatch_sgd.minibatch_sgd, minibatch_sgd.Hyper(lr), alike)
    assert same_models(batched, run(fedsgd.fedsgd, fedsgd.Hyper(lr), alike))


@given(scenario=scenarios(one_client=True), local_lr=RATES, steps=STEPS)
@settings(max_examples=20)
def test_sequential_sgd_is_fedavg_with_one_client(scenario: Scenario, local_lr: Any, steps: int) -> None:
    weighted = replace(scenario, weights=0 * scenario.weights + scenario.n_clients)
    visits = run(sequential_sgd.sequential_sgd, sequential_sgd.Hyper(local_lr, steps), scenario)
    assert same_models(visits, run(fedavg.fedavg, fedavg.Hyper(local_lr, local_steps=steps), weighted))


@pytest.mark.parametrize(("proximal", "settles_at"), [(F(0), 0.339970), (F(1), 0.347876), (F(1, 100), 0.340052)])
def test_fedprox_is_biased_like_fedavg(proximal: F, settles_at: float) -> None:
    """FedLaAvg, section 6.2, on Example 1: t = (3, 1), e = (1, -1), step size 1/100, 10 local steps.

    A round multiplies the distance by q = 1 - (a / (a + mu)) (1 - (1 - lr (a + mu))^10), a = 2.
    """
    hyper = fedprox.Hyper(F(1, 50), proximal, local_steps=3)
    q = 1 - 2 / (2 + proximal) * (1 - (1 - F(1, 50) * (2 + proximal)) ** 3)
    assert limit(fedprox.fedprox, hyper, (3, 1), (1, -1)) == theorem_1(q)
    q = 1 - 2 / (2 + proximal) * (1 - (1 - F(1, 100) * (2 + proximal)) ** 10)
    assert float(theorem_1(q)) == pytest.approx(settles_at, abs=5e-7)


def theorem_1(q: F) -> F:
    """X of FedLaAvg's Theorem 1 for t = (3, 1), e = (1, -1), with q the factor of a round."""
    return (2 * q - 1 - q**4) / (1 - q**4)


def test_momentum_by_hand() -> None:
    """f = x^2/2 from 1, step 1/10, momentum 1/2: v = -.1, x = .9; v = -.05 - .09, x = .76; then nobody; then on."""
    scenario = Scenario(
        x0=np.array([F(1)], dtype=object),
        curvature=np.array([[F(1)]], dtype=object),
        centre=np.array([[F(0)]], dtype=object),
        weights=np.full((4, 1), F(1), dtype=object),
        noise=np.full((4, 1, 1, 1), F(0), dtype=object),
        extra_noise=np.full((4, 1, 1), F(0), dtype=object),
        cohorts=[[0], [0], [], [0]],
    )
    orbit = [x[0] for x in models(run(fedavgm.fedavgm, fedavgm.Hyper(F(1, 10), F(1, 2)), scenario))]
    assert orbit == [F(9, 10), F(76, 100), F(76, 100), F(76, 100) - F(7, 100) - F(76, 1000)]


def test_sequential_sgd_refuses_two_clients() -> None:
    cohort = Cohort(np.array([0, 1]), np.array([True, True]), 3)
    with pytest.raises(InputError, match="cohort must be one client a round"):
        sequential_sgd.apply(State({"x": np.zeros(1)}), cohort, Local(np.zeros((2, 1))), sequential_sgd.Hyper(1))


@given(batch=st.integers(1, 50))
@settings(max_examples=5)
def test_minibatch_sgd_asks_for_its_batch(batch: int) -> None:
    cohort = Cohort(np.array([0]), np.array([True]), 1)
    work = minibatch_sgd.work(State({"x": np.zeros(1)}), cohort, minibatch_sgd.Hyper(1, batch))
    assert (work.batch, work.steps) == (batch, 0)


FAULTS = [
    (FEDPROX, "proximal=hyper.proximal", "proximal=2 * hyper.proximal"),
    (FEDPROX, "proximal=hyper.proximal", "proximal=0"),
    (FEDAVGM, "hyper.momentum * before +", "before +"),
    (FEDAVGM, '"velocity": xp.where(anybody, velocity, before)', '"velocity": velocity'),
    (FEDAVGM, '"x": xp.where(anybody, x + hyper.global_lr * velocity, x)', '"x": x + hyper.global_lr * velocity'),
    (FEDAVGM, "hyper.global_lr * velocity, x)", "velocity, x)"),
    (FEDAVGM, "/ cohort.n_clients", "/ max(1, int(cohort.valid.sum()))"),
    (FEDSGD, "/ cohort.n_clients", "/ max(1, int(cohort.valid.sum()))"),
    (FEDSGD, '"x"], 1, hyper.local_lr', '"x"], 2, hyper.local_lr'),
    (MINIBATCH_SGD, "- hyper.global_lr *", "+ hyper.global_lr *"),
    (MINIBATCH_SGD, "/ cohort.n_clients", "/ max(1, int(cohort.valid.sum()))"),
    (SEQUENTIAL_SGD, "total(local.delta, cohort.valid)", "total(local.delta, cohort.valid) / cohort.n_clients"),
]


@pytest.mark.parametrize(("case", "right", "wrong"), FAULTS, ids=[f"{c}-{wrong[:30]}" for c, _, wrong in FAULTS])
def test_faults_are_caught(case: Case, right: str, wrong: str) -> None:
    assert catches(case, right, wrong)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fedprox.Hyper(1, -1), "proximal must be a finite number of at least 0"),
        (lambda: fedprox.Hyper(1, math.nan), "proximal must be a finite number of at least 0"),
        (lambda: fedavgm.Hyper(1, 1), r"momentum must be in \[0, 1\)"),
        (lambda: fedavgm.Hyper(1, math.nan), "momentum must be a finite number of at least 0"),
        (lambda: fedsgd.Hyper(0), "local_lr must be a finite number above 0"),
        (lambda: minibatch_sgd.Hyper(1, 0), "batch must be a whole number of at least 1"),
        (lambda: sequential_sgd.Hyper(1, 0), "local_steps must be a whole number of at least 1"),
    ],
)
def test_bad_parameters_are_named(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
