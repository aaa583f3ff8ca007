"""FedAU: S. Wang, M. Ji, "A Lightweight Method for Tackling Unknown Participation Statistics in Federated
Averaging", ICLR 2024. Sections 2 and 3, Appendices B.4, B.6, B.7 and C.6: how well the weights are estimated.

Constants are explicit, recovered from the printed proofs; the published order stands beside each bound.
"""

from __future__ import annotations

from sympy import EulerGamma, Integer, Max, Min, Rational, Symbol, ceiling, floor, log, polygamma

from fltheory.ledger import Bound, Paper
from fltheory.symbols import (
    cutoff,
    global_lr,
    heterogeneity,
    initial_gap,
    local_lr,
    local_steps,
    min_rate,
    n_clients,
    noise_std,
    quantity,
    rate,
    round_index,
    rounds,
    smoothness,
    weight_square,
)
from fltheory.units import GRADIENT, ONE

paper = Paper(
    "fedau",
    "A Lightweight Method for Tackling Unknown Participation Statistics in Federated Averaging",
    edition="ICLR 2024 (main text with Appendices A to D)",
    letters={
        "rate": "p", "min_rate": "p_{\\min}", "cutoff": "K", "rounds": "T", "round_index": "t",
        "n_clients": "N", "local_steps": "I", "smoothness": "L", "noise_std": "\\sigma",
        "heterogeneity": "\\delta", "initial_gap": "\\mathcal{F}", "local_lr": "\\gamma",
        "global_lr": "\\eta", "weight_square": "Q", "interval_variance": "\\mathrm{Var}[S]",
        "completed": "M", "open_interval": "S^{\\diamond}", "first_passage": "\\Pr\\{T_M = t - S^{\\diamond}\\}",
        "squared_difference": "\\mathbb{E}[(X_1 - X_2)^2 / M]", "weight": "\\omega", "total_weight": "P",
        "participations": "\\sum_t \\mathbb{I}_t", "participated": "\\mathbb{I}",
        "data_weight": "q_n", "total_data_weight": "\\Gamma",
        "enter": "a", "leave": "b", "active": "d",
    },
)  # fmt: skip

# Letters that only the statements below need.
interval_variance = quantity("interval_variance", ONE, ">= 0", "variance of one cut-off interval (Lemma B.6.1)")
completed = Symbol("completed", integer=True, positive=True)
open_interval = Symbol("open_interval", integer=True, nonnegative=True)
first_passage = Symbol("first_passage", nonnegative=True)
squared_difference = Symbol("squared_difference", nonnegative=True)
weight = Symbol("weight", positive=True)
total_weight = Symbol("total_weight", positive=True)
participated = Symbol("participated", integer=True, nonnegative=True)
participations = Symbol("participations", integer=True, positive=True)
data_weight = Symbol("data_weight", positive=True)
total_data_weight = Symbol("total_data_weight", positive=True)
enter = Symbol("enter", positive=True)
leave = Symbol("leave", nonnegative=True)
active = Symbol("active", integer=True, positive=True)

p, K, T, t = rate, cutoff, rounds, round_index
L, sigma, delta, I, N = smoothness, noise_std, heterogeneity, local_steps, n_clients
miss = 1 - p
WEIGHT_ERROR = "(1/T) sum over t < T of E[(p w_t - 1)^2]"

# ---- sections 1 to 4: the setting ----------------------------------------------------------------------

eq1 = paper.claim(
    "eq1", "Global objective is the plain average of local objectives",
    kind="equation", where="(1)",
    words="f is the mean of the local objectives F_n; unequal data weights are absorbed into F_n (Appendix A.1).",
    latex=r"f(\mathbf{x}) := \frac1N \sum_{n=1}^N F_n(\mathbf{x})",
    formulas={"coefficient": 1 / N},
)  # fmt: skip

A1 = paper.claim(
    "A1", "Appendix A.1: data weights absorbed into the local objectives",
    kind="remark", where="Appendix A.1",
    words="With F_n = (q_n N / Gamma) times client n's own objective and Gamma = sum q_n, the plain average of the "
    "F_n is the q-weighted average of the clients' own objectives.",
    formulas={"absorbed": data_weight * N / total_data_weight},
    uses=("fedau.eq1",),
)  # fmt: skip

