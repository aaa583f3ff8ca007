"""Which objective a weighting rule minimises: sum_n phi_n F_n, with phi_n from the rule and the participation rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fltheory import errors
from fltheory.distributions import KCutoffGeometric
from fltheory.errors import InputError
from sims.arrays import Array, as_exact

RULES = ("average_all", "average_participating", "exponential_average", "fedau", "known_rates")


def implicit_weights(rule: str, rates: Sequence[Any] | Array, cutoff: float = math.inf) -> Array:
    """The weights phi (N,) of the clients' objectives in the one that a rule minimises; proportions are what counts.

    Clients participate independently of each other, client n in every round with rates[n] in (0, 1]. By rule:
    average_all            its rate, FedAU (2) with weights 1
    average_participating  rate * E[1 / (1 + number of others)], others Poisson-binomial: NOT in proportion to the rate
    known_rates            1: the objective that was meant
    fedau, exponential_average  1 - (1 - rate)^cutoff, the long-run mean weight times the rate

    Exact (an object array) for rates given as Fractions, else float64. Raises InputError for an unknown rule, a rate
    outside (0, 1] or a bad cutoff.

    >>> from fractions import Fraction
    >>> [str(phi * 200) for phi in implicit_weights("average_participating", [Fraction(n, 10) for n in (1, 5, 9)])]
    ['9', '53', '129']
    """
    if rule not in RULES:
        raise InputError("rule", rule, f"one of {', '.join(RULES)}")
    checked, longest = errors.probabilities("rates", rates), errors.cutoff("cutoff", cutoff)
    if checked.ndim != 1 or not checked.size:
        raise InputError("rates", rates, "one rate a client, of shape (n_clients,)")
    exact = np.asarray(rates).dtype == object
    chance = as_exact(rates) if exact else checked
    if rule == "average_all":
        return chance
    if rule == "average_participating":
        return chance * _mean_share(chance)
    if rule == "known_rates" or longest == math.inf:
        return chance / chance
    return 1 - (1 - chance) ** int(longest) if exact else chance * KCutoffGeometric(chance, longest).mean()


def _mean_share(chance: Array) -> Array:
    """E[1 / (1 + number of participants among the other clients)] for each client (N,).

    Halves the clients: the law of how many outside a half participate, extended by the other half one by one, serves
    all of that half. All terms are positive, so no digits are lost; O(N^2 log N) operations.
    """
    shares = np.empty_like(chance)

    def descend(first: int, last: int, law: Array) -> None:
        if last - first == 1:
            shares[first] = np.sum(law / np.arange(1, len(law) + 1))
            return
        middle = (first + last) // 2
        descend(first, middle, _with(law, chance[middle:last]))
        descend(middle, last, _with(law, chance[first:middle]))

    descend(0, len(chance), chance[:1] / chance[:1])
    return shares


def _with(law: Array, chance: Array) -> Array:
    """The law (n + 1,) of a number of participants, with further clients of these rates."""
    for p in chance:
        more = np.zeros(len(law) + 1, dtype=law.dtype)
        more[:-1] += (1 - p) * law
        more[1:] += p * law
        law = more
    return law
