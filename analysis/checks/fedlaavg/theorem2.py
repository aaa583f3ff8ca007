"""Checks of Theorem 2: the inequality of each iteration, its sum, and the theorem."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import sympy
from sympy import Symbol

from analysis.checks import CheckBook, Depth, put, times, without
from analysis.checks.fedlaavg.orbits import (
    DOMAIN,
    M,
    algebraic,
    averages,
    averages_at_the_stated_step,
    d,
    excess_by_phase,
    excesses,
    orbit,
    phases,
    points,
    s1,
    z,
)
from analysis.checks.points import held_at
from analysis.checks.tools import SLACK, rests_on
from analysis.evidence import Evidence, Tally, conditional
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import example1 as paper
from fltheory.papers.fedlaavg.letters import T, block_staleness, example_gradient, lr, start_distance

checks = CheckBook()


@checks(paper.thm2_step, mutants=[put("bound", block_staleness, 0), put("bound", example_gradient, 1), without("step")])
def step_before_12(claim: Claim, depth: Depth) -> Evidence:
    """Fails at t <= t_1, e.g. 0 <= -24/125 after rearranging; never after that."""
    return conditional(
        *phases(excesses, claim, points(depth)), "t > t_1: both clients have taken part", "exact orbits",
        "Starts to hold when both clients have taken part; the final bound is right.", domain=DOMAIN,
    )  # fmt: skip


BRACKET = lr * (z**2 + d**2) / 2 + (1 - lr) * z * d
EARLY = [
    Step("early: z^2 = (z^2 - z'^2)/(2 gamma) + bracket",
         z**2 - (z**2 - (z + paper.thm2_eq6_repaired.formulas["early"]) ** 2) / (2 * lr) - BRACKET),
    Step("M^2 - bracket as a sum of nonnegative terms", M**2 - BRACKET
         - ((M**2 - z**2) / 2 + (M**2 - d**2) / 2 + (1 - lr) / 2 * (z - d) ** 2)),
]  # fmt: skip
LATE = Step(
    "late: z^2 = (z^2 - z'^2)/(2 gamma) + (2z - s)^2/4 - (1 - 2 gamma) s^2/4",
    z**2 - (z**2 - (z - lr * s1) ** 2) / (2 * lr) - (2 * z - s1) ** 2 / 4 + (1 - 2 * lr) * s1**2 / 4,
)


@checks(
    paper.thm2_step_repaired,
    mutants=[times("bound", "1/2"), times("early", "1/2"), put("bound", lr**2, lr**3), without("step")],
)
@rests_on({"step": lr <= sympy.Rational(1, 2)})
def steps_of_both_phases(claim: Claim, depth: Depth) -> Evidence:
    """No violation on orbits; certificates: a sum of nonnegative terms early, the fresh client's zero age late."""
    found = held_at(excess_by_phase, claim, points(depth), "exact", "exact orbits", domain=DOMAIN)
    if found.verdict != "exact":
        return found
    I, G = block_staleness, example_gradient
    steps = [
        *EARLY,
        LATE,
        Step("early constant M^2 with M = G/2", claim.formulas["early"] - M**2 * (G / 2 / M) ** 2),
        Step("one client fresh: 2z - s = z - stale, of size at most I steps of gamma G",
             claim.bound.rhs - (lr * I * G) ** 2 / 4),  # type: ignore[union-attr]
    ]  # fmt: skip
    proof = algebraic(steps)
    summary = "Sums of nonnegative terms, with (9) and (10); the printed constant is four times what is needed."
    return proof if proof.verdict != "proved" else Evidence(
        "proved", "algebra", summary, "step at most 1/2", found.cases + len(steps), found.largest
    )  # fmt: skip


@checks(
    paper.thm2_eq12,
    mutants=[times("bound", "1/2"), put("bound", start_distance, 0), without("step"),
             put("bound", block_staleness, sympy.sqrt(block_staleness))],
)  # fmt: skip
@rests_on({"step": lr <= sympy.Rational(1, 2)})
def averages_for_any_step(claim: Claim, depth: Depth) -> Evidence:
    """The mean square over the whole orbit, any step up to 1/2."""
    long = {"first_block": 30, "second_block": 30, "start": F(0), "example_lr": F(1, 500), "iterations": 60}
    domain = f"{DOMAIN}; blocks of 30 with step 1/500"
    return held_at(averages, claim, [*points(depth), long], "exact", "exact orbits", domain=domain)


