"""Confidence sequences for the mean of bounded observations, from their number, mean and variance alone.

The observations lie in [low, high] and are independent with a common mean (martingale differences around it
will do). With probability at least `level` the intervals for n = 1, 2, 3, ... cover the mean ALL AT ONCE, so
one may look as often as one likes and stop, or go on, for any reason. Both rest on Ville's inequality: a
nonnegative supermartingale that starts at 1 ever reaches 1 / a with probability at most a.

Source: Howard, Ramdas, McAuliffe, Sekhon, Time-uniform, nonparametric, nonasymptotic confidence sequences,
Annals of Statistics 49 (2021), with Fan, Grama, Liu, Electronic Journal of Probability 20 (2015) for (*).
"""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

from fltheory.errors import InputError, count
from fltheory.estimate import Estimate

_TUNED = 100.0  # Hoeffding: any constant is valid; this one is nearly the best around n = 10^4
# Empirical Bernstein: the rates l_j = 2^-j of the mixture and their weights 1 / (j (j + 1)), of total below 1.
_ORDER = np.arange(1, 31)
_RATES = 2.0**-_ORDER
_COSTS = -np.log1p(-_RATES) - _RATES
_LOG_WEIGHTS = -np.log(_ORDER * (_ORDER + 1.0))


def hoeffding(n: int, mean: float, *, low: float, high: float, level: float) -> Estimate:
    """Hoeffding's bound made uniform in time by Robbins' normal mixture (Howard et al., section 3.2).

    With w = high - low and V = n w^2 / 4, exp(l sum(x - mu) - l^2 V / 2) is a supermartingale for every l.
    Averaged over l ~ N(0, 1 / r) and inverted: |sum(x - mu)| < sqrt((V + r) log((V + r) / (r a^2))) for all n
    with probability at least 1 - a = `level`; here r = 100 w^2. Raises InputError for impossible arguments.

    >>> print(hoeffding(10_000, 0.3, low=0, high=1, level=0.95))
    0.3 [0.284492, 0.315508] (0.95, n=10000, Hoeffding, uniform in n)
    """
    n = _checked(n, mean, 0.0, low, high, level)
    spread = n / 4 + _TUNED
    radius = (high - low) * math.sqrt(spread * (math.log(spread / _TUNED) - 2 * math.log1p(-level))) / n
    return _estimate(n, mean, radius, math.nan, low, high, level, "Hoeffding, uniform in n")


def empirical_bernstein(n: int, mean: float, variance: float, *, low: float, high: float, level: float) -> Estimate:
    """Adapts to the observed variance (divisor n), and is far narrower than Hoeffding's when that is small.

    Let y = (x - mu) / (high - low). As y >= -1, for every l in [0, 1) and with c(l) = -log(1 - l) - l,

        exp(l y - c(l) y^2) <= 1 + l y,                                                                   (*)

    so exp(l sum y - c(l) sum y^2) is a supermartingale (Howard et al., Theorem 4, predicting each x by mu
    itself, which keeps the order of the observations out of it), and so is the same with -y. A mu is left out
    when the mixture of these over l = 1/2, 1/4, ..., 2^-30 with weights 1/2, 1/6, 1/12, ... reaches
    2 / (1 - level) on either side, where sum y^2 = n (variance + (mean - mu)^2) / (high - low)^2. For l <= 1/2
    the mixture grows with |mean - mu|, so what is left is an interval around the mean, found by bisection.
    Raises InputError for impossible arguments.

    >>> print(empirical_bernstein(10_000, 0.3, 0.01, low=0, high=1, level=0.95))
    0.3 [0.296344, 0.303656] (0.95, n=10000, empirical Bernstein, uniform in n)
    """
    n = _checked(n, mean, variance, low, high, level)
    width = high - low
    relative = variance / width**2 if width else 0.0
    needed = math.log(2) - math.log1p(-level)
    inside, outside = 0.0, 1.0  # distances from the mean in units of the width; the ends are cut to the range
    while (middle := (inside + outside) / 2) not in (inside, outside):
        log_terms = _LOG_WEIGHTS + n * (_RATES * middle - _COSTS * (relative + middle**2))
        if np.logaddexp.reduce(log_terms) < needed:
            inside = middle
        else:
            outside = middle
    standard_error = math.sqrt(variance / (n - 1)) if n > 1 else math.nan
    method = "empirical Bernstein, uniform in n"
    return _estimate(n, mean, width * outside, standard_error, low, high, level, method)


def checked_level(level: float) -> float:
    """`level` as a float in (0, 1); InputError otherwise."""
    if not (isinstance(level, float | np.floating) and 0 < level < 1):
        raise InputError("level", level, "a number between 0 and 1")
    return float(level)


def _checked(n: int, mean: float, variance: float, low: float, high: float, level: float) -> int:
    checked_level(level)
    for name, value in {"mean": mean, "variance": variance, "low": low, "high": high}.items():
        if not isinstance(value, Real):
            raise InputError(name, value, "a number")
    if not -math.inf < low <= high < math.inf:
        raise InputError("low, high", (low, high), "finite, low not above high")
    if not low <= mean <= high:
        raise InputError("mean", mean, f"in [{low}, {high}]")
    if not 0 <= variance <= (high - low) ** 2 / 4 * (1 + 1e-9):  # Popoviciu's inequality, up to rounding
        raise InputError("variance", variance, "what numbers between low and high can have")
    return count("n", n)


def _estimate(
    n: int,
    mean: float,
    radius: float,
    standard_error: float,
    low: float,
    high: float,
    level: float,
    method: str,
) -> Estimate:
    return Estimate(mean, standard_error, max(mean - radius, low), min(mean + radius, high), level, n, method)
