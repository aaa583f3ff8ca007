"""Exact tails that the tests need for a million clients, and the correction for having as many."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from analysis.traces.log import Floats, Ints

AT_ONCE = 10**7  # terms of sums held in memory
ROUNDING = 1e-7  # probabilities this close to each other, relatively, count as equal


def fisher_p(found: Ints, population: Ints, marked: Ints, drawn: Ints) -> Floats:
    """Two-sided p-values of hypergeometric counts: the chance of one that is no likelier than the one found.

    `found` marked ones among `drawn` from a `population` of which `marked` are marked; arrays of one length. The cost
    is that of summing over the possible counts, at most min(marked, drawn) + 1 a different case.

    >>> fisher_p(*(np.array([number]) for number in (1, 8, 4, 4))).round(6).tolist()  # as in Fisher's tea tasting
    [0.485714]
    """
    cases, place = np.unique(np.stack([found, population, marked, drawn]), axis=1, return_inverse=True)
    least, most = np.maximum(0, cases[3] - (cases[1] - cases[2])), np.minimum(cases[2], cases[3])
    sizes = most - least + 1
    chunk = np.cumsum(sizes) // AT_ONCE
    p_values = [
        _chunk(cases[:, part], least[part], sizes[part])
        for part in np.split(np.arange(sizes.size), np.flatnonzero(np.diff(chunk)) + 1)
    ]
    return np.asarray(np.concatenate(p_values)[place.reshape(-1)])


def _chunk(cases: Ints, least: Ints, sizes: Ints) -> Floats:
    found, population, marked, drawn = cases
    start = np.cumsum(sizes) - sizes
    case = np.repeat(np.arange(sizes.size), sizes)
    count = np.arange(sizes.sum()) - start[case] + least[case]
    log_p = _choose(marked[case], count) + _choose((population - marked)[case], drawn[case] - count)
    law = np.exp(log_p - _choose(population, drawn)[case])
    counted = law <= (law[start + found - least] * (1 + ROUNDING))[case]
    return np.minimum(np.add.reduceat(np.where(counted, law, 0.0), start), 1.0)


def _choose(n: Ints, k: Ints) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def holm(p_values: Floats) -> Floats:
    """Holm's adjusted p-values (1979): rejecting those up to alpha errs at all with probability at most alpha.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(p_values.size)
    adjusted[order] = np.maximum.accumulate(np.minimum(p_values[order] * np.arange(p_values.size, 0, -1), 1.0))
    return adjusted
