"""Checks of (21) to (32): where each constant comes from, and exact expectations of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sympy import Symbol, integrate, sqrt

from analysis.checks import CheckBook, Depth, Mutant, mutate, plus, put, times
from analysis.checks.fedlaavg import model
from analysis.checks.fedlaavg.model import INDEPENDENT_NOISE
from analysis.checks.fedlaavg.settings import GRID, READING, SPACE, grid, run
from analysis.checks.points import tally_of
from analysis.checks.tools import rational_sample, reading
from analysis.evidence import Evidence, Tally, algebra, conditional
from analysis.trials import Point, Sides, assumed, right_side
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import iterations as paper
from fltheory.papers.fedlaavg.letters import A, B, D, G, I, L, N, T, gamma, sigma

checks = CheckBook()

root_n = Symbol("root_n", positive=True)
STALE = (I * L * gamma * G) ** 2  # Lemma 4 with t - t0 = I


def rhs(claim: Claim) -> Any:
    assert claim.bound is not None
    return claim.bound.rhs


def follows(claim: Claim, derived: Any, how: str) -> Evidence:
    """Whether the bound is what the derivation gives, as a rational function of sqrt(N) and the other letters."""
    residual = (rhs(claim) - derived).subs(N, root_n**2)
    return algebra([Step(how, residual)], "proved", how, sample=rational_sample)


Left = Callable[[model.Terms, Any], Any]


def step_trial(claim: Claim, left: Left) -> Any:
    """A claim about the last iteration of a run; x^(-1) read in one of two ways where it occurs."""

    @checks.trial(claim, {**SPACE, **READING})
    def last_iteration_of_a_run(claim: Claim, point: Point) -> Sides:
        """Clients with f_i' = sign_i * clip(x - centre_i, -cap_i, cap_i), gradient noise +-`noise`, at the last
        iteration, t = `rounds`; lists that are too short begin again.

        `wish` has a number for each iteration, over again: who is wanted as available, bit i for client i + 1. Clients
        whom Assumption 4 with E = `window` still asks for are added; `cohort_size` of the available ones take part,
        or all if they are fewer. Expectations are over all noise paths.
        """
        found, step, t = run(point), point["local_lr"], point["rounds"]
        facts = {name: holds for name, holds in found.facts.items() if name != "f has a minimum"}
        if not found.paths:
            return Sides(0, 0, found.constants, facts, found.met)
        terms = found.terms(t, zero=point["x^(-1)"] == "gradient 0")
        where = found.constants | {"stale_mean_square": terms.stale_mean_square, "stale_square": terms.stale_square}
        return Sides(left(terms, step), right_side(claim.bound, where), where, facts, found.met)

    return last_iteration_of_a_run


TRIALS: dict[str, Any] = {
    claim.id: step_trial(claim, left)
    for claim, left in (
        (paper.eq22, lambda e, g: e.step_square),
        (paper.eq24, lambda e, g: e.first),
        (paper.eq25, lambda e, g: e.second),
        (paper.eq27, lambda e, g: e.mismatch),
        (paper.eq28, lambda e, g: e.inner + g**2 * e.stale_mean_square + g / 2 * e.stale_square),
        (paper.eq29, lambda e, g: e.descent + g / 2 * e.stale_square),
        (paper.eq30, lambda e, g: e.stale_square + 2 / g * e.descent),
        (paper.eq32, lambda e, g: e.current),
    )
}

# f_1' = -1 and f_2' = 2 wherever the iterates are; client 1 is first, t = 1 < I
FIRST = {
    "centres": (3.0, -3.0), "caps": (1.0, 2.0), "signs": (1,), "start": 0.0, "local_lr": 0.01, "noise": 0,
    "cohort_size": 1, "window": 2, "wish": (1,), "rounds": 1,
}  # fmt: skip
# f_1' = -1, f_2' = 1: at x^(-1) = x^0 the mean stale gradient vanishes, while client 1 moves the model
OPPOSED = {**FIRST, "caps": (1.0, 1.0)}
# 64 clients one after another, two thirds of them with f_i' about 2, the others, still to come, with -2
CROWD = {
    **FIRST, "centres": (-2.0,) * 43 + (2.0,) * 21, "caps": (2.01,), "local_lr": 1e-5, "window": 1, "rounds": 43,
}  # fmt: skip


def early(claim: Claim) -> Iterator[dict[str, Any]]:
    for point in (FIRST, OPPOSED, CROWD):
        for first in ("x^0", "gradient 0"):
            yield {**point, "x^(-1)": first}


def late(depth: Depth) -> Iterator[dict[str, Any]]:
    """Points of the grid at which everybody has taken part."""
    for point in grid(depth):
        if min(run(point).participation.latest[-1]) >= 1:
            yield {**point, "x^(-1)": "x^0"}


def in_two_phases(claim: Claim, depth: Depth, derived: Any, how: str) -> Evidence:
    """The derivation, then runs: all iterations, and those in which everybody has taken part."""
    found = follows(claim, derived, how)
    if found.verdict != "proved":
        return found
    trial = TRIALS[claim.id]
    stated, rest = tally_of(trial, claim, early(claim)), tally_of(trial, claim, late(depth))
    if rest.witness or not stated.witness:
        return rest.evidence("exact", "enumeration", "", domain=GRID, ratio=True)
    return conditional(
        stated, rest, "every client has taken part (t > I), and availability does not depend on the samples",
        "algebra and enumeration", f"{how}. Until every client has taken part x^(-1), which is not defined, enters; "
        f"afterwards the largest ratio found is {rest.largest:.3g}.", domain=GRID,
    )  # fmt: skip


MUTANTS: list[Mutant] = [times("bound", "1/2"), mutate("bound", "G to the third", lambda e: e.subs(G, G**3))]
WITH_A = [times("bound", "1/2"), mutate("bound", "without A", lambda e: e.subs(A, 0))]


@checks(paper.eq21, mutants=[times("factor", 2), times("factor", "1/2"), put("factor", L, L**2)])
def descent_lemma(claim: Claim, depth: Depth) -> Evidence:
    """The integral of <grad f(u + s h) - grad f(u), h>, at most L s |h|^2, over s in [0, 1]."""
    s = Symbol("s", positive=True)
    steps = [Step("integral of L s over [0, 1]", integrate(L * s, (s, 0, 1)) - claim.formulas["factor"])]
    summary = "Along the segment from u to v, by Assumption 1 and Cauchy-Schwarz."
    return algebra(steps, "proved", summary, sample=rational_sample)


@checks(paper.eq22, mutants=WITH_A)
@reading(INDEPENDENT_NOISE)
def squared_step(claim: Claim, depth: Depth) -> Evidence:
    """|a + b|^2 <= 2|a|^2 + 2|b|^2 with Lemmas 2 and 3 for the first."""
    return in_two_phases(claim, depth, 2 * gamma**2 * (sigma**2 / N + A), "|a + b|^2 <= 2|a|^2 + 2|b|^2")


@checks(paper.eq23, mutants=[times("sum", 2), put("sum", Symbol("g"), 0)])
def decomposition(claim: Claim, depth: Depth) -> Evidence:
    """<now, g>, coordinate by coordinate."""
    steps = [Step("the three cross terms add up to <now, g>", claim.formulas["sum"] - Symbol("now") * Symbol("g"))]
    return algebra(steps, "proved", "Symbolic identity.", sample=rational_sample)


def young(a_square: Any, b_square: Any, weight: Any) -> Any:
    """|<a, b>| <= weight a^2/2 + b^2/(2 weight), the remainder being a square."""
    return weight * a_square / 2 + b_square / (2 * weight)


@checks(paper.eq24, mutants=MUTANTS)
@reading(INDEPENDENT_NOISE)
def first_cross_term(claim: Claim, depth: Depth) -> Evidence:
    """Young's inequality with the weight 1/(gamma I L sqrt N)."""
    derived = gamma * young(STALE, sigma**2 / N, 1 / (gamma * I * L * sqrt(N)))
    return in_two_phases(claim, depth, derived, "Young's inequality with weight 1/(gamma I L sqrt N)")


