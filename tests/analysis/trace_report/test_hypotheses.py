"""The tests keep their level where the null is true, and notice what they are there for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from analysis.trace_report.hypotheses import (
    Finding,
    equal_rates,
    independent_clients,
    independent_rounds,
    lasting_rates,
    presumes_what_fails,
    steady_rates,
    telling,
)
from analysis.trace_report.labels import rates_by_label
from analysis.trace_report.memory import memory, own_apart, rounds_apart
from analysis.trace_report.tails import fisher_p, holm
from analysis.traces import Log
from fltheory.participation import Bernoulli, Cyclic, Markov, Periodic, UniformSubset
from tests.analysis.trace_report.logs import dense, sampled


def test_tails_are_those_of_scipy() -> None:
    draw = np.random.default_rng(0)
    tables = draw.integers(0, 30, size=(200, 2, 2)) // draw.integers(1, 10, size=(200, 1, 1))
    tables = tables[(tables.sum(axis=1) > 0).all(axis=1) & (tables.sum(axis=2) > 0).all(axis=1)]
    found = fisher_p(tables[:, 0, 0], tables.sum(axis=(1, 2)), tables[:, 0].sum(axis=1), tables[:, :, 0].sum(axis=1))
    np.testing.assert_allclose(found, [stats.fisher_exact(table).pvalue for table in tables], rtol=1e-9)


def test_tails_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [np.array(numbers) for numbers in ([3, 0, 9, 3], [20, 9, 30, 20], [8, 4, 12, 8], [7, 5, 20, 7])]
    whole = fisher_p(*cases)
    monkeypatch.setattr("analysis.trace_report.tails.AT_ONCE", 5)
    np.testing.assert_array_equal(fisher_p(*cases), whole)


def test_holm_is_that_of_the_definition() -> None:
    p = np.random.default_rng(0).random(20)
    ordered = np.sort(p)
    expected = [max(min(1.0, (20 - j) * ordered[j]) for j in range(np.sum(ordered <= one))) for one in p]
    np.testing.assert_allclose(holm(p), expected)


def missing(log: Log, seed: int) -> Log:
    """The same with a fifth of the rounds unobserved."""
    on, _ = log.history(np.arange(log.n_clients))
    return dense(on, np.random.default_rng(seed).random(on.shape) < 0.8)


def forgetful(stability: np.ndarray, rates: np.ndarray, rounds: int, seed: int) -> Log:
    """Chains, each with a stability of its own."""
    parts = (Markov.from_stability(rates[stability == one], one) for one in np.unique(stability))
    return dense(np.concatenate([part.sample(rounds, seed + 1000 * n) for n, part in enumerate(parts)], axis=1))


def lasting(log: Log, level: float = 0.01) -> Finding:
    """As the report asks: clients that are too slow for a third of the log are left out."""
    rate = np.full(log.n_clients, log.participations().sum() / log.observed_rounds().sum())
    return lasting_rates(log, own_apart(log, memory(log), 1, rate), level=level)


SLOW = np.repeat([0.995, 0.3], [12, 88])  # a few clients that hardly ever change


RATES = [0.05, 0.2, 0.2, 0.5, 0.7, 0.9]
NULLS: dict[str, tuple[Callable[..., Finding], Callable[[int], Log]]] = {
    "steady": (steady_rates, lambda seed: sampled(Bernoulli(RATES), 60, seed)),
    "steady, seldom looked": (
        lambda log, level: steady_rates(log, 15, level),
        lambda seed: missing(sampled(Markov.from_stability(RATES, 0.6), 600, seed), seed),
    ),
    "rounds": (independent_rounds, lambda seed: missing(sampled(Bernoulli(RATES), 50, seed), seed)),
    "equal": (equal_rates, lambda seed: missing(sampled(Bernoulli([0.4] * 12), 30, seed), seed)),
    "equal, hardly ever on": (equal_rates, lambda seed: sampled(Bernoulli([0.02] * 60), 10, seed)),
    "lasting, weak memory": (lasting, lambda seed: sampled(Markov.from_stability([0.3] * 300, 0.09), 60, seed)),
    "lasting, a few slow": (lasting, lambda seed: forgetful(SLOW, np.full(100, 0.3), 900, seed)),
    "lasting, hardly ever on": (lasting, lambda seed: missing(sampled(Bernoulli([0.02] * 60), 30, seed), seed)),
    "clients": (
        lambda log, level: independent_clients(log, 7, level),
        lambda seed: missing(sampled(Markov.from_stability(RATES, 0.7), 60, seed), seed),
    ),
    "labels": (
        lambda log, level: rates_by_label(log, tuple("aabbcc"), 7, level).test,
        lambda seed: sampled(Markov.from_stability([0.3] * 6, 0.7), 40, seed),
    ),
}


@pytest.mark.parametrize("name", NULLS)
def test_false_alarms_are_as_rare_as_stated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test, draw = NULLS[name]
    monkeypatch.setattr("analysis.trace_report.labels.PERMUTATIONS", 99)
    monkeypatch.setattr("analysis.trace_report.hypotheses.SHIFTS", 59)
    level, trials = 0.1, 200
    alarms = sum(test(draw(seed), level=level).rejected for seed in range(trials))
    # Were the level true, more would come up once in 10,000 such tests.
    assert alarms <= stats.binom.isf(1e-4, trials, level)


def test_chains_of_one_rate_are_seldom_told_apart_at_the_spacing_that_is_chosen() -> None:
    """At the reach, 6 rounds, the correlation is still 0.09, and about a tenth of these logs are rejected."""
    level, trials, alarms = 0.01, 150, 0
    for seed in range(trials):
        log = sampled(Markov([0.3] * 30, 0.1), 600, seed)
        apart = rounds_apart(memory(log), 30, 30 * 600)
        assert apart is not None
        assert 8 <= apart <= 16
        alarms += steady_rates(log, apart, level).rejected
    assert alarms <= stats.binom.isf(1e-3, trials, level)


def test_a_few_slow_clients_do_not_refute_steady_rates_nor_hide_unequal_ones() -> None:
    alarms = as_one = 0
    for seed in range(20):
        log = forgetful(SLOW, np.full(100, 0.3), 900, seed)
        found = memory(log)
        apart = rounds_apart(found, 100, 100 * 900)
        assert apart is not None
        steady = steady_rates(log, own_apart(log, found, apart))
        assert steady.left_out >= 6  # some are never on, and not seen then
        alarms += steady.rejected
        as_one += steady_rates(log, apart).rejected  # one spacing for all
        assert equal_rates(log).rejected
    assert alarms <= 1
    assert as_one >= 10
    assert lasting(forgetful(SLOW, np.tile([0.2, 0.4], 50), 900, 0)).rejected
    unequal = forgetful(np.full(100, 0.85), np.linspace(0.2, 0.4, 100), 1500, 0)
    assert lasting(unequal).rejected


def test_a_weak_memory_of_many_clients_is_looked_at_further_apart() -> None:
    """At a reach of 1 a correlation of 0.09 makes Pearson's test reject one rate."""
    log = sampled(Markov.from_stability([0.3] * 1000, 0.09), 100, 0)
    assert memory(log).reach == 1
    assert rounds_apart(memory(log), 1000, 10**5) == 3
    assert equal_rates(log).rejected
    assert not lasting(log).rejected


