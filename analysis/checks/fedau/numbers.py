"""Checks of stated numbers, of Appendix C.6 and of the long-run limits."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import sympy
from sympy import Rational, Symbol

from analysis.checks import CheckBook, Depth, mutate, plus, put, times
from analysis.checks import histories as h
from analysis.checks.tools import at
from analysis.evidence import Evidence, Tally, conditional
from analysis.trials import exact_value
from fltheory.ledger import Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import K, p
from fltheory.streams import stream

checks = CheckBook()


@checks(
    fedau.longrun,
    mutants=[
        put("bernoulli", K, K + 1),
        put("markov", K, K + 1),
        mutate("cyclic", "102", lambda e: fedau.active / (fedau.active - 1 + sympy.ceiling((102 - fedau.active) / K))),
    ],
)
def completions_in_the_long_run(claim: Claim, depth: Depth) -> Evidence:
    """p times the mean completed interval: the chain's stationary law solved in rationals, a cycle counted."""
    tally = Tally()
    rates = [F(1, 50), F(1, 10), F(1, 2), F(9, 10)]
    for rate in rates:
        for cutoff in (1, 2, 3, 5, 10, 50):
            where = {"p": rate, "K": cutoff}
            scale = rate / h.completion_rate(rate, 1 - rate, cutoff)
            tally.equal(scale, at(claim.formulas["bernoulli"], rate=rate, cutoff=cutoff), family="bernoulli", **where)
            a = min(F(1, 20), rate / (1 - rate))
            b = a * (1 - rate) / rate
            form = exact_value(claim.formulas["markov"], {"enter": a, "leave": b, "cutoff": cutoff})
            tally.equal(rate / h.completion_rate(a, b, cutoff), form, family="markov", **where)
            d = int(100 * rate)
            cycle = [True] * d + [False] * (100 - d)
            completed, _ = h.cut([*cycle, True], cutoff)  # from one end of an on-run round to the next cycle's
            form = at(claim.formulas["cyclic"], active=d, cutoff=cutoff)
            tally.equal(F(d, 100) * F(100, len(completed) - 1), form, family="cyclic", **where)
    return tally.evidence(
        "exact",
        "exact rationals",
        "Equal for every family.",
        domain="p in {1/50, 1/10, 1/2, 9/10}, K in {1, 2, 3, 5, 10, 50}",
    )


@checks(
    fedau.facts,
    mutants=[
        plus("standard deviation", 1),
        plus("shortest", Rational(1, 10)),
        plus("longest", Rational(-1, 10)),
        plus("mean interval", 1),
        plus("mean", 1),
    ],
)
def example_numbers(claim: Claim, depth: Depth) -> Evidence:
    """The five numbers from T = 10,000 and p = 1/50; intervals agree after rounding to the printed digit."""
    trials, rate, tally = 10_000, Rational(1, 50), Tally()
    deviation = sympy.sqrt(trials * rate * (1 - rate))
    mean = trials * rate
    for name, value in {"standard deviation": deviation, "mean": mean, "mean interval": 1 / rate}.items():
        tally.equal(value, claim.formulas[name], number=name)
    for name, value in {
        "shortest": trials / (mean + 2 * deviation),
        "longest": trials / (mean - 2 * deviation),
    }.items():
        tally.equal(Rational(round(10 * value), 10), claim.formulas[name], number=name)
    return tally.evidence(
        "exact",
        "exact rationals",
        "14, 200 and 50 exactly; 43.8596 and 58.1395 round as printed.",
        domain="T = 10,000, p = 1/50",
    )


@checks(fedau.C6_mean, mutants=[plus("mean", Rational(1, 100)), times("mean", Rational(1, 2))])
def mean_rate_before_and_after_the_floor(claim: Claim, depth: Depth) -> Evidence:
    """E<kappa, q> = 1/C whatever q is; raising small rates to .02 lifts the mean, measured with its error."""
    classes, target, floor = 10, Rational(1, 10), 0.02
    # E[p_n | q] = (1/lambda) sum_j E[kappa_j] q_j with E[kappa_j] = alpha / (C alpha), for any q that sums to 1.
    concentration, share = Symbol("alpha", positive=True), sympy.symbols(f"q0:{classes - 1}")
    mean_of_kappa = concentration / (classes * concentration)
    normalised = sympy.simplify(classes * target * mean_of_kappa * sum([*share, 1 - sum(share)]))
    before = Tally()
    before.equal(normalised, claim.formulas["mean"], stage="before the floor")
    draws = {"quick": 20_000, "default": 200_000, "deep": 4_000_000}[depth]
    rng = stream(0, "fedau.C6.mean")
    q = rng.dirichlet(np.full(classes, 0.1), draws)
    kappa = rng.dirichlet(np.full(classes, 0.1), draws)
    # The mean before the floor is known, so only the lift, at most .02, is measured: a fifteenth of the error.
    lift = np.maximum(floor - np.einsum("ij,ij->i", q, kappa) * classes * float(target), 0)
    mean, error = float(target) + float(lift.mean()), float(lift.std(ddof=1) / math.sqrt(draws))
    after = Tally(sides=("|mean rate - stated mean|", "5 standard errors"))
    # Five standard errors: a mean of .1 would be called different with probability below 3e-7.
    after.at_most(
        round(abs(mean - float(claim.formulas["mean"])), 6),
        round(5 * error, 6),
        **{
            "stage": "after the floor",
            "mean rate": round(mean, 6),
            "stated mean": float(claim.formulas["mean"]),
            "standard error": round(error, 7),
        },
    )
    return conditional(
        after,
        before,
        "before the floor",
        "algebra and simulation",
        f"True before the floor, as announced; after the floor the mean rate is about {mean:.4f}.",
        domain=f"C = 10, alpha_d = alpha_p = .1, mu = .1, floor .02, {draws} draws",
    )


@checks(
    fedau.C6_markov,
    mutants=[put("leave", 1 - p, 1), plus("lag-one correlation", Rational(1, 100)), put("leave", p, p**2)],
)
def chain_keeps_its_rate(claim: Claim, depth: Depth) -> Evidence:
    """One step from the stationary law keeps it; the correlation follows from P(on, then on)."""
    tally = Tally()
    for rate in (F(1, 50), F(1, 10), F(3, 10), F(527, 1000), F(9, 10)):
        a = min(F(1, 20), rate / (1 - rate))
        b = at(claim.formulas["leave"], enter=a, rate=rate)
        tally.equal(rate * (1 - b) + (1 - rate) * a, rate, p=rate, quantity="rate of the next round")
        correlation = (rate * (1 - b) - rate**2) / (rate * (1 - rate))
        form = at(claim.formulas["lag-one correlation"], enter=a, leave=b)
        tally.equal(correlation, form, p=rate, quantity="lag-one correlation")
    return tally.evidence(
        "exact",
        "exact rationals",
        "Stationary, with the stated correlation.",
        domain="p in {.02, .1, .3, .527, .9}, a = min(.05, p/(1-p))",
    )
