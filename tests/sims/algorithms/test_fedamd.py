"""FedAMD against its pseudo-code, its special cases, and the exact moments of small runs over all their coin paths."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fltheory.errors import InputError
from sims.algorithms.fedamd import ANCHOR, MINER, Hyper, apply, fedamd, fedamd_massive, roles, sequential, work
from sims.algorithms.protocol import Cohort, Local, State
from sims.arrays import Array, as_exact, require_exact
from sims.problems.base import Draws
from sims.problems.local import local_update
from sims.testing.scenarios import SampledQuadratic, Scenario, exact, floats, play, scenario, tensors
from tests.sims.algorithms import reference_two as reference
from tests.sims.algorithms.differential import agree

cases = st.builds(
    scenario,
    st.integers(0, 10**6),
    n_clients=st.integers(1, 4),
    dimension=st.integers(1, 2),
    rounds=st.integers(1, 5),
    local_steps=st.just(2),
)
HYPER = Hyper(Fraction(1, 4), Fraction(3, 2), 2)


@given(case=cases)
def test_agrees_with_the_pseudo_code(case: Scenario) -> None:
    agree(fedamd, HYPER, case, reference.fedamd, exact)
    agree(fedamd, HYPER, case, reference.fedamd, floats)


@pytest.mark.torch
def test_agrees_with_the_pseudo_code_on_torch() -> None:
    pytest.importorskip("torch")
    for seed in range(10):
        agree(fedamd, HYPER, scenario(seed), reference.fedamd, tensors)


@given(case=cases)
def test_the_massive_client_form_is_the_same_algorithm(case: Scenario) -> None:
    for plain, massive in zip(play(fedamd, HYPER, case), play(fedamd_massive, HYPER, case), strict=True):
        for name in ("x", "caches"):
            assert (plain.linear[name] == massive.linear[name]).all()
        assert (massive.linear["direction"] == massive.linear["caches"].sum(axis=-2) / case.n_clients).all()
        require_exact(massive.linear)


# One client or all of them a round, exactly given problems F_n = h_n x^2 / 2 - c_n x, no noise.


def one_round(state: State, hyper: Hyper, h: Array, c: Array, who: list[int], role: list[int]) -> State:
    problem: Any = SampledQuadratic(h[:, None], (c / h)[:, None])
    cohort = Cohort(np.array(who), np.array([True] * len(who)), len(h), role=np.array(role))
    local = local_update(problem, work(state, cohort, hyper), cohort, Draws())
    return apply(state, cohort, local, hyper)


def warm(hyper: Hyper, x0: Any, h: Array, c: Array) -> State:
    """The paper's start: one round of all clients, all anchors."""
    cold = fedamd.init(hyper, as_exact([x0]), len(h))
    state = one_round(cold, hyper, h, c, list(range(len(h))), [ANCHOR] * len(h))
    assert state.linear["x"][0] == x0
    assert (state.linear["caches"][:, 0] == h * x0 - c).all()
    return state


def direction(state: State) -> Fraction:
    return Fraction(state.linear["caches"].sum()) / len(state.linear["caches"])


def expectations(
    start: State, hyper: Hyper, h: Array, c: Array, probabilities: list[Fraction]
) -> Iterator[tuple[Fraction, Fraction]]:
    """(E||g - grad F||^2, E||grad F||^2) at the start of each round, one uniform client a round, over all paths."""
    mean_h, mean_c = h.sum() / len(h), c.sum() / len(h)
    paths = [(Fraction(1), start)]
    for p in [*probabilities, None]:
        slopes = [(chance, mean_h * s.linear["x"][0] - mean_c, direction(s)) for chance, s in paths]
        yield sum(w * (g - f) ** 2 for w, f, g in slopes), sum(w * f**2 for w, f, _ in slopes)
        if p is not None:
            paths = [
                (chance * of_role / len(h), one_round(s, hyper, h, c, [i], [role]))
                for chance, s in paths
                for i, (role, of_role) in itertools.product(range(len(h)), ((ANCHOR, p), (MINER, 1 - p)))
                if of_role
            ]


