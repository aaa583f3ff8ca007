"""FAST's snapshots: when they are taken and of whom, the adaptive form, and FAST's numbers on the +-1 family.

The statistical test draws with a fixed seed and would fail for a correct rule with probability at most 1e-6.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fltheory.participation import Bernoulli
from sims.algorithms import fedavg
from sims.arrays import as_exact
from sims.problems.base import Draws
from sims.problems.local import local_update
from sims.problems.quadratic import DiagonalQuadratic
from sims.recorder import Record
from sims.rounds import Setup, Simulation
from sims.selection import adapted, all_available, always, snapshot, uniform
from sims.weighting import AverageParticipating
from tests.sims.algorithms.scenario_one import Quadratic
from tests.sims.test_selection import NOTHING, asked, cohorts, generator, masks

F = Fraction
ZERO = F(0)


@given(interval=st.integers(1, 5), rounds=st.integers(1, 12), available=masks(4))
def test_snapshots_at_intervals(interval: int, rounds: int, available: np.ndarray) -> None:
    """In rounds 0, I, 2I, ...: two of all four clients, available or not; otherwise the available ones."""
    history = cohorts(snapshot(2, all_available(), interval=interval), [available] * rounds)
    for r, now in enumerate(history):
        assert now.sum() == 2 if r % interval == 0 else (now == available).all()


@given(traces=st.lists(masks(4, (3,)), min_size=1, max_size=6), seed=st.integers(0, 100))
def test_probability_0_and_1_are_the_plain_selections(traces: list[np.ndarray], seed: int) -> None:
    never = cohorts(snapshot(2, uniform(3), probability=0), traces, seed)
    assert np.array_equal(never, cohorts(uniform(3), traces, seed))
    everybody = [np.ones_like(now) for now in traces]
    ever = cohorts(snapshot(2, always(1), probability=1), traces, seed)
    assert np.array_equal(ever, cohorts(uniform(2), everybody, seed))


def test_each_replicate_tosses_its_own_coin() -> None:
    available = np.broadcast_to(np.array([False, True, False, False]), (50_000, 4))
    cohort, memory = snapshot(2, all_available(), probability=0.3)(available, NOTHING, {}, generator(5))
    assert stats.binomtest(int(memory["snapshot"].sum()), 50_000, 0.3).pvalue > 1e-6
    assert (cohort.valid.sum(axis=-1) == np.where(memory["snapshot"], 2, 1)).all()
    assert (asked(cohort)[~memory["snapshot"]] == available[0]).all()


def probabilities(accuracies: list[Any], strength: Any, start: Any = ZERO) -> list[Any]:
    """q_0, q_1, ... as the selection goes through rounds with these accuracies."""
    select, memory, history = snapshot(1, always(0), probability=start, strength=strength), {}, []
    for r, accuracy in enumerate([*accuracies, None]):
        _, memory = select(np.ones(2, dtype=bool), NOTHING, memory, generator(r))
        history.append(memory["probability"] + 0)
        memory = memory | {"accuracy": accuracy}
    return history


def test_adaptive_snapshots_worked_example() -> None:
    accuracies = [F(10, 100), F(30, 100), F(25, 100), F(28, 100), F(27, 100), F(40, 100)]
    assert probabilities(accuracies, 1) == [0, 0, 0, F(5, 100), F(2, 100), F(3, 100), 0]
    assert probabilities([F(6, 10)], 1, start=F(1, 2)) == [F(1, 2), 0]  # the first accuracy counts as a gain
    assert probabilities([10, 30, 25, 28], F(1)) == [0, 0, 0, 1, 0]  # percent instead of fractions: all or nothing


@given(
    accuracies=st.lists(st.fractions(0, 1, max_denominator=20), min_size=1, max_size=15),
    strength=st.fractions(0, 1, max_denominator=8),
)
def test_adaptive_snapshots_follow_the_loss_since_the_best(accuracies: list[F], strength: F) -> None:
    """For strength at most 1 and from q_0 = 0 the probability is strength x (best accuracy so far - the last)."""
    history = probabilities(accuracies, strength)
    for r, accuracy in enumerate(accuracies):
        assert history[r + 1] == strength * (max(accuracies[: r + 1]) - accuracy)


def test_the_probability_stays_within_bounds() -> None:
    assert adapted(F(1, 2), 1, 0, 7) == 1
    assert adapted(F(1, 2), 0, 1, 7) == 0


def test_the_loop_feeds_the_accuracy_after_every_round_and_the_metrics_follow() -> None:
    """A problem whose accuracy falls from 0.9 by 0.1 a round: q is 0, then lambda x (best so far - the last)."""

    class Forgetting(DiagonalQuadratic):
        seen = 0

        def train_accuracy(self, x: np.ndarray) -> np.ndarray:
            self.seen += 1
            return np.full(len(x), 1 - 0.1 * self.seen)

    def run(until: int | None = None) -> Simulation:
        problem = Forgetting([1.0, 1.0], [0.0, 2.0])
        select = snapshot(1, always(0), probability=0, strength=2)
        setup = Setup(problem, fedavg.fedavg, fedavg.Hyper(0.1), Bernoulli([1, 1]), AverageParticipating(), select)
        record = Record(("snapshot_probability", "arbitrary_share"), 1, 12)
        simulation = Simulation(setup, np.zeros((3, 1)), 12, generator(1), record)
        simulation.advance(until)
        return simulation

    whole = run()
    arrays = whole.record.arrays()
    probability, share = arrays["snapshot_probability"], arrays["arbitrary_share"]
    expected = [0, 0, 0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1, 1, np.nan]
    np.testing.assert_allclose(probability, np.tile(expected, (3, 1)), atol=1e-12)
    assert whole.setup.problem.seen == 11
    snapshots = np.rint((1 - share) * [*range(1, 13), 12])
    assert (np.diff(snapshots[:, 5:12], axis=1) == 1).all()  # q = 1: one a round
    assert (snapshots[:, 1] == 0).all()
    assert (share[:, 12] == share[:, 11]).all()
    cut, rest = run(5), run(0)
    rest.setup.problem.seen = cut.setup.problem.seen
    rest.load_state_dict(cut.state_dict())
    rest.advance()
    for name, values in rest.record.arrays().items():
        assert np.array_equal(values, arrays[name], equal_nan=True)


def test_rounds_without_snapshots_are_all_arbitrary() -> None:
    setup = Setup(
        DiagonalQuadratic([1.0], [0.0]), fedavg.fedavg, fedavg.Hyper(0.1), Bernoulli([1]), AverageParticipating()
    )
    record = Record(("snapshot_probability", "arbitrary_share"), 1, 2)
    Simulation(setup, np.zeros((1, 1)), 2, generator(1), record).advance()
    assert (record.arrays()["arbitrary_share"] == 1).all()
    assert np.isnan(record.arrays()["snapshot_probability"]).all()


def fast(x0: F, local_lr: F, rounds: int, interval: int) -> list[F]:
    """The +-1 family: (x-1)^2/2 and (x+1)^2/2, snapshots ask both, other rounds the first client; all models."""
    problem, hyper = Quadratic(as_exact([[1], [1]]), as_exact([[1], [-1]])), fedavg.Hyper(local_lr)
    select, state, memory = snapshot(2, always(0), interval=interval), fedavg.init(hyper, as_exact([x0]), 2), {}
    history = [x0]
    for r in range(rounds):
        cohort, memory = select(np.ones(2, dtype=bool), state, memory, generator(r))
        weight = np.full(cohort.valid.shape, F(2, int(cohort.valid.sum())), dtype=object)
        cohort = replace(cohort, weight=weight)
        local = local_update(problem, fedavg.work(state, cohort, hyper), cohort, Draws())
        state = fedavg.apply(state, cohort, local, hyper)
        history.append(state.linear["x"][0])
    return history


@pytest.mark.parametrize(("interval", "average"), [(2, 0.250006), (10, 0.810008), (100, 0.980108)])
def test_periodic_snapshots_leave_a_floor(interval: int, average: float) -> None:
    """FAST's limit cycles at step size 1/100: the mean squared gradient is (1 - q)^2 and a little, q = 1/I."""
    keep = F(99, 100)
    start = (1 - keep ** (interval - 1)) / (1 - keep**interval)  # x with keep^(I-1) (keep x - 1) + 1 = x
    *cycle, end = fast(start, 1 - keep, interval, interval)
    assert end == start
    assert float(sum(x**2 for x in cycle) / interval) == pytest.approx(average, abs=5e-7)


@pytest.mark.parametrize(
    ("interval", "rounds", "x0", "local_lr", "from_1", "from_0"),
    [
        (66, 66, F(-51, 100), F(19, 400), 0.450375, 0.441008),
        (10, 80, F(-59, 125), F(43, 1000), 0.398534, 0.391699),
        (3, 102, F(-41, 100), F(73, 2000), 0.227940, 0.225389),
    ],
)
def test_mean_squared_gradients_beyond_theorem_1(
    interval: int, rounds: int, x0: F, local_lr: F, from_1: float, from_0: float
) -> None:
    """FAST, Theorem 1's left-hand side where it exceeds the printed bound, over rounds 1..R and 0..R-1."""
    squares = [x**2 for x in fast(x0, local_lr, rounds, interval)]
    assert float(sum(squares[1:]) / rounds) == pytest.approx(from_1, abs=5e-7)
    assert float(sum(squares[:-1]) / rounds) == pytest.approx(from_0, abs=5e-7)
