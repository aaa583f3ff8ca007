"""Theorem 2 of FAST: its lemmas, its two printed versions, what its proof yields, as corrected."""

from __future__ import annotations

from sympy import exp

from fltheory.ledger import Bound
from fltheory.papers.fast.setting import (
    K,
    L,
    R,
    ass1,
    ass2,
    ass3,
    ass4,
    eta,
    h,
    m,
    mu,
    n,
    paper,
    q,
    s,
    sigma,
    sigma_G,
    start_distance_square,
)
from fltheory.symbols import Max, quantity
from fltheory.units import GRADIENT, LOSS, ONE, PARAM

kappa = start_distance_square
lemma_distance = quantity("lemma_distance", PARAM, ">= 0", "|z - x|")
drift_gradient = quantity("drift_gradient", GRADIENT, ">= 0", "|grad F(x)| where local steps start")
young_rate = quantity("young_rate", LOSS / PARAM**2, "> 0", "epsilon in the Young step (33)")
summands = quantity("summands", ONE, "whole number >= 1", "terms of a sum of random vectors")
means_square = quantity("means_square", GRADIENT**2, ">= 0", "E|sum of conditional means|^2")
square_before = quantity("square_before", PARAM**2, ">= 0", "E|x_r - x*|^2 before a round")
epsilon = young_rate

DISTANCE = "E||x_R - x*||^2"
ALL = (ass1, ass2, ass3, ass4)
NAMES = ("fast.ass1", "fast.ass2", "fast.ass3", "fast.ass4")
STEP = {"step": eta <= 1 / (20 * Max(m, n) * L * K)}
_FORGOTTEN = exp(-mu * K * R * eta) * kappa
_REST = 8 * K * eta * sigma_G**2 / mu + 2 * s * eta * sigma**2 / mu
APPENDIX = _FORGOTTEN + (1 - q) * K * eta * sigma_G**2 / (2 * mu) + _REST
MAIN = _FORGOTTEN + (1 - q) * K * eta / (2 * mu) + _REST
APPENDIX_Q = {"snapshots": q >= 1 - (mu * K * eta - 16 * h**2) / 4}
MAIN_Q = {"snapshots": q >= 1 - (mu * K * eta - 16 * h**2) / (4 * sigma_G**2)}
_NOISE = (
    "A_8 and A_10 split mean and noise without the factor two of Lemma 4 and without saying why; for convex losses and "
    "these steps that is right (A8_A10). (30) and (38) follow also without it: the noise has mean 0 given the "
    "gradients at x_r, so that only their drift along the local steps needs to be split from it; 7.34 and 1.96 come "
    "out for 8 and 2."
)

# ---- lemmas ----------------------------------------------------------------------------------------------

lem2 = paper.claim(
    "lem2", "Perturbed strong convexity",
    kind="lemma", where="Lemma 2",
    words="<grad g(x), z - y> >= g(z) - g(y) + (mu/4)||y - z||^2 - L ||z - x||^2 for every L-smooth and mu-strongly "
    "convex g and all x, y, z.",
    assumes=(ass1, ass4),
    conditions={"constants": mu <= L},
    bound=Bound(
        "g(z) - g(y) + (mu/4)||y - z||^2 - <grad g(x), z - y>", L * lemma_distance**2, unit=LOSS
    ),
    uses=("fast.ass1", "fast.ass4"),
)  # fmt: skip

lem2_improved = paper.claim(
    "lem2.improved", "Perturbed strong convexity with the best constant",
    kind="lemma", where="ours", origin="ours",
    words="The constant L may be replaced by (L + mu)/2, and by no smaller number: it is attained in one dimension by "
    "curvature L on one side of x and mu on the other, y = x - 1 and z = x + 1.",
    assumes=(ass1, ass4),
    conditions={"constants": mu <= L},
    bound=Bound(
        "g(z) - g(y) + (mu/4)||y - z||^2 - <grad g(x), z - y>", (L + mu) / 2 * lemma_distance**2, unit=LOSS
    ),
    uses=("fast.ass1", "fast.ass4"),
)  # fmt: skip

reddi3 = paper.claim(
    "reddi3", "Local drift bound (imported)",
    kind="lemma", where="Lemma 3 of Reddi et al. (2020), used for (6), (20), (27), (34), (36)",
    words="For eta <= 1/(8LK), every client and every local step k < K, E||x_k - x||^2 is at most "
    "5K eta^2 (sigma^2 + 6K sigma_G^2) + 30K^2 eta^2 ||grad F(x)||^2. Assumption 3 holds client by client, and so "
    "does this.",
    assumes=(ass1, ass2, ass3),
    conditions={"step": eta <= 1 / (8 * L * K)},
    bound=Bound(
        "E||x_k - x||^2 of a client, k < K",
        5 * K * eta**2 * (sigma**2 + 6 * K * sigma_G**2) + 30 * K**2 * eta**2 * drift_gradient**2, unit=PARAM**2,
    ),
    uses=("fast.ass1", "fast.ass2", "fast.ass3"),
    gap="Imported; its recursion gives 2 in place of 5, so 2 and 12 in place of 5 and 30.",
)  # fmt: skip

