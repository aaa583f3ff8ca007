"""Checks of (5) to (11): one FedLaAvg iteration on Example 1."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from itertools import product
from typing import Any

import sympy

from analysis.checks import CheckBook, Depth, Mutant, mutate, plus, put, times, without
from analysis.checks.fedlaavg.orbits import (
    DOMAIN,
    SPACE,
    ages,
    algebraic,
    constants,
    d,
    distances,
    drifts,
    orbit,
    points,
    s1,
    s2,
    step_lengths,
    z,
)
from analysis.checks.points import held_at
from analysis.checks.tools import rational_sample, rests_on
from analysis.evidence import Evidence, Tally, algebra
from analysis.trials import conditions_at, exact_value, right_side, stated
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import example1 as paper
from fltheory.papers.fedlaavg.letters import block_staleness, e1, e2, example_gradient, lr
from sims.algorithms import fedlaavg
from sims.exact import Setting, run
from sims.problems.quadratic import example_1
from sims.scenarios import schedule

checks = CheckBook()


BOUND_MUTANTS: list[Mutant] = [times("bound", "9/10"), times("bound", "1/2")]

# ---- identities ------------------------------------------------------------------------------------------


@checks(paper.thm2_eq5, mutants=[times("change", 2), plus("change", 1)])
def square_expanded(claim: Claim, depth: Depth) -> Evidence:
    """(z + d)^2 - z^2."""
    steps = [Step("(z + d)^2 - z^2", (z + d) ** 2 - z**2 - claim.formulas["change"])]
    return algebra(steps, "proved", "Symbolic identity.", sample=rational_sample)


@checks(paper.thm2_eq7, mutants=[times("cross", 2), put("cross", lr, lr**2)])
def cross_term(claim: Claim, depth: Depth) -> Evidence:
    """2 z times -gamma (s1 + s2)."""
    steps = [Step("2 z (-gamma (s1 + s2))", -2 * z * lr * (s1 + s2) - claim.formulas["cross"])]
    return algebra(steps, "proved", "Symbolic identity.", sample=rational_sample)


def _library(length: int, start: F, step: F) -> list[F]:
    setting = Setting(fedlaavg.fedlaavg, example_1(), fedlaavg.as_in_paper(step), [start])
    rows = [[True, False], [False, True]]
    return [state.linear["x"][0] for state in run(setting, schedule(rows), length)]


@checks(paper.thm2_eq6, mutants=[put("lag", 0, 1)])
def printed_indices(claim: Claim, depth: Depth) -> Evidence:
    """The step of the exact orbit 1, 1, 4/5, ... against (6) with the indices it has."""
    lag, length = int(claim.formulas["lag"]), 5
    values, path = _library(length, F(1), F(1, 10)), orbit(1, 1, F(1), F(1, 10), length)
    for t in range(2, length + 1):
        first, second = path.latest[t - 1]
        stated = -F(1, 10) * (values[first - lag] + values[second - lag])
        if stated != values[t] - values[t - 1]:
            return Evidence(
                "inconsistent",
                "exact run",
                "The gradient of iteration T_i is taken at x^(T_i - 1): the index is off by one.",
                witness={"t": t, "step": values[t] - values[t - 1], "printed": stated, "orbit": "1, 1, 4/5, 31/50"},
            )
    return Evidence("exact", "exact run", "The steps of the orbit.", cases=length - 1)


@checks(paper.thm2_eq6_repaired, mutants=[times("early", 2), times("late", 2), put("late", s1, 0)])
def step_of_both_phases(claim: Claim, depth: Depth) -> Evidence:
    """The library's orbits, and those of every pair of blocks, in rationals: of means 3 and -3, so that d is not 1."""
    tally = Tally()
    values = _library(12, F(1), F(1, 10))
    tally.equal(F(values[3]), F(31, 50), orbit="third iterate")
    for first, second, start in product((1, 2, 5), (1, 3), (F(-3), F(1, 2))):
        path = orbit(first, second, start, F(1, 7), 20)
        for t in range(1, 21):
            one, two = path.latest[t - 1]
            where = {"z": 3 * path.z[t - 1], "d": 3, "example_lr": F(1, 7), "stale_1": 3 * path.z[one - 1]}
            form = claim.formulas["late" if two else "early"]
            stated = exact_value(form, where | {"stale_2": 3 * path.z[two - 1] if two else 0})
            tally.equal(3 * (path.z[t] - path.z[t - 1]), stated, t=t, t1=first, t2=second)
    both = orbit(1, 1, F(1), F(1, 10), 12).z
    tally.holds(both == values, orbit="library and plain recursion")
    return tally.evidence("exact", "exact runs", "The steps of every orbit, both phases.", domain=DOMAIN)


