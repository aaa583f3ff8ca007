"""Checks of Theorem 2: the chain from one round to R of them, and exact moments held against what it says."""

from __future__ import annotations

import sympy

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks.certificates import chain, confirmed, joined
from analysis.checks.fast.branches import held_on_branches
from analysis.checks.fast.coins import coins_appendix, coins_main, coins_repaired, held, one_round
from analysis.checks.fast.contraction import all_rounds_covered, one_round_covered
from analysis.checks.fast.proof import COINS
from analysis.checks.tools import INDEPENDENT_NOISE, rational_sample, reading
from analysis.evidence import Evidence, algebra
from analysis.trials import Trial
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers import fast
from fltheory.papers.fast import K, L, eta, h, mu, q, s, sigma, sigma_G
from fltheory.symbols import UNITS
from fltheory.units import UnitError, unit_of

checks = CheckBook()

_STEP_MUTANTS = [mutate("step", "three times as large", lambda c: c.lhs <= 3 * c.rhs), without("step")]
_BOUND_MUTANTS = [
    times("bound", "1/2"),
    put("bound", 8 * K * eta * sigma_G**2, 7 * K * eta * sigma_G**2),
    put("bound", sigma**2, sigma**2 / 20),
    mutate("bound", "noise without 2", lambda e: e - s * eta * sigma**2 / mu),
    mutate("bound", "exp(-2 mu K R eta)", lambda e: e.replace(sympy.exp, lambda u: sympy.exp(2 * u))),
    *_STEP_MUTANTS,
]


def _rounds(trial: Trial, claim: Claim, depth: Depth) -> Evidence:
    proof = chain(
        all_rounds_covered(claim, claim.formulas["epsilon"]), "One round with this epsilon, then R of them.", COINS
    )
    return confirmed(proof, held(trial, claim, depth))


@checks(
    fast.thm2_gen,
    mutants=[
        put("bound", 3 * mu * K * eta / 2, 8 * mu * K * eta / 5),
        put("bound", 8 * K**2 * eta**2, 7 * K**2 * eta**2),
        put("bound", 8 * h**2, 7 * h**2),
        put("bound", sigma**2, sigma**2 * sympy.Rational(19, 20)),
        mutate("bound", "(1-q)^2 before the bias", lambda e: e.subs(sigma_G, 0)
               + ((1 - q) ** 2 * K * eta / (2 * fast.epsilon) + 8 * K**2 * eta**2) * sigma_G**2),
        *_STEP_MUTANTS,
    ],
)  # fmt: skip
@reading(INDEPENDENT_NOISE)
def one_round_of_the_proof(claim: Claim, depth: Depth) -> Evidence:
    """The chain; exact rounds for any epsilon from 1/100 to 100, of quadratics and of branches."""
    assert claim.bound is not None
    summary = "The noise is split from the drift of the gradients only."
    proof = chain(one_round_covered(claim, claim.bound.rhs), summary, COINS)
    quadratics, branches = held(one_round, claim, depth), held_on_branches(claim, depth)
    if quadratics.verdict == "refuted":
        return quadratics
    return branches if branches.verdict == "refuted" else confirmed(proof, joined(quadratics, branches))


@checks(fast.thm2_app, mutants=[*_BOUND_MUTANTS, without("snapshots"), times("epsilon", 2)])
@reading(INDEPENDENT_NOISE)
def appendix_version(claim: Claim, depth: Depth) -> Evidence:
    """The chain, and exact moments wherever the conditions admit the step and q."""
    return _rounds(coins_appendix, claim, depth)


@checks(fast.thm2_main, mutants=[*_BOUND_MUTANTS, without("snapshots"), times("epsilon", "1/2")])
@reading(INDEPENDENT_NOISE)
def main_version(claim: Claim, depth: Depth) -> Evidence:
    """The chain in one fixed unit of the loss, and exact moments in units from 1/4 to 4."""
    return _rounds(coins_main, claim, depth)


@checks(
    fast.thm2_repaired,
    mutants=[
        *_BOUND_MUTANTS,
        put("bound", (1 - q) ** 2, (1 - q) ** 2 / 100),
        put("bound", (1 - q) ** 2, (1 - q) ** 3),
        mutate("conditioning", "reversed", lambda c: c.lhs > c.rhs),
        without("conditioning"),
        times("epsilon", 2),
    ],
)
@reading(INDEPENDENT_NOISE)
def repaired_version(claim: Claim, depth: Depth) -> Evidence:
    """The chain, and exact moments for every q."""
    return _rounds(coins_repaired, claim, depth)


@checks(fast.thm2_main, mutants=[mutate("epsilon", "that of the appendix", lambda e: e / sigma_G**2)])
@checks(fast.thm2_app, mutants=[times("epsilon", sigma_G**2), times("epsilon", mu)])
@checks(fast.thm2_repaired, mutants=[times("epsilon", sigma_G), times("epsilon", K * eta)])
def unit_of_epsilon(claim: Claim, depth: Depth) -> Evidence:
    """The Young step (33) needs a curvature."""
    wanted = UNITS[fast.epsilon]
    try:
        found = unit_of(claim.formulas["epsilon"], UNITS)
    except UnitError as error:
        return Evidence("inconsistent", "units", f"Epsilon has no unit: {error}", cases=1)
    if found == wanted:
        return Evidence("proved", "units", f"Epsilon has unit {wanted}.", "all units", 1)
    summary = (
        f"Epsilon has unit {found}, where (33) adds it to a curvature, {wanted}; condition and bound then say another "
        "thing in every unit of the loss."
    )
    return Evidence("inconsistent", "units", summary, "", 1, witness={"epsilon, off by": str(found / wanted)})


@checks(
    fast.thm2_feasibility,
    mutants=[times("largest", "1/2"), times("share", 2), put("best step", L**2, L), times("best step", 2)],
)
def best_step(claim: Claim, depth: Depth) -> Evidence:
    """The share is the largest one less a square that vanishes at the best step."""
    share, largest, best = (claim.formulas[name] for name in ("share", "largest", "best step"))
    square = 4 * (L * K) ** 2 * (eta - best) ** 2
    condition = 1 - fast.thm2_app.conditions["snapshots"].rhs
    steps = [
        Step("the share is what the condition leaves", share - condition),
        Step("share = largest - 4 (L K)^2 (eta - best step)^2", largest - share - square),
    ]
    return algebra(
        steps, "proved", "Completing the square; in the appendix version .39 % at L = mu.", sample=rational_sample
    )


@checks(fast.eq39, mutants=[times("first line", "1/2"), times("uniform round", 2)])
def two_lines(claim: Claim, depth: Depth) -> Evidence:
    """The coin's mean of the noise terms of (30) and (38) against both lines."""
    uniform, arbitrary = claim.formulas["uniform round"], claim.formulas["arbitrary round"]
    mixed = q * uniform + (1 - q) * arbitrary
    first, second = (sympy.simplify(claim.formulas[name] / mixed) for name in ("first line", "second line"))
    if second != 1:
        return Evidence("not checked", "algebra", "the second line is not the mean of (30) and (38)")
    if first == 1:
        return Evidence("exact", "algebra", "Both lines are the mean of (30) and (38).", cases=2)
    summary = f"The first line is {first} times the mean of (30) and (38), which the second line states."
    return Evidence("inconsistent", "algebra", summary, cases=2, witness={"first line / second line": first})
