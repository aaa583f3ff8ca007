"""Means of traces against exact values, within Bernstein's inequality (`fltheory.testing.tolerance`)."""

from __future__ import annotations

import numpy as np

from fltheory.testing.tolerance import bernstein


def assert_mean(observed: np.ndarray, expected: np.ndarray, n: int, variance: np.ndarray | None = None) -> None:
    """`observed` is a mean of n observations in [0, 1], of variance at most expected (1 - expected) or `variance`."""
    expected = np.asarray(expected, dtype=float)
    if variance is None:
        variance = expected * (1 - expected)
    allowed = bernstein(np.maximum(variance, 0), n)
    assert (np.abs(observed - expected) <= allowed).all(), (observed, expected, allowed)
