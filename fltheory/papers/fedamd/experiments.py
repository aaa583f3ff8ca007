"""FedAMD's costs, its tables and what the text says of them (Table 1, section 5, Appendix F).

Published numbers stand in `fltheory/data/fedamd_*.csv`, one table a file, each line with its source.
"""

from __future__ import annotations

from sympy import Integer, Rational, Symbol, log, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fedamd.setting import (
    A,
    K,
    M,
    accuracy,
    anchor_noise,
    b,
    b_small,
    c,
    p,
    paper,
    sigma,
)
from fltheory.units import GRADIENT

anchor_samples = A * p * b
ERR8 = paper.claim(
    "ERR-8", "Smaller p saves up to (c - 1)/c of the computation of a single round",
    kind="remark", where="Discussion on the effectiveness of c, after Corollary 4.9",
    words="With 1/c of the optimal anchor probability the anchors of a round compute 1/c of the gradients. (Rounds "
    "grow with c, so that the saving in total is smaller.)",
    formulas={"anchor samples of a round": anchor_samples, "saved share": (c - 1) / c},
    uses=("fedamd.cor49",),
)  # fmt: skip

ERR11 = paper.claim(
    "ERR-11", "Only a portion of clients takes part every round",
    kind="remark", where="section 1, definition of partial client participation; section 3",
    words="The bound of Theorem 4.8 holds although only A of M clients take part in every round. Held against caches "
    "that start at zero: F_m = (x -+ 1)^2/2, M = 2, A = 1, p = 2/3, K = 1, x_0 = argmin F, eta_s eta_l = 1/5.",
    formulas={"largest E|grad F|^2": Integer(0)},
    uses=("fedamd.alg1.init", "fedamd.thm48"),
    gap="The theorems assume caches that all clients start, as section 3 describes; later rounds use A of M clients.",
)  # fmt: skip

loss_noise = Symbol("loss_noise", positive=True)
ERR15 = paper.claim(
    "ERR-15", "Batch min(sigma^2/(M eps), n) gives O(eps)",
    kind="remark", where="Corollary 4.5, Theorems 4.6, 4.8 and 4.11: b = min(sigma^2/(M eps), n)",
    words="With b >= sigma^2/(M eps) the noise terms are at most 3 eps (4.8), 8 eps (4.6), and with "
    "b >= sigma^2/(M mu eps) at most 6 eps (4.11): of order eps, the paper's convention.",
    bound=Bound("1{b<n} sigma^2/(Mb) at b = sigma^2/(M eps)", accuracy, unit=GRADIENT**2),
    formulas={
        "noise": anchor_noise, "batch": sigma**2 / (M * accuracy),
        "of 4.8": Integer(3), "of 4.6": Integer(8), "of 4.11": Integer(6),
    },
    uses=("fedamd.thm46", "fedamd.thm48", "fedamd.thm411"),
)  # fmt: skip

# ---- Table 1 ---------------------------------------------------------------------------------------------

_eps, _mu, _sigma = Symbol("eps", positive=True), Symbol("mu", positive=True), Symbol("sigma", positive=True)
_m, _a, _k = Symbol("M", positive=True), Symbol("A", positive=True), Symbol("K", positive=True)
tab1 = paper.claim(
    "tab1", "Table 1: communication rounds of the compared methods",
    kind="table", where="Table 1",
    words="Rounds to accuracy eps up to constants, small batches of one sample, L (F(x_0) - F_*) = 1.",
    formulas={
        "Minibatch SGD": 1 / (_m * _k * _eps**2) + 1 / _eps,
        "FedAvg": _k / (_a * _eps**2) + 1 / _eps,
        "SCAFFOLD": _sigma**2 / (_a * _k * _eps**2) + (_m / _a) ** Rational(2, 3) / _eps,
        "BVR-L-SGD": 1 / (_m * _k * _eps ** Rational(3, 2)) + 1 / _eps,
        "VR-MARINA": _sigma / (_m * _eps ** Rational(3, 2)) + _sigma**2 / (_m * _eps) + 1 / _eps,
        "FedAMD": _m / (_a * _eps),
        "PL: Minibatch SGD": _sigma**2 / (_mu * _m * _k * _eps) + log(1 / (_mu * _eps)) / _mu,
        "PL: FedAvg": (1 + _sigma**2 / _k) / (_mu * _a * _eps) + sqrt(1 + _sigma**2 / _k) / (_mu * sqrt(_eps))
        + log(1 / _eps) / _mu,
        "PL: SCAFFOLD": _sigma**2 / (_mu * _a * _k * _eps) + (_m / _a + 1 / _mu) * log(_m * _mu / (_a * _eps)),
        "PL: VR-MARINA": (_sigma**2 / (_mu * _m * _eps) + _sigma / (_mu ** Rational(3, 2) * _m * sqrt(_eps)) + 1 / _mu)
        * log(1 / _eps),
        "PL: FedAMD": (1 / _mu + _m / (_mu**2 * _a) + _m / _a) * log(1 / _eps),
    },
    uses=("fedamd.cor47", "fedamd.cor49", "fedamd.cor412"),
    unchecked="Quoted rates of other papers; FedAMD's rows are Corollaries 4.7, 4.9 and 4.12",
)  # fmt: skip