ass1 = paper.assumption(
    "ass1", "Local objectives are L-smooth", where="Assumption 1",
    words="Every local gradient is Lipschitz with constant L.",
)  # fmt: skip
ass2 = paper.assumption(
    "ass2", "Stochastic gradients unbiased, variance at most sigma^2, independent noise", where="Assumption 2",
    words="Stochastic gradients are unbiased with variance at most sigma^2; their noise is independent over rounds, "
    "clients and local steps.",
)  # fmt: skip
ass3 = paper.assumption(
    "ass3", "Gradient divergence from the global gradient at most delta^2", where="Assumption 3",
    words="||grad F_n(x) - grad f(x)||^2 <= delta^2 for all x and n.",
)  # fmt: skip
ass4 = paper.assumption(
    "ass4", "Participation independent over rounds and clients, Bernoulli(p_n)", where="Assumption 4",
    words="Client n participates in each round with probability p_n, independently over rounds and clients and of "
    "the gradient noise.",
)  # fmt: skip

alg1 = paper.claim(
    "alg1", "Weighted FedAvg round with weights from past participation only",
    kind="algorithm", where="Algorithm 1",
    words="Participating clients run I local steps from x_t; the server adds (eta/N) times the weighted sum of their "
    "updates; the weight of round t may depend on participation before round t only.",
    formulas={"multiplier": global_lr / N},
)  # fmt: skip

algB21 = paper.claim(
    "algB21", "Equivalent form in which every client computes every round",
    kind="algorithm", where="Algorithm B.2.1",
    words="If every client computes every round and the update of client n is multiplied by its participation "
    "indicator, the iterates are those of Algorithm 1.",
    formulas={"multiplier": participated * weight},
    uses=("fedau.alg1",),
)  # fmt: skip

# ---- section 2: objective inconsistency ------------------------------------------------------------------

thm1 = paper.claim(
    "thm1", "Constant weights minimise the p-weighted objective h (informal)",
    kind="theorem", where="Theorem 1",
    words="With Bernoulli participation and constant weights w_n, Algorithm 1 minimises "
    "h(x) = (1/P) sum_n w_n p_n F_n(x), P = sum_n w_n p_n.",
    latex=r"h(\mathbf{x}) := \frac1P \sum_{n=1}^N \omega_n p_n F_n(\mathbf{x})",
    assumes=(ass1, ass2, ass3, ass4),
    formulas={"coefficient": weight * p / total_weight},
    uses=("fedau.thmB41",),
)  # fmt: skip

thmB41 = paper.claim(
    "thmB41", "Formal Theorem 1: average squared gradient of h vanishes",
    kind="theorem", where="Theorem B.4.1; (B.4.4)",
    words="With step sizes of order 1/sqrt(T) the average of E||grad h(x_t)||^2 falls below any epsilon^2. Here "
    "eta stands for eta P/N, Q for (1/N) sum p_n (w_n N/P)^2, and the initial gap is h(x_0) - h*.",
    assumes=(ass1, ass2, ass3, ass4),
    conditions={
        "local step": local_lr <= 1 / (4 * 15 ** Rational(1, 2) * L * I),
        "product of steps": local_lr * global_lr <= 1 / (4 * L * I),
        "large T": 15 * L**2 * I**2 * local_lr**2 + 27 * local_lr * global_lr * L * I * weight_square / (8 * N)
        <= Rational(1, 8),
    },
    bound=Bound(
        "(1/T) sum over t < T of E||grad h(x_t)||^2",
        8 * initial_gap / (local_lr * global_lr * I * T)
        + 20 * local_lr**2 * L**2 * I * (sigma**2 + 24 * I * delta**2)
        + 8 * local_lr * global_lr * L / N * (17 * sigma**2 / 16 + 27 * I * delta**2 / 2) * weight_square,
        order="eventually at most epsilon^2",
        unit=GRADIENT**2,
    ),
    uses=("fedau.ass1", "fedau.ass2", "fedau.ass3", "fedau.ass4"),
)  # fmt: skip

