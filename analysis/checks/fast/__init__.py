"""How the statements of FAST are checked, by topic."""

from dataclasses import replace

from analysis.checks import CheckBook, Mutant
from analysis.checks.fast import adaptive, averages, convex, floor, laws, lemmas, nonconvex, rates, steps, tables
from analysis.checks.units import Flag, unit_checks
from fltheory.ledger import Claim
from fltheory.papers import fast


def _as_in_the_appendix(claim: Claim) -> Claim:
    return replace(claim, bound=fast.thm2_app.bound, conditions=fast.thm2_app.conditions)


def _condition_of_the_appendix(claim: Claim) -> Claim:
    return replace(claim, conditions=fast.thm2_app.conditions)


_UNITS = {
    "fast.thm2.main": Flag(Mutant("the version of the appendix", _as_in_the_appendix)),
    "fast.thm2.mixed": Flag(Mutant("the condition of the appendix", _condition_of_the_appendix)),
    "fast.thm2.mixed_reverse": Flag(
        Mutant("the bound of the appendix", _as_in_the_appendix), hypothesis="one fixed unit of the loss"
    ),
}

checks = CheckBook(
    lemmas.checks,
    adaptive.checks,
    nonconvex.checks,
    averages.checks,
    floor.checks,
    laws.checks,
    rates.checks,
    steps.checks,
    convex.checks,
    tables.checks,
    unit_checks(fast.paper, _UNITS),
)
