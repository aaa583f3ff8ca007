"""Slow, literal, exact: Algorithm 2 as printed, and laws of its weight by enumeration and in whole numbers."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

Law = dict[Fraction, Fraction]


def algorithm2(history: Sequence[bool], cutoff: float) -> list[Fraction]:
    """Algorithm 2 for one client, line by line: the weights w_0 .. w_{T-1} in exact fractions."""
    completed, open_, weights = 0, 0, [Fraction(1)]
    for t in range(1, len(history)):
        open_ += 1
        if history[t - 1] or open_ == cutoff:
            interval = open_
            weights.append(
                Fraction(interval) if completed == 0 else (completed * weights[-1] + interval) / (completed + 1)
            )
            completed += 1
            open_ = 0
        else:
            weights.append(weights[-1])
    return weights


def histories(rounds: int) -> Iterator[tuple[bool, ...]]:
    return itertools.product((False, True), repeat=rounds)


def chain_probability(history: Sequence[bool], enter: Fraction, leave: Fraction) -> Fraction:
    """Probability of a history under the stationary two-state chain."""
    rate = enter / (enter + leave)
    probability = Fraction(1)
    for t, on in enumerate(history):
        now = rate if t == 0 else (1 - leave if history[t - 1] else enter)
        probability *= now if on else 1 - now
    return probability


def enumerated_laws(enter: Fraction, leave: Fraction, cutoff: float, rounds: int) -> list[Law]:
    """The law of w_t for t < rounds from all 2^rounds histories."""
    laws: list[Law] = [defaultdict(Fraction) for _ in range(rounds)]
    for history in histories(rounds):
        probability = chain_probability(history, enter, leave)
        for law, weight in zip(laws, algorithm2(history, cutoff), strict=True):
            law[weight] += probability
    return laws


def state_laws(enter: Fraction, leave: Fraction, cutoff: float, rounds: int) -> list[Law]:
    """The same by following the states (on or off, completed intervals, open interval) from round to round."""
    rate = enter / (enter + leave)
    states = {(True, 0, 0): rate, (False, 0, 0): 1 - rate}  # of the round before round 0: stationary
    laws: list[Law] = []
    for t in range(rounds):
        law: Law = defaultdict(Fraction)
        following: dict[tuple[bool, int, int], Fraction] = defaultdict(Fraction)
        for (on, completed, open_), mass in states.items():
            law[Fraction(t - open_, completed) if completed else Fraction(1)] += mass
            to_on = 1 - leave if on else enter
            for now, chance in ((True, to_on), (False, 1 - to_on)):
                ends = now or open_ + 1 == cutoff
                following[now, completed + ends, 0 if ends else open_ + 1] += mass * chance
        laws.append(law)
        states = {state: mass for state, mass in following.items() if mass}
    return laws


def moments(laws: Sequence[Law], rate: Fraction) -> np.ndarray:
    """E[w_t], E[w_t^2], E[(rate w_t - 1)^2] of each law, rounded once: shape (3, rounds)."""
    functions = (lambda w: w, lambda w: w * w, lambda w: (rate * w - 1) ** 2)
    return np.array([[float(sum(h(w) * mass for w, mass in law.items())) for law in laws] for h in functions])


def bernoulli_moments(p: Fraction, cutoff: float, rounds: int) -> np.ndarray:
    """The same moments for independent rounds in whole numbers, by the recursion of the generating function

    f_m(u) = q f_m(u-1) + p f_{m-1}(u-1) + q^K f_{m-1}(u-K) - q^K f_{m-1}(u-K-1)

    of f_m(u) = P(m intervals last u rounds), and P(M_t = m, S_t = s) = f_m(t - s) q^s. With p = a / d the
    whole number F_m(u) = f_m(u) d^u stands for f_m(u).
    """
    a, d = p.numerator, p.denominator
    b, T = d - a, rounds
    K = int(min(cutoff, T))
    cut = b**K if cutoff < T else 0
    scale = math.lcm(*range(1, T + 1))
    first, second = [0] * T, [0] * T  # sum over m of F_m(u) scale / m, and of F_m(u) (scale / m)^2
    previous = [1] + [0] * (T - 1)
    for m in range(1, T):
        current = [0] * T
        for u in range(1, T):
            value = b * current[u - 1] + a * previous[u - 1]
            if cut and u >= K:
                value += cut * previous[u - K]
            if cut and u > K:
                value -= cut * d * previous[u - K - 1]
            current[u] = value
            first[u] += value * (scale // m)
            second[u] += value * (scale // m) ** 2
        previous = current
    out = np.empty((3, T))
    for t in range(T):
        none = Fraction(b, d) ** t if t < cutoff else Fraction(0)
        ages = range(min(K, t))
        mean = none + Fraction(sum(b**s * (t - s) * first[t - s] for s in ages), scale * d**t)
        square = none + Fraction(sum(b**s * (t - s) ** 2 * second[t - s] for s in ages), scale**2 * d**t)
        out[:, t] = float(mean), float(square), float(p * p * square - 2 * p * mean + 1)
    return out
