"""What holds for every algorithm of this half: the reference, the three number kinds, padding, relabelling, batches.

Exact runs are compared with `==`. Floats: every number here is a sum of less than 1000 products of small rationals
whose partial results stay below 10^5 times the largest model (6 rounds, each enlarges an error at most tenfold), so
rounding stays below 1000 * 10^5 * 2^-53 = 1.2e-8 of it.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.algorithms.protocol import State
from tests.sims.algorithms.cases_one import CASES, FEDLAAVG, FEDVARP, MIFA, Case, follows, trials
from tests.sims.algorithms.scenario_one import Scenario, models, one_round, padded, plain, run, run_batch, scenarios

every_algorithm = pytest.mark.parametrize("case", CASES, ids=str)
REMEMBERING = [FEDLAAVG, MIFA, FEDVARP]
TOLERANCE = 1.2e-8


@every_algorithm
@given(data=st.data())
@settings(max_examples=30)
def test_follows_the_reference_exactly(case: Case, data: st.DataObject) -> None:
    assert follows(case.algorithm, case, data.draw(trials(case)))


@every_algorithm
@given(data=st.data())
@settings(max_examples=12)
def test_floats_agree_with_fractions(case: Case, data: st.DataObject) -> None:
    scenario, hyper = data.draw(trials(case))
    exact, floats = (models(run(case.algorithm, hyper, scenario, kind)) for kind in ("exact", "float"))
    assert_close(floats, exact)


@pytest.mark.torch
@every_algorithm
@given(data=st.data())
@settings(max_examples=10)
def test_torch_agrees_with_fractions(case: Case, data: st.DataObject) -> None:
    pytest.importorskip("torch")
    scenario, hyper = data.draw(trials(case))
    slots = data.draw(padded(scenario))
    exact = models(run(case.algorithm, hyper, scenario))
    assert_close(models(run(case.algorithm, hyper, scenario, "torch", slots)), exact)


@every_algorithm
@given(data=st.data())
@settings(max_examples=12)
def test_padding_and_the_order_of_slots_change_nothing(case: Case, data: st.DataObject) -> None:
    scenario, hyper = data.draw(trials(case))
    slots = data.draw(padded(scenario))
    assert_same(run(case.algorithm, hyper, scenario, slots=slots), run(case.algorithm, hyper, scenario))


@every_algorithm
@given(data=st.data())
@settings(max_examples=12)
def test_permuting_clients_permutes_nothing_else(case: Case, data: st.DataObject) -> None:
    scenario, hyper = data.draw(trials(case))
    order = data.draw(st.permutations(range(scenario.n_clients)))
    shares = getattr(hyper, "weights", None)
    relabelled_hyper = replace(hyper, weights=tuple(shares[n] for n in order)) if shares else hyper
    before = run(case.algorithm, hyper, scenario)
    after = run(case.algorithm, relabelled_hyper, relabelled(scenario, order))
    for left, right in zip(before, after, strict=True):
        for name, value in left.linear.items():
            per_client = value.ndim == 2
            assert (right.linear[name] == (value[list(order)] if per_client else value)).all(), name
        for name, value in left.discrete.items():
            assert (right.discrete[name] == (value[list(order)] if value.ndim else value)).all(), name


def relabelled(scenario: Scenario, order: list[int]) -> Scenario:
    """Client order[i] is now called i."""
    name = {old: new for new, old in enumerate(order)}
    return replace(
        scenario,
        curvature=scenario.curvature[order],
        centre=scenario.centre[order],
        weights=scenario.weights[:, order],
        noise=scenario.noise[:, :, order],
        extra_noise=scenario.extra_noise[:, order],
        cohorts=[[name[n] for n in cohort] for cohort in scenario.cohorts],
    )


@every_algorithm
@given(data=st.data())
@settings(max_examples=12)
def test_replicates_equal_separate_runs(case: Case, data: st.DataObject) -> None:
    """Replicates differ in start, noise, weights and cohorts, also in the sizes of those."""
    scenario, hyper = data.draw(trials(case))
    n, rounds = scenario.n_clients, len(scenario.cohorts)
    size = 1 if case.one_client else n
    cohort = st.lists(st.integers(0, n - 1), unique=True, max_size=size)
    other = replace(
        scenario,
        x0=2 * scenario.x0 + 1,
        noise=-scenario.noise[::-1],
        extra_noise=-scenario.extra_noise[::-1],
        weights=scenario.weights[::-1],
        cohorts=data.draw(st.lists(cohort, min_size=rounds, max_size=rounds)),
    )
    both = [scenario, other]
    slots = [data.draw(padded(s)) for s in both]
    batch = run_batch(case.algorithm, hyper, both, "exact", slots)
    for b, single in enumerate(both):
        for state, expected in zip(batch, run(case.algorithm, hyper, single), strict=True):
            for name, value in expected.linear.items():
                assert (state.linear[name][b] == value).all(), name
            for name, value in expected.discrete.items():
                assert (state.discrete[name][b] == value).all(), name


@every_algorithm
@given(data=st.data())
@settings(max_examples=12)
def test_a_round_is_affine_in_the_linear_state(case: Case, data: st.DataObject) -> None:
    """Two runs with the same cohorts reach the same discrete state, and a round maps 2a - b to 2 f(a) - f(b)."""
    scenario, hyper = data.draw(trials(case))
    other = replace(scenario, x0=3 - 2 * scenario.x0, noise=-scenario.noise, extra_noise=-scenario.extra_noise)
    last = len(scenario.cohorts) - 1
    before = run_batch(case.algorithm, hyper, [scenario, other], "exact", [plain(scenario)] * 2)[-1]
    discrete = {name: np.concatenate([value, value[:1]]) for name, value in before.discrete.items()}
    linear = {name: np.concatenate([v, 2 * v[:1] - v[1:]]) for name, v in before.linear.items()}
    three = [scenario] * 3
    after = one_round(case.algorithm, hyper, State(linear, discrete), last, three, "exact", [plain(scenario)] * 3)
    for name, (a, b, mixed) in after.linear.items():
        assert (mixed == 2 * a - b).all(), name
    for value in (*before.discrete.values(), *after.discrete.values()):
        assert (value == value[:1]).all()


@pytest.mark.parametrize("case", [case for case in CASES if case not in REMEMBERING], ids=str)
@given(data=st.data())
@settings(max_examples=12)
def test_identical_clients_make_the_participation_pattern_irrelevant(case: Case, data: st.DataObject) -> None:
    """With one objective for all, no noise and a plain average, who takes part does not matter if somebody does."""
    scenario, hyper = data.draw(trials(case))
    patterns = [cohort or [0] for cohort in scenario.cohorts]
    alone = [[0] for _ in patterns]
    some, one = (identical(replace(scenario, cohorts=cohorts)) for cohorts in (patterns, alone))
    for got, expected in zip(run(case.algorithm, hyper, some), run(case.algorithm, hyper, one), strict=True):
        assert (got.linear["x"] == expected.linear["x"]).all()


@pytest.mark.parametrize("case", REMEMBERING, ids=str)
@given(data=st.data())
@settings(max_examples=12)
def test_identical_clients_are_remembered_alike_if_they_last_took_part_together(
    case: Case, data: st.DataObject
) -> None:
    scenario, hyper = data.draw(trials(case))
    if getattr(hyper, "weights", None):
        hyper = replace(hyper, weights=None)
    last: dict[int, int] = {}
    for t, state in enumerate(run(case.algorithm, hyper, identical(scenario))):
        last |= dict.fromkeys(scenario.cohorts[t], t)
        latest = state.linear["latest"]
        for n, m in itertools.combinations(range(scenario.n_clients), 2):
            if last.get(n) == last.get(m):
                assert (latest[n] == latest[m]).all()


def identical(scenario: Scenario) -> Scenario:
    """Everybody has the objective of client 0 and no noise; weights make the update a plain average."""
    n = scenario.n_clients
    weights = [[Fraction(n, max(1, len(cohort)))] * n for cohort in scenario.cohorts]
    return replace(
        scenario,
        curvature=scenario.curvature * 0 + scenario.curvature[0],
        centre=scenario.centre * 0 + scenario.centre[0],
        noise=scenario.noise * 0,
        extra_noise=scenario.extra_noise * 0,
        weights=np.array(weights, dtype=object),
    )


@given(scenario=scenarios())
@settings(max_examples=5)
def test_a_cohort_without_weights_is_refused(scenario: Scenario) -> None:
    from fltheory.errors import InputError
    from sims.algorithms.fedavg import weighted
    from sims.algorithms.protocol import Cohort

    with pytest.raises(InputError, match=r"cohort.weight must be an array"):
        weighted(scenario.centre, Cohort(np.zeros(1, dtype=int), np.ones(1, dtype=bool), 1))


def assert_close(floats: list[Any], exact: list[Any]) -> None:
    wanted = np.stack(exact).astype(float)
    scale = max(1.0, np.abs(wanted).max())
    assert np.abs(np.stack(floats) - wanted).max() <= TOLERANCE * scale


def assert_same(left: list[State], right: list[State]) -> None:
    for a, b in zip(left, right, strict=True):
        assert a.linear.keys() == b.linear.keys()
        assert a.discrete.keys() == b.discrete.keys()
        for name in a.linear:
            assert (a.linear[name] == b.linear[name]).all(), name
        for name in a.discrete:
            assert (a.discrete[name] == b.discrete[name]).all(), name
