"""Estimating p from intervals cut off at K: maximum likelihood, and an interval of guaranteed coverage."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betainccinv, betaincinv

from fltheory.distributions.arguments import whole_numbers
from fltheory.errors import InputError, cutoff, probabilities
from fltheory.estimate import Estimate

CONVOLVED = 2**17  # n K up to which the law of the total is computed by FFT (up to a second)
FFT_ERROR = 1e-9  # far above the rounding of that computation; added to its tails, so that they are bounds


def fit(intervals: npt.ArrayLike, K: float, level: float = 0.95) -> Estimate:
    """Estimate p from independent intervals of `KCutoffGeometric(p, K)`.

    The estimate is d / (d + f): d intervals shorter than K, f = sum (x - 1) rounds without participation (an
    interval of K is K - 1 such rounds and an unknown one). Its standard error is that of the observed Fisher
    information, NaN where the estimate is 0 or 1.

    The interval inverts two tests of size (1 - level) / 2 on the total score T = sum s(x), where s(x) = x and
    an interval of K scores 2K: near its expected uncut length K - 1 + 1/p where the cutoff matters, p ~ 1/K.
    T decreases stochastically in p, so p is kept while P(T <= t) and P(T >= t) both exceed (1 - level) / 2;
    any upper bounds of these tails keep the coverage. They are exact (negative binomial) while t < K + n - 1,
    for then T <= t happens exactly if n geometric intervals sum to at most t; exact by convolution for
    n K <= 2**17; and Chernoff's bounds beyond. The interval is extended to the estimate where it misses it.
    The guarantee is for a number of intervals fixed in advance: in a log of fixed length the long intervals
    are the ones that are missing.

    Parameters
    ----------
    intervals : whole numbers from 1 to K; array-like, flattened, not empty.
    K : the cutoff, at least 2, may be math.inf. level : coverage, in (0, 1).

    Raises `InputError` for anything else.
    """
    cut, x, size = float(cutoff("K", K)), whole_numbers("intervals", intervals).ravel(), _test_size(level)
    if cut == 1:
        raise InputError("K", K, "at least 2 (cut off at 1, every interval is 1 whatever p)")
    if x.size == 0 or x.max() > cut:
        raise InputError("intervals", intervals, f"at least one interval, none longer than the cutoff {K}")
    finished, failures = int((x < cut).sum()), float((x - 1).sum())
    seen = finished + failures
    rate = finished / seen
    low, high, tails = _interval(x.size, cut, float(np.where(x < cut, x, 2 * cut).sum()), size)
    return Estimate(
        value=rate,
        standard_error=math.sqrt(rate * (1 - rate) / seen) if 0 < rate < 1 else math.nan,
        low=min(low, rate),
        high=max(high, rate),
        level=float(level),
        n=x.size,
        method=f"maximum likelihood; {tails}",
    )


def _test_size(level: float) -> float:
    try:
        value = probabilities("level", level)
    except InputError:
        value = np.ones(())
    if value.ndim > 0 or value == 1:
        raise InputError("level", level, "a number in (0, 1)")
    return (1 - float(value)) / 2


def _interval(n: int, cut: float, total: float, size: float) -> tuple[float, float, str]:
    if total < cut + n - 1:
        high = 1.0 if total == n else float(betainccinv(n, total - n, size))
        return float(betaincinv(n, total - n + 1, size)), high, "exact tails"
    convolved = n * cut <= CONVOLVED and size > 1e3 * FFT_ERROR
    log_tail = _convolution(n, int(cut), int(total)) if convolved else _chernoff(n, cut, total)
    low = 0.0 if total == 2 * n * cut else _root(lambda p: log_tail(p, -1) - math.log(size))
    high = _root(lambda p: log_tail(p, 1) - math.log(size))
    # What the root finder leaves open goes to the interval.
    return low * (1 - 1e-9), min(high * (1 + 1e-9), 1.0), "exact tails" if convolved else "Chernoff bounds"


def _root(f: Callable[[float], float]) -> float:
    """Return the root of f in (0, 1), to relative precision."""
    smallest, largest = math.log(1e-300), -(2.0**-53)
    return math.exp(brentq(lambda x: f(math.exp(x)), smallest, largest, xtol=1e-12))


def _convolution(n: int, cut: int, total: int) -> Callable[[float, int], float]:
    """Return the function (p, side) of log P(T <= total) for side -1, log P(T >= total) for side 1."""
    length = next_fast_len(2 * n * cut + 1, real=True)
    score = np.zeros(2 * cut + 1)

    def log_tail(p: float, side: int) -> float:
        score[1:cut] = p * np.exp(np.arange(cut - 1) * math.log1p(-p))
        score[2 * cut] = math.exp((cut - 1) * math.log1p(-p))
        law = irfft(rfft(score, length) ** n, length)
        return math.log(max(float((law[total:] if side > 0 else law[: total + 1]).sum()), 0.0) + FFT_ERROR)

    return log_tail


def _chernoff(n: int, cut: float, total: float) -> Callable[[float, int], float]:
    """Return upper bounds of the same: min over u > 0 of log E[e^(side u (T - total))]."""

    def log_tail(p: float, side: int) -> float:
        stay = math.log1p(-p)

        def exponent(log_u: float) -> float:
            tilt = side * math.exp(log_u)
            finished = math.log(p) + tilt + _log_geometric_sum(stay + tilt, cut - 1)
            unfinished = (cut - 1) * stay + 2 * cut * tilt
            return n * float(np.logaddexp(finished, unfinished)) - tilt * total

        # Any u gives a bound. The best is at least about 1 / deviation of T, and at most a few units.
        best = minimize_scalar(exponent, bounds=(-math.log(10 * cut * math.sqrt(n)), math.log(50)), method="bounded")
        return min(float(best.fun), 0.0)

    return log_tail


def _log_geometric_sum(a: float, m: float) -> float:
    """Log of the sum of e^(a j) over 0 <= j < m."""
    if a == 0:
        return math.log(m)
    return max(a, 0.0) * (m - 1) + math.log(math.expm1(-abs(a) * m) / math.expm1(-abs(a)))
