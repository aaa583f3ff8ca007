"""Theorem 4.8 (constant anchor probability), its repaired forms, Corollary 4.9, (158) and (162)."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import sympy
from sympy import sqrt

from analysis.checks import CheckBook, Depth, mutate, plus, put, times, without
from analysis.checks.certificates import Fact, at_most, chain, identity, proved
from analysis.checks.fedamd import runs
from analysis.checks.fedamd.alike import Period, counted, held_at_corners, with_chance
from analysis.checks.fedamd.displacement import rhs
from analysis.checks.fedamd.runs import SPACE, Run
from analysis.checks.fedamd.searching import INDEPENDENT, unbroken
from analysis.checks.points import held_at, value_of, witnessed
from analysis.checks.tools import reading, rests_on
from analysis.domains import Domain, Real, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, right_side
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import K, L, L_sigma, T, anchor_noise, b_small, eta, eta_l, gap, moving, p, spread

checks = CheckBook()
SINGLE: dict[str, Domain] = {
    name: domain for name, domain in SPACE.items() if name not in ("local_steps", "noise", "noise_size", "anchor_batch")
}


def _average(claim: Claim, point: Point) -> Sides:
    run = Run(point)
    return Sides(run.average(point), right_side(claim.bound, run.constants), run.constants, run.facts, run.met)


def _single(point: Point) -> Point:
    return {**point, "local_steps": 1, "noise": "anchors", "noise_size": 0, "anchor_batch": 2}


@checks.trial(fedamd.thm48, SINGLE)
def one_local_step_without_noise(claim: Claim, point: Point) -> Sides:
    """K = 1, anchors on all their samples."""
    return _average(claim, _single(point))


@checks.trial(fedamd.thm48, SPACE)
def runs_on_quadratics(claim: Claim, point: Point) -> Sides:
    """Several local steps, with noise of anchors or of local steps."""
    return _average(claim, point)


@checks.trial(fedamd.thm48_proof, SPACE)
def runs_at_the_step_of_the_proof(claim: Claim, point: Point) -> Sides:
    """Several local steps on quadratics, with noise of anchors or of local steps."""
    return _average(claim, point)


@checks.trial(fedamd.thm48_repaired, SPACE)
def runs_at_the_repaired_step(claim: Claim, point: Point) -> Sides:
    """Several local steps on quadratics, with noise of anchors or of local steps."""
    return _average(claim, point)


@checks.trial(fedamd.thm48_improved, SINGLE)
def runs_of_one_local_step(claim: Claim, point: Point) -> Sides:
    """K = 1, anchors on all their samples."""
    return _average(claim, _single(point))


def _step(factor: float) -> Any:
    return lambda h, size, p: runs.within(1 / (1 + factor * runs.ratio(size, len(h), p)))


# what runs and sums of descents rest on, besides the step: local steps no longer than those of `law.local`
MOVES = {"probability": p < 1}
LOCAL = {
    "local step": eta_l <= 1 / (2 * sqrt(6) * K * L),
    "local step and noise": 48 * K * L_sigma**2 * eta_l**2 <= b_small,
}
DROPPED = [without("probability"), without("local step"), without("local step and noise")]


def limited(factor: Any) -> dict[str, Any]:
    """The conditions of a theorem with a step of at most 1/(L (1 + factor a))."""
    return {**MOVES, "product of steps": eta * L * (1 + factor * spread) <= 1, **LOCAL}


NO_GAP = mutate("bound", "no gap", lambda e: e.subs(gap, 0))
NO_NOISE = mutate("bound", "no noise", lambda e: e.subs(fedamd.subsampled, 0))


@checks(fedamd.thm48, mutants=[NO_GAP, NO_NOISE, times("bound", F(1, 20)), *DROPPED, without("product of steps")])
@rests_on(limited(2))
def at_the_printed_step(claim: Claim, depth: Depth) -> Evidence:
    """Declared points at the largest step."""
    return held_at(
        runs_on_quadratics, claim, runs.points(depth, _step(2)), summary="No violation on quadratics",
        domain="1 to 3 clients, up to 100 rounds",
    )  # fmt: skip


def _largest(factor: float) -> Any:
    def largest(at: dict[str, Any]) -> float:
        return 1 / (1 + factor * runs.ratio(at["cohort_size"], at["n_clients"], at["anchor_probability"]))

    return largest


def _round(at: dict[str, Any], step: float, noise: float) -> Period:
    return [(counted(with_chance(at["n_clients"], at["cohort_size"], at["anchor_probability"], step, noise)), 1)]


EXPONENTS = [put("bound", letter, letter**2) for letter in (fedamd.A, fedamd.M, fedamd.b, K, T, eta_l)]


@checks(fedamd.thm48, mutants=[NO_GAP, NO_NOISE, *EXPONENTS, *DROPPED, without("product of steps")])
@rests_on(limited(2))
def with_every_letter_small_and_large(claim: Claim, depth: Depth) -> Evidence:
    """Equal clients, up to 1000 of them, at the largest step."""
    return held_at_corners(claim, _largest(2), _round)


@checks(fedamd.thm48, mutants=[NO_GAP, NO_NOISE, *DROPPED, without("product of steps")])
@rests_on(limited(2))
@reading(INDEPENDENT)
def search_over_runs(claim: Claim, depth: Depth) -> Evidence:
    """A search over problems, probabilities, steps and noise."""
    return unbroken(runs_on_quadratics, claim, depth, "Quadratics of up to 3 clients.")


@checks(fedamd.thm48_proof, mutants=[NO_GAP, NO_NOISE, *DROPPED, without("product of steps")])
@rests_on(limited(2 * sqrt(2)))
@reading(INDEPENDENT)
def at_the_step_of_the_proof(claim: Claim, depth: Depth) -> Evidence:
    """Declared points at the step that the proof's own terms need."""
    return held_at(
        runs_at_the_step_of_the_proof, claim, runs.points(depth, _step(8**0.5)), summary="No violation on quadratics",
        domain="1 to 3 clients, up to 100 rounds",
    )  # fmt: skip