karim4 = paper.claim(
    "karim4", "Split of mean and noise with factor two (imported)",
    kind="lemma", where="Lemma 4 of Karimireddy et al. (2020), used for (8) and (19)",
    words="E||sum X_i||^2 <= 2||sum of conditional means||^2 + 2T sigma^2 for T terms whose noise has conditional mean "
    "0 and variance at most sigma^2.",
    bound=Bound("E||sum of T random vectors||^2", 2 * means_square + 2 * summands * sigma**2, unit=GRADIENT**2),
    uses=("fast.ass2",),
    gap="Imported; used as it stands in (8) and (19).",
)  # fmt: skip

A8_A10 = paper.claim(
    "A8_A10", "Noise split without factor two in A_8 and A_10",
    kind="equation", where="A_8 before (29), A_10 before (36)",
    words="E||sum over k < K of stochastic gradients||^2 <= E||sum of gradients||^2 + K sigma^2 along the local steps "
    "of a client whose objective is convex; the noise may depend on the state.",
    assumes=(ass1, ass2, ass4),
    conditions=STEP,
    formulas={"noise": K * sigma**2},
    uses=("fast.ass1", "fast.ass2", "fast.ass4"),
    gap="Later gradients depend on earlier noise, which the paper does not discuss. A step of at most 2/L on a convex "
    "loss is nonexpansive, so that the dependence lowers the variance; without convexity it can raise it.",
)  # fmt: skip

# ---- one round -------------------------------------------------------------------------------------------

thm2_gen = paper.claim(
    "thm2.gen", "One-step bound that the proof of Theorem 2 yields",
    kind="theorem", where="(38) and the first line of (39), with the factor 2 of (30) and (38)",
    words="With a coin of probability q in each round and any epsilon > 0, one round takes E||x_r - x*||^2 to at most "
    "(1 - 3muK eta/2 + 2(1-q)K eta epsilon + 8h^2) of it, plus a heterogeneity and a noise term. The clients of an "
    "arbitrary round depend on the past only; the noise may depend on the state.",
    assumes=ALL,
    conditions=STEP,
    bound=Bound(
        "E||x_{r+1} - x*||^2",
        (1 - 3 * mu * K * eta / 2 + 2 * (1 - q) * K * eta * epsilon + 8 * h**2) * square_before
        + ((1 - q) * K * eta / (2 * epsilon) + 8 * K**2 * eta**2) * sigma_G**2 + 2 * s * K * eta**2 * sigma**2,
        unit=PARAM**2,
    ),
    uses=(*NAMES, "fast.lem2", "fast.reddi3"),
    gap=_NOISE,
)  # fmt: skip

eq39 = paper.claim(
    "eq39", "(39): combined one-step inequality",
    kind="equation", where="(39)",
    words="In (39) the noise term is first 4K s eta^2 sigma^2, then 2K s eta^2 sigma^2, with s = q/m + (1 - q)/n. It "
    "comes from (30) and (38), the terms of a uniform and of an arbitrary round, weighted with q and 1 - q.",
    formulas={
        "first line": 4 * K * s * eta**2 * sigma**2, "second line": 2 * K * s * eta**2 * sigma**2,
        "uniform round": 2 * K * eta**2 * sigma**2 / m, "arbitrary round": 2 * K * eta**2 * sigma**2 / n,
    },
    repaired_by="fast.thm2.gen",
    gap="(30) and (38), each with factor 2, give the second line directly; the 4 of the first is a slip.",
    uses=("fast.thm2.gen",),
)  # fmt: skip

# ---- Theorem 2 -------------------------------------------------------------------------------------------

thm2_main = paper.claim(
    "thm2.main", "Strongly convex convergence, main text",
    kind="theorem", where="Theorem 2 in section 4.2",
    words="If the probability q of a snapshot, a coin in each round, is at least 1 - (mu K eta - 16h^2)/(4 sigma_G^2), "
    "E||x_R - x*||^2 is at most exp(-mu K R eta) of its start plus (1-q)K eta/(2mu) and terms of heterogeneity and "
    "noise.",
    assumes=ALL,
    conditions=STEP | MAIN_Q,
    bound=Bound(DISTANCE, MAIN, unit=PARAM**2),
    formulas={"epsilon": sigma_G**2 / (K * eta)},
    uses=("fast.thm2.gen", "fast.eq39"),
    repaired_by="fast.thm2.repaired",
    gap="The choice epsilon = sigma_G^2/(K eta) mixes units: the statement is true in each fixed unit of the loss, but "
    "says another thing in every one of them. The appendix states it with epsilon = 1/(K eta).",
)  # fmt: skip

