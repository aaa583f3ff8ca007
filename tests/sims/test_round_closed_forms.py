"""The round loop against closed forms: long-run means and stationary variances."""

import math
from fractions import Fraction

import numpy as np
import pytest

from fltheory.weights import exact_weight_law
from sims.weighting import (
    AverageAll,
    AverageParticipating,
    FedAU,
    KnownRates,
)
from tests.sims.round_cases import CENTRE, CURVATURE, RATES, plain, quadratic, run


def poisson_binomial_shares():
    """E[I_n / |S|] for the three clients, by enumeration."""
    shares = [Fraction(0)] * 3
    chance = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]
    for who in range(1, 8):
        members = [n for n in range(3) if who >> n & 1]
        probability = math.prod(chance[n] if n in members else 1 - chance[n] for n in range(3))
        for n in members:
            shares[n] += probability / len(members)
    return shares


CHANCES = np.array(RATES)


LIMITS = [
    # rule, long-run weights phi, the limit as it is printed (gamma = .05, 5 local steps)
    ("average_all", AverageAll(), CHANCES, 1.549533),
    (
        "average_participating",
        AverageParticipating(),
        np.array([float(s) for s in poisson_binomial_shares()]),
        1.650003,
    ),
    ("known_rates", KnownRates(), np.ones(3), 1.011564),
    ("fedau", FedAU(5), 1 - (1 - CHANCES) ** 5, 1.248504),
]


@pytest.mark.parametrize(("name", "rule", "phi", "printed"), LIMITS, ids=[limit[0] for limit in LIMITS])
def test_long_run_means_are_those_of_the_closed_forms(name, rule, phi, printed):
    """E x_t -> sum phi_n A_n b_n / sum phi_n A_n, A_n = 1 - (1 - gamma a_n)^I.

    For fixed weights the limit is exact. FedAU's w_t are random, of mean phi_n / p_n and relative deviation r_n, and
    correlated with x_t. As both are independent of round t, E sum_n phi_n (1 + r_n) A_n (b_n - x_t) = 0 in the long
    run, so by Cauchy and Schwarz the limit moves by at most the phi A-weighted mean of sd(r_n) rms(b_n - x_t).
    Replicates are independent: (mean - limit) / standard error is within 6 with a false alarm of about 2e-9 each.
    """
    lr, steps, rounds, replicates = 0.05, 5, 400 if name == "fedau" else 80, 2000
    effect = 1 - (1 - lr * np.array(CURVATURE)) ** steps
    limit = float((phi * effect * CENTRE).sum() / (phi * effect).sum())
    assert round(limit, 6) == printed
    setup = plain(rule=rule, lr=lr, steps=steps, problem=quadratic(noise=0.1))
    final = run(setup, rounds, replicates, what=("model",), every=rounds).record.arrays()["model"][:, -1, 0]
    error = final.std(ddof=1) / math.sqrt(replicates)
    # what is left of the start: (1 - mean of phi A / N)^rounds of a distance of at most 2
    transient = 2 * (1 - float((phi * effect).mean())) ** rounds
    correlation = 0.0
    if name == "fedau":
        laws = [exact_weight_law(p, 5, rounds) for p in RATES]
        relative = np.array([math.sqrt(law.second_moment[-1] / law.mean[-1] ** 2 - 1) for law in laws])
        away = np.sqrt(((np.array(CENTRE) - final[:, None]) ** 2).mean(axis=0))
        correlation = float((phi * effect * relative * away).sum() / (phi * effect).sum())
    tolerance = 6 * error + transient + correlation
    assert tolerance < 0.12  # half of what is between neighbouring limits
    assert abs(final.mean() - limit) < tolerance


@pytest.mark.parametrize(("rule", "weight"), [(AverageAll(), np.ones(3)), (KnownRates(), 1 / CHANCES)])
def test_stationary_variance(rule, weight):
    """Var of claims 2.6 for independent participation and fixed weights: .0200195 and .3584346 without noise.

    The variance of a sample variance comes from the sample's own fourth moment; 6 standard errors, as above.
    """
    lr, steps, rounds, replicates = 0.05, 5, 60, 3000
    a, b, p = np.array(CURVATURE), np.array(CENTRE), CHANCES
    effect = 1 - (1 - lr * a) ** steps
    mean = (p * weight * effect * b).sum() / (p * weight * effect).sum()
    pull = (p * weight * effect).sum() / 3
    spread = (p * (1 - p) * weight**2 * effect**2).sum() / 9
    variance = (p * (1 - p) * weight**2 * effect**2 * (b - mean) ** 2).sum() / 9 / (1 - (1 - pull) ** 2 - spread)
    assert round(float(variance), 7) == {1.0: 0.0200195, 10.0: 0.3584346}[float(weight[0])]
    setup = plain(rule=rule, lr=lr, steps=steps, problem=quadratic(noise=0))
    final = run(setup, rounds, replicates, every=rounds).record.arrays()["model"][:, -1, 0]
    squares = (final - final.mean()) ** 2
    error = squares.std(ddof=1) / math.sqrt(replicates)
    assert error < 0.05 * variance
    assert abs(squares.mean() - variance) < 6 * error + 2 * (1 - pull) ** rounds
