"""The autocorrelation, against the plain formula and against processes whose correlations are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.trace_report.memory import _changes, memory, own_apart
from fltheory.participation import Bernoulli, Cyclic, Markov
from tests.analysis.trace_report.logs import dense, sampled


def plain(on: np.ndarray, observed: np.ndarray, lag: int) -> float:
    covariance = variance = 0.0
    for n in range(on.shape[1]):
        if not observed[:, n].any():
            continue
        p = on[observed[:, n], n].mean()
        for t in range(len(on) - lag):
            if observed[t, n] and observed[t + lag, n]:
                covariance += (on[t, n] - p) * (on[t + lag, n] - p)
                variance += p * (1 - p)
    return covariance / variance


@pytest.mark.parametrize("seed", range(5))
def test_correlations_are_those_of_the_plain_formula(seed: int) -> None:
    draw = np.random.default_rng(seed)
    on, observed = draw.random((30, 5)) < draw.uniform(0.1, 0.9, 5), draw.random((30, 5)) < 0.7
    everything = np.broadcast_to(on.any(axis=0), on.shape)  # without a column `available`
    for log, seen in ((dense(on & observed, observed), observed), (dense(on), everything)):
        expected = [plain(on & seen, seen, lag) for lag in range(1, 16)]
        np.testing.assert_allclose(memory(log).correlation, expected, rtol=1e-12, atol=1e-12)


def test_lags_end_where_the_work_would_be_too_much() -> None:
    log = sampled(Bernoulli(0.5), 100, seed=0)
    np.testing.assert_array_equal(memory(log, 7).correlation, memory(log).correlation[:7])
    assert memory(log).correlation.size == 50


@pytest.mark.parametrize("seed", range(5))
def test_changes_are_counted_between_rounds_that_were_both_observed(seed: int) -> None:
    draw = np.random.default_rng(seed)
    on, observed = draw.random((30, 5)) < draw.uniform(0.1, 0.9, 5), draw.random((30, 5)) < 0.7
    for log, seen in ((dense(on & observed, observed), observed), (dense(on), np.ones_like(observed))):
        both = seen[1:] & seen[:-1]
        changes, pairs = _changes(log)
        assert changes.tolist() == ((on[1:] != on[:-1]) & both).sum(axis=0).tolist()
        assert pairs.tolist() == both.sum(axis=0).tolist()


def test_a_client_that_hardly_ever_changes_is_looked_at_further_apart() -> None:
    fast = Markov.from_stability([0.3] * 20, 0.3).sample(2000, seed=1)
    slow, never = np.arange(2000) // 20 % 3 == 0, np.arange(2000) < 600
    log = dense(np.column_stack([fast, slow, never]))
    apart = own_apart(log, memory(log), 6)
    assert np.count_nonzero(apart[:20] == 6) >= 18
    assert (apart[20] % 6, apart[20] > 60, apart[20] < 1000, apart[21] >= 2000) == (0, True, True, True)


def test_reach_and_relaxation() -> None:
    coins = memory(sampled(Bernoulli([0.3] * 40), 2000, seed=1))
    assert coins.reach == 1
    assert abs(coins.correlation).max() < 5 / math.sqrt(40 * 1000)
    chain = memory(sampled(Markov.from_stability([0.3] * 40, 0.8), 4000, seed=1))
    np.testing.assert_allclose(chain.correlation[:5], 0.8 ** np.arange(1, 6), atol=0.03)
    assert chain.relaxation == pytest.approx(-1 / math.log(0.8), rel=0.1)
    habit = memory(sampled(Cyclic([0.5] * 4, period=20), 400, seed=1))
    assert habit.reach is None
    assert memory(sampled(Cyclic([0.5] * 4, period=20), 400, seed=1), 45).reach is None  # though lag 45 is weak
    assert habit.correlation[19] == pytest.approx(1)
    assert memory(dense(np.tile([[1], [0]], (10, 1)))).relaxation == 0
    assert math.isnan(memory(dense([[1], [1]])).relaxation)
