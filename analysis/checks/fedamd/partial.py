"""Theorem 4.6 (partial participation, anchors every tau rounds) and what follows from it."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import sympy
from sympy import Rational

from analysis.checks import CheckBook, Depth, mutate, plus, put, times, without
from analysis.checks.certificates import Fact, at_most, chain, identity, more_than, nonnegative, proved
from analysis.checks.fedamd import runs
from analysis.checks.fedamd.alike import Period, alike, counted, held_at_corners
from analysis.checks.fedamd.constant import LOCAL
from analysis.checks.fedamd.displacement import rhs
from analysis.checks.fedamd.moments import accumulating, after
from analysis.checks.fedamd.runs import Run
from analysis.checks.fedamd.searching import INDEPENDENT, unbroken
from analysis.checks.points import held_at
from analysis.checks.tools import reading, rests_on
from analysis.domains import Domain, Whole
from analysis.evidence import Evidence, Tally, conditional
from analysis.trials import Point, Sides, right_side
from analysis.trials import stated as stated_conditions
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import A, K, M, accuracy, anchor_noise, b, b_small, eta, gap, tau

checks = CheckBook()
SPACE: dict[str, Domain] = {name: domain for name, domain in runs.SPACE.items() if name != "anchor_probability"} | {
    "anchor_period": Whole(2, 60),
    "rounds": Whole(1, 600),
}


def _over_miner_rounds(claim: Claim, point: Point) -> Sides:
    """E|grad F|^2 over the miner rounds up to T, the anchor rounds left out."""
    run, period, rounds = Run(point), point["anchor_period"], point["rounds"]
    one = point["move"] * 0 + 1
    _, anchor = run.quadratics.round(one)
    _, miner = run.quadratics.round(0 * one)
    none, summed = accumulating(anchor, run.model * 0), accumulating(miner, run.model)
    cycles, rest = divmod(rounds + 1, period)
    state = _cycled(runs.with_zero(run.begin), none, summed, period, cycles)
    if rest:
        state = after(state, [(none, 1), (summed, rest - 1)])
    constants = {**run.constants, "anchor_period": period}
    left = run.curvature**2 * state[-1] / (rounds - rounds // period)
    return Sides(left, right_side(claim.bound, constants), constants, run.facts, run.met)


def _cycled(state: Any, anchor: Any, miner: Any, period: int, cycles: int) -> Any:
    """After whole cycles: one map a cycle in floats, round by round in exact numbers."""
    if state.dtype == object:
        return after(state, [(anchor, 1), (miner, period - 1)] * cycles)
    return after(state, [(np.linalg.matrix_power(miner, period - 1) @ anchor, cycles)])


@checks.trial(fedamd.thm46, SPACE)
def cycles_on_quadratics(claim: Claim, point: Point) -> Sides:
    """Theorem 4.6 on quadratics."""
    return _over_miner_rounds(claim, point)


@checks.trial(fedamd.thm46_repaired, SPACE)
def short_cycles_on_quadratics(claim: Claim, point: Point) -> Sides:
    """The repaired theorem on quadratics."""
    return _over_miner_rounds(claim, point)


def _points(depth: Depth, periods: tuple[int, ...]) -> list[Point]:
    found: list[Point] = []
    for period in periods:
        step = lambda h, size, p, t=period: runs.within(1 / (1 + 2 * len(h) * t / size))  # noqa: E731
        for point in runs.points(depth, step):
            found.append({name: point[name] for name in SPACE if name in point} | {"anchor_period": period})
    return found


NO_GAP = mutate("bound", "no gap", lambda e: e.subs(gap, 0))
NO_NOISE = mutate("bound", "no noise", lambda e: e.subs(fedamd.subsampled, 0))
ASKED = {"period": tau >= 2, "product of steps": eta * fedamd.L * (1 + 2 * M * tau / A) <= 1, **LOCAL}
MUTANTS = [NO_GAP, NO_NOISE, times("bound", F(1, 100)), *(without(name) for name in ASKED)]


@checks(fedamd.thm46, mutants=MUTANTS)
@rests_on(ASKED)
def at_the_printed_step(claim: Claim, depth: Depth) -> Evidence:
    """Declared points at the largest step."""
    return held_at(
        cycles_on_quadratics, claim, _points(depth, (2, 5) if depth == "quick" else (2, 3, 7, 20)),
        summary="No violation on quadratics", domain="1 to 3 clients, tau up to 20, up to 100 rounds",
    )  # fmt: skip


@checks(
    fedamd.thm46,
    mutants=[
        NO_GAP, *(without(name) for name in ASKED),
        *(put("bound", letter, letter**2) for letter in (M, b, K, fedamd.T, fedamd.eta_l)),
    ],
)  # fmt: skip
@rests_on(ASKED)
def with_every_letter_small_and_large(claim: Claim, depth: Depth) -> Evidence:
    """Equal clients, up to 1000 of them, at the largest step."""

    def largest(at: dict[str, Any]) -> float:
        return float(1 / (1 + 2 * at["n_clients"] * at["anchor_period"] / at["cohort_size"]))

    def period(at: dict[str, Any], step: float, noise: float) -> Period:
        anchors = alike(at["n_clients"], at["cohort_size"], 0.0, noise)
        return [(anchors, 1), (counted(alike(at["n_clients"], 0, step)), at["anchor_period"] - 1)]

    return held_at_corners(claim, largest, period)


@checks(fedamd.thm46, mutants=[NO_GAP, *(without(name) for name in ASKED)])
@rests_on(ASKED)
@reading(INDEPENDENT)
def search_over_cycles(claim: Claim, depth: Depth) -> Evidence:
    """A search over problems, periods, steps and noise."""
    return unbroken(cycles_on_quadratics, claim, depth, "Quadratics of up to 3 clients.")


@checks(
    fedamd.thm46_repaired,
    mutants=[*MUTANTS, without("staleness"), times("bound", F(1, 2))],
)
@rests_on(ASKED)
@reading(INDEPENDENT)
def for_a_short_period(claim: Claim, depth: Depth) -> Evidence:
    """One-step descent in miner rounds, with the staleness summed over cycles.

    Staleness starts a cycle with E S sqrt(1-q) times what it was in root mean square, and moves add L times their
    length, so over the miner rounds sum E S <= (4/q^2)(tau - 1)^2 L^2 sum E|move|^2. As for Theorem 4.8 it remains that
    1/gamma - 1 >= 4 c1 (1 + 1/r)(tau - 1)^2 gamma/q^2 at gamma = 1/(1 + 2 tau/q), with c1 (1 + r)/(1 - c2) = 8.
    """
    points = held_at(
        short_cycles_on_quadratics, claim, _points(depth, (2,)), summary="No violation on quadratics",
        domain="1 to 3 clients, tau = 2, up to 100 rounds",
    )  # fmt: skip
    staleness, step = claim.conditions.get("staleness"), claim.conditions.get("product of steps")
    if staleness is None or step is None:
        return proved([Fact("both conditions are stated", False)], points, "")
    counted = fedamd.T - sympy.floor(fedamd.T / tau)
    of_gap = sympy.simplify(rhs(claim).coeff(gap) * eta * counted)
    of_noise = sympy.simplify(rhs(claim).coeff(fedamd.subsampled) * fedamd.subsampled / anchor_noise)
    kept = of_noise * (1 - fedamd.C2) / fedamd.C1 - 1  # r
    q = sympy.Symbol("q", positive=True)
    needed = 4 * fedamd.C1 * (1 + 1 / kept) * (tau - 1) ** 2
    room = ((1 + 2 * tau / q) - 1) * (1 + 2 * tau / q) * q**2  # (1/gamma - 1)/gamma times q^2
    facts = [
        at_most("factor of the initial gap", 2 / (1 - fedamd.C2), of_gap),
        at_most("the noise term leaves room for the staleness", Rational(1, 10), kept),
        nonnegative("the condition covers what is needed", staleness.lhs - needed, {tau: more_than(2)}),
        identity("and no more than the step leaves", room - staleness.rhs.subs(A, q * M)),
        nonnegative("tau = 2 satisfies it", (staleness.rhs - staleness.lhs).subs(tau, 2)),
    ]
    return proved(facts, points, "One-step descent with noise and staleness, summed over cycles.")


# ---- (109), (110), tau = 2 -------------------------------------------------------------------------------


@checks(fedamd.eq109, mutants=[times("printed limit", 2)])
def geometric_sum(claim: Claim, depth: Depth) -> Evidence:
    """The printed limit against the sum itself, three terms at M = 4, A = 2."""
    printed, limit = claim.formulas["printed limit"], claim.formulas["limit"]
    ratio = 1 - A / M
    series = identity("the sum of r^k is r more than r times it", limit - ratio * limit - ratio)
    if not series.holds:
        return chain([series], "")
    if sympy.simplify(printed - limit) == 0:
        return Evidence("proved", "algebra", "The limit is the sum.", cases=1)
    at = {M: 4, A: 2}
    terms = sum(Rational(1, 2) ** k for k in (1, 2, 3))
    where = {"M": 4, "A": 2, "three terms": terms, "printed limit": printed.subs(at), "sum": limit.subs(at)}
    return Evidence(
        "inconsistent", "algebra", f"The limit is M/A (1 - A/M), {sympy.simplify(limit / printed)} times the printed "
        "one.", cases=1, witness=where,
    )  # fmt: skip


@checks(fedamd.eq110, mutants=[put("printed coefficient", tau**2, 2 * tau**2)])
def coefficient_of_the_move(claim: Claim, depth: Depth) -> Evidence:
    """The printed coefficient against that of (99) with (108), which stays positive at the step."""
    f = claim.formulas
    derived = sympy.simplify(f["from (99) and (108)"])
    if sympy.simplify(derived - f["printed coefficient"]) == 0:
        return Evidence("proved", "algebra", "The coefficients agree.", cases=1)
    step = 1 / (fedamd.L * (1 + 2 * M * tau / A) * K * fedamd.eta_s)
    of_periods = [sympy.expand(f[name]).coeff(tau, 2) for name in ("from (99) and (108)", "printed coefficient")]
    proof = chain(
        [
            identity("the rest agrees", (derived - f["printed coefficient"]).subs(tau, 0)),
            identity("the coefficient at the step", derived.subs(fedamd.eta_l, step) - f["at the step"]),
            nonnegative("which is positive", f["at the step"]),
        ],
        "",
    )
    if proof.verdict != "proved":
        return proof
    factor = sympy.simplify(of_periods[0] / of_periods[1])
    summary = f"(110) loses a factor {factor} of (99); the coefficient is positive at the step all the same."
    at = {A: 2, M: 4, K: 1, fedamd.L: 1, fedamd.eta_s: 1, fedamd.eta_l: Rational(1, 100), tau: 2}
    where = {str(letter): value for letter, value in at.items()} | {
        "printed": f["printed coefficient"].subs(at), "from (99) and (108)": derived.subs(at),
    }  # fmt: skip
    return Evidence("inconsistent", "algebra", summary, cases=2, witness=where)


@checks(
    fedamd.tau2,
    mutants=[
        plus("best period", 1),
        plus("real optimum", 1),
        mutate("real optimum", "the other root", lambda e: 2 - e),
        put("rounds", fedamd.participation_ratio, fedamd.participation_ratio / 10),
    ],
)
def fewest_rounds(claim: Claim, depth: Depth) -> Evidence:
    """The rounds are convex in tau, with their least real value at the claimed place and f(2) < f(3)."""
    t, r = fedamd.period, fedamd.participation_ratio
    rounds, best = claim.formulas["rounds"], claim.formulas["best period"]
    above, ratio = more_than(1), more_than(1)
    slope = sympy.simplify(sympy.diff(rounds, t))
    facts = [
        identity(
            "the slope vanishes at the real optimum", sympy.simplify(slope.subs(t, claim.formulas["real optimum"]))
        ),
        Fact("and it is above 1", bool((claim.formulas["real optimum"] - 1).is_positive)),
        nonnegative("convex for tau > 1", sympy.diff(rounds, t, 2), {t: above}),
        nonnegative("f(best) <= f(best + 1)", rounds.subs(t, best + 1) - rounds.subs(t, best), {r: ratio}),
        Fact("the best period is the least that is allowed", best == 2),
    ]
    return chain(facts, "tau = 2 for every M/A >= 1.")


# ---- Corollary 4.7 and its remark ------------------------------------------------------------------------


def _cases(depth: Depth) -> list[dict[Any, int]]:
    return [
        {M: n, A: size, tau: period, b: anchors, K: 10, b_small: small, accuracy: 1}
        for n, size in ((1, 1), (10, 2), (100, 20), (100, 100))
        for period in (2, 3, 5, 8, 20)
        for anchors, small in ((1, 1), (600, 64), (60_000, 64))
    ]


@checks(
    fedamd.cor47,
    mutants=[
        times("largest number of samples", F(1, 6)),
        times("communication", F(1, 6)),
        times("samples", F(7, 10)),
        times("rounds", F(7, 10)),
    ],
)
def costs_of_the_sequential_setting(claim: Claim, depth: Depth) -> Evidence:
    """Both orders with explicit constants; all participants together move A times as many vectors."""
    f, period = claim.formulas, more_than(2)
    size = sympy.Dummy("A", positive=True)
    more = {A: size, M: size + sympy.Dummy("m", nonnegative=True), tau: period}
    facts = [
        identity(
            "rounds, from the bound of Theorem 4.6",
            f["rounds"] - (1 + 2 * M * tau / A) * tau / (tau - 1) / accuracy,
        ),
        identity("gradients of a round", f["samples"] - A * f["rounds"] * (b / tau + (1 - 1 / tau) * K * b_small)),
        nonnegative("samples", sympy.simplify(f["largest number of samples"] - f["samples"]), more),
        nonnegative("vectors of one participant", sympy.simplify(f["communication"] - f["rounds"]), more),
    ]
    found = chain(facts, "")
    if found.verdict != "proved":
        return found
    total = {A: 20, M: 100, tau: 2, accuracy: 1}
    where = {
        "M": 100,
        "A": 20,
        "tau": 2,
        "vectors of all participants": (A * f["rounds"]).subs(total),
        "claimed": f["communication"].subs(total),
        **stated_conditions(claim, {s.name: v for s, v in total.items()}),
    }
    return Evidence(
        "conditional", "algebra", "The orders follow from Theorem 4.6; traffic is counted for one participant.",
        found.domain, 2, hypothesis="communication is counted per participant, and Theorem 4.6", witness=where,
        steps=found.steps,
    )  # fmt: skip


@checks(fedamd.ERR10, mutants=[times("samples", -1), mutate("samples", "per anchor", lambda e: e.subs(b, b / 10**6))])
def samples_and_the_period(claim: Claim, depth: Depth) -> Evidence:
    """The exact count from tau to tau + 1: it grows for b <= K b', and can fall for larger anchor batches."""
    samples = claim.formulas["samples"]
    counted = chain([identity("the samples of Corollary 4.7", samples - fedamd.cor47.formulas["samples"])], "")
    if counted.verdict != "proved":
        return counted
    stated, small = Tally(sides=("samples at tau", "samples at tau + 1")), Tally()
    for case in _cases(depth):
        now, later = samples.subs(case), samples.subs({**case, tau: case[tau] + 1})
        where = {s.name: v for s, v in case.items()}
        stated_at = stated_conditions(claim, where)
        for tally in (stated, *([small] if case[b] <= case[K] * case[b_small] else [])):
            tally.at_most(now, later, **where, **stated_at)
    return conditional(
        stated, small, "b <= K b' (which is enough), or the order of Corollary 4.7", "exact arithmetic",
        "With anchor batches far above K b' a longer period saves samples.",
        domain="M up to 100, tau up to 20, b up to 60 000",
    )  # fmt: skip