# ---- section 3: the estimator ----------------------------------------------------------------------------

prob1 = paper.claim(
    "prob1", "Choose weights close to the inverse average participation rate",
    kind="definition", where="Problem 1",
    words="Choose weights whose long-term average is close to T divided by the number of participations.",
    unchecked="Informal goal; undefined for a client that never participates",
)  # fmt: skip

sec3_interval = paper.claim(
    "sec3.interval", "Rounds over participations equals the average participation interval",
    kind="remark", where="section 3, Technical Challenge",
    words="T divided by the number of participating rounds equals the average interval between adjacent "
    "participating rounds, the first interval starting right before round 0.",
    formulas={"average interval": T / participations},
)  # fmt: skip

alg2 = paper.claim(
    "alg2", "Weight as running mean of cut-off participation intervals",
    kind="algorithm", where="Algorithm 2",
    words="The weight of round t is the mean of the M completed intervals before t, an interval ending at a "
    "participation or at length K; it is 1 while there is none. The completed intervals partition the time before "
    "the open one, so the weight is (t - S)/M, and it lies between 1 and min(K, max(t, 1)).",
    formulas={"weight": (t - open_interval) / completed, "largest": Min(K, Max(t, 1)), "fewest": floor(t / K)},
)  # fmt: skip

# ---- Appendix B.6: the law of one interval ---------------------------------------------------------------

mean_interval = (1 - miss**K) / p
lemB61 = paper.claim(
    "lemB61", "Mean and variance of the K-cutoff geometric law",
    kind="lemma", where="Lemma B.6.1; (B.6.1), (B.6.2)",
    words="Intervals cut off at K follow the K-cutoff geometric law, a probability distribution with this mean and "
    "variance; the variance is at most (1-p)/p^2.",
    assumes=(ass4,),
    formulas={
        "probability of k < K": p * miss ** (Symbol("k", integer=True, positive=True) - 1),
        "probability of K": miss ** (K - 1),
        "mean": 1 / p - miss**K / p,
        "variance": miss / p**2 - (2 * K - 1) * miss**K / p - miss ** (2 * K) / p**2,
        "largest variance": miss / p**2,
    },
)  # fmt: skip

eqB64 = paper.claim(
    "eqB64_as_printed", "Last lines of (B.6.4) in our copy",
    kind="equation", where="(B.6.4)",
    words="E[S(S-1)] in the chain that proves the variance.",
    unchecked="Our copy of the text is garbled in these lines; (B.6.5) uses the clean form",
    repaired_by="fedau.lemB61",
)  # fmt: skip

# ---- the law of the weight (ours) ------------------------------------------------------------------------

law = paper.claim(
    "law", "Joint law of completed intervals and open interval under Bernoulli participation",
    kind="law", where="ours", origin="ours",
    words="P(M = m, S = s) is the probability that m intervals end exactly at t - s, times (1-p)^s.",
    assumes=(ass4,),
    formulas={"joint": first_passage * miss**open_interval},
    uses=("fedau.alg2", "fedau.lemB61"),
)  # fmt: skip

law_mean = paper.claim(
    "law.mean", "Exact mean of the FedAU weight in every round",
    kind="law", where="ours", origin="ours",
    words="E[w_t] = (1 - (1-p)^K)/p for t >= K, with no inspection bias; before that it is "
    "(1-p)^t + (1 - (1-p)^t)/p - t (1-p)^t.",
    assumes=(ass4,),
    formulas={"late": mean_interval, "early": miss**t + (1 - miss**t) / p - t * miss**t},
    uses=("fedau.law", "fedau.lemB61"),
)  # fmt: skip

