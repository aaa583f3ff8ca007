"""The slow reference of the exact law: summed interval by interval, every term of it not negative."""

from __future__ import annotations

import numpy as np

from fltheory.weights.inputs import FloatArray
from fltheory.weights.renewal import Chain, fading_sum, intervals


def weight_moments_by_interval(chain: Chain, cutoff: float, rounds: int) -> FloatArray:
    """E[w_t], E[w_t^2] and E[(rate w_t - 1)^2] for t < rounds: shape (3, rounds)."""
    elapsed = np.arange(rounds, dtype=np.float64)
    # rate u - m, in the form that loses no digits: near rate 1 both u - m and (1 - rate) u are small
    if chain.rate < 0.5:
        ahead, behind = chain.rate * elapsed, np.zeros(rounds)
    else:
        ahead, behind = elapsed, chain.miss * elapsed
    sums = np.zeros((4, 2, rounds))  # over m of 1, 1 / m, 1 / m^2, ((rate u - m) / m)^2
    start = np.zeros((2, 1))
    for m, first, mass in intervals(chain, cutoff, rounds):
        if m == 0:
            start = mass
            continue
        band = slice(first, first + mass.shape[1])
        deviation = ahead[band] - m
        deviation -= behind[band]
        deviation *= deviation
        sums[0, :, band] += mass
        share = mass / m
        sums[1, :, band] += share
        share /= m
        sums[2, :, band] += share
        share *= deviation
        sums[3, :, band] += share
    sums[1] *= elapsed
    sums[2] *= elapsed * elapsed
    sums[:, :, :1] = np.multiply.outer([1, 1, 1, chain.miss**2], start)  # no interval yet: the weight is 1
    longest = chain.absence(cutoff, rounds)
    total, *moments = sums[:, 0]
    for values, missed in zip((total, *moments), sums[:, 1], strict=True):
        values[1:] += fading_sum(missed, chain, longest, rounds - 1)
    # The total is 1 but for rounding, which has the same sign in every interval and would grow with t.
    return np.stack([values / total for values in moments])
