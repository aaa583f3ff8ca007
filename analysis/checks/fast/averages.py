"""Theorem 1 with averages in place of maxima: true with slightly larger constants, and what its condition forces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
from sympy import Rational, sqrt, symbols

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks.certificates import Fact, at_most_one, chain, confirmed, identity, limit_of, nonnegative
from analysis.checks.fast.family import Family, average_square, centre, periodic
from analysis.checks.fast.nonconvex import SCHEDULE, family_constants, largest_step, shares
from analysis.checks.fast.proof import SCHEDULES, drift, squares
from analysis.checks.points import drawn, held_at
from analysis.checks.tools import INDEPENDENT_NOISE, reading
from analysis.domains import Real, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, Trial, right_side, root
from fltheory.ledger import Claim
from fltheory.papers import fast
from fltheory.papers.fast import G1, G2, G3, K, L, R, eta, h, q, s, sigma, sigma_G, zeta
from fltheory.papers.fast import average_square as average_symbol

checks = CheckBook()

SAMPLED = {"sampled": Whole(1, 4), "asked": Whole(1, 2)}  # of 4 clients, two on each side


def averaged_run(point: Point, steps: int, variance: Any) -> tuple[Any, dict[str, Any]]:
    """The average over rounds 0 to R - 1 and the constants, G_1, G_2, G_3 as averages of expectations."""
    q, rounds = shares(point)
    m, n = point["sampled"], point["asked"]
    lr = point["step_share"] * largest_step({**point, "steps": steps}, q, m, n)
    family = Family(lr, steps, variance, m, n, clients=4)
    targets = periodic(point["interval"], rounds, point["who"])
    found = family.moments(point["start"], targets)
    ours, theirs = 0 * lr, 0 * lr
    for target, (mean, spread) in zip(targets, found, strict=False):
        if target is None:
            ours += mean * mean + spread
        else:
            theirs += (mean - centre(target, mean)) ** 2 + spread
    snapshots = point["cycles"]
    square, noise = family.summed**2, family.noise_in_sum
    ours, theirs = ours * family.share(1, snapshots), theirs * family.share(1, rounds - snapshots)
    constants = family_constants(family, point, q, rounds) | {
        "noise_std": root(variance),
        "snapshot_square": square * ours + noise * family.share(1, family.clients),
        "sampled_square": square * (ours + family.scatter) + noise * family.share(1, m),
        "arbitrary_square": square * theirs + noise * family.share(1, n),
    }
    return average_square(found, family)[0], constants


@checks.trial(fast.thm1_averages, space={**SCHEDULE, **SAMPLED, "variance": Real(0, 4)})
def averages_on_the_family(claim: Claim, point: Point) -> Sides:
    """Exact expectations, with noise and drawn clients."""
    assert claim.bound is not None
    left, constants = averaged_run(point, point["steps"], point["variance"])
    return Sides(left, right_side(claim.bound, constants), constants)


@checks.trial(fast.law_floor, space={k: v for k, v in {**SCHEDULE, **SAMPLED}.items() if k != "steps"})
def floor_on_the_family(claim: Claim, point: Point) -> Sides:
    """(1 - q) sigma_G^2 against the average of the run, K = 1."""
    assert claim.bound is not None
    left, constants = averaged_run(point, 1, 0 * point["start"])
    constants = {**constants, "average_square": left}
    return Sides(1 - constants["snapshot_rate"], right_side(claim.bound, constants), constants)


def derived_condition(claim: Claim) -> Fact:
    """The claim's condition on q is what (24) needs."""
    relation = claim.conditions.get("snapshots")
    needed = q * (G1 - 2 * h * G3) - (1 - q) * ((2 * h - 1) * G2 + 2 * K**2 * sigma_G**2)
    stated = None if relation is None else sympy.expand(relation.gts - relation.lts - needed)
    return Fact("the condition on q is -q A + (1 - q) B <= 0", stated == 0)


def _chain(claim: Claim) -> Iterator[Fact]:
    assert claim.bound is not None
    most = limit_of(claim, "arbitrary rounds", eta * L * K)
    noise = limit_of(claim, "noise", eta * L * K / s)
    yield from squares()
    yield from drift(most)
    kept = Rational(1, 2) - 30 * most**2
    yield nonnegative("(12) and (22) keep a quarter of |g|^2: 15 h^2 <= 30 h^2 <= 1/4", kept - Rational(1, 4))
    yield derived_condition(claim)
    dropped = -q * G1 + 2 * h * q * G3 - (1 - q) * (1 - 2 * h) * G2 + 2 * K**2 * (1 - q) * sigma_G**2
    first = -2 / K**2 * q * G1 + 4 * L * eta / K * q * G3
    second = -(2 / K**2 - 4 * L * eta / K) * (1 - q) * G2 + 4 * (1 - q) * sigma_G**2
    yield identity("the terms of (13) and (23) in G_1, G_2, G_3 and the bias are 2/K^2 times it",
               first + second - 2 / K**2 * dropped)  # fmt: skip
    yield Fact("the step is at most a multiple of s: it bounds the second noise term", noise != sympy.oo)
    rest = 4 * zeta / (K * R * eta) + 4 * s * L * eta * sigma**2 + (20 - 10 * q) * noise * s * L * eta * sigma**2
    needed = rest + (120 - 60 * q) * h**2 * sigma_G**2
    yield nonnegative("the bound covers what is left", claim.bound.rhs - needed, {q: at_most_one()})


