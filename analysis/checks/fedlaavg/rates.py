"""Slopes in T, N, E and C of FedLaAvg at the step sizes of its corollaries: sublinear speedup N^(1/4), and 1/sqrt(NT).

Two groups of N/2 clients each, with gradients x - 1 and x + 1, take part in turn. All clients of a group do the same,
so that two clients stand for them; what depends on N then is the step size.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

from analysis.checks import CheckBook, Depth, mutate, put, times
from analysis.checks.points import value_of
from analysis.checks.slopes import Rate, Run, average_square, powers, rates
from analysis.evidence import Evidence
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import attained, by_rounds, iterations
from fltheory.papers.fedlaavg.letters import C, E, N, R, T, beta
from sims.algorithms.fedlaavg import Hyper, fedlaavg
from sims.exact import Engine, Setting
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import schedule

checks = CheckBook()

START, ROUNDS = 1.0, 4**13  # many more would leave too few digits
QUARTER, HALF = F(-1, 4), F(-1, 2)
AT: dict[str, Any] = {
    "smoothness": 1, "initial_gap": F(1, 2), "noise_std": 0, "gradient_bound": 3, "n_clients": 4, "window": 2,
    "selected_share": F(1, 2), "iterations": ROUNDS, "rounds": ROUNDS, "local_steps": 1,
}  # fmt: skip
DOMAIN = "gradients x - 1 and x + 1 in turn, x_0 = 1, no noise"


def _in_turn(window: int, share: F) -> list[list[bool]]:
    """Everybody takes part within `window` iterations, a share of 1/2 or 1 of the clients at a time, then nobody."""
    first = [[True, False], [False, True]] if share == F(1, 2) else [[True, True]]
    return first + [[False, False]] * (window - len(first))


def averaged(
    rows: Sequence[Sequence[bool]], lr: float, rounds: int, *, steps: int = 1, curvature: float = 1.0
) -> float:
    """The average of |grad f|^2 before rounds 0, ..., rounds - 1, exactly."""
    problem = DiagonalQuadratic([curvature] * 2, [1.0, -1.0])
    engine = Engine(Setting(fedlaavg, problem, Hyper(lr, steps), [START]), schedule(rows), ignore=("age",))
    return float(curvature**2 * engine.after(rounds)[1].second[0, 0])


def _run(claim: Claim, **changed: Any) -> Run:
    """The run at the statement's step size; with |x| <= 2 all gradients that are used are at most 3."""
    constants = {**AT, **changed}
    floats = {name: float(value) for name, value in constants.items()}
    lr = value_of(claim.formulas["step"], floats)
    rounds = constants["iterations"] if T in claim.formulas["step"].free_symbols else constants["rounds"]
    rows = _in_turn(constants["window"], constants["selected_share"])
    error = averaged(rows, lr, rounds, steps=constants["local_steps"])
    return Run(error, {name: floats[name] for name in _named(claim)})


def _named(claim: Claim) -> set[str]:
    parts = [claim.bound.rhs, *claim.conditions.values()] if claim.bound else []
    return {symbol.name for part in parts for symbol in part.free_symbols}


@checks(
    iterations.cor1,
    mutants=[put("bound", T, T**2), mutate("bound", "1/sqrt(N)", lambda e: e.subs(N, N**2)), put("bound", E, 1),
             put("bound", N, E), times("bound", F(1, 100)), times("step", N ** F(-1, 4)), times("step", T ** F(-1, 4))],
)  # fmt: skip
def sublinear_speedup(claim: Claim, depth: Depth) -> Evidence:
    """T, N and E at a share of 1/2."""
    assert claim.bound is not None
    last = {"quick": 4, "default": 6, "deep": 9}[depth]
    bound, far = claim.bound.rhs.subs(beta, F(1, 2)), AT | {"iterations": "1e9000"}
    lines = [
        Rate(T, HALF, bound, AT, powers(4, 7, 7 + last), lambda t: _run(claim, iterations=t)),
        Rate(N, QUARTER, bound, far, powers(2, 1, 1 + last), lambda n: _run(claim, n_clients=n)),
        Rate(E, -HALF, bound, far, powers(2, 1, min(1 + last, 6)), lambda e: _run(claim, window=e)),
    ]
    return rates(claim, lines, domain=f"{DOMAIN}, beta = 1/2")