@checks(fedamd.thm48_proof, mutants=[NO_GAP, NO_NOISE, *EXPONENTS, *DROPPED, without("product of steps")])
@rests_on(limited(2 * sqrt(2)))
def every_letter_at_the_step_of_the_proof(claim: Claim, depth: Depth) -> Evidence:
    """Equal clients, up to 1000 of them, at the step of the proof."""
    return held_at_corners(claim, _largest(8**0.5), _round)


# ---- the repaired theorem --------------------------------------------------------------------------------


def step_factor(claim: Claim) -> Any:
    """chi of the condition eta L (1 + chi a) <= 1."""
    condition: Any = claim.conditions.get("product of steps")
    if condition is None:
        return sympy.Integer(0)
    chi = sympy.simplify((condition.lts / (condition.gts * eta * L) - 1) / spread)
    return chi if chi.is_number else sympy.Integer(0)


def summed_descent(claim: Claim, error: Any, gradient: Any, noisy: bool = True) -> list[Fact]:
    """The average from the one-step descent, with E S summed through Young's constant of `law.staleness`.

    Summing E F(x_{t+1}) - F(x_t) <= -(eta/2)(1 - c2)(1 - p^A) G + (c1/2) eta (1 - p^A) E|g - grad F|^2 - (1/(2 eta) -
    L/2) E|move|^2 with E|g - grad F|^2 <= (1 + r) N + (1 + 1/r) S and sum S <= (4/q^2) L^2 sum E|move|^2 leaves
    sum G <= (2 gap/(eta (1 - p^A)) + c1 (1 + r) T N)/(1 - c2), provided 1/(2 eta) - L/2 >= 2 c1 eta (1 - p^A)
    (1 + 1/r)(L/q)^2, that is chi^2 >= 4 c1 (1 + 1/r) at eta L (1 + chi a) = 1 (or below).
    """
    chi, a = step_factor(claim), sympy.Symbol("a", positive=True)
    of_gap = sympy.simplify(rhs(claim).coeff(gap) * eta * T * moving)
    of_noise = sympy.simplify(rhs(claim).coeff(fedamd.subsampled) * fedamd.subsampled / anchor_noise)
    slack = chi**2 / (4 * error) - 1  # the largest 1/r that the step allows
    facts = [
        at_most("the step leaves room for the staleness", sympy.Rational(1, 10**6) if noisy else 0, slack),
        identity(
            "1/gamma - 1 - chi^2 gamma a^2 is chi a/(1 + chi a)",
            chi * a - chi**2 * a**2 / (1 + chi * a) - chi * a / (1 + chi * a),
        ),
        at_most("factor of the initial gap", 2 / (1 - gradient), of_gap),
    ]
    if noisy:
        if slack.is_positive:
            facts.append(at_most("factor of the anchor noise", error * (1 + 1 / slack) / (1 - gradient), of_noise))
        else:
            facts.append(Fact("factor of the anchor noise", False))
    return facts


