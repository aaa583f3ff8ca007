"""Who is asked: each rule against its definition, and FedLaAvg's Lemma 1; snapshots are in test_snapshot.py.

Statistical tests draw with fixed seeds; each would fail for a correct rule with probability at most 1e-6.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fltheory.errors import InputError
from sims.algorithms import fedlaavg
from sims.algorithms.protocol import Cohort, State
from sims.arrays import as_exact, marked
from sims.problems.base import Draws
from sims.problems.local import local_update
from sims.selection import (
    Memory,
    Selection,
    all_available,
    always,
    least_recently_used,
    permutation,
    snapshot,
    uniform,
)
from tests.sims.algorithms.scenario_one import Quadratic

F = Fraction
NOTHING = State({})


def masks(n_clients: int, batch: tuple[int, ...] = ()) -> st.SearchStrategy[np.ndarray]:
    count = n_clients * math.prod(batch)
    return st.lists(st.booleans(), min_size=count, max_size=count).map(lambda v: np.array(v).reshape((*batch, -1)))


def asked(cohort: Cohort) -> np.ndarray:
    return marked(cohort.clients, cohort.valid, cohort.n_clients)


def generator(*key: int) -> np.random.Generator:
    return np.random.default_rng(key)


def cohorts(select: Selection, available: Iterable[np.ndarray], seed: int = 0) -> list[np.ndarray]:
    """Who is asked in each round, bool (..., N), each round with a generator of its own."""
    memory: Memory = {}
    history = []
    for r, now in enumerate(available):
        cohort, memory = select(now, NOTHING, memory, generator(seed, r))
        history.append(asked(cohort))
    return history


# ---- all of them ------------------------------------------------------------------------------------------


@given(available=masks(5, (2, 3)), seed=st.integers(0, 100))
def test_cohorts_are_in_order_padded_and_available(available: np.ndarray, seed: int) -> None:
    state = State({}, {"age": generator(seed).integers(0, 4, (2, 3, 5))})
    for select in (all_available(), always(3, 1), uniform(3), least_recently_used(3), permutation(3)):
        cohort, _ = select(available, state, {}, generator(seed))
        assert cohort.clients.shape == cohort.valid.shape
        assert (np.diff(cohort.valid.astype(int)) <= 0).all()  # padding comes last
        ordered = np.diff(np.where(cohort.valid, cohort.clients, 5 + np.arange(cohort.clients.shape[-1])))
        assert (ordered > 0).all()
        assert not (asked(cohort) & ~available).any()


@given(available=masks(5, (3,)))
def test_replicates_are_asked_as_if_alone(available: np.ndarray) -> None:
    state = State({}, {"age": np.array([[3, 1, 4, 1, 5], [0, 0, 0, 0, 0], [9, 2, 6, 5, 3]])})
    for select in (all_available(), always(3, 1), least_recently_used(2)):
        together, _ = select(available, state, {}, None)
        for b in range(3):
            alone, _ = select(available[b], State({}, {"age": state.discrete["age"][b]}), {}, None)
            assert (asked(together)[b] == asked(alone)).all()


@given(available=masks(4, (2,)))
def test_all_available(available: np.ndarray) -> None:
    cohort, _ = all_available()(available, NOTHING, {}, None)
    assert (asked(cohort) == available).all()
    assert cohort.clients.shape[-1] == max(1, available.sum(axis=-1).max())


def test_selections_can_be_sent_to_a_worker() -> None:
    select = snapshot(2, always(1), probability=0.5)
    left, right = (cohorts(s, [np.ones((8, 3), dtype=bool)] * 5) for s in (select, pickle.loads(pickle.dumps(select))))
    assert np.array_equal(left, right)


# ---- uniform ----------------------------------------------------------------------------------------------


def test_uniform_subsets_are_equally_likely() -> None:
    """Clients 0, 2, 3, 4 of 5 are available; 6 pairs, 60 000 draws, chi-square with 5 degrees of freedom."""
    available = np.broadcast_to(np.array([True, False, True, True, True]), (60_000, 5))
    cohort, _ = uniform(2)(available, NOTHING, {}, generator(7))
    assert cohort.valid.all()
    pairs = list(itertools.combinations((0, 2, 3, 4), 2))
    counts = [int((cohort.clients == pair).all(axis=-1).sum()) for pair in pairs]
    assert sum(counts) == 60_000
    assert stats.chisquare(counts).pvalue > 1e-6


@given(available=masks(5, (4,)))
def test_uniform_takes_all_if_they_are_fewer(available: np.ndarray) -> None:
    cohort, _ = uniform(3)(available, NOTHING, {}, generator(1))
    assert (cohort.valid.sum(axis=-1) == np.minimum(3, available.sum(axis=-1))).all()


# ---- least recently used ----------------------------------------------------------------------------------


@given(available=masks(6), ages=st.lists(st.integers(0, 3), min_size=6, max_size=6), size=st.integers(1, 6))
def test_least_recently_used_ties_by_number(available: np.ndarray, ages: list[int], size: int) -> None:
    cohort, _ = least_recently_used(size)(available, State({}, {"age": np.array(ages)}), {}, None)
    queue = sorted((n for n in range(6) if available[n]), key=lambda n: (-ages[n], n))
    assert cohort.clients[cohort.valid].tolist() == sorted(queue[:size])


def worst_age(n: int, size: int, available: Iterable[np.ndarray]) -> int:
    """The largest t - T_i^t when the least recently used take part."""
    select, age, worst = least_recently_used(size), np.zeros(n, dtype=np.int64), 0
    for now in available:
        cohort, _ = select(now, State({}, {"age": age}), {}, None)
        age = np.where(asked(cohort), 0, age + 1)
        worst = max(worst, int(age.max()))
    return worst


@pytest.mark.parametrize("n", range(1, 9))
def test_lemma_1_is_attained(n: int) -> None:
    """Everybody is available, but only every E-th round: the largest age is ceil(N/K) E - 1."""
    for size, period in itertools.product(range(1, n + 1), range(1, 4)):
        rounds = 3 * period * n
        together = [np.full(n, t % period == 0) for t in range(1, rounds + 1)]
        assert worst_age(n, size, together) == math.ceil(n / size) * period - 1


@given(n=st.integers(1, 6), period=st.integers(1, 4), size=st.integers(1, 6), draws=st.lists(st.integers(0, 255)))
@settings(max_examples=100)
def test_lemma_1_holds(n: int, period: int, size: int, draws: list[int]) -> None:
    """Any availability in which nobody is away for `period` rounds in a row."""
    size, away, trace = min(size, n), np.zeros(n, dtype=int), []
    for draw in draws:
        now = np.array([bool(draw >> i & 1) for i in range(n)]) | (away == period - 1)
        away = np.where(now, 0, away + 1)
        trace.append(now)
    assert worst_age(n, size, trace) <= math.ceil(n / size) * period - 1


def test_fedlaavg_asks_in_turn() -> None:
    """Two clients, one a round, always available: 0, 1, 0, 1, ... (so I = 1 needs periods of two rounds)."""
    hyper, problem = fedlaavg.as_in_paper(F(1, 10)), Quadratic(as_exact([[2], [2]]), as_exact([[1], [-1]]))
    state, order = fedlaavg.init(hyper, as_exact([1]), 2), []
    for _ in range(5):
        cohort, _ = least_recently_used(1)(np.array([True, True]), state, {}, None)
        order.append(int(cohort.clients[0]))
        local = local_update(problem, fedlaavg.work(state, cohort, hyper), cohort, Draws())
        state = fedlaavg.apply(state, cohort, local, hyper)
    assert order == [0, 1, 0, 1, 0]
    assert state.linear["x"].tolist() == [F(1841, 5000)]  # the orbit of Theorem 2's system


# ---- permutation ------------------------------------------------------------------------------------------


@given(n=st.integers(1, 7), size=st.integers(1, 7), seed=st.integers(0, 1000))
def test_everybody_once_before_anybody_twice(n: int, size: int, seed: int) -> None:
    size = min(size, n)
    history = cohorts(permutation(size), [np.ones((2, n), dtype=bool)] * 12, seed)
    times = np.cumsum(history, axis=0)
    assert (times.sum(axis=-1) == size * np.arange(1, 13)[:, None]).all()
    if n % size == 0:
        assert (times[n // size - 1 :: n // size].min(axis=-1) == times[n // size - 1 :: n // size].max(axis=-1)).all()
    assert (times.max(axis=-1) - times.min(axis=-1) <= 1).all()


def test_every_order_of_turns_is_equally_likely_and_fresh() -> None:
    """3 clients, one a round, 2 cycles: 6 x 6 pairs of orders in 72 000 replicates, 35 degrees of freedom."""
    history = cohorts(permutation(1), [np.ones((72_000, 3), dtype=bool)] * 6, seed=3)
    turns = np.argmax(history, axis=-1).T
    code = turns @ 3 ** np.arange(6)
    counts = np.unique(code, return_counts=True)[1]
    assert len(counts) == 36
    assert stats.chisquare(counts).pvalue > 1e-6


def test_a_turn_can_be_taken_later_in_the_cycle() -> None:
    """Client 0 is away at first; when it is back the others have no turn left, and it is asked."""
    others = np.array([False, True, True])
    for seed in range(20):
        *_, last = cohorts(permutation(1), [others, others, np.ones(3, dtype=bool)], seed)
        assert last.tolist() == [True, False, False]


def test_groups_that_take_turns_take_part_equally() -> None:
    """The schedule of amplified FedAvg in small: 5 groups of 4 clients, 10 rounds each, 2 clients a round."""
    group = np.repeat(np.arange(5), 4)
    history = cohorts(permutation(2), [group == t // 10 % 5 for t in range(100)])
    assert (np.sum(history[:50], axis=0) == 5).all()
    assert (np.sum(history, axis=0) == 10).all()


# ---- bad input --------------------------------------------------------------------------------------------

EVERYBODY = np.ones(3, dtype=bool)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: uniform(0), "size must be a whole number of at least 1"),
        (lambda: least_recently_used(1.5), "size must be a whole number of at least 1"),  # type: ignore[arg-type]
        (always, "clients must be at least one client"),
        (lambda: snapshot(1, always(0), probability=0.5, strength=[]), "strength must be a finite number"),
        (lambda: always(-1), "clients must be a whole number of at least 0"),
        (lambda: snapshot(1, always(0)), "interval and probability must be one of them and not both"),
        (lambda: snapshot(1, always(0), interval=2, probability=0.5), "interval and probability must be one of them"),
        (lambda: snapshot(1, always(0), interval=0), "interval must be a whole number of at least 1"),
        (lambda: snapshot(1, always(0), probability=math.nan), r"snapshot must be in \[0, 1\]; got nan"),
        (
            lambda: snapshot(1, always(0), probability=0.5, strength=math.nan),
            "strength must be a finite number of at least 0",
        ),
        (lambda: snapshot(1, always(0), interval=2, strength=1), "strength must be 0 with an interval"),
        (
            lambda: snapshot(1, snapshot(1, always(0), interval=2), interval=3),
            "otherwise must be a selection without snapshots",
        ),
        (lambda: snapshot(0, always(0), probability=0.5), "size must be a whole number of at least 1"),
        (lambda: uniform(4)(EVERYBODY, NOTHING, {}, generator(0)), "size must be at most the number of clients, 3"),
        (lambda: uniform(2)(EVERYBODY, NOTHING, {}, None), "rng must be a numpy generator"),
        (lambda: always(3)(EVERYBODY, NOTHING, {}, None), "clients must be below the number of clients, 3"),
        (lambda: least_recently_used(2)(EVERYBODY, NOTHING, {}, None), 'selection must be another one: .* "age"'),
    ],
)
def test_bad_input_is_named(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
