"""Likelihoods against sums over all histories of tiny logs; fits against the parameters that made a log."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from analysis.trace_report import to_json, to_text, trace_report
from analysis.trace_report.cyclic import fit_cyclic
from analysis.trace_report.fits import Fit, fits, fitted_clients
from analysis.trace_report.maximise import profile, sections
from analysis.trace_report.transitions import transitions
from analysis.traces import Log
from fltheory.participation import Bernoulli, Cyclic, Markov
from tests.analysis.trace_report.logs import dense, sampled

ROUNDS = 6


def tiny(seed: int) -> tuple[np.ndarray, np.ndarray, Log]:
    """A log of three clients, each of them seen on at least once."""
    draw = np.random.default_rng(seed)
    on, observed = draw.random((ROUNDS, 3)) < 0.5, draw.random((ROUNDS, 3)) < 0.6
    at = draw.integers(ROUNDS, size=3), np.arange(3)
    on[at] = observed[at] = True
    return on, observed, dense(on, observed)


def of_a_chain(on: np.ndarray, observed: np.ndarray, enter: float, leave: float) -> float:
    """The likelihood of what was observed of a client: the sum over all that may have happened unobserved."""
    rate, total = enter / (enter + leave), 0.0
    step = {(0, 0): 1 - enter, (0, 1): enter, (1, 0): leave, (1, 1): 1 - leave}
    for history in itertools.product((0, 1), repeat=ROUNDS):
        if all(history[t] == on[t] for t in range(ROUNDS) if observed[t]):
            first = rate if history[0] else 1 - rate
            total += first * math.prod(step[pair] for pair in itertools.pairwise(history))
    return total


@pytest.mark.parametrize("seed", range(4))
def test_a_chain_across_unobserved_rounds_is_summed_over_what_may_have_happened(seed: int) -> None:
    on, observed, log = tiny(seed)
    pairs = transitions(log, np.arange(3))
    enter, leave = np.array([0.2, 0.7, 0.9]), np.array([0.3, 0.6, 0.05])
    expected = [of_a_chain(on[:, n], observed[:, n], enter[n], leave[n]) for n in range(3)]
    found = pairs.log_likelihood(enter / (enter + leave), 1 - enter - leave)
    np.testing.assert_allclose(found, np.log(expected), rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_transitions_from_runs_are_those_from_observations(seed: int) -> None:
    on = np.random.default_rng(seed).random((20, 6)) < [0.1, 0.4, 0.6, 0.9, 0.5, 0.3]
    here = np.flatnonzero(on.any(axis=0))[1:]
    short, long = transitions(dense(on), here), transitions(dense(on, np.ones_like(on)), here)
    rate, correlation = np.linspace(0.2, 0.7, here.size), np.linspace(-0.2, 0.6, here.size)
    assert short.times.sum() == 19 * here.size
    np.testing.assert_allclose(
        short.log_likelihood(rate, correlation), long.log_likelihood(rate, correlation), rtol=1e-13
    )


@pytest.mark.parametrize("seed", range(2))
def test_fits_are_the_best_of_a_grid(seed: int) -> None:
    on, observed, log = tiny(seed + 10)
    found = dict(zip(("coin", "coins", "enter", "stability", "chains"), fits(log), strict=False))
    grid = np.linspace(0.04, 0.96, 12)
    chance = {(e, l): [of_a_chain(on[:, n], observed[:, n], e, l) for n in range(3)] for e in grid for l in grid}
    best = np.log(np.max(list(chance.values()), axis=0)).sum()
    assert best <= found["chains"].log_likelihood + 1e-9
    coins = [max(of_a_chain(on[:, n], observed[:, n], p, 1 - p) for p in grid) for n in range(3)]
    assert np.log(coins).sum() <= found["coins"].log_likelihood + 1e-9
    pairs = transitions(log, np.arange(3))
    for name, chain in (("enter", Markov), ("stability", Markov.from_stability)):
        fit = found[name]
        for shared in np.linspace(0.05, 0.95, 10):
            each = [chain(np.full(3, p), shared) for p in grid]
            values = [pairs.log_likelihood(one.rate, 1 - one.enter - one.leave) for one in each]
            assert np.max(values, axis=0).sum() <= fit.log_likelihood + 1e-9
        made = fit.process
        assert isinstance(made, Markov)
        own = [of_a_chain(on[:, n], observed[:, n], made.enter[n], made.leave[n]) for n in range(3)]
        assert fit.log_likelihood == pytest.approx(np.log(own).sum(), abs=1e-6)
    assert found["coin"].log_likelihood <= found["coins"].log_likelihood <= found["chains"].log_likelihood + 1e-9


@pytest.mark.parametrize("seed", [0, 3, 9])
def test_chains_with_rounds_unobserved_are_at_their_highest_maximum(seed: int) -> None:
    """Their likelihood may have several maxima: a chain that likes to stay, one that alternates."""
    draw = np.random.default_rng(seed)
    on, observed = draw.random((12, 40)) < draw.uniform(0.1, 0.9, 40), draw.random((12, 40)) < 0.4
    at = draw.integers(12, size=40), np.arange(40)
    on[at] = observed[at] = True
    log = dense(on, observed)
    made, pairs = fits(log)[4].process, transitions(log, np.arange(40))
    assert isinstance(made, Markov)
    grid = [*np.linspace(0.02, 0.98, 40), 1e-3, 1e-6, 1 - 1e-3, 1 - 1e-6]
    chance = [pairs.log_likelihood(np.full(40, e / (e + l)), np.full(40, 1 - e - l)) for e in grid for l in grid]
    found = pairs.log_likelihood(made.rate, 1 - made.enter - made.leave)
    assert (np.max(chance, axis=0) <= found + 1e-4).all()


def of_cycles(on: np.ndarray, observed: np.ndarray, on_rounds: int, period: int) -> float:
    """The share of offsets that fit what was observed of a client."""
    t = np.arange(len(on))
    fit = [((t + offset) % period < on_rounds)[observed] == on[observed] for offset in range(period)]
    return float(np.mean([one.all() for one in fit]))


@pytest.mark.parametrize("seed", range(8))
def test_cycles_are_the_likeliest_of_all(seed: int) -> None:
    draw = np.random.default_rng(seed)
    on = Cyclic([0.3, 0.6, 1.0], period=int(draw.integers(5, 9))).sample(40, seed)
    observed = draw.random(on.shape) < 0.8
    found = fit_cyclic(dense(on & observed, observed), np.arange(3))
    assert found is not None
    chances = {
        period: [max(of_cycles(on[:, n], observed[:, n], k, period) for k in range(1, period + 1)) for n in range(3)]
        for period in range(1, 20)
    }
    assert found.log_likelihood == pytest.approx(max(sum(map(math.log, c)) for c in chances.values() if all(c)))
    own = [of_cycles(on[:, n], observed[:, n], int(found.on[n]), found.period) for n in range(3)]
    assert found.log_likelihood == pytest.approx(np.log(own).sum())


def test_no_cycle_fits_what_is_no_cycle() -> None:
    assert fit_cyclic(sampled(Bernoulli([0.5, 0.3]), 100, 0), np.arange(2)) is None
    assert fit_cyclic(dense([[0], [1], [0]]), np.arange(1)) is None  # one turn tells no period


TRUTHS = {
    "max_enter": (Markov([0.1, 0.3, 0.02, 0.5], max_enter=0.1), 0.1),
    "stability": (Markov.from_stability([0.1, 0.3, 0.05, 0.5], 0.6), 0.6),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_shared_parameters_come_back_within_their_intervals(name: str) -> None:
    process, truth = TRUTHS[name]
    missed, trials = 0, 3
    for seed in range(trials):
        draw = np.random.default_rng(seed)
        on = process.sample(1500, seed)
        found = fits(dense(on, draw.random(on.shape) < 0.8))
        common = {fit.common[0]: fit for fit in found if fit.common}
        best = min(found[1:], key=lambda fit: fit.bic)
        assert best is common[name]
        missed += not best.common[1].covers(truth)
        assert best.common[1].high - best.common[1].low < 0.5 * truth
        np.testing.assert_allclose(best.process.rate, process.rate, atol=5 * np.sqrt(0.25 * 9 / 1200))
    assert missed <= stats.binom.isf(1e-3, trials, 0.05)


def test_coins_and_cycles_are_told_from_chains() -> None:
    def best(log: Log) -> Fit:
        return min(fits(log), key=lambda fit: fit.bic)

    assert best(sampled(Bernoulli([0.3] * 4), 300, 0)).family == "Bernoulli, one rate"
    assert best(sampled(Bernoulli([0.1, 0.8]), 300, 0)).family == "Bernoulli, a rate each"
    cycles = best(sampled(Cyclic([0.1, 0.3, 1.0], period=50), 400, 0))
    assert isinstance(cycles.process, Cyclic)
    assert cycles.process.rate.tolist() == [0.1, 0.3, 1.0]
    assert cycles.aic == 2 * 4 - 2 * cycles.log_likelihood


def test_who_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    log = dense([[1, 0, 1, 1], [0, 0, 1, 1]], np.ones((2, 4)))
    assert fitted_clients(log).tolist() == [0, 2, 3]
    monkeypatch.setattr("analysis.trace_report.fits.MOST_FITTED", 2)
    assert set(fitted_clients(log)) < {0, 2, 3}
    some = trace_report(log)
    names = [log.clients[n] for n in fitted_clients(log)]
    assert to_json(some)["fitted"] == {"clients": names, "of": 3}
    told = " ".join(to_text(some).split())
    assert f"on {len(names)} of the 3 clients that took part, drawn at random whatever they did, the same in" in told
    assert fits(dense([[0]], [[1]])) == []


def test_a_thousand_clients_stand_for_all() -> None:
    """Whether sorted by rate or not, their mean rate is that of all, within 5 standard errors of such a draw."""
    log = sampled(Bernoulli(np.linspace(0.1, 0.9, 5000)), 20, 0)
    drawn, on = fitted_clients(log), log.participations() / 20
    assert drawn.tolist() == fitted_clients(log).tolist() != fitted_clients(log, seed=1).tolist()
    assert np.unique(drawn).size == 1000
    assert abs(on[drawn].mean() - on.mean()) < 5 * on.std() * np.sqrt((1 - 0.2) / 1000)


def test_maxima() -> None:
    top = np.array([0.0, 0.3, 1.0])
    where, value = sections(lambda x: -((x - top) ** 2), 3)
    np.testing.assert_allclose(where, top, atol=1e-7)
    np.testing.assert_allclose(value, 0, atol=1e-12)
    half = sections(lambda x: np.where(x < 0.9, -np.inf, -x), 1)
    assert half[0] == pytest.approx(0.9, abs=1e-6)
    found = profile(lambda x: -((x - 0.4) ** 2) / (2 * 0.1**2), 0.0, 1.0, 7)  # normal with standard error 0.1
    assert (found.value, found.low, found.high) == pytest.approx((0.4, 0.4 - 0.196, 0.4 + 0.196), abs=1e-3)
    edge = profile(lambda x: -20 * x, 0.0, 1.0, 7)
    assert (edge.value, edge.low, edge.high) == pytest.approx((0, 0, stats.chi2.ppf(0.95, 1) / 40), abs=1e-6)
