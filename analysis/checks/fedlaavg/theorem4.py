"""Checks of (50), (52) to (55) and Theorem 4: averages over rounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy
from sympy import Symbol, sqrt

from analysis.checks import CheckBook, Depth, mutate, plus, put, times, without, without_term
from analysis.checks.fedlaavg import seldom
from analysis.checks.fedlaavg.by_rounds import DOMAIN, DRIFTS, LEVEL, MUTANTS, STALE, local_grid
from analysis.checks.fedlaavg.descent import follows, rhs
from analysis.checks.fedlaavg.model import INDEPENDENT_NOISE
from analysis.checks.fedlaavg.sampling import LATE, eq52_trial, in_rounds, reacting, theorem_4_trial
from analysis.checks.fedlaavg.settings import LOCAL, SPACE, run
from analysis.checks.fedlaavg.theorem3 import order_form, together
from analysis.checks.points import tally_of
from analysis.checks.tools import reading, rests_on
from analysis.evidence import Evidence, Tally, conditional, ratio_text
from analysis.trials import Point, Sides, right_side
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import by_rounds as paper
from fltheory.papers.fedlaavg.letters import B, C, E, G, I, L, N, R, gamma, sigma

checks = CheckBook()


def average_trial(claim: Claim, *, stale: bool = False) -> Any:
    @checks.trial(claim, {**SPACE, **LOCAL})
    def averages_over_a_run(claim: Claim, point: Point) -> Sides:
        """The average over rounds of E|grad f(x^(rC-1))|^2, or over iterations of D, with x^(-1) read as x^0: clients
        with f_i' = sign_i * clip(x - centre_i, -cap_i, cap_i), gradient noise +-`noise`.

        `wish` has a number for each round, over again: who is wanted as available, bit i for client i + 1, besides
        those whom Assumption 5 with E = `window` asks for.
        """
        found, steps = run(point), point["local_steps"]
        if not found.bounded:
            return Sides(0, 0, found.constants, found.facts, found.met)
        last = point["rounds"] * steps
        if stale:
            every = [found.terms(t).stale_square for t in range(1, last + 1)]
            left = sum(every) / len(every)
        else:
            ends = [found.clients.gradient(p.x[t - 1]) ** 2 for p in found.paths for t in range(steps, last + 1, steps)]
            left = sum(ends) / len(ends)
        return Sides(left, right_side(claim.bound, found.constants), found.constants, found.facts, found.met)

    return averages_over_a_run


eq50_runs, eq52_runs = average_trial(paper.eq50, stale=True), average_trial(paper.eq52)
repaired_runs = average_trial(paper.thm4_repaired)


@checks(paper.eq50, mutants=[*MUTANTS, put("bound", B, 0), put("bound", R, R**2)])
@reading(INDEPENDENT_NOISE)
def average_of_descents(claim: Claim, depth: Depth) -> Evidence:
    """(49) averaged; its first summands and (46) need their hypotheses."""
    found = follows(claim, rhs(paper.eq49) + 2 * B / (gamma * R * C), "(49) averaged; the decreases telescope")
    if found.verdict != "proved":
        return found
    tally = tally_of(eq50_runs, claim, (p for p in local_grid(depth) if run(p).constants["staleness"] >= 2))
    return conditional(
        tally_of(eq50_runs, claim, [LEVEL]), tally,
        "I >= 2, or else max(I, 2)^2 in the term from (46), as in eq46.repaired", "algebra and enumeration",
        f"(49) averaged. {DRIFTS}From the minimum with I = 0, without noise, the right side is 0. For I >= 2 the "
        f"largest ratio found is {tally.largest:.3g}.", domain=DOMAIN,
    )  # fmt: skip


@checks(paper.eq52, mutants=[*MUTANTS, put("bound", B, 0)])
@reading(INDEPENDENT_NOISE)
def from_50_and_51(claim: Claim, depth: Depth) -> Evidence:
    """(51) averaged with (50) put in; runs; a policy that looks at the samples."""
    found = follows(claim, 2 * ((I + 1) * C * L * gamma * G) ** 2 + 2 * rhs(paper.eq50), "(51) averaged, with (50)")
    if found.verdict != "proved":
        return found
    given = _given(claim, depth)
    return reacting(eq52_trial, claim, {**LATE, "halvings": 10, "iterations": 4000}, depth, given, DOMAIN)


def _given(claim: Claim, depth: Depth) -> Tally:
    """Runs whose availability is given in advance; from the minimum the drift of local steps decides (I = 0)."""
    short = tally_of(eq52_runs, claim, [*local_grid(depth), LEVEL | {"start": 0.0}])
    return together(short, tally_of(seldom.eq52, claim, seldom.LONG))


STEP = gamma < 1 / (2 * L)
SCALE = gamma**2 * C**2 * L**2 * G**2
TERMS = [
    without_term(4 * gamma * sigma**2 * L / N),
    without_term(2 * gamma * I * C * L * (G**2 + sigma**2) / sqrt(N)),
]
DRIFT = without_term((2 * I**2 / (1 - 2 * gamma * L) + 4 * I**2 + 4 * I + 2) * SCALE)


@checks(
    paper.thm4,
    mutants=[
        times("bound", "1/10"), put("bound", B, 0), times("step", 100), times("step", "13/10"), times("step", "7/10"),
        *TERMS, DRIFT, without("range"),
    ],
)  # fmt: skip
@reading(INDEPENDENT_NOISE)
def theorem_4(claim: Claim, depth: Depth) -> Evidence:
    """At the stated step the bound is within the rate; one local step a round, under a policy that looks at the
    samples; runs without one."""
    at_the_step = replace(
        claim, bound=paper.thm4_rate.bound, conditions=claim.conditions, formulas={"step": claim.formulas["step"]}
    )
    wrong = in_rounds(at_the_step, rhs(claim))
    given = _given(claim, depth)
    return wrong or reacting(theorem_4_trial, claim, {**LATE, "rounds": 100_000}, depth, given, DOMAIN)


@checks(paper.thm4_repaired, mutants=[times("bound", "1/10"), put("bound", B, 0), *TERMS, without("step")])
@reading(INDEPENDENT_NOISE)
@rests_on({"step": STEP})
def theorem_4_repaired(claim: Claim, depth: Depth) -> Evidence:
    """The constant from a repaired (46); runs from the first round on."""
    repaired = rhs(paper.eq49) - STALE + 2 * rhs(paper.eq46_repaired)
    derived = 2 * ((I + 1) * C * L * gamma * G) ** 2 + 2 * (repaired + 2 * B / (gamma * R * C))
    for size in (0, 1, 2, 5):
        found = follows_at(claim, derived, size)
        if found.verdict != "proved":
            return found
    tally = together(
        tally_of(repaired_runs, claim, local_grid(depth)), tally_of(seldom.theorem_4_repaired, claim, seldom.LONG)
    )
    summary = f"No violation at {tally.cases} points; largest ratio found {ratio_text(tally.largest, '.6g')}."
    return tally.evidence("supported", "algebra and enumeration", summary, domain=DOMAIN, ratio=True)


def follows_at(claim: Claim, derived: Any, size: int) -> Evidence:
    """The derivation at one staleness, where max(I, 2) is a number."""
    assert claim.bound is not None
    fixed = Symbol("fixed", positive=True)
    difference = (claim.bound.rhs - derived).subs(I, size) * fixed
    zero = sympy.simplify(difference) == 0
    word = "proved" if zero else "refuted"
    return Evidence(word, "algebra", "(49) with a repaired (46), averaged", witness={} if zero else {"I": size})  # type: ignore[arg-type]


@checks(
    paper.eq53,
    mutants=[
        put("order", B, 0), put("order", sigma, 0), plus("order", gamma * sigma**2 * L / N), times("explicit", "7/10"),
        times("explicit", "13/10"), without("step"),
    ],
)  # fmt: skip
def order_of_52(claim: Claim, depth: Depth) -> Evidence:
    """Twelve times (53) against (52)."""
    return order_form(claim, paper.eq52, {C: 1 + Symbol("c", nonnegative=True)}, 12)


@checks(paper.eq55, mutants=[mutate("printed", "as (54)", lambda e: paper.eq55.formulas["(54)"])])
def bracket_of_55(claim: Claim, depth: Depth) -> Evidence:
    """One client, |f'| = 1 all along: the average over the printed order for E = 1, 100, 10^4 and R = 4 E^2."""
    ratios = {}
    for window in (1, 100, 10_000):
        rounds = 4 * window**2
        way = rounds / (2 * (window * rounds) ** 0.5)  # gamma R: the slope is 1 until x comes to 1
        where = {
            E: window,
            R: rounds,
            N: 1,
            L: 1,
            G: 1,
            sigma: 0,
            B: way + 0.5,
            Symbol("selected_share", positive=True): 1,
        }
        ratios[window] = float(1 / claim.formulas["printed"].subs(where))
    if ratios[10_000] < 3 * ratios[1]:
        return Evidence("exact", "exact runs", f"Ratios {_rounded(ratios)} to the order.", "E up to 10^4", 3)
    printed, meant = claim.formulas["printed"], claim.formulas["(54)"]
    if sympy.simplify(printed.subs(B, sympy.sqrt(E) * B) - meant) != 0:
        summary = "The two differ by more than the terms that sqrt(E) multiplies."
        return Evidence("refuted", "algebra", summary, witness={"printed": str(printed), "(54)": str(meant)})
    return Evidence(
        "inconsistent", "exact runs", "sqrt(E) multiplies the whole bracket in (54). As printed the order cannot hold "
        f"uniformly in E: the average is {_rounded(ratios)} times it for E = 1, 100, 10^4.",
        witness={"N = K = C": 1, "f'": "clip(x, -1, 1)", "R": "4 E^2", "x^0": "sqrt(E) + 1",
                 "ratios": _rounded(ratios)},
    )  # fmt: skip


def _rounded(ratios: dict[int, float]) -> str:
    return ", ".join(f"{ratio:.3g}" for ratio in ratios.values())
