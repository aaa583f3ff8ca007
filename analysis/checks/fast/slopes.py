"""Slopes in R, K and m on the plus-minus-one family: linear speedup where every round is a snapshot, and the floor."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

from analysis.checks import CheckBook, Depth, put, times
from analysis.checks.fast.family import Family
from analysis.checks.points import value_of
from analysis.checks.slopes import Rate, Run, floor, powers, rates
from analysis.evidence import Evidence, Tally
from fltheory.ledger import Claim
from fltheory.papers import fast
from fltheory.papers.fast import K, L, R, eta, m, q

checks = CheckBook()

NOISE, START, LOG = 1.0, 1.0, 60
HALF = F(-1, 2)
AT: dict[str, Any] = {
    "snapshot_rate": 1, "snapshot_clients": 2, "arbitrary_clients": 2, "rounds": 10**9, "local_steps": 1,
    "smoothness": 1, "strong_convexity": 1, "noise_std": 1, "heterogeneity": 1, "initial_gap": F(1, 2),
    "step_constant": F(1, 4), "logarithm": LOG,
}  # fmt: skip
DOMAIN = "quadratics of curvature 1 with centres +-1"


def _snapshots(claim: Claim, rounds: int, steps: int, clients: int) -> Run:
    """m = n = M clients in every round at the tuned step: the average of E|grad F|^2, and the constants."""
    constants: dict[str, Any] = {name: float(value) for name, value in AT.items() if name != "logarithm"}
    constants |= {"rounds": rounds, "local_steps": steps, "snapshot_clients": clients, "arbitrary_clients": clients}
    lr = value_of(claim.formulas["local_lr"], constants)
    family = Family(lr, steps, NOISE**2, m=clients, clients=clients)
    square = (family.summed * START) ** 2
    gradients = {"snapshot_square": square, "arbitrary_square": 0.0, "sampled_square": square, "local_lr": lr}
    return Run(family.average_with_coins(1.0, START, rounds), constants | gradients)


def _tuned(claim: Claim, depth: Depth) -> list[Rate]:
    assert claim.bound is not None
    last, bound = {"quick": 5, "default": 7, "deep": 9}[depth], claim.bound.rhs
    if claim.id.endswith("cor2"):
        bound = bound.subs(q, 1)
    return [
        Rate(R, HALF, bound, AT, powers(16, 4, 4 + last), lambda r: _snapshots(claim, r, 2, 4)),
        Rate(K, HALF, bound, AT | {"rounds": "1e9000"}, powers(2, 0, last), lambda k: _snapshots(claim, 4**30, k, 4)),
        Rate(m, HALF, bound.subs(fast.n, m), AT | {"rounds": "1e9000"}, powers(2, 1, last),
             lambda n: _snapshots(claim, 4**30, 2, n)),
    ]  # fmt: skip


SLOPES = [put("bound", R, R**2), put("bound", K, 1), put("bound", m, 1), times("bound", "1/20")]


@checks(fast.cor1, mutants=[*SLOPES, times("local_lr", R ** F(1, 4)), put("bound", m, K)])
@checks(fast.cor2, mutants=[*SLOPES, times("local_lr", R ** F(1, 4)), put("bound", m, m**2)])
def linear_speedup_with_snapshots_only(claim: Claim, depth: Depth) -> Evidence:
    """q = 1 and m = n = M: every round asks everybody."""
    found = rates(claim, _tuned(claim, depth), domain=f"{DOMAIN}, q = 1, m = n = M")
    if found.verdict != "exact":
        return found
    summary = "With q = 1 and m = M the speedup is linear, and the exponents are attained."
    return replace(found, summary=f"{summary} {found.summary}")


# ---- the floor -------------------------------------------------------------------------------------------------------


@checks(
    fast.law_lower_bounds,
    mutants=[times("coins", "1/2"), times("coins", 1 - q), times("coins", 2), put("coins", q, q**2)],
)
def floor_of_a_fixed_share(claim: Claim, depth: Depth) -> Evidence:
    """At Corollary 1's step with fixed q the slope in R tends to 0; the floor is quadratic in 1 - q."""
    last = 8 if depth == "deep" else 7
    least = claim.formulas["coins"].subs(eta, 0)  # small steps, m = M below
    tally, grid = Tally(), powers(16, 4, 4 + last)

    def error(share: F, rounds: int) -> float:
        lr = value_of(fast.cor1.formulas["local_lr"], _constants(share, rounds))
        family = Family(lr, 2, NOISE**2, m=4, n=2, clients=4)
        return float(family.average_with_coins(float(share), START, rounds))

    told = []
    for share in (F(1, 2), F(9, 10), F(99, 100)):
        values = [error(share, rounds) for rounds in grid]
        value = float(least.subs({q: share, fast.m: 4, fast.M: 4, K: 2, L: 1}))
        slope = floor(tally, grid, values, value, q=share)
        told.append(f"q = {float(share):g}: floor {value:g}, slope in R {slope}")
    parts = powers(2, 1, last)
    line = Rate(
        R, -2, least.subs({q: 1 - 1 / R, fast.m: 4, fast.M: 4, K: 2, L: 1}), {}, parts,
        lambda part: Run(error(1 - F(1, part), 16**12)), name="1/(1 - q)", ours=True,
    )  # fmt: skip
    quadratic = rates(replace(claim, bound=None), [line], domain=DOMAIN)
    if quadratic.verdict != "exact":
        return quadratic
    domain = f"{DOMAIN}, K = 2, m = M = 4, R up to 16^{4 + last}"
    found = tally.evidence("exact", "exact slopes", f"{'; '.join(told)}. {quadratic.summary}", domain=domain)
    return replace(found, cases=found.cases + quadratic.cases)


