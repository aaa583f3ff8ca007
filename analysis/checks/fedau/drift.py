"""Checks of Appendices B.1 and B.3 up to (B.3.9): elementary inequalities, divergence, local drift."""

from __future__ import annotations

import math
from fractions import Fraction as F
from typing import Any

import sympy
from sympy import E, Rational, Symbol, sqrt

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks.certificates import Fact, identity, limit_of, nonnegative, proved
from analysis.checks.fedau.quadratics import cyclic
from analysis.checks.points import held_at
from analysis.checks.tools import made_with
from analysis.domains import Domain, Real, Several, Whole
from analysis.evidence import Evidence, algebra
from analysis.trials import Point, Sides, right_side
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import (
    I,
    L,
    delta,
    first,
    reweighted_gradient,
    reweighted_heterogeneity,
    second,
    sigma,
    split,
)
from fltheory.symbols import local_lr

checks = CheckBook()
DIVERGENCE = {"fedau.ass3": "Lemma B.3.1: the divergence from f~ is bounded"}  # for `made_with`
LOCAL = local_lr * L * I


def _distinct(residual: Any) -> Any:
    return residual.subs({first: 2, second: 3, split: 5})


@checks(fedau.eqB11, mutants=[times("room", Rational(1, 2)), put("spread", 2, 3)])
def mean_square_exceeds_squared_mean(claim: Claim, depth: Depth) -> Evidence:
    """The difference of both sides is the mean of |z - m|^2, expanded."""
    room, spread = claim.formulas["room"], claim.formulas["spread"]
    steps = [
        Step("mean of |z - m|^2 = s - 2 m.m + m.m", spread - (second - 2 * first * first + first**2)),
        Step("which is the difference of both sides", room - spread),
    ]
    return algebra(steps, "proved", "The difference is a mean of squares.", sample=_distinct)


@checks(fedau.eqB12, mutants=[times("right", Rational(1, 2)), times("left", 2)])
def young_for_a_product(claim: Claim, depth: Depth) -> Evidence:
    """2 (right - left) = (sqrt(rho) z1 - z2 / sqrt(rho))^2."""
    room = claim.formulas["right"] - claim.formulas["left"]
    steps = [Step("2 (right - left) is a square", 2 * room - (sqrt(split) * first - second / sqrt(split)) ** 2)]
    return algebra(steps, "proved", "The difference is a square.", sample=_distinct)


@checks(fedau.eqB13, mutants=[times("right", Rational(1, 2)), times("left", 2)])
def young_for_a_sum(claim: Claim, depth: Depth) -> Evidence:
    """right - left = (sqrt(b) z1 - z2 / sqrt(b))^2."""
    room = claim.formulas["right"] - claim.formulas["left"]
    steps = [Step("right - left is a square", room - (sqrt(split) * first - second / sqrt(split)) ** 2)]
    return algebra(steps, "proved", "The difference is a square.", sample=_distinct)


# ---- divergence from a reweighted objective --------------------------------------------------------------


@checks.trial(
    fedau.lemB31,
    space={"gradients": Several(Real(-3, 3), 1, 6), "shares": Several(Real(0, 1), 1, 6)},
)
def gradients_at_a_point(claim: Claim, point: Point) -> Sides:
    """Local gradients as given, an objective weighted in proportion to the shares (read cyclically)."""
    assert claim.bound is not None
    gradients = [g - point["gradients"][0] for g in point["gradients"]]  # so that equal ones differ by exactly 0
    shares = cyclic(point["shares"], len(gradients))
    weighted = sum(s * g for s, g in zip(shares, gradients, strict=True)) / (sum(shares) or 1)
    mean = sum(gradients) * F(1, len(gradients))
    constants = {"heterogeneity": max(abs(g - mean) for g in gradients)}
    facts = {"the shares are a distribution": sum(shares) > 0}
    met = {"ass3": all(abs(g - mean) <= constants["heterogeneity"] for g in gradients)}
    left = max((g - weighted) ** 2 for g in gradients)
    return Sides(left, right_side(claim.bound, constants), constants, facts, met)


