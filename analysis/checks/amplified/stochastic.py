"""Checks of section 4.2 with chance, in expectation: Propositions 4.4, 4.6 and 4.7, first parts, and the sharp form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction as F
from typing import Any

from sympy import Dummy, Rational

from analysis.checks import CheckBook, Depth, put, times, without
from analysis.checks.amplified.chances import correlations, mean_square_of_average, normalised, shifts
from analysis.checks.amplified.weighting import EMPHASIS, MASKS, centred, one, schedule, slopes_met
from analysis.checks.certificates import chain, confirmed, identity, nonnegative
from analysis.checks.points import drawn, held_at
from analysis.checks.tools import SLACK, rests_on
from analysis.domains import Domain, Real, Several, Whole
from analysis.evidence import Evidence, Tally, conditional
from analysis.trials import Point, Sides, assumed, exact_value, right_side, root
from fltheory.ledger import Claim
from fltheory.papers import amplified
from fltheory.papers.amplified import N, P, absolute_variance, averaged_variance, v2, weight_deviation

checks = CheckBook()

SLOPES = Several(Real(-4, 4), 2, 4)
CHAIN: dict[str, Domain] = {
    "slopes": SLOPES,
    "base": Several(Real(0, 1), 1, 4),  # weights of the clients before normalising, over and over
    "moves": Several(Real(0, 1), 1, 4),  # chances of moving on by 0, 1, ... places, before normalising
    "interval": Whole(1, 40),
}


def _stationary(point: Point) -> tuple[list[Any], list[Any], dict[str, Any], dict[str, bool]]:
    """E[z_0 z_k] of the weighted divergence z of a round, autocovariances of one weight, constants, what holds."""
    slopes, length = centred(point["slopes"]), point["interval"]
    n = len(slopes)
    base = normalised([point["base"][i % len(point["base"])] for i in range(n)])
    moves = normalised([*point["moves"], *[0] * n][:n])
    z = [sum(w * a for w, a in zip(row, slopes, strict=True)) for row in shifts(base)]
    weight = [w - 1 / one(w, n) for w in base]
    constants = {"n_clients": n, "interval": length, "heterogeneity": root(max(a * a for a in slopes))}
    met = slopes_met(slopes, constants)
    return list(correlations(z, moves, length)), list(correlations(weight, moves, length)), constants, met


@checks.trial(amplified.prop44, space=CHAIN)
def circulant_chains(claim: Claim, point: Point) -> Sides:
    """The expected left side of (7) of a stationary chain, from its autocovariances."""
    assert claim.bound is not None
    z, weight, constants, met = _stationary(point)
    constants["averaged_variance"] = _at_least_zero(mean_square_of_average(weight))
    return Sides(_sure(mean_square_of_average(z), constants), right_side(claim.bound, constants), constants, met=met)


@checks.trial(amplified.prop46_repaired, space=CHAIN)
def circulant_chains_for_every_interval(claim: Claim, point: Point) -> Sides:
    """The expected left side of (7) of a stationary chain, against the sum of its absolute autocovariances."""
    assert claim.bound is not None
    z, weight, constants, met = _stationary(point)
    constants["absolute_variance"] = weight[0] + 2 * sum(map(abs, weight[1:]))
    return Sides(_sure(mean_square_of_average(z), constants), right_side(claim.bound, constants), constants, met=met)


def _at_least_zero(value: Any) -> Any:
    return max(value, 0 * value)


def _sure(left: Any, constants: dict[str, Any]) -> Any:
    """A float less what rounding can leave of terms that cancel."""
    return left - 1e-14 * constants["heterogeneity"] ** 2 if isinstance(left, float) else left


_SHARP: dict[str, Any] = {"slopes": (1.0, -1.0), "base": (1.0, 0.0)}  # one client at a time, both divergences d


@checks(
    amplified.prop44,
    mutants=[times("bound", Rational(9, 10)), put("bound", N**2, N), put("bound", averaged_variance, 1)],
)
def expectation_of_the_square(claim: Claim, depth: Depth) -> Evidence:
    """(15) in expectation, each client at the largest variance; zero variance in the limit gives zero."""
    assert claim.bound is not None
    assert amplified.eq15.bound is not None
    printed = amplified.eq15.bound.rhs.subs(weight_deviation, N * averaged_variance)
    steps = [
        nonnegative("N d^2 times N variances", claim.bound.rhs - printed),
        identity("the bound vanishes with the variance", claim.bound.rhs.subs(averaged_variance, 0)),
    ]
    number = {"quick": 100, "default": 1000, "deep": 10_000}[depth]
    points = [*drawn(circulant_chains, number), *drawn(circulant_chains, 20, **_SHARP)]
    numbers = held_at(
        circulant_chains, claim, points, "exact", "exact moments", "No violation on stationary chains",
        domain="circulant chains of up to four clients",
    )  # fmt: skip
    return confirmed(chain(steps, "Linear in the squared deviations of (15)."), numbers)


@checks(
    amplified.prop46_repaired,
    mutants=[times("bound", Rational(9, 10)), put("bound", N**2, N), put("bound", P, P**2)],
)
def absolute_autocovariances(claim: Claim, depth: Depth) -> Evidence:
    """P^2 Var of the average = sum of (P - k) autocovariances, each weight P - k being at most P."""
    assert claim.bound is not None
    assert amplified.prop44.bound is not None
    k, rest = Dummy("k", nonnegative=True), Dummy("rest", nonnegative=True)
    steps = [
        nonnegative("1 - k/P <= 1 for every lag k", 1 - (1 - k / P)),
        nonnegative("0 <= 1 - k/P for the lags k < P", 1 - k / P, {P: k + rest}),
        nonnegative(
            "Proposition 4.4 with this variance",
            claim.bound.rhs - amplified.prop44.bound.rhs.subs(averaged_variance, absolute_variance / P),
        ),
    ]
    number = {"quick": 100, "default": 1000, "deep": 10_000}[depth]
    trial = circulant_chains_for_every_interval
    points = [*drawn(trial, number), *drawn(trial, 20, **_SHARP, moves=(1.0, 1.0))]
    numbers = held_at(
        trial, claim, points, "exact", "exact moments", "No violation on stationary chains",
        domain="circulant chains of up to four clients",
    )  # fmt: skip
    return confirmed(chain(steps, "For every P, also where autocovariances are negative."), numbers)


@checks(
    amplified.prop46,
    mutants=[
        times("level", Rational(1, 2)),
        times("level", 100),
        put("level", N**2, N),
        put("level", 1 / P, P),
        *(put("level", N**2, other) for other in (4, 2 * N, 2**N, N + 2, N**2 + N - 2, N**2 + (N - 2) * (N - 4))),
    ],
)
def halves_in_turn(claim: Claim, depth: Depth) -> Evidence:
    """Half of the clients have a x, half -a x; a half a round with weights 2/N, the same as before with probability s.

    Exact expectation against the level, from both sides: all weights of a half move together, so that the level is the
    leading term for every N. The half's indicator has autocovariances m^k/4 with m = 2s - 1, so that vhat^2 is
    (4/N^2) (1 + m)/(4 (1 - m)), and the o(1) is written out.
    """
    printed, asymptotic = Tally(sides=("expectation of the left side of (7)", "N^2 d^2 vhat^2/P")), Tally()
    ratios = []
    slopes = itertools.product((F(1, 10), F(1, 2), F(9, 10)), (F(1), F(1, 2)))
    for (s, slope), clients, length in itertools.product(slopes, (2, 4, 6), (1, 10, 100, 1000)):
        m = 2 * s - 1
        half = (1 + m) / (1 - m) / 4
        long_run = 4 * half / clients**2
        left = 4 * slope**2 * mean_square_of_average([m**k / 4 for k in range(length)])
        constants = {"n_clients": clients, "heterogeneity": slope, "interval": length, "long_run_variance": long_run}
        level = exact_value(claim.formulas["level"], constants)
        size = abs(m)
        lags = size * (1 - size**length) / (1 - size) ** 2 / length  # sum over k of min(k, P)/P |m|^k
        met = slopes_met((slope, -slope) * (clients // 2), constants)
        where = {"stay": s, "slope": slope, "N": clients, "P": length, **assumed(claim, met)}
        printed.at_most(left, level, **where)
        asymptotic.at_most(left, level * (1 + lags / 2 / half), **where)
        asymptotic.at_most(level * (1 - lags / 2 / half), left, **where)
        if s == F(1, 10) and slope == 1 and clients == 2 and length > 1:
            ratios.append(f"{float(left / level):.5g}")
    return conditional(
        printed, asymptotic,
        "P grows (read with a factor 1 + o(1)) and vhat^2 > 0; the probability form for one interval",
        "exact moments",
        "An asymptotic statement, as printed: at finite P negatively correlated participation exceeds the leading "
        f"term slightly, {', '.join(ratios)} times at P = 10, 100, 1000 for two clients that alternate nine times in "
        "ten; the factor tends to 1.",
        domain="N in {2, 4, 6}, P in {1, 10, 100, 1000}, a in {1, 1/2}, stay in {1/10, 1/2, 9/10}",
    )  # fmt: skip


# ---- Proposition 4.7 in expectation ----------------------------------------------------------------------


@checks.trial(
    amplified.prop47_expectation,
    space={"slopes": SLOPES, "who": MASKS, "emphasis": EMPHASIS, "interval": Whole(1, 40)},
)
def independent_rounds(claim: Claim, point: Point) -> Sides:
    """Rounds with weights of their own, each moved to an independent uniform place."""
    assert claim.bound is not None
    slopes, length = centred(point["slopes"]), point["interval"]
    n, left, variances = len(slopes), 0 * slopes[0], []
    for base in schedule(point["who"], point["emphasis"], n, length):
        z = [sum(w * a for w, a in zip(row, slopes, strict=True)) for row in shifts(base)]
        left += sum(value * value for value in z) / n
        variances.append(sum(w * w for w in base) / n - 1 / one(base[0] + slopes[0], n * n))
    constants = {"n_clients": n, "interval": length, "heterogeneity": root(max(a * a for a in slopes))}
    constants["weight_variance"] = _at_least_zero(max(variances))
    met = slopes_met(slopes, constants)
    return Sides(_sure(left / length**2, constants), right_side(claim.bound, constants), constants, met=met)


@checks(
    amplified.prop47_expectation,
    mutants=[times("bound", Rational(9, 10)), put("bound", N**2, N), put("bound", P, P**2)],
)
def variance_of_a_mean(claim: Claim, depth: Depth) -> Evidence:
    """P variances of at most v^2 over P^2, for each of N clients, in (15)."""
    assert claim.bound is not None
    assert amplified.eq15.bound is not None
    printed = amplified.eq15.bound.rhs.subs(weight_deviation, N * (P * v2 / P**2))
    steps = [nonnegative("(15) with N variances P v^2/P^2", claim.bound.rhs - printed)]
    number = {"quick": 100, "default": 1000, "deep": 10_000}[depth]
    sharp: dict[str, Any] = {"slopes": (1.0, -1.0), "who": (1,), "emphasis": (1.0,)}
    points = [*drawn(independent_rounds, number), *drawn(independent_rounds, 20, **sharp)]
    numbers = held_at(
        independent_rounds, claim, points, "exact", "exact moments", "No violation for independent rounds",
        domain="up to four clients, weights that change from round to round",
    )  # fmt: skip
    return confirmed(chain(steps, "Variances of independent terms add up."), numbers)


# ---- exchangeable clients --------------------------------------------------------------------------------


@checks.trial(
    amplified.eq15_improved,
    space={"slopes": SLOPES, "base": Several(Real(0, 1), 1, 4), "interval": Whole(1, 40)},
)
def weights_in_any_order(claim: Claim, point: Point) -> Sides:
    """A base vector of weights in uniformly random order, independently in each round: all orders."""
    assert claim.bound is not None
    left, constants, _ = _exchangeable(point)
    met = slopes_met(centred(point["slopes"]), constants)
    return Sides(_sure(left, constants), right_side(claim.bound, constants), constants, met=met)


def _exchangeable(point: Point) -> tuple[Any, dict[str, Any], Any]:
    slopes = centred(point["slopes"])
    n = len(slopes)
    base = normalised([point["base"][i % len(point["base"])] for i in range(n)])
    orders = list(itertools.permutations(base))
    squares = sum(sum(w * a for w, a in zip(row, slopes, strict=True)) ** 2 for row in orders)
    left = squares / (math.factorial(n) * point["interval"])
    variance = _at_least_zero(sum(w * w for w in base) / n - 1 / one(base[0], n * n))
    constants = {
        "n_clients": n,
        "interval": point["interval"],
        "weight_variance": variance,
        "heterogeneity": root(max(a * a for a in slopes)),
    }
    return left, constants, sum(a * a for a in slopes)


def _exchangeable_points() -> Iterator[Point]:
    for slopes in ((F(1), F(-1)), (F(2), F(-1), F(1, 2)), (F(1), F(1), F(-1), F(-1)), (F(3), F(0), F(1, 3), F(-2))):
        for base in ((1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 1, 0), (3, 2, 1, 0), (5, 1, 1, 1)):
            for length in (1, 7):
                weights = tuple(F(w, max(base)) for w in base[: len(slopes)])
                yield {"slopes": slopes, "base": weights, "interval": length}


@checks(
    amplified.eq15_improved,
    mutants=[
        times("expectation", Rational(1, 2)), put("expectation", N - 1, N), times("bound", Rational(9, 10)),
        put("bound", N - 1, N), put("expectation", P, P + 1), without("clients"),
    ],
)  # fmt: skip
@rests_on({"clients": N >= 2})
def every_order_of_the_weights(claim: Claim, depth: Depth) -> Evidence:
    """All orders of the weights, subsets of every size among them: the expectation exactly, and the bound."""
    tally = Tally(slack=SLACK)
    for point in _exchangeable_points():
        left, constants, squares = _exchangeable(point)
        known = constants | {"divergence_square_sum": squares}
        tally.equal(left, exact_value(claim.formulas["expectation"], known), **point)
    if tally.witness:
        return tally.evidence("exact", "enumeration", "", domain="")
    points = [*_exchangeable_points(), *drawn(weights_in_any_order, {"quick": 50, "default": 500, "deep": 5000}[depth])]
    return held_at(
        weights_in_any_order, claim, points, "exact", "enumeration",
        f"The expectation in {tally.cases} cases exactly, and no violation",
        domain="all orders of the weights of up to four clients, P up to 40",
    )  # fmt: skip
