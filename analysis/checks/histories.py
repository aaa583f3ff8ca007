"""Participation histories read literally: the slow, exact side that claims about weights are held against.

Nothing here uses `fltheory.weights`: intervals are cut by hand and probabilities are rationals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

State = tuple[int, int]  # completed intervals M, open interval S


def all_histories(rounds: int) -> Iterator[tuple[bool, ...]]:
    """Every participation history of one client."""
    return product((False, True), repeat=rounds)


def cut(history: Sequence[bool], cutoff: float) -> tuple[list[int], int]:
    """The completed intervals and the length of the open one, ending an interval at a participation or at K."""
    done: list[int] = []
    open_length = 0
    for participated in history:
        open_length += 1
        if participated or open_length == cutoff:
            done.append(open_length)
            open_length = 0
    return done, open_length


def states(p: Fraction, cutoff: float, rounds: int) -> Iterator[dict[State, Fraction]]:
    """For t = 0..rounds: the exact law of (M_t, S_t) under Bernoulli(p), by stepping Algorithm 2 itself."""
    law: dict[State, Fraction] = {(0, 0): Fraction(1)}
    yield law
    for _ in range(rounds):
        following: dict[State, Fraction] = {}
        for (m, s), mass in law.items():
            ends = (m + 1, 0)
            misses = ends if s + 1 == cutoff else (m, s + 1)
            following[ends] = following.get(ends, Fraction(0)) + p * mass
            following[misses] = following.get(misses, Fraction(0)) + (1 - p) * mass
        law = following
        yield law


def weight(t: int, state: State) -> Fraction:
    """The weight of round t in a state: mean of the completed intervals, 1 without any."""
    m, s = state
    return Fraction(t - s, m) if m else Fraction(1)


def first_passages(p: Fraction, cutoff: float, rounds: int) -> list[list[Fraction]]:
    """f[m][u] = P(m cut-off intervals end exactly at time u), by convolving the law of one interval."""
    longest = rounds if cutoff == float("inf") else min(int(cutoff), rounds)
    one = [Fraction(0)] * (rounds + 1)
    for k in range(1, longest + 1):
        one[k] = (1 - p) ** (k - 1) * (1 if k == cutoff else p)
    f = [[Fraction(int(u == 0)) for u in range(rounds + 1)]]
    for _ in range(rounds):
        last = f[-1]
        f.append([sum((last[u - k] * one[k] for k in range(1, u + 1)), Fraction(0)) for u in range(rounds + 1)])
    return f


def completion_rate(enter: Fraction, leave: Fraction, cutoff: int) -> Fraction:
    """Completed intervals a round, in the long run, of the two-state chain: the stationary law solved exactly.

    States are (on, 0) and (off, S) for S < K, S rounds into the open interval; an interval completes when the
    chain turns on or when S reaches K.
    """
    # Off-visits started by a cut-off (S = 0) or by leaving: x[S] = stationary mass of (off, S).
    # With on = 1 (unnormalised): x[1] gains leave * on, x[S+1] = (1-enter) x[S], x[0] = mass that reaches K.
    stay = 1 - enter
    if cutoff == 1:
        # every round completes one interval
        return Fraction(1)
    # x[S] = stay^(S-1) (leave + stay x0) for S >= 1, and x0 = stay x[K-1].
    x0 = stay ** (cutoff - 1) * leave / (1 - stay**cutoff)
    off = [x0] + [stay ** (s - 1) * (leave + stay * x0) for s in range(1, cutoff)]
    mass = 1 + sum(off)
    completed = (1 - leave) + enter * sum(off) + stay * off[-1]
    return completed / mass