@checks(fedau.lemB31, mutants=[times("bound", Rational(99, 100)), mutate("bound", "delta", lambda e: delta**2)])
def triangle_and_jensen(claim: Claim, depth: Depth) -> Evidence:
    """(B.1.1) with two terms, then Jensen; attained by F_1 = x, F_2 = -x, phi = (0, 1)."""
    assert claim.bound is not None
    points: list[Point] = [
        {"gradients": (F(1), F(-1)), "shares": (F(0), F(1))},
        {"gradients": (F(3), F(-1), F(2)), "shares": (F(1, 2), F(1, 3), F(1))},
        {"gradients": (F(1), F(1), F(-2)), "shares": (F(0), F(0), F(1))},
    ]
    found = held_at(gradients_at_a_point, claim, points, domain="three exact examples, one of them attained")
    square, mean = Symbol("mean_square", positive=True), Symbol("mean", positive=True)
    facts = [
        identity("2 u^2 + 2 v^2 - (u + v)^2 = (u - v)^2", 2 * first**2 + 2 * second**2 - (first + second) ** 2
                 - (first - second) ** 2),
        identity("Jensen: mean of |v|^2 - |mean|^2 = mean of |v - mean|^2", square - mean**2
                 - (square - 2 * mean * mean + mean**2)),
        nonnegative("2 delta^2 + 2 delta^2 is at most the bound", claim.bound.rhs - 4 * delta**2),
    ]  # fmt: skip
    return proved(facts, found, "Triangle inequality and Jensen.")


# ---- local drift -----------------------------------------------------------------------------------------

_DRIFT_SPACE: dict[str, Domain] = {
    "smoothness": Real("1/4", 4, log=True),
    "bend": Real(-1, 1),
    "gradient": Real(-3, 3),
    "divergence": Real(-3, 3),
    "noise": Real(0, 3),
    "local_steps": Whole(1, 60),
    "step_share": Real("1/100", 20, log=True),
}


def _local_run(claim: Claim, point: Point, *, gradient: bool) -> Sides:
    """Local SGD of one client on a quadratic of curvature bend * L: drift, or second moment of the gradient."""
    assert claim.bound is not None
    steps, smoothness = point["local_steps"], point["smoothness"]
    lr = point["step_share"] / (5 * smoothness * steps)  # the paper's limit is a share of .91
    curvature = point["bend"] * smoothness
    slope, variance, stay = point["gradient"] + point["divergence"], point["noise"] ** 2, 1 - lr * curvature
    drifts, gradients, way, spread, power = [], [], 0, 0, 1
    for _ in range(steps):
        gradients.append((slope * power) ** 2 + curvature**2 * lr**2 * variance * spread)
        way, spread, power = way + power, spread + power**2, power * stay
        drifts.append((lr * slope * way) ** 2 + lr**2 * variance * spread)
    constants = {
        "smoothness": smoothness,
        "local_steps": steps,
        "local_lr": lr,
        "noise_std": point["noise"],
        "reweighted_heterogeneity": abs(point["divergence"]),
        "reweighted_gradient": abs(point["gradient"]),
    }
    met = {
        "ass1": bool(abs(curvature) <= smoothness),
        "ass2": bool(variance <= constants["noise_std"] ** 2),
        "ass3": bool(abs(point["divergence"]) <= constants["reweighted_heterogeneity"]),
    }
    return Sides(max(gradients if gradient else drifts), right_side(claim.bound, constants), constants, met=met)


@checks.trial(fedau.lemB32, space=_DRIFT_SPACE)
def drift_of_one_client(claim: Claim, point: Point) -> Sides:
    """Local SGD on a quadratic: the largest mean squared drift."""
    return _local_run(claim, point, gradient=False)


