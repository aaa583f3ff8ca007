"""Checks of Theorem 3, (33) and what follows from them: derivations, runs, and a policy that looks at the samples."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from fractions import Fraction as F
from typing import Any

import sympy
from sympy import Rational, Symbol, sqrt

from analysis.checks import CheckBook, Depth, mutate, plus, put, summands, times, without, without_term
from analysis.checks.certificates import below_one, chain, nonnegative
from analysis.checks.fedlaavg import model, seldom
from analysis.checks.fedlaavg.descent import follows, rhs
from analysis.checks.fedlaavg.model import INDEPENDENT_NOISE, Clients, traces
from analysis.checks.fedlaavg.sampling import (
    CHAIN_RUN,
    HYPOTHESIS,
    KNOWN,
    LATE,
    corollary_1_on_the_chain,
    eq33_trial,
    reacting,
    theorem_3_trial,
)
from analysis.checks.fedlaavg.settings import GRID, SPACE, grid, run
from analysis.checks.points import held_at, tally_of, value_of, witnessed
from analysis.checks.tools import gives, rational_sample, reading, rests_on
from analysis.evidence import Evidence, Tally, algebra, ratio_text
from analysis.letters import in_text
from analysis.trials import Point, Sides, exact_value, right_side, stated
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import iterations as paper
from fltheory.papers.fedlaavg import sharper
from fltheory.papers.fedlaavg.letters import B, C, G, I, L, N, T, gamma, sigma

checks = CheckBook()

n, u = Symbol("root_n", positive=True), Symbol("u", positive=True)
STALE = (I * L * gamma * G) ** 2


def average_trial(claim: Claim, *, late: bool = False) -> Any:
    @checks.trial(claim, SPACE)
    def gradients_along_a_run(claim: Claim, point: Point) -> Sides:
        """The average of E|grad f(x^(t-1))|^2 over a run whose availability is given in advance."""
        found = run(point)
        first = found.constants["staleness"] + 1 if late else 1
        facts = found.facts | ({"T > I": point["rounds"] >= first} if late else {})
        if not found.bounded or point["rounds"] < first:
            return Sides(0, 0, found.constants, facts, found.met)
        left = mean_gradient(found.clients, found.paths, range(first, point["rounds"] + 1))
        return Sides(left, right_side(claim.bound, found.constants), found.constants, facts, found.met)

    return gradients_along_a_run


def mean_gradient(clients: model.Clients, paths: list[model.Trace], iterations: range) -> Any:
    """E|grad f(x^(t-1))|^2, averaged over some iterations."""
    total = sum(clients.gradient(path.x[t - 1]) ** 2 for path in paths for t in iterations)
    return total / (len(paths) * len(iterations))


thm3_runs, eq33_runs = average_trial(paper.thm3), average_trial(paper.eq33)
late_runs = average_trial(paper.thm3_repaired, late=True)


@checks.trial(paper.thm3_full, {name: SPACE[name] for name in SPACE if name not in ("cohort_size", "window", "wish")})
def gradients_of_everybody(claim: Claim, point: Point) -> Sides:
    """K = N and E = 1."""
    everybody = {"cohort_size": len(point["centres"]), "window": 1, "wish": (15,)}
    found = run({**point, **everybody})
    if not found.bounded:
        return Sides(0, 0, found.constants, found.facts, found.met)
    left = mean_gradient(found.clients, found.paths, range(1, point["rounds"] + 1))
    return Sides(left, right_side(claim.bound, found.constants), found.constants, found.facts, found.met)


NOISE, CORRELATED = 4 * gamma * sigma**2 * L / N, 2 * gamma * I * L * (G**2 + sigma**2) / sqrt(N)
NEEDED = [without_term(NOISE), without_term(CORRELATED), without("step")]
AVERAGE_MUTANTS = [
    times("bound", "1/10"), put("bound", B, 0), mutate("bound", "without T", lambda e: e.subs(T, T**3)), *NEEDED,
]  # fmt: skip


def _less(term: Any, times: int) -> Any:
    """What turns a bound into one with that fraction of a term."""
    return lambda bound: bound - term + term / times


def together(first: Tally, second: Tally) -> Tally:
    """Two tallies of one claim as one."""
    larger = max(first, second, key=lambda tally: tally.largest)
    return Tally(0.0, first.cases + second.cases, larger.largest, first.witness or second.witness, larger.largest_at)


@checks(
    paper.thm3,
    mutants=[*AVERAGE_MUTANTS, put("bound", B, B / 2), mutate("bound", "a quarter of the noise", _less(NOISE, 4)),
             mutate("bound", "half of the correlated term", _less(CORRELATED, 2)), without_term(4 * STALE)],
)  # fmt: skip
@reading(INDEPENDENT_NOISE)
def theorem_3(claim: Claim, depth: Depth) -> Evidence:
    """Exact moments under a policy that looks at the noise, in rationals. With availability given in advance the bound
    of (33) follows from thm3.improved, which has smaller constants; and runs."""
    derived = follows(claim, 2 * STALE + 2 * rhs(paper.eq31), "the bound of (33): (32) averaged, with (31)")
    if derived.verdict != "proved":
        return derived
    short = {gamma: below_one() / (2 * L), N: n**2}
    implied = chain([nonnegative("not below thm3.improved", rhs(claim) - rhs(sharper.thm3_improved), short)], "")
    if implied.verdict != "proved":
        return implied
    given = together(tally_of(thm3_runs, claim, grid(depth)), tally_of(seldom.theorem_3, claim, seldom.LONG))
    found = witnessed(theorem_3_trial, claim, KNOWN, "")
    if given.witness or found.verdict != "refuted":
        return reacting(theorem_3_trial, claim, {**LATE, "halvings": 10, "iterations": 2500}, depth, given, GRID)
    free = reacting(theorem_3_trial, claim, {**LATE, "halvings": 10, "iterations": 2500}, depth, given, GRID)
    if free.verdict != "conditional":
        return free
    return Evidence(
        "conditional", "exact witness, algebra and enumeration",
        "The bound can fail if availability looks at the samples: with two clients, one of them taken at a time, "
        f"{found.largest:.4g} times the bound. Given in advance, the bound is not below that of thm3.improved; "
        f"the largest ratio found is {given.largest:.3g}.",
        free.domain, free.cases + len(derived.steps) + len(implied.steps), hypothesis=HYPOTHESIS, witness=found.witness,
        steps=(*derived.steps, *implied.steps),
    )  # fmt: skip


@checks(paper.eq33, mutants=[*AVERAGE_MUTANTS, put("bound", sigma, 0)])
@reading(INDEPENDENT_NOISE)
def from_31_and_32(claim: Claim, depth: Depth) -> Evidence:
    """(32) averaged with (31) put in; runs from the first iteration on."""
    derived = 2 * STALE + 2 * rhs(paper.eq31)
    found = follows(claim, derived, "(32) averaged, with (31)")
    if found.verdict != "proved":
        return found
    given = together(tally_of(eq33_runs, claim, grid(depth)), tally_of(seldom.eq33, claim, seldom.LONG))
    return reacting(eq33_trial, claim, {**LATE, "halvings": 10, "iterations": 2500}, depth, given, GRID)


def _held(claim: Claim, *tried: tuple[Any, Iterable[Any]]) -> Evidence:
    """Points of several trials, and which terms of the bound they do without one at a time."""
    kept = [(trial, list(points)) for trial, points in tried]

    def found(of: Claim) -> Tally:
        first, *rest = (tally_of(trial, of, points) for trial, points in kept)
        return functools.reduce(together, rest, first)

    tally = found(claim)
    form = in_text(claim)
    spare = (
        [] if tally.witness else [form(t) for t in summands(claim) if not found(without_term(t).apply(claim)).witness]
    )
    summary = f"No violation at {tally.cases} points; largest ratio found {ratio_text(tally.largest, '.6g')}."
    if spare:
        summary += f" Without one of these terms none is found either: {'; '.join(spare)}."
    return tally.evidence("exact", "enumeration", summary, domain=f"{GRID}; {seldom.DOMAIN}", ratio=True)


@checks(paper.thm3_repaired, mutants=[times("bound", "1/10"), put("bound", B, 0), *NEEDED, without("horizon")])
@reading(INDEPENDENT_NOISE)
@rests_on({"step": gamma < 1 / (2 * L), "horizon": T > I})
def after_the_first_phase(claim: Claim, depth: Depth) -> Evidence:
    """The constants from (30) and (32) summed over t > I; and runs."""
    late = (sqrt(B) + gamma * I * G * sqrt(L / 2)) ** 2
    derived = 2 * STALE + 2 * rhs(paper.eq30) + 4 * late / (gamma * (T - I))
    residual = sympy.expand(rhs(claim) - derived).subs(N, n**2)
    steps = [Step("(30) and (32) summed over t > I, with B_I for B", sympy.simplify(residual))]
    grown = Symbol("grown", nonnegative=True)  # gamma I G: how far x^I can be from x^0, in the mean square
    steps.append(Step("f(x^I) - f* from f(x^0) - f*: sqrt grows by at most sqrt(L/2) times the way",
                      (sqrt(B) + sqrt(L / 2) * grown) ** 2 - late.subs(gamma * I * G, grown)))  # fmt: skip
    found = algebra(steps, "proved", "", sample=rational_sample)
    if found.verdict != "proved":
        return found
    return _held(claim, (late_runs, grid(depth)), (seldom.theorem_3_repaired, seldom.LONG))


EVERYBODY = GRID + "; K = N, E = 1"


def full_points(depth: Depth) -> Iterator[dict[str, Any]]:
    for point in grid(depth):
        yield {**point, "cohort_size": len(point["centres"]), "window": 1, "noise": 0.0 if point["rounds"] > 2 else 1.0}
        yield {**point, "centres": (0.0,), "cohort_size": 1, "window": 1, "noise": 1.0}


@checks(
    paper.thm3_full,
    mutants=[
        times("bound", "1/10"),
        put("bound", B, 0),
        put("bound", sigma, 0),
        times("rate", "1/2"),
        times("step", 2),
        without("range"),
    ],
)
@reading(INDEPENDENT_NOISE)
@rests_on({"range": gamma <= 1 / (2 * L)})
def full_participation(claim: Claim, depth: Depth) -> Evidence:
    """I = 0 in (33); the stated step; runs with everybody in every iteration."""
    stated = {gamma: claim.formulas["step"]}
    steps = [
        Step("(33) at I = 0", (rhs(paper.eq33).subs(I, 0) - rhs(claim)).subs(N, n**2)),
        Step("rate at the stated step",
             (rhs(claim).subs(stated) - claim.formulas["rate"]).subs({N: n**2, T: u**2})),
    ]  # fmt: skip
    found = algebra(steps, "proved", "", sample=rational_sample)
    if found.verdict != "proved":
        return found
    points = (
        {name: p[name] for name in gradients_of_everybody.space}
        for p in full_points(depth)
        if p["rounds"] * p["cohort_size"] <= model.MOST_DRAWS or not p["noise"]
    )
    return held_at(
        gradients_of_everybody, claim, points, "exact", "algebra and enumeration", domain=GRID + "; K = N, E = 1"
    )


@checks(paper.thm3_vacuous, mutants=[times("threshold", "9/10"), times("explicit", "1/2")])
def no_information(claim: Claim, depth: Depth) -> Evidence:
    """bound - 6 (gamma I L G)^2 is a sum of nonnegative terms, and 6 threshold^2 = 1."""
    x = gamma * I * L
    rest = (
        4 * gamma * sigma**2 * L / N + 2 * x * (G**2 + sigma**2) / sqrt(N) + 4 * B / (gamma * T)
        + 4 * gamma * L / (1 - 2 * gamma * L) * x**2 * G**2
    )  # fmt: skip
    steps = [
        Step("bound = 6 (gamma I L G)^2 + nonnegative terms",
             (claim.formulas["explicit"] - 6 * x**2 * G**2 - rest).subs(N, n**2)),
        Step("6 threshold^2 = 1", 6 * claim.formulas["threshold"] ** 2 - 1),
    ]  # fmt: skip
    return algebra(steps, "proved", "A sum of nonnegative terms, step below 1/(2L).", sample=rational_sample)


# ---- orders ------------------------------------------------------------------------------------------------


def within_a_multiple(order: Any, bound: Any, factor: int, variables: dict[Any, Any]) -> bool:
    """Whether factor * order - bound is a polynomial with nonnegative coefficients in positive letters.

    `variables` puts N = root_n^2 >= 1 as (1 + m)^2, I = 1 + j or 0, and 1/(1 - 2 gamma L) as 1 + w.
    """
    w = Symbol("w", positive=True)
    gap = (factor * order - bound).subs(1 - 2 * gamma * L, 1 / (1 + w)).subs(variables, simultaneous=True)
    top, bottom = sympy.fraction(sympy.together(sympy.expand(gap)))
    return all(c >= 0 for part in (top, bottom) for c in sympy.Poly(sympy.expand(part)).coeffs())


def order_form(claim: Claim, theorem: Claim, horizon: dict[Any, Any], factor: int) -> Evidence:
    """An order of a theorem's bound that drops terms: within a multiple for I >= 1, and for I = 0 not within any."""
    m, j = Symbol("m", nonnegative=True), Symbol("j", nonnegative=True)
    order, bound, form = claim.formulas["order"], claim.formulas["explicit"], in_text(claim)
    if sympy.simplify((bound - rhs(theorem)).subs(N, n**2)) != 0:
        witness = {"explicit": form(bound), "bound": form(rhs(theorem))}
        return Evidence("refuted", "algebra", f"Not the bound of {theorem.title}.", witness=witness)
    step, longer = gamma < 1 / (2 * L), {gamma: Rational(3, 4), L: 1, I: 1, C: 1, G: 1, N: 1, sigma: 0, B: 0}
    if not gives(claim, step):
        admitted = all(condition.subs(longer) is sympy.true for condition in claim.conditions.values())
        if not admitted or (negative := order.subs(longer)) >= 0:
            return Evidence("not checked", "algebra", f"The conditions do not give {form(step)}.")
        witness = {**{letter.name: value for letter, value in longer.items()}, "order": negative}
        return Evidence("refuted", "algebra", "For a long step the order can be negative.", witness=witness)
    size = {N: (1 + m) ** 2, **horizon}
    for_one = within_a_multiple(order, bound, factor, size | {I: 1 + j})
    lost = (bound - 4 * order).subs({I: 0, B: 0})
    if not for_one:
        return Evidence("refuted", "algebra", f"Not within {factor} times the order for I >= 1.", witness={"I": 1})
    if order.subs({I: 0, B: 0}) != 0 or lost == 0:
        return Evidence("proved", "algebra", f"Within {factor} times the order.", "all I", 2)
    return Evidence(
        "conditional", "algebra",
        f"Within {factor} times the order for I >= 1: a polynomial with nonnegative coefficients. For I = 0 what "
        "the order drops must be kept: the bound is not 0 where the order is.",
        f"all positive constants with {form(step)}", 2, hypothesis="I >= 1",
        witness={"I": 0, "B": 0, "bound": form(lost), "order": 0},
    )  # fmt: skip


