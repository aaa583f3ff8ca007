"""Checks of Theorem 1: FedAvg on Example 1, in closed form and by the library's FedAvg in rationals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from itertools import product
from typing import Any

import sympy
from sympy import Interval, Rational, Symbol, oo

from analysis.checks import CheckBook, Depth, Mutant, mutate, plus, put, times
from analysis.checks.tools import at, rational_sample
from analysis.evidence import Evidence, Tally, algebra
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import example1 as paper
from fltheory.papers.fedlaavg.letters import e1, e2, lr, periods, start, t1, t2
from sims.algorithms import fedavg, fedprox
from sims.exact import Engine, Setting
from sims.problems.quadratic import DiagonalQuadratic, example_1
from sims.scenarios import average_participating, schedule, weighted

checks = CheckBook()

x = paper.x
averaging: Any = average_participating
TIMES = ((3, 1), (2, 5), (4, 4))
CASES = ((F(1, 10), F(1), F(-1)), (F(1, 4), F(4), F(-3)), (F(3, 4), F(0), F(2)))


def turns(first: int, second: int) -> Any:
    """Client 1 for some rounds, client 2 for some; the server averages who takes part."""
    rows = [[True, False]] * first + [[False, True]] * second
    return weighted(schedule(rows), averaging)


def settled(times: tuple[int, int], centres: tuple[F, F], step: F, local: int = 1, proximal: F | int = 0) -> F:
    """What the library's FedProx (FedAvg if proximal = 0) settles at, at the ends of periods."""
    hyper = fedprox.Hyper(step, proximal, 1, local)
    engine = Engine(Setting(fedprox.fedprox, example_1(centres), hyper, [0]), turns(*times))
    value: F = engine.limit_cycle()[0].mean("x")[0]
    return value


def block(claim: Claim, count: Any, mean: Any, who: str) -> Evidence:
    """A closed form after `count` steps towards a mean, by induction on the number of steps."""
    iterate = claim.formulas["iterate"]
    steps = [
        Step(f"0 iterations of {who} leave x", iterate.subs(count, 0) - x),
        Step(
            "one more iteration is one more step", iterate.subs(count, count + 1) - iterate + 2 * lr * (iterate - mean)
        ),
    ]
    return algebra(steps, "proved", "By induction on the length of the block.", sample=rational_sample)


@checks(paper.eq1, mutants=[put("iterate", t1, t1 + 1), put("iterate", lr, 2 * lr), plus("iterate", 1)])
def first_block(claim: Claim, depth: Depth) -> Evidence:
    """Equation (1) by induction."""
    return block(claim, t1, e1, "client 1")


@checks(paper.eq2, mutants=[put("iterate", t2, t2 + 1), put("iterate", e2, e1), plus("iterate", 1)])
def second_block(claim: Claim, depth: Depth) -> Evidence:
    """Equation (2) by induction."""
    return block(claim, t2, e2, "client 2")


KEPT = 1 - 2 * lr  # of the distance from the client's mean, in a step
PERIOD = KEPT**t2 * (KEPT**t1 * (x - e1) + e1 - e2) + e2


def _keeping(kept: Any) -> Mutant:
    """Every formula with another factor of a step."""

    def apply(claim: Claim) -> Claim:
        return replace(claim, formulas={name: f.xreplace({KEPT: kept}) for name, f in claim.formulas.items()})

    return Mutant(f"a step keeps {kept}", apply)


@checks(
    paper.thm1_rec,
    mutants=[
        put("next", t2, t2 + 1), plus("next", 1), put("after k", periods, periods + 1), times("after k", 2),
        _keeping(2 - 2 * lr),
    ],
)  # fmt: skip
def recursion(claim: Claim, depth: Depth) -> Evidence:
    """Two blocks of steps give the recursion; the closed form starts at x^0 and follows it."""
    after, following = claim.formulas["after k"], claim.formulas["next"]
    alone = following.subs(t2, 0)
    steps = [
        Step("no iterations leave x", alone.subs(t1, 0) - x),
        Step("before client 2, one more iteration of client 1 is one more step",
             alone.subs(t1, t1 + 1) - alone + 2 * lr * (alone - e1)),
        Step("one more iteration of client 2 is one more step",
             following.subs(t2, t2 + 1) - following + 2 * lr * (following - e2)),
        Step("k = 0", after.subs(periods, 0) - start),
        Step("k -> k + 1", after.subs(periods, periods + 1) - following.subs(x, after)),
    ]  # fmt: skip
    return algebra(steps, "proved", "By induction on both blocks, and on k.", sample=rational_sample)


