"""Section 4.2 of amplified FedAvg: stochastic participation up to Proposition 4.7, and the laws of its weights."""

from __future__ import annotations

from sympy import Symbol, floor, log

from fltheory.ledger import Bound
from fltheory.papers.amplified.setting import (
    HALF,
    INDEPENDENT,
    SQUARED,
    N,
    P,
    S,
    T,
    absolute_variance,
    ass3,
    averaged_variance,
    c,
    d,
    long_run_variance,
    paper,
    rho,
    v2,
)

# ---- section 4.2: stochastic participation ---------------------------------------------------------------

prop44 = paper.claim(
    "prop44", "Mean-ergodic participation drives the interval divergence to zero",
    kind="proposition", where="Proposition 4.4",
    words="In expectation (7) holds with N^2 d^2 times the largest variance of an averaged weight, which tends to "
    "zero with P for a mean-ergodic process whose clients have equal mean weights.",
    assumes=(ass3,),
    bound=Bound("expectation of the left side of (7)", N**2 * d**2 * averaged_variance, unit=SQUARED),
    uses=("amplified.eq15",),
)  # fmt: skip

lem45 = paper.claim(
    "lem45", "Central limit theorem for stationary strongly mixing weights",
    kind="lemma", where="Lemma 4.5",
    words="For a stationary process with strong mixing coefficients O(P^-5) the averaged weight is asymptotically "
    "normal with mean mu and variance vhat^2/P, vhat^2 the variance plus twice the sum of all autocovariances.",
    latex=r"\sqrt{P} \, (\overline{q^n} - \mu) \to \mathcal{N}(0, \hat v^2) \quad \text{as } P \to \infty",
    mentions=(P, long_run_variance),
    unchecked="Imported (Billingsley, Probability and Measure, Theorem 27.4)",
    gap="That the autocovariances tend to zero does not make their sum converge; the printed mixing rate does.",
)  # fmt: skip

eq16 = paper.claim(
    "eq16", "Chebyshev bound for the averaged weight",
    kind="equation", where="(16)",
    words="If the averaged weight has variance vhat^2/P, its squared deviation exceeds vhat^2/(c P) with probability "
    "at most c.",
    formulas={"variance": long_run_variance / P, "level": long_run_variance / (c * P)},
    bound=Bound("Pr{(averaged weight - mu)^2 > level}", c),
    uses=("amplified.lem45",),
)  # fmt: skip

prop46 = paper.claim(
    "prop46", "Interval divergence under stationary strongly mixing participation",
    kind="proposition", where="Proposition 4.6",
    words="For a stationary, strongly mixing process with equal mean weights, as P grows, (7) holds with "
    "N^2 d^2 vhat^2/P in expectation, and with that over c with probability 1 - c.",
    assumes=(ass3,),
    formulas={"level": N**2 * d**2 * long_run_variance / P},
    uses=("amplified.eq15", "amplified.eq16", "amplified.lem45"),
    repaired_by="amplified.prop46.repaired",
    gap="An asymptotic statement, as printed: it is to be read with a factor 1 + o(1), for vhat^2 > 0, and its "
    "probability form for one interval.",
)  # fmt: skip

prop46_repaired = paper.claim(
    "prop46.repaired", "Interval divergence of a stationary process for every P",
    kind="proposition", where="ours, in place of Proposition 4.6", origin="ours",
    words="For a stationary process with equal mean weights the expectation of the left side of (7) is at most "
    "N^2 d^2/P times the variance plus twice the sum of the absolute autocovariances of a weight, for every P.",
    assumes=(ass3,),
    bound=Bound("expectation of the left side of (7)", N**2 * d**2 * absolute_variance / P, unit=SQUARED),
    uses=("amplified.eq15",),
)  # fmt: skip

eq17 = paper.claim(
    "eq17", "Hoeffding bound for the averaged weight",
    kind="equation", where="(17)",
    words="If the weights of one client, in [0, 1], are independent over rounds, the squared deviation of their "
    "average exceeds ln(2/c)/(2P) with probability at most c.",
    formulas={"level": log(2 / c) / (2 * P)},
    bound=Bound("Pr{(averaged weight - mu)^2 > level}", c),
)  # fmt: skip

