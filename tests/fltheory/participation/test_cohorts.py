"""Cohorts drawn together: uniform subsets, permutations, FAST's weighted draws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from fltheory.participation import Permutation, UniformSubset, WeightedDraws
from fltheory.participation.successive import inclusion_probabilities
from fltheory.streams import stream
from tests.fltheory.participation.tolerance import assert_mean


def cohort_law(weights: list[Fraction], cohort_size: int) -> dict[tuple[int, ...], Fraction]:
    """Exact law of successive sampling, by enumerating the orders of drawing."""
    law: dict[tuple[int, ...], Fraction] = {}
    for order in itertools.permutations(range(len(weights)), cohort_size):
        probability, left = Fraction(1), sum(weights, Fraction(0))
        for client in order:
            probability *= weights[client] / left
            left -= weights[client]
        cohort = tuple(sorted(order))
        law[cohort] = law.get(cohort, Fraction(0)) + probability
    return law


def frequencies(trace: np.ndarray) -> dict[tuple[int, ...], float]:
    kinds, counts = np.unique(trace, axis=0, return_counts=True)
    return {tuple(np.flatnonzero(kind)): count / len(trace) for kind, count in zip(kinds, counts, strict=True)}


def test_uniform_subsets_are_uniform_and_independent() -> None:
    """Two rounds side by side: all 36 pairs of cohorts of 2 out of 4."""
    trace = UniformSubset(4, 2).sample(40_000, seed=1)
    seen = frequencies(trace.reshape(20_000, 8))
    pairs = list(itertools.combinations(range(4), 2))
    expected = {(*a, *(4 + n for n in b)) for a in pairs for b in pairs}
    assert set(seen) == expected
    assert_mean(np.array(list(seen.values())), np.full(36, 1 / 36), 20_000)


def test_permutations_are_uniform_and_independent() -> None:
    """Two cycles side by side: all 36 pairs of ways to deal 4 clients into 2 rounds of 2."""
    trace = Permutation(4, 2).sample(40_000, seed=1)
    seen = frequencies(trace.reshape(10_000, 16))
    assert len(seen) == 36
    assert_mean(np.array(list(seen.values())), np.full(36, 1 / 36), 10_000)


@pytest.mark.parametrize(("n_clients", "cohort_size"), [(6, 2), (5, 1), (4, 4), (12, 3)])
def test_permutation_by_counting(n_clients: int, cohort_size: int) -> None:
    """Covariances and intervals of one client from all pairs and triples of places in successive cycles."""
    process = Permutation(n_clients, cohort_size)
    c = n_clients // cohort_size
    law = process.interval_law()
    for k in range(1, 2 * c + 2):
        gaps = sum(c - a + b == k for a in range(c) for b in range(c))
        assert law.pmf(k)[0] == pytest.approx(gaps / c**2, abs=1e-15)
    for lag in range(2 * c + 1):
        both = Fraction(0)
        for places in itertools.product(range(c), repeat=4):
            on = [any(t == cycle * c + place for cycle, place in enumerate(places)) for t in range(4 * c)]
            both += Fraction(sum(on[t] and on[t + lag] for t in range(c)), c)
        expected = both / c**4 - Fraction(1, c**2)
        assert process.autocovariance(lag)[0] == pytest.approx(float(expected), abs=1e-15)
    assert (process.max_gap == 2 * c - 1).all()


WEIGHTS = [
    [1, 1, 1, 1],
    [5, 1, 3, 2, 1],
    [1000, 1, 1, 10, 100, 1],
    [Fraction(1, 10**30), 1, Fraction(1, 10**12), 7],
    [1, 2],
    [3, 1, 4, 1, 5, 9],
]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_inclusion_probabilities_by_enumeration(weights: list[int]) -> None:
    for cohort_size in range(1, len(weights) + 1):
        law = cohort_law([Fraction(w) for w in weights], cohort_size)
        exact = [float(sum((p for cohort, p in law.items() if n in cohort), Fraction(0))) for n in range(len(weights))]
        found = inclusion_probabilities(np.array(weights, dtype=np.float64), cohort_size)
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("n_clients", "cohort_size"), [(100, 10), (100, 1), (100, 99), (200, 100), (40, 39), (400, 20)]
)
@pytest.mark.parametrize("shape", [0.05, 1.0, 50.0])
def test_inclusion_probabilities_of_many_clients(n_clients: int, cohort_size: int, shape: float) -> None:
    """They sum to the cohort size, lie in [0, 1] and grow with the weight, also for very uneven weights."""
    weights = np.random.default_rng(0).gamma(shape, size=n_clients)
    found = inclusion_probabilities(weights, cohort_size)
    assert found.sum() == pytest.approx(cohort_size, rel=1e-12)
    assert (found >= 0).all()
    assert (found <= 1).all()
    assert (np.diff(found[np.argsort(weights)]) >= -1e-13).all()


def test_equal_weights_are_uniform() -> None:
    np.testing.assert_allclose(inclusion_probabilities(np.ones(200), 17), 17 / 200, rtol=1e-12)


@pytest.mark.parametrize("interpretation", ["index", "weights"])
def test_law_of_weighted_cohorts(interpretation: str) -> None:
    draws = WeightedDraws("beta", 5, 2, interpretation=interpretation, law_seed=4)
    exact = cohort_law([Fraction(w) for w in draws.weights], 2)
    seen = frequencies(draws.sample(40_000, seed=2))
    for cohort, probability in exact.items():
        assert_mean(np.array(seen.get(cohort, 0.0)), np.array(float(probability)), 40_000)


@pytest.mark.parametrize("law", ["beta", "gamma", "weibull"])
@pytest.mark.parametrize("normalise", [True, False])
def test_index_is_the_procedure_in_words(law: str, normalise: bool) -> None:
    """Draw x, take client floor(n x / scale), pass over n and above and clients already in, until full."""
    frozen = {"beta": stats.beta(1, 10), "gamma": stats.gamma(10, scale=0.01), "weibull": stats.weibull_min(10)}[law]
    draws = WeightedDraws(law, 8, 2, normalise=normalise, law_seed=5)
    rng = stream(5, "participation.weighted-draws.law")
    scale = frozen.rvs(size=100_000, random_state=rng).max() if normalise else 1.0
    index = np.floor(8 * frozen.rvs(size=(10_000, 400), random_state=np.random.default_rng(1)) / scale)
    included = np.zeros((10_000, 8))
    for row, numbers in zip(included, index, strict=True):
        first = next(number for number in numbers if number < 8)
        second = next(number for number in numbers if number < 8 and number != first)
        row[[int(first), int(second)]] = 1
    assert_mean(included.mean(axis=0), draws.rate, 10_000)


def test_far_bins_keep_their_digits() -> None:
    """P(0.99 <= x < 1) for Gamma(10, 0.01) is about 1e-31; P(Gamma(10) > y) = P(Poisson(y) < 10)."""
    draws = WeightedDraws("gamma", 100, 10, normalise=False)

    def tail(y: float) -> float:
        return sum(math.exp(-y) * y**k / math.factorial(k) for k in range(10))

    within = 1 - tail(100)
    assert draws.weights[99] == pytest.approx((tail(99) - tail(100)) / within, rel=1e-9, abs=0)
    first = WeightedDraws("weibull", 100, 10, normalise=False).weights[0]  # P(x < 0.01) is about 1e-20
    assert first == pytest.approx(-math.expm1(-(0.01**10)) / -math.expm1(-1), rel=1e-9, abs=0)


def unevenness(trace: np.ndarray) -> list[float]:
    """Distinct participants, total variation from uniform, 1 / sum p^2, share of the ten busiest."""
    share = trace.sum(axis=0) / trace.sum()
    top = np.sort(share)[-10:].sum()
    return [(share > 0).sum(), np.abs(share - 1 / len(share)).sum() / 2, 1 / (share**2).sum(), top]


@pytest.mark.parametrize(
    ("law", "options", "stated"),
    [
        ("beta", {"normalise": False}, [57, 0.673, 22.6, 0.579]),
        ("gamma", {"normalise": False}, [27, 0.820, 13.5, 0.823]),
        ("weibull", {"normalise": False}, [62, 0.654, 27.0, 0.492]),
        ("beta", {}, [81, 0.587, 30.1, 0.474]),
        ("gamma", {}, [73, 0.564, 36.5, 0.370]),
        ("weibull", {}, [67, 0.605, 32.0, 0.416]),
        ("beta", {"interpretation": "weights"}, [100, 0.323, 60.7, 0.272]),
        ("gamma", {"interpretation": "weights"}, [100, 0.113, 92.3, 0.154]),
        ("weibull", {"interpretation": "weights"}, [100, 0.054, 98.2, 0.124]),
    ],
)
def test_unevenness_of_fast(law: str, options: dict[str, bool], stated: list[float]) -> None:
    """100 clients, 10 a round, 1000 rounds: another simulation's single run lies within five deviations of ours."""
    runs = np.array([unevenness(WeightedDraws(law, 100, 10, law_seed=s, **options).sample(1000, s)) for s in range(12)])
    deviation = runs.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 12)
    rounding = np.array([0.5, 0.0005, 0.05, 0.0005])
    assert (np.abs(runs.mean(axis=0) - stated) <= 5 * deviation + rounding).all(), (runs.mean(axis=0), deviation)


def test_a_client_that_is_always_drawn() -> None:
    """A law that fills two of ten bins: these two are always in, the others never."""
    draws = WeightedDraws(stats.uniform(0.05, 0.1), 10, 2, normalise=False)
    assert draws.rate.tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert draws.max_gap[:2].tolist() == [1, 1]
    assert np.isinf(draws.max_gap[2:]).all()
    assert draws.interval_law() is None
    assert draws.sample(20, seed=0)[:, :2].all()


def test_everybody_every_round() -> None:
    for process in (UniformSubset(4, 4), Permutation(4, 4), WeightedDraws("beta", 4, 4)):
        assert process.sample(9, seed=0).all()
        assert (process.rate == 1).all()
        assert (process.max_gap == 1).all()
        assert (process.autocovariance(0) == 0).all()
