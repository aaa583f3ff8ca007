"""Lemmas B.1 to B.3: averages over random participants, squared sums, descent with two step sizes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction as F
from typing import Any

import sympy
from sympy import Symbol

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks.certificates import Fact, confirmed, identity, proved
from analysis.checks.fedamd.displacement import rhs
from analysis.checks.fedamd.searching import fails_only_without, met, unbroken
from analysis.checks.points import held_at
from analysis.checks.tools import at, rests_on
from analysis.domains import Domain, Real, Several
from analysis.evidence import Evidence, Tally
from analysis.trials import Point, Sides, right_side
from fltheory.errors import InputError
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import vectors
from fltheory.streams import stream

checks = CheckBook()


def _chosen(values: Sequence[Any], q: Any) -> Iterator[tuple[Any, list[Any]]]:
    """(probability, the chosen ones)."""
    for kept in itertools.product((False, True), repeat=len(values)):
        chance: Any = 1
        for on in kept:
            chance = chance * (q if on else 1 - q)
        yield chance, list(itertools.compress(values, kept))


def _averages(values: Sequence[Any], q: Any, count_zeros: bool) -> tuple[Any, Any]:
    """E of the average of the chosen and of its square; the count leaves zeros out on request."""
    mean: Any = 0
    square: Any = 0
    for chance, chosen in _chosen(values, q):
        n = len(chosen) if count_zeros else sum(value != 0 for value in chosen)
        average = sum(chosen) * (q * 0 + 1) / n if n else 0
        mean, square = mean + chance * average, square + chance * average**2
    return mean, square


CHOICE_SPACE: dict[str, Domain] = {"values": Several(Real(-3, 3), 1, 5), "choice_probability": Real("1/100", 1)}


def _second_moment(claim: Claim, point: Point, count_zeros: bool) -> Sides:
    values, q = point["values"], point["choice_probability"]
    n = len(values)
    one = q * 0 + 1
    chances: Any = 0
    for chance, chosen in _chosen(values, q):
        chances = chances + (chance * one / len(chosen) if chosen else 0)
    constants = {
        "choice_probability": q, "vectors": n, "vector_square": one * sum(v**2 for v in values) / n,
        "mean_square": (one * sum(values) / n) ** 2, "inverse_count": chances,
    }  # fmt: skip
    return Sides(_averages(values, q, count_zeros)[1], right_side(claim.bound, constants), constants)


@checks.trial(fedamd.lemB1, CHOICE_SPACE)
def average_over_what_is_not_zero(claim: Claim, point: Point) -> Sides:
    """Each of the `values` is chosen with `choice_probability`; E of the square of the average of what is chosen,
    counting non-zero values, as printed."""
    return _second_moment(claim, point, count_zeros=False)


@checks.trial(fedamd.lemB1_repaired, CHOICE_SPACE)
def average_over_the_chosen(claim: Claim, point: Point) -> Sides:
    """Second moment of the average, counting chosen indices."""
    return _second_moment(claim, point, count_zeros=True)


def _values(depth: Depth, zeros: bool) -> list[Point]:
    rng = stream(0, "fedamd averages", int(zeros))
    points: list[Point] = []
    for n in range(1, 6):
        for _ in range({"quick": 5, "default": 30, "deep": 200}[depth]):
            values = tuple(F(int(v), 2) for v in rng.integers(-6, 7, n))
            if zeros or all(values):
                points.append({"values": values, "choice_probability": F(int(rng.integers(1, 10)), 10)})
    equal = [{"values": (v,) * n, "choice_probability": F(1, 2)} for n in (1, 2, 4) for v in (1, F(1, 10))]
    return [*points, *equal]


B1_MUTANTS = [times("bound", F(9, 10)), put("bound", vectors, vectors - 1)]


@checks(
    fedamd.lemB1,
    mutants=[*B1_MUTANTS, times("share of the mean", F(13, 10)), times("share of the mean", F(7, 10))],
)
def zeros_are_not_counted(claim: Claim, depth: Depth) -> Evidence:
    """e = (0, 1), q = 1/2 as printed; values without a zero satisfy both parts of the lemma."""
    means = _means(claim, _values(depth, zeros=False))
    if means.witness:
        return means.evidence("exact", "enumeration", "", domain="")
    return fails_only_without(
        average_over_what_is_not_zero, claim, {"values": (0, 1), "choice_probability": F(1, 2)},
        _values(depth, zeros=False),
        "no e_i is 0, or chosen indices are counted",
        "Where some e_i is 0 the average over non-zero values can exceed the bound.",
    )  # fmt: skip


def _means(claim: Claim, points: list[Point]) -> Tally:
    """E of the average against the claimed share of the mean of the values."""
    tally = Tally()
    for point in points:
        values, q = point["values"], point["choice_probability"]
        share = at(claim.formulas["share of the mean"], choice_probability=q, vectors=len(values))
        tally.equal(_averages(values, q, True)[0], share * sum(values) / len(values), **point)
    return tally


@checks(fedamd.lemB1_repaired, mutants=[*B1_MUTANTS, put("share of the mean", vectors, vectors + 1)])
def chosen_are_counted(claim: Claim, depth: Depth) -> Evidence:
    """Both parts of (8) on random rationals with the count of chosen indices."""
    points = _values(depth, zeros=True)
    means = _means(claim, points)
    if means.witness:
        return means.evidence("exact", "enumeration", "", domain="")
    return held_at(
        average_over_the_chosen, claim, points, summary="The mean is as claimed, the second moment never larger",
        domain="1 to 5 values",
    )  # fmt: skip


@checks(
    fedamd.lemB1_improved,
    mutants=[times("bound", F(11, 10)), put("bound", fedamd.inverse_count, fedamd.inverse_count**2),
             mutate("bound", "one vector more", lambda e: e.subs(vectors, vectors + 1)), without("two vectors")],
)  # fmt: skip
@rests_on({"two vectors": vectors >= 2})
def exact_second_moment(claim: Claim, depth: Depth) -> Evidence:
    """Equal to the enumerated second moment."""
    tally = Tally()
    for point in _values(depth, zeros=True):
        if len(point["values"]) >= 2:
            sides = average_over_the_chosen.evaluate(claim, point)
            tally.equal(sides.left, sides.right, **point)
    return tally.evidence("exact", "enumeration", "Equal in every case.", domain="2 to 5 values")


# ---- Lemma B.2 -------------------------------------------------------------------------------------------


@checks.trial(fedamd.lemB2a, {"one": Several(Real(-3, 3), 1, 5), "other": Several(Real(-3, 3), 1, 5)})
def two_equally_likely_vectors(claim: Claim, point: Point) -> Sides:
    """a numbers that take one of two lists of values, each with probability 1/2."""
    one, other = point["one"], point["other"]
    if len(one) != len(other):
        raise InputError("other", other, f"{len(one)} numbers, as many as the first")
    half = (sum(one) * 0 + 1) * F(1, 2)
    means = [half * (u + w) for u, w in zip(one, other, strict=True)]
    deviation = max(abs(half * (u - w)) for u, w in zip(one, other, strict=True))
    constants = {"sum_square": sum(means) ** 2, "vectors": len(one), "deviation": deviation}
    left = half * (sum(one) ** 2 + sum(other) ** 2)
    return Sides(left, right_side(claim.bound, constants), constants)


@checks(fedamd.lemB2a, mutants=[put("bound", vectors**2, vectors), times("bound", F(9, 10))])
def square_of_a_sum(claim: Claim, depth: Depth) -> Evidence:
    """A sum splits into its mean and its deviation, and |sum of a deviations|^2 <= a sum of their squares."""
    points = [
        {"one": tuple(sign + e for e in shift), "other": tuple(-sign + e for e in shift)}
        for shift in ((0,), (1, 2), (0, 0, 0), (1, -1, F(1, 2)), (0,) * 5)
        for sign in (1, F(1, 2))
    ]
    found = held_at(
        two_equally_likely_vectors, claim, points, summary="Attained by a common sign", domain="1 to 5 numbers"
    )
    mean, square = Symbol("mean", real=True), Symbol("square", nonnegative=True)  # of the deviations of one outcome
    facts = [
        identity(
            "a times the sum of squares less the square of the sum is a^2 times the mean of |d - mean|^2",
            vectors * (vectors * square) - (vectors * mean) ** 2 - vectors**2 * (square - 2 * mean**2 + mean**2),
        ),
        identity(
            "the bound is |sum of means|^2 + a times a squared deviations",
            rhs(claim) - fedamd.sum_square - vectors * (vectors * fedamd.deviation**2),
        ),
    ]
    return proved(facts, found, "A spread is never negative.")


TREE: dict[str, Domain] = {
    "means": Several(Real(-3, 3), 7, 7),  # conditional means at the nodes of a binary tree of depth 3
    "deviations": Several(Real(0, 2), 7, 7),
}


@checks.trial(fedamd.lemB2b, TREE)
def coin_tree(claim: Claim, point: Point) -> Sides:
    """Three numbers, each its conditional mean plus or minus a deviation, both depending on the signs before.

    `means` and `deviations` are for the first number, for the second after - and +, for the third after --, -+, +- and
    ++.
    """
    means, sizes = point["means"], point["deviations"]
    total: Any = 0
    drift: Any = 0
    spread: list[Any] = [0, 0, 0]
    for signs in itertools.product((-1, 1), repeat=3):
        node, path, mean = 0, 0 * sum(means), 0 * sum(means)
        for k, sign in enumerate(signs):
            mean, path = mean + means[node], path + means[node] + sign * sizes[node]
            spread[k] = spread[k] + sizes[node] ** 2 * F(1, 8)
            node = 2 * node + (1 if sign < 0 else 2)
        total, drift = total + path**2 * F(1, 8), drift + mean**2 * F(1, 8)
    deviation = sympy.sqrt(max(spread)) if not isinstance(max(spread), float) else max(spread) ** 0.5
    constants = {"sum_square": drift, "vectors": 3, "deviation": deviation}
    return Sides(total, right_side(claim.bound, constants), constants)


@checks(
    fedamd.lemB2b,
    mutants=[put("bound", letter, letter**2) for letter in (fedamd.sum_square, fedamd.deviation)]
    + [times("bound", F(9, 10)), mutate("bound", "only the means", lambda e: e.subs(vectors, 0))],
)
def means_and_deviations_apart(claim: Claim, depth: Depth) -> Evidence:
    """The sum is that of the conditional means and that of the differences from them, whose products vanish."""
    points: list[Point] = [
        {"means": (mean,) * 7, "deviations": (deviation,) * 7}
        for size in (F(1, 50), 2) for mean, deviation in ((size, 0), (0, size))
    ]  # fmt: skip
    found = held_at(
        coin_tree, claim, points, summary="No violation by means or deviations alone", domain="sizes of 1/50 or 2"
    )
    means, differences, before = (Symbol(name, real=True) for name in ("means", "differences", "before"))
    chance, up = Symbol("chance", positive=True), Symbol("up", real=True)
    down = -chance * up / (1 - chance)  # so that the difference has conditional mean zero
    facts = [
        identity(
            "2 |A|^2 + 2 |B|^2 - |A + B|^2 = |A - B|^2",
            2 * means**2 + 2 * differences**2 - (means + differences) ** 2 - (means - differences) ** 2,
        ),
        identity(
            "a difference of conditional mean zero adds its own square to E|sum|^2",
            chance * (before + up) ** 2 + (1 - chance) * (before + down) ** 2
            - before**2 - chance * up**2 - (1 - chance) * down**2,
        ),
        identity(
            "the bound is 2 E|sum of means|^2 + 2 a squared deviations",
            rhs(claim) - 2 * fedamd.sum_square - 2 * vectors * fedamd.deviation**2,
        ),
    ]  # fmt: skip
    proof = proved(facts, found, "Means and differences apart, and a squared sum of differences is their squares.")
    return confirmed(proof, unbroken(coin_tree, claim, depth, "A search with both free at every node:"))


# ---- Lemma B.3 -------------------------------------------------------------------------------------------


@checks.trial(
    fedamd.lemB3,
    {
        "curvature": Real(-1, 1), "gradient": Real(-3, 3), "direction": Real(-3, 3), "smoothness": Real(1, 5),
        "step": Real("1/100", 10, log=True), "other_step": Real("1/100", 10, log=True),
    },
)  # fmt: skip
def step_on_a_quadratic(claim: Claim, point: Point) -> Sides:
    """G = h y^2/2 + g y from y = 0, |h| <= L."""
    move = -point["step"] * point["direction"]
    curvature = point["curvature"] * point["smoothness"]
    left = point["gradient"] * move + curvature * move**2 * F(1, 2)
    constants = {
        "smoothness": point["smoothness"], "step": point["step"], "other_step": point["other_step"],
        "gradient_norm": abs(point["gradient"]), "step_length": abs(move),
        "direction_error": abs(point["direction"] - point["other_step"] * point["gradient"]),
    }  # fmt: skip
    return Sides(left, right_side(claim.bound, constants), constants, met=met(constants, [curvature]))


@checks(
    fedamd.lemB3,
    mutants=[
        mutate("bound", "L/2 halved", lambda e: e - fedamd.L * fedamd.step_length**2 / 4),
        put("bound", fedamd.gradient_norm**2, 2 * fedamd.gradient_norm**2),
        mutate("bound", "no error", lambda e: e.subs(fedamd.direction_error, 0)),
    ],
)
def descent_with_two_steps(claim: Claim, depth: Depth) -> Evidence:
    """The identity behind the lemma, given G(y') <= G(y) + <grad G, y' - y> + (L/2)|y' - y|^2."""
    points = [
        {"curvature": h, "gradient": g, "direction": d, "smoothness": 2, "step": s, "other_step": o}
        for h in (1, F(-1, 2)) for g, d in ((1, 1), (-1, 2), (0, 1), (2, F(1, 3)))
        for s, o in ((F(1, 2), 1), (2, F(1, 3)))
    ]  # fmt: skip
    found = held_at(step_on_a_quadratic, claim, points, summary="Attained at curvature L", domain="quadratics")
    g, d, inner = sympy.symbols("g d inner", real=True)  # |grad|, |direction|, their inner product
    step, other = fedamd.step, fedamd.other_step
    claimed = rhs(claim).subs(
        {
            fedamd.gradient_norm**2: g**2, fedamd.step_length**2: step**2 * d**2,
            fedamd.direction_error**2: d**2 - 2 * other * inner + other**2 * g**2,
        }
    )  # fmt: skip
    facts: list[Fact] = [
        identity(
            "the bound is -step <grad, d> + (L/2) step^2 |d|^2", claimed + step * inner - fedamd.L * step**2 * d**2 / 2
        )
    ]
    return proved(facts, found, "An identity beyond smoothness.")