@checks(paper.eq25, mutants=[*WITH_A, MUTANTS[1]])
def second_cross_term(claim: Claim, depth: Depth) -> Evidence:
    """Young's inequality with the weight 1/(1 - 2 gamma L)."""
    derived = gamma * young(STALE, A, 1 / (1 - 2 * gamma * L))
    return in_two_phases(claim, depth, derived, "Young's inequality with weight 1/(1 - 2 gamma L)")


@checks(paper.eq26, mutants=[times("polarised", 2), plus("share of errors", 1)])
def third_cross_term(claim: Claim, depth: Depth) -> Evidence:
    """The polarisation identity, and E<old, gradient errors> = 0 in runs in which everybody has taken part."""
    old, mean = Symbol("old"), Symbol("mean")
    found = algebra(
        [Step("polarisation", claim.formulas["polarised"] - old * mean)], "proved", "", sample=rational_sample
    )
    if found.verdict != "proved":
        return found
    stated, rest = Tally(slack=1e-9), Tally(slack=1e-9)
    for points, tally in ((early(claim), stated), (late(depth), rest)):
        for point in points:
            done = run(point)
            e = done.terms(point["rounds"], zero=point["x^(-1)"] == "gradient 0")
            polarised = (e.stale_square + e.stale_mean_square - e.mismatch) / 2
            share = float(claim.formulas["share of errors"])
            where = {**point, **assumed(claim, done.met)}
            tally.equal(e.third, polarised + share, beside=1, **where)
    return conditional(
        stated, rest, "every client has taken part (t > I), and availability does not depend on the samples",
        "algebra and enumeration", "Polarisation is an identity; the errors drop out of the mean once everybody has "
        "taken part.",
        domain=f"{GRID}; `signs` begin again if they are too few; `wish` has a number for each iteration: who is "
        "wanted as available, bit i for client i + 1; the left side is the mean product, the right side D/2 + A/2 less "
        "half the mean squared difference",
    )  # fmt: skip


