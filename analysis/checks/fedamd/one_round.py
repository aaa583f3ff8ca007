"""Lemmas E.1 to E.3, (96), and what holds in their place: exact moments of one round of a run on quadratics."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F

import sympy

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks.certificates import below_one, chain, identity, nonnegative, proved
from analysis.checks.fedamd.displacement import rhs
from analysis.checks.fedamd.rounds import ALONE, READINGS, SPACE, UNEQUAL, Round, some_rounds, theorem48_step
from analysis.checks.fedamd.searching import fails_only_without
from analysis.checks.points import held_at
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, assumed, right_side
from fltheory.ledger import Claim
from fltheory.papers import fedamd

checks = CheckBook()

SHORT = "a global step that is not long (that of Theorem 4.8 is enough wherever it was tried)"
ITSELF = "E g_t read as the conditional mean, g_t itself (no step that was tried is too long then)"


def _lemma_E1b(claim: Claim, point: Point, reading: str) -> Sides:
    now = Round(point)
    constants = now.constants | {"mean_cache_error": now.mean_error(reading), "move_square": now.move_square()}
    return Sides(now.mean_error(reading, later=True), right_side(claim.bound, constants), constants, met=now.met)


@checks.trial(fedamd.lemE1b, SPACE | READINGS)
def error_of_the_mean(claim: Claim, point: Point) -> Sides:
    """(113) from round t = `round` to t + 1: quadratic clients F_m = h_m x^2/2, h_m in `curvatures`, from x_0 = 1,
    all caches started.

    L is the largest |h_m|, `local` is eta_l K L, `move` eta_s eta_l K L; `noise_size` is the deviation of `noise`, in
    anchor gradients or in the curvature of samples (clipped far away; anchors use all theirs, so that sigma has no
    weight). `reading` says what E g_t is: the mean over all runs, the conditional mean (g_t itself) or the virtual
    average, which moves to (1-q) of itself plus q grad F(x_t), q = A p/M. The left side is
    E|E g_{t+1} - grad F(x_{t+1})|^2.
    """
    return _lemma_E1b(claim, point, point["reading"])


@checks.trial(fedamd.lemE1b_repaired, SPACE)
def error_of_the_virtual_average(claim: Claim, point: Point) -> Sides:
    """(113) with the virtual average, on the runs of Lemma E.1."""
    return _lemma_E1b(claim, point, "virtual")


@checks.trial(fedamd.lemE2, SPACE | READINGS)
def local_steps_of_a_round(claim: Claim, point: Point) -> Sides:
    """(121) in round t = `round`: quadratic clients F_m = h_m x^2/2, h_m in `curvatures`, from x_0 = 1, all caches
    started.

    L is the largest |h_m|, `local` is eta_l K L, `move` eta_s eta_l K L; `noise_size` is the deviation of `noise`, in
    anchor gradients or in the curvature of samples (clipped far away; anchors use all theirs, so that sigma has no
    weight). `reading` says what E g_t is in mean_cache_error: the mean over all runs, the conditional mean (g_t itself)
    or the virtual average, which moves to (1-q) of itself plus q grad F(x_t), q = A p/M. The left side sums the
    mean squared local steps, of the client with most.
    """
    now = Round(point)
    constants = now.constants | {
        "mean_cache_error": now.mean_error(point["reading"]), "gradient_square": now.gradient_square(),
    }  # fmt: skip
    direction = now.expected(now.before, now.run.vector(caches=1))
    left = max(now.run.miner(m).path() for m in range(now.run.n_clients)) * direction
    return Sides(left, right_side(claim.bound, constants), constants, met=now.met)


@checks.trial(fedamd.lemE3, SPACE | READINGS)
def descent_of_a_round(claim: Claim, point: Point) -> Sides:
    """(132) from round t = `round` to t + 1, in expectation over all runs: quadratic clients F_m = h_m x^2/2, h_m in
    `curvatures`, from x_0 = 1, all caches started.

    L is the largest |h_m|, `local` is eta_l K L, `move` eta_s eta_l K L; `noise_size` is the deviation of `noise`, in
    anchor gradients or in the curvature of samples (clipped far away; anchors use all theirs, so that sigma has no
    weight). `reading` says what E g_t is in mean_cache_error: the mean over all runs, the conditional mean (g_t itself)
    or the virtual average, which moves to (1-q) of itself plus q grad F(x_t), q = A p/M. The left side is
    E F(x_{t+1}) - E F(x_t).
    """
    now = Round(point)
    constants = now.constants | {
        "mean_cache_error": now.mean_error(point["reading"]), "gradient_square": now.gradient_square(),
        "move_square": now.move_square(),
    }  # fmt: skip
    return Sides(now.descent(), right_side(claim.bound, constants), constants, met=now.met)


# ---- Lemma E.1 -------------------------------------------------------------------------------------------


@checks(
    fedamd.lemE1b,
    mutants=[times("bound", 2), put("bound", fedamd.mean_cache_error, fedamd.mean_cache_error * F(1, 10))],
)
def meanings_of_the_mean(claim: Claim, depth: Depth) -> Evidence:
    """One client, F = x^2/2, p = 1/2, no noise: fails from round 2 to 3 for the mean; holds for the virtual average."""
    holding = [{**point, "reading": "virtual"} for point in some_rounds(depth)]
    return fails_only_without(
        error_of_the_mean, claim, {**ALONE, "reading": "mean"}, holding,
        "E g_t is the average h_{t+1} = (1-q) h_t + q grad F(x_t) along the path",
        "Fails with the mean, and with the conditional mean, of the mean cached gradient.",
    )  # fmt: skip


@checks(
    fedamd.lemE1b_repaired,
    mutants=[times("bound", F(1, 2)), mutate("bound", "no move", lambda e: e.subs(fedamd.move_square, 0))],
)
def virtual_average(claim: Claim, depth: Depth) -> Evidence:
    """Young's inequality on every path."""
    points = held_at(
        error_of_the_virtual_average, claim, some_rounds(depth), summary="No violation on quadratics", domain="t <= 10"
    )
    q, first, second = sympy.symbols("q first second", positive=True)
    bound = rhs(claim).subs(fedamd.p, q * fedamd.M / fedamd.A)
    bound = bound.subs({fedamd.mean_cache_error: first**2, fedamd.move_square: second**2 / fedamd.L**2})
    rest = sympy.factor(sympy.simplify(bound - ((1 - q) * first + second) ** 2))  # |(1-q) e + d|^2 at most
    share = below_one()
    facts = [
        nonnegative(
            "(1-q) e^2 + d^2/q - ((1-q) e + d)^2 is (1-q)/q times a square",
            sympy.simplify(rest / (q * first - second) ** 2) if first in rest.free_symbols else -1,
            {q: 1 - share},
        )
    ]
    return proved(facts, points, "The difference of both sides is a square.")


