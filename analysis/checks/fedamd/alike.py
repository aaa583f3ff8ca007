"""FedAMD with any number of clients that are alike, F_m = h x^2/2: four moments, and corners of a theorem's domain.

In units of h a round is a map of E of (1, x^2, x g, g^2, the mean of the squared caches), g the mean cached gradient. A
run of any length is a power of that map, in floats, so a bound can be looked at where each of its terms dominates, with
every letter both small and large: a wrong exponent shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from analysis.checks.fedamd.miners import Miner
from analysis.evidence import Evidence, Tally, ratio_text
from analysis.trials import conditions_at
from fltheory.ledger import Claim

Period = Sequence[tuple[Any, int]]  # the maps of the rounds that repeat, each with its number of rounds


def alike(clients: int, anchors: int, step: float, noise: float = 0.0) -> Any:
    """One round, with a last entry that stays 0. So many anchors, a uniform subset, take x for their caches, each with
    a noise of this variance; x moves by -step g, with step 0 if there are no miners."""
    share, pairs = anchors / clients, anchors * (anchors - 1) / (clients * max(clients - 1, 1))
    one, xx, xg, gg, caches, total = np.eye(6)
    behind, behind_each = xx - 2 * xg + gg, xx - 2 * xg + caches  # (x - g)^2, and the mean of (x - cache)^2
    scatter = anchors * behind_each / clients**2 + pairs * (behind - behind_each / clients)
    return np.array([
        one,
        xx - 2 * step * xg + step**2 * gg,
        xg - step * gg + share * (xx - xg - step * (xg - gg)),
        gg + 2 * share * (xg - gg) + scatter + share * noise / clients * one,
        caches + share * (xx - caches) + share * noise * one,
        total,
    ])  # fmt: skip


def with_chance(clients: int, size: int, probability: float, step: float, noise: float = 0.0) -> Any:
    """The mean over who of `size` participants is an anchor, each with this probability."""
    chances = binom.pmf(np.arange(size + 1), size, probability)
    maps = (alike(clients, k, step if k < size else 0.0, noise) for k in range(size + 1))
    return sum(chance * one for chance, one in zip(chances, maps, strict=True))


def counted(one: Any) -> Any:
    """The map with the running sum of E x^2 before the round as its last entry."""
    wide = one.copy()
    wide[-1, 1] = 1.0
    return wide


def squares(period: Period, start: float, clients: int, noise: float, periods: int) -> tuple[float, float]:
    """The mean of E x^2 over the rounds that count, and the last; from start, with caches started by all clients."""
    cycle, rounds = np.eye(6), 0
    for one, times in period:
        cycle, rounds = np.linalg.matrix_power(one, times) @ cycle, rounds + times * int(one[-1, 1])
    square = start**2
    begin = np.array([1.0, square, square, square + noise / clients, square + noise, 0.0])
    after = np.linalg.matrix_power(cycle, periods) @ begin
    return float(after[-1]) / (rounds * periods), float(after[1])


# ---- corners ---------------------------------------------------------------------------------------------------------

USUAL: dict[str, Any] = {
    "n_clients": 6, "cohort_size": 3, "anchor_probability": 0.5, "anchor_period": 3, "thinning": 1.0, "local_steps": 4,
    "curvature": 1.0, "local": 0.2, "share": 1.0, "noise_std": 1.0, "anchor_batch": 8, "initial_gap": 1.0,
}  # fmt: skip
OTHERS: tuple[dict[str, Any], ...] = (
    {}, {"n_clients": 1, "cohort_size": 1}, {"n_clients": 1000}, {"n_clients": 60, "cohort_size": 60},
    {"anchor_probability": 0.02}, {"n_clients": 40, "cohort_size": 40, "anchor_probability": 0.999},
    {"anchor_period": 2}, {"anchor_period": 500}, {"thinning": 30.0}, {"local_steps": 1}, {"local_steps": 100},
    {"curvature": 1e-4}, {"curvature": 1e4}, {"local": 1e-4}, {"share": 1e-4},
    {"noise_std": 1e-4}, {"noise_std": 1e4}, {"anchor_batch": 2}, {"anchor_batch": 10_000},
    {"initial_gap": 1e-4}, {"initial_gap": 1e4},
)  # fmt: skip


def corners(fixed: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    """Constants of which one at a time is far from its usual value; the initial gap alone, or anchor noise alone.

    local is eta_l K L, and share that of the largest global step which is made.
    """
    for other in OTHERS:
        for alone in ({"noise_std": 0.0}, {"initial_gap": 0.0}):
            if not other.keys() & alone.keys():
                corner = {**USUAL, **other, **alone, **fixed}
                of_loss = dict.fromkeys(("smoothness", "polyak_lojasiewicz"), corner["curvature"])
                yield {**corner, **of_loss, "subsampled": 1, "noise_smoothness": 0.0, "batch_size": 1}


def held_at_corners(
    claim: Claim,
    largest: Callable[[dict[str, Any]], float],
    period: Callable[[dict[str, Any], float, float], Period],
    *,
    fixed: Mapping[str, float] | None = None,
    last: bool = False,
) -> Evidence:
    """Whether the bound holds in corners, for runs that are short, and as long as it takes to forget the start.

    It bounds the mean of E|grad F|^2 over the rounds that count or, with `last`, E F - F_* at the end.

    largest   corner -> eta_s eta_l K L
    fixed     what the claim leaves no choice of
    period    (corner, step in units of h, variance of an anchor's gradient in units of h^2) -> the rounds that repeat
    """
    tally = Tally()
    for corner in corners(fixed or {}):
        h, steps = corner["smoothness"], corner["local_steps"]
        local_lr = corner["local"] / (steps * h)
        move = largest(corner) * corner["share"] * (1 - 1e-9)  # within the condition, whatever the rounding
        multiplier, _ = Miner(h, local_lr, steps).multiplier()
        noise = corner["noise_std"] ** 2 / corner["anchor_batch"] / h**2
        repeated = period(corner, move * multiplier / steps, noise)
        length, pace = sum(times for _, times in repeated), -sum(times * one[1, 2] for one, times in repeated) / 2
        if not pace > 0:  # the claim gives no probability below 1
            tally.holds(False, **corner)
            continue
        start = (2 * corner["initial_gap"] / h) ** 0.5
        for periods in (1, round(1 / pace) + 1, round(100 / pace) + 1):
            constants = corner | {"local_lr": local_lr, "global_lr": move / corner["local"], "rounds": periods * length}
            if all(conditions_at(claim, constants).values()):
                mean, end = squares(repeated, start, corner["n_clients"], noise, periods)
                left = h * end / 2 if last else h**2 * mean
                assert claim.bound is not None
                used = {name: constants[name] for name in sorted(s.name for s in claim.bound.rhs.free_symbols)}
                tally.at_most(left, claim.bound.at(**used), **used)
    largest_ratio = ratio_text(tally.largest, ".3g")
    return tally.evidence(
        "exact", "closed moments", f"No violation at {tally.cases} corners; largest ratio found {largest_ratio}.",
        domain="equal quadratics, up to 1000 clients, every letter small and large", ratio=True,
    )  # fmt: skip