# ---- bounds on an iteration --------------------------------------------------------------------------------


@checks(
    paper.thm2_eq8,
    mutants=[times("largest change", "3/2"), mutate("step", "up to 1", lambda c: lr <= 1), without("step")],
)
def decrease_of_a_step(claim: Claim, depth: Depth) -> Evidence:
    """The slack is gamma (1 - 2 gamma) s^2/2 after t_1; in the first block another step is taken."""
    change = claim.formulas["largest change"]
    step = -lr * (s1 + s2)
    slack = change - (step**2 + 2 * z * step) - lr * (1 - 2 * lr) * (s1 + s2) ** 2 / 2
    found = algebraic([Step("slack is gamma (1 - 2 gamma)(s1 + s2)^2/2", slack)])
    allowed = claim.conditions.get("step", sympy.true)
    if found.verdict != "proved" or bool(allowed.subs(lr, sympy.Rational(3, 4))):
        return found if found.verdict != "proved" else Evidence("refuted", "algebra", "slack negative beyond 1/2")
    early = Tally(sides=("change of the squared distance", "the largest change that (8) allows"))
    for start, rate in product((F(1), F(2), F(-3)), (F(1, 10), F(1, 2))):
        for reading, unknown in {"x^0": start, "x*, where the gradient is 0": F(0)}.items():
            after = orbit(1, 1, start, rate, 1).z[1]
            right = exact_value(change, {"z": start, "stale_1": start, "stale_2": unknown, "example_lr": rate})
            where = {"t_1": 1, "t_2": 1, "e_1": 1, "e_2": -1, "x*": 0, "gamma": rate, "t": 1, "x^0": start,
                     "x^1": after, "x^(T_1 - 1)": start, "x^(T_2 - 1)": unknown, "T_2": 0, "x^(-1)": reading,
                     **stated(claim, {"example_lr": rate})}  # fmt: skip
            early.at_most(after**2 - start**2, right, **where)
    if not early.witness:
        return found
    return Evidence(
        "conditional",
        "algebra and witness",
        "Exact slack gamma (1 - 2 gamma)(s1 + s2)^2/2 once both clients have taken part.",
        "t > t_1, step at most 1/2",
        found.cases,
        hypothesis="both clients have taken part (t > t_1), indices T_i - 1",
        witness=early.witness,
    )


@checks(paper.thm2_eq9, mutants=[*BOUND_MUTANTS, without("step")])
@rests_on({"step": lr <= 1})
def within_half_g(claim: Claim, depth: Depth) -> Evidence:
    """No orbit leaves; and the iterates are combinations with weights of total size 1."""
    found = held_at(distances, claim, points(depth), "exact", "exact orbits", domain=DOMAIN)
    if found.verdict != "exact":
        return found
    moves = paper.thm2_eq6_repaired.formulas
    steps = [
        Step("early: z + step = (1 - gamma) z + gamma d", z + moves["early"] - (1 - lr) * z - lr * d),
        Step(
            "late, client 1 fresh: (1 - gamma) z - gamma stale", z + moves["late"].subs(s1, z) - (1 - lr) * z + lr * s2
        ),
        Step("weights of total size 1", (1 - lr) + lr - 1),
        Step("G/2 = max(|z0|, |d|)", claim.bound.rhs * 2 - example_gradient),  # type: ignore[union-attr]
    ]
    proof = algebraic(steps)
    if proof.verdict != "proved":
        return proof
    summary = "By induction: (1 - gamma) z + gamma d, then (1 - gamma) z - gamma z', stay within max(|z0|, |d|)."
    return Evidence("proved", "algebra", summary, "0 < gamma <= 1", found.cases + 4, found.largest)


def _absolute(maximum: Any) -> Any:
    return sympy.Max(*map(sympy.Abs, maximum.args))


