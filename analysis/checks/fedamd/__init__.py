"""How FedAMD's statements are checked, by topic."""

from analysis.checks import CheckBook
from analysis.checks.fedamd import (
    algorithm,
    averages,
    batches,
    caches,
    constant,
    costs,
    full,
    local_steps,
    one_round,
    order,
    partial,
    pl,
    proof_steps,
    rates,
    tables,
    thinned,
    tuned,
    units,
)

checks = CheckBook(
    algorithm.checks,
    averages.checks,
    local_steps.checks,
    proof_steps.checks,
    one_round.checks,
    caches.checks,
    constant.checks,
    thinned.checks,
    pl.checks,
    tuned.checks,
    full.checks,
    order.checks,
    batches.checks,
    partial.checks,
    costs.checks,
    rates.checks,
    tables.checks,
    units.checks,
)
