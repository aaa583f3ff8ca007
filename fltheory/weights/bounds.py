"""Bounds on FedAU's weight error under independent participation (Theorem 3), and Corollary 4's cutoff."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from fltheory import errors
from fltheory.errors import InputError
from fltheory.weights.inputs import FloatArray, probability

SMALLEST = 1e-300
WHICH = ("theorem3", "repaired", "improved")


def weight_error_bound(
    p: npt.ArrayLike, cutoff: float, rounds: int, which: Literal["theorem3", "repaired", "improved"]
) -> float | FloatArray:
    """An upper bound on the average over t < rounds of E[(p w_t - 1)^2], for a client of rate p.

    A float, or an array of the shape of `p`. With K = cutoff, T = rounds, q = 1 - p and S the K-cutoff geometric
    interval of Lemma B.6.1 it is

    theorem3   (3 K + 2 K log T) / T + q^(2K), the last line of (B.6.9): for T >= 2, infinite without a cutoff
    repaired   the average over t of (1 - p)^2 at t = 0 and, for t >= 1, of
               (1 - p)^2 q^t 1{t < K} + p^2 Var[S] / max(floor(t / K), 1) + q^(2K)
    improved   [(1 - p)^2 min(K, 1 / p) + 2 K p^2 Var[S] + p Var[S] (1 + log T)] / T + q^(2K)

    K counts as given even if it exceeds T; it is at most 2**53, or infinite, and p is at least 1e-300. The mean over
    clients of `theorem3` is the bound of Theorem 3.

    Source: FedAU, (B.6.9); the other two are ours, from the exchangeability of the intervals and convexity.
    Raises InputError for bad arguments.

    >>> round(weight_error_bound(0.02, 50, 1000, "theorem3"), 4)
    0.9734
    >>> round(weight_error_bound(0.02, 50, 1000, "improved"), 4)
    0.2432
    """
    rate, K = errors.probabilities("p", p), errors.cutoff("cutoff", cutoff)
    T = errors.count("rounds", rounds, most=2**53)
    if which not in WHICH:
        raise InputError("which", which, f"one of {', '.join(WHICH)}")
    if (rate < SMALLEST).any():
        raise InputError("p", float(rate.min()), f"at least {SMALLEST:g}, for which the bounds are computed")
    with np.errstate(divide="ignore"):  # p = 1
        bias = np.exp(2 * K * np.log1p(-rate))
    if which == "theorem3":
        if T < 2:
            raise InputError("rounds", rounds, "a whole number of at least 2, as in Theorem 3")
        bound = (3 * K + 2 * K * math.log(T)) / T + bias
    elif which == "repaired":
        bound = _repaired(rate, K, T, bias)
    else:
        deviation = _interval_deviation(rate, K)
        early = np.zeros_like(rate)  # stays 0 at p = 1, where no interval varies, also without a cutoff
        np.multiply(2 * K, (rate * deviation) ** 2, out=early, where=deviation > 0)
        first = (1 - rate) ** 2 * np.minimum(K, 1 / rate)
        bound = (first + early + rate * deviation * deviation * (1 + math.log(T))) / T + bias
    return float(bound) if rate.ndim == 0 else np.asarray(bound)


def _repaired(rate: FloatArray, K: float, T: int, bias: FloatArray) -> FloatArray:
    early = int(min(K, T)) - 1  # rounds 1 .. K - 1, in which there may be no interval yet
    with np.errstate(divide="ignore"):  # p = 1
        no_interval = 1 + (1 - rate) * -np.expm1(early * np.log1p(-rate)) / rate if early else 1.0
    # sum over 1 <= t < T of 1 / max(floor(t / K), 1): `early` rounds of 1, then K of 1 / j for j = 1, 2, ...
    whole, rest = divmod(T - 1 - early, int(K)) if K < T else (0, 0)
    harmonic = float(digamma(whole + 1)) + np.euler_gamma
    fewness = early + (K * harmonic if whole else 0) + rest / (whole + 1)
    variance = (rate * _interval_deviation(rate, K)) ** 2
    return np.asarray(((1 - rate) ** 2 * no_interval + variance * fewness + (T - 1) * bias) / T)


def _interval_deviation(rate: FloatArray, K: float) -> FloatArray:
    from fltheory.distributions import KCutoffGeometric

    return np.asarray(KCutoffGeometric(rate, K).std(), dtype=np.float64)


def corollary4_cutoff(p_min: float, rounds: int) -> int:
    """Corollary 4's cutoff, ceil(log_c rounds) with c = 1 / (1 - p_min)^2, or 1 where this formula gives 0.

    It is the least K >= 1 with (1 - p_min)^(2K) <= 1 / rounds, up to the rounding of p_min: a logarithm that is a
    whole number to a few units in the last place counts as that number, whether the rounded p_min lies above or
    below what was meant. For p_min below about log(rounds) / 2**54 it exceeds 2**53, the largest finite cutoff that the
    laws and weights take: they then refuse it, and `math.inf` stands for it. Raises InputError for bad arguments.

    >>> corollary4_cutoff(0.02, 10_000), corollary4_cutoff(0.9, 100), corollary4_cutoff(1, 10)
    (228, 1, 1)
    """
    p, T = probability("p_min", p_min), errors.count("rounds", rounds)
    if p == 1:
        return 1
    log_miss = -math.log1p(-p)
    logarithm = Fraction(math.log(T)) / Fraction(2 * log_miss)  # beyond the floats for the smallest p
    blur = 4 * float(np.finfo(np.float64).eps) * max(1, p / ((1 - p) * log_miss))  # its relative error
    return max(1, math.ceil(logarithm * Fraction(1 - blur)))
