"""Slopes of FedAU in T, N, S and I: weight errors, and errors at Corollary 4's step sizes with known rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction as F
from functools import partial
from typing import Any

import numpy as np
from sympy import sqrt

from analysis.checks import CheckBook, Depth, put, times
from analysis.checks.fedau.cutoff import cutoff_at
from analysis.checks.points import value_of
from analysis.checks.slopes import Estimated, Rate, Run, Slope, average_square, floor, powers, rates
from analysis.checks.tools import SLACK
from analysis.evidence import Evidence, Tally
from fltheory.ledger import Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import I, K, N, T, miss, p, sigma
from fltheory.streams import stream
from fltheory.symbols import cohort_size, weight_square
from fltheory.weights import exact_weight_law
from sims.experiment import parse
from sims.montecarlo.replicates import Replicates

checks = CheckBook()

START = 1.0
HALF = F(-1, 2)
AT: dict[str, Any] = {
    "smoothness": 1, "initial_gap": F(1, 2), "noise_std": 1, "heterogeneity": 0, "local_steps": 1, "n_clients": 4,
    "cohort_size": 2, "weight_square": 2, "rounds": 4**26, "min_rate": F(1, 2), "objective_gradient_bound": 2,
}  # fmt: skip

# ---- known rates -----------------------------------------------------------------------------------------------------


def known_rates(formulas: Mapping[str, Any], *, rate: float | None = None, **changed: Any) -> float:
    """N clients at F_n = (x -+ d)^2/2, each with probability S/N and weight N/S: the average of E|grad f|^2.

    A round takes x to x (1 - c sum of 1_n) plus what centres and noise add, where E x^2 follows an affine recursion:
    the centres are +d and -d in equal numbers, so that neither E x nor a cross term enters it.
    """
    constants = {name: float(value) for name, value in {**AT, **changed}.items()}
    clients, steps = constants["n_clients"], int(constants["local_steps"])
    rate = constants["cohort_size"] / clients if rate is None else rate
    constants["weight_square"] = 1 / rate
    lr = value_of(formulas["local step"], constants)
    both = value_of(formulas["product of steps"], constants)
    pull = -math.expm1(steps * math.log1p(-lr)) * both / lr  # eta times the part of the way to a client's minimum
    squares = math.expm1(2 * steps * math.log1p(-lr)) / math.expm1(2 * math.log1p(-lr))
    noise = (both * constants["noise_std"]) ** 2 * squares / (rate * clients)
    scatter = pull**2 * (1 / rate - 1) / clients
    loss = pull * (2 - pull) - scatter
    fresh = scatter * constants["heterogeneity"] ** 2 + noise
    return average_square(loss, fresh, START**2, int(constants["rounds"]))


SUBSETS = "N clients at (x -+ d)^2/2, each with probability S/N and weight N/S, steps of Corollary 4"


@checks(
    fedau.A3_attained,
    mutants=[put("leading order", cohort_size, N), put("leading order", T, T**2), put("leading order", cohort_size, 1)],
)
def linear_speedup_with_known_rates(claim: Claim, depth: Depth) -> Evidence:
    """T, S, and N at fixed S."""
    last, order = {"quick": 5, "default": 7, "deep": 9}[depth], claim.formulas["leading order"]
    steps = fedau.cor4.formulas

    def run(**changed: Any) -> Run:
        return Run(known_rates(steps, **{"heterogeneity": 1, **changed}))

    lines = [
        Rate(T, HALF, order, AT, powers(16, 4, 4 + last), lambda t: run(rounds=t)),
        Rate(cohort_size, HALF, order, AT, powers(2, 0, last), lambda n: run(cohort_size=n, n_clients=2**20)),
        Rate(N, 0, order, AT, powers(2, 4, 4 + last), lambda n: run(n_clients=n)),
    ]
    return rates(claim, lines, domain=SUBSETS)


# ---- weights ---------------------------------------------------------------------------------------------------------


@checks(
    fedau.thm3,
    mutants=[put("bound", miss ** (2 * K), miss ** (2 * K) / 2), put("bound", T, T**2), put("bound", K, 1)],
)
def floor_of_a_fixed_cutoff(claim: Claim, depth: Depth) -> Evidence:
    """With fixed K the error settles at (1-p)^(2K); above it it falls like log T/T or faster."""
    assert claim.bound is not None
    last = {"quick": 12, "default": 13, "deep": 15}[depth]
    grid = powers(2, 5, last)
    tally, told = Tally(slack=SLACK), []
    above = Tally()
    for rate, cutoff in ((0.1, 5), (0.5, 2), (0.3, 4)):
        errors = np.cumsum(exact_weight_law(rate, cutoff, grid[-1]).error) / np.arange(1, grid[-1] + 1)
        values = [float(errors[rounds - 1]) for rounds in grid]
        for rounds, value in zip(grid, values, strict=True):
            tally.at_most(value, claim.bound.at(rate=rate, cutoff=cutoff, rounds=rounds), p=rate, K=cutoff, T=rounds)
        least = claim.bound.at(rate=rate, cutoff=cutoff, rounds=1e15)
        slope = floor(above, grid, values, least, p=rate, K=cutoff)
        excess = Slope.of(grid, [(v - least) / math.log(t) for t, v in zip(grid, values, strict=True)])
        above.holds(excess.is_at_most(-1), p=rate, K=cutoff, excess=str(excess))
        told.append(f"p = {rate:g}, K = {cutoff}: floor {least:.4g}, slope {slope}, of the excess over log T {excess}")
    domain = f"T up to 2^{last}, exact law"
    for found in (tally, above):
        if found.witness:
            return found.evidence("exact", "exact slopes", "", domain=domain)
    vanishing = claim.bound.rhs.subs(p, 1)
    order = rates(claim, [Rate(T, -1, vanishing, {"cutoff": 3}), Rate(K, 1, vanishing, {"rounds": 10})], domain=domain)
    if order.verdict != "exact":
        return order
    return above.evidence("exact", "exact slopes", f"{'; '.join(told)}. {order.summary}", domain=domain)


@checks(
    fedau.lemB71,
    mutants=[put("published order", T, T**2), times("published order", sqrt(T)), times("published order", 1 / T)],
)
def slope_at_the_chosen_cutoff(claim: Claim, depth: Depth) -> Evidence:
    """Exact errors at Corollary 4's K, divided by log^2 T, fall at least like 1/T."""
    last, order = {"quick": 6, "default": 7, "deep": 9}[depth], claim.formulas["published order"]

    def run(rate: float, rounds: int) -> Run:
        cutoff = cutoff_at(claim.formulas["cutoff"], rate, rounds)
        return Run(float(exact_weight_law(rate, cutoff, rounds).error.mean()) / math.log(rounds) ** 2)

    lines = [
        Rate(T, -1, order, {"min_rate": F(rate)}, powers(4, 3, last), partial(run, rate),
             attained=False, name=f"T, p = {rate:g}, over log^2 T")
        for rate in (0.5, 0.1)
    ]  # fmt: skip
    return rates(claim, lines, domain=f"one rate, K = ceil(log_c T), T up to 4^{last}")