prop47 = paper.claim(
    "prop47", "Interval divergence under participation independent over rounds",
    kind="proposition", where="Proposition 4.7",
    words="For weights with equal means, independent over rounds, (7) holds with N^2 d^2 v^2/P in expectation, and "
    "with N^2 d^2 ln(2/c)/(2P) with probability 1 - c.",
    assumes=(ass3,),
    formulas={"level": N**2 * d**2 * log(2 / c) / (2 * P)},
    uses=(
        "amplified.eq15", "amplified.eq17", "amplified.prop47.expectation", "amplified.prop47.hp_one_interval",
        "amplified.prop47.hp_all_intervals",
    ),
    repaired_by="amplified.prop47.hp_all_intervals.repaired",
    gap="The probability form holds for each interval; for all intervals at once use ln(2T/(cP)), or average the "
    "intervals, which keeps the final rate.",
)  # fmt: skip

prop47_expectation = paper.claim(
    "prop47.expectation", "Expected interval divergence N^2 d^2 v^2 / P",
    kind="proposition", where="Proposition 4.7, first part",
    words="For weights with equal means, independent over rounds, with variances at most v^2, the expectation of the "
    "left side of (7) is at most N^2 d^2 v^2/P.",
    assumes=(ass3,),
    bound=Bound("expectation of the left side of (7)", N**2 * d**2 * v2 / P, unit=SQUARED),
    uses=("amplified.eq15",),
)  # fmt: skip

HP_LEVEL = N**2 * d**2 * log(2 / c) / (2 * P)
prop47_one = paper.claim(
    "prop47.hp_one_interval", "High-probability divergence jointly over clients for one interval",
    kind="proposition", where="Proposition 4.7, second part, one interval",
    words=f"{INDEPENDENT} the left side of (7) of one interval exceeds N^2 d^2 ln(2/c)/(2P) with probability at most "
    "c.",
    assumes=(ass3,),
    conditions={"clients": N >= 2},
    formulas={"level": HP_LEVEL},
    bound=Bound("Pr{left side of (7) > level} in one interval", c),
    uses=("amplified.eq15", "amplified.eq17"),
    gap="(17) is for one client; jointly over clients Pinelis' inequality for vectors gives the same level.",
)  # fmt: skip

prop47_all = paper.claim(
    "prop47.hp_all_intervals", "High-probability divergence for all intervals at once",
    kind="proposition", where="Proposition 4.7, second part, with (7) for all t_0",
    words=f"{INDEPENDENT} the left side of (7) exceeds N^2 d^2 ln(2/c)/(2P) in some interval of the run with "
    "probability at most c.",
    assumes=(ass3,),
    conditions={"clients": N >= 2, "interval": P <= T / 2},
    formulas={"level": HP_LEVEL},
    bound=Bound("Pr{left side of (7) > level in some interval}", c),
    uses=("amplified.prop47.hp_one_interval", "amplified.ass3p"),
    repaired_by="amplified.prop47.hp_all_intervals.repaired",
    gap="(17) bounds one interval, while (7) asks for all of them; a union bound over the T/P intervals, or the "
    "average over intervals, completes the argument.",
)  # fmt: skip

prop47_all_repaired = paper.claim(
    "prop47.hp_all_intervals.repaired", "All intervals at once with ln(2T/(cP))",
    kind="proposition", where="ours, in place of the second part of Proposition 4.7", origin="ours",
    words=f"{INDEPENDENT} the left side of (7) exceeds N^2 d^2 ln(2T/(cP))/(2P) in some interval of the run with "
    "probability at most c.",
    assumes=(ass3,),
    conditions={"clients": N >= 2, "interval": P <= T / 2},
    formulas={"level": N**2 * d**2 * log(2 * T / (c * P)) / (2 * P)},
    bound=Bound("Pr{left side of (7) > level in some interval}", c),
    uses=("amplified.prop47.hp_one_interval",),
)  # fmt: skip

