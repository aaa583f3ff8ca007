"""Sections 1 to 3 of amplified FedAvg: symbols, the algorithm and the assumptions."""

from __future__ import annotations

from sympy import Rational, Symbol

from fltheory.assumptions import bounded, bounded_dissimilarity, bounded_noise, smooth
from fltheory.ledger import Bound, Paper
from fltheory.symbols import (
    cohort_size,
    heterogeneity,
    initial_gap,
    interval,
    local_lr,
    local_steps,
    n_clients,
    noise_std,
    quantity,
    rounds,
    smoothness,
)
from fltheory.units import GRADIENT, ONE, PARAM

paper = Paper(
    "amplified",
    "A Unified Analysis of Federated Learning with Arbitrary Client Participation",
    edition="NeurIPS 2022 (main text; the supplement was not read)",
    letters={
        "rounds": "T", "n_clients": "N", "local_steps": "I", "interval": "P", "cohort_size": "S",
        "smoothness": "L", "noise_std": "\\sigma", "heterogeneity": "d", "initial_gap": "\\mathcal{F}",
        "local_lr": "\\gamma", "amplification": "\\eta", "participation_norm": "\\rho",
        "round_divergence": "\\tilde\\beta", "cohort_divergence": "\\tilde\\nu",
        "interval_divergence": "\\tilde\\delta(P)", "allowed_failure": "c", "weight_variance": "v^2",
        "long_run_variance": "\\hat v^2", "averaged_variance": "\\mathrm{Var}(\\overline{q})",
        "absolute_variance": "\\check v^2", "weight_deviation": "\\sum_n (\\overline{q^n} - \\mu)^2",
        "divergence_square_sum": "\\sum_n \\|\\nabla F_n - \\nabla f\\|^2", "gradient_scale": "s",
        "objective_scale": "a", "samples_each": "M", "centre_spread": "\\max_t |b_t - \\bar b|",
        "anchor": "\\mathbf{x}_{t_0}", "accumulated": "\\mathbf{u}", "chance": "p", "stay": "s",
        "enter": "a", "leave": "b", "inverse_size": "\\mathbb{E}[1/|\\mathcal{S}|]", "turns": "r",
    },
    meanings={
        "accumulated": "sum of the weighted updates since the start of the interval",
        "anchor": "the model at the start of the interval", "enter": "probability that an absent client comes back",
        "inverse_size": "mean of 1 over the number of participants, given that there are any",
        "leave": "probability that a present client leaves",
        "stay": "probability that the token stays with its client", "turn": "number of a round within the cycle",
    },
)  # fmt: skip

amplification = quantity("amplification", ONE, "> 0", "factor on the updates that an interval has accumulated")
participation_norm = quantity("participation_norm", ONE, "> 0", "bound on the norm of a round's participation weights")
round_divergence = quantity("round_divergence", GRADIENT, ">= 0", "largest |weighted gradient of a round - grad f|")
cohort_divergence = quantity("cohort_divergence", GRADIENT, ">= 0", "largest spread of gradients within a round")
interval_divergence = quantity("interval_divergence", GRADIENT, ">= 0", "largest |gradient averaged over P - grad f|")
allowed_failure = quantity("allowed_failure", ONE, "probability in (0, 1]", "probability with which a bound may fail")
weight_variance = quantity("weight_variance", ONE, ">= 0", "variance of one participation weight, at most")
long_run_variance = quantity("long_run_variance", ONE, ">= 0", "variance of a weight plus twice all autocovariances")
absolute_variance = quantity("absolute_variance", ONE, ">= 0", "variance plus twice all absolute autocovariances")
averaged_variance = quantity("averaged_variance", ONE, ">= 0", "largest variance of a weight averaged over P rounds")
weight_deviation = quantity("weight_deviation", ONE, ">= 0", "sum over clients of (averaged weight - constant)^2")
divergence_square_sum = quantity("divergence_square_sum", GRADIENT**2, ">= 0", "sum of |grad F_n - grad f|^2 over n")
gradient_scale = quantity("gradient_scale", GRADIENT, "> 0", "a free scale of gradients")
objective_scale = quantity("objective_scale", ONE, "> 0", "factor by which the objective is scaled")
samples_each = quantity("samples_each", ONE, "whole number >= 1", "gradients that each client averages")
centre_spread = quantity("centre_spread", PARAM, ">= 0", "largest distance of a round's minimiser from their average")

anchor, accumulated = Symbol("anchor", real=True), Symbol("accumulated", real=True)

L, sigma, d, I, N = smoothness, noise_std, heterogeneity, local_steps, n_clients
P, T, S, rho, gamma, eta = interval, rounds, cohort_size, participation_norm, local_lr, amplification
beta, nu, delta, c = round_divergence, cohort_divergence, interval_divergence, allowed_failure
gap, scale, v2 = initial_gap, gradient_scale, weight_variance

SMALLEST = "min over t < T of E||grad f(x_t)||^2"
SQUARED = GRADIENT**2
# What Proposition 4.7 is about; that means are equal within an interval stands before Proposition 4.4.
INDEPENDENT = "If the weight vectors of different rounds are independent, with equal mean weights,"
HALF = Rational(1, 2)

