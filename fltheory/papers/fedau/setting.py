"""What FedAU's statements share: the paper, its letters, its objective, algorithm and assumptions (sections 1 to 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sympy import Rational, Symbol

from fltheory.assumptions import Holding, bounded, bounded_dissimilarity, bounded_noise, smooth
from fltheory.errors import InputError
from fltheory.ledger import Paper
from fltheory.participation import (
    Bernoulli,
    Cyclic,
    Markov,
    Periodic,
    Permutation,
    Recorded,
    UniformSubset,
    WeightedDraws,
)
from fltheory.symbols import (
    cutoff,
    global_lr,
    heterogeneity,
    local_steps,
    n_clients,
    noise_std,
    quantity,
    rate,
    round_index,
    rounds,
    smoothness,
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
        "enter": "a", "leave": "b", "active": "d", "cohort_size": "S",
        "reweighted_heterogeneity": "\\tilde{\\delta}", "divergence_at_iterate": "\\tilde{\\delta}(\\mathbf{x}_t)",
        "reweighted_gradient": "\\|\\nabla\\tilde{f}(\\mathbf{x}_t)\\|", "objective_gradient_bound": "G",
        "weight_mismatch": "N\\sum_n (p_n\\omega_n/N - \\varphi_n)^2",
        "mean_weight_error": "W", "largest_weight_error": "\\max_t \\frac1N\\sum_n (p_n\\omega_t^n - 1)^2",
        "client_curvature": "a_n", "client_centre": "b_n", "limit_point": "\\bar{x}", "skew": "s", "mark": "z",
    },
    meanings={
        "active": "active rounds of a cycle", "client_centre": "minimiser of the client's objective",
        "client_curvature": "second derivative of the client's objective", "completed": "completed intervals so far",
        "data_weight": "weight of the client's data", "enter": "probability of turning on",
        "first": "mean of the norms, or the norm of the first vector",
        "first_passage": "probability that so many intervals end exactly there", "k": "length of an interval",
        "leave": "probability of turning off", "limit_point": "the limit of the mean model",
        "mark": "variable of the integral", "open_interval": "rounds of the open interval",
        "participated": "1 if the client takes part in the round, else 0",
        "participations": "number of rounds in which the client took part",
        "second": "mean of the squared norms, or the norm of the second vector",
        "skew": "mean pull of unequal curvatures at the minimum of h",
        "split": "factor that splits a product or a square",
        "squared_difference": "mean of (X_1 - X_2)^2 / M_t, X_1 and X_2 the first two intervals",
        "total_data_weight": "sum of the data weights of all clients",
        "total_weight": "sum over clients of weight times rate",
        "weight": "constant aggregation weight of the client",
    },
)  # fmt: skip

# Letters that only the statements of this paper need.
reweighted_heterogeneity = quantity(
    "reweighted_heterogeneity", GRADIENT, ">= 0", "largest distance of a local gradient from that of a reweighted mean"
)
divergence_at_iterate = quantity(
    "divergence_at_iterate", GRADIENT, ">= 0", "the same distance at the current model alone"
)
reweighted_gradient = quantity(
    "reweighted_gradient", GRADIENT, ">= 0", "norm of the gradient of the reweighted objective at the current model"
)
objective_gradient_bound = quantity(
    "objective_gradient_bound", GRADIENT, ">= 0", "bound on the norm of the global gradient"
)
weight_mismatch = quantity(
    "weight_mismatch", ONE, ">= 0", "n_clients times sum over clients of (rate weight / n_clients - share)^2"
)
mean_weight_error = quantity(
    "mean_weight_error", ONE, ">= 0", "average over rounds and clients of E[(rate weight - 1)^2]"
)
largest_weight_error = quantity(
    "largest_weight_error", ONE, ">= 0", "largest over rounds of (1/n_clients) sum (rate weight - 1)^2"
)
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


# ---- what can be asked of a problem or a process ---------------------------------------------------------


def independent_rounds(process: Any) -> Holding:
    """Bernoulli participation, independent over rounds and clients; None for a process that does not tell.

    Which a class that is derived from a family does not, for it may draw otherwise. A log that ends may show coins, but
    one that goes on, as before or as at its end, has none.
    """
    if not hasattr(process, "rate"):
        raise InputError("process", process, "a process of fltheory.participation")
    rates, family = np.asarray(process.rate, dtype=np.float64), type(process)
    holds: bool | None = None
    if family is Bernoulli or bool((rates == 1).all()):
        holds = True
    elif family is Markov:
        holds = bool(np.allclose(process.enter + process.leave, 1, rtol=0, atol=1e-12))
    elif family is Recorded:
        holds = None if process.end == "raise" else False
    elif family in (Cyclic, Periodic, Permutation, UniformSubset, WeightedDraws):
        holds = False
    return Holding(holds, {"min_rate": float(rates.min())} if holds else {})


_bounded_gradient = bounded(objective_gradient_bound="gradient_bound")


def bounded_gradient_or_good_weights(problem: Any) -> Holding:
    """Option 2 of Assumption 5; without a bounded global gradient the weights decide, which a problem cannot tell."""
    found = _bounded_gradient(problem)
    return found if found.holds else Holding(None, {})


# ---- sections 1 to 4 -------------------------------------------------------------------------------------

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
    latex=r"\|\nabla F_n(\mathbf{x}) - \nabla F_n(\mathbf{y})\| \le L \|\mathbf{x} - \mathbf{y}\|",
    mentions=(L,),
    asks=smooth,
)  # fmt: skip
ass2 = paper.assumption(
    "ass2", "Stochastic gradients unbiased, variance at most sigma^2, independent noise", where="Assumption 2",
    words="Stochastic gradients are unbiased with variance at most sigma^2; their noise is independent over rounds, "
    "clients and local steps.",
    latex=r"\mathbb{E}[\mathbf{g}_n(\mathbf{x})] = \nabla F_n(\mathbf{x}), \quad "
    r"\mathbb{E}\|\mathbf{g}_n(\mathbf{x}) - \nabla F_n(\mathbf{x})\|^2 \le \sigma^2",
    mentions=(sigma,),
    asks=bounded_noise,
)  # fmt: skip
ass3 = paper.assumption(
    "ass3", "Gradient divergence from the global gradient at most delta^2", where="Assumption 3",
    words="||grad F_n(x) - grad f(x)||^2 <= delta^2 for all x and n.",
    latex=r"\|\nabla F_n(\mathbf{x}) - \nabla f(\mathbf{x})\|^2 \le \delta^2",
    mentions=(delta,),
    asks=bounded_dissimilarity,
)  # fmt: skip
ass4 = paper.assumption(
    "ass4", "Participation independent over rounds and clients, Bernoulli(p_n)", where="Assumption 4",
    words="Client n participates in each round with probability p_n, independently over rounds and clients and of "
    "the gradient noise.",
    latex=r"\mathbb{I}_t^n \sim \mathrm{Bernoulli}(p_n) \quad \text{independent over } t \text{ and } n",
    mentions=(p,),
    asks=independent_rounds,
)  # fmt: skip
ass5 = paper.assumption(
    "ass5", "Nearly optimal weights (Option 1) or bounded global gradient (Option 2)", where="Assumption 5",
    words="Either (1/N) sum_n (p_n w_t^n - 1)^2 <= 1/81 in every round, and then Psi_G = 0; or ||grad f(x)|| <= G "
    "everywhere, and then Psi_G = G^2.",
    latex=r"\frac1N \sum_n (p_n \omega_t^n - 1)^2 \le \frac{1}{81}, \ \Psi_G = 0 \quad \text{or} \quad \|\nabla "
    r"f(\mathbf{x})\| \le G, \ \Psi_G = G^2",
    mentions=(N, objective_gradient_bound),
    asks=bounded_gradient_or_good_weights,
)  # fmt: skip

ass5_sufficient = paper.claim(
    "ass5.sufficient", "Weights within a ninth of the optimal ones satisfy Option 1",
    kind="remark", where="section 4, after Assumption 5",
    words="If 8/(9 p_n) <= w_t^n <= 10/(9 p_n) for all clients and rounds, then Option 1 of Assumption 5 holds.",
    formulas={
        "lowest weight": Rational(8, 9) / p, "highest weight": Rational(10, 9) / p, "tolerance": Rational(1, 81),
    },
    uses=("fedau.ass5",),
)  # fmt: skip

alg1 = paper.claim(
    "alg1", "Weighted FedAvg round with weights from past participation only",
    kind="algorithm", where="Algorithm 1",
    words="Participating clients run I local steps from x_t; the server adds (eta/N) times the weighted sum of their "
    "updates. (That weights look at earlier rounds only is the business of the weight rule: Algorithm 2.)",
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
