"""Checks of sections 4.1 and 4.2 without chance: the split (11), Proposition 4.1, (13), Proposition 4.2 and (15)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction as F
from typing import Any

import sympy
from sympy import Integer, Rational, symbols

from analysis.checks import CheckBook, Depth, plus, put, times
from analysis.checks.amplified.weighting import EMPHASIS, MASKS, SLOPES, centred, divergences, one, schedule, slopes_met
from analysis.checks.certificates import (
    Fact,
    at_most_one,
    chain,
    confirmed,
    identity,
    nonnegative,
    weighted_sum,
)  # fmt: skip
from analysis.checks.points import drawn, held_at, witnessed
from analysis.checks.tools import made_with
from analysis.domains import Domain, Real, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, exact_value, right_side, root
from fltheory.ledger import Claim
from fltheory.papers import amplified
from fltheory.papers.amplified import N, d, weight_deviation

checks = CheckBook()

a, mean, second = symbols("a mean second")
AVERAGE = {0: Integer(1), 1: mean, 2: second}  # sums of q_n a_n^k over the clients, a_n the divergences


@checks(
    amplified.eq11,
    mutants=[times("share of (5)", 2), times("share of (6)", Rational(1, 2)), plus("share of (5)", -1)],
)
@made_with({"amplified.ass3": "the weighted mean of squares is at most the largest, d^2"})
def weighted_mean_splits(claim: Claim, depth: Depth) -> Evidence:
    """The weighted mean square is the weighted variance plus the square of the mean, and a mean of parts of d^2."""
    between, within = mean**2, weighted_sum((a - mean) ** 2, a, AVERAGE)
    split = claim.formulas["share of (5)"] * between + claim.formulas["share of (6)"] * within
    steps = [identity("sum q_n |a_n|^2 = [left side of (6)] + [left side of (5)], as sum q_n = 1", second - split)]
    return chain(steps, "An identity for every x and t, by linearity of the weighted sum in 1, a_n and |a_n|^2.")


# ---- Proposition 4.1 -------------------------------------------------------------------------------------


def linear_losses(claim: Claim, point: Point) -> Sides:
    """F_n(x) = a_n x: the smallest beta^2 + nu^2 over the rounds of a schedule, and the smallest d^2."""
    assert claim.bound is not None
    slopes = centred(point["slopes"])
    weights = schedule(point["who"], point["emphasis"], len(slopes), len(point["who"]))
    found = divergences(slopes, weights, 1)
    constants = {"heterogeneity": root(found.d2)}
    met = slopes_met(slopes, constants)
    return Sides(found.beta2 + found.nu2, right_side(claim.bound, constants), constants, met=met)


DECOMPOSITION: dict[str, Domain] = {"slopes": SLOPES, "who": MASKS, "emphasis": EMPHASIS}
rounds_of_a_schedule = checks.trial(amplified.prop41, space=DECOMPOSITION)(linear_losses)
repaired_rounds = checks.trial(amplified.prop41_repaired, space=DECOMPOSITION)(linear_losses)


@checks(amplified.prop41, mutants=[times("bound", 2), times("bound", 3), put("bound", d, 2 * d)])
def constants_of_different_rounds(claim: Claim, depth: Depth) -> Evidence:
    """Two clients, F_1 = x and F_2 = -x: one takes part alone in round 0, both in round 1."""
    point = {"slopes": (F(1), F(-1)), "who": (1, 3), "emphasis": (F(1),)}
    return witnessed(
        rounds_of_a_schedule, claim, point,
        "The split is exact for each x and t; as uniform constants one gets beta^2 + nu^2 <= 2 d^2, which changes "
        "only constants. For F_1 = x, F_2 = -x with weights (1, 0) in round 0 and (1/2, 1/2) in round 1 the left "
        "side of (5) is 1 and 0, that of (6) is 0 and 1, and d^2 = 1.",
    )  # fmt: skip


@checks(
    amplified.prop41_repaired,
    mutants=[times("bound", Rational(9, 10)), times("each", Rational(9, 10)), put("bound", d**2, d)],
)
def each_term_at_most_the_whole(claim: Claim, depth: Depth) -> Evidence:
    """Both terms of (11) are nonnegative and their sum is at most d^2; attained, by the witness against 4.1."""
    assert claim.bound is not None
    between, within = symbols("between within", nonnegative=True)
    each = claim.formulas["each"]
    steps = [
        identity("(11)", weighted_sum((a - mean) ** 2, a, AVERAGE) + mean**2 - second),
        nonnegative("beta^2 alone, as far as (11) is at most d^2", each - between, {d: sympy.sqrt(between + within)}),
        nonnegative("nu^2 alone, as far as (11) is at most d^2", each - within, {d: sympy.sqrt(between + within)}),
        nonnegative("their sum", claim.bound.rhs - 2 * each),
    ]
    numbers = held_at(
        repaired_rounds, claim, drawn(repaired_rounds, {"quick": 100, "default": 1000, "deep": 10_000}[depth]), "exact",
        "exact grid", "No violation on drawn schedules", domain="linear losses of up to five clients",
    )  # fmt: skip
    return confirmed(chain(steps, "Each term of (11) is at most d^2."), numbers)


# ---- (13), Proposition 4.2, (15) -------------------------------------------------------------------------


@checks(
    amplified.eq12_13,
    mutants=[times("coefficient in f", 2), times("forced constant", 2), put("forced constant", N, N + 1)],
)
def divergences_sum_to_zero(claim: Claim, depth: Depth) -> Evidence:
    """With g_n = grad F_n of sum G, f's gradient is the coefficient times G; N equal averaged weights sum to one."""
    total, constant = symbols("G mu")
    gradient = claim.formulas["coefficient in f"] * total
    g = symbols("g")
    divergence = weighted_sum(g - gradient, g, {0: N, 1: total})
    steps = [
        identity("mu sum_n (grad F_n - grad f) = 0", constant * divergence),
        identity("N times the common averaged weight is 1", N * claim.formulas["forced constant"] - 1),
    ]
    return chain(steps, "Said for the gradients, which is what (13) uses; the common averaged weight is 1/N.")


