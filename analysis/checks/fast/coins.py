"""Theorem 2 on quadratics in two directions: exact second moments of FAST with coins, in closed form.

All clients have curvature L in one direction and mu in the other, half of them centres at +a, half at -a. Mean and
variance of each direction follow a scalar recursion, in floats and Fractions alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.checks import CheckBook, Depth
from analysis.checks.points import drawn, held_at
from analysis.domains import Domain, Real, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, right_side, root
from fltheory.ledger import Claim
from fltheory.papers import fast

checks = CheckBook()

CLIENTS = 4
METHOD = "exact moments"
SPACE: dict[str, Domain] = {
    "smoothness": Real("1/4", 4, log=True),
    "flatness": Real("1/10", 1),  # mu / L
    "spread": Real("1/1000", 4, log=True),  # of the centres in the steep direction
    "flat_spread": Real(0, 4),
    "variance": Real(0, 4),
    "start": Real(-4, 4),
    "step_share": Real("1/10000", 1, log=True),  # of the largest step
    "steps": Whole(1, 4),
    "sampled": Whole(1, CLIENTS),
    "asked": Whole(1, CLIENTS // 2),
    "arbitrary": Real("1/1000000", 1, log=True),  # 1 - q
    "rounds": Whole(1, 10_000),
}


def second_moment(point: Point, curvature: Any, spread: Any, start: Any, variance: Any, lr: Any) -> Any:
    """E x_R^2 in one direction: snapshots with probability q, else clients with centre +spread."""
    share, steps, rounds = point["arbitrary"], point["steps"], point["rounds"]
    m, n, one = point["sampled"], point["asked"], 1 + 0 * lr
    keep = (one - lr * curvature) ** steps
    limit = share * spread
    scatter = one * (CLIENTS - m) / (m * (CLIENTS - 1))
    noise = lr**2 * variance * sum((one - lr * curvature) ** (2 * k) for k in range(steps))
    added = (1 - keep) ** 2 * spread**2 * (1 - share) * (scatter + share) + noise * ((1 - share) / m + share / n)
    mean = limit + keep**rounds * (start - limit)
    return mean**2 + added * (1 - keep ** (2 * rounds)) / (1 - keep**2)


def constants_of(point: Point) -> dict[str, Any]:
    """Everything that the problem, the coin and the step determine, under the names of the bound."""
    smoothness, m, n = point["smoothness"], point["sampled"], point["asked"]
    flat = smoothness * point["flatness"]
    return {
        "smoothness": smoothness,
        "strong_convexity": flat,
        "local_steps": point["steps"],
        "local_lr": point["step_share"] / (20 * max(m, n) * smoothness * point["steps"]),
        "snapshot_rate": 1 - point["arbitrary"],
        "snapshot_clients": m,
        "arbitrary_clients": n,
        "rounds": point["rounds"],
        "noise_std": root(2 * point["variance"]),
        "heterogeneity": root((smoothness * point["spread"]) ** 2 + (flat * point["flat_spread"]) ** 2),
        "start_distance_square": 2 * point["start"] ** 2,
    }


def distance(point: Point, constants: dict[str, Any]) -> Any:
    """E||x_R||^2, the minimum of F being at 0."""
    lr, start, variance = constants["local_lr"], point["start"], point["variance"]
    steep = second_moment(point, constants["smoothness"], point["spread"], start, variance, lr)
    return steep + second_moment(point, constants["strong_convexity"], point["flat_spread"], start, variance, lr)


def sides(claim: Claim, point: Point) -> Sides:
    assert claim.bound is not None
    constants = constants_of(point)
    return Sides(sure(distance(point, constants), point), right_side(claim.bound, constants), constants)


def sure(value: Any, point: Point) -> Any:
    """A float less what rounding can leave of terms that cancel."""
    return value - 1e-13 * (1 + point["start"] ** 2) if isinstance(value, float) else value


@checks.trial(fast.thm2_app, SPACE)
def coins_appendix(claim: Claim, point: Point) -> Sides:
    """Four clients with curvatures L and mu in two directions, half the centres at +a and half at -a; coins decide."""
    return sides(claim, point)


@checks.trial(fast.thm2_main, SPACE)
def coins_main(claim: Claim, point: Point) -> Sides:
    """Four clients with curvatures L and mu in two directions, half the centres at +a and half at -a; coins decide."""
    return sides(claim, point)


@checks.trial(fast.thm2_repaired, SPACE)
def coins_repaired(claim: Claim, point: Point) -> Sides:
    """Four clients with curvatures L and mu in two directions, half the centres at +a and half at -a; coins decide."""
    return sides(claim, point)


@checks.trial(fast.thm2_gen, SPACE | {"young": Real("1/100", 100, log=True)})
def one_round(claim: Claim, point: Point) -> Sides:
    """One round, with any epsilon, of four clients with curvatures L and mu in two directions and a coin."""
    assert claim.bound is not None
    point = {**point, "rounds": 1}
    constants = constants_of(point) | {"young_rate": point["young"], "square_before": 2 * point["start"] ** 2}
    return Sides(sure(distance(point, constants), point), right_side(claim.bound, constants), constants)


# Each isolates a part: the start, heterogeneity, arbitrary rounds, noise.
_PARTS: tuple[dict[str, Any], ...] = (
    {"spread": 1e-3, "flat_spread": 0.0, "variance": 0.0, "rounds": 1},
    {"variance": 0.0, "start": 0.0, "arbitrary": 1e-6, "rounds": 10_000, "sampled": 1},
    {"variance": 0.0, "start": 0.0, "sampled": 4, "rounds": 10_000},
    {"variance": 1.0, "spread": 1e-3, "flat_spread": 0.0, "start": 0.0, "rounds": 10_000},
)


def _points(trial: Any, depth: Depth, **fixed: Any) -> Iterator[Point]:
    number = {"quick": 60, "default": 400, "deep": 10_000}[depth]
    for part in _PARTS:
        yield from drawn(trial, number, **part, **fixed)
    yield from drawn(trial, number, **fixed)


def held(trial: Any, claim: Claim, depth: Depth, **fixed: Any) -> Evidence:
    return held_at(
        trial, claim, _points(trial, depth, **fixed), "exact", METHOD, "No violation on quadratics",
        domain="four clients, two directions of curvatures mu <= L, drawn from a fixed seed",
    )  # fmt: skip
