"""Slopes in T, S, I and P of amplified FedAvg, at the step sizes of its corollaries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction as F
from typing import Any

from analysis.checks import CheckBook, Depth, mutate, put, times
from analysis.checks.points import value_of
from analysis.checks.slopes import Rate, Run, average_square, name_of, powers, rates
from analysis.evidence import Evidence
from fltheory.ledger import Claim
from fltheory.papers import amplified
from fltheory.papers.amplified import I, L, N, P, S, T, delta, gap, rho, sigma

checks = CheckBook()

START, ROUNDS = 1.0, 4**26
AT: dict[str, Any] = {
    "smoothness": 1, "initial_gap": F(1, 2), "noise_std": 1, "heterogeneity": 1, "rounds": 10**9, "local_steps": 1,
    "interval": 1, "cohort_size": 2, "n_clients": 8, "participation_norm": F(1, 2), "round_divergence": 1,
    "cohort_divergence": 1, "interval_divergence": 0, "gradient_scale": 1, "weight_variance": F(1, 64),
    "allowed_failure": F(1, 10),
}  # fmt: skip


def _starts(claim: Claim, *, rounds: int = ROUNDS, size: int = 2, steps: int = 2, interval: int = 2,
            noise: float = 1.0) -> Run:  # fmt: skip
    """S clients with F = x^2/2 in every round: the average of E|grad f|^2 over the starts of whole intervals.

    An interval takes x to x (1 - eta pull) plus eta times the noise of I P local steps, of variance sigma^2/S each.
    """
    constants: dict[str, Any] = {name: float(value) for name, value in AT.items()}
    constants |= {
        "rounds": float(rounds), "local_steps": float(steps), "interval": float(interval), "noise_std": noise,
        "cohort_size": float(size), "participation_norm": size**-0.5, "round_divergence": 0.0,
        "cohort_divergence": 0.0, "interval_divergence": 0.0, "heterogeneity": 0.0,
    }  # fmt: skip
    if noise:
        factor = value_of(claim.formulas["amplification"], constants)
    else:  # the smaller of two step sizes of which one is infinite
        factor = value_of(claim.formulas["amplification"].subs(sigma, 1e-300), constants)
    lr = value_of(claim.formulas["local_lr"], constants)
    decay = steps * interval * math.log1p(-lr)
    pull = factor * -math.expm1(decay)
    fresh = (factor * lr * noise) ** 2 / size * math.expm1(2 * decay) / math.expm1(2 * math.log1p(-lr))
    error = average_square(pull * (2 - pull), fresh, START**2, rounds // interval)
    stated = {"cohort_size", "gradient_scale", "weight_variance", "allowed_failure", "n_clients"}
    return Run(error, {name: value for name, value in constants.items() if name not in stated - _named(claim)})


def _named(claim: Claim) -> set[str]:
    parts = [claim.bound.rhs, *claim.conditions.values()] if claim.bound else []
    return {symbol.name for part in parts for symbol in part.free_symbols}


def _leading(claim: Claim, formula: Any, depth: Depth) -> Iterator[Rate]:
    """The noise term: T, S, I and P."""
    last, half = {"quick": 5, "default": 7, "deep": 9}[depth], F(-1, 2)
    bound, at = formula.subs(rho, S**half), AT | {"rounds": "1e9000"}
    yield Rate(T, half, bound, AT, powers(4, 9, 9 + last), lambda t: _starts(claim, rounds=t))
    yield Rate(S, half, bound, at, powers(2, 0, last), lambda n: _starts(claim, size=n))
    yield Rate(I, half, bound, at, powers(2, 0, last), lambda i: _starts(claim, steps=i))
    yield Rate(P, 0, bound, at, powers(2, 0, last), lambda p: _starts(claim, interval=p))


DOMAIN = "S clients with x^2/2 and independent noise in every round"
LARGER = mutate("amplification", "times sqrt(S)", lambda e: e / rho)


@checks(
    amplified.cor32_attained,
    mutants=[put("bound", rho, rho**2), put("bound", I, 1), put("bound", 4 * L * P * gap, 4 * L * gap),
             put("bound", T, T**2), mutate("amplification", "times T^(1/4)", lambda e: e * T ** F(1, 4)),
             mutate("amplification", "a cap that does not grow", lambda e: e.subs(T, 10**4))],
)  # fmt: skip
def slopes_with_and_without_noise(claim: Claim, depth: Depth) -> Evidence:
    """With noise T, S and I to the -1/2; without it P/T."""
    assert claim.bound is not None
    last, quiet = {"quick": 5, "default": 7, "deep": 9}[depth], claim.bound.rhs.subs({sigma: 0, delta: 0})
    far = AT | {"rounds": "1e90000"}
    lines = [
        *_leading(claim, claim.bound.rhs, depth),
        Rate(T, -1, quiet, AT, powers(4, 6, 6 + last), lambda t: _starts(claim, rounds=t, noise=0.0),
             name="T without noise"),
        Rate(P, 1, quiet, far, powers(2, 0, last), lambda p: _starts(claim, interval=p, noise=0.0),
             name="P without noise"),
    ]  # fmt: skip
    return rates(claim, lines, domain=f"{DOMAIN}; starts of intervals")


@checks(
    amplified.cor33,
    mutants=[put("bound", rho, rho**2), put("bound", I, 1), put("bound", T, T**2),
             times("amplification", P), LARGER],
)  # fmt: skip
def slopes_at_a_step_free_of_noise(claim: Claim, depth: Depth) -> Evidence:
    """The same with eta free of sigma."""
    assert claim.bound is not None
    return rates(claim, _leading(claim, claim.bound.rhs, depth), domain=f"{DOMAIN}; starts of intervals")


@checks(
    amplified.linspeed_attained,
    mutants=[put("rate", S, S**2), put("rate", I, 1), put("rate", T, T**2), put("rate", S, N)],
)
def linear_speedup(claim: Claim, depth: Depth) -> Evidence:
    """sigma/sqrt(S I T) against errors at the step sizes of Corollary 3.2."""
    lines = [
        Rate(line.letter, line.published, claim.formulas["rate"], AT, line.grid, line.run)
        for line in _leading(amplified.cor32, claim.formulas["rate"], depth)
    ]
    return rates(claim, lines, domain=f"{DOMAIN}; step sizes of Corollary 3.2")


@checks(
    amplified.cor48, mutants=[put("bound", T, T**2), put("bound", I, 1), put("bound", N, N**2), put("bound", rho, 1)]
)
def orders_of_random_participation(claim: Claim, depth: Depth) -> Evidence:
    """The explicit bound alone: T, I, S, and N in the term of the heterogeneity."""
    assert claim.bound is not None
    half, bound = F(-1, 2), claim.bound.rhs.subs(rho, S ** F(-1, 2))
    at = AT | {"rounds": "1e9000"}
    lines = [
        Rate(T, half, bound, AT), Rate(I, half, bound, at), Rate(S, half, bound.subs(amplified.d, 0), at),
        Rate(N, half, bound.subs({gap: 0, sigma: 0}), at, name="N (term of d)"),
    ]  # fmt: skip
    return rates(claim, lines, domain="the explicit bound at large values")


@checks(
    amplified.tab1,
    mutants=[put("regularized", S, S**2), put("independent, expectation", I, 1), put("mixing, probability", T, T**2)],
)
def orders_of_the_table(claim: Claim, depth: Depth) -> Evidence:
    """Every row alone."""
    lines = [
        Rate(letter, F(-1, 2), formula, AT, name=f"{name}, {name_of(claim, letter)}")
        for name, formula in claim.formulas.items()
        for letter in (T, S, I)
    ]
    return rates(claim, lines, domain="the rows at large values")