@checks(
    paper.eq34,
    mutants=[
        put("order", B, 0), put("order", sigma, 0), plus("order", gamma * sigma**2 * L / N), times("explicit", "7/10"),
        times("explicit", "13/10"), without("step"),
    ],
)  # fmt: skip
def order_of_33(claim: Claim, depth: Depth) -> Evidence:
    """Eight times (34) against (33)."""
    return order_form(claim, paper.thm3, {}, 8)


@checks(paper.eq35, mutants=[plus("I", -1)])
def staleness_in_35(claim: Claim, depth: Depth) -> Evidence:
    """I of (35) against that of Lemma 1, to which it refers."""
    difference = sympy.simplify(claim.formulas["I"] - rhs(paper.lem1))
    if difference == 0:
        return Evidence("proved", "algebra", "That of Lemma 1.", cases=1)
    return Evidence(
        "inconsistent", "algebra", "I is one less in Lemma 1, to which (35) refers; the order is the same.",
        witness={
            "N": 4, "K": 2, "E": 3, **_at_a_step(claim, Rational(1, 8)),
            "I of (35)": exact_value(claim.formulas["I"], _four()),
            "I of Lemma 1": exact_value(rhs(paper.lem1), _four()),
        },
    )  # fmt: skip


def _at_a_step(claim: Claim, step: Any) -> dict[str, Any]:
    """A step size with L = 1, and whether the conditions hold there."""
    return {"gamma L": step, **stated(claim, {"smoothness": 1, "local_lr": step})}


