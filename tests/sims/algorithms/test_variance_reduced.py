"""FedPAGE and BVR-L-SGD against their pseudo-code, and what they reduce to."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fltheory.errors import InputError
from sims.algorithms import bvr_l_sgd as bvr
from sims.algorithms import fedpage as page
from sims.algorithms.bvr_l_sgd import bvr_l_sgd
from sims.algorithms.fedamd import ANCHOR, MINER, fedamd
from sims.algorithms.fedamd import Hyper as FedAMDHyper
from sims.algorithms.fedpage import fedpage
from sims.algorithms.protocol import Cohort, State
from sims.testing.scenarios import Scenario, exact, floats, play, scenario, tensors
from tests.sims.algorithms import reference_two as reference
from tests.sims.algorithms.differential import agree

PAGE = page.Hyper(Fraction(1, 4), Fraction(1, 2), 2)
BVR = bvr.Hyper(Fraction(1, 4), 2, stage=2)
small = {"n_clients": st.integers(1, 4), "dimension": st.integers(1, 2), "local_steps": st.just(2)}
pages = st.builds(scenario, st.integers(0, 10**6), rounds=st.integers(1, 5), same_role=st.just(True), **small)
stages = st.builds(scenario, st.integers(0, 10**6), rounds=st.just(8), hold=st.just(4), **small)


def everybody(case: Scenario, **changes: Any) -> Scenario:
    """The same scenario with all clients in every round."""
    n = case.n_clients
    clients, valid = np.tile(np.arange(n + 1) % n, (2, 1)), np.tile(np.arange(n + 1) < n, (2, 1))
    rounds = [dataclasses.replace(slots, clients=clients, valid=valid, **changes) for slots in case.rounds]
    return dataclasses.replace(case, rounds=rounds)


def without_noise(case: Scenario) -> Scenario:
    rounds = [dataclasses.replace(slots, steps=slots.steps * 0, gradient=slots.gradient * 0) for slots in case.rounds]
    return dataclasses.replace(case, rounds=rounds)


def slope(case: Scenario, x: Any) -> Any:
    """grad f at (R, d)."""
    return (case.curvature * (x[:, None, :] - case.centre)).sum(axis=1) / case.n_clients


@given(case=pages)
def test_fedpage_agrees_with_the_pseudo_code(case: Scenario) -> None:
    agree(fedpage, PAGE, case, reference.fedpage, exact)
    agree(fedpage, PAGE, case, reference.fedpage, floats)


@given(case=stages)
def test_bvr_l_sgd_agrees_with_the_pseudo_code(case: Scenario) -> None:
    agree(bvr_l_sgd, BVR, case, reference.bvr_l_sgd, exact)
    agree(bvr_l_sgd, BVR, case, reference.bvr_l_sgd, floats)


@pytest.mark.torch
def test_both_agree_with_the_pseudo_code_on_torch() -> None:
    pytest.importorskip("torch")
    for seed in range(5):
        agree(fedpage, PAGE, scenario(seed, same_role=True), reference.fedpage, tensors)
        agree(bvr_l_sgd, BVR, scenario(seed, rounds=8, hold=4), reference.bvr_l_sgd, tensors)


def test_fedpage_with_full_rounds_only_is_gradient_descent() -> None:
    case = without_noise(everybody(scenario(1, rounds=3), role=np.full((2, 4), 1)))
    x = case.x0
    for state in play(fedpage, PAGE, case):
        x = x - PAGE.global_lr * slope(case, x)
        assert (state.linear["x"] == x).all()


def test_fedpage_with_one_step_and_exact_gradients_of_all_is_gradient_descent() -> None:
    """PAGE: differences add up to the gradient. The first round is full, the others are not."""
    case = without_noise(everybody(scenario(1, rounds=4, local_steps=1)))
    rounds = [dataclasses.replace(s, role=np.full_like(s.role, int(t == 0))) for t, s in enumerate(case.rounds)]
    x = case.x0
    for state in play(fedpage, page.Hyper(Fraction(1, 4), Fraction(1, 2)), dataclasses.replace(case, rounds=rounds)):
        assert (state.linear["direction"] == slope(case, x)).all()
        x = x - Fraction(1, 2) * slope(case, x)
        assert (state.linear["x"] == x).all()


def test_fedpage_does_not_move_before_its_first_full_round() -> None:
    case = everybody(scenario(2), role=np.zeros((2, 4), dtype=int))
    *_, last = play(fedpage, PAGE, case)
    assert (last.linear["x"] == case.x0).all()


@given(case=stages)
def test_bvr_l_sgd_in_stages_of_one_round_with_all_picked_is_fedamd_with_alternating_roles(case: Scenario) -> None:
    """FedAMD's claim, for K > 1 and up to its average of the models where BVR-L-SGD picks one of them."""
    alternating = everybody(case)
    roles = [np.full((2, case.n_clients + 1), role) for role in (ANCHOR, MINER) * 4]
    picks = [np.ones_like(role) for role in roles]
    amd, reduced = (
        dataclasses.replace(
            alternating,
            rounds=[dataclasses.replace(s, role=r) for s, r in zip(alternating.rounds, of, strict=True)],
        )
        for of in (roles, picks)
    )
    lr = Fraction(1, 4)
    for ours, theirs in zip(
        play(bvr_l_sgd, bvr.Hyper(lr, 2), reduced), play(fedamd, FedAMDHyper(lr, 1, 2), amd), strict=True
    ):
        assert (ours.linear["x"] == theirs.linear["x"]).all()
        assert (ours.linear["direction"] == theirs.linear["caches"].sum(axis=-2) / case.n_clients).all()