ass1 = paper.assumption(
    "ass1", "Local objectives are L-smooth", where="Assumption 1, (2)",
    words="Every local gradient is Lipschitz with constant L.",
    latex=r"\|\nabla F_n(\mathbf{x}) - \nabla F_n(\mathbf{y})\| \le L \|\mathbf{x} - \mathbf{y}\|",
    mentions=(L,),
    asks=smooth,
)  # fmt: skip
ass2 = paper.assumption(
    "ass2", "Stochastic gradients unbiased, variance at most sigma^2", where="Assumption 2, (3)",
    words="A stochastic gradient is unbiased with variance at most sigma^2; its noise is fresh in every local step "
    "and independent over clients.",
    latex=r"\mathbb{E}[\mathbf{g}_n(\mathbf{x})] = \nabla F_n(\mathbf{x}), \quad "
    r"\mathbb{E}\|\mathbf{g}_n(\mathbf{x}) - \nabla F_n(\mathbf{x})\|^2 \le \sigma^2",
    mentions=(sigma,),
    gap="Independence over clients is not printed. It is read into the assumption, as is customary, because the "
    "factor rho^2 before sigma^2 rests on it.",
    asks=bounded_noise,
)  # fmt: skip
ass3 = paper.assumption(
    "ass3", "Gradient divergence from the global gradient at most d^2", where="Assumption 3, (4)",
    words="||grad F_n(x) - grad f(x)||^2 <= d^2 for all x and n.",
    latex=r"\|\nabla F_n(\mathbf{x}) - \nabla f(\mathbf{x})\|^2 \le d^2",
    mentions=(d,),
    asks=bounded_dissimilarity,
)  # fmt: skip
ass3p = paper.assumption(
    "ass3p", "Alternative divergence bounds (5), (6), (7)", where="Assumption 3', (5) to (7)",
    words="At every x: a round's weighted gradient is within beta of grad f in every round (5); within a round the "
    "weighted variance of the gradients is at most nu^2 (6); the weighted gradient averaged over an interval of P "
    "rounds is within delta(P) of grad f (7). The intervals that count start at multiples of P.",
    mentions=(P, beta, nu, delta),
    latex=r"\Big\| \tfrac1P \textstyle\sum_{t=t_0}^{t_0+P-1} \sum_n q_t^n (\nabla F_n(\mathbf{x}) - "
    r"\nabla f(\mathbf{x})) \Big\|^2 \le \tilde\delta^2(P)",
    # A problem decides whether, participation with how much less. The left sides of (5) and (6) add up to the weighted
    # mean of ||grad F_n - grad f||^2 and (7) averages (5), so that each is at most d^2 whatever the weights; and where
    # client n has a weight q at some time, ||grad F_n - grad f||^2 is at most (beta^2 + nu^2) / q.
    asks=bounded(**dict.fromkeys(("round_divergence", "cohort_divergence", "interval_divergence"), "heterogeneity")),
)  # fmt: skip

rho_definition = paper.claim(
    "rho", "Weights sum to one, squares sum to at most rho^2",
    kind="definition", where="section 3",
    words="In every round the participation weights are nonnegative, sum to one, and their squares sum to at most "
    "rho^2; hence 1/N <= rho^2 can be taken <= 1.",
    latex=r"q_t^n \ge 0, \quad \sum_n q_t^n = 1, \quad \sum_n (q_t^n)^2 \le \rho^2, \quad \frac{1}{N} \le \rho^2 "
    r"\le 1",
    mentions=(N, rho),
    unchecked="Definition",
)  # fmt: skip

alg1 = paper.claim(
    "alg1", "FedAvg with updates amplified every P rounds",
    kind="algorithm", where="Algorithm 1",
    words="Each round adds the weighted local updates to the model and to an accumulator; after P rounds the "
    "accumulator times eta - 1 is added to the model.",
    latex=r"\mathbf{x} \leftarrow \mathbf{x} + \sum_n q_t^n \Delta_t^n, \quad \mathbf{u} \leftarrow \mathbf{u} + "
    r"\sum_n q_t^n \Delta_t^n \quad \text{in each round,} \qquad "
    r"\mathbf{x} \leftarrow \mathbf{x} + (\eta - 1) \mathbf{u} \quad \text{after } P \text{ rounds}",
    mentions=(P, eta, accumulated),
    unchecked="Our copy of the box is incomplete: line 14, after the one that moves t_0, is blank in it",
    repaired_by="amplified.alg1.repaired",
)  # fmt: skip

alg1_repaired = paper.claim(
    "alg1.repaired", "Algorithm 1 with the accumulator reset after each interval",
    kind="algorithm", where="Algorithm 1 and section 2",
    words="The accumulator starts again from zero after each interval, so that an interval leads from x to x plus "
    "eta times its updates, as the text says; eta = 1 changes nothing, P = 1 is FedAvg with two-sided step sizes, an "
    "interval that the run does not finish is not amplified.",
    formulas={"end of interval": anchor + eta * accumulated},
)  # fmt: skip

noise_average = paper.claim(
    "ass2.independent", "Weighted noise of a round has variance at most rho^2 sigma^2",
    kind="equation", where="section 3; behind the rho^2 sigma^2 terms of (8)",
    words="The weighted sum of the clients' gradient noise in a local step has variance at most rho^2 sigma^2 under "
    "(3) as printed.",
    bound=Bound("E||sum_n q_n xi_n||^2", rho**2 * sigma**2, unit=SQUARED),
    gap="True once the noise of different clients is independent, which is customary and surely meant.",
    uses=("amplified.rho", "amplified.ass2"),
)  # fmt: skip