def _fixed_point(claim: Claim) -> Evidence:
    steps = [Step("X is the fixed point of a period", PERIOD.subs(x, claim.formulas["X"]) - claim.formulas["X"])]
    return algebra(steps, "proved", "", sample=rational_sample)


def _range(claim: Claim) -> Any:
    """The step sizes that the claim is about, as a set."""
    step = claim.conditions.get("step", sympy.true)
    plain = Symbol("step", real=True)
    return Interval.open(0, oo) & (step.subs(lr, plain).as_set() if step != sympy.true else sympy.S.Reals)


@checks(
    paper.thm1_X,
    mutants=[put("X", t1, t1 + 1), times("X", 2), mutate("step", "up to 3/2", lambda c: lr < Rational(3, 2))],
)
def converges_to_x(claim: Claim, depth: Depth) -> Evidence:
    """X is the fixed point, and a period contracts where |1 - 2 gamma| < 1, that is on (0, 1)."""
    found = _fixed_point(claim)
    if found.verdict != "proved":
        return found
    asked = _range(claim)
    if not asked.is_subset(Interval.open(0, 1)):
        witness = {"step": 1, "t1": 1, "t2": 1, "factor of a period": 1}
        return Evidence("refuted", "algebra", "At step 1 the distance from X keeps its size.", witness=witness)
    summary = "Fixed point of the period map, which contracts by (1 - 2 gamma)^n, of size below 1 for 0 < gamma < 1."
    return Evidence("proved", "algebra", summary, f"{asked.inf} < gamma < {asked.sup}", 2)


@checks(
    paper.thm1_X_improved,
    mutants=[
        put("X", t1, t1 + 1),
        mutate("step", "up to 3/2", lambda c: lr < Rational(3, 2)),
        mutate("step", "up to 1/2", lambda c: lr < Rational(1, 2)),
    ],
)
def converges_exactly_there(claim: Claim, depth: Depth) -> Evidence:
    """|1 - 2 gamma| < 1 is 0 < gamma < 1, no more and no less; the library settles at X between 1/2 and 1 too."""
    found = _fixed_point(claim)
    if found.verdict != "proved":
        return found
    asked = _range(claim)
    if asked != Interval.open(0, 1):
        return Evidence("refuted", "algebra", "Not the range of contraction.", witness={"stated range": str(asked)})
    for blocks in TIMES:
        value = settled(blocks, (F(1), F(-1)), F(9, 10))
        stated = at(claim.formulas["X"], example_lr=F(9, 10), first_mean=1, second_mean=-1, **_blocks(blocks))
        if value != stated:
            return Evidence(
                "refuted", "exact run", "Another limit.", witness={"t": blocks, "limit": value, "X": stated}
            )
    summary = "The period map has the factor (1 - 2 gamma)^n, and |1 - 2 gamma| < 1 if and only if 0 < gamma < 1."
    return Evidence("proved", "algebra", summary, "all steps; runs at step 9/10", 2 + len(TIMES))


def _blocks(times: tuple[int, int]) -> dict[str, int]:
    return {"first_block": times[0], "second_block": times[1]}


def _expansion() -> tuple[Any, Any]:
    """X = (n1 g + n2 g^2 + ...)/(d1 g + d2 g^2 + ...): its limit and slope at g = 0."""
    u = Symbol("u", real=True)
    numerator, denominator = (part.subs(lr, u) for part in sympy.fraction(paper.X))
    n1, d1 = (sympy.diff(part, u).subs(u, 0) for part in (numerator, denominator))
    n2, d2 = (sympy.diff(part, u, 2).subs(u, 0) / 2 for part in (numerator, denominator))
    return n1 / d1, (n2 * d1 - n1 * d2) / d1**2


