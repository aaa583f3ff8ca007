"""How far a mean of independent observations in [0, 1] may be from its expectation: Bernstein's inequality.

P(|mean of n - mu| >= e) <= 2 exp(-n e^2 / (2 v + 2 e / 3)) for variance at most v. Every comparison below uses the e
that makes the right-hand side FALSE_ALARM; the generic tests make fewer than 10,000 of them, so that all together
raise a false alarm with probability below 1e-3 for a freely chosen seed. The seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np

FALSE_ALARM = 1e-7


def bernstein(variance: np.ndarray, n: int) -> np.ndarray:
    third = math.log(2 / FALSE_ALARM) / 3
    return (third + np.sqrt(third**2 + 6 * n * third * variance)) / n


def assert_mean(observed: np.ndarray, expected: np.ndarray, n: int, variance: np.ndarray | None = None) -> None:
    """`observed` is a mean of n observations in [0, 1], of variance at most expected (1 - expected) or `variance`."""
    expected = np.asarray(expected, dtype=float)
    if variance is None:
        variance = expected * (1 - expected)
    allowed = bernstein(np.maximum(variance, 0), n)
    assert (np.abs(observed - expected) <= allowed).all(), (observed, expected, allowed)