@checks(
    paper.thm2_final,
    mutants=[times("bound", "1/2"), put("bound", start_distance, 0), times("example_lr", 4)],
)
def theorem_2(claim: Claim, depth: Depth) -> Evidence:
    """Orbits at the stated step; and the sum of the one-step inequalities, I = 1 apart."""
    roots = {"quick": (1, 2, 3, 5), "default": (1, 2, 3, 5, 10), "deep": (1, 2, 3, 5, 10, 20, 30)}[depth]
    grid = (
        {"first_block": a, "second_block": b, "start": start, "root": root}
        for a, b, start, root in product((1, 2, 5), (1, 3, 8), (F(-3), F(0), F(1, 2), F(1), F(2)), roots)
    )
    found = held_at(averages_at_the_stated_step, claim, grid, "exact", "exact orbits", domain=DOMAIN)
    if found.verdict != "exact":
        return found
    proof = algebraic(_sum_of_steps(claim))
    if proof.verdict != "proved":
        return proof
    summary = "Sum of the one-step inequalities of both phases, each with a certificate; I = 1 needs (6) once more."
    return Evidence("proved", "algebra", summary, "all blocks, starts and T", found.cases + proof.cases, found.largest)


def _sum_of_steps(claim: Claim) -> list[Step]:
    """T times the bound exceeds z0^2/(2 gamma) + t_1 M^2 + T gamma^2 I^2 M^2, and the case I = 1."""
    I, G, horizon = block_staleness, example_gradient, Symbol("horizon", positive=True)
    step = claim.formulas["example_lr"].subs(T, horizon)
    total = (horizon * claim.bound.rhs.subs(T, horizon)).subs(G, 2 * M)  # type: ignore[union-attr]
    more = Symbol("more", nonnegative=True)  # I = 2 + more, and t_1 = I - less
    less = Symbol("less", nonnegative=True)
    room = total - start_distance**2 / (2 * step) - (I - less) * M**2 - horizon * step**2 * I**2 * M**2
    start_terms = BRACKET + lr**2 * (d - z) ** 2 / 4
    return [
        *EARLY,
        LATE,
        Step("I >= 2: what is left is M^2 (less + (more + 2)(3 more + 2)/4), nonnegative",
             room.subs(I, 2 + more) - M**2 * (less + (more + 2) * (3 * more + 2) / 4)),
        Step("T < t_1: T M^2 <= I^2 M^2 = total - z0^2 sqrt(T)",
             total - start_distance**2 * sympy.sqrt(horizon) - I**2 * M**2),
        Step("I = 1, T = 1: total = z0^2 + M^2",
             total.subs({I: 1, horizon: 1}) - start_distance**2 - M**2),
        Step("I = 1: z1 - z0 = gamma (d - z0)", paper.thm2_eq6_repaired.formulas["early"] - lr * (d - z)),
        Step("I = 1: M^2 minus the first two excesses as a sum of nonnegative terms (gamma <= 1/2)",
             M**2 - start_terms - ((M**2 - z**2) / 2 + (M**2 - d**2) / 2
             + ((1 - lr) / 2 - lr**2 / 4) * (z - d) ** 2)),
        Step("T >= 2: 1 - 2 gamma - gamma^2 at gamma = 1/(2 sqrt 2 (1 + more)) is ((8 (1+more)^2 - 1)/8 "
             "- (1+more)/sqrt 2)/(1+more)^2, positive, so each later excess is paid by the step before",
             (1 - 2 * lr - lr**2).subs(lr, 1 / (2 * sympy.sqrt(2) * (1 + more)))
             - ((8 * (1 + more) ** 2 - 1) / 8 - (1 + more) / sympy.sqrt(2)) / (1 + more) ** 2),
    ]  # fmt: skip


@checks(paper.E23, mutants=[times("amplitude", "1001/1000"), times("amplitude", 2)])
def swings_at_a_large_step(claim: Claim, depth: Depth) -> Evidence:
    """Period 100 of t = (50, 50), step 3/10, from the minimum, in floats."""
    path = orbit(50, 50, 0.0, 0.3, 10_000).z[-100:]
    tally = Tally(slack=SLACK)
    amplitude = float(claim.formulas["amplitude"])
    tally.at_most(amplitude, max(path), side="e_1")
    tally.at_most(amplitude, -min(path), side="e_2")
    return tally.evidence(
        "exact", "run", f"From {min(path):.5f} to {max(path):.5f} in the last period.",
        domain="t = (50, 50), step 3/10, 100 periods",
    )  # fmt: skip