law_var = paper.claim(
    "law.var", "Exact mean squared weight error for t >= 2K",
    kind="law", where="ours", origin="ours",
    words="For t >= 2K, E[(p w_t - 1)^2] = (1-p)^(2K) + (p^2/2) E[(X_1 - X_2)^2 / M_t], with X_1, X_2 the first two "
    "intervals; by exchangeability of the intervals given their number.",
    assumes=(ass4,),
    formulas={"late": miss ** (2 * K) + p**2 / 2 * squared_difference},
    uses=("fedau.law", "fedau.lemB61"),
)  # fmt: skip

eqB68a = paper.claim(
    "eqB68a", "(B.6.8)(a): mean weight equals mean interval",
    kind="equation", where="(B.6.8), step (a)",
    words="In every round that has at least one completed interval, the mean of w_t is (1 - (1-p)^K)/p.",
    assumes=(ass4,),
    formulas={"mean": mean_interval},
    uses=("fedau.lemB61",),
    repaired_by="fedau.law.mean",
)  # fmt: skip

_eqB68b = p**2 * interval_variance / Max(floor(t / K), 1) + miss ** (2 * K)
eqB68b = paper.claim(
    "eqB68b_conditional", "(B.6.8)(b): variance over the random number of completed intervals",
    kind="equation", where="(B.6.8), step (b)",
    words="Given at least one completed interval, E[(p w_t - 1)^2] is at most p^2 Var[S] / max(floor(t/K), 1) plus "
    "(1-p)^(2K).",
    assumes=(ass4,),
    bound=Bound("E[(p w_t - 1)^2 | M_t >= 1]", _eqB68b),
    uses=("fedau.lemB61",),
    repaired_by="fedau.eqB68b_unconditional",
)  # fmt: skip

eqB68b_unconditional = paper.claim(
    "eqB68b_unconditional", "(B.6.8)(b) read unconditionally",
    kind="equation", where="(B.6.8), step (b), as an expectation over all paths", origin="ours",
    words="E[(p w_t - 1)^2; M_t >= 1] is at most p^2 Var[S] / max(floor(t/K), 1) plus (1-p)^(2K).",
    assumes=(ass4,),
    bound=Bound("E[(p w_t - 1)^2; M_t >= 1]", _eqB68b),
    uses=("fedau.law.var",),
)  # fmt: skip

# ---- Theorem 3 -------------------------------------------------------------------------------------------

thm3 = paper.claim(
    "thm3", "Weight error is O(K log T / T + (1 - p)^(2K))",
    kind="theorem", where="Theorem 3; (B.6.9)",
    words="For the weights of Algorithm 2 and T >= 2 the average weight error of a client is at most "
    "(3K + 2K log T)/T + (1-p)^(2K); over clients, average the right-hand sides.",
    assumes=(ass4,),
    conditions={"rounds": T >= 2},
    bound=Bound(
        WEIGHT_ERROR, (3 * K + 2 * K * log(T)) / T + miss ** (2 * K), order="O(K log T / T + (1/N) sum (1-p_n)^(2K))"
    ),
    formulas={"first line": (K + (T - 1) * miss ** (2 * K) + 2 * K * miss * (polygamma(0, T) + EulerGamma)) / T},
    uses=("fedau.alg2", "fedau.lemB61", "fedau.thm3.repaired"),
)  # fmt: skip

thm3_repaired = paper.claim(
    "thm3.repaired", "Per-round weight error bound (R) for all t >= 1",
    kind="theorem", where="ours, in place of (B.6.8)", origin="ours",
    words="For all t >= 1, E[(p w_t - 1)^2] <= (1-p)^(2+t) 1{t < K} + p^2 Var[S]/max(floor(t/K), 1) + (1-p)^(2K).",
    assumes=(ass4,),
    bound=Bound("E[(p w_t - 1)^2] in round t < K", miss ** (2 + t) + _eqB68b),
    formulas={"late": _eqB68b},
    uses=("fedau.law.var", "fedau.lemB61"),
)  # fmt: skip