@checks(
    by_rounds.thm4_rate,
    mutants=[put("bound", R, R**2), put("bound", N, N**2), times("bound", C), times("step", C), times("step", 1 / N)],
)
def local_steps_cancel(claim: Claim, depth: Depth) -> Evidence:
    """R, N and E as without local steps, and C, of which the leading term is free."""
    assert claim.bound is not None
    last = {"quick": 4, "default": 6, "deep": 8}[depth]
    bound, far = claim.bound.rhs.subs(beta, F(1, 2)), AT | {"rounds": "1e9000", "noise_std": 1}
    lines = [
        Rate(R, HALF, bound, AT, powers(4, 7, 7 + last), lambda r: _run(claim, rounds=r, local_steps=2)),
        Rate(N, QUARTER, bound, far, powers(2, 1, 1 + last), lambda n: _run(claim, n_clients=n, local_steps=2)),
        Rate(E, -HALF, bound, far, powers(2, 1, min(1 + last, 6)), lambda e: _run(claim, window=e, local_steps=2)),
        Rate(C, 0, bound, far, powers(2, 0, min(last, 5)), lambda c: _run(claim, local_steps=c)),
    ]
    return rates(claim, lines, domain=f"{DOMAIN}, beta = 1/2, C = 2 where it does not vary")


@checks(
    iterations.cor1_speedup,
    mutants=[put("first", N, N**2), put("horizon", N, 1), put("second", N, N**2), times("horizon", 1 / E)],
)
def speedup_from_the_horizon_on(claim: Claim, depth: Depth) -> Evidence:
    """Both terms and the error with T = the horizon: there N^(-1/4) T^(-1/2) is 1/N, and E cancels."""
    last, f = {"quick": 4, "default": 6, "deep": 9}[depth], claim.formulas

    def at_horizon(**changed: Any) -> Run:
        constants = {**AT, **changed}
        horizon = int(value_of(f["horizon"], {name: float(value) for name, value in constants.items()}))
        return Run(_run(iterations.cor1, **changed, iterations=horizon * 64).error)

    horizon = {T: f["horizon"]}
    lines = [
        Rate(N, -1, f["first"].subs(horizon), AT, powers(4, 2, 2 + min(last, 6)), lambda n: at_horizon(n_clients=n),
             name="N, first term at the horizon", ours=True),
        Rate(N, -1, f["second"].subs(horizon), AT, name="N, second term at the horizon"),
        Rate(E, 0, f["first"].subs(horizon), AT, name="E, first term at the horizon"),
        Rate(N, QUARTER, f["first"], AT | {"iterations": "1e9000"}, name="N, first term at fixed T"),
        Rate(N, -HALF, f["second"], AT | {"iterations": "1e9000"}, name="N, second term at fixed T"),
    ]  # fmt: skip
    return rates(claim, lines, domain=f"{DOMAIN}, T = 64 E N^(3/2)/beta")


@checks(
    iterations.thm3_full,
    mutants=[put("rate", T, T**2), put("rate", N, 1), times("step", N ** F(-1, 4)), times("step", T ** F(-1, 4)),
             times("bound", F(1, 5))],
)  # fmt: skip
def linear_speedup_of_full_participation(claim: Claim, depth: Depth) -> Evidence:
    """Everybody in every iteration, with noise of variance 1 in every gradient: x^2/2, N and T."""
    last, rate = {"quick": 5, "default": 7, "deep": 9}[depth], claim.formulas["rate"]

    def run(clients: int, rounds: int) -> Run:
        constants = {"n_clients": float(clients), "iterations": float(rounds), "smoothness": 1.0, "noise_std": 1.0,
                     "initial_gap": START**2 / 2}  # fmt: skip
        lr = value_of(claim.formulas["step"], constants)
        error = average_square(lr * (2 - lr), lr**2 / clients, START**2, rounds)
        return Run(error, constants | {"local_lr": lr})

    at = AT | {"noise_std": 1}
    lines = [
        Rate(T, HALF, rate, at, powers(16, 4, 4 + last), lambda t: run(4, t)),
        Rate(N, HALF, rate, at | {"iterations": "1e9000"}, powers(4, 0, last), lambda n: run(n, 4**24)),
    ]
    return rates(claim, lines, domain="x^2/2, independent noise of variance 1, all clients in every iteration")


@checks(
    attained.thm2_attained,
    mutants=[put("bound", T, T**2), times("example_lr", T ** F(-1, 4)), times("bound", F(1, 4))],
)
def slope_on_example_1(claim: Claim, depth: Depth) -> Evidence:
    """(x - 1)^2 and (x + 1)^2 in blocks of 2 and 3 iterations, x_0 = 1: T."""
    assert claim.bound is not None
    last = {"quick": 4, "default": 6, "deep": 9}[depth]
    rows = [[True, False]] * 2 + [[False, True]] * 3
    fixed = {"start_distance": 1.0, "block_staleness": 3.0, "example_gradient": 2.0}

    def run(rounds: int) -> Run:
        lr = float(value_of(claim.formulas["example_lr"], {"iterations": float(rounds)}))
        return Run(averaged(rows, lr, rounds, curvature=2.0) / 4, fixed | {"iterations": float(rounds)})

    line = Rate(T, HALF, claim.bound.rhs, fixed, powers(4, 6, 6 + last), run)
    return rates(claim, [line], domain="Example 1 in blocks of 2 and 3 iterations, x_0 = 1")