thm2_app = paper.claim(
    "thm2.app", "Strongly convex convergence, appendix",
    kind="theorem", where="Theorem 2 in Appendix A.3, (25)",
    words="If the probability q of a snapshot, a coin in each round, is at least 1 - (mu K eta - 16h^2)/4, "
    "E||x_R - x*||^2 is at most exp(-mu K R eta) of its start plus (1-q)K eta sigma_G^2/(2mu) and terms of "
    "heterogeneity and noise. (Other snapshots than by coins: thm2.periodic.)",
    assumes=ALL,
    conditions=STEP | APPENDIX_Q,
    bound=Bound(DISTANCE, APPENDIX, unit=PARAM**2),
    formulas={"epsilon": 1 / (K * eta)},
    uses=("fast.thm2.gen",),
    gap="The printed proof opens with qR rounds and then takes the expectation over a coin, and its epsilon is that of "
    "the main text; 1/(K eta) gives the appendix. " + _NOISE + " At most .39 % of the rounds may be arbitrary "
    "(thm2.feasibility), where thm2.repaired takes any q. The clients of an arbitrary round may depend on the past "
    "only, not on the samples of their own round.",
)  # fmt: skip

thm2_mixed = paper.claim(
    "thm2.mixed", "Appendix bound under the main-text q-condition",
    kind="theorem", where="nobody's statement: what a reader gets who takes the condition of the main text and (25)",
    origin="ours",
    words="The bound of the appendix under the condition on q of the main text.",
    assumes=ALL,
    conditions=STEP | MAIN_Q,
    bound=Bound(DISTANCE, APPENDIX, unit=PARAM**2),
    uses=("fast.thm2.main", "fast.thm2.app"),
    repaired_by="fast.thm2.repaired",
    gap="The condition of one version does not go with the bound of the other.",
)  # fmt: skip

thm2_mixed_reverse = paper.claim(
    "thm2.mixed_reverse", "Main-text bound under the appendix q-condition",
    kind="theorem", where="the other mixture", origin="ours",
    words="In any one fixed unit of the loss, as numbers: the bound of the main text under the condition on q of the "
    "appendix.",
    assumes=ALL,
    conditions=STEP | APPENDIX_Q,
    bound=Bound(DISTANCE, MAIN, unit=PARAM**2),
    uses=("fast.thm2.gen", "fast.thm2.app"),
    gap="Its term with 1 - q mixes units, which is why a unit has to be fixed, and is not needed, as a round needs "
    "less than 15/2 in place of 8.",
)  # fmt: skip

thm2_periodic = paper.claim(
    "thm2.periodic", "Theorem 2 for deterministic or fixed-count snapshots",
    kind="theorem", where="Theorem 2 read for the snapshot interval of Algorithm 1",
    words="(25) if the snapshots are the rounds that I divides, or if their number only is qR.",
    assumes=ALL,
    conditions=STEP | APPENDIX_Q,
    bound=Bound(DISTANCE, APPENDIX, unit=PARAM**2),
    uses=("fast.thm2.app", "fast.alg1"),
    repaired_by="fast.thm2.repaired",
    gap="The proof opens with R_u = qR rounds and then takes the expectation over a coin in each round, which is the "
    "form it is about. An interval I >= 2 has q <= 1/2 and is never admitted.",
)  # fmt: skip

thm2_feasibility = paper.claim(
    "thm2.feasibility", "Largest share of arbitrary rounds allowed by the appendix",
    kind="law", where="ours", origin="ours",
    words="The condition of the appendix version allows arbitrary rounds up to the share (mu K eta - 16h^2)/4, which "
    "is at most 1/(256 (L/mu)^2): .39 % at L = mu.",
    formulas={
        "share": (mu * K * eta - 16 * h**2) / 4, "largest": 1 / (256 * (L / mu) ** 2),
        "best step": mu / (32 * L**2 * K),
    },
    uses=("fast.thm2.app",),
)  # fmt: skip

thm2_repaired = paper.claim(
    "thm2.repaired", "Strongly convex bound for any q, Bernoulli snapshots",
    kind="theorem", where="ours, in place of Theorem 2", origin="ours",
    words="With a coin of any probability q in each round and 16L^2K eta < mu, E||x_R - x*||^2 is at most "
    "exp(-mu K R eta) of its start plus 2(1-q)^2 sigma_G^2/(mu(mu - 16L^2K eta)), 8K eta sigma_G^2/mu and "
    "2s eta sigma^2/mu. The same proof with epsilon = (mu - 16L^2K eta)/(4(1-q)). The clients of an arbitrary round "
    "depend on the past only.",
    assumes=ALL,
    conditions=STEP | {"conditioning": 16 * L**2 * K * eta < mu, "probability": q <= 1},
    bound=Bound(
        DISTANCE, _FORGOTTEN + 2 * (1 - q) ** 2 * sigma_G**2 / (mu * (mu - 16 * L**2 * K * eta)) + _REST, unit=PARAM**2
    ),
    formulas={"epsilon": (mu - 16 * L**2 * K * eta) / (4 * (1 - q))},
    uses=("fast.thm2.gen",),
)  # fmt: skip