prop47_average = paper.claim(
    "prop47.average", "High-probability divergence averaged over intervals",
    kind="proposition", where="ours, what the proof of Theorem 3.1 needs", origin="ours",
    words=f"{INDEPENDENT} the average over intervals of the left sides of (7), which is what enters Theorem 3.1, "
    "exceeds N^2 d^2 ln(3/c)/P with probability at most c, however many intervals there are.",
    assumes=(ass3,),
    conditions={"clients": N >= 2},
    formulas={"level": N**2 * d**2 * log(3 / c) / P},
    bound=Bound("Pr{average over intervals of the left sides of (7) > level}", c),
    uses=("amplified.prop47.hp_one_interval", "amplified.thm31.average"),
)  # fmt: skip

prop47_improved = paper.claim(
    "prop47.improved", "Sharper high-probability forms with weight range rho",
    kind="proposition", where="ours", origin="ours",
    words="Weights of a round lie in [0, rho], so (17) holds with rho^2 ln(2/c)/(2P). "
    f"{INDEPENDENT} jointly over clients the left side of (7) of one interval exceeds "
    "2 N d^2 (rho^2 - 1/N) ln(2/c)/P with probability at most c.",
    assumes=(ass3,),
    conditions={"clients": N >= 2},
    formulas={
        "level of a client": rho**2 * log(2 / c) / (2 * P),
        "level": 2 * N * d**2 * (rho**2 - 1 / N) * log(2 / c) / P,
    },
    bound=Bound("Pr{left side of (7) > level} in one interval", c),
    uses=("amplified.eq15", "amplified.eq17", "amplified.rho"),
)  # fmt: skip

ineq_ln = paper.claim(
    "ineq_ln", "(1/2) ln(2/c) <= 1/c - 1/2",
    kind="equation", where="after Proposition 4.7",
    words="Half the logarithm of 2/c is at most 1/c - 1/2 for every c > 0, with equality at c = 2 only.",
    formulas={"left": log(2 / c) / 2, "right": 1 / c - HALF},
)  # fmt: skip

hoeffding_tighter = paper.claim(
    "hoeffding_tighter", "Hoeffding form is tighter than the Chebyshev form, ignoring v-hat^2",
    kind="remark", where="after Proposition 4.7",
    words="Leaving the variance factor aside, as the text says, the level ln(2/c)/2 of the Hoeffding form is below "
    "the level 1/c of the Chebyshev form. (With the factor kept, Chebyshev is below if v^2 < c ln(2/c)/2.)",
    formulas={"hoeffding": log(2 / c) / 2, "chebyshev": 1 / c, "crossing": c * log(2 / c) / 2},
    uses=("amplified.ineq_ln", "amplified.eq16", "amplified.eq17"),
)  # fmt: skip

# ---- the law of the weights (ours) -----------------------------------------------------------------------

chance, stay = Symbol("chance", positive=True), Symbol("stay", positive=True)
enter, leave = Symbol("enter", positive=True), Symbol("leave", positive=True)
inverse_size = Symbol("inverse_size", positive=True)
_memory = (N * stay - 1) / (N - 1)
_flip = 1 - enter - leave
_on = enter / (enter + leave)
_turns = P * S / N - floor(P * S / N)
weights = paper.claim(
    "weights", "Closed-form variances of participation weights for seven sampling schemes",
    kind="law", where="ours", origin="ours",
    words="Variance of a client's weight for one uniform client; S clients without and S draws with replacement; "
    "independent coins, renormalised, given that somebody takes part; variance of the weight averaged over P rounds "
    "for a token that stays with probability `stay`, else goes to a uniform other client, and for a fresh "
    "permutation of the clients dealt out S a round; long-run variance of independent on-off clients.",
    formulas={
        "one client": (N - 1) / N**2,
        "without replacement": (N - S) / (S * N**2),
        "with replacement": (N - 1) / (S * N**2),
        "coins": inverse_size / N - 1 / N**2,
        "token": (N - 1) / (N**2 * P)
        * ((1 + _memory) / (1 - _memory) - 2 * _memory * (1 - _memory**P) / (P * (1 - _memory) ** 2)),
        "on-off": _on * (1 - _on) * (1 + _flip) / (1 - _flip),
        "permutation": _turns * (1 - _turns) / (S**2 * P**2),
    },
)  # fmt: skip
