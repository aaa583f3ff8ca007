"""Checks of section 4.2 with high probability: (16), (17), Proposition 4.7, and what holds for all intervals.

Where several clients and rounds are concerned, z_t is the weighted divergence of round t, the weights of which are a
base vector moved to an independent uniform place: then the left side of (7) is the square of an average of
independent picks, and its law is counted exactly.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Dummy, Rational, log, symbols

from analysis.checks import CheckBook, Depth, put, times, without
from analysis.checks.amplified.chances import coin_exceeds, exceeds, normalised, shifts
from analysis.checks.amplified.weighting import centred, slopes_met
from analysis.checks.certificates import (
    Fact,
    chain,
    confirmed,
    identity,
    more_than,
    nonnegative,
    weighted_sum,
)
from analysis.checks.points import drawn, held_at, value_of
from analysis.checks.tools import rests_on
from analysis.domains import Domain, Real, Several, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, right_side, root
from fltheory.ledger import Claim
from fltheory.papers import amplified
from fltheory.papers.amplified import N, P, c, d, rho

checks = CheckBook()

FAILURE = Real("1/1000", 1, log=True)
POINTS = {"quick": 60, "default": 400, "deep": 4000}
HALF = Rational(1, 2)
LOG = Dummy("log(2/c)", positive=True)  # c is at most 1


# ---- one client ------------------------------------------------------------------------------------------

COIN: dict[str, Domain] = {
    "chance": Real(0, 1),
    "low": Real(0, 1),
    "high": Real(0, 1),
    "interval": Whole(1, 60),
    "failure": FAILURE,
}


def two_weights(claim: Claim, point: Point) -> Sides:
    """A client whose weight is `high` with probability `chance`, else `low`, independently in every round."""
    assert claim.bound is not None
    width = point["high"] - point["low"]
    constants = {
        "interval": point["interval"],
        "allowed_failure": point["failure"],
        "long_run_variance": width * width * point["chance"] * (1 - point["chance"]),
    }
    left = coin_exceeds(point["chance"], width, point["interval"], value_of(claim.formulas["level"], constants))
    return Sides(left, right_side(claim.bound, constants), constants)


coins_by_chebyshev = checks.trial(amplified.eq16, space=COIN)(two_weights)
coins_by_hoeffding = checks.trial(amplified.eq17, space=COIN)(two_weights)
_FULL: dict[str, Any] = {"low": 0.0, "high": 1.0}


@checks(
    amplified.eq16,
    mutants=[
        times("level", Rational(9, 10)), times("bound", Rational(9, 10)), put("level", P, P**2),
        times("variance", Rational(11, 10)),
    ],
)  # fmt: skip
def chebyshev(claim: Claim, depth: Depth) -> Evidence:
    """Markov's inequality for the squared deviation: its mean over the level."""
    assert claim.bound is not None
    steps = [nonnegative("mean over level", claim.bound.rhs - claim.formulas["variance"] / claim.formulas["level"])]
    numbers = held_at(
        coins_by_chebyshev, claim, drawn(coins_by_chebyshev, POINTS[depth]), "exact", "exact tails",
        "No violation for independent two-valued weights", domain="two-valued weights, P up to 60",
    )  # fmt: skip
    return confirmed(chain(steps, "Chebyshev's inequality at the stated variance."), numbers)


def _hoeffding(level: Any, width: Any, statement: str) -> list[Fact]:
    """2 exp(-2 P level/width^2) <= c, for terms within an interval of that width."""
    u, t, x = symbols("u t x")
    return [
        identity(
            "a tilted variance u (1 - u) is at most 1/4, short by (u - 1/2)^2", u**2 - u + HALF**2 - (u - HALF) ** 2
        ),
        identity("x^2/8 - x t is smallest at x = 4t, -2 t^2", x**2 / 8 - x * t + 2 * t**2 - (x - 4 * t) ** 2 / 8),
        nonnegative(statement, (2 * P * level / width**2).subs(log(2 / c), LOG) - LOG),
    ]


