"""Algorithm 1 (with the accumulator reset) on F_n(x) = h x^2/2 + a_n x: E||grad f(x_t)||^2 in every round.

First and second moments follow a scalar recursion, noise included. It takes floats and Fractions; step sizes that
are irrational numbers are enclosed in intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy
from mpmath import libmp  # type: ignore[import-untyped]
from mpmath.ctx_iv import MPIntervalContext  # type: ignore[import-untyped]

from analysis.checks.amplified.weighting import Row

DIGITS, ENOUGH = 60, 30  # of the intervals, and of a result
iv = MPIntervalContext()
iv.dps = DIGITS


def quadratic_run(
    curvature: Any,
    slopes: Sequence[Any],
    start: Any,
    variance: Any,
    lr: Any,
    amplification: Any,
    steps: int,
    interval: int,
    weights: Sequence[Row],
    scatter: Any = 0,
) -> list[Any]:
    """E||grad f(x_t)||^2 for t = 0, ..., T - 1, with T rows of weights; the slopes sum to zero.

    scatter   variance of a round's weighted slope about its mean, for weights drawn independently in every round
    """
    keep = 1 - lr * curvature
    powers = [keep**j for j in range(steps + 1)]
    shrink, pull = powers[steps], lr * sum(powers[:steps])
    noise = lr * lr * variance * sum(power * power for power in powers[:steps])
    mean, spread = start, 0 * start
    found = []
    for first in range(0, len(weights), interval):
        rows = weights[first : first + interval]
        # Within an interval x = kept x_0 + offset + noise of variance `added`.
        kept, offset, added = 1 + 0 * start, 0 * start, 0 * start
        for row in rows:
            now = kept * mean + offset
            found.append(curvature * curvature * (now * now + kept * kept * spread + added))
            offset = shrink * offset - pull * sum(q * a for q, a in zip(row, slopes, strict=True))
            added = shrink * shrink * added + noise * sum(q * q for q in row) + pull * pull * scatter
            kept = shrink * kept
        if len(rows) == interval:
            factor = 1 + amplification * (kept - 1)
            mean = factor * mean + amplification * offset
            spread = factor * factor * spread + amplification * amplification * added
    return found


def least_error(
    curvature: Any,
    slopes: Sequence[Any],
    start: Any,
    variance: Any,
    lr: Any,
    amplification: Any,
    steps: int,
    interval: int,
    weights: Sequence[Row],
    scatter: Any = 0,
) -> Any:
    """The smallest error of `quadratic_run`; with irrational numbers a rational just below it."""
    parts = (curvature, slopes, start, variance, lr, amplification, weights, scatter)
    if not any(isinstance(part, sympy.Basic) for part in (lr, amplification, *weights[0], scatter)):
        return min(
            quadratic_run(curvature, slopes, start, variance, lr, amplification, steps, interval, weights, scatter)
        )
    h, a, x, v, small, large, rows, more = map(_enclosed, parts)
    return min(map(_below, quadratic_run(h, a, x, v, small, large, steps, interval, rows, more)))


def _below(enclosure: Any) -> Fraction:
    """A short number at most the lower end of an interval."""
    numerator, denominator = libmp.to_rational(enclosure._mpi_[0])
    return Fraction(numerator * 10**ENOUGH // denominator, 10**ENOUGH)


def _enclosed(value: Any) -> Any:
    """An interval around a number, or around each number of a sequence."""
    if isinstance(value, list | tuple):
        return [_enclosed(part) for part in value]
    if isinstance(value, sympy.Basic):
        near = sympy.N(value, DIGITS)
        return iv.mpf(str(near)) * iv.mpf([1 - iv.mpf(10) ** (4 - DIGITS), 1 + iv.mpf(10) ** (4 - DIGITS)])
    exact = Fraction(value)
    return iv.mpf(exact.numerator) / iv.mpf(exact.denominator)
