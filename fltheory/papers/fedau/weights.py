"""How well the weights are estimated: section 3, Theorem 3, Appendices B.6 and B.7, and the exact law of the weight."""

from __future__ import annotations

from sympy import EulerGamma, Symbol, ceiling, floor, log, polygamma

from fltheory.ledger import Bound
from fltheory.papers.fedau.setting import (
    WEIGHT_ERROR,
    K,
    T,
    ass4,
    completed,
    first_passage,
    interval_variance,
    miss,
    open_interval,
    p,
    paper,
    participations,
    squared_difference,
    t,
)
from fltheory.symbols import Max, Min, min_rate

# ---- section 3: the estimator ----------------------------------------------------------------------------

prob1 = paper.claim(
    "prob1", "Choose weights close to the inverse average participation rate",
    kind="definition", where="Problem 1",
    words="Choose weights whose long-term average is close to T divided by the number of participations.",
    latex=r"\frac1T \sum_{t=0}^{T-1} \omega_t^n \approx \frac{T}{\sum_{t=0}^{T-1} \mathbb{I}_t^n}",
    mentions=(T,),
    unchecked="Informal goal; undefined for a client that never participates",
)  # fmt: skip

sec3_interval = paper.claim(
    "sec3.interval", "Rounds over participations equals the average participation interval",
    kind="remark", where="section 3, Technical Challenge",
    words="T divided by the number of participating rounds equals the average interval between adjacent "
    "participating rounds, the first interval starting right before round 0.",
    formulas={"average interval": T / participations},
    gap="A motivating remark; exact when the last round is a participating one, otherwise off by the unfinished last "
    "interval.",
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
    uses=("fedau.alg2", "fedau.ass4", "fedau.lemB61"),
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
    gap="The argument gives the mean of one interval; the mean over a random number of them, all completed before t, "
    "is the same from t = K on and smaller before. Theorem 3 holds all the same (fedau.thm3.repaired).",
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
    gap="The number of completed intervals is random and depends on their lengths, so the variance of their mean "
    "needs an argument; convexity and exchangeability supply it for the expectation over all paths.",
)  # fmt: skip

eqB68b_unconditional = paper.claim(
    "eqB68b_unconditional", "(B.6.8)(b) read unconditionally",
    kind="equation", where="(B.6.8), step (b), as an expectation over all paths", origin="ours",
    words="E[(p w_t - 1)^2; M_t >= 1] is at most p^2 Var[S] / max(floor(t/K), 1) plus (1-p)^(2K).",
    assumes=(ass4,),
    bound=Bound("E[(p w_t - 1)^2; M_t >= 1]", _eqB68b),
    uses=("fedau.law.var",),
)  # fmt: skip

eqB68c = paper.claim(
    "eqB68c", "(B.6.8)(c): the error of a round that has a completed interval",
    kind="equation", where="(B.6.8), step (c)",
    words="Given at least one completed interval before t >= 1, E[(p w_t - 1)^2] is at most 2 K (1-p)/t + (1-p)^(2K); "
    "this is what (B.6.9) sums.",
    assumes=(ass4,),
    conditions={"rounds so far": t >= 1},
    bound=Bound("E[(p w_t - 1)^2 | M_t >= 1]", 2 * K * miss / t + miss ** (2 * K)),
    uses=("fedau.eqB68b_unconditional", "fedau.lemB61"),
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
        WEIGHT_ERROR, (3 * K + 2 * K * log(T)) / T + miss ** (2 * K), order="O(K log T / T + (1/N) sum (1-p_n)^(2 K))"
    ),
    formulas={"first line": (K + (T - 1) * miss ** (2 * K) + 2 * K * miss * (polygamma(0, T) + EulerGamma)) / T},
    uses=("fedau.alg2", "fedau.ass4", "fedau.lemB61", "fedau.thm3.repaired"),
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
        order="O((K + log(T)/p)/T + (1-p)^(2 K))",
    ),
    uses=("fedau.thm3.repaired", "fedau.law.var"),
)  # fmt: skip

E8 = paper.claim(
    "E8", "First term of the weight-error bound grows linearly in K",
    kind="remark", where="section 4, after Theorem 3",
    words="The first term of the bound of Theorem 3 increases linearly in K.",
    formulas={"first term": (3 * K + 2 * K * log(T)) / T},
    uses=("fedau.thm3",),
)  # fmt: skip

# ---- Appendix B.7: the choice of K -----------------------------------------------------------------------

log_c = 2 * log(1 / (1 - min_rate))
corollary4_cutoff = ceiling(log(T) / log_c)

lemB71 = paper.claim(
    "lemB71", "Weight error with K = ceil(log_c T)",
    kind="lemma", where="Lemma B.7.1",
    words="With K = ceil(log_c T), c = 1/(1 - p_min)^2 and R = 1/log c the average weight error is O(R log^2 T / T).",
    assumes=(ass4,),
    conditions={"rounds": T >= 2},
    bound=Bound(
        WEIGHT_ERROR, (3 + 2 * log(T)) * (log(T) / log_c + 1) / T + 1 / T, order="O(R log^2 T / T)"
    ),
    formulas={"cutoff": corollary4_cutoff, "published order": log(T) ** 2 / (log_c * T)},
    uses=("fedau.thm3",),
    gap="For min p_n = 1 the formula gives K = 0. Near it the terms that the order absorbs do not shrink with R, so "
    "the constant of the proof is uniform only while min p_n stays away from 1; the error itself is tiny there.",
    mentions=(p,),
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
    mentions=(p,),
)  # fmt: skip

E16 = paper.claim(
    "E16", "(B.7.2) bounds 1/T by squared logarithm of base two",
    kind="equation", where="(B.7.2)",
    words="1/T <= log_2^2(T)/T for T >= 2, which is of the order log^2(T)/T of the lemma that (B.7.2) proves.",
    conditions={"rounds": T >= 2},
    formulas={"printed step": log(T, 2) ** 2, "order of the lemma": log(T) ** 2},
    uses=("fedau.lemB71",),
    gap="The step is written with the logarithm of base two, the lemma with the natural one: O(.) hides the factor.",
)  # fmt: skip

E7 = paper.claim(
    "E7", "FedAU converges to an optimum of the original objective",
    kind="remark", where="section 1, contribution 3; Corollary 4's choice of K",
    words="With K = ceil(log_c T), c = 1/(1 - p_min)^2, the bias (1-p_n)^(2K) of every client's weight is at most "
    "1/T, so that the weight error vanishes although the rates are unknown.",
    assumes=(ass4,),
    conditions={"rounds": T >= 2, "rates": min_rate < 1},
    formulas={"cutoff": corollary4_cutoff, "largest bias": 1 / T},
    uses=("fedau.cor4", "fedau.longrun"),
    gap="The cutoff is computed from min p_n; a known lower bound on it is enough, with any fixed cutoff a bias stays.",
)  # fmt: skip