def _four() -> dict[str, int]:
    return {"n_clients": 4, "cohort_size": 2, "window": 3}


@checks(
    paper.eq35,
    mutants=[
        mutate("kept", "at least", lambda c: sympy.Ge(c.lhs, c.rhs)), put("kept", Rational(1, 2), 0),
        mutate("kept", "reversed", lambda c: c.func(c.rhs, c.lhs)),
    ],
)  # fmt: skip
def strict_in_35(claim: Claim, depth: Depth) -> Evidence:
    """1 - 2 gamma L at the largest step that is allowed, and below it."""
    kept = claim.formulas["kept"]
    half = {gamma: 1 / (8 * L)}
    if not kept.subs(half):
        return Evidence(
            "refuted", "algebra", "False at half the largest step.",
            witness={**_at_a_step(claim, Rational(1, 8)), str(kept.lhs): kept.lhs.subs(half)},
        )  # fmt: skip
    if bool(kept.subs(gamma, 1 / (4 * L))):
        return Evidence("proved", "algebra", "Decreasing in gamma, and true at the largest step.", cases=1)
    return Evidence(
        "inconsistent", "algebra", "An equality at gamma = 1/(4L), which is allowed: at least 1/2, not above it.",
        witness={**_at_a_step(claim, Rational(1, 4)), "1 - 2 gamma L": Rational(1, 2)},
    )  # fmt: skip


