"""The bounds against their formulas term by term, against the exact error, and where they are attained."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.weights import corollary4_cutoff, exact_weight_law, weight_error_bound

RATES = (1e-6, 1e-3, 0.02, 0.1, 0.5, 0.9, 1 - 1e-9, 1.0)
CUTOFFS = (1, 2, 5, 50, 400, math.inf)
ROUNDS = (2, 3, 10, 100, 301)


def interval_variance(p: float, cutoff: float) -> Fraction:
    """Var[S] from the law itself, in fractions (geometric without a cutoff)."""
    rate = Fraction(p)
    if cutoff == math.inf:
        return (1 - rate) / rate**2
    masses = [rate * (1 - rate) ** (k - 1) for k in range(1, int(cutoff))] + [(1 - rate) ** (int(cutoff) - 1)]
    mean = sum(k * mass for k, mass in enumerate(masses, start=1))
    return sum(k * k * mass for k, mass in enumerate(masses, start=1)) - mean**2


def literal(p: float, K: float, T: int, which: str) -> float:
    """The bound as the docstring states it, round by round."""
    variance = float(interval_variance(p, K))
    bias = (1 - p) ** (2 * K)
    if which == "theorem3":
        return (3 * K + 2 * K * math.log(T)) / T + bias
    if which == "repaired":
        rounds = [(1 - p) ** 2] + [
            (1 - p) ** 2 * (1 - p) ** t * (t < K) + p**2 * variance / max(t // K, 1) + bias for t in range(1, T)
        ]
        return math.fsum(rounds) / T
    early = 2 * K * p**2 * variance if variance else 0.0
    return ((1 - p) ** 2 * min(K, 1 / p) + early + p * variance * (1 + math.log(T))) / T + bias


@pytest.mark.parametrize("which", ["theorem3", "repaired", "improved"])
@pytest.mark.parametrize("cutoff", [1, 2, 7, 50, math.inf])
def test_formulas(which: str, cutoff: float) -> None:
    for p, rounds in itertools.product((1e-3, 0.02, 0.3, 0.9, 1.0), (2, 3, 7, 8, 50, 99, 100)):
        bound = weight_error_bound(p, cutoff, rounds, which)
        assert bound == pytest.approx(literal(p, cutoff, rounds, which), rel=1e-12)


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize("p", RATES)
def test_bounds_hold(p: float, cutoff: float) -> None:
    error = exact_weight_law(p, cutoff, max(ROUNDS)).error
    for rounds in ROUNDS:
        average = error[:rounds].mean() * (1 - 1e-12)  # the accuracy of the exact law
        for which in ("theorem3", "repaired", "improved"):
            assert average <= weight_error_bound(p, cutoff, rounds, which)


def test_where_they_are_attained() -> None:
    for p, rounds in itertools.product((0.02, 0.5), (2, 50)):  # K = 1: the weight is 1, the error (1 - p)^2
        assert weight_error_bound(p, 1, rounds, "repaired") == pytest.approx((1 - p) ** 2, rel=1e-14)
    ratio = (1 - 1e-6) ** 2 / weight_error_bound(1e-6, 1, 300, "theorem3")
    assert ratio == pytest.approx(0.954, abs=5e-4)
    two_rounds = (1 - 1e-9) ** 2 / weight_error_bound(1e-9, 1, 2, "theorem3")
    assert two_rounds == pytest.approx(0.3132, abs=5e-5)


def test_ordering() -> None:
    """The improved bound loses the factor K before log T; without a cutoff Theorem 3 says nothing."""
    for p, cutoff in ((0.02, 50), (0.1, 44), (0.02, 228)):
        for rounds in (1_000, 10_000):
            assert weight_error_bound(p, cutoff, rounds, "improved") < weight_error_bound(p, cutoff, rounds, "theorem3")
    assert weight_error_bound(0.1, math.inf, 1000, "theorem3") == math.inf
    assert weight_error_bound(0.1, 2_000, 1000, "theorem3") > 2 * 1000 * math.log(1000) / 1000  # K is not cut to T


def test_arrays_give_arrays() -> None:
    rates = np.array([[0.02, 0.5], [0.1, 1.0]])
    for which in ("theorem3", "repaired", "improved"):
        bounds = weight_error_bound(rates, 5, 100, which)
        assert isinstance(bounds, np.ndarray)
        assert bounds.tolist() == [[weight_error_bound(p, 5, 100, which) for p in row] for row in rates]
        assert isinstance(weight_error_bound(0.5, 5, 100, which), float)


def test_tiny_rates_and_huge_numbers() -> None:
    for p, cutoff, rounds in itertools.product((1e-300, 1e-12), (50, 10**9), (2, 10**9)):
        for which in ("theorem3", "repaired", "improved"):
            assert 0 < weight_error_bound(p, cutoff, rounds, which) < math.inf
    assert weight_error_bound(1e-12, 50, 10**9, "repaired") == pytest.approx(1 + 49e-9, rel=1e-9)


def least_cutoff(p: Fraction, rounds: int) -> int:
    """The least K >= 1 with (1 - p)^(2K) <= 1 / rounds, in fractions."""
    return next(K for K in itertools.count(1) if (1 - p) ** (2 * K) * rounds <= 1)


def test_corollary4_cutoff() -> None:
    for p, rounds in itertools.product((0.02, 0.05, 0.1, 0.3, 0.5, 0.9, 0.99), (1, 2, 3, 10, 99, 1000, 10**6)):
        assert corollary4_cutoff(p, rounds) == least_cutoff(Fraction(p), rounds)


def test_corollary4_cutoff_at_whole_logarithms() -> None:
    """Where rounds = c^K exactly, rounding up one ulp too much would give K + 1."""
    for digits in range(1, 8):
        assert corollary4_cutoff(1 - 2.0**-digits, 2 ** (6 * digits)) == 3
        assert corollary4_cutoff(1 - 10.0**-digits, 10 ** (2 * digits)) == 1
        assert corollary4_cutoff(0.9, 10 ** (2 * digits)) == digits
    for digits in range(1, 7):  # one round more is beyond the rounding of p
        assert corollary4_cutoff(1 - 2.0**-digits, 2 ** (6 * digits) + 1) == 4


def test_corollary4_cutoff_at_the_ends() -> None:
    assert corollary4_cutoff(1.0, 10**9) == 1
    assert corollary4_cutoff(0.5, 1) == 1
    assert corollary4_cutoff(1e-12, 1000) == pytest.approx(math.log(1000) / 2e-12, rel=1e-11)
    assert corollary4_cutoff(5e-324, 10) > 10**308
    assert corollary4_cutoff(0.02, 10) == 57  # more than the rounds there are: the paper's K, as it is


def test_the_smallest_rates_have_bounds() -> None:
    for p in (1e-300, 1e-200):
        assert weight_error_bound(p, 5, 10, "improved") == pytest.approx(0.5 + 1)  # (1 - p)^2 K / T + bias
        assert weight_error_bound(p, math.inf, 10, "repaired") == pytest.approx((10 + 9) / 10)


@pytest.mark.parametrize(
    "call",
    [
        lambda: weight_error_bound(0.0, 5, 10, "theorem3"),
        lambda: weight_error_bound(math.nan, 5, 10, "theorem3"),
        lambda: weight_error_bound(0.5, 5.5, 10, "theorem3"),
        lambda: weight_error_bound(0.5, 5, 1, "theorem3"),
        lambda: weight_error_bound(0.5, 5, 0, "improved"),
        lambda: weight_error_bound(0.5, 5, 10**400, "improved"),
        lambda: weight_error_bound(0.5, 5, 10, "theorem 3"),  # type: ignore[arg-type]
        lambda: weight_error_bound(0.5, 2**60, 10, "theorem3"),
        lambda: weight_error_bound(0.5, 2**60, 10, "repaired"),
        lambda: weight_error_bound([0.5, 1e-320], 5, 10, "improved"),
        lambda: corollary4_cutoff(0.0, 10),
        lambda: corollary4_cutoff([0.1, 0.2], 10),  # type: ignore[arg-type]
        lambda: corollary4_cutoff(0.5, 0),
    ],
)
def test_bad_input_is_one_sentence(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=r"^\w+ must be .*; got "):
        call()