thm3_improved = paper.claim(
    "thm3.improved", "Weight error is O((K + log(T)/p)/T + (1 - p)^(2K))",
    kind="theorem", where="ours", origin="ours",
    words="The factor K before log T is not needed: the average weight error is at most "
    "[(1-p)^2 min(K, 1/p) + 2K p^2 Var[S] + p Var[S] (1 + log T)]/T + (1-p)^(2K).",
    assumes=(ass4,),
    conditions={"rounds": T >= 2},
    bound=Bound(
        WEIGHT_ERROR,
        (miss**2 * Min(K, 1 / p) + 2 * K * p**2 * interval_variance + p * interval_variance * (1 + log(T))) / T
        + miss ** (2 * K),
        order="O((K + log(T)/p)/T + (1-p)^(2K))",
    ),
    uses=("fedau.thm3.repaired", "fedau.law.var"),
)  # fmt: skip

E8 = paper.claim(
    "E8", "First term of the weight-error bound grows linearly in K",
    kind="remark", where="section 4, after Theorem 3",
    words="The first term of the bound of Theorem 3 increases linearly in K. (The exact variance part it bounds "
    "stays below (1-p)/(p t) in the long run, whatever K.)",
    formulas={"first term": (3 * K + 2 * K * log(T)) / T},
    uses=("fedau.thm3", "fedau.law.var"),
)  # fmt: skip

# ---- Appendix B.7: the choice of K -----------------------------------------------------------------------

_log_c = 2 * log(1 / (1 - min_rate))
corollary4_cutoff = ceiling(log(T) / _log_c)

lemB71 = paper.claim(
    "lemB71", "Weight error with K = ceil(log_c T)",
    kind="lemma", where="Lemma B.7.1",
    words="With K = ceil(log_c T), c = 1/(1 - p_min)^2 and R = 1/log c the average weight error is O(R log^2 T / T).",
    assumes=(ass4,),
    conditions={"rounds": T >= 2},
    bound=Bound(
        WEIGHT_ERROR, (3 + 2 * log(T)) * (log(T) / _log_c + 1) / T + 1 / T, order="O(R log^2 T / T)"
    ),
    formulas={"cutoff": corollary4_cutoff, "published order": log(T) ** 2 / (_log_c * T)},
    uses=("fedau.thm3",),
)  # fmt: skip

lemB71_improved = paper.claim(
    "lemB71.improved", "Weight error O(log T / (p_min T)) with K = ceil(log_c T)",
    kind="lemma", where="ours", origin="ours",
    words="With the same K the average weight error is at most (2 log T + 5)/(p_min T): a factor log T less.",
    assumes=(ass4,),
    conditions={"rounds": T >= 2, "rates": min_rate < 1},
    bound=Bound(WEIGHT_ERROR, (2 * log(T) + 5) / (min_rate * T), order="O(log T / (p_min T))"),
    formulas={"cutoff": corollary4_cutoff},
    uses=("fedau.thm3.improved",),
)  # fmt: skip

E16 = paper.claim(
    "E16", "(B.7.2) bounds 1/T by squared logarithm of base two",
    kind="equation", where="(B.7.2)",
    words="1/T <= log^2(T)/T for T >= 2, with the logarithm of the lemma that (B.7.2) proves.",
    conditions={"rounds": T >= 2},
    formulas={"printed step": log(T, 2) ** 2, "order of the lemma": log(T) ** 2},
    uses=("fedau.lemB71",),
)  # fmt: skip

E7 = paper.claim(
    "E7", "FedAU converges to an optimum of the original objective",
    kind="remark", where="section 1, contribution 3; Corollary 4's choice of K",
    words="With K = ceil(log_c T), c = 1/(1 - p_min)^2, the bias (1-p_n)^(2K) of every client's weight is at most "
    "1/T, so that the weight error vanishes although the rates are unknown.",
    assumes=(ass4,),
    conditions={"rounds": T >= 2, "rates": min_rate < 1},
    formulas={"cutoff": corollary4_cutoff, "largest bias": 1 / T},
    uses=("fedau.cor4", "fedau.thm3"),
)  # fmt: skip

