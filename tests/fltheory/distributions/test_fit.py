"""Fitting p: the estimate maximises the likelihood, the interval covers, by enumeration of all data."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom, nbinom

from fltheory.distributions import KCutoffGeometric
from fltheory.distributions import fit as fitting
from fltheory.errors import InputError

RATES = [1e-300, 1e-12, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-9, 1.0]


def coverage(n: int, K: int, level: float) -> np.ndarray:
    """Probability that the interval covers p, for each p in RATES, summed over all data sets."""
    pmf = KCutoffGeometric(np.array(RATES)[:, np.newaxis], K).pmf(np.arange(1, K + 1))
    covered = np.zeros(len(RATES))
    for data in itertools.combinations_with_replacement(range(1, K + 1), n):
        orders = math.factorial(n) // math.prod(math.factorial(c) for c in Counter(data).values())
        estimate = KCutoffGeometric.fit(data, K, level)
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
        probability = orders * pmf[:, np.array(data) - 1].prod(axis=1)
        covered += probability * [estimate.covers(p) for p in RATES]
    return covered


@pytest.mark.parametrize("convolved", [2**17, 0], ids=["convolution", "Chernoff"])
@pytest.mark.parametrize("level", [0.01, 0.5, 0.95])
@pytest.mark.parametrize(("n", "K"), [(1, 2), (1, 7), (2, 5), (3, 4), (4, 3), (8, 2)])
def test_covers_by_enumeration(n, K, level, convolved, monkeypatch):
    monkeypatch.setattr(fitting, "CONVOLVED", convolved)
    assert coverage(n, K, level).min() >= level - 1e-12  # the sum's own rounding


def test_enumeration_would_see_a_wrong_level():
    assert coverage(6, 3, 0.5).min() < 0.55
    assert coverage(6, 3, 0.9).min() < 0.95


@pytest.mark.parametrize("n", [1, 2, 5])
def test_covers_by_enumeration_without_cutoff(n):
    for p in (0.02, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0):
        spare = np.arange(nbinom.isf(1e-12, n, p) + 1) if p < 1 else np.zeros(1)
        estimates = [KCutoffGeometric.fit([1] * (n - 1) + [1 + extra], math.inf, 0.9) for extra in spare]
        covered = np.array([estimate.covers(p) for estimate in estimates])
        assert nbinom.pmf(spare, n, p)[covered].sum() >= 0.9


def score_law(n: int, K: int, p: float) -> dict[int, float]:
    """The law of the total score by plain convolution."""
    one = KCutoffGeometric(p, K).pmf(np.arange(1, K + 1))
    law = {0: 1.0}
    for _ in range(n):
        grown: dict[int, float] = {}
        for total, weight in law.items():
            for x in range(1, K + 1):
                score = total + (x if x < K else 2 * K)
                grown[score] = grown.get(score, 0.0) + weight * one[x - 1]
        law = grown
    return law


@pytest.mark.parametrize("p", [1e-6, 0.01, 0.2, 0.5, 0.9])
def test_tails_of_the_score(p):
    n, K = 7, 6
    law = score_law(n, K, p)
    for total in law:
        for side in (-1, 1):
            true = sum(w for score, w in law.items() if side * score >= side * total)
            computed = math.exp(fitting._convolution(n, K, total)(p, side)) - fitting.FFT_ERROR
            bound = math.exp(fitting._chernoff(n, K, total)(p, side))
            assert computed == pytest.approx(true, abs=1e-13)
            assert bound >= true * (1 - 1e-12)
            # In a small search grid of u no bound may be better than the minimum.
            grid = [sum(w * math.exp(side * u * (s - total)) for s, w in law.items()) for u in (0.01, 0.05, 0.2, 0.5)]
            assert bound <= min(grid) * (1 + 1e-6)


@pytest.mark.parametrize(("n", "K"), [(2, 3), (3, 4)])
def test_the_interval_ends_where_a_tail_is_the_size_of_its_test(n, K):
    for data in itertools.combinations_with_replacement(range(1, K + 1), n):
        total = sum(x if x < K else 2 * K for x in data)
        estimate = KCutoffGeometric.fit(data, K, 0.9)
        for end, side in ((estimate.low, -1), (estimate.high, 1)):
            if 0 < end < 1:
                tail = sum(w for score, w in score_law(n, K, end).items() if side * score >= side * total)
                assert tail == pytest.approx(0.05, rel=1e-6)


def test_rounding_of_the_largest_convolution_is_far_below_its_allowance():
    n = fitting.CONVOLVED // 2  # K = 2: the score is n plus 3 for each cut-off interval
    for p in (0.01, 0.3, 0.99):
        cut = int(n * (1 - p))
        computed = math.exp(fitting._convolution(n, 2, n + 3 * cut)(p, -1)) - fitting.FFT_ERROR
        assert computed == pytest.approx(float(binom.cdf(cut, n, 1 - p)), abs=fitting.FFT_ERROR / 100)


def test_the_two_exact_ways_agree():
    data, K = [3, 1, 4, 1, 5], 12  # total 14 < K + n - 1 = 16
    short = KCutoffGeometric.fit(data, K)
    long = KCutoffGeometric.fit(data, math.inf)
    assert (short.low, short.high) == (long.low, long.high)
    for end, side in ((short.low, -1), (short.high, 1)):
        assert math.exp(fitting._convolution(5, K, 14)(end, side)) == pytest.approx(0.025, rel=1e-6)


@pytest.mark.parametrize(("data", "K"), [([3, 1, 10, 10, 6], 10), ([2, 2, 1], math.inf), ([5, 5, 4, 5], 5)])
def test_the_estimate_maximises_the_likelihood(data, K):
    estimate = KCutoffGeometric.fit(data, K)
    grid = np.linspace(0.001, 0.999, 999)[:, np.newaxis]
    likelihood = KCutoffGeometric(grid, K).logpmf(data).sum(axis=1)
    assert KCutoffGeometric(estimate.value, K).logpmf(data).sum() >= likelihood.max()
    # -1 / second derivative of the log-likelihood at the estimate; the difference quotient errs by h^2.
    h = 1e-4
    at = [KCutoffGeometric(estimate.value + step, K).logpmf(data).sum() for step in (-h, 0, h)]
    assert estimate.standard_error == pytest.approx(math.sqrt(-(h**2) / (at[0] - 2 * at[1] + at[2])), rel=1e-4)


def test_an_interval_of_K_says_only_K_minus_1_failures():
    assert KCutoffGeometric.fit([4, 4, 2], 4).value == 1 / (1 + 3 + 3 + 1)
    never = KCutoffGeometric.fit([4, 4, 4], 4)
    assert never.value == never.low == 0
    assert never.high == pytest.approx(1 - 0.025 ** (1 / 9), rel=1e-6)
    assert math.isnan(never.standard_error)
    always = KCutoffGeometric.fit([1, 1, 1], 4)
    assert always.value == always.high == 1
    assert always.low == pytest.approx(0.025 ** (1 / 3), rel=1e-12)


@pytest.mark.parametrize(("p", "K", "n"), [(0.02, 50, 300), (0.3, 50, 300), (1e-4, 50, 500), (0.02, math.inf, 300)])
def test_the_interval_is_about_as_short_as_a_normal_one(p, K, n):
    """The score loses little: with this many events the exact interval is within 10% of +-1.96 standard errors."""
    estimate = KCutoffGeometric.fit(KCutoffGeometric(p, K).rvs(n, np.random.default_rng(0)), K)
    assert (estimate.high - estimate.low) / (2 * 1.96 * estimate.standard_error) < 1.1 if n * p * K > 10 else 1.5


def test_huge_samples_and_cutoffs():
    rng = np.random.default_rng(0)
    for p, K, n in ((0.3, 50, 100_000), (1e-9, 10**9, 20), (0.01, 10**9, 20), (1e-15, 2**53, 5)):
        estimate = KCutoffGeometric.fit(KCutoffGeometric(p, K).rvs(n, rng), K, 0.999)
        assert estimate.covers(p)
        assert 0.9 < (estimate.high - estimate.low) / (2 * 3.29 * estimate.standard_error) < 2


@pytest.mark.parametrize(
    ("data", "K", "level", "message"),
    [
        ([1, 1], 1, 0.9, "^K must be at least 2"),
        ([1, 1], 0, 0.9, "^K must be a whole number"),
        ([], 5, 0.9, "^intervals must be at least one"),
        ([6], 5, 0.9, "^intervals must be .* none longer than the cutoff 5"),
        ([0, 1], 5, 0.9, "^intervals must be a whole number from 1"),
        ([math.nan], 5, 0.9, "^intervals must be"),
        ([1.5], 5, 0.9, "^intervals must be a whole number"),
        ([1], 5, 1.0, "^level must be a number in"),
        ([1], 5, 0.0, "^level must be"),
        ([1], 5, [0.9, 0.8], "^level must be a number in"),
    ],
)
def test_bad_input(data, K, level, message):
    with pytest.raises(InputError, match=message):
        KCutoffGeometric.fit(data, K, level)
