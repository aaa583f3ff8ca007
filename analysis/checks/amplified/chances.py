"""Exact laws of averaged participation weights: second moments of shifted weights, tails by counting.

In a round the weights are a base vector moved on by a random number of places, all places equally likely in the long
run, so that every client has mean weight 1/N. Moving by independent steps gives a stationary Markov chain (any
circulant one), moving to a uniform place gives independent rounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import sympy


def shifts(base: Sequence[Any]) -> list[tuple[Any, ...]]:
    """All places of a base vector of weights."""
    return [tuple(base[(n - k) % len(base)] for n in range(len(base))) for k in range(len(base))]


def correlations(values: Sequence[Any], moves: Sequence[Any], lags: int) -> Iterator[Any]:
    """E[z_0 z_k] for k = 0, 1, ..., where z is `values` at the chain's place, which starts uniform.

    moves   probabilities of moving on by 0, 1, ..., N - 1 places
    """
    n, ahead = len(values), list(values)
    for _ in range(lags):
        yield sum(a * b for a, b in zip(values, ahead, strict=True)) / n
        ahead = [sum(p * ahead[(i + k) % n] for k, p in enumerate(moves)) for i in range(n)]


def mean_square_of_average(lagged: Sequence[Any]) -> Any:
    """E of the square of the average over P rounds, from E[z_0 z_k] for k < P."""
    length = len(lagged)
    total = length * lagged[0] + 2 * sum((length - k) * value for k, value in enumerate(lagged) if k)
    return total / (length * length)


def normalised(values: Sequence[Any]) -> list[Any]:
    """Nonnegative numbers divided by their sum; uniform if all are zero."""
    total = sum(values)
    if total == 0:
        return [1.0 / len(values) if isinstance(total, float) else Fraction(1, len(values))] * len(values)
    return [value / total if isinstance(total, float) else Fraction(value) / total for value in values]


def counts_of(places: int, rounds: int) -> Iterator[tuple[int, ...]]:
    """All ways in which `rounds` rounds can fall on `places` places."""
    if places == 1:
        yield (rounds,)
        return
    for first in range(rounds + 1):
        for rest in counts_of(places - 1, rounds - first):
            yield (first, *rest)


def exceeds(values: Sequence[Any], rounds: int, level: Any) -> Any:
    """Pr{(average of `rounds` independent uniform picks of `values`)^2 > level}, by counting."""
    n, limit = len(values), cut(level)
    if isinstance(limit, float):
        limit += 1e-24  # what rounding leaves of an average that is zero
    ways = 0
    for counts in counts_of(n, rounds):
        total = sum(count * value for count, value in zip(counts, values, strict=True))
        if total * total > limit * rounds * rounds:
            ways += math.factorial(rounds) // math.prod(math.factorial(count) for count in counts)
    share = Fraction(ways, n**rounds)
    return float(share) if isinstance(limit, float) else share


def coin_exceeds(chance: Any, width: Any, rounds: int, level: Any) -> Any:
    """Pr{width^2 (B/rounds - chance)^2 > level} for B ~ Bin(rounds, chance)."""
    limit = cut(level)
    return sum(
        math.comb(rounds, b) * chance**b * (1 - chance) ** (rounds - b)
        for b in range(rounds + 1)
        if (width * (b - rounds * chance)) ** 2 > limit * rounds * rounds
    )


def average_exceeds(rounds: int, intervals: int, level: Any) -> Any:
    """Pr{mean over intervals of (mean of `rounds` fair signs)^2 > level}."""
    limit = cut(level)
    one: dict[int, int] = {}
    for heads in range(rounds + 1):
        square = (2 * heads - rounds) ** 2
        one[square] = one.get(square, 0) + math.comb(rounds, heads)
    law = {0: 1}
    for _ in range(intervals):
        after: dict[int, int] = {}
        for (a, p), (b, q) in itertools.product(law.items(), one.items()):
            after[a + b] = after.get(a + b, 0) + p * q
        law = after
    ways = sum(number for square, number in law.items() if square > limit * intervals * rounds * rounds)
    share = Fraction(ways, 2 ** (rounds * intervals))
    return float(share) if isinstance(limit, float) else share


def cut(level: Any) -> Any:
    """A level that rationals are compared with: itself, or to 40 digits where it is an irrational number."""
    return Fraction(str(sympy.N(level, 40))) if isinstance(level, sympy.Basic) else level