@checks(
    paper.thm1_limit,
    mutants=[put("limit", t1, t1 + 1), times("limit", 2), times("slope", 2), times("slope", -1)],
)
def small_steps(claim: Claim, depth: Depth) -> Evidence:
    """L'Hopital for the limit, the next order for the slope; both parts vanish at gamma = 0."""
    limit, slope = _expansion()
    numerator, denominator = sympy.fraction(paper.X)
    steps = [
        Step("numerator is 0 at gamma = 0", numerator.subs(lr, 0)),
        Step("denominator is 0 at gamma = 0", denominator.subs(lr, 0)),
        Step("quotient of derivatives", limit - claim.formulas["limit"]),
        Step("next order", slope - claim.formulas["slope"]),
    ]
    return algebra(steps, "proved", "L'Hopital's rule, with symbolic block lengths.", sample=rational_sample)


@checks(paper.thm1, mutants=[put("limit", t1, t1 + 1), put("limit", e1, e2), put("minimiser", e1, 2 * e1)])
def theorem_1(claim: Claim, depth: Depth) -> Evidence:
    """The library settles at X, X tends to the stated limit, and the stated minimiser is that of f."""
    tally = Tally()
    for blocks, (step, one, two) in product(TIMES, CASES):
        value = settled(blocks, (one, two), step)
        form = at(paper.X, example_lr=step, first_mean=one, second_mean=two, **_blocks(blocks))
        tally.equal(value, form, t=blocks, step=step, e=(one, two))
    if tally.witness:
        return tally.evidence("exact", "exact run", "", domain="")
    objective = paper_objective()
    steps = [
        Step("limit of X as the step vanishes", _expansion()[0] - claim.formulas["limit"]),
        Step("f' = 0 at the minimiser", sympy.diff(objective, x).subs(x, claim.formulas["minimiser"])),
    ]
    return algebra(
        steps,
        "proved",
        f"First periods, then small steps: X by recursion ({tally.cases} exact runs agree), its limit by "
        "L'Hopital's rule. At a fixed step the iterates converge to X.",
        sample=rational_sample,
    )


def paper_objective() -> Any:
    """(1/2) sum (x - e_i)^2, which f is but for a constant."""
    return ((x - e1) ** 2 + (x - e2) ** 2) / 2


@checks(paper.thm1_gap, mutants=[times("gap", 2), put("gap", t1, t1 + 1)])
def distance_from_the_minimum(claim: Claim, depth: Depth) -> Evidence:
    """The gap squared, its distance from |e1 - e2|/2, and its degree in e1 - e2."""
    gap, scale = claim.formulas["gap"], Symbol("scale", positive=True)
    square = sympy.Rational(1, 1) * gap**2
    apart = paper.LIMIT - (e1 + e2) / 2
    steps = [
        Step("square of limit - x*", square.replace(sympy.Abs, lambda inner: inner) - apart**2),
        Step("(e1-e2)^2/4 - gap^2 = (e1-e2)^2 t1 t2/(t1+t2)^2, positive",
             (e1 - e2) ** 2 / 4 - apart**2 - (e1 - e2) ** 2 * t1 * t2 / (t1 + t2) ** 2),
        Step("grows with the means", gap.subs({e1: scale * e1, e2: scale * e2}, simultaneous=True).replace(
            sympy.Abs, lambda inner: inner) ** 2 - scale**2 * apart**2),
    ]  # fmt: skip
    return algebra(
        steps,
        "proved",
        "Less than |e1 - e2|/2 and proportional to it: arbitrarily far through the means alone.",
        sample=rational_sample,
    )


@checks(paper.thm1_rate, mutants=[put("factor", t1, t1 + 1), put("factor", lr, 2 * lr), times("factor", 2)])
def rate_of_a_period(claim: Claim, depth: Depth) -> Evidence:
    """The recursion is affine with this slope, and X is its fixed point."""
    steps = [
        Step("next - X = factor (x - X)", PERIOD - paper.X - claim.formulas["factor"] * (x - paper.X)),
    ]
    return algebra(steps, "proved", "The period map is affine with this slope.", sample=rational_sample)


