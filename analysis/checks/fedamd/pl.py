"""Theorem 4.11 and Corollary 4.12 (the PL condition), with the scale of the loss as a coordinate."""

from __future__ import annotations

from fractions import Fraction as F
from functools import lru_cache
from typing import Any

import sympy
from sympy import Rational

from analysis.checks import CheckBook, Depth, mutate, plus, put, times, without, without_term
from analysis.checks.certificates import Fact, at_most, chain, identity, nonnegative, proved
from analysis.checks.fedamd import runs
from analysis.checks.fedamd.alike import Period, counted, held_at_corners, with_chance
from analysis.checks.fedamd.constant import DROPPED, LOCAL, MOVES, step_factor
from analysis.checks.fedamd.displacement import rhs
from analysis.checks.fedamd.moments import Quadratics, after
from analysis.checks.fedamd.runs import SPACE, Run
from analysis.checks.fedamd.searching import INDEPENDENT, fails_only_without, met
from analysis.checks.points import held_at, value_of
from analysis.checks.tools import reading, rests_on
from analysis.domains import Domain, Real, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, exact_value, right_side
from fltheory.errors import InputError
from fltheory.ledger import Bound, Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import L, anchor_noise, eta, gap, moving, mu, refresh

checks = CheckBook()
SCALED: dict[str, Domain] = SPACE | {
    "move": Real("1/100000", 1, log=True),
    "rounds": Whole(1, 400),
    "scale": Real("1/1000", 10_000, log=True),
    "local": Real("1/1000", 500, log=True),  # eta_l K L, far beyond what the theorems allow
}


def _last(claim: Claim, point: Point) -> Sides:
    """E F(x_T) - F_* of a run on losses times `scale`; F is a quadratic, whose PL constant is its curvature."""
    scaled = {**point, "curvatures": tuple(h * point["scale"] for h in point["curvatures"])}
    run = Run(scaled)
    constants = {**run.constants, "polyak_lojasiewicz": run.curvature}
    held = {**run.met, "A410": bool(constants["polyak_lojasiewicz"] <= run.curvature)}
    return Sides(run.last(scaled), right_side(claim.bound, constants), constants, run.facts, held)


@checks.trial(fedamd.thm411, SCALED)
def last_iterate(claim: Claim, point: Point) -> Sides:
    """Theorem 4.11 on quadratics."""
    return _last(claim, point)


@checks.trial(fedamd.thm411_improved, SCALED)
def last_iterate_at_a_longer_step(claim: Claim, point: Point) -> Sides:
    """The improved theorem on quadratics."""
    return _last(claim, point)


# K = 2 local steps of length 100/L: F grows by orders of magnitude, whatever the global step
LONG_LOCAL: Point = {
    "curvatures": (1,), "cohort_size": 1, "anchor_probability": F(1, 2), "local_steps": 2, "local": F(200),
    "move": F(1, 33), "rounds": 20, "start": F(1), "noise": "anchors", "noise_size": 0, "anchor_batch": 2,
}  # fmt: skip


def _points(depth: Depth, step: Any) -> list[Point]:
    found: list[Point] = []
    for scale in (F(1), F(100)) if depth == "quick" else (F(1, 50), F(1), F(100)):
        found += [{**LONG_LOCAL, "scale": scale}]
        found += [p | {"scale": scale, "start": p["start"] / F(10)} for p in map(dict, runs.points(depth, step))]
    return found


def _printed_step(h: Any, size: int, p: Any) -> F:
    refreshed = float(size * p) / len(h)
    return runs.within(1 / (1 + 16 * max(map(abs, h)) / (float(sum(h)) / len(h)) / refreshed))


def _improved_step(h: Any, size: int, p: Any) -> F:
    return runs.within(1 / (1 + 20**0.5 * runs.ratio(size, len(h), p)))


def _contraction(claim: Claim, room: Any) -> list[Fact]:
    """Theorem 4.11 with Phi = F - F_* + l S in place of F - F_*.

    With c1 and c2 = 1/2 as in `law.local`, the PL condition, noise and staleness, Phi shrinks by 1 - rho,
    rho = mu eta (1 - p^A)/2, up to c1 (1 + r) eta (1 - p^A) N/2, if l (q/2 - rho) >= c1 eta (1 - p^A)(1 + 1/r)/2 and
    4 eta l L^2/q + eta L <= 1. Summed, the noise is c1 (1 + r) N/mu. `room` is 1/2 minus the largest rho/q.
    """
    of_noise = sympy.simplify(rhs(claim).coeff(fedamd.subsampled) * fedamd.subsampled * mu / anchor_noise)
    base = sympy.simplify(rhs(claim).coeff(gap))
    kept = of_noise / fedamd.C1 - 1  # r
    if not (kept.is_number and kept > 0):
        return [Fact("the noise term leaves room for the staleness", False)]
    young = fedamd.C1 * (1 + 1 / kept) / (2 * room)  # l q/(eta (1 - p^A))
    return [
        identity("contraction", base - (1 - mu * eta * moving / 2) ** fedamd.T),
        at_most("the staleness decays faster than F", Rational(1, 100), room),
        *_moves(claim, 4 * young),
    ]


