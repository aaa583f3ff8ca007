"""Scenarios: probabilities, marginals, and what is built on them."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Markov
from fltheory.weights import fedau_weights
from sims.scenarios import (
    average_participating,
    bernoulli,
    fedau_weighted,
    in_turn,
    markov,
    roles,
    schedule,
    selected,
    snapshots,
    uniform_subsets,
    weighted,
)
from sims.selection import always

ONE, TWO, BOTH = [True, False], [False, True], [True, True]


def paths(scenario, rounds):
    """All (probability, cohorts) of a scenario that does not look at the algorithm."""
    now = [(p, (), process) for process, p in scenario.start.items()]
    for _ in range(rounds):
        now = [(p * q, (*past, who), then) for p, past, s in now for q, who, then in scenario.outcomes(s, {})]
    assert sum(p for p, _, _ in now) == 1
    return [(p, past) for p, past, _ in now if p]


def rate(scenario, rounds):
    """Probability that each client takes part in round `rounds` - 1."""
    return sum(p * np.array(past[-1].valid, dtype=object) for p, past in paths(scenario, rounds)).tolist()


def test_independent_clients():
    rates = [F(1, 3), F(1, 4), F(1)]
    found = {tuple(past[0].valid.tolist()): p for p, past in paths(bernoulli(rates), 1)}
    assert found == {
        (a, b, True): (rates[0] if a else F(2, 3)) * (rates[1] if b else F(3, 4)) for a in (0, 1) for b in (0, 1)
    }
    assert rate(bernoulli(rates), 2) == rates


def test_uniform_subsets():
    found = [(p, past[0].valid.sum()) for p, past in paths(uniform_subsets(5, 2), 1)]
    assert found == [(F(1, 10), 2)] * 10
    assert rate(uniform_subsets(5, 2), 1) == [F(2, 5)] * 5
    with pytest.raises(InputError, match="at most the number of clients"):
        uniform_subsets(2, 3)


def test_markov_clients_are_stationary_with_the_right_memory():
    enter, leave = [F(1, 5), F(1, 2)], [F(1, 3), F(1, 4)]
    scenario = markov(enter, leave)
    assert rate(scenario, 1) == rate(scenario, 3) == [F(3, 8), F(2, 3)]
    both = sum(p * (past[0].valid & past[2].valid).astype(object) for p, past in paths(scenario, 3))
    for n, p in enumerate((F(3, 8), F(2, 3))):
        assert both[n] - p * p == p * (1 - p) * (1 - enter[n] - leave[n]) ** 2
    assert list(markov([1], [1]).start.values()) == [F(1, 2), F(1, 2)]
    theirs = Markov([3 / 8], max_enter=0.2).autocovariance(2)  # the first client as the availability process
    assert float(both[0] - F(9, 64)) == pytest.approx(float(theirs[0]), rel=1e-14)


def test_in_turn_and_snapshots():
    first = in_turn(schedule([BOTH, ONE]), 3, bernoulli([F(1, 2), F(0)]))
    assert [rate(first, t) for t in (1, 2, 3, 4)] == [[1, 1], [1, 0], [1, 1], [F(1, 2), 0]]
    random_start = in_turn(schedule([BOTH]), 1, markov([F(1, 2)], [F(1, 2)]))
    assert rate(random_start, 2) == [F(1, 2)]
    often = snapshots(schedule([BOTH]), schedule([ONE, TWO]), interval=3)
    assert [rate(often, t) for t in range(1, 8)] == [[1, 1], [0, 1], [1, 0], [1, 1], [1, 0], [0, 1], [1, 1]]
    coins = snapshots(uniform_subsets(2, 1), schedule([ONE]), probability=F(1, 4))
    assert rate(coins, 3) == [F(7, 8), F(1, 8)]
    # Time passes for the arbitrary rounds during a snapshot, and leaves them stationary.
    moving = snapshots(schedule([BOTH]), markov([F(1, 3)] * 2, [F(1, 4), F(1, 2)]), interval=2)
    assert [rate(moving, t) for t in (1, 2, 3, 4)] == [[1, 1], [F(4, 7), F(2, 5)]] * 2
    for wrong in ({}, {"interval": 2, "probability": 0.5}):
        with pytest.raises(InputError, match="one of them and not both"):
            snapshots(schedule([BOTH]), schedule([ONE]), **wrong)


def test_roles():
    scenario = roles(schedule([BOTH, ONE]), (F(1, 3), 1))
    outcomes = {tuple(tuple(who.role.tolist()) for who in past): p for p, past in paths(scenario, 2)}
    share = {1: F(1, 3), 0: F(2, 3)}
    assert outcomes == {((a, b), (1, 0)): share[a] * share[b] for a in (0, 1) for b in (0, 1)}
    assert [past[2].role.tolist() for _, past in paths(roles(schedule([BOTH]), (1, 0)), 3)] == [[1, 1]]


def test_weights():
    ((_, (who,)),) = paths(weighted(schedule([ONE]), [F(2), F(3)]), 1)
    assert who.weight.tolist() == [2, 3]
    shares = [
        past[0].weight.tolist() for _, past in paths(weighted(bernoulli([F(1, 2)] * 2), average_participating), 1)
    ]
    assert shares == [[2, 2], [2, 2], [2, 2], [1, 1]]  # nobody, either, both


@pytest.mark.parametrize("cutoff", [1, 2, 3, math.inf])
def test_fedau_weights_on_all_paths(cutoff):
    """Exact, and those of the estimator for whole histories; round 5 uses rounds 0 to 4 only."""
    scenario = fedau_weighted(bernoulli([F(1, 2), F(1, 3)]), cutoff)
    for _, past in paths(scenario, 4):
        history = np.array([who.valid for who in past])
        weights = np.array([who.weight for who in past])
        assert all(isinstance(w, F) for w in weights.flat)
        np.testing.assert_allclose(weights.astype(float), fedau_weights(history, cutoff), rtol=1e-15)
        assert weights[3].tolist() == [_weight(history[:3, n], cutoff) for n in range(2)]


def _weight(history, cutoff):
    """Mean of the completed intervals, one by one."""
    intervals, length = [], 0
    for on in history:
        length += 1
        if on or length == cutoff:
            intervals.append(length)
            length = 0
    return F(sum(intervals), len(intervals)) if intervals else 1


def test_selection_from_the_available():
    scenario = selected(bernoulli([F(1, 2), F(1, 3)]), always(0))
    found = {tuple(past[0].clients[past[0].valid].tolist()): F(0) for _, past in paths(scenario, 1)}
    for p, past in paths(scenario, 1):
        found[tuple(past[0].clients[past[0].valid].tolist())] += p
    assert found == {(): F(1, 2), (0,): F(1, 2)}


def test_weights_belong_to_clients_not_to_slots():
    """A selection puts whom it takes into the first slots."""
    two_of_three = selected(schedule([[False, True, True], [True, False, True]]), always(0, 2))
    found = [
        [dict(zip(who.clients[who.valid].tolist(), who.weight[who.valid].tolist(), strict=True)) for who in past]
        for scenario in (
            weighted(two_of_three, [5, 6, 7]),
            weighted(two_of_three, average_participating),
            fedau_weighted(two_of_three, 10),
        )
        for _, past in paths(scenario, 3)
    ]
    assert found[0] == [{2: 7}, {0: 5, 2: 7}, {2: 7}]
    assert found[1] == [{2: 3}, {0: F(3, 2), 2: F(3, 2)}, {2: 3}]
    assert found[2] == [{2: 1}, {0: 1, 2: 1}, {2: 1}]
    assert [who.weight.tolist() for who in paths(fedau_weighted(two_of_three, 10), 4)[0][1]][3] == [2, 1]


def test_decimals_are_exact():
    assert rate(bernoulli([Decimal("0.1"), Decimal(1)]), 1) == [F(1, 10), 1]
    assert rate(markov([Decimal("0.5")], [Decimal("0.25")]), 2) == [F(2, 3)]
    assert rate(snapshots(schedule([BOTH]), schedule([ONE]), probability=Decimal("0.25")), 2) == [1, F(1, 4)]
    assert {p for p, _ in paths(roles(schedule([ONE]), Decimal("0.25")), 1)} == {F(1, 4), F(3, 4)}


@pytest.mark.parametrize("rounds", [[["no", "yes"]], [[0.5, 1]], [[2, 0]], [[None, True]], [True, False]])
def test_a_schedule_takes_truth_values_only(rounds):
    with pytest.raises(InputError, match="truth value"):
        schedule(rounds)


@pytest.mark.parametrize("probability", [[], [[1]], np.array([[1]]), "x"])
def test_roles_take_a_probability_or_a_list_of_them(probability):
    with pytest.raises(InputError, match="probability must be a number"):
        roles(schedule([BOTH]), probability)


def test_bad_input():
    for wrong in (lambda: bernoulli([1.5]), lambda: markov([0.0], [0.5]), lambda: roles(schedule([ONE]), [0.5, -1])):
        with pytest.raises(InputError, match="in "):
            wrong()
    with pytest.raises(InputError, match="2 numbers, one a client"):
        paths(weighted(schedule([ONE]), [1]), 1)
    with pytest.raises(InputError, match="at least one round"):
        schedule([])
    for rounds in ([[True], [True, False]], [ONE, [True]]):
        with pytest.raises(InputError, match="a truth value for every client"):
            schedule(rounds)
    with pytest.raises(InputError, match="leave must be 1 numbers, as many as enter"):
        markov([F(1, 2)], [F(1, 2), F(1, 3)])
    for wrong in (lambda: markov(0.5, 0.5), lambda: bernoulli(0.5)):
        with pytest.raises(InputError, match="a list with a number for each client"):
            wrong()
    with pytest.raises(InputError, match="cutoff"):
        fedau_weighted(schedule([ONE]), 0)
