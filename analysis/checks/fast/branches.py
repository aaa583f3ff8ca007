"""One round on clients that are no quadratics, with noise that depends on where the model is: every branch of it.

Four clients with F_i'(x) = (L for x > 0, else mu) x + c_i, c_i = +a for half of them and -a for the others, so that
0 is the minimum of F and the dissimilarity is a everywhere. A stochastic gradient is off by +-sigma, each with
probability 1/2, on one side of 0 or on both; so later gradients depend on earlier noise, and so does their noise.
"""

from __future__ import annotations

from typing import Any

from analysis.checks import CheckBook, Depth
from analysis.checks.fast.coins import CLIENTS
from analysis.checks.points import drawn, held_at
from analysis.domains import Choice, Domain, Real, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, right_side
from fltheory.ledger import Claim
from fltheory.papers import fast

checks = CheckBook()

BRANCHES: dict[str, Domain] = {
    "smoothness": Real("1/4", 4, log=True),
    "flatness": Real("1/100", 1, log=True),  # mu / L
    "spread": Real(0, 4),
    "noise": Real(0, 8),
    "noisy": Choice(("above", "below", "everywhere")),
    "start": Real(-4, 4),
    "step_share": Real("1/1000", 1, log=True),  # of the largest step
    "steps": Whole(1, 5),
    "sampled": Whole(1, CLIENTS),
    "asked": Whole(1, CLIENTS // 2),
    "arbitrary": Real(0, 1),  # 1 - q
    "young": Real("1/100", 100, log=True),
}


def local_moments(point: Point, slope: Any, lr: Any) -> tuple[Any, Any]:
    """Mean and variance of a client's model after its local steps, over all 2^K branches."""
    steep, flat = point["smoothness"], point["smoothness"] * point["flatness"]
    branches = [(1 + 0 * lr, point["start"])]
    for _ in range(point["steps"]):
        after = []
        for weight, x in branches:
            moved = x - lr * ((steep if x > 0 else flat) * x + slope)
            side = "above" if x > 0 else "below"
            if point["noisy"] in (side, "everywhere"):
                after += [(weight / 2, moved + lr * point["noise"]), (weight / 2, moved - lr * point["noise"])]
            else:
                after.append((weight, moved))
        branches = after
    mean = sum(weight * x for weight, x in branches)
    return mean, sum(weight * (x - mean) ** 2 for weight, x in branches)


@checks.trial(fast.thm2_gen, BRANCHES)
def branching_round(claim: Claim, point: Point) -> Sides:
    """Four clients of two curvatures, L above 0 and mu below; a round by all branches of noise that sees the state."""
    m, n, steps, share = point["sampled"], point["asked"], point["steps"], point["arbitrary"]
    lr = point["step_share"] / (20 * max(m, n) * point["smoothness"] * steps)
    (up, up_noise), (down, down_noise) = (local_moments(point, sign * point["spread"], lr) for sign in (1, -1))
    mean, noise, one = (up + down) / 2, (up_noise + down_noise) / 2, 1 + 0 * lr
    scatter = one * (CLIENTS - m) / (m * (CLIENTS - 1)) * ((up - down) / 2) ** 2
    snapshot = mean**2 + scatter + noise / m
    arbitrary = up**2 + up_noise / n
    constants = {
        "smoothness": point["smoothness"],
        "strong_convexity": point["smoothness"] * point["flatness"],
        "local_steps": steps,
        "local_lr": lr,
        "snapshot_rate": 1 - share,
        "snapshot_clients": m,
        "arbitrary_clients": n,
        "noise_std": point["noise"],
        "heterogeneity": point["spread"],
        "young_rate": point["young"],
        "square_before": point["start"] ** 2,
    }
    return Sides((1 - share) * snapshot + share * arbitrary, right_side(claim.bound, constants), constants)


def held_on_branches(claim: Claim, depth: Depth) -> Evidence:
    """Points from the space, some of them with noise alone."""
    number = {"quick": 60, "default": 600, "deep": 20_000}[depth]
    parts: tuple[dict[str, Any], ...] = ({}, {"spread": 0.0, "start": 0.0, "sampled": 1, "asked": 1})
    points = [point for part in parts for point in drawn(branching_round, number, **part)]
    return held_at(
        branching_round, claim, points, "exact", "exact moments", "No violation with noise that depends on the state",
        domain="four clients of two curvatures, every branch of a round, drawn from a fixed seed",
    )  # fmt: skip
