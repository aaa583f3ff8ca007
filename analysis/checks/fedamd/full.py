"""Theorem 4.4 (full participation, anchors every tau rounds) and the steps of its proof."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import sympy

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks.certificates import Fact, at_most, identity, limit_of, proved
from analysis.checks.fedamd.cycles import Cycles
from analysis.checks.fedamd.displacement import displacement, local_limits, rhs, upper
from analysis.checks.fedamd.miners import Miner, averaged
from analysis.checks.fedamd.searching import (
    INDEPENDENT,
    SMALLER_BATCHES,
    met,
    met_at,
    noise_of,
    require_bounded_below,
    smaller_batches,
)
from analysis.checks.points import held_at, witnessed
from analysis.checks.tools import reading, rests_on
from analysis.domains import Choice, Domain, Real, Several, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, right_side
from fltheory.errors import InputError
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import tau

checks = CheckBook()

SPACE: dict[str, Domain] = {
    "anchor_period": Whole(2, 3000),
    "cycles": Whole(1, 2000),
    "curvatures": Several(Real(-1, 1), 1, 3),
    "local_steps": Whole(1, 6),
    "local": Real("1/10000", "1/2", log=True),  # eta_l K L
    "product": Real("1/10000", "1/2", log=True),  # eta_s eta_l K L tau
    "start": Real(0, 10),
    "noise": Choice(("anchors", "samples")),
    "noise_size": Real(0, 3),
    "anchor_batch": Whole(2, 4),
}


def run_of(point: Point) -> tuple[Cycles, dict[str, Any], dict[str, Any]]:
    """The closed form of the run, the constants of the theorem, and the facts and assumptions that it meets."""
    one, period, steps = point["local"] * 0 + 1, point["anchor_period"], point["local_steps"]
    curvatures = [one * h for h in point["curvatures"]]
    n, smoothness = len(curvatures), max(map(abs, curvatures))
    if smoothness == 0:
        raise InputError("curvatures", curvatures, "not all zero")
    require_bounded_below(point["curvatures"])
    noise = noise_of(point)
    local_lr = point["local"] / (steps * smoothness)
    product = point["product"] / (steps * smoothness * period)
    miners = [Miner(h, local_lr, steps, noise["noise_smoothness"] ** 2) for h in curvatures]
    mean, square = averaged(miners)
    curvature = sum(curvatures) / n
    of_anchors = noise["subsampled"] * noise["noise_std"] ** 2 / (one * n * point["anchor_batch"])
    run = Cycles(curvature, period, product * mean, product**2 * (square - mean**2), of_anchors)
    rounds = period * point["cycles"]
    constants = {
        "smoothness": smoothness, "n_clients": n, "cohort_size": n, "local_steps": steps, "rounds": rounds,
        "anchor_period": period, "miner_rounds": rounds - point["cycles"], "local_lr": local_lr,
        "global_lr": product / local_lr, "initial_gap": curvature * point["start"] ** 2 / 2, **noise,
    }  # fmt: skip
    facts = {
        "the objective is bounded below": curvature > 0, "all clients take part": constants["cohort_size"] == n,
        SMALLER_BATCHES: smaller_batches(constants),
    }  # fmt: skip
    return run, constants, {"facts": facts, "met": met_at(point, constants)}


def _exact(number: int, like: Any) -> Any:
    """A whole number of the kind of another, so that a quotient stays exact."""
    return like * 0 + number


@checks.trial(fedamd.thm44, SPACE)
def quadratics_with_cycles(claim: Claim, point: Point) -> Sides:
    """Clients with F_i = h_i x^2/2 (h_i in `curvatures`), from x_0 = start, noise of anchors additive.

    The left side is the smallest E|grad F|^2 of all rounds of whole cycles; `local` is eta_l K L, `product` is
    eta_s eta_l K L tau.
    """
    run, constants, given = run_of(point)
    return Sides(
        run.least(point["start"] ** 2, point["cycles"]), right_side(claim.bound, constants), constants, **given
    )


@checks.trial(fedamd.thm44_proof, SPACE)
def quadratics_with_cycles_on_average(claim: Claim, point: Point) -> Sides:
    """Clients with F_i = h_i x^2/2, noise of anchors additive: the average E|grad F|^2 over whole cycles."""
    run, constants, given = run_of(point)
    left = run.average(point["start"] ** 2, point["cycles"], anchors=True)
    return Sides(left, right_side(claim.bound, constants), constants, **given)


@checks.trial(fedamd.thm44_repaired, SPACE)
def quadratics_with_cycles_over_miners(claim: Claim, point: Point) -> Sides:
    """Average E|grad F|^2 over the miner rounds of whole cycles."""
    run, constants, given = run_of(point)
    left = run.average(point["start"] ** 2, point["cycles"], anchors=False)
    return Sides(left, right_side(claim.bound, constants), constants, **given)


# From the stationary value s/(2 - s) = (9/50)^2 of a cycle's start, s = (tau - 1) eta: all cycles are alike.
LONG = {
    "anchor_period": 101, "cycles": 200, "curvatures": (1,), "local_steps": 1, "local": F(1, 1000),
    "product": F(101, 100) * F(162, 2581), "start": F(9, 50), "noise": "anchors", "noise_size": 2, "anchor_batch": 4,
}  # fmt: skip


@checks(fedamd.thm44, mutants=[times("bound", 100), put("bound", fedamd.subsampled, tau * fedamd.subsampled)])
def smallest_gradient_for_a_long_period(claim: Claim, depth: Depth) -> Evidence:
    """F = x^2/2, unit anchor noise, tau = 101: every round's E|grad F|^2 stays above the bound."""
    return witnessed(
        quadratics_with_cycles, claim, LONG,
        "The noise of an anchor round moves the model in all tau - 1 miner rounds of its cycle: for a long period "
        "every E|grad F|^2 stays above a noise term that falls with tau.",
    )  # fmt: skip