INTERVALS: dict[str, Domain] = {
    "slopes": SLOPES,
    "who": MASKS,
    "emphasis": EMPHASIS,
    "interval": Whole(1, 8),
    "intervals": Whole(1, 4),
}


def _averages(point: Point, weights: list[Any]) -> Iterator[tuple[Any, ...]]:
    """The averaged weights of each interval."""
    length = point["interval"]
    for start in range(0, len(weights), length):
        rows = weights[start : start + length]
        yield tuple(sum(column) / one(column[0] + point["emphasis"][0], length) for column in zip(*rows, strict=True))


def _same(row: tuple[Any, ...]) -> bool:
    return bool(max(row) - min(row) <= (1e-15 if isinstance(row[0], float) else 0))


@checks.trial(amplified.prop42, space=INTERVALS)
def regularised_schedules(claim: Claim, point: Point) -> Sides:
    """The largest left side of (7) of a schedule in which all clients have the same averaged weight."""
    slopes = centred(point["slopes"])
    weights = schedule(point["who"], point["emphasis"], len(slopes), point["interval"] * point["intervals"])
    equal = all(_same(row) for row in _averages(point, weights))
    constants = {"n_clients": len(slopes), "interval": point["interval"]}
    left = divergences(slopes, weights, point["interval"]).delta2
    left -= 1e-24 if isinstance(left, float) else 0  # what rounding leaves of a zero
    right = exact_value(claim.formulas["interval divergence"], constants)
    return Sides(left, right, constants, {"averaged weights are equal": equal})


