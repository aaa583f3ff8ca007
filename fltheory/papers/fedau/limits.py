"""Where FedAU and its baselines settle in the long run, exactly (ours): limits, bias and variance on quadratics."""

from __future__ import annotations

from sympy import Integer, Symbol, ceiling

from fltheory.papers.fedau.setting import I, K, N, active, ass4, enter, leave, miss, p, paper, sigma, weight
from fltheory.symbols import global_lr, local_lr

client_curvature = Symbol("client_curvature", positive=True)
client_centre = Symbol("client_centre", real=True)
limit_point = Symbol("limit_point", real=True)
skew = Symbol("skew", real=True)
mark = Symbol("mark", real=True)

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

_stay = 1 - local_lr * client_curvature
_step = global_lr / N * weight

law_limit = paper.claim(
    "law.limit", "Limit of constant-weight FedAvg on scalar quadratics",
    kind="law", where="ours", origin="ours",
    words="On F_n = a_n (x - b_n)^2 / 2 with I local gradient steps and constant weights the mean of x_t tends to "
    "sum pull_n b_n / sum pull_n; with one step, or as gamma tends to 0, that is the minimum of h.",
    assumes=(ass4,),
    formulas={"pull": p * weight * (1 - _stay**I)},
    uses=("fedau.thm1",),
)  # fmt: skip

law_fixed_K = paper.claim(
    "law.fixed_K", "Fixed-cutoff FedAU minimises weights proportional to 1 - (1 - p)^K",
    kind="law", where="ours", origin="ours",
    words="With a fixed cutoff the weight tends to (1 - (1-p)^K)/p, so that in the limit client n counts in proportion "
    "to 1 - (1 - p_n)^K, not equally.",
    assumes=(ass4,),
    formulas={"share": 1 - miss**K},
    uses=("fedau.longrun", "fedau.thm1"),
)  # fmt: skip

law_participating = paper.claim(
    "law.participating", "Average-participating FedAvg limit has Poisson-binomial weights",
    kind="law", where="ours", origin="ours",
    words="Averaging over the participants, client n counts p_n E[1/(1 + number of other participants)]: p_n times "
    "the integral over z from 0 to 1 of the product over the others of (1 - p_m + p_m z). It is not proportional to "
    "p_n; a round without participants changes nothing.",
    assumes=(ass4,),
    formulas={"factor": miss + p * mark},
)  # fmt: skip

law_bias = paper.claim(
    "law.bias", "First-order bias of fixed gamma with several local steps",
    kind="law", where="ours", origin="ours",
    words="With share phi_n = p_n w_n the limit of law.limit is x_h - (gamma (I - 1)/2) s + O(gamma^2), x_h the "
    "minimum of h and s = sum phi a^2 (b - x_h) / sum phi a; no bias with one step or equal curvatures.",
    assumes=(ass4,),
    formulas={"bias": -local_lr * (I - 1) / 2 * skew},
    uses=("fedau.law.limit",),
)  # fmt: skip

law_stationary_variance = paper.claim(
    "law.stationary_variance", "Stationary variance under independent Bernoulli participation",
    kind="law", where="ours", origin="ours",
    words="In the setting of law.limit the variance of x_t settles at (sum participation + sum noise) / "
    "(1 - (1 - sum mean step)^2 - sum step variance), sums over clients.",
    assumes=(ass4,),
    formulas={
        "participation": p * miss * (_step * (1 - _stay**I) * (client_centre - limit_point)) ** 2,
        "noise": p * (_step * local_lr * sigma) ** 2 * (1 - _stay ** (2 * I)) / (1 - _stay**2),
        "mean step": p * _step * (1 - _stay**I),
        "step variance": p * miss * (_step * (1 - _stay**I)) ** 2,
    },
    uses=("fedau.law.limit",),
)  # fmt: skip

E10 = paper.claim(
    "E10", "Theorem 1 with w = 1 describes average-participating FedAvg",
    kind="remark", where="section 2, after Theorem 1",
    words="Standard FedAvg weights client n in proportion to p_n, as Theorem 1 does with w = 1.",
    assumes=(ass4,),
    formulas={"share": p},
    uses=("fedau.thm1",),
    repaired_by="fedau.law.participating",
    gap="Exact for the average over all clients, absent ones counting zero; the average over the participants divides "
    "by their number, which makes slightly different implicit weights.",
)  # fmt: skip