@checks(fedamd.thm44_proof, mutants=[times("bound", 100), put("bound", fedamd.subsampled, tau * fedamd.subsampled)])
def average_gradient_for_a_long_period(claim: Claim, depth: Depth) -> Evidence:
    """The same run: the average is larger still."""
    return witnessed(
        quadratics_with_cycles_on_average, claim, LONG,
        "With tau = 101 the average of E|grad F|^2 stays above a noise term that falls with tau.",
    )  # fmt: skip


def grid(depth: Depth) -> list[Point]:
    """The initial gap alone, anchor noise alone, both, curvature noise; equal and unequal clients."""
    periods = (2, 100) if depth == "quick" else (2, 3, 10, 22, 65, 100, 1000, 3000)
    base = {"anchor_batch": 4, "noise": "anchors", "noise_size": 0, "start": 1, "cycles": 1, "product": F(1, 15)}
    cases: list[Point] = [
        {}, {"cycles": 20, "product": F(1, 100)}, {"start": 0, "noise_size": 2, "cycles": 40},
        {"noise_size": 2, "anchor_batch": 3}, {"noise": "samples", "noise_size": F(1, 2), "cycles": 3},
    ]  # fmt: skip
    return [
        {**base, **case, "anchor_period": period, "curvatures": h, "local_steps": k, "local": local}
        for case in cases
        for period in periods
        for h in ((1,), (1, -1, F(1, 2)))
        for k, local in ((1, F(1, 1000)), (4, F(1, 9)))
    ]