_r = _m / _a
tab1_crossovers = paper.claim(
    "tab1.crossovers", "Accuracies below which FedAMD needs fewer rounds",
    kind="law", where="ours, from Table 1", origin="ours",
    words="With Table 1's expressions taken literally FedAMD needs fewer rounds exactly below these accuracies "
    "(M > A; against VR-MARINA where M/A > 1 + sigma^2/M).",
    formulas={
        "Minibatch SGD": 1 / (_m * _k * (_r - 1)),
        "FedAvg": _k / (_m - _a),
        "SCAFFOLD": _sigma**2 / (_a * _k * (_r - _r ** Rational(2, 3))),
        "BVR-L-SGD": 1 / (_m * _k * (_r - 1)) ** 2,
        "VR-MARINA": (_sigma / (_m * (_r - 1) - _sigma**2)) ** 2,
    },
    uses=("fedamd.tab1",),
)  # fmt: skip

ERR21 = paper.claim(
    "ERR-21", "Comparison with BVR-L-SGD under nM <= 1/eps",
    kind="remark", where="Comparison with BVR-L-SGD, after Corollary 4.5",
    words="BVR-L-SGD needs O(1/eps) rounds under nM <= 1/eps and K >= sqrt(n/M), as its row of Table 1 says.",
    formulas={"row": 1 / (_m * _k * _eps ** Rational(3, 2)), "promised": 1 / _eps},
    uses=("fedamd.tab1",),
    gap="The condition fits a rate for finite sums; in the row of Table 1 the first term is within 1/eps where "
    "MK >= eps^(-1/2).",
)  # fmt: skip

# ---- Tables 2 to 4 and section 5 -------------------------------------------------------------------------

tab2 = paper.claim(
    "tab2", "Table 2: cost and accuracy of six methods",
    kind="table", where="Table 2",
    words="Samples (10^5), communication (32 Mbit), rounds to 75 % and final accuracy for 20, 40 and 100 clients "
    "(fedamd_tab2.csv). With 44426 parameters, the round counts plus one, 2 vectors a client and round for FedAvg, 4 "
    "for SCAFFOLD and 5/2 for FedAMD with probabilities 0, 1 give its communication.",
    formulas={"FedAvg": Integer(2), "SCAFFOLD": Integer(4), "FedAMD-sequential": Rational(5, 2),
              "parameters": Integer(44426)},
    gap="With 40 clients the sequential row gives 2.665 vectors and 1052 samples a client and round, where its rows "
    "for 20 and 100 clients give 2.500 and 940: its costs are those of about 204 to 214 rounds, not 190.",
)  # fmt: skip

ERR19 = paper.claim(
    "ERR-19", "Cost accounting of miners",
    kind="number", where="Table 2; Appendix F.2.2",
    words="A miner computes this many gradients a round, as Table 2 counts them and as Appendix F.2.2 (K = 20: about "
    "twice an anchor's) does.",
    formulas={"in Table 2": 2 * K * b_small, "in F.2.2": K * b_small},
    uses=("fedamd.tab2",),
    gap="Each local step takes two gradients on its batch; F.2.2 counts one.",
)  # fmt: skip


def _layers(name, title, total):
    return paper.claim(
        name, title, kind="table", where=f"Table {name[-1]}",
        words=f"Output shape and trainable parameters of every layer (fedamd_{name}.csv).",
        formulas={"parameters": Integer(total)},
    )  # fmt: skip


tab3 = _layers("tab3", "Table 3: LeNet-5 layers", 44426)
tab4 = _layers("tab4", "Table 4: two-layer perceptron", 79510)


def _sentence(name, title, words, formulas, gap=""):
    return paper.claim(
        f"sec5.{name}", title, kind="table", where="section 5, on Table 2", words=words, formulas=formulas,
        uses=("fedamd.tab2",), gap=gap,
    )  # fmt: skip


sec5_savings = _sentence(
    "savings", "At least 30 % less computation and communication, 40 clients",
    "FedAMD with constant probability saves at least this share of computation and communication against every "
    "baseline.",
    {"saved": Rational(30, 100)},
    "It saves 29.8 % of the samples and 28.6 % of the communication of FedAvg: about 29 to 30 %. (All shares and "
    "gains of section 5 are read to the digits that are printed.)",
)  # fmt: skip
sec5_rounds = _sentence(
    "rounds", "10-20 % fewer rounds with full participation",
    "FedAMD needs between these shares fewer rounds than the best baseline.",
    {"least": Rational(10, 100), "most": Rational(20, 100)},
    "Constant probability needs 21.3 % fewer, sequential 7.6 % fewer.",
)  # fmt: skip
sec5_all_round = _sentence(
    "all_round", "FedAMD surpasses four baselines all round, 20 clients",
    "Both forms of FedAMD are better than every baseline in every column; the margin of the weakest comparison is "
    "positive.",
    {"margin": Integer(0)},
)  # fmt: skip
sec5_gain100 = _sentence(
    "gain100", "Accuracy gain .7 to 8.3, 100 clients",
    "The gain in final accuracy over the baselines lies between these numbers of points and attains both.",
    {"least": Rational(7, 10), "most": Rational(83, 10)},
)  # fmt: skip
sec5_gain40 = _sentence(
    "gain40", "Accuracy gain up to 6 %, 40 clients",
    "The largest gain in final accuracy, to whole points as it is printed.",
    {"most": Integer(6)},
)  # fmt: skip