@checks(paper.cor1_speedup, mutants=[times("horizon", "1/2"), put("horizon", N, N**2), times("second", 2)])
@reading(INDEPENDENT_NOISE)
def from_where_the_first_leads(claim: Claim, depth: Depth) -> Evidence:
    """second/first falls in T and is 1 at the horizon; what bounds the average is Corollary 1."""
    first, second, horizon = (claim.formulas[name] for name in ("first", "second", "horizon"))
    ratio = sympy.powsimp(sympy.simplify(second / first))
    steps = [
        Step("equal at the horizon", sympy.simplify(ratio.subs(T, horizon)) - 1),
        Step("the ratio falls as 1/sqrt(T)", sympy.simplify(ratio * sqrt(T) - ratio.subs(T, 1))),
    ]
    found = algebra(steps, "proved", "", sample=rational_sample)
    if found.verdict != "proved":
        return found
    known = tally_of(corollary_1_on_the_chain, paper.cor1, [{**LATE, "iterations": 100_000}])
    later = {"T >= horizon": known.witness["iterations"] >= value_of(horizon, known.witness)} if known.witness else {}
    return Evidence(
        "conditional", "algebra and exact moments",
        "The comparison of the terms is right, at a fixed share beta (with a fixed K the order grows as N^(1/4)); the "
        f"rate inherits what Theorem 3 needs: otherwise the average can be {known.largest:.4g} times our explicit form "
        "of Corollary 1.", f"all positive constants; the witness: {CHAIN_RUN}", 2, hypothesis=HYPOTHESIS,
        witness={**later, **known.witness},
    )  # fmt: skip