def test_staleness_of_a_single_client_over_all_coin_paths() -> None:
    """One client, F = x^2 / 2, p = 1/2, step 1/4, x0 = 1, warm: the first values, then all as rationals of 2^-k."""
    h, c, hyper = as_exact([1]), as_exact([0]), Hyper(Fraction(1, 4))
    found = [f for f, _ in expectations(warm(hyper, 1, h, c), hyper, h, c, [Fraction(1, 2)] * 6)]
    assert found[:3] == [0, Fraction(1, 32), Fraction(5, 64)]
    assert [round(float(f), 8) for f in found] == [0, 0.03125, 0.078125, 0.11376953, 0.13134766, 0.13306427, 0.12401962]


def test_cold_caches_move_away_from_the_minimum() -> None:
    """Two clients (x -+ 1)^2 / 2, one a round, p = 2/3, step 1/4, from the minimum; with warm caches nothing moves."""
    h, c, hyper = as_exact([1, 1]), as_exact([1, -1]), Hyper(Fraction(1, 4))
    cold = fedamd.init(hyper, as_exact([0]), 2)
    found = [f for _, f in expectations(cold, hyper, h, c, [Fraction(2, 3)] * 4)]
    assert found == [0, 0, Fraction(1, 288), Fraction(1, 108), Fraction(1289, 82944)]
    assert all(f == 0 for _, f in expectations(warm(hyper, 0, h, c), hyper, h, c, [Fraction(2, 3)] * 3))


def test_staleness_of_the_sequential_form() -> None:
    """Two clients of curvature 1 and -1/2, one a round, anchors in rounds 0, 2, 4, step 1/9."""
    h, c, hyper = as_exact([1, "-1/2"]), as_exact([0, 0]), Hyper(Fraction(1, 9))
    coins = [Fraction(sequential(2, t)) for t in range(5)]
    found = [f for f, _ in expectations(warm(hyper, 1, h, c), hyper, h, c, coins)]
    assert found[5] == Fraction(32209, 107495424)


@pytest.mark.parametrize("local_steps", [1, 3])
def test_with_warm_caches_opposed_linear_terms_change_nothing(local_steps: int) -> None:
    """Only curvature heterogeneity matters: terms c_n x that add up to zero leave the path as it is."""
    hyper, h = Hyper(Fraction(1, 4), 1, local_steps), as_exact([1, 2, "1/2"])
    states = [warm(hyper, 1, h, c) for c in (as_exact([0, 0, 0]), as_exact([5, -2, -3]))]
    for who, role in (([0, 2], [0, 1]), ([1], [1]), ([0, 1, 2], [0, 0, 1]), ([2], [0])):
        states = [
            one_round(s, hyper, h, c, who, role)
            for s, c in zip(states, (as_exact([0, 0, 0]), as_exact([5, -2, -3])), strict=True)
        ]
        assert states[0].linear["x"][0] == states[1].linear["x"][0]


def test_all_clients_and_alternating_roles_are_minibatch_sgd_every_second_round() -> None:
    h, c, hyper = as_exact([1, 2]), as_exact([0, 2]), Hyper(Fraction(1, 8))
    state, path = fedamd.init(hyper, as_exact([2]), 2), [Fraction(2)]
    for t in range(4):
        state = one_round(state, hyper, h, c, [0, 1], [sequential(2, t)] * 2)
        path.append(state.linear["x"][0])
    assert path == [2, 2, Fraction(7, 4), Fraction(7, 4), Fraction(99, 64)]


@given(case=cases)
def test_a_single_local_step_uses_no_data_of_the_miners(case: Scenario) -> None:
    hyper = dataclasses.replace(HYPER, local_steps=1)
    silent = [dataclasses.replace(slots, steps=slots.steps * 0) for slots in case.rounds]
    for one, other in zip(
        play(fedamd, hyper, case), play(fedamd, hyper, dataclasses.replace(case, rounds=silent)), strict=True
    ):
        assert (one.linear["x"] == other.linear["x"]).all()