def _moves(claim: Claim, needed: Any) -> list[Fact]:
    """needed (gamma a)^2 + gamma <= 1 at the largest step, gamma = eta L."""
    a = sympy.Symbol("a", nonnegative=True)
    if "product of steps" in claim.conditions:
        chi = step_factor(claim)
        rest = sympy.expand((1 + chi * a) ** 2 - (1 + chi * a) - needed * a**2)
        return [Fact("needed a^2 + (1 + chi a) <= (1 + chi a)^2", all(v >= 0 for v in sympy.Poly(rest, a).coeffs()))]
    factor = _printed_factor(claim)  # gamma <= q/(q + factor), a <= 1/q, q <= 1
    top = 1 / (1 + factor)
    return [at_most("needed (gamma/q)^2 + gamma <= 1", needed / factor**2 + top, 1)]


def _printed_factor(claim: Claim) -> Any:
    """k of the condition eta L (1 + k kappa/q) <= 1, at kappa = 1."""
    condition = claim.conditions.get("product of steps: move")
    if condition is None:
        return Rational(1, 10**6)
    factor = sympy.simplify((condition.lts / (condition.gts * eta * L) - 1) * refresh * mu / L)
    return factor if factor.is_number else Rational(1, 10**6)


MUTANTS = [
    mutate("bound", "no gap", lambda e: e.subs(gap, 0)),
    mutate("bound", "no noise", lambda e: e.subs(fedamd.subsampled, 0)),
    mutate("bound", "twice as fast", lambda e: e.subs(fedamd.T, 2 * fedamd.T)),
    put("bound", moving, moving**2),
]


# (without "product of steps: cache" the statement is the same: mu <= L, and eta L (1 + 16 kappa/q) <= 1 says more)
@checks(fedamd.thm411, mutants=[*MUTANTS, without("product of steps: move"), *DROPPED])
@rests_on({**MOVES, **LOCAL})
@reading(INDEPENDENT)
def contraction_at_the_printed_step(claim: Claim, depth: Depth) -> Evidence:
    """gamma <= q/(q + 16 kappa), so that rho <= q/32 and gamma/q <= 1/16."""
    points = held_at(
        last_iterate, claim, _points(depth, _printed_step), summary="No violation on quadratics", domain="to 100 rounds"
    )
    room = Rational(1, 2) - 1 / (2 * _printed_factor(claim))
    return proved(_contraction(claim, room), points, "F - F_* and the staleness shrink together.")


@checks(fedamd.thm411_improved, mutants=[*MUTANTS, without("product of steps"), without("curvature"), *DROPPED])
@rests_on({**MOVES, **LOCAL, "curvature": mu <= L})
@reading(INDEPENDENT)
def contraction_at_a_longer_step(claim: Claim, depth: Depth) -> Evidence:
    """gamma (1 - p^A) <= q/(2 sqrt(5)) and mu <= L, so that rho <= q/(4 sqrt(5))."""
    points = held_at(
        last_iterate_at_a_longer_step, claim, _points(depth, _improved_step), summary="No violation on quadratics",
        domain="to 100 rounds",
    )  # fmt: skip
    chi = step_factor(claim)
    if chi == 0:
        return proved([Fact("the global step is limited", False)], points, "")
    facts = _contraction(claim, Rational(1, 2) - 1 / (2 * chi))
    return proved(facts, points, "F - F_* and the staleness shrink together.")


@checks(fedamd.eq170, mutants=[times("room for the cache", 2), plus("room for the move", 1), without("cache")])
def step_conditions(claim: Claim, depth: Depth) -> Evidence:
    """What (170) needs is the two printed conditions, no more and no less."""
    cache, move = claim.conditions.get("cache"), claim.conditions.get("move")
    if cache is None or move is None:
        return chain([Fact("both conditions are stated", False)], "")
    facts = [
        Fact("both limit eta_s eta_l K", cache.lts == move.lts == eta),
        identity("room for the cache", claim.formulas["room for the cache"] - 8 * moving * (cache.gts - eta)),
        identity("room for the move", claim.formulas["room for the move"] - (1 / eta - 1 / move.gts) / 2),
    ]
    return chain(facts, "Both rooms are positive multiples of what the conditions leave.")