@checks(
    paper.thm1_general,
    mutants=[put("X", paper.Q3, paper.Q2), times("X", 2), put("factor", paper.steps_taken, paper.steps_taken + 1)],
)
def three_groups_in_turn(claim: Claim, depth: Depth) -> Evidence:
    """The library's FedAvg on three groups of one client, unequal curvatures, one to three local steps."""
    tally, step = Tally(), F(1, 10)
    lengths = {"quick": ((1, 2, 3),), "default": ((1, 2, 3), (2, 2, 1)), "deep": ((1, 2, 3), (2, 2, 1), (5, 1, 4))}
    for blocks, curvatures, local in product(lengths[depth], ((1, 2, 4), (3, 3, 1)), (1, 2, 3)):
        centres = (F(2), F(-1), F(1, 3))
        rows = [[i == who for i in range(3)] for who, count in enumerate(blocks) for _ in range(count)]
        problem = DiagonalQuadratic(list(curvatures), list(centres))
        setting = Setting(fedavg.fedavg, problem, fedavg.Hyper(step, 1, local), [0])
        engine = Engine(setting, weighted(schedule(rows), averaging))
        q = [
            at(claim.formulas["factor"], example_lr=step, curvature=a, steps_taken=count * local)
            for a, count in zip(curvatures, blocks, strict=True)
        ]
        means = dict(zip(("first_mean", "second_mean", "third_mean"), centres, strict=True))
        form = at(claim.formulas["X"], Q1=q[0], Q2=q[1], Q3=q[2], **means)
        tally.equal(engine.limit_cycle()[0].mean("x")[0], form, t=blocks, a=curvatures, C=local)
    return tally.evidence(
        "exact",
        "exact runs",
        "The library's FedAvg settles there.",
        domain="three groups, 1 to 3 local steps, step 1/10",
    )


@checks(paper.thm1_index, mutants=[put("shift", 1, 0)])
def iterations_of_the_display(claim: Claim, depth: Depth) -> Evidence:
    """With the display's indices t_1 - shift of the first t_1 iterations are client 1's; (1) says t_1."""
    shift = claim.formulas["shift"]
    there = paper.eq1.formulas["iterate"].subs(t1, t1 - shift)
    found = algebra(
        [Step("x^(t_1) of the display is that of (1)", there - paper.eq1.formulas["iterate"])],
        "proved",
        "The display and (1) agree.",
        sample=rational_sample,
    )
    if found.verdict != "refuted":
        return found
    return Evidence(
        "inconsistent",
        "algebra",
        "The display starts one iteration late; (1) uses the right iterations.",
        witness={"t1": 1, "x^1 by the display": "not given", "x^1 by (1)": "(1 - 2 gamma)(x^0 - e_1) + e_1"},
    )


@checks(
    paper.fedprox_ex1,
    mutants=[put("factor", paper.local, paper.local + 1), put("factor", paper.proximal, 0), times("factor", 2)],
)
def fedprox_round(claim: Claim, depth: Depth) -> Evidence:
    """One round of the library's FedProx, and what it settles at, in rationals."""
    tally = Tally()
    factor = claim.formulas["factor"]
    for step, mu, local in product((F(1, 100), F(1, 10)), (F(0), F(1), F(1, 100)), (1, 2, 10)):
        q = at(factor, example_lr=step, proximal=mu, local_step_count=local)
        form = (q * 2 - 1 - q**4) / (1 - q**4)  # X with t = (3, 1), e = (1, -1)
        tally.equal(settled((3, 1), (F(1), F(-1)), step, local, mu), form, step=step, mu=mu, C=local)
    small = sympy.diff(factor, lr).subs(lr, 0)
    if not tally.witness and sympy.simplify(small.subs(paper.proximal, 5) - small.subs(paper.proximal, 0)) != 0:
        return Evidence("refuted", "algebra", "the small-step limit depends on mu", witness={"slope": small})
    return tally.evidence(
        "exact", "exact runs", "The library's FedProx settles at X with this factor.",
        domain="t = (3, 1), e = (1, -1), steps 1/100 and 1/10, mu in {0, 1, 1/100}, C in {1, 2, 10}",
    )  # fmt: skip