def test_without_miners_nothing_moves_and_without_anchors_nothing_is_renewed() -> None:
    case = scenario(3)
    for role, kept in ((ANCHOR, "x"), (MINER, "caches")):
        rounds = [dataclasses.replace(slots, role=np.full_like(slots.role, role)) for slots in case.rounds]
        *_, last = play(fedamd, HYPER, dataclasses.replace(case, rounds=rounds))
        assert (last.linear[kept] == fedamd.init(HYPER, case.x0, 3).linear[kept]).all()


# Faults. Each must fail the comparison with the reference that the algorithm itself passes.


def renewed_before_averaging(state: State, cohort: Cohort, local: Local) -> State:
    """The caches of this round's anchors already count in this round's direction."""
    return State({**state.linear, "caches": apply(state, cohort, local, HYPER).linear["caches"]})


def plain_first_step(state: State, cohort: Cohort, hyper: Hyper) -> Any:
    """Miners that make SGD steps on their own data."""
    return dataclasses.replace(work(state, cohort, hyper), direction=None)


def first_step_from_zero(state: State, cohort: Cohort, hyper: Hyper) -> Any:
    """x_{-1} = 0 in place of x_{-1} = x_0: the first step is not along the direction alone."""
    made = work(state, cohort, hyper)
    return dataclasses.replace(made, previous=made.start * 0)


def averaged_over_participants(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    """The model's step divided by anchors and miners together."""
    anchors = (cohort.valid & (cohort.role == ANCHOR))[..., None]
    everybody = dataclasses.replace(cohort, role=cohort.role * 0)
    still = dataclasses.replace(local, delta=np.where(anchors, local.delta * 0, local.delta))
    moved = apply(state, everybody, still, hyper).linear["x"]
    return State({**apply(state, cohort, local, hyper).linear, "x": moved})


@pytest.mark.parametrize(
    ("fault", "options"),
    [
        ({}, {"prepare": renewed_before_averaging}),
        ({"work": plain_first_step}, {}),
        ({"work": first_step_from_zero}, {}),
        ({"apply": averaged_over_participants}, {}),
    ],
    ids=["renewed-before-averaging", "plain-first-step", "first-step-from-zero", "averaged-over-participants"],
)
def test_a_fault_does_not_agree(fault: dict[str, Any], options: dict[str, Any]) -> None:
    case = scenario(7, rounds=5)
    agree(fedamd, HYPER, case, reference.fedamd, exact)
    with pytest.raises(AssertionError):
        agree(dataclasses.replace(fedamd, **fault), HYPER, case, reference.fedamd, exact, **options)


def test_roles_come_with_their_probability() -> None:
    """20000 coins of 0.3: five standard deviations, a false alarm in 6e-7 of all seeds; 0 and 1 are certain."""
    drawn = roles(Fraction(3, 10), (200, 100), np.random.default_rng(1))
    assert abs(drawn.mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / drawn.size)
    assert set(np.unique(drawn)) == {MINER, ANCHOR}
    assert (roles(1, (50,), np.random.default_rng(2)) == ANCHOR).all()
    assert (roles(0, (50,), np.random.default_rng(2)) == MINER).all()
    assert [sequential(2, t) for t in range(4)] == [1, 0, 1, 0]


def test_bad_input_is_named() -> None:
    for bad in (-0.1, 1.5, float("nan")):
        with pytest.raises(InputError, match="probability"):
            roles(bad, (1,), np.random.default_rng(0))
    with pytest.raises(InputError, match="period"):
        sequential(1, 0)
    with pytest.raises(InputError, match="local_lr"):
        Hyper(0)
    state, cohort = fedamd.init(HYPER, as_exact([1]), 1), Cohort(np.array([0]), np.array([True]), 1)
    with pytest.raises(InputError, match="role"):
        apply(state, cohort, Local(as_exact([[0]]), as_exact([[0]])), HYPER)