@checks(fedamd.eq119, mutants=[times("first", 2), times("second", F(1, 2))])
def young_factors(claim: Claim, depth: Depth) -> Evidence:
    """Two identities."""
    f = claim.formulas
    return chain(
        [
            identity("factor of the old error", f["first factor"] - f["first"]),
            identity("factor of the move", f["second factor"] - f["second"]),
        ],
        "Both identities hold.",
    )


# ---- (96), Lemmas E.2 and E.3 ----------------------------------------------------------------------------


@checks(
    fedamd.eq96,
    mutants=[times("bound", 10), mutate("bound", "with the spread", lambda e: e + 9 * fedamd.mean_cache_error)],
)
def no_meaning_serves_both(claim: Claim, depth: Depth) -> Evidence:
    """For each meaning of E g, whether (96) and (113) hold in the first six rounds of the run of one client."""
    fails: dict[str, str] = {}
    for reading in ("mean", "conditional", "virtual"):
        for t in range(6):
            now = Round({**ALONE, "round": t})
            constants = now.constants | {"mean_cache_error": now.mean_error(reading)}
            constants |= {"move_square": now.move_square()}
            sides = {
                "(96)": (now.cache_error(now.before), right_side(claim.bound, constants)),
                "(113)": (now.mean_error(reading, later=True), right_side(fedamd.lemE1b.bound, constants)),
            }
            broken = [f"{which} at t = {t}, {left} > {right}" for which, (left, right) in sides.items() if left > right]
            if broken:
                fails[reading] = broken[0]
                break
    where = {**fails, **assumed(claim, Round(ALONE).met)}
    if len(fails) == 3:
        summary = (
            "No meaning of E g_t serves both (113) and this step: who refreshed its cache has a variance of its own."
        )
        return Evidence("inconsistent", "exact moments", summary, "F = x^2/2, p = 1/2, t < 6", 18, witness=where)
    return Evidence("exact", "exact moments", "One meaning serves both here.", "F = x^2/2, p = 1/2, t < 6", 18)


