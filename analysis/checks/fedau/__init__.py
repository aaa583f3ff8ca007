"""How FedAU's statements on weights are checked, by topic."""

from analysis.checks import CheckBook
from analysis.checks.fedau import cutoff, estimator, numbers, objective, theorem3

checks = CheckBook(objective.checks, estimator.checks, theorem3.checks, cutoff.checks, numbers.checks)
