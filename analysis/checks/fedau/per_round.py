"""Checks of (B.6.8): the exact weight error of a round; and the weight error as trials see it, exact where they are."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import sympy
from sympy import Rational

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks import histories as h
from analysis.checks.points import held_at
from analysis.checks.tools import SLACK, made_with, rests_on
from analysis.domains import Domain, Real, Whole
from analysis.evidence import Evidence, Tally, conditional
from analysis.trials import Point, Sides, judge, right_side
from fltheory.distributions import KCutoffGeometric
from fltheory.ledger import Bound, Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import K, p, t
from fltheory.weights import exact_weight_law

checks = CheckBook()
COINS = {"fedau.ass4": "the exact law is that of independent rounds"}  # for `made_with`

HORIZONS = {"quick": 60, "default": 300, "deep": 3000}  # of per-round bounds

AVERAGE_SPACE: dict[str, Domain] = {
    "rate": Real("1/1000000", 1, log=True),
    "cutoff": Whole(1, 1000),
    "rounds": Whole(2, 300),
}
ROUND_SPACE: dict[str, Domain] = {
    "rate": Real("1/10000", 1, log=True),
    "cutoff": Whole(1, 1000),
    "round_index": Whole(1, 100),
}


def _errors(rate: Any, cutoff: int, rounds: int) -> list[Any]:
    """E[(p w_t - 1)^2] for t < rounds: floats from the exact law, Fractions by stepping Algorithm 2 literally."""
    if isinstance(rate, float):
        return list(exact_weight_law(rate, cutoff, rounds).error)
    laws = list(h.states(F(rate), cutoff, rounds - 1))
    return [sum(m * (rate * h.weight(time, s) - 1) ** 2 for s, m in law.items()) for time, law in enumerate(laws)]


def _variance(rate: Any, cutoff: int) -> Any:
    """Variance of one cut-off interval."""
    if isinstance(rate, float):
        return float(KCutoffGeometric(rate, cutoff).var())
    law = {k: (1 - rate) ** (k - 1) * (1 if k == cutoff else rate) for k in range(1, cutoff + 1)}
    return sum(k * k * mass for k, mass in law.items()) - sum(k * mass for k, mass in law.items()) ** 2


def average_error(claim: Claim, point: Point) -> Sides:
    """The exact average weight error of one client against a bound."""
    assert claim.bound is not None
    errors = _errors(**point)
    constants = {**point, "interval_variance": _variance(point["rate"], point["cutoff"])}
    met = {"ass4": bool(0 < point["rate"] <= 1)}
    return Sides(sum(errors) * F(1, point["rounds"]), right_side(claim.bound, constants), constants, met=met)


def _error_of_a_round(claim: Claim, point: Point, *, given_sample: bool) -> Sides:
    """E[(p w_t - 1)^2; M_t >= 1], on request divided by P(M_t >= 1), against a bound."""
    assert claim.bound is not None
    rate, cutoff, time = point["rate"], point["cutoff"], point["round_index"]
    none = (1 - rate) ** time if time < cutoff else 0  # without a sample the weight is 1
    left = _errors(rate, cutoff, time + 1)[time] - (1 - rate) ** 2 * none
    constants = {**point, "interval_variance": _variance(rate, cutoff)}
    left, met = left / (1 - none) if given_sample else left, {"ass4": bool(0 < rate <= 1)}
    return Sides(left, right_side(claim.bound, constants), constants, met=met)


@checks.trial(fedau.eqB68b, space=ROUND_SPACE)
def error_given_a_sample(claim: Claim, point: Point) -> Sides:
    """E[(p w_t - 1)^2] of a round, given one completed interval."""
    return _error_of_a_round(claim, point, given_sample=True)


@checks.trial(fedau.eqB68c, space=ROUND_SPACE)
def error_given_a_sample_again(claim: Claim, point: Point) -> Sides:
    """E[(p w_t - 1)^2] of a round, given one completed interval."""
    return _error_of_a_round(claim, point, given_sample=True)


@checks.trial(fedau.eqB68b_unconditional, space=ROUND_SPACE)
def error_over_all_paths(claim: Claim, point: Point) -> Sides:
    """E[(p w_t - 1)^2; M_t >= 1] of a round."""
    return _error_of_a_round(claim, point, given_sample=False)


def _per_round_errors(bound: Bound, depth: Depth) -> Tally:
    """E[(p w_t - 1)^2; M_t >= 1] against a per-round bound, over a grid."""
    tally = Tally(slack=SLACK)
    horizon = HORIZONS[depth]
    for rate in (1e-3, 5e-3, 0.02, 0.1, 0.5, 0.9):
        for cutoff in (1, 2, 5, 20, 99, 1000):
            variance = float(KCutoffGeometric(rate, cutoff).var())
            error = exact_weight_law(rate, cutoff, horizon + 1).error
            for time in range(1, horizon + 1):
                none = (1 - rate) ** time if time < cutoff else 0.0
                left = error[time] - (1 - rate) ** 2 * none  # without a sample the weight is 1
                right = bound.at(rate=rate, cutoff=cutoff, round_index=time, interval_variance=variance)
                # The subtraction costs up to one rounding of the error that it started from.
                noise = 4 * np.finfo(float).eps * error[time]
                tally.at_most(left - noise, right, p=rate, K=cutoff, t=time)
    return tally


ERROR_BOUND_MUTANTS = [
    times("bound", Rational(1, 2)),
    put("bound", 2 * K, 4 * K),
    put("bound", p**2, p**3),
    mutate("bound", "one sample more", lambda e: e.subs(sympy.Max(sympy.floor(t / K), 1), sympy.floor(t / K) + 1)),
]


@checks(fedau.eqB68b, mutants=ERROR_BOUND_MUTANTS[:2])
def variance_given_a_sample(claim: Claim, depth: Depth) -> Evidence:
    """The conditional reading fails for t < K, in exact rationals; the unconditional expectation never does."""
    assert claim.bound is not None
    given = Tally()
    for rate, cutoff, time in ((F(1, 2), 2, 1), (F(1, 10), 5, 2), (F(9, 10), 3, 2)):
        found = judge(error_given_a_sample, claim, {"rate": rate, "cutoff": cutoff, "round_index": time})
        given.at_most(found.sides.left, found.sides.right, p=rate, K=cutoff, t=time, **found.sides.facts)
    return conditional(
        given,
        _per_round_errors(claim.bound, depth),
        "read as the expectation over all paths, not given M_t >= 1",
        "exact grid",
        "Given at least one completed interval it can fail in the first rounds: 1/4 against 1/8 at p = 1/2, K = 2, "
        "t = 1. For the expectation over all paths convexity and exchangeability supply the argument that the random "
        "number of intervals needs.",
        domain=f"p in {{.001, .005, .02, .1, .5, .9}}, K in {{1, 2, 5, 20, 99, 1000}}, 1 <= t <= {HORIZONS[depth]}",
    )


@checks(fedau.eqB68b_unconditional, mutants=ERROR_BOUND_MUTANTS)
@made_with(COINS)
def variance_over_all_paths(claim: Claim, depth: Depth) -> Evidence:
    """The per-round bound on E[(p w_t - 1)^2; M_t >= 1]."""
    assert claim.bound is not None
    return _per_round_errors(claim.bound, depth).evidence(
        "exact",
        "exact grid",
        "No round exceeds it.",
        ratio=True,
        domain=f"p in {{.001, .005, .02, .1, .5, .9}}, K in {{1, 2, 5, 20, 99, 1000}}, 1 <= t <= {HORIZONS[depth]}",
    )


@checks(
    fedau.eqB68c,
    mutants=[
        times("bound", Rational(1, 100)), put("bound", 2 * K, 4 * K), put("bound", t, t**3), without("rounds so far"),
    ],
)  # fmt: skip
@rests_on({"rounds so far": t >= 1})
@made_with(COINS)
def error_given_a_sample_on_the_grid(claim: Claim, depth: Depth) -> Evidence:
    """Rounds with a completed interval, on the conditional reading, which is the stronger one."""
    rounds = {"quick": (1, 2, 60), "default": (1, 2, 5, 20, 60, 100), "deep": tuple(range(1, 101))}[depth]
    points = [
        {"rate": rate, "cutoff": cutoff, "round_index": time}
        for rate in (1e-3, 0.02, 0.1, 0.5, 0.9, 1.0)
        for cutoff in (1, 2, 5, 20, 1000)
        for time in rounds
    ]
    return held_at(
        error_given_a_sample_again,
        claim,
        points,
        domain="p in {.001, .02, .1, .5, .9, 1}, K in {1, 2, 5, 20, 1000}, t in " + ", ".join(map(str, rounds)),
        method="exact grid",
    )