@checks.trial(fedau.lemB32_improved, space=_DRIFT_SPACE)
def drift_of_one_client_again(claim: Claim, point: Point) -> Sides:
    """Local SGD on a quadratic: the largest mean squared drift."""
    return _local_run(claim, point, gradient=False)


@checks.trial(fedau.eqB39, space=_DRIFT_SPACE)
def gradient_of_one_client(claim: Claim, point: Point) -> Sides:
    """Local SGD on a quadratic: the largest second moment of its gradient."""
    return _local_run(claim, point, gradient=True)


# Noise alone, gradient alone, divergence alone, all of them; with steps inside and far outside the conditions.
_DRIFT_POINTS: list[dict[str, Any]] = [
    dict(zip(_DRIFT_SPACE, (2.0, bend, *parts, steps, share), strict=True))
    for bend in (-1.0, 0.0, 1.0)
    for parts in ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 2.0, 1.0))
    for steps in (1, 2, 12)
    for share in (0.9, 0.01, 20.0)
]


def _at_points(trial: Any, claim: Claim) -> Evidence:
    domain = f"{len(_DRIFT_POINTS)} runs of one client, curvature -L, 0 and L, up to 12 local steps"
    return held_at(trial, claim, _DRIFT_POINTS, domain=domain)


def _recursion(claim: Claim) -> list[Fact]:
    """One local step lengthens the drift by a factor of at most 1 + 1/(I - 1/2), plus what three squares add."""
    a, c, m = Symbol("a", positive=True), Symbol("c", positive=True), Symbol("m", positive=True)
    u, v, w = sympy.symbols("u v w", positive=True)
    j, r, n = Symbol("j", positive=True), Symbol("r", positive=True), Symbol("n", positive=True)
    steps = 1 + j
    return [
        identity("|u - v|^2 <= (1 + 1/m) u^2 + (1 + m) v^2 with m = 2I - 1, by a square",
                 a**2 / m + m * c**2 + 2 * a * c - (a + m * c) ** 2 / m),
        identity("|u + v + w|^2 <= 3 (u^2 + v^2 + w^2), by three squares",
                 3 * (u**2 + v**2 + w**2) - (u + v + w) ** 2 - (u - v) ** 2 - (v - w) ** 2 - (u - w) ** 2),
        Fact("6 I gamma^2 L^2 <= 1/(5I)", bool(6 * limit_of(claim, "local step", LOCAL) ** 2 <= Rational(1, 5))),
        nonnegative("1/(2I-1) + 1/(5I) <= 1/(I - 1/2)", 2 / (2 * steps - 1) - 1 / (2 * steps - 1) - 1 / (5 * steps)),
        identity("1 + r + ... + r^n = (r^(n+1) - 1)/(r - 1), by induction",
                 (r ** (n + 1) - 1) / (r - 1) - (r**n - 1) / (r - 1) - r**n),
    ]  # fmt: skip


def _drift(constant: Any) -> Any:
    inner = sigma**2 + 6 * I * reweighted_heterogeneity**2 + 6 * I * reweighted_gradient**2
    return constant * I * local_lr**2 * inner


_DRIFT_MUTANTS = [
    times("bound", Rational(1, 20)),
    put("bound", local_lr**2, local_lr**4),
    put("bound", reweighted_gradient, 0),
    put("bound", sigma, 0),
    without("local step"),
]


@checks(fedau.lemB32, mutants=_DRIFT_MUTANTS)
@made_with(DIVERGENCE)
def drift_with_the_constant_five(claim: Claim, depth: Depth) -> Evidence:
    """(1 + 1/z)^z <= e and 1 + 1/(I - 1/2) <= 3 make the sum at most (sqrt(3) e - 1) I."""
    assert claim.bound is not None
    j = Symbol("j", positive=True)
    facts = [
        *_recursion(claim),
        nonnegative("1 + 1/(I - 1/2) <= 3", 2 - 2 / (2 * (1 + j) - 1)),
        Fact("sqrt(3) e - 1 <= 5", bool((sqrt(3) * E - 1).evalf(30) <= 5)),
        nonnegative("the bound contains what this gives", claim.bound.rhs - _drift(5)),
    ]
    return proved(facts, _at_points(drift_of_one_client, claim), "The printed recursion, step by step.")


