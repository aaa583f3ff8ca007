"""What the proofs of both theorems use: elementary squares, the drift of local steps, drawing m of M clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
from sympy import Rational, exp, symbols

from analysis.checks.certificates import Fact, identity, more_than, nonnegative
from fltheory.papers.fast import M, m, tau

# What the proofs of both theorems are about.
ADMITTED = "that assumptions and conditions admit, whoever is asked in the arbitrary rounds, depending on the past only"
SCHEDULES = f"all clients, parameters and schedules of snapshots {ADMITTED}"
COINS = f"all clients, parameters and probabilities of a snapshot {ADMITTED}"
DRIFT = Rational(1, 8)  # the largest L K eta for which the drift bound is used


def sizes() -> dict[Any, Any]:
    """m >= 1, M >= m, M >= 2."""
    smaller, more = symbols("smaller more", nonnegative=True)
    return {m: 1 + smaller, M: 1 + smaller + more}


def squares() -> Iterator[Fact]:
    """The elementary steps, for vectors: products stand for inner products."""
    a, b, mean, spread, weight = symbols("a b mean spread weight", positive=True)
    yield identity("<g, H> = (|g|^2 + |H|^2 - |g - H|^2)/2", a * b - (a**2 + b**2 - (a - b) ** 2) / 2)
    yield identity(
        "|a + b|^2 <= (1 + t)|a|^2 + (1 + 1/t)|b|^2, short by |t a - b|^2/t; with t = 1 it splits mean and noise",
        (1 + weight) * a**2 + (1 + 1 / weight) * b**2 - (a + b) ** 2 - (weight * a - b) ** 2 / weight,
    )
    total, sum_of_squares = M * mean, M * (spread + mean**2)
    second = (m * sum_of_squares / M + m * (m - 1) * (total**2 - sum_of_squares) / (M * (M - 1))) / m**2
    yield identity("the mean of m of M has second moment |mean|^2 + tau V", second - mean**2 - tau * spread)
    yield nonnegative("tau <= 1", 1 - tau, sizes())


def exponentials() -> Iterator[Fact]:
    """1 + u <= exp(u) and 1 - u <= exp(-u) for u >= 0: what is left is the integral of something nonnegative."""
    u, v = symbols("u v", nonnegative=True)
    for sign, words in ((1, "exp(u) - 1 - u = integral of exp(v) - 1"), (-1, "exp(-u) - 1 + u = that of 1 - exp(-v)")):
        rest = sympy.integrate(sign * (exp(sign * v) - 1), (v, 0, u))
        yield identity(f"{words}, v from 0 to u", exp(sign * u) - 1 - sign * u - rest)


def drift(most: Any, constant: Any = 5) -> Iterator[Fact]:
    """E|x_k - x|^2 <= c K eta^2 (sigma^2 + 6 K (sigma_G^2 + |g|^2)) for every client, k < K, L K eta <= most, c = 5.

    A local step multiplies |x_k - x|^2 by at most 1 + 1/(2K-1) + 6 h^2/K, h = L K eta, and adds eta^2 sigma^2 and
    6 K eta^2 (sigma_G^2 + |g|^2). Its noise has conditional mean 0, and may depend on the state otherwise.
    """
    yield Fact("L K eta <= 1/8", bool(most <= DRIFT))
    steps, x, y, z = (sympy.Dummy(name, positive=True) for name in "Kxyz")
    yield identity("a step takes 1 + 1/(2K-1) and 2K, by |a + b|^2 as above", 1 + (2 * steps - 1) - 2 * steps)
    yield identity(
        "|x + y + z|^2 <= 3(|x|^2 + |y|^2 + |z|^2), short by squares of differences",
        3 * (x**2 + y**2 + z**2) - (x + y + z) ** 2 - (x - y) ** 2 - (x - z) ** 2 - (y - z) ** 2,
    )
    growth = 1 / (2 * steps - 1) + 6 * DRIFT**2 / steps
    yield nonnegative(
        "K - 1 factors 1 + u with that u grow by at most exp(1/2 + 6 h^2)",
        Rational(1, 2) + 6 * DRIFT**2 - (steps - 1) * growth,
        {steps: more_than(1)},
    )
    yield from exponentials()
    yield nonnegative(f"which is at most {constant}", constant - exp(Rational(1, 2) + 6 * DRIFT**2))
