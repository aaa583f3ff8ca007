"""How the statements of amplified are checked, by topic."""

from analysis.checks import CheckBook
from analysis.checks.amplified import (
    algorithm,
    corollaries,
    divergence,
    intervals,
    laws,
    rates,
    remarks,
    stochastic,
    tails,
    theorem,
    units,
)

checks = CheckBook(
    algorithm.checks,
    theorem.checks,
    corollaries.checks,
    divergence.checks,
    stochastic.checks,
    tails.checks,
    intervals.checks,
    laws.checks,
    rates.checks,
    remarks.checks,
    units.checks,
)