@checks(
    fedamd.thm44_repaired,
    mutants=[
        mutate("bound", "no noise", lambda e: e.subs(fedamd.subsampled, 0)),
        times("bound", F(1, 10)),
        mutate("bound", "half the period", lambda e: e.subs(tau, sympy.sqrt(tau))),
        mutate("bound", "no gap", lambda e: e.subs(fedamd.gap, 0)),
        put("bound", fedamd.gap, fedamd.gap / 4),
        without("period"),
        without("product of steps"),
        without("local step"),
        without("local step and noise"),
    ],
)
@rests_on({"period": tau >= 2})
@reading(INDEPENDENT)
def miner_rounds_on_quadratics(claim: Claim, depth: Depth) -> Evidence:
    """Exact moments of whole cycles, and a proof of the bound."""
    points = held_at(
        quadratics_with_cycles_over_miners, claim, grid(depth),
        summary="No violation on scalar quadratics", domain="tau up to 3000, 1 to 3 clients, K in {1, 4}, to 40 cycles",
    )  # fmt: skip
    return proved(_cycle_argument(claim), points, "Cycle by cycle, with the miners' displacement in closed form.")


def _cycle_argument(claim: Claim) -> list[Fact]:
    """The average over miner rounds from one descent inequality a cycle.

    In a cycle of n moves from x_0 let G = E|grad F(x_0)|^2, g the mean cached gradient (E|g|^2 <= G + N), x_j the
    model after j moves, u = (tau - 1) eta L, x = eta_l K L. A miner's change is eta_l K (g + R), |R| <= z |g| in mean
    square, and what of R is predictable from x_0 is at most y x sqrt(G + N). Smoothness and Young's inequality give
      E F(x_n) - F(x_0) <= -n eta (kept G - (y^2 x^2/(2 l) + u (1 + z)^2/2) N),
      mean over j < n of E|grad F(x_j)|^2 <= first G + later u N,
    with kept = 1 - l/2 - y^2 x^2/(2 l) - u (1 + z)^2/2, first = 1 + s + (1 + 1/s)(1 + z)^2 u^2/3 and later =
    (1 + 1/s)(1 + z)^2 u/3, for any l, s > 0; summed over cycles the claim follows.
    """
    largest, noise = local_limits(claim)
    move = limit_of(claim, "product of steps", fedamd.eta * fedamd.L * tau)  # of u, with tau in place of tau - 1
    if sympy.oo in (largest, noise, move):
        return [Fact("every step size is limited", False)]
    y, w = displacement(largest, noise)
    square = (1 + upper(y * largest + w)) ** 2
    young, stretch = sympy.Rational(3, 10), sympy.Rational(3, 10)
    kept = 1 - young / 2 - (y * largest) ** 2 / (2 * young) - move * square / 2
    first = 1 + stretch + (1 + 1 / stretch) * square * move**2 / 3
    later = (1 + 1 / stretch) * square * move / 3
    x, u = sympy.symbols("x u", positive=True)
    at = {fedamd.eta_s: u / (x * (tau - 1)), fedamd.eta_l: x / (fedamd.K * fedamd.L)}
    rate, of_noise = rhs(claim).coeff(fedamd.gap), rhs(claim).coeff(fedamd.subsampled)
    of_noise = sympy.expand(sympy.simplify((of_noise * fedamd.subsampled / fedamd.anchor_noise).subs(at)))
    of_gap = sympy.simplify(rate * fedamd.eta * fedamd.miner_rounds)
    of_u, of_x = of_noise.coeff(u, 1), of_noise.coeff(x, 2)
    return [
        at_most("the descent of a cycle is positive", sympy.Rational(1, 2), kept),
        identity("the noise term is a multiple of u and one of x^2", of_noise - of_u * u - of_x * x**2),
        at_most("factor of the initial gap", first / kept, of_gap),
        at_most("factor of (tau - 1) eta L", first / kept * square / 2 + later, of_u),
        at_most("factor of (eta_l K L)^2", first / kept * y**2 / (2 * young), of_x),
    ]


# ---- steps of the printed proof --------------------------------------------------------------------------

STEP_SPACE: dict[str, Domain] = {
    "anchor_period": Whole(2, 100),
    "moves": Whole(0, 98),
    "product": Real("1/10000", "1/2", log=True),
    "start": Real(0, 10),
    "noise_size": Real(0, 3),
}