@checks(
    amplified.eq17,
    mutants=[
        times("level", Rational(9, 10)), times("bound", Rational(9, 10)), put("level", P, P**2),
        put("level", 2 / c, 1 / c),
    ],
)  # fmt: skip
def hoeffding(claim: Claim, depth: Depth) -> Evidence:
    """Hoeffding's inequality: the log of the moment generating function is at most x^2/8, then Chernoff's bound."""
    assert claim.bound is not None
    steps = [
        *_hoeffding(claim.formulas["level"], 1, "2 exp(-2 P level) <= c"),
        nonnegative("c is the stated probability", claim.bound.rhs - c),
    ]
    points = [*drawn(coins_by_hoeffding, POINTS[depth]), *drawn(coins_by_hoeffding, POINTS[depth], **_FULL)]
    numbers = held_at(
        coins_by_hoeffding, claim, points, "exact", "exact tails", "No violation for independent two-valued weights",
        domain="two-valued weights, P up to 60",
    )  # fmt: skip
    return confirmed(chain(steps, "Hoeffding's inequality for weights in [0, 1]."), numbers)


# ---- all clients, one interval ---------------------------------------------------------------------------

ONE_INTERVAL: dict[str, Domain] = {
    "slopes": Several(Real(-4, 4), 2, 3),
    "base": Several(Real(0, 1), 1, 3),
    "interval": Whole(1, 30),
    "failure": FAILURE,
}


def tail(claim: Claim, point: Point, rounds: int) -> tuple[Any, dict[str, Any], dict[str, bool]]:
    """Pr{left side of (7) > level} in one interval, the constants, and what holds."""
    slopes = centred(point["slopes"])
    n = len(slopes)
    base = normalised([point["base"][i % len(point["base"])] for i in range(n)])
    constants = {
        "n_clients": n,
        "interval": point["interval"],
        "rounds": rounds,
        "allowed_failure": point["failure"],
        "heterogeneity": root(max(a * a for a in slopes)),
        "participation_norm": root(sum(w * w for w in base)),
    }
    z = [sum(w * a for w, a in zip(row, slopes, strict=True)) for row in shifts(base)]
    level = value_of(claim.formulas["level"], constants)
    return exceeds(z, point["interval"], max(level, 0 * level)), constants, slopes_met(slopes, constants)


def moved_weights(claim: Claim, point: Point) -> Sides:
    """One interval of independent rounds."""
    assert claim.bound is not None
    left, constants, met = tail(claim, point, point["interval"])
    return Sides(left, right_side(claim.bound, constants), constants, met=met)


one_interval = checks.trial(amplified.prop47_one, space=ONE_INTERVAL)(moved_weights)
one_interval_sharp = checks.trial(amplified.prop47_improved, space=ONE_INTERVAL)(moved_weights)
ONE_HOT: dict[str, Any] = {"slopes": (1.0, -1.0), "base": (1.0, 0.0)}


def _pinelis(level: Any, square: Any, least: Any, statement: str) -> list[Fact]:
    """2 exp(-P r^2/(2 b^2)) <= c for |q_t - 1/N|^2 <= b^2 and r^2 = level/(N d^2) (Pinelis, for Hilbert spaces)."""
    q, size = symbols("q size")
    exponent = (P * level / (N * d**2) / (2 * square)).subs(log(2 / c), LOG)
    length = weighted_sum((q - 1 / N) ** 2, q, {0: N, 1: 1, 2: size})
    return [
        identity("|q_t - 1/N|^2 = |q_t|^2 - 1/N", length - (size - 1 / N)),
        nonnegative(statement, exponent - LOG, {N: more_than(least)}),
    ]


def fewest_clients(claim: Claim) -> Any:
    """The least number of clients that the conditions admit."""
    relation = claim.conditions.get("clients")
    return 1 if relation is None else relation.rhs


