"""MIFA and FedVARP: special cases, unbiasedness by enumeration, and faults that must be caught."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings

from sims.algorithms import fedavg, fedlaavg, mifa
from sims.algorithms.fedvarp import fedvarp
from tests.sims.algorithms.cases_one import FEDVARP, MIFA, catches, trials
from tests.sims.algorithms.scenario_one import Scenario, models, run, scenarios


def same_models(left: Any, right: Any) -> bool:
    return all((a == b).all() for a, b in zip(models(left), models(right), strict=True))


@given(trial=trials(MIFA))
@settings(max_examples=20)
def test_zero_start_is_fedlaavg_without_its_selection(trial: tuple[Scenario, mifa.Hyper]) -> None:
    scenario, hyper = trial
    started = mifa.as_in_code(hyper.local_lr, local_steps=hyper.local_steps)
    same = fedlaavg.as_in_paper(hyper.local_lr, hyper.local_steps)
    assert same_models(run(mifa.mifa, started, scenario), run(fedlaavg.fedlaavg, same, scenario))


@given(trial=trials(MIFA))
@settings(max_examples=20)
def test_waiting_ends_with_everybodys_first_answer(trial: tuple[Scenario, mifa.Hyper]) -> None:
    """Until then the model stays at x0; if all answer in round 0 there is nothing to wait for."""
    scenario, hyper = trial
    seen: set[int] = set()
    for t, x in enumerate(models(run(mifa.mifa, replace(hyper, wait=True), scenario))):
        seen |= set(scenario.cohorts[t])
        if len(seen) < scenario.n_clients:
            assert (x == scenario.x0).all()
    full = replace(scenario, cohorts=[list(range(scenario.n_clients)), *scenario.cohorts[1:]])
    waiting, moving = (run(mifa.mifa, replace(hyper, wait=wait), full) for wait in (True, False))
    assert same_models(waiting, moving)


@given(trial=trials(FEDVARP))
@settings(max_examples=20)
def test_fedvarp_with_everybody_is_fedavg(trial: tuple[Scenario, fedavg.Hyper]) -> None:
    scenario, hyper = trial
    everybody = replace(
        scenario,
        cohorts=[list(range(scenario.n_clients)) for _ in scenario.cohorts],
        weights=0 * scenario.weights + 1,
    )
    assert same_models(run(fedvarp, hyper, everybody), run(fedavg.fedavg, hyper, everybody))


@given(trial=trials(FEDVARP))
@settings(max_examples=20)
def test_fedvarp_is_unbiased_under_uniform_cohorts(trial: tuple[Scenario, fedavg.Hyper]) -> None:
    """Whatever the table holds: over all cohorts of one size the next model averages to that of full participation."""
    scenario, hyper = trial
    n = scenario.n_clients
    assume(n > 1)

    def next_model(cohort: tuple[int, ...]) -> Any:
        return models(run(fedvarp, hyper, replace(scenario, cohorts=[*scenario.cohorts[:-1], list(cohort)])))[-1]

    for size in range(1, n):
        cohorts = list(itertools.combinations(range(n), size))
        mean = sum(next_model(cohort) for cohort in cohorts) / len(cohorts)
        assert (mean == next_model(tuple(range(n)))).all()


@given(scenario=scenarios())
@settings(max_examples=20)
def test_rounds_with_nobody(scenario: Scenario) -> None:
    """MIFA moves on along what it remembers, FedVARP stands still."""
    n = scenario.n_clients
    quiet = replace(scenario, cohorts=[list(range(n))] + [[] for _ in scenario.cohorts[1:]])
    hyper = fedavg.Hyper(scenario.curvature[0][0] / 4 + 1)
    first, *rest = models(run(mifa.mifa, mifa.as_in_paper(hyper.local_lr), quiet))
    for t, x in enumerate(rest, start=2):
        assert (x - scenario.x0 == t * (first - scenario.x0)).all()
    first, *rest = models(run(fedvarp, hyper, quiet))
    assert all((x == first).all() for x in rest)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('put_rows(state.linear["latest"], cohort', 'put_rows(0 * state.linear["latest"], cohort'),
        ("/ cohort.n_clients", "/ max(1, int(cohort.valid.sum()))"),
        ("local.delta / hyper.local_lr", "local.delta"),
        ("xp.all(seen > 0, axis=-1)", "xp.any(seen > 0, axis=-1)"),
        ('1, state.discrete["seen"])', "1, 0)"),
        ("hyper.global_lr * hyper.local_lr", "hyper.local_lr"),
    ],
)
def test_faults_of_mifa_are_caught(right: str, wrong: str) -> None:
    assert catches(MIFA, right, wrong)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("mean(fresh - take_rows(latest, cohort.clients), cohort.valid)", "mean(fresh, cohort.valid)"),
        (
            "direction = direction + beside",
            "latest = put_rows(latest, cohort.clients, cohort.valid, fresh)\n    direction = direction + beside",
        ),
        (
            "beside(sum_rows(latest), x) / cohort.n_clients",
            "sum_rows(latest) / max(1, int(cohort.valid.sum()))",
        ),
        ("direction = xp.where(xp.any(cohort.valid, axis=-1)[..., None], direction, zeros(x.shape, x))", "pass"),
        ("    latest = put_rows(latest, cohort.clients, cohort.valid, fresh)", "    pass"),
        ("import Algorithm, Cohort, Local, State, mean", "import Algorithm, Cohort, Local, State, total as mean"),
    ],
)
def test_faults_of_fedvarp_are_caught(right: str, wrong: str) -> None:
    assert catches(FEDVARP, right, wrong)