def _one_cycle(point: Point) -> tuple[Any, dict[str, Any]]:
    """F = x^2/2, K = 1, M = A = 1 within a cycle: eta, and the constants after some moves."""
    if point["moves"] > point["anchor_period"] - 2:
        raise InputError("moves", point["moves"], "moves of one cycle")
    eta = point["product"] / _exact(point["anchor_period"], point["product"])
    constants = {
        "smoothness": 1, "n_clients": 1, "cohort_size": 1, "local_steps": 1, "anchor_period": point["anchor_period"],
        "local_lr": point["product"] * 0 + F(1, 10), "global_lr": 10 * eta, "noise_std": 2 * point["noise_size"],
        "anchor_batch": 4, "subsampled": 1, "noise_smoothness": 0, "batch_size": 1,
    }  # fmt: skip
    return eta, constants


@checks.trial(fedamd.eq71, STEP_SPACE)
def error_of_a_cached_gradient(claim: Claim, point: Point) -> Sides:
    """E|g - grad F(x_j)|^2 = E|n + j eta (x_0 + n)|^2 against its two parts: F = x^2/2, one client and one local step.

    j is `moves`, x_0 `start`, `noise_size` the deviation of the anchor noise n, `product` eta_s eta_l K L tau.
    """
    eta, constants = _one_cycle(point)
    noise, shift = point["noise_size"] ** 2, point["moves"] * eta
    drift = shift**2 * (point["start"] ** 2 + noise)
    constants["gradient_drift"] = drift
    left = noise + drift + 2 * shift * noise
    given = met(constants, [1], constants["noise_std"])
    facts = {SMALLER_BATCHES: smaller_batches(constants)}
    return Sides(left, right_side(claim.bound, constants), constants, facts, given)


@checks(
    fedamd.eq71,
    mutants=[put("bound", fedamd.gradient_drift, 100 * fedamd.gradient_drift), times("bound", 2)],
)
def noise_and_moves_are_correlated(claim: Claim, depth: Depth) -> Evidence:
    """Two moves after an anchor round at the minimum: the noise has moved the model."""
    point = {"anchor_period": 4, "moves": 2, "product": F(1, 15), "start": 0, "noise_size": 1}
    return witnessed(
        error_of_a_cached_gradient, claim, point,
        "After the first move the model has moved along the anchor noise, so the two parts are correlated.",
    )  # fmt: skip


@checks.trial(fedamd.eq75, STEP_SPACE)
def descent_since_the_anchor_round(claim: Claim, point: Point) -> Sides:
    """E F(x_t) - F(x_0) after the anchor round and `moves` moves, moved terms brought to the left.

    F = x^2/2, one client, one local step, no noise; x_0 is `start`, `product` eta_s eta_l K L tau.
    """
    eta, constants = _one_cycle({**point, "noise_size": 0})
    iterates = [point["start"] * (1 - j * eta) for j in range(point["moves"] + 1)]
    squares = [x**2 for x in iterates]
    constants["gradient_square_sum"] = squares[0] + sum(squares[:-1])  # the anchor round, then the moves
    moved = eta**2 * point["start"] ** 2
    extra = 3 * eta * constants["anchor_period"] * sum(j * moved for j in range(point["moves"]))
    left = (squares[-1] - squares[0]) / 2 - extra
    return Sides(left, right_side(claim.bound, constants), constants, met=met(constants, [1]))


@checks(fedamd.eq75, mutants=[mutate("bound", "ascent", lambda e: -e), times("bound", 0)])
def no_descent_in_an_anchor_round(claim: Claim, depth: Depth) -> Evidence:
    """The anchor round alone: the model stays, the right-hand side is negative."""
    point = {"anchor_period": 2, "moves": 0, "product": F(1, 15), "start": 1, "noise_size": 0}
    return witnessed(
        descent_since_the_anchor_round, claim, point,
        "In an anchor round the model stays where it is, while (75) counts a descent of a third of the squared "
        "gradient for it.",
    )  # fmt: skip
