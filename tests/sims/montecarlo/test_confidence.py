"""The confidence sequences: exact probabilities of ever missing the mean, and what an interval must do.

Only `test_simulated_coverage` draws at random: its false-alarm rate is below 1e-9, its seed fixed.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats

from fltheory.errors import InputError
from fltheory.estimate import Estimate
from sims.montecarlo import empirical_bernstein, hoeffding

LEVEL = 0.9
Interval = Callable[[int, float, float], Estimate]


def by_hoeffding(n: int, mean: float, variance: float) -> Estimate:
    return hoeffding(n, mean, low=0, high=1, level=LEVEL)


def by_bernstein(n: int, mean: float, variance: float) -> Estimate:
    return empirical_bernstein(n, mean, variance, low=0, high=1, level=LEVEL)


def ever_missed(interval: Interval, values: list[float], law: list[float], most: int, shrink: float = 1) -> float:
    """P(the interval, its width multiplied by `shrink`, misses the mean for some n <= most), by enumeration.

    How often each value has been seen is a Markov chain; its paths end where the mean is missed.
    """
    truth = float(np.dot(values, law))
    paths, missed = {(0,) * len(values): 1.0}, 0.0
    for n in range(1, most + 1):
        reached: dict[tuple[int, ...], float] = {}
        for counts, probability in paths.items():
            for i, chance in enumerate(law):
                after = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
                reached[after] = reached.get(after, 0) + probability * chance
        paths = {}
        for counts, probability in reached.items():
            mean = float(np.dot(counts, values)) / n
            variance = sum(c * (v - mean) ** 2 for c, v in zip(counts, values, strict=True)) / n
            estimate = interval(n, min(max(mean, 0), 1), variance)
            half = shrink * max(estimate.high - estimate.value, estimate.value - estimate.low)
            if abs(truth - mean) > half + 1e-12:
                missed += probability
            else:
                paths[counts] = probability
    return missed


@pytest.mark.parametrize("interval", [by_hoeffding, by_bernstein])
@pytest.mark.parametrize("p", [0.5, 0.1, 0.97])
def test_two_values_enumerated(interval, p):
    assert ever_missed(interval, [0, 1], [1 - p, p], most=80) <= 1 - LEVEL


@pytest.mark.parametrize("interval", [by_hoeffding, by_bernstein])
def test_three_values_enumerated(interval):
    assert ever_missed(interval, [0, 0.2, 1], [0.3, 0.6, 0.1], most=20) <= 1 - LEVEL


@pytest.mark.parametrize(("interval", "most"), [(by_hoeffding, 300), (by_bernstein, 80)])
def test_half_the_width_is_too_little(interval, most):
    assert ever_missed(interval, [0, 1], [0.5, 0.5], most, shrink=0.5) > 1 - LEVEL


def simulated_misses(shrink: float, sequences: int = 400) -> int:
    rng = np.random.default_rng(2021)
    a, b = 0.3, 3.0
    misses = 0
    for _ in range(sequences):
        x = rng.beta(a, b, size=2048)
        for n in (16, 64, 256, 512, 1024, 1536, 2048):  # one may look whenever one likes
            estimate = by_bernstein(n, float(x[:n].mean()), float(x[:n].var()))
            if abs(estimate.value - a / (a + b)) > shrink * (estimate.high - estimate.value):
                misses += 1
                break
    return misses


def test_simulated_coverage():
    assert simulated_misses(1) <= stats.binom.isf(1e-9, 400, 1 - LEVEL)


def test_simulated_coverage_is_lost_with_a_third_of_the_width():
    assert simulated_misses(1 / 3) > stats.binom.isf(1e-9, 400, 1 - LEVEL)


def test_the_inequality_behind_it():
    y, rate = np.linspace(-1, 30, 4001), 2.0 ** -np.arange(1, 31)[:, None]
    cost = -np.log1p(-rate) - rate
    assert (rate * y - cost * y**2 <= np.log1p(rate * y) + 1e-15).all()
    assert not (rate * y - 0.9 * cost * y**2 <= np.log1p(rate * y) + 1e-15).all()


def test_what_is_left_out_is_what_the_mixture_rejects():
    """The ends, against the supermartingale evaluated on the observations one by one."""
    x, low, high, level = np.random.default_rng(5).beta(2, 8, size=300) * 6 - 1, -1.0, 5.0, 0.99

    def mixture(mu: float, sign: int) -> float:
        y = sign * (x - mu) / (high - low)
        rates = [2.0**-j for j in range(1, 31)]
        terms = [np.prod(np.exp(r * y - (-math.log1p(-r) - r) * y**2)) for r in rates]
        return float(sum(term / (j * (j + 1)) for j, term in enumerate(terms, start=1)))

    found = empirical_bernstein(300, float(x.mean()), float(x.var()), low=low, high=high, level=level)
    assert low < found.low < found.high < high
    for end, sign in ((found.low, 1), (found.high, -1)):
        outwards = -sign * 1e-7
        assert mixture(end + outwards, sign) > 2 / (1 - level) > mixture(end - outwards, sign)


def test_hoeffding_is_the_normal_mixture():
    """At its ends the mixture of exp(l s - l^2 v / 2) over l ~ N(0, 1 / r) is 1 / a, by numerical integration."""
    n, level = 1000, 0.99
    found = hoeffding(n, 4.0, low=1, high=9, level=level)
    s, v, r = n * (found.high - 4) / 8, n / 4, 100.0  # in units of the width, 8

    def integrand(rate: float) -> float:
        return math.exp(rate * s - rate**2 * (v + r) / 2) * math.sqrt(r / (2 * math.pi))

    mixture, _ = integrate.quad(integrand, -1, 1, points=[s / (v + r)], epsabs=0, epsrel=1e-10)
    assert mixture == pytest.approx(1 / (1 - level), rel=1e-8)
    assert found.high - 4 == pytest.approx(4 - found.low)


def test_shift_and_scale():
    plain = empirical_bernstein(500, 0.3, 0.02, low=0, high=1, level=0.95)
    moved = empirical_bernstein(500, 2 + 7 * 0.3, 49 * 0.02, low=2, high=9, level=0.95)
    assert (moved.low, moved.high) == pytest.approx((2 + 7 * plain.low, 2 + 7 * plain.high), rel=1e-12)
    plain, moved = (
        hoeffding(500, mean, low=low, high=high, level=0.95) for mean, low, high in ((0.3, 0, 1), (4.1, 2, 9))
    )
    assert (moved.low, moved.high) == pytest.approx((2 + 7 * plain.low, 2 + 7 * plain.high), rel=1e-12)


def test_small_variance_is_rewarded_and_no_more_than_the_range_is_given():
    n = 10**5
    assert (by_bernstein(n, 0.3, 1e-4).high - 0.3) < 0.1 * (by_hoeffding(n, 0.3, 0).high - 0.3)
    for interval, n in itertools.product((by_hoeffding, by_bernstein), (1, 2, 3)):
        estimate = interval(n, 0.1, 0.0)
        assert (estimate.low, estimate.high) == (0, 1)
        assert estimate.n == n
    assert by_bernstein(101, 0.5, 0.04).standard_error == pytest.approx(0.02)
    assert math.isnan(by_bernstein(1, 0.5, 0.0).standard_error)


def test_a_range_of_one_point():
    estimate = empirical_bernstein(10, 0.0, 0.0, low=0, high=0, level=0.999)
    assert (estimate.low, estimate.high) == (0, 0)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"level": 1.0}, "level must be a number between 0 and 1; got 1.0"),
        ({"level": math.nan}, "level must be a number between 0 and 1; got nan"),
        ({"level": True}, "level must be a number between 0 and 1; got True"),
        ({"n": 0}, "n must be a whole number of at least 1; got 0"),
        ({"mean": "a"}, "mean must be a number; got 'a'"),
        ({"high": None}, "high must be a number; got None"),
        ({"mean": 1.5}, r"mean must be in \[0, 1\]; got 1.5"),
        ({"mean": math.nan}, r"mean must be in \[0, 1\]; got nan"),
        ({"variance": -0.1}, "variance must be what numbers between low and high can have; got -0.1"),
        ({"variance": 0.26}, "variance must be what numbers between low and high can have; got 0.26"),
        ({"high": math.inf}, r"low, high must be finite, low not above high; got \(0, inf\)"),
    ],
)
def test_bad_input(changed, sentence):
    good = {"n": 10, "mean": 0.5, "variance": 0.1, "low": 0, "high": 1, "level": 0.9}
    with pytest.raises(InputError, match=f"^{sentence}$"):
        empirical_bernstein(**{**good, **changed})
    if "variance" not in changed:
        good.pop("variance")
        with pytest.raises(InputError, match=f"^{sentence}$"):
            hoeffding(**{**good, **changed})