def test_bvr_l_sgd_takes_the_model_of_the_client_that_was_picked() -> None:
    """With one step the clients' models are equal, so the pick shows with two: each pick gives another model."""
    case, ends = scenario(4, rounds=2, hold=2), set()
    for chosen in range(3):
        picked = everybody(case, role=np.tile(np.arange(4) == chosen, (2, 1)).astype(int))
        *_, last = play(bvr_l_sgd, BVR, picked)
        ends.add(tuple(last.linear["x"].flat))
    assert len(ends) == 3


def test_bvr_l_sgd_knows_the_exact_gradient_at_every_report() -> None:
    case = without_noise(everybody(scenario(6, rounds=8)))
    states = [bvr_l_sgd.init(BVR, case.x0, 3), *play(bvr_l_sgd, BVR, case)]
    for report, after in zip(states[::2], states[1::2], strict=False):
        assert (after.linear["direction"] == slope(case, report.linear["x"])).all()


@pytest.mark.parametrize(("algorithm", "hyper"), [(fedpage, PAGE), (bvr_l_sgd, BVR)])
def test_an_empty_round_is_only_time(algorithm: Any, hyper: Any) -> None:
    """Nobody there: nothing changes, in either kind of round; a report missed is made good by the next difference."""
    case = everybody(scenario(8, rounds=4, same_role=True))
    nobody = dataclasses.replace(case.rounds[2], valid=case.rounds[2].valid & False)
    states = list(play(algorithm, hyper, dataclasses.replace(case, rounds=[*case.rounds[:2], nobody, nobody])))
    for name, array in states[1].linear.items():
        assert (states[2].linear[name] == array).all()
        assert (states[3].linear[name] == array).all()


def test_bvr_l_sgd_with_a_missed_report_catches_up() -> None:
    hyper = dataclasses.replace(BVR, stage=4)
    case = without_noise(everybody(scenario(9, rounds=7), role=np.ones((2, 4), dtype=int)))
    rounds = list(case.rounds)
    rounds[2] = dataclasses.replace(rounds[2], valid=rounds[2].valid & False)
    *before, after = play(bvr_l_sgd, hyper, dataclasses.replace(case, rounds=rounds[:5]))
    assert (after.linear["direction"] == slope(case, before[-1].linear["x"])).all()


# Faults.


def steps_and_one(state: State, cohort: Cohort, hyper: Any) -> Any:
    """FedPAGE as in FedAMD's public code: one step more than it divides by."""
    made = page.work(state, cohort, hyper)
    return dataclasses.replace(made, step_size=made.step_size * (made.steps + 1) / made.steps)


def fresh_samples(state: State, cohort: Cohort, hyper: Any) -> Any:
    """BVR-L-SGD with a plain gradient where the difference belongs."""
    return dataclasses.replace(bvr.work(state, cohort, hyper), gradient_since=None)


@pytest.mark.parametrize(
    ("algorithm", "hyper", "fault", "plain", "case"),
    [
        (fedpage, PAGE, {"work": steps_and_one}, reference.fedpage, scenario(5, same_role=True)),
        (
            fedpage,
            PAGE,
            {"work": lambda *a: dataclasses.replace(page.work(*a), previous=None)},
            reference.fedpage,
            scenario(5, same_role=True),
        ),
        (bvr_l_sgd, BVR, {"work": fresh_samples}, reference.bvr_l_sgd, scenario(5, rounds=8, hold=4)),
        (
            bvr_l_sgd,
            BVR,
            {"apply": lambda s, c, *a: bvr.apply(s, dataclasses.replace(c, role=c.role * 0 + 1), *a)},
            reference.bvr_l_sgd,
            scenario(5, rounds=8, hold=4),
        ),
    ],
    ids=["steps-and-one", "previous-forgotten", "no-difference", "average-instead-of-pick"],
)
def test_a_fault_does_not_agree(algorithm: Any, hyper: Any, fault: Any, plain: Any, case: Scenario) -> None:
    agree(algorithm, hyper, case, plain, exact)
    with pytest.raises(AssertionError):
        agree(dataclasses.replace(algorithm, **fault), hyper, case, plain, exact)


@pytest.mark.parametrize(
    ("hyper", "bad", "named"),
    [
        (page.Hyper, {"local_lr": 1, "global_lr": 0}, "global_lr"),
        (page.Hyper, {"local_lr": 1, "global_lr": 1, "batch": 0}, "batch"),
        (bvr.Hyper, {"local_lr": float("nan")}, "local_lr"),
        (bvr.Hyper, {"local_lr": 1, "stage": 0}, "stage"),
    ],
)
def test_bad_parameters_are_named(hyper: Any, bad: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        hyper(**bad)
