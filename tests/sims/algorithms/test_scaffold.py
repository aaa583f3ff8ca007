"""SCAFFOLD against its pseudo-code, and what makes it SCAFFOLD: c is the mean of the c_i, and x* is a fixed point."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fltheory.errors import InputError
from sims.algorithms.protocol import Algorithm, Cohort, Local, State
from sims.algorithms.scaffold import Hyper, apply, scaffold
from sims.arrays import as_exact, require_exact
from sims.testing.scenarios import Scenario, exact, floats, play, scenario, tensors
from tests.sims.algorithms import reference_two as reference
from tests.sims.algorithms.differential import agree

cases = st.builds(
    scenario,
    st.integers(0, 10**6),
    n_clients=st.integers(1, 4),
    dimension=st.integers(1, 2),
    rounds=st.integers(1, 4),
    local_steps=st.just(2),
)


def hyper(option: int) -> Hyper:
    return Hyper(Fraction(1, 4), Fraction(3, 2), 2, option)


@pytest.mark.parametrize("option", [1, 2])
@given(case=cases)
def test_agrees_with_the_pseudo_code(option: int, case: Scenario) -> None:
    agree(scaffold, hyper(option), case, reference.scaffold, exact)
    agree(scaffold, hyper(option), case, reference.scaffold, floats)


@pytest.mark.torch
@pytest.mark.parametrize("option", [1, 2])
def test_agrees_with_the_pseudo_code_on_torch(option: int) -> None:
    pytest.importorskip("torch")
    for seed in range(10):
        agree(scaffold, hyper(option), scenario(seed), reference.scaffold, tensors)


@pytest.mark.parametrize("option", [1, 2])
@given(case=cases)
def test_the_server_variate_is_the_mean_of_the_clients(option: int, case: Scenario) -> None:
    for state in play(scaffold, hyper(option), case):
        require_exact(state.linear)
        assert (state.linear["variate"] == state.linear["variates"].sum(axis=-2) / case.n_clients).all()


@given(case=cases)
def test_option_2_remembers_the_mean_gradient_along_the_local_path(case: Scenario) -> None:
    """So the rule of FedAMD's public code is option II."""
    before = scaffold.init(hyper(2), case.x0, case.n_clients)
    for t, after in enumerate(play(scaffold, hyper(2), case)):
        for r, one in enumerate((case.of(0)[t], case.of(1)[t])):
            for i in one.who:
                y, gradients = before.linear["x"][r], []
                for sample in one.steps[i]:
                    gradients.append(case.gradient(i, y, sample))
                    correction = before.linear["variate"][r] - before.linear["variates"][r, i]
                    y = y - hyper(2).local_lr * (gradients[-1] + correction)
                assert (after.linear["variates"][r, i] == sum(gradients) / len(gradients)).all()
        before = after


@pytest.mark.parametrize("option", [1, 2])
def test_the_minimum_is_a_fixed_point_whoever_takes_part(option: int) -> None:
    """With c_i the clients' gradients at x* no client drifts away from it; FedAvg would."""
    case = scenario(3, n_clients=4, rounds=6)
    zero = [dataclasses.replace(slots, steps=slots.steps * 0, gradient=slots.gradient * 0) for slots in case.rounds]
    minimum = (case.curvature * case.centre).sum(axis=0) / case.curvature.sum(axis=0)
    variates = np.stack([case.curvature * (minimum - case.centre)] * 2)
    start = State({"x": np.stack([minimum] * 2), "variate": as_exact([[0, 0]] * 2), "variates": variates})
    held = dataclasses.replace(scaffold, init=lambda *_: start)
    for state in play(held, hyper(option), dataclasses.replace(case, rounds=zero)):
        for name, array in start.linear.items():
            assert (state.linear[name] == array).all()


def test_a_round_that_only_fills_the_variates() -> None:
    """How the public code starts: full gradients of all clients at x0, the model left where it is."""
    case = scenario(5, rounds=1)
    clients = np.tile(np.arange(4) % 3, (2, 1))
    valid = np.tile([True, True, True, False], (2, 1))
    full = dataclasses.replace(case.rounds[0], clients=clients, valid=valid, gradient=case.rounds[0].gradient * 0)
    (state,) = play(scaffold, Hyper(Fraction(1, 4), 0, 2, 1, None), dataclasses.replace(case, rounds=[full]))
    gradients = case.curvature * (case.x0[:, None, :] - case.centre)
    assert (state.linear["x"] == case.x0).all()
    assert (state.linear["variates"] == gradients).all()


def by_participants(state: State, cohort: Cohort, local: Local, given: Hyper) -> State:
    """The server variate divided by the number of participants instead of all clients."""
    after = apply(state, cohort, local, given)
    before = state.linear["variate"]
    present = np.maximum(cohort.valid.sum(axis=-1), 1)[..., None]
    wrong = before + (after.linear["variate"] - before) * cohort.n_clients / present
    return State({**after.linear, "variate": wrong})


def sends_the_variate(state: State, cohort: Cohort, local: Local, given: Hyper) -> State:
    """c_i sent in place of its difference."""
    after = apply(state, cohort, local, given)
    taking_part = np.zeros((2, cohort.n_clients, 1), dtype=int)
    for r in range(2):
        taking_part[r, cohort.clients[r][cohort.valid[r]]] = 1
    sent = (taking_part * after.linear["variates"]).sum(axis=-2)
    return State({**after.linear, "variate": state.linear["variate"] + sent / cohort.n_clients})


def counts_padding(state: State, cohort: Cohort, local: Local, given: Hyper) -> State:
    return apply(state, dataclasses.replace(cohort, valid=cohort.valid | True), local, given)


def uncorrected(algorithm: Algorithm) -> Any:
    return lambda *a: dataclasses.replace(algorithm.work(*a), correction=None)


@pytest.mark.parametrize(
    "fault",
    [
        {"apply": by_participants},
        {"apply": sends_the_variate},
        {"apply": counts_padding},
        {"work": uncorrected(scaffold)},
    ],
    ids=lambda fault: "-".join(f.__name__ for f in fault.values()),
)
def test_a_fault_does_not_agree(fault: dict[str, Any]) -> None:
    case = scenario(3)
    agree(scaffold, hyper(2), case, reference.scaffold, exact)
    with pytest.raises(AssertionError):
        agree(dataclasses.replace(scaffold, **fault), hyper(2), case, reference.scaffold, exact)


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"option": 3}, "option"),
        ({"local_lr": 0}, "local_lr"),
        ({"global_lr": -1}, "global_lr"),
        ({"batch": 0}, "batch"),
    ],
)
def test_bad_parameters_are_named(bad: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        Hyper(**({"local_lr": 1} | bad))
