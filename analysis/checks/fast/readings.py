"""Other readings of Theorem 2: the condition of one version with the bound of the other, snapshots without a coin."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sympy import Rational

from analysis.checks import CheckBook, Depth, Mutant, put, times, without
from analysis.checks.certificates import chain, confirmed, identity
from analysis.checks.fast.coins import SPACE, sides
from analysis.checks.fast.contraction import all_rounds_covered
from analysis.checks.fast.proof import COINS
from analysis.checks.points import not_broken, witnessed
from analysis.checks.tools import INDEPENDENT_NOISE, reading
from analysis.domains import Real, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, right_side
from fltheory.errors import InputError
from fltheory.ledger import Claim
from fltheory.papers import fast
from fltheory.papers.fast import K, eta, sigma

checks = CheckBook()


@checks.trial(fast.thm2_mixed, SPACE)
def coins_mixed(claim: Claim, point: Point) -> Sides:
    """Four clients with curvatures L and mu in two directions, half the centres at +a and half at -a; coins decide."""
    return sides(claim, point)


@checks.trial(fast.thm2_mixed, {k: v for k, v in SPACE.items() if k not in ("start", "variance")})
def from_the_optimum(claim: Claim, point: Point) -> Sides:
    """Four clients with curvatures L and mu in two directions, centres at +a and -a, half and half, no noise.

    From the minimum of F at 0; a coin decides on snapshots, arbitrary rounds ask clients with centres at +a.
    """
    zero = 0 * point["spread"]
    return sides(claim, {**point, "start": zero, "variance": zero})


@checks.trial(fast.thm2_mixed_reverse, SPACE)
def coins_mixed_reverse(claim: Claim, point: Point) -> Sides:
    """Four clients with curvatures L and mu in two directions, half the centres at +a and half at -a; coins decide."""
    return sides(claim, point)


# L = mu = K = m = n = 1, eta = 1/32 (of a largest step of 1/20), sigma = 0, sigma_G = 1/16, q = 0, from the optimum.
_MIXED: Point = {
    "smoothness": Fraction(1), "flatness": Fraction(1), "spread": Fraction(1, 16), "flat_spread": Fraction(0),
    "step_share": Fraction(5, 8), "steps": 1, "sampled": 1, "asked": 1,
    "arbitrary": Fraction(1), "rounds": 100,
}  # fmt: skip


def _appendix_condition() -> Mutant:
    name = "the condition of the appendix"
    return Mutant(name, lambda claim: replace(claim, conditions=fast.thm2_app.conditions))


def _bound_of_the_appendix(claim: Claim) -> Evidence:
    assert claim.bound is not None
    assert fast.thm2_app.bound is not None
    return chain([identity("the bound is (25)", claim.bound.rhs - fast.thm2_app.bound.rhs)], "")


@checks(fast.thm2_mixed, mutants=[put("bound", sigma**2, 3 * sigma**2), times("bound", 10), _appendix_condition()])
def condition_of_one_with_bound_of_the_other(claim: Claim, depth: Depth) -> Evidence:
    """Arbitrary rounds only, which the main-text condition admits at this unit of the loss."""
    summary = (
        "Main-text condition and appendix bound do not go together: with sigma_G = 1/16 the condition admits q = 0, "
        "and E||x_R - x*||^2 = {left} is more than (25) allows, {right}."
    )
    bound = _bound_of_the_appendix(claim)
    if bound.verdict != "proved":
        return bound
    found = witnessed(from_the_optimum, claim, _MIXED, summary)
    return replace(found, verdict="inconsistent") if found.verdict == "refuted" else found


@checks(
    fast.thm2_mixed_reverse,
    mutants=[
        times("bound", "1/10"),
        put("bound", 8 * K * eta, K * eta / 1000),
        put("bound", 8 * K * eta, 7 * K * eta),
        without("snapshots"),
        without("step"),
    ],
)
@reading(INDEPENDENT_NOISE)
def the_other_mixture(claim: Claim, depth: Depth) -> Evidence:
    """The chain: a round needs less than 15/2 where the bound has 8, and (1-q)/2 fits in between; a seeded search."""
    facts = all_rounds_covered(claim, 1 / (K * eta), spare=Rational(1, 2))
    proof = chain(facts, "15/2 + (1-q)/2 <= 8: the term with 1 - q is not needed.", COINS)
    return confirmed(
        proof, not_broken(coins_mixed_reverse, claim, {"quick": 300, "default": 2000, "deep": 50_000}[depth])
    )


# ---- other snapshots -------------------------------------------------------------------------------------


@checks.trial(
    fast.thm2_periodic,
    {"step_share": Real("1/1000", 1, log=True), "late": Whole(1, 100), "rounds": Whole(2, 20_000)},
)
def arbitrary_rounds_last(claim: Claim, point: Point) -> Sides:
    """Two clients F_1 = (x-1)^2/2 and F_2 = (x+1)^2/2, L = mu = K = sigma_G = 1, no noise, step `step_share`/40.

    Snapshots ask both and keep x at x_0 = x* = 0; the last `late` rounds ask client 1. The left side is |x_R - x*|^2.
    """
    assert claim.bound is not None
    late, rounds = point["late"], point["rounds"]
    if late > rounds:
        raise InputError("late", late, f"at most the rounds, {rounds}")
    lr = point["step_share"] / 40
    constants = {
        "smoothness": 1, "strong_convexity": 1, "local_steps": 1, "local_lr": lr, "snapshot_clients": 2,
        "arbitrary_clients": 1, "rounds": rounds, "noise_std": 0, "heterogeneity": 1, "start_distance_square": 0,
        "snapshot_rate": 1 - (late / rounds if isinstance(lr, float) else Fraction(late, rounds)),
    }  # fmt: skip
    left = (1 - (1 - lr) ** late) ** 2
    return Sides(left, right_side(claim.bound, constants), constants, {"a share q of the rounds are snapshots": True})


@checks(
    fast.thm2_periodic,
    mutants=[put("bound", sigma**2, 3 * sigma**2), times("bound", 10), put("bound", 8 * K * eta, 9 * K * eta)],
)
def a_fixed_number_of_snapshots(claim: Claim, depth: Depth) -> Evidence:
    """24 arbitrary rounds after 6376 snapshots, a share that the condition admits."""
    bound = _bound_of_the_appendix(claim)
    if bound.verdict != "proved":
        return bound
    point = {"step_share": Fraction(1), "late": 24, "rounds": 6400}
    found = witnessed(
        arbitrary_rounds_last, claim, point,
        "A statement about random snapshots: with 24 arbitrary rounds of 6400, all of them last, the squared distance "
        "is {left} against {right}. An interval I >= 2 is never admitted, since q <= 1/2.",
    )  # fmt: skip
    if found.verdict != "refuted":
        return found
    return replace(found, verdict="conditional", hypothesis="a coin decides on each round")