# ---- Corollary 4.12 --------------------------------------------------------------------------------------

TUNED: dict[str, Domain] = {
    "n_clients": Whole(1, 4),
    "scale": Real("1/5000", "99/100", log=True),  # u of mu = (1/u - u)/2, for which sqrt(1 + mu^2) is rational
    "condition": Real(1, 100, log=True),  # L/mu
    "thinning": Real(1, 20, log=True),
    "rounds": Whole(1, 300),
    "start": Real("1/1000", 10),
    "noise_size": Real(0, 3),
}


@checks.trial(fedamd.cor412, TUNED)
def losses_of_any_scale(claim: Claim, point: Point) -> Sides:
    """Quadratic clients F_m = h_m x^2/2 from x_0 = `start`, K = A = 1, steps and probability as stated, c = `thinning`.

    mu, the mean of the h_m, is (1/u - u)/2 with u = `scale`; L = mu `condition`; h_1 = L and the others are equal.
    `noise_size` is the deviation of an anchor's gradient, of four samples; a miner's is of one. The left side is
    E F(x_T) - F_*.
    """
    n, u = point["n_clients"], point["scale"]
    curvature = (1 / (u + 0 * point["start"]) - u) / 2
    smoothness = curvature * point["condition"]
    rest = [(n * curvature - smoothness) / (n - 1)] * (n - 1) if n > 1 else []
    if (n == 1 and point["condition"] != 1) or any(abs(h) > smoothness for h in rest):
        raise InputError("condition", point["condition"], "one that the other clients' curvatures allow")
    constants: dict[str, Any] = {
        "n_clients": n, "cohort_size": 1, "local_steps": 1, "batch_size": 1, "smoothness": smoothness,
        "polyak_lojasiewicz": curvature, "thinning": point["thinning"], "rounds": point["rounds"],
        "noise_std": 2 * point["noise_size"], "noise_smoothness": 0, "subsampled": 1, "anchor_batch": 4,
        "initial_gap": curvature * point["start"] ** 2 / 2,
    }  # fmt: skip
    chance, local_lr, global_lr = (_value(claim.formulas[name], constants) for name in CHOSEN)
    step = sympy.nsimplify(local_lr * global_lr) if not isinstance(u, float) else local_lr * global_lr
    if not isinstance(u, float):
        if not (isinstance(chance, F) and step.is_Rational):
            raise InputError("scale", u, "one with a rational probability")
        step = F(int(step.p), int(step.q))
    run = Quadratics(
        [smoothness, *rest], 1, F(1) if not isinstance(u, float) else 1.0, 1, step, point["noise_size"] ** 2
    )
    _, second = run.round(chance)
    state = after(run.start(point["start"])[1], [(second, point["rounds"])])
    left = curvature * (run.form(run.vector(model=1)) @ state) / 2
    constants |= {"anchor_probability": chance, "local_lr": local_lr, "global_lr": global_lr}
    held = {
        **met(constants, [smoothness, *rest], constants["noise_std"]),
        "A410": bool(constants["polyak_lojasiewicz"] <= curvature),
    }
    return Sides(left, right_side(claim.bound, constants), constants, met=held)


CHOSEN = ("probability", "local step", "global step")


def _step_of_the_bound(claim: Claim) -> Fact:
    """eta_s eta_l K of the stated step sizes, the smaller of two, is the step in the bound."""
    step = claim.formulas["global step"] * claim.formulas["local step"] * fedamd.K
    (stated,), (used,) = step.atoms(sympy.Min), rhs(claim).atoms(sympy.Min)
    parts = [sympy.simplify(part * step / stated) for part in stated.args]
    same = all(any(sympy.simplify(part - other) == 0 for other in used.args) for part in parts)
    return Fact("the stated step sizes give the step of the bound", same)


def _value(formula: Any, constants: dict[str, Any]) -> Any:
    values = {s.name: constants[s.name] for s in formula.free_symbols}
    if any(isinstance(value, float) for value in values.values()):
        return _as_bound(formula).at(**values)
    return exact_value(formula, values)


@lru_cache
def _as_bound(formula: Any) -> Bound:
    """A formula that is compiled once."""
    return Bound("", formula)


