"""Successive sampling: one after the other, without replacement, with probability proportional to weight.

Give client i an exponential clock of rate w_i: the order in which the clocks ring is the order of the draws.
So a cohort of S is the S smallest of E_i / w_i, and

    P(i in the cohort) = int_0^inf w_i exp(-w_i t) P(fewer than S of the others rang before t) dt,

a smooth integral of a Poisson-binomial probability.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from fltheory.participation.runs import FloatArray

_NEGLIGIBLE = 1e-16
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(20)


def inclusion_probabilities(weights: FloatArray, cohort_size: int) -> FloatArray:
    """Exact P(client in the cohort) for weights (n_clients,) >= 0, to about 1e-13; they sum to `cohort_size`.

    At least `cohort_size` weights must be positive. Takes O(n_clients cohort_size) for each of some hundred
    nodes.
    """
    able = weights > 0
    probability = able.astype(np.float64)
    if able.sum() > cohort_size:
        probability[able] = _integral(weights[able] / weights.sum(), cohort_size)
    return probability


def _integral(w: FloatArray, cohort_size: int) -> FloatArray:
    """The integral for positive weights of sum 1, by Gauss-Legendre panels in log t."""
    # P(S clocks rang before t) <= t^S / S!, so before `first` nobody is ever too late
    first = (math.log(_NEGLIGIBLE) + math.lgamma(cohort_size + 1)) / cohort_size
    # P(the S fastest clocks have not all rung by t) <= S exp(-w_(S) t): after `last` all others are too late
    fast = np.sort(w)[-cohort_size]
    last = math.log(math.log(cohort_size / _NEGLIGIBLE) / fast)
    total = -np.expm1(-w * math.exp(first))
    panels = math.ceil((last - first) * max(1.0, math.sqrt(cohort_size) / 4))
    edges = np.linspace(first, last, panels + 1)
    for low, high in pairwise(edges):
        t = np.exp((low + high) / 2 + (high - low) / 2 * _NODES)
        density = w[:, None] * t * np.exp(-w[:, None] * t)
        total += density * _in_time(w, t, cohort_size) @ _NODE_WEIGHTS * ((high - low) / 2)
    return np.minimum(total, 1.0)


def _in_time(w: FloatArray, t: FloatArray, cohort_size: int) -> FloatArray:
    """P(fewer than S of the OTHER clients rang before t), shape (n_clients, times).

    The number that rang among the clients before i (its law) and after i (its distribution function) are
    built up from either end: only positive terms, so no digit is lost where removing i from the law of all
    would cancel.
    """
    rang, silent = -np.expm1(-np.outer(w, t)), np.exp(-np.outer(w, t))
    before = np.zeros((len(w), cohort_size, len(t)))
    before[0, 0] = 1
    for i in range(len(w) - 1):
        before[i + 1] = silent[i] * before[i]
        before[i + 1, 1:] += rang[i] * before[i, :-1]
    result = np.empty_like(rang)
    after = np.ones((cohort_size, len(t)))
    for i in reversed(range(len(w))):
        result[i] = (before[i] * after[::-1]).sum(axis=0)
        later = silent[i] * after
        later[1:] += rang[i] * after[:-1]
        after = later
    return result
