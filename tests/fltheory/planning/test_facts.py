"""What is known of who takes part, against the rounds of many traces; what that forces, against brute force."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fltheory.errors import InputError
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
from fltheory.participation.runs import Runs
from fltheory.planning.facts import Known, of_process, of_rates, require_possible

TRACES, ROUNDS = 300, 90  # several times the common period of the cycles below


@st.composite
def rates_of_few(draw: st.DrawFn) -> list[float]:
    return draw(st.lists(st.sampled_from([0.3, 0.5, 0.75, 1.0]), min_size=1, max_size=4))


@st.composite
def turns(draw: st.DrawFn) -> Periodic:
    groups, on = draw(st.lists(st.integers(0, 2), min_size=1, max_size=4)), draw(st.integers(1, 3))
    offset = draw(st.sampled_from(["random", "first_turn", 2]))
    return Periodic(groups, on, on * 3 + draw(st.integers(0, 2)), offset)


@st.composite
def cohorts(draw: st.DrawFn, make: Callable[[int, int], ParticipationProcess]) -> ParticipationProcess:
    cohort = draw(st.integers(1, 3))
    return make(cohort * draw(st.integers(1, 2)), cohort)


def logs() -> st.SearchStrategy[Recorded]:
    rounds = st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=1, max_size=9)
    )
    return rounds.map(lambda matrix: Recorded.from_matrix(matrix, end="repeat"))


PERIODS = st.integers(1, 6)
SMALL: dict[str, st.SearchStrategy[ParticipationProcess]] = {
    "bernoulli": rates_of_few().map(Bernoulli),
    "markov": rates_of_few().map(lambda rates: Markov(rates, max_enter=0.4)),
    "cyclic": st.builds(Cyclic, rates_of_few(), PERIODS),
    "cyclic as in code": st.builds(Cyclic, rates_of_few(), PERIODS, st.just("as_in_code")),
    "periodic": turns(),
    "permutation": cohorts(Permutation),
    "uniform subset": cohorts(UniformSubset),
    "weighted": cohorts(lambda n_clients, cohort: WeightedDraws(stats.gamma(2), n_clients, cohort)),
    "recorded": logs(),
}


@pytest.mark.parametrize("family", SMALL)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_known_rounds_are_those_of_traces(family: str, data: st.DataObject) -> None:
    process = data.draw(SMALL[family])
    traces, known = [process.sample(ROUNDS, seed) for seed in range(TRACES)], of_process(process)
    seen = np.concatenate([trace.sum(axis=1) for trace in traces])
    assert known.empty == (seen == 0).any()
    assert known.fewest == (seen[seen > 0].min() if seen.any() else None)
    if known.window is not None:
        assert all(trace[t : t + known.window].any(axis=0).all() for trace in traces[:20] for t in range(40))


def test_groups_without_clients_leave_their_turns_empty() -> None:
    assert of_process(Periodic([0, 2, 2], 1, 3, 0)) == Known(window=3, fewest=1, empty=True)
    nights = Known(window=10001, fewest=5, empty=True, drawn=True)
    assert of_process(Periodic.diurnal(5, on=1, off=10000)) == nights
    assert of_process(Periodic.block_cyclic(10**6, 3, 10**9)).fewest == 333333


@pytest.mark.parametrize(
    ("rates", "period", "fewest"),
    [([1, 0.5], 3, 1), ([1] * 5 + [0.75] * 2, 4, 2), ([1] * 5 + [0.3], 6, 1), ([1] * 5, 6, 5), ([0.3] * 5, 6, 1)],
)
def test_cycles_of_two_lengths_leave_each_other_alone(rates: list[float], period: int, fewest: int) -> None:
    """Cycles of `period` and of one round more: those who start at once are off together in their last rounds."""
    assert of_process(Cyclic(rates, period, "as_in_code")).fewest == fewest


class Together(Bernoulli):
    """All or nobody: derived from a family, and not of it."""

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        on = np.flatnonzero(np.random.default_rng(seed).random(rounds) < self.rate[0])
        for client in range(self.n_clients):
            yield Runs(np.full(on.size, client), on, on + 1)


def test_of_a_process_that_is_no_family_rates_are_known() -> None:
    """Half of its rounds have all three clients, the others none: not even that some round has one is known."""
    assert of_process(Together([0.5] * 3)) == Known(window=2, drawn=True)
    assert of_process(Together([0.1] * 3)) == Known(window=10, empty=True, drawn=True)


@pytest.mark.parametrize("n_clients", [1, 9, 10, 11])
def test_rates_below_one_participant_leave_rounds_empty(n_clients: int) -> None:
    few = n_clients < 10 or None
    assert of_rates([0.1], n_clients) == Known(10, empty=few, drawn=True, source="a rate of 0.1")


@pytest.mark.parametrize("family", SMALL)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(data=st.data())
def test_drawn_rounds_have_the_rates_as_chances(family: str, data: st.DataObject) -> None:
    """Round by round (Hoeffding: a false alarm has a probability below 1e-9 a comparison)."""
    process = data.draw(SMALL[family])
    if of_process(process).drawn:
        share = np.mean([process.sample(40, seed) for seed in range(400)], axis=0)
        assert (np.abs(share - process.rate) <= 0.17).all()


def test_a_schedule_is_not_drawn() -> None:
    turns = [Periodic.block_cyclic(4, 2, 3, offset) for offset in ("random", "first_turn", 0)]
    assert [of_process(one).drawn for one in turns] == [True, False, False]
    assert not of_process(Recorded.from_matrix([[1, 0], [0, 1]], end="repeat")).drawn


def allowed(rates: list[float], **constants: float) -> bool:
    try:
        require_possible(constants, {}, rates, Known(drawn=True))
    except InputError:
        return False
    return True


positive = st.floats(0.01, 1)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.lists(positive | st.just(0), min_size=3, max_size=3).filter(any), min_size=1, max_size=5), st.data())
def test_no_weights_vary_less_than_their_rates_force(raw: list[list[float]], data: st.DataObject) -> None:
    """Rounds are of a few kinds, each with its chance and weights that sum to one."""
    chance = np.array(data.draw(st.lists(positive, min_size=len(raw), max_size=len(raw))))
    weights, chance = np.array(raw) / np.sum(raw, axis=1, keepdims=True), chance / chance.sum()
    rates, variance = chance @ (weights > 0), chance @ weights**2 - (chance @ weights) ** 2
    if rates.min() > 0:
        rates = np.minimum(rates, 1)
        assert allowed(rates.tolist(), n_clients=3, weight_variance=float(variance.max()) + 1e-15)


def test_unequal_rates_force_a_variance() -> None:
    """Odds of 1 and 4: of means 1 / 3 and 2 / 3 both weights vary by 1 / 9, and others by more."""
    assert allowed([0.5, 0.8], n_clients=2, weight_variance=0.1112)
    assert not allowed([0.5, 0.8], n_clients=2, weight_variance=0.111)
    assert allowed([0.5, 1.0], n_clients=2, weight_variance=0)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.tuples(positive, st.floats(0, 8)), min_size=1, max_size=4))
def test_no_weights_are_refused(clients: list[tuple[float, float]]) -> None:
    p, w = np.array(clients).T
    error, square = float(((p * w - 1) ** 2).mean()), float((p * w**2).mean())
    assert allowed(p.tolist(), mean_weight_error=error, weight_square=square, cutoff=8)


@pytest.mark.parametrize("error", [0.05, 0.3, 0.7])
def test_the_least_square_of_weights_is_that_of_a_grid(error: float) -> None:
    """One weight of at most 4 each; the first client's grid holds the weights, the second's is closed form."""
    rates, p, first = [0.5, 0.2], np.array([0.5, 0.2]), np.linspace(0, 4, 100001)
    short = np.sqrt(np.maximum(2 * error - (p[0] * first - 1) ** 2, 0))  # how far from one the second may be
    second = np.maximum(1 - short, 0) / p[1]
    admitted = ((p[0] * first - 1) ** 2 <= 2 * error) & (second <= 4)
    least = ((p[0] * first**2 + p[1] * second**2) / 2)[admitted].min()
    assert allowed(rates, mean_weight_error=error, weight_square=1.0001 * least, cutoff=4)
    assert not allowed(rates, mean_weight_error=error, weight_square=0.9999 * least, cutoff=4)


def test_weights_without_error_are_one_over_the_rates() -> None:
    assert allowed([0.5, 0.01], mean_weight_error=0, weight_square=51)
    assert not allowed([0.5, 0.01], mean_weight_error=0, weight_square=50.9)
    assert allowed([0.5, 0.01], mean_weight_error=1, weight_square=0)
