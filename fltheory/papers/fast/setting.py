"""The objective, the assumptions, the algorithms, and the letters of FAST."""

from __future__ import annotations

from fltheory.assumptions import bounded_dissimilarity, bounded_noise, smooth, strongly_convex
from fltheory.ledger import Paper
from fltheory.symbols import (
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
    strong_convexity,
)
from fltheory.units import GRADIENT, ONE, PARAM

paper = Paper(
    "fast",
    "FAST: Federated Average with Snapshot Unleashes Arbitrary Client Participation",
    edition="edition under double-blind review (with appendices)",
    letters={
        "snapshot_rate": "q", "snapshot_clients": "m", "arbitrary_clients": "n", "n_clients": "M", "rounds": "R",
        "local_steps": "K", "local_lr": "\\eta", "smoothness": "L", "strong_convexity": "\\mu", "interval": "I",
        "noise_std": "\\sigma", "heterogeneity": "\\sigma_G", "initial_gap": "\\zeta",
        "snapshot_square": "G_1", "arbitrary_square": "G_2", "sampled_square": "G_3",
        "start_distance_square": "\\kappa",
    },
    meanings={
        "accuracy": "accuracy after the round",
        "accuracy_before": "accuracy after the round before", "best_accuracy": "best accuracy so far",
        "decrease": "expected fall of the objective in a round",
        "gradient_here": "|grad F|^2 at the model of the round",
        "one_round": "squared norm in one of the two rounds", "other_round": "squared norm in the other round",
        "probability": "probability of a snapshot in this round", "scale": "scale of the law",
        "server_weight": "factor on the updates of arbitrary rounds", "shape": "shape of the law",
        "strength": "lambda, the strength of the adaptation", "x": "where the density is taken",
    },
)  # fmt: skip

logarithm = quantity("logarithm", ONE, "> 0", "log(kappa mu K R/a) of the step of Corollary 3, which O~ hides")
snapshot_rate = quantity(
    "snapshot_rate", ONE, "a probability in [0, 1]", "probability, or frequency, of a snapshot round"
)
snapshot_clients = quantity("snapshot_clients", ONE, "whole number >= 1", "clients of a snapshot, a uniform subset")
arbitrary_clients = quantity("arbitrary_clients", ONE, "whole number >= 1", "clients of an arbitrary round")
snapshot_square = quantity(
    "snapshot_square", GRADIENT**2, ">= 0", "|mean over all clients of the summed local gradients|^2, snapshot rounds"
)
arbitrary_square = quantity(
    "arbitrary_square", GRADIENT**2, ">= 0", "|mean over the cohort of the summed local gradients|^2, arbitrary rounds"
)
sampled_square = quantity(
    "sampled_square", GRADIENT**2, ">= 0", "|mean over the cohort of the summed local gradients|^2, snapshot rounds"
)
start_distance_square = quantity("start_distance_square", PARAM**2, ">= 0", "|x_0 - x*|^2")

q, m, n, M, R, K = snapshot_rate, snapshot_clients, arbitrary_clients, n_clients, rounds, local_steps
L, mu, eta, sigma, sigma_G, zeta = smoothness, strong_convexity, local_lr, noise_std, heterogeneity, initial_gap
G1, G2, G3 = snapshot_square, arbitrary_square, sampled_square
s = q / m + (1 - q) / n  # expected reciprocal of the clients of a round
h = L * K * eta
tau = (M - m) / (m * (M - 1))  # what sampling m of M without replacement leaves of a variance, for M >= 2
I = interval

obj = paper.claim(
    "obj", "Average of M local objectives",
    kind="definition", where="section 3",
    words="F is the plain mean of the local objectives F_1, ..., F_M.",
    latex=r"F(\mathbf{x}) := \frac1M \sum_{i=1}^M F_i(\mathbf{x})",
    formulas={"coefficient": 1 / M},
    unchecked="Definition",
)  # fmt: skip

ass1 = paper.assumption(
    "ass1", "F and every F_i are L-smooth", where="Assumption 1",
    words="The gradients of F and of every F_i are Lipschitz with constant L.",
    latex=r"\|\nabla F(\mathbf{x}) - \nabla F(\mathbf{y})\| \le L \|\mathbf{x} - \mathbf{y}\|, \quad \|\nabla "
    r"F_i(\mathbf{x}) - \nabla F_i(\mathbf{y})\| \le L \|\mathbf{x} - \mathbf{y}\|",
    mentions=(L,),
    asks=smooth,
)  # fmt: skip
ass2 = paper.assumption(
    "ass2", "Unbiased stochastic gradients with variance at most sigma^2", where="Assumption 2",
    words="Stochastic gradients are unbiased with variance at most sigma^2; their noise is independent over clients "
    "and fresh in every local step.",
    latex=r"\mathbb{E}[\mathbf{g}_i(\mathbf{x})] = \nabla F_i(\mathbf{x}), \quad "
    r"\mathbb{E}\|\mathbf{g}_i(\mathbf{x}) - \nabla F_i(\mathbf{x})\|^2 \le \sigma^2",
    mentions=(sigma,),
    gap="Independence over clients is not printed. It is read into the assumption, as is customary, because the "
    "factor s before sigma^2 rests on it.",
    asks=bounded_noise,
)  # fmt: skip
ass3 = paper.assumption(
    "ass3", "Gradient dissimilarity at most sigma_G^2 for every client", where="Assumption 3",
    words="||grad F_i(x) - grad F(x)||^2 <= sigma_G^2 for every client i and every x.",
    latex=r"\|\nabla F_i(\mathbf{x}) - \nabla F(\mathbf{x})\|^2 \le \sigma_G^2",
    mentions=(sigma_G,),
    asks=bounded_dissimilarity,
)  # fmt: skip
ass4 = paper.assumption(
    "ass4", "Every F_i is mu-strongly convex", where="Assumption 4",
    words="Every F_i is strongly convex with constant mu.",
    latex=r"F_i(\mathbf{y}) \ge F_i(\mathbf{x}) + \langle \nabla F_i(\mathbf{x}), \mathbf{y} - \mathbf{x} \rangle + "
    r"\frac{\mu}{2} \|\mathbf{y} - \mathbf{x}\|^2",
    mentions=(mu,),
    asks=strongly_convex,
)  # fmt: skip

alg1 = paper.claim(
    "alg1", "FAST with snapshot interval or probability",
    kind="algorithm", where="Algorithm 1",
    words="A round is a snapshot if its number is divisible by I, or with probability q. A snapshot asks m clients "
    "drawn uniformly without replacement, any other round n clients that nothing is assumed about. The clients run K "
    "local steps, the server takes the plain mean. By number, round 0 is a snapshot and there are ceil(R/I) of them.",
    latex=r"\mathbf{x}_{r+1} = \mathbf{x}_r + \frac{1}{|\mathcal{S}_r|} \sum_{i \in \mathcal{S}_r} "
    r"(\mathbf{x}_{r,K}^i - \mathbf{x}_r), \quad |\mathcal{S}_r| = m \text{ if } I \mid r \text{ or with "
    r"probability } q, \text{ else } n",
    mentions=(I, q, m, n, K),
    gap="Lines 8 and 9 need k = 0..K-1 and x_{r,K}; q stands for a probability and for a frequency, which the "
    "theorems do not treat alike.",
    unchecked="Algorithm: run against a plain loop in the tests",
)  # fmt: skip