@checks(
    fedamd.thm48_repaired,
    mutants=[
        NO_GAP, NO_NOISE, times("bound", F(1, 2)), without("product of steps"), times("factor for b = n", F(9, 10)),
        *DROPPED,
    ],
)  # fmt: skip
@rests_on({**MOVES, **LOCAL})
@reading(INDEPENDENT)
def through_staleness(claim: Claim, depth: Depth) -> Evidence:
    """Declared points, and the sum of one-step descents."""
    points = held_at(
        runs_at_the_repaired_step, claim, runs.points(depth, _step(10**0.5)), summary="No violation on quadratics",
        domain="1 to 3 clients, up to 100 rounds",
    )  # fmt: skip
    facts = summed_descent(claim, fedamd.C1, fedamd.C2)
    full = claim.formulas["factor for b = n"]
    facts.append(at_most("4 c1 within the square of the factor for b = n", 4 * fedamd.C1, full**2))
    return proved(facts, points, "One-step descent with the true error, noise and staleness, summed.")


@checks(
    fedamd.thm48_improved,
    mutants=[
        NO_GAP, times("bound", F(1, 2)), without("product of steps"), put("bound", moving, moving**2),
        without("probability"), without("one local step"),
    ],
)  # fmt: skip
@rests_on({**MOVES, "one local step": K <= 1})
def one_local_step(claim: Claim, depth: Depth) -> Evidence:
    """K = 1: a miner's change is eta_l g itself, so c1 = 1, c2 = 0, and without noise 1 + 1/r may be 1."""
    single = [
        {name: point[name] for name in SINGLE}
        for point in runs.points(depth, _step(2), start=1)
        if point["noise_size"] == 0
    ]  # fmt: skip
    points = held_at(runs_of_one_local_step, claim, single, summary="No violation on quadratics", domain="K = 1, b = n")
    facts = summed_descent(claim, sympy.Integer(1), sympy.Integer(0), noisy=False)
    return proved(facts, points, "One-step descent with the staleness alone, summed.")


# ---- (158), (162) ----------------------------------------------------------------------------------------


@checks.trial(
    fedamd.eq158,
    {"n_clients": Whole(1, 100), "cohort_size": Whole(1, 100), "anchor_probability": Real("1/100", "99/100")},
)
def dropped_coefficient(claim: Claim, point: Point) -> Sides:
    """L/2 + 4 eta (1 - p^A)(M/(Ap))^2 L^2 at the claimed step, L = 1, with a local step that Theorem 4.8 allows."""
    n, size, chance = point["n_clients"], point["cohort_size"], point["anchor_probability"]
    floats = isinstance(chance, float)
    constants: dict[str, Any] = {**point, "smoothness": 1, "local_steps": 1, "local_lr": 0.2 if floats else F(1, 5)}
    step = value_of(claim.formulas["step"], constants)
    constants["global_lr"] = step / constants["local_lr"]
    chance = chance if floats else sympy.Rational(chance.numerator, chance.denominator)
    left = sympy.Rational(1, 2) + 4 * step * (1 - chance**size) * (n / (size * chance)) ** 2
    facts = {"a cohort is a part of the clients": size <= n}
    return Sides(float(left) if floats else left, right_side(claim.bound, constants), constants, facts)


@checks(
    fedamd.eq158,
    mutants=[mutate("step", "2 sqrt(2)", lambda e: 1 / (fedamd.L * (1 + 2 * sqrt(2) * spread))), times("bound", 9)],
)
def coefficient_of_the_move(claim: Claim, depth: Depth) -> Evidence:
    """M = A = 1, p = 1/2: a = sqrt(2)."""
    assert claim.bound is not None
    a = sympy.Symbol("a", positive=True)
    step = claim.formulas["step"].subs(spread, a)
    rest = claim.bound.rhs.subs(fedamd.eta_l, step / (fedamd.eta_s * K)) - L / 2 - 4 * step * (a * L) ** 2
    sign = identity("the coefficient at the step is L a (1 - 2a)/(1 + 2a)", rest - L * a * (1 - 2 * a) / (1 + 2 * a))
    if not sign.holds:
        return chain([sign], "")
    point = {"n_clients": 1, "cohort_size": 1, "anchor_probability": F(1, 2)}
    return witnessed(
        dropped_coefficient, claim, point,
        "At the printed step the coefficient of the squared move is negative for a > 1/2; it may not be dropped.",
    )  # fmt: skip


@checks(fedamd.eq162, mutants=[times("printed", 4), plus("printed", 9)])
def division(claim: Claim, depth: Depth) -> Evidence:
    """The division carried out."""
    derived = sympy.simplify(claim.formulas["from (161)"])
    printed = claim.formulas["printed"]
    if sympy.simplify(derived - printed) == 0:
        return Evidence("proved", "algebra", "The division gives the printed constant.", cases=1)
    witness = {"printed": printed, "from (161)": derived}
    return Evidence(
        "inconsistent", "algebra", f"The division gives {derived}, not {printed}.", cases=1, witness=witness
    )