def _constants(share: F, rounds: int) -> dict[str, Any]:
    return {**{k: float(v) for k, v in AT.items()}, "snapshot_rate": float(share), "rounds": float(rounds),
            "snapshot_clients": 4.0, "arbitrary_clients": 2.0, "local_steps": 2.0}  # fmt: skip


# ---- Theorem 2 at the logarithmic step -------------------------------------------------------------------------------


def _last(claim: Claim, rounds: int, steps: int, clients: int, *, noise: float, whole: int, coin: bool = False) -> Run:
    """E|x_R - x*|^2 with m of `whole` clients in snapshots, at a step with exp(-mu K R eta) = e^-60.

    With `coin` as many rounds are arbitrary as the condition of the appendix allows, otherwise none.
    """
    constants = {**{k: float(v) for k, v in AT.items()}, "rounds": float(rounds), "local_steps": float(steps)}
    lr = value_of(claim.formulas["step"], constants)
    away = value_of(fast.thm2_feasibility.formulas["share"], constants | {"local_lr": lr}) if coin else 0.0
    family = Family(lr, steps, noise, m=clients, n=1, clients=whole)
    if family.keep == 1:  # a step below the digits of a float
        return Run(math.nan)
    mean, variance = family.coins(1 - away)
    kept = math.exp(rounds * steps * math.log1p(-lr))
    return Run((mean + (START - mean) * kept) ** 2 + variance * (1 - kept**2))


_WRONG = [
    put("noise term", R, R**2),
    put("noise term", m, 1),
    put("noise term", K, m),
    times("heterogeneity term", K),
    times("heterogeneity term", 1 / R),
    times("share term", R),
    times("step", K),
]


@checks(fast.cor3, mutants=_WRONG)
def terms_at_the_logarithmic_step(claim: Claim, depth: Depth) -> Evidence:
    """Noise, drawing of clients and arbitrary rounds, each alone; mu = L = 1."""
    f, last = claim.formulas, {"quick": 5, "default": 7, "deep": 9}[depth]
    noise, drawn, rounds = f["noise term"], f["heterogeneity term"], powers(4, 12, 12 + last)
    share = f["share term"].subs(q, 1 - fast.thm2_feasibility.formulas["share"].subs(eta, f["step"]))
    few, many, far = powers(2, 0, last), powers(2, 1, last), AT | {"rounds": "1e9000"}

    def of_noise(r: int, k: int, n: int) -> Run:
        return _last(claim, r, k, n, noise=1.0, whole=n)

    def of_draws(r: int, k: int, n: int) -> Run:
        return _last(claim, r, k, n, noise=0.0, whole=4 * 2**last)

    def of_share(r: int) -> Run:
        return _last(claim, r, 1, 2, noise=0.0, whole=2, coin=True)

    lines = [
        Rate(R, -1, noise, AT, rounds, lambda r: of_noise(r, 1, 2), name="noise term, R"),
        Rate(m, -1, noise, far, many, lambda n: of_noise(4**20, 1, n), name="noise term, m"),
        Rate(K, -1, noise, far, few, lambda k: of_noise(4**20, k, 2), name="noise term, K"),
        Rate(R, -1, drawn, AT, rounds, lambda r: of_draws(r, 1, 1), name="heterogeneity term, R"),
        Rate(K, 0, drawn, far, few, lambda k: of_draws(4**20, k, 1), name="heterogeneity term, K"),
        Rate(m, 0, drawn, far, many, lambda n: of_draws(4**20, 1, n), attained=False, name="heterogeneity term, m"),
        Rate(R, -2, share, AT, rounds, of_share, name="share term at the largest 1 - q, R", ours=True),
    ]
    return rates(claim, lines, domain=f"{DOMAIN}, mu = L = 1, E|x_R - x*|^2, the logarithm fixed at {LOG}")
