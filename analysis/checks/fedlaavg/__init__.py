"""How FedLaAvg's statements are checked, by topic."""

from analysis.checks import CheckBook
from analysis.checks.fedlaavg import (
    by_rounds,
    changes,
    descent,
    example_steps,
    experiments,
    orbits,
    rates,
    round_algorithms,
    sampling,
    seldom,
    setting,
    sharper,
    skipping,
    staleness,
    theorem1,
    theorem2,
    theorem3,
    theorem4,
)
from analysis.checks.units import unit_checks
from fltheory.papers.fedlaavg import paper

checks = CheckBook(
    setting.checks,
    theorem1.checks,
    orbits.checks,
    example_steps.checks,
    theorem2.checks,
    staleness.checks,
    sampling.checks,
    changes.checks,
    descent.checks,
    theorem3.checks,
    sharper.checks,
    seldom.checks,
    round_algorithms.checks,
    by_rounds.checks,
    theorem4.checks,
    skipping.checks,
    experiments.checks,
    rates.checks,
    unit_checks(paper),
)