def _unscaled(depth: Depth) -> list[Point]:
    """L = 1: condition = 1/mu."""
    found: list[Point] = []
    for u in (F(1, 2), F(2, 3), F(9, 10)) if depth != "quick" else (F(2, 3),):
        condition = 2 * u / (1 - u**2)
        for n in (2, 3):
            for thin in (1, 5):
                point = {"n_clients": n, "scale": u, "condition": condition, "thinning": thin, "rounds": 5}
                found.append({**point, "start": 1, "noise_size": 0})
                found.append({**point, "start": F(1, 1000), "noise_size": 1})
    return found


WILD = {"n_clients": 2, "scale": F(1, 1000), "condition": 10, "thinning": 3, "rounds": 25, "start": 1, "noise_size": 0}


@checks(
    fedamd.cor412,
    mutants=[
        times("global step", F(1, 5000)),
        times("bound", F(1, 100)),
        without_term(6 * anchor_noise / mu),
    ],
)
def scale_of_the_loss(claim: Claim, depth: Depth) -> Evidence:
    """mu = 500, L = 5000: the step is far beyond Theorem 4.11's and F grows; at L = 1 the corollary holds."""
    holding = [point for point in _unscaled(depth) if _fits(claim, point)]
    return fails_only_without(
        losses_of_any_scale, claim, WILD, holding, "L = 1: mu stands for mu/L, and the step lacks a factor L",
        "For losses with a large L the printed step is far beyond Theorem 4.11's and the run diverges.",
    )  # fmt: skip


@checks(
    fedamd.cor412,
    mutants=[
        times("bound", F(1, 100)), put("probability", fedamd.c, fedamd.c**2),
        *(put("bound", letter, letter**2) for letter in (fedamd.b, fedamd.M, fedamd.sigma)),
    ],
)  # fmt: skip
@rests_on({"local steps": sympy.Max(1, 2 * fedamd.L_sigma**2 / (fedamd.b_small * L**2)) <= fedamd.K})
@reading(f"L = 1, {INDEPENDENT}")
def every_letter_for_a_smoothness_of_1(claim: Claim, depth: Depth) -> Evidence:
    """Equal clients of curvature 1, so that mu = L = 1."""
    f = claim.formulas
    product = f["local step"] * f["global step"] * fedamd.K

    def largest(at: dict[str, Any]) -> float:
        return float(value_of(product, at))

    def period(at: dict[str, Any], step: float, noise: float) -> Period:
        chance = value_of(f["probability"], at)
        return [(counted(with_chance(at["n_clients"], at["cohort_size"], chance, step, noise)), 1)]

    fixed = {"curvature": 1.0, "local": 1 / (2 * 6**0.5), "share": 1.0}
    return held_at_corners(claim, largest, period, fixed=fixed, last=True)


def _fits(claim: Claim, point: Point) -> bool:
    try:
        losses_of_any_scale.evaluate(claim, point)
    except InputError:
        return False
    return True


@checks(
    fedamd.cor412,
    mutants=[
        times("power of the minimiser", 2),
        plus("rounds to minimise", fedamd.probability),
        times("global step", F(13, 10)),
        times("local step", F(13, 10)),
    ],
)
def optimal_probability_under_pl(claim: Claim, depth: Depth) -> Evidence:
    """The derivative of C/(p (1 - p^A)) + 1/p vanishes at z = p^A, z^2 - z (2 + C (A+1)) + 1 + C = 0, C = 1/mu^2."""
    p, z, square = fedamd.probability, sympy.Symbol("z", positive=True), fedamd.inverse_square
    slope = sympy.diff(claim.formulas["rounds to minimise"], p) * p**2 * (1 - p**fedamd.A) ** 2
    quadratic = z**2 - z * (2 + square * (fedamd.A + 1)) + 1 + square
    claimed = claim.formulas["power of the minimiser"]
    printed = claim.formulas["probability"].subs({fedamd.c: 1, mu: 1 / sympy.sqrt(square)})
    facts = [
        identity("slope", sympy.expand(slope).subs(p**fedamd.A, z).subs(p ** (2 * fedamd.A), z**2) + quadratic),
        identity("the claimed power is a root", quadratic.subs(z, claimed)),
        nonnegative("the quadratic is negative at z = 1: one root lies below 1", -quadratic.subs(z, 1)),
        nonnegative("it is positive at z = 0", quadratic.subs(z, 0)),
        identity("the claimed probability", sympy.simplify(printed**fedamd.A - claimed)),
        _step_of_the_bound(claim),
    ]
    return chain(facts, "The printed p minimises M/(mu^2 A p (1 - p^A)) + M/(Ap) at c = 1.")
