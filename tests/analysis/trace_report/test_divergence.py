"""delta~^2(P) against all vertices of the linear program, plain loops, and what the paper bounds it by."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from analysis.trace_report.divergence import divergences, interval_divergence, log_divergence, process_divergence
from fltheory.errors import InputError
from fltheory.ledger import ledger
from fltheory.participation import Bernoulli, Periodic
from tests.analysis.trace_report.logs import dense, sampled


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_the_worst_gradients_are_those_of_all_vertices(n: int) -> None:
    draw = np.random.default_rng(n)
    for q in draw.dirichlet(np.ones(n), size=5) * (draw.random((5, n)) < 0.7):
        # The vertices of [-1, 1]^n with sum 0 have at most one coordinate inside, which then is 0.
        best = max(np.dot(q, a) ** 2 for a in itertools.product((-1, 0, 1), repeat=n) if sum(a) == 0)
        assert interval_divergence(q) == pytest.approx(best, abs=1e-15)
        assert interval_divergence(q) <= n * ((q - q.mean()) ** 2).sum() + 1e-15  # (15)


@pytest.mark.parametrize("seed", range(6))
def test_a_log_is_averaged_interval_by_interval(seed: int) -> None:
    draw = np.random.default_rng(seed)
    on = draw.random((40, 7)) < draw.uniform(0.05, 0.6, 7)
    log, held = dense(on), np.flatnonzero(on.any(axis=1))
    weights = on[held] / on[held].sum(axis=1, keepdims=True)
    for interval, found in zip((1, 3, 5, held.size), divergences(log, [1, 3, 5, held.size]), strict=True):
        whole = held.size // interval
        each = [interval_divergence(weights[i * interval : (i + 1) * interval].mean(axis=0)) for i in range(whole)]
        assert (found.interval, found.intervals) == (interval, whole)
        assert found.largest == pytest.approx(max(each))
        assert found.mean == pytest.approx(np.mean(each))
        at = int(np.searchsorted(held, found.first)) // interval
        assert each[at] == pytest.approx(max(each))


def test_turns_of_everybody_leave_nothing() -> None:
    """Proposition 4.2: over a whole period of block-cyclic participation all averaged weights are equal."""
    log = sampled(Periodic.block_cyclic(6, 3, 4, offset=0), 48, 0)
    assert log_divergence(log, 12).largest == pytest.approx(0, abs=1e-15)
    assert log_divergence(log, 4).largest == pytest.approx(1)


@pytest.mark.parametrize(("n", "p", "interval"), [(2, 0.5, 6), (3, 0.5, 3), (3, 0.9, 4), (4, 0.7, 3)])
def test_independent_clients_stay_below_the_bound_of_proposition_47(n: int, p: float, interval: int) -> None:
    cohorts = np.array([c for c in itertools.product((0.0, 1.0), repeat=n) if any(c)])
    law = np.prod(np.where(cohorts == 1, p, 1 - p), axis=1)
    law, weights = law / law.sum(), cohorts / cohorts.sum(axis=1, keepdims=True)
    variance = law @ (weights[:, 0] - 1 / n) ** 2
    expected = sum(
        np.prod(law[list(rounds)]) * interval_divergence(weights[list(rounds)].mean(axis=0))
        for rounds in itertools.product(range(len(law)), repeat=interval)
    )
    values = {"n_clients": n, "heterogeneity": 1.0, "weight_variance": variance, "interval": interval}
    bound = ledger["amplified.prop47.expectation"].bound.at(**values)
    assert bound / (2 * n) <= expected <= bound + 1e-15
    log = log_divergence(sampled(Bernoulli([p] * n), 4000, 3), interval)
    assert log.mean == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(log.intervals))


def test_of_a_process_by_simulation() -> None:
    """Two clients and one round: the divergence is 1 unless both come."""
    found = process_divergence(Bernoulli([0.5, 0.5]), 1, replicates=300)
    assert found.covers(0.75)
    assert found.high - found.low < 0.4


def test_bad_input() -> None:
    log = dense([[1, 0], [0, 0]])
    with pytest.raises(InputError, match="interval must be at most 1; got 2"):
        log_divergence(log, 2)
    with pytest.raises(InputError, match="log must be one with a participation"):
        log_divergence(dense([[0]], [[1]]), 1)
    with pytest.raises(InputError, match="weights must be an array with a weight for each client"):
        interval_divergence(1.0)
    with pytest.raises(InputError, match="replicates"):
        process_divergence(Bernoulli(0.5), 1, replicates=0)