def test_more_clients_are_looked_at_further_apart() -> None:
    found = memory(sampled(Markov.from_stability([0.3] * 40, 0.8), 4000, seed=1))
    few, many = (rounds_apart(found, n, n * 4000) for n in (2, 10**4))
    assert found.reach is not None
    assert few is not None
    assert many is not None
    assert found.reach <= few < many
    assert rounds_apart(memory(sampled(Bernoulli([0.3] * 40), 2000, seed=1)), 40, 80_000) == 1
    assert rounds_apart(memory(sampled(Cyclic([0.5] * 4, period=20), 400, seed=1)), 4, 1600) is None


def test_halves_are_looked_at_in_the_same_hours_of_a_day() -> None:
    """Also where a half is not of whole days: each client is on in eight hours of its own, on most days."""
    rng = np.random.default_rng(0)
    awake = (np.arange(490)[:, None] + rng.integers(0, 24, 30)) % 24 < 8
    found = steady_rates(dense(awake & (rng.random(awake.shape) < 0.8)), 24)
    assert 5 < found.tested < 30  # who sleeps in the hour that is looked at tells nothing
    assert not found.rejected
    assert math.isnan(steady_rates(dense(awake), 24).p_value)


def test_of_six_clients_the_thirds_tell_nothing() -> None:
    """No p-value of theirs could be small enough."""
    on = np.random.default_rng(0).random((600, 12)) < np.linspace(0.1, 0.9, 12)
    assert lasting(dense(on)).rejected
    assert math.isnan(lasting(dense(on[:, :6])).p_value)