@checks(paper.b3_remark, mutants=[put("norm", N, sqrt(N))])
def norm_of_the_mean_error(claim: Claim, depth: Depth) -> Evidence:
    """sqrt(E|mean error|^2) = sigma/sqrt(N), from Lemma 3 with equal variances, against the order."""
    exact = sigma / sqrt(N)
    growth = sympy.limit((exact / claim.formulas["norm"]).subs(N, u), u, sympy.oo)
    if growth.is_finite and growth != 0:
        return Evidence("proved", "algebra", "The order of sigma/sqrt(N).", cases=1)
    over = (exact / claim.formulas["norm"]).subs({N: 4, sigma: sympy.Symbol("sigma")})
    return Evidence(
        "inconsistent", "algebra", "The squared norm is at most sigma^2/N; the norm is of order 1/sqrt(N), and the "
        "product formed from it uses that.",
        witness={"N": 4, "E|mean error|^2": "sigma^2/4", "norm": "sigma/2", "norm over the order": str(over)},
    )  # fmt: skip


@checks(paper.eq37, mutants=[times("factor", "7/10"), times("factor", "13/10")])
def inner_product_of_everybody(claim: Claim, depth: Depth) -> Evidence:
    """All noise paths of runs in which everybody takes part."""
    clients, tally = Clients((F(-1), F(2)), (F(1), F(3)), (1, 1)), Tally()
    for start, noise, length in ((F(1), F(1), 1), (F(-3), F(2), 2), (F(1, 2), F(1, 2), 3)):
        paths = list(traces(clients, start, F(1, 5), noise, [[0, 1]] * length, 1))
        e = model.terms(clients, paths, length, F(1, 5))
        tally.equal(-e.inner / F(1, 5), F(str(claim.formulas["factor"])) * e.current, t=length)
    return tally.evidence("exact", "enumeration", "Equal.", domain="two clients, t up to 3, all noise paths")
