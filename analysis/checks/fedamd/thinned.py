"""Corollary 4.9: the anchor probability that needs the fewest rounds, and 1/c of it."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import sympy
from sympy import sqrt

from analysis.checks import CheckBook, Depth, mutate, plus, put, times, without
from analysis.checks.certificates import Fact, at_most, chain, identity, nonnegative, proved
from analysis.checks.fedamd import runs
from analysis.checks.fedamd.alike import Period, counted, held_at_corners, with_chance
from analysis.checks.fedamd.constant import LOCAL
from analysis.checks.fedamd.displacement import rhs
from analysis.checks.fedamd.runs import SPACE, Run
from analysis.checks.fedamd.searching import INDEPENDENT, unbroken
from analysis.checks.points import held_at, value_of
from analysis.checks.tools import reading, rests_on
from analysis.domains import Domain, Real
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, exact_value, right_side
from fltheory.errors import InputError
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import A, M, T, c, eta, gap, probability

checks = CheckBook()
THINNED: dict[str, Domain] = {name: domain for name, domain in SPACE.items() if name != "anchor_probability"} | {
    "thinning": Real(1, 20, log=True)
}


def _run(claim: Claim, point: Point) -> Sides:
    """A run at the claimed probability, which is rational for A = 1 or a float."""
    formula = claim.formulas["probability"]
    values = {"cohort_size": point["cohort_size"], "thinning": point["thinning"]}
    if isinstance(point["move"], float):
        chance: Any = float(formula.subs({s: values[s.name] for s in formula.free_symbols}))
    else:
        chance = exact_value(formula, values)
    if not isinstance(chance, float | F):
        raise InputError("cohort_size", point["cohort_size"], "1, where the probability is rational")
    full = {**point, "anchor_probability": chance}
    run = Run(full)
    constants = {**run.constants, "thinning": point["thinning"]}
    return Sides(run.average(full), right_side(claim.bound, constants), constants, run.facts, run.met)


@checks.trial(fedamd.cor49, THINNED)
def runs_with_few_anchors(claim: Claim, point: Point) -> Sides:
    """Quadratics at the printed step."""
    return _run(claim, point)


@checks.trial(fedamd.cor49_repaired, THINNED)
def runs_with_few_anchors_repaired(claim: Claim, point: Point) -> Sides:
    """Quadratics at the repaired step."""
    return _run(claim, point)


def _points(depth: Depth, factor: Any) -> list[Point]:
    found: list[Point] = []
    for thin in (3,) if depth == "quick" else (1, 3, 10):
        for point in runs.points(depth, lambda h, size, p, thin=thin: runs.within(1 / (1 + factor * len(h) * thin))):
            if point["cohort_size"] == 1:
                found.append({name: point[name] for name in THINNED if name != "thinning"} | {"thinning": thin})
    return found


NO_GAP = mutate("bound", "no gap", lambda e: e.subs(gap, 0))


ASKED = {"thinning": c >= 1, "product of steps": eta * fedamd.L * (1 + 3 * M * c / A) <= 1, **LOCAL}
DROPPED = [without(name) for name in ASKED]


@checks(fedamd.cor49, mutants=[NO_GAP, times("bound", F(1, 100)), *DROPPED])
@rests_on(ASKED)
def one_participant_a_round(claim: Claim, depth: Depth) -> Evidence:
    """Exact runs with A = 1, where the probability is rational."""
    return held_at(
        runs_with_few_anchors,
        claim,
        _points(depth, 3),
        summary="No violation on quadratics",
        domain="A = 1, c in {1, 3, 10}",
    )


@checks(
    fedamd.cor49,
    mutants=[
        NO_GAP, *DROPPED, put("probability", c, c**2),
        *(put("bound", letter, letter**2) for letter in (M, fedamd.b, fedamd.K, fedamd.T, fedamd.eta_l)),
    ],
)  # fmt: skip
@rests_on(ASKED)
def with_every_letter_small_and_large(claim: Claim, depth: Depth) -> Evidence:
    """Equal clients, up to 1000 of them, at the largest step."""

    def largest(at: dict[str, Any]) -> float:
        return float(1 / (1 + 3 * at["n_clients"] * at["thinning"] / at["cohort_size"]))

    def period(at: dict[str, Any], step: float, noise: float) -> Period:
        chance = float(value_of(claim.formulas["probability"], at))
        return [(counted(with_chance(at["n_clients"], at["cohort_size"], chance, step, noise)), 1)]

    return held_at_corners(claim, largest, period)


@checks(fedamd.cor49, mutants=[NO_GAP, *DROPPED])
@rests_on(ASKED)
@reading(INDEPENDENT)
def search_with_few_anchors(claim: Claim, depth: Depth) -> Evidence:
    """A search over cohorts, c, problems, steps and noise."""
    return unbroken(runs_with_few_anchors, claim, depth, "Quadratics of up to 3 clients.")


@checks(
    fedamd.cor49,
    mutants=[times("maximiser to the power A", 2), plus("to maximise", -probability), put("probability", c, 1)],
)
def optimal_probability(claim: Claim, depth: Depth) -> Evidence:
    """The derivative of p^2 (1 - p^A) is p (2 - (A + 2) p^A): positive below the claimed p, negative above."""
    objective, power = claim.formulas["to maximise"], claim.formulas["maximiser to the power A"]
    slope = sympy.diff(objective, probability)
    z = sympy.Symbol("z", positive=True)  # p^A
    facts = [
        identity("derivative", slope - probability * (2 - (A + 2) * probability**A)),
        identity("its only zero", (2 - (A + 2) * z).subs(z, power)),
        identity("the claimed probability at c = 1", (claim.formulas["probability"].subs(c, 1)) ** A - power),
        identity(
            "it is the probability of the bound",
            4 / (eta * T * rhs(claim).coeff(gap)) - 1 + claim.formulas["probability"] ** A,
        ),
    ]
    return chain(facts, "1/(p sqrt(1 - p^A)) is least at p^A = 2/(A + 2), for every A.")


@checks(
    fedamd.cor49_repaired,
    mutants=[
        NO_GAP, times("bound", F(1, 100)), times("printed factor", F(9, 10)), *DROPPED, times("probability", F(13, 10)),
        times("probability", F(7, 10)), put("bound", fedamd.sigma**2, fedamd.sigma**2 / 10),
    ],
)  # fmt: skip
@rests_on({"thinning": c >= 1, **LOCAL})
@reading(INDEPENDENT)
def covered_by_the_repaired_theorem(claim: Claim, depth: Depth) -> Evidence:
    """At p^A = 2/((A+2) c^A), a <= (Mc/A) ((A+2)/2)^(1/A) <= 1.5 Mc/A, by Bernoulli's inequality."""
    points = held_at(
        runs_with_few_anchors_repaired, claim, _points(depth, 4.75), summary="No violation on quadratics",
        domain="A = 1, c in {1, 3, 10}",
    )  # fmt: skip
    theirs = claim.conditions.get("product of steps")
    if theirs is None:
        return proved([Fact("the global step is limited", False)], points, "")
    allowed = sympy.simplify((theirs.lts / (theirs.gts * eta * fedamd.L) - 1) * A / (M * c))
    n = sympy.Symbol("n", nonnegative=True)  # A = 1 + n
    power = (c * claim.formulas["probability"]) ** A
    of_gap = 4 * gap / (eta * fedamd.T * (1 - power / c**A))
    facts = [
        identity("(c p)^A = 2/(A + 2)", power - 2 / (A + 2)),
        identity("the gap term is that of Theorem 4.8 at this p", rhs(claim).coeff(gap) * gap - of_gap),
        identity(
            "the noise term is that of Theorem 4.8 as repaired",
            rhs(claim).subs(gap, 0) - rhs(fedamd.thm48_repaired).subs(gap, 0),
        ),
        nonnegative(
            "(1 + A/2)(3/2) >= 1 + (A+1)/2, so (3/2)^A >= 1 + A/2", (1 + (1 + n) / 2) * 3 / 2 - (1 + (2 + n) / 2)
        ),
        at_most("1.5 sqrt(10) within the allowed factor", sympy.Rational(3, 2) * sqrt(10), allowed),
        _printed_is_enough(claim),
    ]
    return proved(facts, points, "Its step is one of the repaired Theorem 4.8.")


def _printed_is_enough(claim: Claim) -> Fact:
    """2.61 a <= 3 M/A at c = 1: number by number to A = 40, then because (1 + A/2)^(2/A) falls in A."""
    largest = claim.formulas["printed factor"] / fedamd.thm48_repaired.formulas["factor for b = n"]
    small = all(
        bool((largest**2) ** size * (1 + sympy.Rational(2, size)) ** size >= (1 + sympy.Rational(size, 2)) ** 2)
        for size in range(1, 41)
    )
    late = bool((largest**2) ** 20 >= 21)
    return Fact("2.61 a <= 3 M/A at c = 1", small and late)