@checks(fedau.lemB32_improved, mutants=[*_DRIFT_MUTANTS[1:], times("bound", Rational(1, 2))])
@made_with(DIVERGENCE)
def drift_with_the_constant_e_minus_one(claim: Claim, depth: Depth) -> Evidence:
    """With z = 1/(2I) the sum is at most (e - 1) I if artanh(z)/z <= log(1 + (e - 1)/(1 - z)) on (0, 1/2].

    The left side is at most 1 + z^2/(3 (1 - z^2)), coefficient by coefficient of its series; the right side is
    1 + log(1 - z/e) - log(1 - z) >= 1 - z/(e - z) + z, by log x >= 1 - 1/x and log x <= x - 1.
    """
    assert claim.bound is not None
    z, j = Symbol("z", positive=True), Symbol("j", positive=True)
    k = Symbol("k", positive=True)
    at = 1 / (2 * (1 + j))  # z for I = 1 + j
    facts = [
        *_recursion(claim),
        identity("1 + 1/(I - 1/2) = (1 + z)/(1 - z)", 1 + 1 / (1 / (2 * z) - Rational(1, 2)) - (1 + z) / (1 - z)),
        nonnegative("1/(2k + 1) <= 1/3 for k >= 1", Rational(1, 3) - 1 / (2 * (1 + k) + 1)),
        Fact("e > 5/2", bool(E.evalf(30) > Rational(5, 2))),
        nonnegative("1 - 1/(5/2 - z) >= z/(3 (1 - z^2))", 1 - 1 / (Rational(5, 2) - at) - at / (3 * (1 - at**2))),
        nonnegative("the bound contains what this gives", claim.bound.rhs - _drift(E - 1)),
        Fact("the sum itself, for I up to 200,000", _largest_share() < math.e - 1),
    ]
    return proved(facts, _at_points(drift_of_one_client_again, claim), "By series and elementary logarithm bounds.")


def _largest_share() -> float:
    """max over I of [(1 + 1/(I - 1/2))^I - 1] (I - 1/2)/I; it grows towards e - 1."""
    steps = [*range(1, 100), *(10**k for k in range(2, 6)), 200_000]
    return max(float(math.expm1(i * math.log1p(1 / (i - 0.5))) * (i - 0.5) / i) for i in steps)


@checks(
    fedau.eqB39,
    mutants=[times("bound", Rational(1, 10)), put("bound", reweighted_heterogeneity, 0), without("local step")],
)
@made_with(DIVERGENCE)
def three_squares_and_the_drift(claim: Claim, depth: Depth) -> Evidence:
    """3 L^2 drift + 3 delta~^2 + 3 |grad f~|^2, the drift from Lemma B.3.2."""
    assert claim.bound is not None
    assert fedau.lemB32.bound is not None
    u, v, w = sympy.symbols("u v w", positive=True)
    sum_of_three = 3 * L**2 * fedau.lemB32.bound.rhs + 3 * reweighted_heterogeneity**2 + 3 * reweighted_gradient**2
    facts = [
        identity("|u + v + w|^2 <= 3 (u^2 + v^2 + w^2), by three squares",
                 3 * (u**2 + v**2 + w**2) - (u + v + w) ** 2 - (u - v) ** 2 - (v - w) ** 2 - (u - w) ** 2),
        Fact("the step that Lemma B.3.2 asks for",
             bool(limit_of(claim, "local step", LOCAL) <= limit_of(fedau.lemB32, "local step", LOCAL))),
        nonnegative("the bound contains what this gives", claim.bound.rhs - sum_of_three),
    ]  # fmt: skip
    return proved(facts, _at_points(gradient_of_one_client, claim), "Smoothness, divergence and gradient.")
