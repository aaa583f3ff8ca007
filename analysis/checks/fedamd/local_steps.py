"""A miner's local steps: Lemma D.1 and the error of its displacement."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import sympy
from sympy import Rational

from analysis.checks import CheckBook, Depth, mutate, plus, put, times, without
from analysis.checks.certificates import Fact, at_most, identity, nonnegative, proved
from analysis.checks.fedamd.displacement import error_factor, local_limits, rhs, upper
from analysis.checks.fedamd.miners import Miner
from analysis.checks.fedamd.searching import met
from analysis.checks.points import held_at
from analysis.checks.tools import made_with
from analysis.domains import Domain, Real, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, right_side
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import K, L, L_sigma, b_small, eta_l

checks = CheckBook()
NEW_SAMPLES = {
    "fedamd.A42": "the noise of a step has mean 0 given the steps before: its samples are new"
}  # for `made_with`

SPACE: dict[str, Domain] = {
    "curvature": Real(-1, 1),
    "sample_curvature": Real(0, 3),
    "batch_size": Whole(1, 8),
    "local_steps": Whole(1, 12),
    "local": Real("1/1000", "1/2", log=True),  # eta_l K L
    "gradient": Real(-3, 3),
    "direction": Real(-3, 3),
}


def _miner(point: Point) -> tuple[Miner, dict[str, Any], dict[str, bool]]:
    """A miner with L = 1, the constants of the statements about it, and the assumptions that it meets."""
    batch = point["local"] * 0 + point["batch_size"]
    local_lr = point["local"] / point["local_steps"]
    miner = Miner(point["curvature"], local_lr, point["local_steps"], point["sample_curvature"] ** 2 / batch)
    constants = {
        "smoothness": 1, "noise_smoothness": point["sample_curvature"], "batch_size": point["batch_size"],
        "local_steps": point["local_steps"], "local_lr": local_lr, "gradient_norm": abs(point["gradient"]),
        "cache_error": abs(point["direction"] - point["gradient"]),
    }  # fmt: skip
    return miner, constants, met(constants, [point["curvature"]], sampled=point["sample_curvature"])


@checks.trial(fedamd.lemD1, SPACE)
def squared_steps(claim: Claim, point: Point) -> Sides:
    """Sum of the squared local steps of a miner on a quadratic with sample curvatures h +- z."""
    miner, constants, given = _miner(point)
    return Sides(miner.path() * point["direction"] ** 2, right_side(claim.bound, constants), constants, met=given)


@checks.trial(fedamd.law_local, SPACE)
def displacement_of_a_miner(claim: Claim, point: Point) -> Sides:
    """E|change/(eta_l K) - grad F|^2 of a miner whose own curvature is not the objective's."""
    miner, constants, given = _miner(point)
    left = miner.displacement_error(point["direction"], point["gradient"])
    return Sides(left, right_side(claim.bound, constants), constants, met=given)


def _points(locals_: Sequence[Any], depth: Depth) -> list[Point]:
    """The largest and smaller steps, curvature against and along, with and without noise."""
    pairs = ((1, 0), (0, 1), (1, 1), (1, 2), (2, 1), (F(1, 2), F(-1)))
    steps = (1, 2, 5, 10) if depth == "quick" else (1, 2, 3, 5, 8, 12)
    return [
        {
            "curvature": h, "sample_curvature": z, "batch_size": batch, "local_steps": k, "local": local,
            "gradient": gradient, "direction": direction,
        }
        for k in steps for local in locals_ for h in (1, -1)
        for z, batch in ((0, 1), (F(1, 2), 1), (F(5, 2), 8))
        for gradient, direction in pairs
    ]  # fmt: skip


@checks(
    fedamd.lemD1,
    mutants=[
        times("bound", F(1, 4)),
        put("bound", K, sympy.Integer(1)),
        without("local step"),
        without("local step and noise"),
        mutate("bound", "without the gradient", lambda e: e.subs(fedamd.gradient_norm, 0)),
    ],
)
@made_with(NEW_SAMPLES)
def squared_local_steps(claim: Claim, depth: Depth) -> Evidence:
    """E|g_{k+1}|^2 <= rho E|g_k|^2 with rho^(K-1) <= exp(3/4), so the sum is at most eta_l^2 K exp(3/4) |g|^2."""
    points = held_at(
        squared_steps, claim, _points((F(2, 7), F(1, 10)), depth), summary="No violation on quadratics",
        domain="K up to 12",
    )  # fmt: skip
    move, noise = local_limits(claim)
    if sympy.oo in (move, noise):
        return proved([Fact("every local step is limited", False)], points, "")
    of_bound = sympy.simplify(rhs(claim) / (eta_l**2 * K * fedamd.both_errors))
    m = sympy.Dummy("m", nonnegative=True)  # K = 1 + m
    facts = [
        nonnegative(
            "K (rho - 1) = 2x + x^2/K + n is at most 3/4",
            sympy.Rational(3, 4) - upper(2 * move) - upper(move**2) / (1 + m) - noise,
        ),
        at_most(
            "2 exp(3/4) (|g - grad F|^2 + |grad F|^2) is within the bound", 2 * sympy.exp(Rational(3, 4)), of_bound
        ),
    ]
    return proved(facts, points, "A miner's direction grows by at most (1 + eta_l L)^2 + eta_l^2 L_sigma^2/b' a step.")


@checks(
    fedamd.law_local,
    mutants=[
        times("bound", F(1, 2)),
        without("local step"),
        without("local step and noise"),
        mutate("bound", "without the gradient", lambda e: e.subs(fedamd.gradient_norm, 0)),
        times("without noise", F(9, 10)),
        plus("growth", -eta_l * L),
        times("with noise", F(13, 10)),
        times("with noise", F(7, 10)),
    ],
)
@made_with(NEW_SAMPLES)
def displacement_error(claim: Claim, depth: Depth) -> Evidence:
    """A miner's change in closed form, and the constants by integrals that bound its sums."""
    points = held_at(
        displacement_of_a_miner, claim, _points((F(1, 5), F(1, 20)), depth), summary="No violation on quadratics",
        domain="K up to 12",
    )  # fmt: skip
    move, noise = local_limits(claim)
    if sympy.oo in (move, noise):
        return proved([Fact("every local step is limited", False)], points, "")
    moved = sympy.Symbol("moved", nonnegative=True)
    growth = (1 + moved) ** 2 + eta_l**2 * L_sigma**2 / b_small
    rest = rhs(claim).coeff(fedamd.gradient_norm**2)
    facts = [
        identity(
            "growth of a direction: |g| + eta_l L |g| at most, and the noise",
            claim.formulas["growth"] - growth.subs(moved, eta_l * L),
        ),
        at_most("factor of |grad F|^2", Rational(1, 2), rest),
        at_most("factor of |g - grad F|^2", error_factor(move, noise), rhs(claim).coeff(fedamd.cache_error**2)),
        at_most("the same without noise", error_factor(move, sympy.Integer(0)), claim.formulas["without noise"]),
        identity(
            "the factor with noise is the bound's",
            claim.formulas["with noise"] - rhs(claim).coeff(fedamd.cache_error**2),
        ),
    ]
    return proved(facts, points, "Sums of the directions' growth are bounded by integrals, then Young's inequality.")