@checks(paper.thm2_G, mutants=[mutate("G", "absolute value", _absolute), put("G", e1, -e1), put("G", e2, -e2)])
def largest_gradient(claim: Claim, depth: Depth) -> Evidence:
    """|grad f| = 2|z| and |g^t| = |step|/gamma along orbits of means 3 and -3, from starts on both sides of x* = 0."""
    tally, mended = Tally(), Tally()
    for start, first in product((F(-5), F(-1), F(0), F(1), F(3)), (1, 3, 20)):
        at = {"start": 3 * start, "first_mean": 3, "second_mean": -3}
        stated = exact_value(claim.formulas["G"], at)
        mended.equal(exact_value(_absolute(claim.formulas["G"]), at), max(6 * abs(start), F(6)), start=3 * start)
        path = orbit(first, 2, start, F(1, 10), 60)
        run = {"t_1": first, "t_2": 2, "e_1": 3, "e_2": -3, "x*": 0, "gamma": F(1, 10), "x^0": 3 * start}
        for t, value in enumerate(path.z):
            at_t = {"t": t, "x^t": 3 * value, "left side": "|grad f(x^t)| = 2|x^t - x*|"}
            tally.at_most(6 * abs(value), stated, **run, **at_t)
        for t in range(1, 61):
            tally.at_most(30 * abs(path.z[t] - path.z[t - 1]), stated, **run, t=t, **{"left side": "|g^t|"})
    if mended.witness:
        return mended.evidence("exact", "exact orbits", "", domain=DOMAIN)
    if tally.witness:
        return Evidence(
            "inconsistent", "exact orbits", "Needs the absolute value of x^0 - x*, as its use in (9) shows.",
            cases=tally.cases, witness=tally.witness,
        )  # fmt: skip
    return tally.evidence(
        "exact", "exact orbits", "Largest gradient of f, and of the server.", domain=DOMAIN, ratio=True
    )


@checks(paper.thm2_eq10, mutants=[*BOUND_MUTANTS, without("step")])
@rests_on({"step": lr <= 1})
def step_within_gamma_g(claim: Claim, depth: Depth) -> Evidence:
    """No step is longer; and every step is gamma times a sum of two numbers of size at most G/2."""
    found = held_at(step_lengths, claim, points(depth), "exact", "exact orbits", domain=DOMAIN)
    if found.verdict != "exact":
        return found
    steps = [
        Step("early: -gamma (z - d)", paper.thm2_eq6_repaired.formulas["early"] + lr * (z - d)),
        Step("late: -gamma (s1 + s2)", paper.thm2_eq6_repaired.formulas["late"] + lr * (s1 + s2)),
        Step("gamma (G/2 + G/2)", claim.bound.rhs - lr * example_gradient),  # type: ignore[union-attr]
    ]
    proof = algebraic(steps)
    summary = "By (9): gamma times two deviations of size at most G/2; attained."
    return proof if proof.verdict != "proved" else Evidence("proved", "algebra", summary, "", 3, found.largest)


@checks(paper.thm2_I, mutants=[plus("bound", -1), times("bound", "1/2")])
def ages_on_example_1(claim: Claim, depth: Depth) -> Evidence:
    """Every iteration of the first periods, all pairs of blocks."""
    size = {"quick": 4, "default": 8, "deep": 16}[depth]
    every = (
        {"first_block": a, "second_block": b, "start": F(1), "example_lr": F(1, 10), "iterations": t}
        for a, b in product(range(1, size + 1), repeat=2)
        for t in range(1, 2 * (a + b) + 1)
    )
    return held_at(ages, claim, every, "exact", "enumeration", domain=f"blocks up to {size}")


@checks(
    paper.thm2_eq11,
    mutants=[*BOUND_MUTANTS, times("bound", 2), put("bound", lr, lr**2), put("bound", block_staleness, 1),
             put("bound", block_staleness, block_staleness - 1), without("step")],
)  # fmt: skip
@rests_on({"step": lr <= 1})
def drift_since_stale(claim: Claim, depth: Depth) -> Evidence:
    """All iterations, T_i = 0 among them; the number of steps of (10) between the two; the same with T_i - 1 >= 0."""
    found = held_at(drifts, claim, points(depth), "exact", "exact orbits", domain=DOMAIN)
    if found.verdict != "exact":
        return found
    before = Tally()
    for point in points(depth):
        where = constants(point)
        path = orbit(*(point[name] for name in SPACE))
        for latest in path.latest[-1]:
            if latest and all(conditions_at(claim, where).values()):
                stated = right_side(claim.bound, where)
                before.at_most(abs(path.z[-2] - path.z[latest - 1]), stated, **point, latest=latest)
    if before.witness:
        return before.evidence("exact", "exact orbits", "", domain=DOMAIN)
    steps = [Step("I steps of (10)", claim.bound.rhs - block_staleness * paper.thm2_eq10.bound.rhs)]  # type: ignore[union-attr]
    proof = algebraic(steps)
    summary = (
        "On every orbit; by (10) these are |t - 1 - T_i| steps, at most I where 0 <= t - T_i <= I, as enumerated. "
        "With x^(T_i - 1), for a client that has taken part, they are t - T_i steps."
    )
    cases = found.cases + before.cases + 1
    return proof if proof.verdict != "proved" else replace(found, summary=summary, cases=cases)
