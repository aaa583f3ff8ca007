"""Checks of Proposition 4.7 for whole runs: all intervals at once, by a union bound, and their average."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import sympy
from sympy import Dummy, Rational, log, symbols

from analysis.checks import CheckBook, Depth, put, times, without
from analysis.checks.amplified.chances import average_exceeds
from analysis.checks.amplified.tails import FAILURE, ONE_HOT, ONE_INTERVAL, POINTS, fewest_clients, tail
from analysis.checks.amplified.weighting import slopes_met
from analysis.checks.certificates import chain, confirmed, identity, more_than, nonnegative
from analysis.checks.points import drawn, held_at, value_of, witnessed
from analysis.checks.tools import rests_on
from analysis.domains import Choice, Domain, Whole
from analysis.evidence import Evidence, Tally, conditional
from analysis.trials import Point, Sides, assumed, right_side
from fltheory.ledger import Claim
from fltheory.papers import amplified
from fltheory.papers.amplified import N, P, T, c, d

checks = CheckBook()

ALL_INTERVALS: dict[str, Domain] = ONE_INTERVAL | {"intervals": Whole(1, 1000)}


def every_interval(claim: Claim, point: Point) -> Sides:
    """Independent rounds, so independent intervals: one minus the probability that none of them fails."""
    assert claim.bound is not None
    one, constants, met = tail(claim, point, point["interval"] * point["intervals"])
    return Sides(1 - (1 - one) ** point["intervals"], right_side(claim.bound, constants), constants, met=met)


run_of_intervals = checks.trial(amplified.prop47_all, space=ALL_INTERVALS)(every_interval)
run_with_union_bound = checks.trial(amplified.prop47_all_repaired, space=ALL_INTERVALS)(every_interval)
_RUN: dict[str, Any] = {"slopes": (F(1), F(-1)), "base": (F(1), F(0)), "interval": 20, "failure": F(1, 10)}


@checks(
    amplified.prop47_all,
    mutants=[times("level", 10), put("level", 2 / c, 2 * T / (c * P)), times("bound", 10)],
)
def three_short_intervals(claim: Claim, depth: Depth) -> Evidence:
    """Two clients with F_1 = x, F_2 = -x, one of them a round: P = 2 and c = 3/4, where ln(2/c) < 1."""
    single, *_ = tail(claim, _RUN, 20)
    return witnessed(
        run_of_intervals, claim, _RUN | {"interval": 2, "failure": F(3, 4), "intervals": 3},
        "The statement holds for each interval; for all intervals at once use ln(2T/(cP)), or average the intervals, "
        "which keeps the final rate. Let one of two clients take part in each round, F_1 = x, F_2 = -x: for P = 2 an "
        "interval fails if one client takes both rounds, with probability 1/2, one of three with 7/8 > c = 3/4; for "
        f"P = 20 and c = .1 an interval fails with probability {float(single):.4f}, and all of 1000 hold with "
        f"probability {float((1 - single) ** 1000):.3g}.",
    )  # fmt: skip


@checks(
    amplified.prop47_all_repaired,
    mutants=[
        times("level", Rational(1, 2)), put("level", T / P, 1), put("level", c, c ** Rational(1, 2)),
        times("bound", Rational(1, 100)), without("clients"), without("interval"),
    ],
)  # fmt: skip
@rests_on({"clients": N >= 2, "interval": P <= T})
def union_over_intervals(claim: Claim, depth: Depth) -> Evidence:
    """At most T/P intervals, each at c P/T."""
    assert claim.bound is not None
    level, share = amplified.prop47_one.formulas["level"], c * P / T
    steps = [
        identity("the level of one interval at c P/T", claim.formulas["level"] - level.subs(c, share)),
        identity("T/P intervals fail with probability at most c", T / P * share - c),
        nonnegative("c P/T is a probability: P <= T, c <= 1", 1 - share, {T: P + more_than(0), c: 1 / more_than(1)}),
        nonnegative("c is the stated probability", claim.bound.rhs - c),
    ]
    points = [
        *drawn(run_with_union_bound, POINTS[depth]),
        *drawn(run_with_union_bound, POINTS[depth], **ONE_HOT),
        *(_RUN | {"intervals": k, "failure": failure} for k in (2, 10, 100) for failure in (F(1, 10), F(1))),
    ]
    numbers = held_at(
        run_with_union_bound, claim, points, "exact", "exact tails", "No violation in up to 1000 intervals",
        domain="two or three clients, P up to 30, up to 1000 intervals",
    )  # fmt: skip
    return confirmed(chain(steps, "A union bound over the intervals."), numbers)


@checks(
    amplified.prop47,
    mutants=[times("level", 10), times("level", Rational(1, 10)), put("level", 2 / c, 2000 / c), put("level", d, 1)],
)
def one_interval_or_all(claim: Claim, depth: Depth) -> Evidence:
    """The same run: each of its intervals at once, and one of them."""
    one, everyone = Tally(), Tally(sides=("Pr{left side of (7) > level in some interval}", "c"))
    rare = F(1, 100)
    for length, failure, a in ((20, F(1, 10), F(1)), (10, F(1, 5), F(1)), (20, rare, F(1, 3)), (20, rare, F(3))):
        point = _RUN | {"slopes": (a, -a), "interval": length, "failure": failure}
        single, _, met = tail(claim, point, length)
        where = {"N": 2, "slope": a, "P": length, "c": failure, **assumed(claim, met)}
        one.at_most(single, failure, **where)
        everyone.at_most(1 - (1 - single) ** 20, failure, intervals=20, **where)
    return conditional(
        everyone, one, "one interval, or the average over intervals", "exact tails",
        "The expectation holds, and so does the probability form for each interval; for all intervals at once use "
        "ln(2T/(cP)), or average the intervals, which keeps the final rate.",
        domain="two clients, one a round, 20 intervals",
    )  # fmt: skip


@checks.trial(
    amplified.prop47_average,
    space={"n_clients": Choice((2, 4, 6)), "interval": Whole(1, 10), "intervals": Whole(1, 6), "failure": FAILURE},
)
def average_of_fair_signs(claim: Claim, point: Point) -> Sides:
    """One client a round, half of them with slope 1, the others with -1: signs; independent intervals."""
    assert claim.bound is not None
    constants = {
        "n_clients": point["n_clients"],
        "interval": point["interval"],
        "allowed_failure": point["failure"],
        "heterogeneity": 1,
    }
    left = average_exceeds(point["interval"], point["intervals"], value_of(claim.formulas["level"], constants))
    return Sides(left, right_side(claim.bound, constants), constants, met=slopes_met((1, -1), constants))


@checks(
    amplified.prop47_average,
    mutants=[
        times("level", Rational(9, 10)), put("level", N**2, N), put("level", 3 / c, 2 / c),
        times("bound", Rational(1, 100)),
    ],
)  # fmt: skip
def exponential_of_the_average(claim: Claim, depth: Depth) -> Evidence:
    """W = |qbar - 1/N|^2 of an interval has Pr{W > w} <= 2 exp(-k w), k = P N/(2(N-1)), so E exp(k W/2) <= 3.

    By convexity the average over intervals has this too; Markov's inequality for exp(k W/2) gives 3 exp(-k w/2).
    """
    assert claim.bound is not None
    k, x, w = symbols("k x w", positive=True)
    rate, logarithm = P * N / (2 * (N - 1)), Dummy("log(3/c)", positive=True)
    rest = sympy.integrate((x * 2 * sympy.exp((x - k) * w)).subs(x, k / 2), (w, 0, sympy.oo))
    level = (claim.formulas["level"] / (N * d**2) * rate / 2).subs(log(3 / c), logarithm)
    steps = [
        identity("E exp(k W/2) <= 1 + integral of (k/2) exp(k w/2) 2 exp(-k w) = 3", 1 + rest - 3),
        nonnegative("k w/2 >= ln(3/c) at the level", level - logarithm, {N: more_than(fewest_clients(claim))}),
        nonnegative("c is the stated probability", claim.bound.rhs - c),
    ]
    points = drawn(average_of_fair_signs, POINTS[depth])
    numbers = held_at(
        average_of_fair_signs, claim, points, "exact", "exact tails", "No violation for averages of intervals",
        domain="one client a round, P up to 10, up to six intervals",
    )  # fmt: skip
    return confirmed(chain(steps, "By Jensen's inequality, without a union bound."), numbers)