@checks(
    amplified.prop47_one,
    mutants=[
        times("level", Rational(9, 10)), put("level", N**2, N), put("level", P, P**2), times("bound", Rational(1, 100)),
        put("level", 2 / c, 1 / c),
    ],
)  # fmt: skip
def vectors_of_weights(claim: Claim, depth: Depth) -> Evidence:
    """Pinelis' inequality for vectors of squared length at most 1 - 1/N: N^2/(4(N-1)) >= 1, as (N-2)^2 >= 0."""
    assert claim.bound is not None
    steps = [
        *_pinelis(claim.formulas["level"], 1 - 1 / N, fewest_clients(claim), "P r^2/(2 (1 - 1/N)) >= ln(2/c)"),
        nonnegative("c is the stated probability", claim.bound.rhs - c),
    ]
    points = [*drawn(one_interval, POINTS[depth]), *drawn(one_interval, POINTS[depth], **ONE_HOT)]
    numbers = held_at(
        one_interval, claim, points, "exact", "exact tails", "No violation for independent rounds",
        domain="two or three clients, P up to 30",
    )  # fmt: skip
    return confirmed(chain(steps, "Jointly over clients by Pinelis' inequality, rounds being independent."), numbers)


@checks(
    amplified.prop47_improved,
    mutants=[
        times("level", Rational(9, 10)), times("level of a client", Rational(9, 10)), put("level", N, 1),
        put("level of a client", rho**2, rho**4), times("bound", Rational(1, 100)), without("clients"),
    ],
)  # fmt: skip
@rests_on({"clients": N >= 2})
def range_of_the_weights(claim: Claim, depth: Depth) -> Evidence:
    """Hoeffding with range rho, and Pinelis with squared length rho^2 - 1/N."""
    assert claim.bound is not None
    level = claim.formulas["level"]
    steps = [
        *_hoeffding(claim.formulas["level of a client"], rho, "2 exp(-2 P level/rho^2) <= c"),
        *_pinelis(level, rho**2 - 1 / N, 2, "P r^2/(2 (rho^2 - 1/N)) >= ln(2/c)"),
        nonnegative("c is the stated probability", claim.bound.rhs - c),
    ]
    points = [*drawn(one_interval_sharp, POINTS[depth]), *drawn(one_interval_sharp, POINTS[depth], **ONE_HOT)]
    numbers = held_at(
        one_interval_sharp, claim, points, "exact", "exact tails", "No violation for independent rounds",
        domain="two or three clients, P up to 30",
    )  # fmt: skip
    return confirmed(chain(steps, "Weights of a round lie in [0, rho]."), numbers)


# ---- Hoeffding and Chebyshev -----------------------------------------------------------------------------


def _lies_above(difference: Any) -> list[Fact]:
    """A function of c that is 0 at c = 2, falls before and rises after."""
    slope = sympy.diff(difference, c)
    return [
        identity("equal at c = 2", difference.subs(c, 2)),
        nonnegative("the difference falls up to c = 2", -slope, {c: 2 / more_than(1)}),
        nonnegative("and rises from there", slope, {c: more_than(2)}),
    ]


@checks(amplified.ineq_ln, mutants=[times("left", 2), times("right", Rational(1, 2)), put("left", 2 / c, 3 / c)])
def logarithm_below_its_tangent(claim: Claim, depth: Depth) -> Evidence:
    """ln x <= x - 1 at x = 2/c, by the sign of the derivative."""
    steps = _lies_above(claim.formulas["right"] - claim.formulas["left"])
    return chain(steps, "For every c > 0, with equality at c = 2 only.")


@checks(
    amplified.hoeffding_tighter,
    mutants=[times("hoeffding", 3), times("chebyshev", Rational(1, 3)), times("crossing", 2)],
)
def levels_of_both_forms(claim: Claim, depth: Depth) -> Evidence:
    """The Chebyshev level exceeds the Hoeffding level by 1/2 at least; with the variance kept they cross."""
    hoeffding, chebyshev, crossing = (claim.formulas[name] for name in ("hoeffding", "chebyshev", "crossing"))
    steps = [
        *_lies_above(chebyshev - HALF - hoeffding),
        identity("equal levels at v^2 = c ln(2/c)/2", (crossing * chebyshev - hoeffding).subs(log(2 / c), LOG)),
    ]
    return chain(steps, "True as printed, the variance factor left aside; with it, Chebyshev's can be smaller.")
