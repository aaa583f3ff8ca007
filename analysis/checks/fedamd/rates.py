"""Slopes of FedAMD in T, M, K and tau at the step sizes of its corollaries, on quadratics of one curvature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

from analysis.checks import CheckBook, Depth, put, times
from analysis.checks.fedamd.alike import Period, alike, counted, squares, with_chance
from analysis.checks.fedamd.cycles import Cycles
from analysis.checks.fedamd.displacement import rhs
from analysis.checks.fedamd.miners import Miner, averaged
from analysis.checks.points import value_of
from analysis.checks.slopes import Rate, Run, Slope, powers, rates
from analysis.evidence import Evidence
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import A, K, L, M, T, eta_l, eta_s, tau

checks = CheckBook()

START = 2**0.5  # F(x_0) - F_* = 1, as Corollary 4.5 has it
HALF = F(1, 2)
AT: dict[str, Any] = {
    "smoothness": 1, "initial_gap": 1, "noise_std": 1, "noise_smoothness": 0, "subsampled": 1, "n_clients": 4,
    "cohort_size": 4, "local_steps": 4, "rounds": 2**36, "anchor_period": 2, "anchor_batch": 2, "batch_size": 1,
    "thinning": 1,
}  # fmt: skip
FULL = "x^2/2 at every client, all of them in every round, the average over miner rounds"


def _named(claim: Claim) -> set[str]:
    parts = [claim.bound.rhs, *claim.conditions.values()] if claim.bound else []
    return {symbol.name for part in parts for symbol in part.free_symbols}


def _full(claim: Claim, local: Any, server: Any, **changed: Any) -> Run:
    """Full participation at these step sizes: the average of E|grad F|^2 over the miner rounds."""
    constants = {name: float(value) for name, value in {**AT, **changed}.items()}
    steps, period = int(constants["local_steps"]), int(constants["anchor_period"])
    lr, product = value_of(local, constants), value_of(local * server, constants)
    mean, square = averaged([Miner(1.0, lr, steps)])
    noise = constants["subsampled"] * constants["noise_std"] ** 2 / (constants["n_clients"] * constants["anchor_batch"])
    run = Cycles(1.0, period, product * mean, product**2 * (square - mean**2), noise)
    error = run.average(START**2, int(constants["rounds"]) // period, anchors=False)
    constants |= {"local_lr": lr, "global_lr": product / lr}
    return Run(error, {name: constants[name] for name in _named(claim)})


# ---- Corollary 4.5 ---------------------------------------------------------------------------------------------------


@checks(
    fedamd.cor45,
    mutants=[
        put("first: bound times sqrt(T)", M, M**2),
        put("second: bound times sqrt(T)", K, 1),
        put("third: first term times T", tau, 1),
        times("first global step", T ** F(-1, 4)),
        times("second global step", 1 / K),
        times("third global step", 1 / tau),
    ],
)
def slopes_of_the_printed_settings(claim: Claim, depth: Depth) -> Evidence:
    """tau = 2 in the first two; T, M, and K in the second, tau in the third."""
    last, f = {"quick": 5, "default": 7, "deep": 9}[depth], claim.formulas
    first, second = f["first: bound times sqrt(T)"] / T**HALF, f["second: bound times sqrt(T)"] / T**HALF
    third, far = f["third: first term times T"] / T, AT | {"rounds": "1e9000"}

    def run(setting: str, **changed: Any) -> Run:
        return _full(claim, f[f"{setting} local step"], f[f"{setting} global step"], **changed)

    def of_second(**changed: Any) -> Run:  # b = 2K
        return run("second", anchor_batch=2 * changed.get("local_steps", AT["local_steps"]), **changed)

    lines = [
        Rate(T, -HALF, first, AT, powers(16, 5, 5 + last), lambda t: run("first", rounds=t), name="T, b = 2"),
        Rate(M, -HALF, first, far, powers(2, 0, last), lambda n: run("first", n_clients=n), name="M, b = 2"),
        Rate(T, -HALF, second, AT, powers(16, 5, 5 + last), lambda t: of_second(rounds=t), name="T, b = 2K"),
        Rate(M, -HALF, second, far, powers(2, 0, last), lambda n: of_second(n_clients=n), name="M, b = 2K"),
        Rate(K, -HALF, second, far, powers(2, 0, last), lambda k: of_second(local_steps=k), name="K, b = 2K"),
        Rate(T, -1, third, AT, powers(4, 5, 5 + last), lambda t: run("third", rounds=t, subsampled=0),
             name="T, large b"),
        Rate(tau, 1, third, far, powers(2, 3, 3 + last), lambda t: run("third", anchor_period=t, subsampled=0),
             name="tau, large b"),
    ]  # fmt: skip
    found = rates(claim, lines, domain=f"{FULL}; tau = 2 where it does not vary")
    grid = powers(2, 3, 3 + last)
    free = Slope.of(grid, [run("first", anchor_period=t).error for t in grid])
    if found.verdict != "exact" or free.is_at_most(0):
        return found
    summary = (
        f"In tau, of which the order for b = O(1) is free, errors have slope {free} at its step sizes. {found.summary}"
    )
    return replace(found, verdict="conditional", hypothesis="tau is bounded", summary=summary)


@checks(
    fedamd.cor45_attained,
    mutants=[put("bound", tau, 1), put("bound", M, 1), put("bound", T, T**2), put("bound", tau, tau**2)],
)
@checks(
    fedamd.cor45_attained_b,
    mutants=[put("bound", tau, 1), put("bound", M, 1), put("bound", T, T**2), put("bound", K, K**2)],
)
def slopes_with_a_period(claim: Claim, depth: Depth) -> Evidence:
    """The factor sqrt(tau) that the printed corollary has not: it is attained."""
    last, bound, far = {"quick": 5, "default": 7, "deep": 9}[depth], rhs(claim), AT | {"rounds": "1e9000"}
    second = claim.id.endswith("-B")
    steps = claim.formulas

    def run(**changed: Any) -> Run:
        batch = 2 * (changed.get("local_steps", AT["local_steps"]) if second else 1)
        return _full(claim, steps["local_lr"], steps["global_lr"], anchor_batch=batch, **changed)

    lines = [
        Rate(T, -HALF, bound, AT, powers(16, 5, 5 + last), lambda t: run(rounds=t)),
        Rate(M, -HALF, bound, far, powers(2, 0, last), lambda n: run(n_clients=n)),
        Rate(tau, HALF, bound, far, powers(2, 3, 3 + last), lambda t: run(anchor_period=t), ours=True),
        Rate(K, -HALF if second else 0, bound, far, powers(2, 0, last), lambda k: run(local_steps=k)),
    ]
    return rates(claim, lines, domain=FULL)


# ---- partial participation -------------------------------------------------------------------------------------------


def _partial(claim: Claim, product: Any, period: Callable[[dict[str, float], float], Period], **changed: Any) -> Run:
    """A of M clients a round, K = 1, no noise, warm caches: the mean of E|grad F|^2 over the rounds that count.

    period   (constants, step) -> the rounds that repeat
    """
    constants = {name: float(value) for name, value in {**AT, **SINGLE, **changed}.items()}
    step = value_of(product, constants)
    repeated = period(constants, step)
    cycles = int(constants["rounds"]) // sum(rounds for _, rounds in repeated)
    constants |= {"local_lr": 0.1, "global_lr": step / 0.1, "noise_std": 0.0}
    error, _ = squares(repeated, START, int(constants["n_clients"]), 0.0, cycles)
    return Run(error, {name: constants[name] for name in _named(claim)})


SINGLE: dict[str, Any] = {"cohort_size": 1, "local_steps": 1, "subsampled": 0, "rounds": 2**40, "local_lr": F(1, 10)}
MANY = 2**20
SOME_OF = "x^2/2 at every client, A of M in every round, K = 1, no noise, caches started by all clients"


@checks(
    fedamd.cor49,
    mutants=[times("bound", T), times("bound", M), times("bound", 1 / A), times("bound", F(1, 100)),
             times("probability", 1 / M)],
)  # fmt: skip
def slopes_at_the_tuned_probability(claim: Claim, depth: Depth) -> Evidence:
    """T, M, and A for M far above it."""
    last = {"quick": 4, "default": 6, "deep": 8}[depth]
    product = 1 / (K * L * (1 + 3 * M * fedamd.c / A))
    bound = rhs(claim).subs(eta_s, product / eta_l)

    def period(constants: dict[str, float], step: float) -> Period:
        chance = value_of(claim.formulas["probability"], constants)
        clients, size = int(constants["n_clients"]), int(constants["cohort_size"])
        return [(counted(with_chance(clients, size, chance, step)), 1)]

    def run(**changed: Any) -> Run:
        return _partial(claim, product, period, **changed)

    at = AT | SINGLE
    lines = [
        Rate(T, -1, bound, at, powers(4, 5, 6 + last), lambda t: run(rounds=t)),
        Rate(M, 1, bound, at, powers(2, 5, 6 + last), lambda n: run(n_clients=n)),
        Rate(A, -1, bound, at | {"n_clients": "1e9000"}, powers(2, 3, 3 + last),
             lambda n: run(n_clients=MANY, cohort_size=n)),
    ]  # fmt: skip
    return rates(claim, lines, domain=SOME_OF)


@checks(fedamd.thm46, mutants=[times("bound", T), times("bound", M), times("bound", 1 / tau), times("bound", F(1, 50))])
def slopes_of_the_sequential_form(claim: Claim, depth: Depth) -> Evidence:
    """T, M, tau and A at the largest step."""
    last = {"quick": 4, "default": 6, "deep": 8}[depth]
    product = 1 / (K * L * (1 + 2 * M * tau / A))
    bound = rhs(claim).subs(eta_s, product / eta_l)

    def period(constants: dict[str, float], step: float) -> Period:
        clients, size = int(constants["n_clients"]), int(constants["cohort_size"])
        miners = int(constants["anchor_period"]) - 1
        return [(alike(clients, size, 0.0), 1), (counted(alike(clients, 0, step)), miners)]

    def run(**changed: Any) -> Run:
        return _partial(claim, product, period, **changed)

    at = AT | SINGLE
    far = at | {"rounds": "1e9000"}
    lines = [
        Rate(T, -1, bound, at, powers(4, 5, 6 + last), lambda t: run(rounds=t)),
        Rate(M, 1, bound, far, powers(2, 5, 6 + last), lambda n: run(n_clients=n)),
        Rate(tau, 1, bound, far, powers(2, 5, 6 + last), lambda t: run(anchor_period=t)),
        Rate(A, -1, bound, at | {"n_clients": "1e9000"}, powers(2, 3, 3 + last),
             lambda n: run(n_clients=MANY, cohort_size=n)),
    ]  # fmt: skip
    return rates(claim, lines, domain=SOME_OF)