# At Theorem 4.8's global step: late in a run, where little is to spare, and where a condition on the local step fails.
SEVEN: Point = {"anchor_probability": F(1, 10), "local_steps": 7}
LATE: Point = {**ALONE, **SEVEN, "curvatures": (1, -1, 1, 1), "move": theorem48_step(4, 1, F(1, 10)), "round": 199}
SELDOM: Point = {
    **ALONE, "anchor_probability": F(1, 20), "local": F(1, 5), "move": theorem48_step(1, 1, F(1, 20)),
}  # fmt: skip
FAR: Point = {**LATE, "round": 20, "local": F(4)}
NOISY: Point = {
    **ALONE, **SEVEN, "curvatures": (1, F(-1, 2)), "move": theorem48_step(2, 1, F(1, 10)), "round": 6,
    "noise": "samples", "noise_size": F(64), "local": F(1, 5),
}  # fmt: skip


@checks(
    fedamd.lemE2,
    mutants=[
        times("bound", 100), times("bound", F(1, 5)), without("local step"), without("local step and noise"),
        put("bound", fedamd.mean_cache_error, 0),
    ],
)  # fmt: skip
def local_steps_with_a_long_global_step(claim: Claim, depth: Depth) -> Evidence:
    """eta = 3/2, p = 1/4, t = 39; holds at Theorem 4.8's step, and at long ones with the conditional mean."""
    failing = {
        **UNEQUAL, "anchor_probability": F(1, 4), "local": F(1, 4), "move": F(3, 2), "round": 39, "reading": "virtual",
    }  # fmt: skip
    holding = _read([*some_rounds(depth, theorem48_step), {**LATE, "local": F(1, 4)}])
    return fails_only_without(
        local_steps_of_a_round, claim, failing, [*holding, *_given_the_rounds_before(depth, failing)],
        f"{SHORT}, or {ITSELF}",
        "For a long global step the variance of the mean cached gradient outgrows what the bound keeps.",
        beyond=_read([FAR, NOISY]),
    )  # fmt: skip


def _read(points: Sequence[Point]) -> list[Point]:
    return [{**point, "reading": reading} for point in points for reading in ("mean", "virtual")]


def _given_the_rounds_before(depth: Depth, failing: Point) -> list[Point]:
    """Long global steps, with E g_t as the conditional mean."""
    return [{**point, "reading": "conditional"} for point in (failing, *some_rounds(depth))]


OF_E3 = f"{ITSELF}, or as the mean over all runs, and {SHORT}"


@checks(
    fedamd.lemE3,
    mutants=[
        mutate("bound", "no descent", lambda e: e.subs(fedamd.gradient_square, 0)), times("bound", 100),
        put("bound", fedamd.mean_cache_error, fedamd.mean_cache_error / 4),
        without("local step"), without("local step and noise"),
    ],
)  # fmt: skip
def descent_with_a_long_global_step(claim: Claim, depth: Depth) -> Evidence:
    """eta = 1, p = 1/10, t = 17: F grows; holds with the mean at Theorem 4.8's step, with the conditional at any."""
    failing = {**UNEQUAL, "local": F(1, 5), "move": 1 + F(0), "round": 17, "reading": "mean"}
    points = [*some_rounds(depth, theorem48_step), {**SELDOM, "round": 60}]
    holding, beyond = ([{**point, "reading": "mean"} for point in some] for some in (points, [FAR, NOISY]))
    return fails_only_without(
        descent_of_a_round, claim, failing, [*holding, *_given_the_rounds_before(depth, failing)], OF_E3,
        "For a long global step F can grow in mean where the bound says that it falls.",
        beyond=beyond,
    )  # fmt: skip


@checks(
    fedamd.lemE3,
    mutants=[
        mutate("bound", "no descent", lambda e: e.subs(fedamd.gradient_square, 0)),
        put("bound", fedamd.mean_cache_error, 0), mutate("bound", "no move", lambda e: e.subs(fedamd.move_square, 0)),
    ],
)  # fmt: skip
def descent_with_the_virtual_average(claim: Claim, depth: Depth) -> Evidence:
    """One client, p = 1/20, Theorem 4.8's step, t = 108: fails with the virtual average, holds with the others."""
    late = {**SELDOM, "round": 108}
    return fails_only_without(
        descent_of_a_round, claim, {**late, "reading": "virtual"},
        [{**late, "reading": reading} for reading in ("mean", "conditional")], OF_E3,
        "With the virtual average, for which (113) holds, it fails late in a run at Theorem 4.8's own step.",
    )  # fmt: skip
