"""How the statements of FAST are checked, by topic."""

from dataclasses import replace

from analysis.checks import CheckBook, Mutant, mutate
from analysis.checks.fast import (
    adaptive,
    averages,
    branches,
    coins,
    convex,
    corollary3,
    floor,
    laws,
    lemmas,
    nonconvex,
    rates,
    readings,
    schedules,
    slopes,
    steps,
    tables,
)
from analysis.checks.units import Flag, unit_checks
from fltheory.ledger import Claim
from fltheory.papers import fast


def _as_in_the_appendix(claim: Claim) -> Claim:
    mended = fast.thm2_app
    return replace(claim, bound=mended.bound, conditions=mended.conditions, formulas=mended.formulas)


def _share_term_of_the_appendix(claim: Claim) -> Claim:
    """(1-q) K eta/(2 mu) times sigma_G^2."""
    assert claim.bound is not None
    term = (1 - fast.q) * fast.K * fast.eta / (2 * fast.mu)
    return replace(claim, bound=replace(claim.bound, rhs=claim.bound.rhs - term + fast.sigma_G**2 * term))


def _condition_of_the_appendix(claim: Claim) -> Claim:
    return replace(claim, conditions=fast.thm2_app.conditions)


_UNITS = {
    "fast.cor3": Flag(mutate("many rounds", "R >= 20 m L/mu", lambda c: c.lts / fast.mu <= c.gts)),
    "fast.thm2.main": Flag(Mutant("the version of the appendix", _as_in_the_appendix)),
    "fast.thm2.mixed": Flag(Mutant("the condition of the appendix", _condition_of_the_appendix)),
    "fast.thm2.mixed_reverse": Flag(
        Mutant("a squared gradient in its term with 1 - q", _share_term_of_the_appendix), stated=True
    ),
}

checks = CheckBook(
    lemmas.checks,
    adaptive.checks,
    nonconvex.checks,
    averages.checks,
    schedules.checks,
    floor.checks,
    laws.checks,
    rates.checks,
    slopes.checks,
    steps.checks,
    coins.checks,
    branches.checks,
    convex.checks,
    readings.checks,
    corollary3.checks,
    tables.checks,
    unit_checks(fast.paper, _UNITS),
)
