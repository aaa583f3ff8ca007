"""The K-cutoff geometric law to 1e-12 against mpmath, its limits, and its draws."""

import math
import subprocess
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from fltheory.distributions import KCutoffGeometric
from fltheory.errors import InputError

PROMISED = 1e-12
SMALLEST_NORMAL = sys.float_info.min  # below it a float has fewer digits than promised

RATES = [1e-300, 1e-200, 1e-155, 1e-50, 1e-16, 1e-9, 4.999e-10, 5.001e-10, 1e-8, 1e-4, 4.99e-4, 5.01e-4, 0.00999]
RATES += [0.0101, 0.1, 0.16, 0.17, 0.249, 0.251, 0.3, 0.49, 0.5, 0.51, 0.7, 0.99, 1 - 1e-8, 1 - 1e-15, 1 - 2**-53, 1.0]
PER_INTERVAL = {"pmf", "logpmf", "sf", "cdf"}
CUTOFFS = [1, 2, 3, 5, 50, 1000, 10**9, math.inf]


def random_pairs(n: int) -> list[tuple[float, float]]:
    """Pairs over the whole range, most of them around K p = 1/2, where the variance changes its formula."""
    rng = np.random.default_rng(0)
    cutoffs = np.floor(10 ** rng.uniform(0, 9, n))
    rates = np.where(rng.random(n) < 0.7, 10 ** rng.uniform(-3, 2, n) / cutoffs, 10 ** rng.uniform(-40, 0, n))
    return list(zip(np.minimum(rates, 1.0).tolist(), cutoffs.tolist(), strict=True))


def power(base, exponent):
    return mpmath.mpf(0) if math.isinf(exponent) else base ** int(exponent)


def exact(p: float, K: float, at: list[float]) -> dict[str, list]:
    """Everything from the definitions, with 60 digits left after p^3 is lost to cancellation."""
    with mpmath.workdps(60 + int(-3.3 * math.log10(p))):
        P = mpmath.mpf(p)
        q = 1 - P
        odd = 0 if math.isinf(K) else 2 * int(K) - 1
        var = (q - odd * P * power(q, K) - power(q, 2 * K)) / P**2
        decisions = (1 - power(q, K - 1)) / P
        pmf = [power(q, k - 1) * (P if k < K else 1) for k in at]
        sf = [power(q, k) if k < K else mpmath.mpf(0) for k in at]
        return {
            "pmf": pmf,
            "logpmf": [mpmath.log(x) if x else -mpmath.inf for x in pmf],
            "sf": sf,
            "cdf": [1 - x for x in sf],
            "mean": [(1 - power(q, K)) / P],
            "var": [var],
            "std": [mpmath.sqrt(var)],
            "entropy": [decisions * (-P * mpmath.log(P) - q * mpmath.log(q)) if q else mpmath.mpf(0)],
        }


def relative_error(value: float, truth) -> float:
    if abs(truth) < SMALLEST_NORMAL:
        return 0.0 if abs(value) < 2 * SMALLEST_NORMAL and (truth or not value) else math.inf
    if abs(truth) > sys.float_info.max:
        return 0.0 if value == float(truth) else math.inf
    return float(abs(mpmath.mpf(value) - truth) / abs(truth))


@pytest.mark.parametrize("pairs", [[(p, K) for p in RATES for K in CUTOFFS], random_pairs(200)], ids=["grid", "random"])
def test_twelve_digits(pairs):
    for p, K in pairs:
        law = KCutoffGeometric(p, K)
        largest = min(K, 1e9)
        at = sorted({1, min(2, largest), largest // 2 or 1, max(largest - 1, 1), largest, min(largest, 700 // p + 1)})
        for name, truth in exact(p, K, at).items():
            method = getattr(law, name)
            computed = [method(k) for k in at] if name in PER_INTERVAL else [method()]
            for value, true in zip(computed, truth, strict=True):
                assert relative_error(value, true) <= PROMISED, (name, p, K)


def test_moments_are_those_of_the_definition_in_rationals():
    for p in (Fraction(1, 1000), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1)):
        for K in (1, 2, 3, 7, 20):
            pmf = [p * (1 - p) ** (k - 1) for k in range(1, K)] + [(1 - p) ** (K - 1)]
            mean = sum(k * w for k, w in enumerate(pmf, 1))
            var = sum((k - mean) ** 2 * w for k, w in enumerate(pmf, 1))
            law = KCutoffGeometric(float(p), K)
            # p as a float is off by half a rounding; var at K p << 1 and near q = 0 passes on at most 50 of them.
            assert law.mean() == pytest.approx(float(mean), rel=1e-14)
            assert law.var() == pytest.approx(float(var), rel=1e-14)


def test_where_the_literal_variance_is_useless():
    assert KCutoffGeometric(1e-8, 50).var() == pytest.approx(4.0425e-4, rel=1e-5)
    assert KCutoffGeometric(1e-12, 500).var() == pytest.approx(4.154e-5, rel=1e-4)


def test_limits():
    certain = KCutoffGeometric(1.0, [1, 50, math.inf])
    for name, value in {"mean": 1, "var": 0, "std": 0, "entropy": 0, "median": 1}.items():
        np.testing.assert_array_equal(getattr(certain, name)(), value)
    np.testing.assert_array_equal(certain.logpmf(1), 0)
    cut_at_once = KCutoffGeometric([1e-300, 0.3, 1.0], 1)
    np.testing.assert_array_equal(cut_at_once.mean(), 1)
    np.testing.assert_array_equal(cut_at_once.var(), 0)
    np.testing.assert_array_equal(cut_at_once.entropy(), 0)
    assert KCutoffGeometric(1e-300, math.inf).std() == pytest.approx(1e300, rel=1e-15)
    assert KCutoffGeometric(1e-300, math.inf).var() == math.inf
    assert KCutoffGeometric(1e-300, math.inf).median() == pytest.approx(1e300 * math.log(2), rel=1e-14)
    assert KCutoffGeometric(1e-309, math.inf).median() == math.inf


def test_no_cutoff_is_a_cutoff_that_is_never_reached():
    geometric, cut = KCutoffGeometric(0.1, math.inf), KCutoffGeometric(0.1, 10**9)
    for name in ("mean", "var", "std", "entropy", "median"):
        assert getattr(geometric, name)() == getattr(cut, name)()


def test_a_draw_is_never_a_wrong_integer():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"^a drawn interval must be at most 2\*\*53 to be an exact integer"):
        KCutoffGeometric(1e-17, math.inf).rvs(10, rng)
    assert (KCutoffGeometric(1e-300, [1, 50, 2**53]).rvs((100, 3), rng) == [1, 50, 2**53]).all()
    assert (KCutoffGeometric(1.0, math.inf).rvs(100, rng) == 1).all()


def test_cutting_the_geometric_draws_is_drawing_the_cut_law():
    free = KCutoffGeometric(0.05, math.inf).rvs(1000, np.random.default_rng(1))
    cut = KCutoffGeometric(0.05, 20).rvs(1000, np.random.default_rng(1))
    np.testing.assert_array_equal(cut, np.minimum(free, 20))


def test_a_sum_that_would_never_end_is_refused():
    with pytest.raises(InputError, match=r"^the number of terms of the sum must be at most 10000000; got 690775"):
        KCutoffGeometric(1e-9, math.inf).expect(np.sqrt)


def test_importing_laws_leaves_sympy_and_the_optimiser_alone():
    code = "import sys, fltheory.distributions; print({'sympy', 'scipy.optimize', 'scipy.stats'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"