@checks(paper.eq27, mutants=[times("bound", "1/1000"), put("bound", L, L**2)])
def stale_gradients(claim: Claim, depth: Depth) -> Evidence:
    """Lemma 4 for each client, averaged."""
    return in_two_phases(claim, depth, STALE, "Lemma 4 with at most I iterations between, averaged over clients")


@checks(paper.eq28, mutants=MUTANTS)
@reading(INDEPENDENT_NOISE)
def inner_product(claim: Claim, depth: Depth) -> Evidence:
    """(24) + (25) - gamma (26), with (27)."""
    third = D / 2 + A / 2 - rhs(paper.eq27) / 2
    derived = rhs(paper.eq24) + rhs(paper.eq25) - gamma * third + gamma**2 * L * A + gamma * D / 2
    return in_two_phases(claim, depth, derived, "(24) + (25) - gamma (26), with (27)")


@checks(paper.eq29, mutants=[*MUTANTS, put("bound", sigma, 0)])
@reading(INDEPENDENT_NOISE)
def descent_of_an_iteration(claim: Claim, depth: Depth) -> Evidence:
    """(28) + (L/2) (22)."""
    derived = rhs(paper.eq28) - gamma**2 * L * A + L / 2 * rhs(paper.eq22)
    return in_two_phases(claim, depth, derived, "(28) + (L/2) (22)")


@checks(paper.eq30, mutants=[*MUTANTS, put("bound", sigma, 0)])
@reading(INDEPENDENT_NOISE)
def descent_rearranged(claim: Claim, depth: Depth) -> Evidence:
    """(29) times 2/gamma."""
    return in_two_phases(claim, depth, 2 / gamma * rhs(paper.eq29), "(29) times 2/gamma")


@checks(paper.eq32, mutants=[times("bound", "1/2"), put("bound", D, 0)])
def current_gradient(claim: Claim, depth: Depth) -> Evidence:
    """|a + b|^2 <= 2|a|^2 + 2|b|^2 with Corollary 2."""
    return in_two_phases(claim, depth, 2 * STALE + 2 * D, "|a + b|^2 <= 2|a|^2 + 2|b|^2 with Corollary 2")


@checks.trial(paper.eq31, SPACE)
def average_of_stale_gradients(claim: Claim, point: Point) -> Sides:
    """The average of D over a run of `rounds` iterations, x^(-1) read as x^0: clients with f_i' = sign_i *
    clip(x - centre_i, -cap_i, cap_i), gradient noise +-`noise`.

    `wish` has a number for each iteration, over again: who is wanted as available, bit i for client i + 1, besides
    those whom Assumption 4 with E = `window` asks for.
    """
    found = run(point)
    if not found.bounded:
        return Sides(0, 0, found.constants, found.facts, found.met)
    every = [found.terms(t).stale_square for t in range(1, point["rounds"] + 1)]
    return Sides(
        sum(every) / len(every), right_side(claim.bound, found.constants), found.constants, found.facts, found.met
    )


@checks(paper.eq31, mutants=[*MUTANTS, put("bound", B, 0), put("bound", T, T**2)])
@reading(INDEPENDENT_NOISE)
def average_of_descents(claim: Claim, depth: Depth) -> Evidence:
    """(30) summed: the decreases telescope to at most B. It is summed from t = 1, where (30) needs its hypothesis."""
    found = follows(claim, rhs(paper.eq30) + 2 * B / (gamma * T), "(30) averaged; the decreases telescope")
    if found.verdict != "proved":
        return found
    tally = tally_of(average_of_stale_gradients, claim, grid(depth))
    if tally.witness:
        return tally.evidence("exact", "enumeration", "", domain=GRID)
    witness = tally_of(TRIALS[paper.eq30.id], paper.eq30, early(claim)).witness
    return Evidence(
        "conditional", "algebra and enumeration",
        f"(30) averaged. Its first summands need the hypothesis of (30); no violation of the average is known, the "
        f"largest ratio found is {tally.largest:.3g}.",
        GRID, tally.cases, hypothesis="the sum starts where every client has taken part (t > I)", witness=witness,
    )  # fmt: skip