def _in_turn(rounds: int) -> Iterator[Point]:
    """Everybody in turn, in blocks and all together, for up to four clients: exact points."""
    for n in (1, 2, 3, 4):
        for who in (tuple(1 << k for k in range(n)), (2**n - 1,), tuple(1 << k for k in range(n)) * 2):
            for slopes in ((1, -1, 2, 0), (F(1, 3), F(2, 3), -2, 1)):
                point = {"slopes": tuple(map(F, slopes[:n])), "who": who[:8], "emphasis": (F(1),), "intervals": rounds}
                yield point | {"interval": len(who)}


@checks(amplified.prop42, mutants=[plus("interval divergence", -1), plus("interval divergence", Rational(-1, 10**9))])
def equal_averages(claim: Claim, depth: Depth) -> Evidence:
    """(13) with zero brackets, and exact schedules in which everybody takes part equally often."""
    g, bracket = symbols("g bracket")
    left = weighted_sum(bracket * g, g, {0: N, 1: symbols("G")}).subs(bracket, 0) ** 2
    steps = [
        identity("sum_n 0 (grad F_n - grad f) = 0", left),
        Fact("what is left is at most the stated value", bool(claim.formulas["interval divergence"] >= 0)),
    ]
    numbers = held_at(
        regularised_schedules, claim, _in_turn(3), "exact", "enumeration",
        "Exactly zero for clients in turn, in blocks and together",
        domain="up to four clients, exact rationals", ratio=False,
    )  # fmt: skip
    return confirmed(chain(steps, "Every bracket of (13) is zero, hence the sum."), numbers)


@checks.trial(amplified.eq15, space=INTERVALS | {"constant": Real(0, 1)})
def intervals_of_a_schedule(claim: Claim, point: Point) -> Sides:
    """The left side of (7) of one interval, with any constant subtracted from the averaged weights."""
    assert claim.bound is not None
    slopes = centred(point["slopes"])
    weights = schedule(point["who"], point["emphasis"], len(slopes), point["interval"])
    (average,) = _averages(point, weights)
    found = divergences(slopes, weights, point["interval"])
    constants = {
        "n_clients": len(slopes),
        "heterogeneity": root(found.d2),
        "weight_deviation": sum((q - point["constant"]) ** 2 for q in average),
    }
    return Sides(found.delta2, right_side(claim.bound, constants), constants, met=slopes_met(slopes, constants))


@checks(
    amplified.eq15,
    mutants=[times("bound", Rational(9, 10)), put("bound", N, 1), put("bound", d**2, d), put("bound", N, N - 1)],
)
def square_of_a_sum(claim: Claim, depth: Depth) -> Evidence:
    """N sum |z_n|^2 - |sum z_n|^2 is half the sum of all |z_i - z_j|^2; then |z_n| <= |qbar_n - mu| d."""
    assert claim.bound is not None
    z, other, s1, s2 = symbols("z other s1 s2")
    inner = weighted_sum((z - other) ** 2, z, {0: N, 1: s1, 2: s2})
    outer = weighted_sum(inner, other, {0: N, 1: s1, 2: s2})
    size = d**2 * weight_deviation  # at least sum_n |z_n|^2
    steps = [
        identity("N sum |z_n|^2 - |sum z_n|^2 = (1/2) sum |z_i - z_j|^2", outer / 2 - (N * s2 - s1**2)),
        nonnegative("N times the sum of (qbar_n - mu)^2 |g_n|^2", claim.bound.rhs - N * at_most_one() * size),
    ]
    numbers = held_at(
        intervals_of_a_schedule, claim, [
            *drawn(intervals_of_a_schedule, {"quick": 100, "default": 1000, "deep": 10_000}[depth]),
            *drawn(intervals_of_a_schedule, 20, slopes=(1.0, -1.0), who=(1,), emphasis=(1.0,), constant=0.5),
        ], "exact", "exact grid", "No violation on drawn schedules", domain="linear losses of up to five clients",
    )  # fmt: skip
    return confirmed(chain(steps, "Jensen's inequality over clients, for any constant mu."), numbers)
