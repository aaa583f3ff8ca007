"""Theorem 3.1 of amplified FedAvg with explicit constants, and Corollaries 3.2 and 3.3."""

from __future__ import annotations

from sympy import Rational, sqrt

from fltheory.ledger import Bound
from fltheory.papers.amplified.setting import (
    SMALLEST,
    SQUARED,
    I,
    L,
    P,
    T,
    ass1,
    ass2,
    ass3p,
    beta,
    delta,
    eta,
    gamma,
    gap,
    nu,
    paper,
    rho,
    scale,
    sigma,
)
from fltheory.symbols import Min

STEPS = {
    "local step": gamma <= 1 / (12 * L * I * P),
    "product of steps": gamma * eta <= 1 / (L * I * P),
}
TWO_INTERVALS = {"interval": P <= T / 2}

thm31 = paper.claim(
    "thm31", "Convergence under arbitrary participation weights",
    kind="theorem", where="Theorem 3.1, (8)",
    words="For given participation weights the smallest expected squared gradient is at most a sum of an "
    "optimisation term, the divergences of (5), (6), (7) and noise terms. The constants are ours.",
    assumes=(ass1, ass2, ass3p),
    conditions=STEPS | TWO_INTERVALS,
    bound=Bound(
        SMALLEST,
        4 * gap / (gamma * eta * I * T)
        + 14 * gamma**2 * L**2 * I**2 * nu**2
        + 25 * gamma**2 * L**2 * I**2 * P**2 * beta**2
        + Rational(5, 2) * delta**2
        + (4 * gamma**2 * L**2 * I + 4 * gamma**2 * L**2 * I * P * rho**2 + Rational(5, 2) * gamma * eta * L * rho**2)
        * sigma**2,
        order="O(calF/(gamma eta I T) + gamma^2 L^2 I^2 nu^2 + gamma^2 L^2 I^2 P^2 beta^2 + delta^2(P) + "
        "(gamma^2 L^2 I + gamma^2 L^2 I P rho^2 + gamma eta L rho^2) sigma^2)",
        unit=SQUARED,
    ),
    uses=(
        "amplified.alg1.repaired", "amplified.rho", "amplified.ass2.independent", "amplified.ass3p",
        "amplified.thm31.average",
    ),
)  # fmt: skip

thm31_average = paper.claim(
    "thm31.average", "Theorem 3.1 for the average over interval starts",
    kind="theorem", where="ours, what the proof of Theorem 3.1 yields", origin="ours",
    words="The same bound holds for the average of the expected squared gradient over the starts of the floor(T/P) "
    "whole intervals; there the interval divergence may be averaged over the intervals too.",
    assumes=(ass1, ass2, ass3p),
    conditions=thm31.conditions,
    bound=Bound("average over interval starts of E||grad f||^2", thm31.bound.rhs, unit=SQUARED),
    uses=("amplified.alg1.repaired", "amplified.rho", "amplified.ass2.independent", "amplified.ass3p"),
)  # fmt: skip

COROLLARY_LR = 1 / (12 * L * I * P * sqrt(T))
LEADING = rho * sqrt(L * gap / (I * T))
REST = (
    Rational(14, 144) * nu**2 / (P**2 * T)
    + Rational(25, 144) * beta**2 / T
    + Rational(5, 2) * delta**2
    + Rational(8, 144) * sigma**2 / (I * P * T)
)

cor32 = paper.claim(
    "cor32", "Rate with eta capped at 12 sqrt(T)",
    kind="corollary", where="Corollary 3.2, (9)",
    words="With gamma of order 1/(P sqrt(T)) and eta the smaller of the noise-balancing value and 12 sqrt(T), which "
    "is the product condition of Theorem 3.1 exactly.",
    assumes=(ass1, ass2, ass3p),
    conditions=TWO_INTERVALS,
    formulas={
        "local_lr": COROLLARY_LR,
        "amplification": Min(12 * P * sqrt(L * I * gap) / (sigma * rho), 12 * sqrt(T)),
    },
    bound=Bound(
        SMALLEST,
        Rational(13, 2) * sigma * LEADING + 4 * L * P * gap / T + REST,
        order="O(sigma rho sqrt(L calF)/sqrt(I T) + L P calF/T + nu^2/(P^2 T) + beta^2/T + delta^2(P) + "
        "sigma^2/(I P T))",
        unit=SQUARED,
    ),
    uses=("amplified.thm31", "amplified.ass2.independent"),
    mentions=(gamma, eta),
)  # fmt: skip

cor33 = paper.claim(
    "cor33", "Rate with eta independent of sigma, factor (1 + sigma^2)",
    kind="corollary", where="Corollary 3.3, (10)",
    words="For T so large that the product of steps is admitted, eta need not depend on sigma; the leading term then "
    "carries 1 + sigma^2.",
    assumes=(ass1, ass2, ass3p),
    conditions=TWO_INTERVALS | {"large T": sqrt(gap) / (rho * sqrt(L * I * T)) <= 1 / (L * I * P)},
    formulas={"local_lr": COROLLARY_LR, "amplification": 12 * P * sqrt(L * I * gap) / rho},
    bound=Bound(
        SMALLEST,
        (4 + Rational(5, 2) * sigma**2) * LEADING + REST,
        order="O((1 + sigma^2) rho sqrt(L calF)/sqrt(I T) + nu^2/(P^2 T) + beta^2/T + delta^2(P) + sigma^2/(I P T))",
        unit=SQUARED,
    ),
    uses=("amplified.thm31", "amplified.ass2.independent"),
    repaired_by="amplified.cor33.repaired",
    gap="A true inequality between numbers in fixed units; 1 + sigma^2 and the condition change with the units of "
    "loss and parameter, which a free gradient scale mends.",
    mentions=(eta,),
)  # fmt: skip

cor33_repaired = paper.claim(
    "cor33.repaired", "Homogeneous form with a free gradient scale s",
    kind="corollary", where="ours, in place of Corollary 3.3", origin="ours",
    words="For any s > 0 with the unit of a gradient, eta = 12 P sqrt(L I calF)/(s rho) gives the leading term "
    "(4s + 2.5 sigma^2/s) rho sqrt(L calF/(I T)).",
    assumes=(ass1, ass2, ass3p),
    conditions=TWO_INTERVALS | {"large T": sqrt(gap) / (scale * rho * sqrt(L * I * T)) <= 1 / (L * I * P)},
    formulas={"local_lr": COROLLARY_LR, "amplification": 12 * P * sqrt(L * I * gap) / (scale * rho)},
    bound=Bound(SMALLEST, (4 * scale + Rational(5, 2) * sigma**2 / scale) * LEADING + REST, unit=SQUARED),
    uses=("amplified.thm31", "amplified.ass2.independent"),
    mentions=(eta,),
)  # fmt: skip
