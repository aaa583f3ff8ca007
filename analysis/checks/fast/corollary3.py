"""Checks of Corollary 3: the orders of the terms at the logarithmic step, and the explicit bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import sympy
from sympy import Dummy, Max, Min, exp, log

from analysis.checks import CheckBook, Depth, Mutant, mutate, put, times, without
from analysis.checks.certificates import Fact, at_most_one, chain, confirmed, identity, nonnegative
from analysis.checks.fast.coins import SPACE, constants_of, distance, sure
from analysis.checks.points import drawn, held_at, value_of
from analysis.checks.tools import INDEPENDENT_NOISE, reading, rests_on
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, right_side
from fltheory.ledger import Claim
from fltheory.papers import fast
from fltheory.papers.fast import K, R, eta, mu, q, sigma, sigma_G

checks = CheckBook()


def _tuned_terms(claim: Claim, terms: dict[str, Any], step: Any) -> Evidence:
    """Whether each term at the logarithmic step is its stated order times positive numbers and the logarithm."""
    off, orders = {}, []
    for name, term in terms.items():
        ratio = sympy.simplify(term.subs(eta, step) / claim.formulas[name])
        if ratio.free_symbols - {fast.logarithm} or ratio.could_extract_minus_sign():
            off[f"{name} over what is stated"] = ratio = ratio.subs(mu, sympy.Symbol("mu"))
            orders.append(f"{name} off by {ratio.subs(fast.logarithm, 1).as_coeff_Mul()[1]}")
    if not off:
        return Evidence("proved", "algebra", "Substitution of the step.", "all constants", len(terms))
    return Evidence(
        "inconsistent",
        "algebra",
        f"Numbers and the logarithm apart, at the stated step: {'; '.join(orders)}.",
        cases=len(terms),
        witness=off,
    )


def _noise_term() -> Any:
    return 2 * eta * sigma**2 / (fast.m * mu)


@checks(
    fast.cor3,
    mutants=[
        Mutant(
            "powers of mu restored",
            lambda claim: replace(
                claim,
                formulas={k: v if k == "step" else v / mu for k, v in claim.formulas.items()},
            ),
        )
    ],
)
def orders_of_the_main_text(claim: Claim, depth: Depth) -> Evidence:
    """The terms of the main text at the logarithmic step."""
    share = (1 - q) * K * eta / (2 * mu)
    terms = {"share term": share, "heterogeneity term": 8 * K * eta * sigma_G**2 / mu, "noise term": _noise_term()}
    return _tuned_terms(claim, terms, claim.formulas["step"])


# ---- the explicit bound ------------------------------------------------------------------------------------------


@checks.trial(fast.cor3_repaired, {name: domain for name, domain in SPACE.items() if name != "step_share"})
def tuned_coins(claim: Claim, point: Point) -> Sides:
    """Four clients with curvatures L and mu in two directions and coins, at the step that the corollary chooses."""
    constants = constants_of({**point, "step_share": 1 + 0 * point["spread"]})
    constants["local_lr"] = value_of(claim.formulas["local_lr"], constants)
    left = distance(point, constants) if constants["local_lr"] > 0 else constants["start_distance_square"]
    return Sides(sure(left, point), right_side(claim.bound, constants), constants)


def _regimes(claim: Claim) -> Iterator[Fact]:
    """Each argument of the step's minimum in the bound of the appendix version, against the claim's bound."""
    theorem, a, lr = fast.thm2_app, claim.formulas["a"], claim.formulas["local_lr"]
    assert claim.bound is not None
    assert theorem.bound is not None
    start = theorem.bound.rhs.coeff(fast.kappa) * fast.kappa
    yield Fact("the condition on q is that of the theorem",
               claim.conditions.get("snapshots") == theorem.conditions["snapshots"])  # fmt: skip
    yield identity("the theorem's bound is exp(-mu K R eta)|x_0 - x*|^2 + a eta", theorem.bound.rhs - start - a * eta)
    logarithm = next(iter(claim.bound.rhs.atoms(log)), sympy.Integer(0))
    step: Any = theorem.conditions["step"]
    largest, tuned = step.rhs, logarithm / (mu * K * R)
    yield Fact("the step is the smaller of the largest and the logarithmic one", lr == Min(largest, tuned))
    size = fast.kappa * mu * K * R / a
    yield Fact("the logarithm is that of |x_0 - x*|^2 mu K R/a, or 0", logarithm == log(Max(size, 1)))
    slow, ell = (Dummy(name, nonnegative=True) for name in ("slow", "logarithm"))
    bound = claim.bound.rhs.subs(logarithm, ell).subs(exp(-mu * K * R * largest), slow)
    yield nonnegative("the largest step, a part of the logarithmic one: mu K R eta <= logarithm",
                      bound - slow * fast.kappa - a * at_most_one() * ell / (mu * K * R), _mixed())  # fmt: skip
    yield identity("the logarithmic one leaves a/(mu K R) of the start, if that is less than it",
                   (start.subs(eta, log(size) / (mu * K * R)) - a / (mu * K * R)))  # fmt: skip
    rest = Dummy("rest", positive=True)  # a
    yield nonnegative(
        "if that is not less, the step is 0 and x_R = x_0, no more than a/(mu K R) away",
        rest / (mu * K * R) - fast.kappa,
        {fast.kappa: at_most_one() * rest / (mu * K * R)},
    )
    yield nonnegative("which the bound covers", bound - a / (mu * K * R) - a * ell / (mu * K * R), _mixed())
    yield identity(
        "at the R of `rounds` the largest step leaves 1/e", exp(-mu * K * claim.formulas["rounds"] * largest) - exp(-1)
    )


def _mixed() -> dict[Any, Any]:
    u, v = (Dummy(name, positive=True) for name in "uv")
    return {q: u / (u + v)}


@checks(
    fast.cor3_repaired,
    mutants=[
        times("bound", "1/2"),
        mutate("bound", "l in place of 1 + l", lambda e: e - fast.REST / (mu * K * R)),
        put("bound", mu, 2 * mu),
        mutate("bound", "twice the exponent", lambda e: e.replace(exp, lambda u: exp(2 * u))),
        put("a", sigma, 2 * sigma),
        times("local_lr", 2),
        times("rounds", "1/2"),
        without("snapshots"),
        without("something remains"),
    ],
)
@rests_on({"something remains": fast.REST > 0})
@reading(INDEPENDENT_NOISE)
def explicit_bound(claim: Claim, depth: Depth) -> Evidence:
    """Both regimes of the step, and exact moments at it."""
    proof = chain(_regimes(claim), "Theorem 2 at the chosen step, in either of its regimes.")
    number = {"quick": 200, "default": 2000, "deep": 50_000}[depth]
    parts: tuple[dict[str, Any], ...] = ({}, {"arbitrary": 1e-6}, {"arbitrary": 1e-6, "rounds": 1000})
    points = [point for part in parts for point in drawn(tuned_coins, number, **part)]
    numbers = held_at(
        tuned_coins, claim, points, "exact", "exact moments", "No violation on quadratics",
        domain="four clients, two directions of curvatures mu <= L, drawn from a fixed seed",
    )  # fmt: skip
    return confirmed(proof, numbers)


# ---- orders ------------------------------------------------------------------------------------------------------


@checks(
    fast.cor3_repaired,
    mutants=[
        put("share term", mu**2, mu),
        put("heterogeneity term", sigma_G**2, sigma_G),
        put("noise term", R, R**2),
    ],
)
def orders_of_the_appendix(claim: Claim, depth: Depth) -> Evidence:
    """The terms of the appendix version at the logarithmic step."""
    share = (1 - q) * K * eta * sigma_G**2 / (2 * mu)
    terms = {"share term": share, "heterogeneity term": 8 * K * eta * sigma_G**2 / mu, "noise term": _noise_term()}
    return _tuned_terms(claim, terms, fast.logarithm / (mu * K * R))