cor4 = paper.claim(
    "cor4", "Convergence bound of the full FedAU algorithm",
    kind="corollary", where="Corollary 4",
    words="With K = ceil(log_c T) and step sizes of order 1/sqrt(T), FedAU reaches a stationary point of f at the "
    "rate of FedAvg with known rates, plus a weight-error term of order R log^2 T / T.",
    assumes=(ass1, ass2, ass3, ass4),
    unchecked="Its bound needs Theorem 2, which is not entered yet; its choice of K is fedau.E7",
    uses=("fedau.lemB71",),
)  # fmt: skip

# ---- long-run limits (ours) ------------------------------------------------------------------------------

longrun = paper.claim(
    "longrun", "Long-run scale p w equals 1 / E[ceil(X/K)]",
    kind="law", where="ours", origin="ours",
    words="With X the time between participations, p w_t tends to 1/E[ceil(X/K)]: 1 - (1-p)^K for Bernoulli, "
    "1/(1 + b(1-a)^(K-1)/(1-(1-a)^K)) for the two-state chain (a on, b off), d/(d-1+ceil((101-d)/K)) for d active "
    "rounds in a cycle of 100.",
    formulas={
        "bernoulli": 1 - miss**K,
        "markov": 1 / (1 + leave * (1 - enter) ** (K - 1) / (1 - (1 - enter) ** K)),
        "cyclic": active / (active - 1 + ceiling((Integer(101) - active) / K)),
    },
    uses=("fedau.alg2", "fedau.C6.markov", "fedau.C6.cyclic"),
)  # fmt: skip

# ---- stated numbers and Appendix C.6 ---------------------------------------------------------------------

facts = paper.claim(
    "facts", "Interval example: 14, 200, 43.9, 58.1, 50",
    kind="number", where="section 5, Results",
    words="Over T = 10,000 rounds at p = 0.02 the number of participations has mean 200 and standard deviation 14; "
    "two standard deviations up and down give average intervals 43.9 and 58.1 around 1/p = 50.",
    formulas={
        "standard deviation": Integer(14), "mean": Integer(200), "shortest": Rational(439, 10),
        "longest": Rational(581, 10), "mean interval": Integer(50),
    },
)  # fmt: skip

C6 = paper.claim(
    "C6", "Label-correlated participation rates with floor .02",
    kind="definition", where="Appendix C.6.2, (C.6.1)",
    words="p_n = <kappa_n, q>/lambda with kappa_n ~ Dir(alpha_d), q ~ Dir(alpha_p) drawn once, lambda = 1/(C mu); "
    "values below 0.02 are raised to it.",
    unchecked="Definition",
)  # fmt: skip

C6_mean = paper.claim(
    "C6.mean", "Mean participation rate equals .1",
    kind="number", where="Appendix C.6.1 and C.6.2",
    words="The normalisation lambda = 1/(C mu) makes the mean participation rate mu = 0.1.",
    formulas={"mean": Rational(1, 10)},
    uses=("fedau.C6",),
)  # fmt: skip

C6_markov = paper.claim(
    "C6.markov", "Two-state Markov participation with stationary rate p",
    kind="definition", where="Appendix C.6.1",
    words="A client off turns on with probability a, a client on turns off with probability b = a(1-p)/p; the chain "
    "keeps rate p in every round, with lag-one correlation 1 - a - b.",
    formulas={"leave": enter * miss / p, "lag-one correlation": 1 - enter - leave},
    uses=("fedau.C6",),
)  # fmt: skip

C6_markov05 = paper.claim(
    "C6.markov05", "Maximum transition probability set to .05",
    kind="definition", where="Appendix C.6.1",
    words="The probability of turning on is at most 0.05.",
    unchecked="Setting: a maximum, so the smaller a = p/(1-p) below p = 1/21 is consistent with it",
    uses=("fedau.C6.markov",),
)  # fmt: skip

C6_cyclic = paper.claim(
    "C6.cyclic", "Cyclic participation, period 100, random offset",
    kind="definition", where="Appendix C.6.1",
    words="Each client is on for a run of consecutive rounds in every cycle of 100, with a random initial offset.",
    unchecked="Definition",
    uses=("fedau.C6",),
)  # fmt: skip
