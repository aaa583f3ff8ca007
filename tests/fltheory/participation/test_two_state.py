"""Bernoulli and Markov participation against enumeration and the numbers of FedAU's Appendix C.6."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import (
    Bernoulli,
    Cyclic,
    Markov,
    ParticipationProcess,
    TwoStateChain,
    UniformSubset,
)
from tests.fltheory.participation.families import stable
from tests.fltheory.participation.tolerance import assert_mean


@pytest.mark.parametrize(
    ("p", "enter", "leave", "correlation"),
    [
        (0.02, 0.02040816, 1, -0.020408),
        (0.1, 0.05, 0.45, 0.5),
        (0.3, 0.05, 0.1166667, 0.833333),
        (0.527, 0.05, 0.0448767, 0.905123),
        (0.9, 0.05, 0.0055556, 0.944444),
        (1.0, 0.05, 0, 0.95),
    ],
)
def test_chains_of_the_paper(p: float, enter: float, leave: float, correlation: float) -> None:
    chain = Markov(p)
    assert chain.enter == pytest.approx(enter, abs=5e-8)
    assert chain.leave == pytest.approx(leave, abs=5e-8)
    assert 1 - chain.enter - chain.leave == pytest.approx(correlation, abs=5e-7)


def test_below_one_in_21_the_chain_is_on_for_single_rounds() -> None:
    below, above = np.nextafter(1 / 21, 0), np.nextafter(1 / 21, 1) * (1 + 1e-15)
    assert Markov(below).leave == 1
    assert Markov(below).enter < 0.05
    assert Markov(above).enter == 0.05


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("stability", [0.0, 0.3, 0.99])
def test_from_stability(p: float, stability: float) -> None:
    chain = Markov.from_stability(p, stability)
    assert 1 - chain.leave == pytest.approx(stability + (1 - stability) * p, rel=1e-14)
    assert chain.enter == pytest.approx((1 - stability) * p, rel=1e-14)
    for lag in range(5):
        assert chain.autocovariance(lag) == pytest.approx(p * (1 - p) * stability**lag, rel=1e-12, abs=1e-16)


def test_parameters_may_differ_between_clients() -> None:
    both = Markov([0.2, 0.4], max_enter=[0.05, 0.2])
    for n, (p, max_enter) in enumerate([(0.2, 0.05), (0.4, 0.2)]):
        assert both.leave[n] == Markov(p, max_enter).leave[0]
    np.testing.assert_array_equal(
        Markov.from_stability([0.2, 0.4], [0.1, 0.8]).enter, [(1 - 0.1) * 0.2, (1 - 0.8) * 0.4]
    )


@pytest.mark.parametrize(
    ("chain", "max_gap"),
    [
        (Markov(1.0), 1),
        (Markov(0.5, max_enter=1), 2),  # alternates
        (Markov(0.75, max_enter=1), 2),
        (Markov(0.5), math.inf),
        (Markov(0.02), math.inf),
        (Bernoulli(1.0), 1),
        (Bernoulli(0.999), math.inf),
    ],
)
def test_longest_gap(chain: ParticipationProcess, max_gap: float) -> None:
    assert chain.max_gap == max_gap


def test_certain_participation() -> None:
    for process in (Bernoulli(1.0), Markov(1.0), stable(1.0)):
        assert process.sample(500, seed=0).all()


def test_hardly_any_participation() -> None:
    """At 1e-300 or the smallest float, a participation within 1000 rounds has probability below 1e-297."""
    for process in (Bernoulli([1e-300, 5e-324]), Markov([1e-300, 5e-324])):
        assert not process.sample(1000, seed=0).any()


@pytest.mark.parametrize("at_once", [1, 2, 7])
def test_runs_drawn_in_parts_fit_together(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Bernoulli(np.linspace(0.01, 1, 70)), Markov(np.linspace(0.01, 1, 70))
    whole = [process.sample(400, seed=3) for process in processes]
    monkeypatch.setattr("fltheory.participation.runs._PAIRS_AT_ONCE", at_once)
    for process, trace in zip(processes, whole, strict=True):
        np.testing.assert_array_equal(process.sample(400, seed=3), trace)
        np.testing.assert_array_equal(np.stack(process.sample_events(400, seed=3)), np.stack(np.nonzero(trace.T)))


def test_cohorts_and_turns_drawn_in_parts_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = UniformSubset(9, 4), Cyclic(np.linspace(0.01, 1, 70), period=13)
    whole = [process.sample(50, seed=3) for process in processes]
    monkeypatch.setattr("fltheory.participation.runs.RUNS_AT_ONCE", 10)
    for process, trace in zip(processes, whole, strict=True):
        np.testing.assert_array_equal(process.sample(50, seed=3), trace)


@pytest.mark.parametrize("lag", range(4))
@pytest.mark.parametrize("p", [0.02, 0.1, 0.6])
def test_autocovariance_by_enumeration(p: float, lag: int) -> None:
    chain = Markov(p)
    step = np.array([[1 - chain.enter[0], chain.enter[0]], [chain.leave[0], 1 - chain.leave[0]]])
    both = p * np.linalg.matrix_power(step, lag)[1, 1]
    assert chain.autocovariance(lag)[0] == pytest.approx(both - p**2, abs=1e-16)


@pytest.mark.parametrize("make", [Bernoulli, Markov, stable], ids=["bernoulli", "markov", "stable"])
@pytest.mark.parametrize("p", [0.03, 0.4, 0.8])
def test_law_of_the_first_rounds_by_enumeration(make: type[Bernoulli], p: float) -> None:
    """All 32 histories of five rounds, with their exact probabilities."""
    chain = make(p).marginal()
    assert isinstance(chain, TwoStateChain)
    to_on = {False: float(chain.enter[0]), True: 1 - float(chain.leave[0])}
    traces = make(np.full(60_000, p)).sample(5, seed=11)
    seen = np.bincount(np.left_shift(traces, np.arange(5)[:, None]).sum(axis=0), minlength=32) / 60_000
    for bits in itertools.product([False, True], repeat=5):
        probability = p if bits[0] else 1 - p
        for before, after in itertools.pairwise(bits):
            probability *= to_on[before] if after else 1 - to_on[before]
        number = sum(bit << t for t, bit in enumerate(bits))
        assert_mean(seen[number], np.array(probability), 60_000)


@pytest.mark.parametrize(
    ("p", "cutoff", "scales"),
    [
        (0.02, 50, (0.635830, 0.638592, 0.666667)),
        (0.1, 50, (0.994846, 0.962014, 0.909091)),
        (0.5, 10, (0.999023, 0.927185, 0.909091)),
        (0.02, 10, (0.182927, 0.183218, 0.181818)),
    ],
)
def test_interval_laws_give_the_long_run_weights(p: float, cutoff: int, scales: tuple[float, ...]) -> None:
    """p w_inf = 1 / E[ceil(X / K)] of FedAU's weight for Bernoulli, Markov and cyclic-100 participation."""
    for process, scale in zip((Bernoulli(p), Markov(p), Cyclic(p)), scales, strict=True):
        law = process.interval_law()
        assert 1 / law.expect(lambda k: np.ceil(k / cutoff)) == pytest.approx(scale, abs=6e-7)


def test_a_marginal_chain_must_move() -> None:
    with pytest.raises(InputError, match="enter"):
        TwoStateChain(np.zeros(1), np.zeros(1))
    with pytest.raises(InputError, match=r"leave must be in \[0, 1\]; got 1\.5"):
        TwoStateChain(np.ones(1), np.array([1.5]))
