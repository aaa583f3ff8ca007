"""What is known of who takes part, against the rounds of many traces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fltheory.participation import (
    Bernoulli,
    Cyclic,
    Markov,
    ParticipationProcess,
    Periodic,
    Permutation,
    Recorded,
    UniformSubset,
    WeightedDraws,
)
from fltheory.participation.base import IndependentRounds
from fltheory.participation.runs import Runs
from fltheory.planning.facts import Known, of_process, of_rates

TRACES, ROUNDS = 300, 90  # several times the common period of the cycles below


def participants(process: ParticipationProcess) -> np.ndarray:
    return np.concatenate([process.sample(ROUNDS, seed).sum(axis=1) for seed in range(TRACES)])


@st.composite
def small(draw: st.DrawFn) -> ParticipationProcess:
    n_clients = draw(st.integers(1, 4))
    rates = draw(st.lists(st.sampled_from([0.3, 0.5, 1.0]), min_size=n_clients, max_size=n_clients))
    period, cohort = draw(st.integers(1, 6)), draw(st.integers(1, n_clients))
    groups = draw(st.lists(st.integers(0, 2), min_size=n_clients, max_size=n_clients))
    on = draw(st.integers(1, 3))
    offset = draw(st.sampled_from(["random", "first_turn", 2]))
    log = draw(st.lists(st.lists(st.booleans(), min_size=n_clients, max_size=n_clients), min_size=1, max_size=9))
    return draw(
        st.sampled_from(
            [
                Bernoulli(rates),
                Markov(rates, max_enter=0.4),
                Cyclic(rates, period),
                Cyclic(rates, period, "as_in_code"),
                Periodic(groups, on, on * 3 + draw(st.integers(0, 2)), offset),
                Permutation(n_clients, cohort if n_clients % cohort == 0 else 1),
                UniformSubset(n_clients, cohort),
                WeightedDraws(stats.gamma(2), n_clients, cohort),
                Recorded.from_matrix(log, end="repeat"),
            ]
        )
    )


@settings(max_examples=150, deadline=None)
@given(small())
def test_known_rounds_are_those_of_traces(process: ParticipationProcess) -> None:
    seen, known = participants(process), of_process(process)
    assert known.empty == (seen == 0).any()
    assert known.fewest == (seen[seen > 0].min() if seen.any() else None)
    if known.inverse is not None:
        ones = 1 / seen[seen > 0]
        assert abs(ones.mean() - known.inverse) <= 6 * (ones.std() / TRACES**0.5 + 1e-12)


def test_groups_without_clients_leave_their_turns_empty() -> None:
    assert of_process(Periodic([0, 2, 2], 1, 3, 0)) == Known(window=3, fewest=1, empty=True)
    assert of_process(Periodic.diurnal(5, on=1, off=10000)) == Known(window=10001, fewest=5, empty=True)
    assert of_process(Periodic.block_cyclic(10**6, 3, 10**9)).fewest == 333333


def test_a_process_that_is_not_known_says_nothing() -> None:
    class Together(IndependentRounds):
        """All or nobody."""

        n_clients, rate = 3, np.full(3, 0.5)

        def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
            yield Runs(*np.zeros((3, 0), dtype=np.int64))

    assert of_process(Together()) == Known()


@pytest.mark.parametrize("n_clients", [1, 9, 10, 11])
def test_rates_below_one_participant_leave_rounds_empty(n_clients: int) -> None:
    known = of_rates([0.1], n_clients)
    assert known.empty is (True if n_clients < 10 else None)
    assert (known.window, known.fewest) == (10, 1)
