"""Checks of Theorem 3: the exact weight error against its bounds, on average and in every round."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import sympy
from sympy import Rational

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks.fedau.per_round import AVERAGE_SPACE, COINS, ERROR_BOUND_MUTANTS, average_error
from analysis.checks.tools import SLACK, made_with, rational_sample, rests_on
from analysis.evidence import Evidence, Tally, algebra, ratio_text
from analysis.trials import Point, Sides
from fltheory.distributions import KCutoffGeometric
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Bound, Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import K, T, p
from fltheory.weights import exact_weight_law

checks = CheckBook()


@checks.trial(fedau.thm3, space=AVERAGE_SPACE)
def average_error_of_one_client(claim: Claim, point: Point) -> Sides:
    """The mean over rounds of E[(p w_t - 1)^2]."""
    return average_error(claim, point)


@checks.trial(fedau.thm3_improved, space=AVERAGE_SPACE)
def average_error_of_one_client_again(claim: Claim, point: Point) -> Sides:
    """The mean over rounds of E[(p w_t - 1)^2]."""
    return average_error(claim, point)


GRID_RATES = (1e-6, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
GRID_CUTOFFS = (1, 2, 3, 5, 10, 20, 50, 100, 300)

# (p, K, T) at which each letter counts: in the first no bias is left long before the cutoff.
TELLING = ((0.05, 3000, 3000), (0.3, 20, 20), (0.99, 5, 5))


def _grid(depth: Depth) -> tuple[Sequence[float], Sequence[int], int]:
    if depth == "quick":
        return GRID_RATES[::3], GRID_CUTOFFS[::2], 300
    return GRID_RATES, GRID_CUTOFFS, {"default": 2000, "deep": 20000}[depth]


def _horizons(rounds: int) -> Iterable[int]:
    """All T up to 32, then about ten a factor of two."""
    wide = np.unique(np.geomspace(32, rounds, num=10 * max(1, int(math.log2(rounds / 32)))).astype(int))
    return sorted({*range(2, 33), *wide.tolist()})


def _grid_domain(rates: Sequence[float], cutoffs: Sequence[int], rounds: str) -> str:
    return f"p in {{{', '.join(f'{r:g}' for r in rates)}}}, K in {{{', '.join(map(str, cutoffs))}}}, {rounds}"


def _average_errors(claims: Sequence[Bound], depth: Depth) -> tuple[list[Tally], str]:
    """The exact average weight error against each bound, over the grid."""
    rates, cutoffs, rounds = _grid(depth)
    tallies = [Tally(slack=SLACK) for _ in claims]
    for rate in rates:
        for cutoff in cutoffs:
            variance = float(KCutoffGeometric(rate, cutoff).var())
            average = np.cumsum(exact_weight_law(rate, cutoff, rounds).error) / np.arange(1, rounds + 1)
            for horizon in _horizons(rounds):
                for bound, tally in zip(claims, tallies, strict=True):
                    right = bound.at(rate=rate, cutoff=cutoff, rounds=horizon, interval_variance=variance)
                    tally.at_most(average[horizon - 1], right, p=rate, K=cutoff, T=horizon)
    every = f"{len(list(_horizons(rounds)))} horizons T from 2 to {rounds}, all up to 32"
    return tallies, _grid_domain(rates, cutoffs, every)


@checks(
    fedau.thm3,
    mutants=[
        times("bound", Rational(1, 2)),
        put("bound", 2 * K, 3 * K),
        mutate("bound", "bias term left out", lambda e: e - (1 - p) ** (2 * K)),
        mutate("bound", "T squared", lambda e: e.subs(1 / T, 1 / T**2)),
        times("first line", Rational(1, 2)),
        times("first line", Rational(13, 10)),
        without("rounds"),
    ],
)
@rests_on({"rounds": T >= 2})
@made_with(COINS)
def average_error_on_the_grid(claim: Claim, depth: Depth) -> Evidence:
    """The exact average weight error against the first and the last line of (B.6.9)."""
    assert claim.bound is not None
    first_line = Bound(claim.bound.lhs, claim.formulas["first line"])
    (last, first), domain = _average_errors([claim.bound, first_line], depth)
    following = Tally(slack=SLACK)
    for rate, cutoff, horizon in product((1e-6, 0.1, 0.9), (1, 10, 300), (2, 10, 1000, 10**6)):
        values: dict[str, Any] = {"rate": rate, "cutoff": cutoff, "rounds": horizon}
        following.at_most(first_line.at(**values), claim.bound.at(**values), line="first and last", **values)
    decisive = next((tally for tally in (first, following) if tally.witness), last)
    return decisive.evidence(
        "exact",
        "exact grid",
        f"No violation; largest ratio found {ratio_text(last.largest)} (last line), "
        f"{ratio_text(first.largest)} (first line).",
        domain=domain,
        ratio=True,
    )


@checks(
    fedau.thm3_improved,
    mutants=[
        times("bound", Rational(1, 2)),
        put("bound", 2 * K, 3 * K),
        mutate("bound", "bias term left out", lambda e: e - (1 - p) ** (2 * K)),
        mutate("bound", "T squared", lambda e: e.subs(1 / T, 1 / T**2)),
        mutate("bound", "early rounds left out", lambda e: e - (1 - p) ** 2 * sympy.Min(K, 1 / p) / T),
        without("rounds"),
    ],
)
@rests_on({"rounds": T >= 2})
@made_with(COINS)
def average_error_against_the_improvement(claim: Claim, depth: Depth) -> Evidence:
    """The exact average weight error against our bound without the factor K."""
    assert claim.bound is not None
    (tally,), domain = _average_errors([claim.bound], depth)
    return tally.evidence(
        "exact",
        "exact grid",
        f"No violation; largest left/right ratio found {ratio_text(tally.largest)}.",
        domain=domain,
        ratio=True,
    )


@checks(
    fedau.thm3_repaired,
    mutants=[*ERROR_BOUND_MUTANTS[:2], put("late", 2 * K, 3 * K), times("late", Rational(1, 2))],
)
@made_with(COINS)
def error_of_every_round(claim: Claim, depth: Depth) -> Evidence:
    """The exact error of every round against (R), counting the rounds in which it is attained."""
    assert claim.bound is not None
    rates, cutoffs, rounds = _grid(depth)
    rounds = min(rounds, 1000)
    tally, attained, late = Tally(slack=SLACK), 0, Bound("", claim.formulas["late"])
    for rate, cutoff, horizon in [*((r, k, rounds) for r in rates for k in cutoffs), *TELLING]:
        variance = float(KCutoffGeometric(rate, cutoff).var())
        error = exact_weight_law(rate, cutoff, horizon).error
        for time in range(1, horizon):
            bound = claim.bound if time < cutoff else late
            right = bound.at(rate=rate, cutoff=cutoff, round_index=time, interval_variance=variance)
            attained += math.isclose(error[time], right, rel_tol=SLACK)
            tally.at_most(error[time], right, p=rate, K=cutoff, t=time)
    return tally.evidence(
        "exact",
        "exact grid",
        f"No violation; attained in {attained} of {tally.cases} rounds.",
        domain=_grid_domain(rates, cutoffs, f"1 <= t < {rounds}")
        + "".join(f"; p = {p:g}, K = {k}, t < {t}" for p, k, t in TELLING),
        ratio=True,
    )


@checks(fedau.E8, mutants=[put("first term", K, K**2), put("first term", K, sympy.log(K + 1))])
def first_term_is_linear(claim: Claim, depth: Depth) -> Evidence:
    """The second difference in K is zero, the first is positive."""
    term = claim.formulas["first term"]
    step = sympy.expand(term.subs(K, K + 1) - term)
    steps = [
        Step("the bound of Theorem 3 less its bias", fedau.thm3.bound.rhs - (1 - p) ** (2 * K) - term),  # type: ignore[union-attr]
        Step("second difference in K is 0", step.subs(K, K + 1) - step),
    ]
    found = algebra(
        steps,
        "proved",
        "Linear in K with a positive slope: said of the bound, and true of it.",
        sample=rational_sample,
    )
    if found.verdict == "proved" and not step.subs(T, T + 1).is_positive:  # T >= 2: log T > 0
        return Evidence("not checked", "algebra", f"the sign of the slope {step} was not decided")
    return found
