"""How FedAU's statements are checked, by topic."""

from analysis.checks import CheckBook
from analysis.checks.fedau import (
    corollary4,
    cutoff,
    descent,
    drift,
    estimator,
    limits,
    numbers,
    objective,
    per_round,
    rates,
    tables,
    theorem1,
    theorem2,
    theorem3,
)
from analysis.checks.units import unit_checks
from fltheory.papers.fedau import paper

checks = CheckBook(
    objective.checks,
    drift.checks,
    descent.checks,
    theorem1.checks,
    theorem2.checks,
    estimator.checks,
    per_round.checks,
    theorem3.checks,
    cutoff.checks,
    corollary4.checks,
    rates.checks,
    limits.checks,
    numbers.checks,
    tables.checks,
    unit_checks(paper),
)