# ---- Corollary 4 -----------------------------------------------------------------------------------------------------

RATE, NEAR, RUNS = 0.5, 0.25, 16
DOUBT = 1e-4  # of a false alarm in this check, out of 1e-3 of all checks


def simulated(formulas: Mapping[str, Any], clients: int, rounds: int) -> list[float]:
    """FedAU at x^2/2 with noise, x_0 = 1/4, all rates 1/2: the average of |grad f|^2 of each run, over sqrt(Q).

    Q is bounded by p K^2: no weight exceeds K.
    """
    cutoff = cutoff_at(formulas["cutoff"], RATE, rounds)
    square = RATE * cutoff**2
    constants = {name: float(value) for name, value in AT.items()} | {
        "n_clients": float(clients), "rounds": float(rounds), "weight_square": square, "initial_gap": NEAR**2 / 2,
    }  # fmt: skip
    lr, both = (value_of(formulas[name], constants) for name in ("local step", "product of steps"))
    experiment = parse({
        "kind": "simulate", "rounds": rounds, "replicates": RUNS, "start": NEAR,
        "problem": {"name": "quadratic", "curvature": 1, "centre": [0] * clients,
                    "noise": {"kind": "rademacher", "std": 1}},
        "process": {"name": "bernoulli", "p": [RATE] * clients},
        "algorithm": {"name": "fedavg", "local_lr": lr, "global_lr": both / lr,
                      "weighting": {"name": "fedau", "cutoff": cutoff}},
        "record": {"what": ["squared_gradient"], "every": 1},
    })  # fmt: skip
    rng = stream(20221128, "rates", clients, rounds)
    found = Replicates(experiment.canonical, 0, RUNS)(0, rng)["squared_gradient"]
    return [float(error) for error in found[:, :-1].mean(axis=1) / math.sqrt(square)]


@checks(
    fedau.cor4,
    mutants=[put("bound", T, T**2), put("bound", N, 1), put("bound", I, 1), put("bound", sigma, 0)],
)
def speedup_of_fedau(claim: Claim, depth: Depth) -> Evidence:
    """The leading terms; and, beyond the quick depth, simulated runs of the full algorithm in N and in T."""
    assert claim.bound is not None
    bound, far, unequal = claim.bound.rhs, AT | {"rounds": "1e9000"}, {"heterogeneity": 1}
    lines = [
        Rate(T, HALF, bound, AT), Rate(N, HALF, bound, far), Rate(I, HALF, bound, far, name="I, equal objectives"),
        Rate(I, 0, bound, far | unequal, name="I, unequal objectives"),
        Rate(weight_square, -HALF, bound, far, name="Q"),
    ]  # fmt: skip
    found = rates(claim, lines, domain="leading terms")
    if found.verdict != "exact" or depth == "quick":
        return found
    tally, told = Tally(), []
    for letter, grid, pairs in (
        ("N", (8, 32, 128), [(n, 1024) for n in (8, 32, 128)]),
        ("T", (128, 512, 2048), [(32, t) for t in (128, 512, 2048)]),
    ):
        samples = [simulated(claim.formulas, clients, rounds) for clients, rounds in pairs]
        slope = Estimated.of(grid, samples, 1 - DOUBT / 2)
        tally.holds(slope.allows(HALF) and slope.tells(HALF), letter=letter, published=str(HALF), slope=str(slope))
        told.append(f"{letter}: {HALF}, simulated over sqrt(Q) {slope}")
    domain = (
        f"leading terms; x^2/2 with noise, all rates 1/2, {RUNS} runs, N up to 128 (T = 1024), T up to 2048 (N = 32)"
    )
    return tally.evidence("supported", "simulation", f"{found.summary} {'; '.join(told)}.", domain=domain)
