"""Runs that Theorem 1 as corrected is held against: any schedule of rounds, and coins, by exact moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.checks import CheckBook, Depth
from analysis.checks.amplified.waves import Waves
from analysis.checks.amplified.weighting import centred
from analysis.checks.fast.family import AWAY, Family, average_square
from analysis.checks.fast.nonconvex import family_constants
from analysis.checks.points import drawn, held_at
from analysis.domains import Choice, Domain, Real, Several, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, Trial, right_side, root
from fltheory.ledger import Claim
from fltheory.papers import fast

checks = CheckBook()

SNAPSHOT = "snapshot"
CLIENTS: dict[str, Domain] = {
    "half": Whole(1, 20),  # clients on each side
    "sampled": Whole(1, 40),  # m, all clients if they are fewer
    "asked": Whole(1, 20),  # n, at most half of the clients
    "variance": Real(0, 9),
    "steps": Whole(1, 8),
    "start": Real(-3, 3),
    "step_share": Real("1/10000", 2, log=True),  # of the largest step size
}


def _family(point: Point, largest: Any) -> Family:
    half = point["half"]
    m, n = min(point["sampled"], 2 * half), min(point["asked"], half)
    lr = point["step_share"] / (largest * point["steps"])
    return Family(lr, point["steps"], point["variance"], m, n, 2 * half)


def _constants(family: Family, point: Point, q: Any, rounds: int) -> dict[str, Any]:
    return family_constants(family, point, q, rounds) | {"noise_std": root(point["variance"])}


def schedule(point: Point) -> list[Any]:
    """The blocks of a point, over and over, each block as many equal rounds."""
    blocks, length = point["blocks"], point["length"]
    kinds = [None if block == SNAPSHOT else block for block in blocks]
    return [kinds[r // length % len(kinds)] for r in range(point["rounds"])]


BLOCKS: dict[str, Domain] = {
    "blocks": Several(Choice((SNAPSHOT, 1, -1, AWAY)), 1, 6),
    "length": Whole(1, 200),  # rounds of a block
    "rounds": Whole(1, 600),
}


@checks.trial(fast.thm1_repaired_A, space={**BLOCKS, **CLIENTS})
def any_schedule(claim: Claim, point: Point) -> Sides:
    """Exact moments under any pattern of rounds, adversarial ones among them."""
    assert claim.bound is not None
    family, targets = _family(point, 11), schedule(point)
    q = family.share(targets.count(None), len(targets))
    left = average_square(family.moments(point["start"], targets), family)[0]
    constants = _constants(family, point, q, len(targets))
    return Sides(left, right_side(claim.bound, constants), constants)


@checks.trial(
    fast.thm1_repaired_A,
    space={
        **BLOCKS,
        "rounds": Whole(1, 150),
        "centres": Several(Real(-2, 2), 2, 4),
        "slopes": Several(Real(-2, 2), 2, 4),
        "height": Real("1/4", 4, log=True),
        "steps": Whole(1, 4),
        "start": Real(-4, 4),
        "step_share": Real("1/1000", 2, log=True),
    },
)
def waves_any_schedule(claim: Claim, point: Point) -> Sides:
    """Nonconvex clients, every one in a snapshot, the first, the last or the worst alone otherwise; no noise."""
    assert claim.bound is not None
    clients, one = len(point["centres"]), point["start"] / point["start"]
    slopes = centred([point["slopes"][k % len(point["slopes"])] for k in range(clients)])
    problem = Waves(point["height"], point["centres"], slopes)
    targets, steps = schedule(point), point["steps"]
    lr = point["step_share"] / (11 * point["height"] * steps)
    x, squares = point["start"], []
    for target in targets:
        squares.append(problem.gradient(x) ** 2)
        ends = [_local(problem, k, x, lr, steps) for k in _asked(problem, target, x)]
        x = sum(ends) / (one * len(ends))
    everybody = tuple([one / clients] * clients)
    gap = problem.value(point["start"]) - problem.lowest()
    constants = {
        "smoothness": point["height"],
        "heterogeneity": root(problem.divergences([everybody], 1).d2),
        "noise_std": 0,
        "local_lr": lr,
        "local_steps": steps,
        "rounds": len(targets),
        "snapshot_rate": one * targets.count(None) / len(targets),
        "snapshot_clients": clients,
        "arbitrary_clients": 1,
        "n_clients": clients,
        "initial_gap": max(gap, 0 * gap),
    }
    return Sides(sum(squares) / (one * len(squares)), right_side(claim.bound, constants), constants)


def _asked(problem: Waves, target: Any, x: Any) -> Sequence[int]:
    clients = len(problem.centres)
    if target is None:
        return range(clients)
    if target == AWAY:  # whose gradient points furthest away from that of f
        gradients, all_of_them = problem.gradients(x), problem.gradient(x)
        return [min(range(clients), key=lambda k: gradients[k] * all_of_them)]
    return [0] if target == 1 else [clients - 1]


def _local(problem: Waves, client: int, x: Any, lr: Any, steps: int) -> Any:
    for _ in range(steps):
        x = x - lr * problem.gradients(x)[client]
    return x


def _coins(claim: Claim, point: Point, largest: Any) -> Sides:
    assert claim.bound is not None
    family, q, rounds = _family(point, largest), point["q"], point["rounds"]
    constants = _constants(family, point, q, rounds) | {"young_weight": point.get("weight", 1)}
    left = family.average_with_coins(q, point["start"], rounds)
    return Sides(left, right_side(claim.bound, constants), constants)


COINS: dict[str, Domain] = {**CLIENTS, "q": Real(0, 1), "rounds": Whole(1, 10**9), "steps": Whole(1, 20)}


@checks.trial(fast.thm1_repaired_B, space=COINS)
def coins(claim: Claim, point: Point) -> Sides:
    """Coins, half the clients with (x-1)^2/2, half with (x+1)^2/2; the other rounds ask one side only, the worst."""
    return _coins(claim, point, 13)


@checks.trial(fast.thm1_repaired_sharp, space={**COINS, "weight": Real("1/1000", 2, log=True)})
def coins_with_weight(claim: Claim, point: Point) -> Sides:
    """Coins, half the clients with (x-1)^2/2, half with (x+1)^2/2, and the free weight as another coordinate."""
    return _coins(claim, point, 8)


POINTS = {"quick": 100, "default": 1_500, "deep": 30_000}
# The initial gap alone, noise alone, one side in most rounds, drawing alone.
PARTS: tuple[dict[str, Any], ...] = (
    {},
    {"variance": 0.0, "half": 1, "sampled": 2},
    {"start": 0.0, "variance": 9.0},
    {"start": 0.0, "variance": 0.0, "half": 1, "sampled": 1},
)


def numbers(trial: Trial, claim: Claim, depth: Depth, summary: str, domain: str, parts: Any = PARTS) -> Evidence:
    """Points from the trial's space, and some where one term of the bound stands alone."""
    points = [point for part in parts for point in drawn(trial, POINTS[depth], **part)]
    return held_at(trial, claim, points, "exact", "exact moments", summary, domain=domain)