def test_too_few_rounds_tell_nothing() -> None:
    log = sampled(Bernoulli([0.1] * 20 + [0.9] * 20), 40, 0)
    assert math.isnan(steady_rates(log, 20).p_value)
    assert steady_rates(log, 10).p_value == 1
    never = lasting_rates(log, np.full(40, 14))  # a third has 13 rounds
    assert (math.isnan(never.p_value), never.left_out) == (True, 40)
    assert lasting_rates(log, np.full(40, 13)).rejected
    assert lasting_rates(log.only(np.arange(16, 24)), np.ones(8, dtype=np.int64)).p_value >= 2**-8


def test_a_test_that_presumes_independent_rounds_tells_nothing_where_these_are_rejected() -> None:
    log = sampled(Markov([0.3] * 30, 0.1), 600, 1)
    rounds, steady, apart = independent_rounds(log), steady_rates(log), steady_rates(log, 11)
    assert rounds.rejected
    assert steady.rejected
    assert [presumes_what_fails(one, [rounds, steady]) for one in (rounds, steady, apart)] == [False, True, False]
    assert telling([rounds, steady, apart]) == [rounds]
    assert telling([steady, apart]) == [steady]


def test_what_they_are_there_for_is_noticed() -> None:
    draw = np.random.default_rng(0)
    shift = np.concatenate([draw.random((200, 5)) < 0.3, draw.random((200, 5)) < [0.3, 0.3, 0.7, 0.3, 0.3]])
    assert steady_rates(dense(shift)).clients.tolist() == [2]
    mixed = np.stack([*(draw.random((4, 300)) < 0.4), np.arange(300) % 2 == 0], axis=1)
    found = independent_rounds(dense(mixed))
    assert (found.clients.tolist(), found.rejected, found.tested) == ([4], True, 5)
    assert independent_rounds(sampled(Markov([0.1, 0.3]), 2000, 0)).clients.size == 2
    assert equal_rates(sampled(Bernoulli([0.3] * 20 + [0.6]), 200, 0)).rejected
    together = independent_clients(sampled(Periodic.diurnal(10, 5, 5), 200, 0))
    assert together.rejected
    assert together.value == pytest.approx(10)  # 10 clients as one: variance 25 in place of 2.5
    instead = independent_clients(sampled(UniformSubset(20, 5), 200, 0))
    assert (instead.rejected, instead.value) == (True, pytest.approx(0, abs=1e-3))
    assert not independent_clients(sampled(Cyclic([0.5] * 20, period=20), 2000, 2)).rejected


def test_a_large_log_is_tested_on_a_sample_of_its_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    log = sampled(Periodic.diurnal(40, 5, 5), 100, 0)
    monkeypatch.setattr("analysis.trace_report.hypotheses.MOST_SHIFTED", 500)
    found = independent_clients(log)
    assert (found.tested, found.value) == (10, pytest.approx(10))


def test_nothing_to_test_is_no_alarm() -> None:
    for test in (steady_rates, independent_rounds, equal_rates, lasting, independent_clients):
        for log in (dense([[1]]), dense([[1, 1]] * 4)):
            found = test(log)
            assert math.isnan(found.p_value) or found.p_value == 1
            assert not found.rejected