POINTS = {"quick": 300, "default": 3_000, "deep": 60_000}
LONGEST = 300  # rounds of a run that is drawn
# Starts at 0 and short runs, where the condition on q holds although gradients are small.
PARTS: tuple[dict[str, Any], ...] = ({}, {"cycles": 1, "interval": 2}, {"cycles": 1, "who": (1, -1)})


# One snapshot, then the other side for long at small steps: the floor is nearly reached.
NEAR = {"cycles": 1, "interval": 60, "start": 0.42, "step_share": 0.001, "who": (-1,)}


def on_the_family(trial: Trial, claim: Claim, depth: Depth, domain: str) -> Evidence:
    """Points of the trial's space, short runs among them."""
    points = [point for part in (*PARTS, NEAR) for point in drawn(trial, POINTS[depth], **part)]
    points = [point for point in points if point["interval"] * point["cycles"] <= LONGEST]
    return held_at(trial, claim, points, "exact", "exact moments", "No violation on the family", domain=domain)


@checks(
    fast.thm1_averages,
    mutants=[
        put("bound", 4 * zeta, 3 * zeta),
        mutate("bound", "4 in place of 8 - 2q", lambda e: e.subs(sigma, 0) + 4 * s * L * eta * sigma**2),
        mutate("bound", "60 h^2 in place of 120 - 60 q", lambda e: e.subs(sigma_G, 0) + 60 * h**2 * sigma_G**2),
        mutate("snapshots", "half of the bias", lambda c: c.gts >= c.lts.subs(sigma_G, sigma_G / 2)),
        without("snapshots"),
        without("arbitrary rounds"),
        without("noise"),
    ],
)
@reading(INDEPENDENT_NOISE)
def valid_up_to_constants(claim: Claim, depth: Depth) -> Evidence:
    """(13) and (23) summed, with every constant."""
    proof = chain(_chain(claim), "(13) and (23) add up to the bound.", SCHEDULES)
    return confirmed(proof, on_the_family(averages_on_the_family, claim, depth, "periodic snapshots, with noise"))


# ---- what the condition forces -----------------------------------------------------------------------------------


def _floor(claim: Claim) -> Iterator[Fact]:
    assert claim.bound is not None
    yield derived_condition(claim)
    u, w, z, drawn_square, step = symbols("u w z drawn_square step", nonnegative=True)
    # u = q times the average over snapshots, w^2 and z^2 the shares 1 - q of |grad F|^2 in the others and of sigma_G^2.
    yield identity(
        "q A >= (1 - q) B gives u + a >= 2 z^2 + 2 h (q G_3 + a), a = (1 - q) G_2 (K = 1)",
        (u - 2 * step * drawn_square - ((2 * step - 1) * w + 2 * z))
        - ((u + w - 2 * z) - 2 * step * (drawn_square + w)),
    )
    yield nonnegative("so u + a >= 2 z^2", 2 * step * (drawn_square + w))
    total = u + w**2
    yield identity("Minkowski, a <= (w + z)^2: u + a <= E + 2 w z + z^2 with E = u + w^2",
               u + (w + z) ** 2 - (total + 2 * w * z + z**2))  # fmt: skip
    yield nonnegative("and w <= sqrt(E)", total - w**2)
    y, m = symbols("y m", nonnegative=True)
    least = sqrt(2) - 1
    yield identity("y^2 + 2 y >= 1 for y = sqrt(E)/z, with equality at sqrt 2 - 1", least**2 + 2 * least - 1)
    yield nonnegative("and y^2 + 2y grows with y", (y + m) ** 2 + 2 * (y + m) - y**2 - 2 * y)
    yield nonnegative(
        "the constant of the bound is at least 1/(sqrt 2 - 1)^2",
        sympy.expand(claim.bound.rhs / average_symbol - (3 + 2 * sqrt(2))),
    )
    yield identity("which is 3 + 2 sqrt 2", (3 + 2 * sqrt(2)) * least**2 - 1)


@checks(
    fast.law_floor,
    mutants=[
        times("bound", "1/2"),
        times("bound", "9/10"),
        mutate("snapshots", "half of the bias", lambda c: c.gts >= c.lts.subs(sigma_G, sigma_G / 2)),
        without("snapshots"),
    ],
)
def condition_forces_a_floor(claim: Claim, depth: Depth) -> Evidence:
    """The condition, Minkowski's inequality and a quadratic; and runs that satisfy the condition."""
    proof = chain(_floor(claim), "The condition, Minkowski's inequality and the root sqrt 2 - 1 of y^2 + 2y = 1.")
    return confirmed(proof, on_the_family(floor_on_the_family, claim, depth, "periodic snapshots, K = 1"))
