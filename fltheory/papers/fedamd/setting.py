"""What FedAMD's statements share: symbols, objective, algorithm and assumptions (sections 1, 3 and 4)."""

from __future__ import annotations

from sympy import Rational, Symbol, sqrt

from fltheory.assumptions import bounded_noise, polyak_lojasiewicz, smooth, smooth_noise
from fltheory.ledger import Paper
from fltheory.symbols import (
    cohort_size,
    global_lr,
    initial_gap,
    local_lr,
    local_steps,
    n_clients,
    noise_smoothness,
    noise_std,
    quantity,
    rounds,
    smoothness,
)
from fltheory.symbols import (
    polyak_lojasiewicz as lojasiewicz_constant,
)
from fltheory.units import GRADIENT, LOSS, ONE, PARAM

paper = Paper(
    "fedamd",
    "Anchor Sampling for Federated Learning with Partial Client Participation",
    edition="ICML 2023 (with appendices)",
    letters={
        "n_clients": "M", "cohort_size": "A", "local_steps": "K", "rounds": "T", "anchor_period": "\\tau",
        "anchor_probability": "p", "anchor_batch": "b", "batch_size": "b'", "smoothness": "L",
        "noise_std": "\\sigma", "noise_smoothness": "L_\\sigma", "polyak_lojasiewicz": "\\mu",
        "initial_gap": "(F(\\tilde x_0) - F_*)", "local_lr": "\\eta_l", "global_lr": "\\eta_s",
        "subsampled": "\\mathbf{1}_{\\{b < n\\}}", "accuracy": "\\epsilon", "loss_accuracy": "\\epsilon",
        "thinning": "c", "gradient_norm": "\\|\\nabla F(\\tilde x_t)\\|", "cache_error": "\\|\\tilde g_t - \\nabla "
        "F(\\tilde x_t)\\|", "mean_cache_error": "\\mathbb{E}\\|\\mathbb{E}\\tilde g_t - \\nabla F(\\tilde x_t)\\|^2",
        "move_square": "\\mathbb{E}\\|\\tilde x_{t+1} - \\tilde x_t\\|^2", "cache_staleness": "S_t",
        "step": "\\eta", "other_step": "\\eta'", "vectors": "a", "deviation": "s",
    },
    meanings={
        "distance": "distance of the two points",
        "A": "clients that take part in a round", "K": "local steps a round", "M": "number of clients",
        "cycle_move": "move of the miner rounds of a cycle, times the cached gradient", "eps": "accuracy to reach",
        "inverse_square": "1/mu^2", "k": "number of a local step", "mu": "Polyak-Lojasiewicz constant",
        "participation_ratio": "clients over participants", "period": "rounds from one anchor round to the next",
        "probability": "probability that a participant is an anchor",
        "q": "probability that a given client refreshes its cache in a round",
        "sigma": "standard deviation bound of a stochastic gradient",
    },
)  # fmt: skip

anchor_period = quantity("anchor_period", ONE, "whole number >= 1", "rounds from one anchor round to the next")
anchor_probability = quantity("anchor_probability", ONE, "probability in (0, 1]", "that a participant is an anchor")
anchor_batch = quantity("anchor_batch", ONE, "whole number >= 1", "samples of an anchor's gradient")
batch_size = quantity("batch_size", ONE, "whole number >= 1", "samples of one local step")
subsampled = quantity("subsampled", ONE, "0 or 1", "1 if anchors use fewer samples than they have, else 0")
accuracy = quantity("accuracy", GRADIENT**2, "> 0", "target for the squared gradient norm")
loss_accuracy = quantity("loss_accuracy", LOSS, "> 0", "target for the objective above its minimum")
thinning = quantity("thinning", ONE, "> 0", "factor by which anchors are fewer than at the optimal probability")
gradient_norm = quantity("gradient_norm", GRADIENT, ">= 0", "norm of the gradient of the objective at the iterate")
cache_error = quantity("cache_error", GRADIENT, ">= 0", "distance of the mean cached gradient from the gradient")
gradient_square = quantity("gradient_square", GRADIENT**2, ">= 0", "E|grad F|^2 at the model of a round")
mean_cache_error = quantity("mean_cache_error", GRADIENT**2, ">= 0", "E|E g - grad F|^2, g the mean cached gradient")
move_square = quantity("move_square", PARAM**2, ">= 0", "E|x_{t+1} - x_t|^2 of the model")
cache_staleness = quantity(
    "cache_staleness", GRADIENT**2, ">= 0", "E of the mean over clients of |grad F_m(last anchor model) - grad F_m|^2"
)
cache_error_square = quantity("cache_error_square", GRADIENT**2, ">= 0", "E|g - grad F|^2, g the mean cached gradient")

M, A, K, T, tau, p, c = n_clients, cohort_size, local_steps, rounds, anchor_period, anchor_probability, thinning
L, sigma, L_sigma, mu = smoothness, noise_std, noise_smoothness, lojasiewicz_constant
eta_l, eta_s, gap = local_lr, global_lr, initial_gap
b, b_small = anchor_batch, batch_size

eta = eta_s * eta_l * K  # what a miner round moves by, in units of the cached gradient
anchor_noise = subsampled * sigma**2 / (M * b)  # N
refresh = A * p / M  # q, the chance that a given client refreshes its cache
moving = 1 - p**A  # the chance that a round moves the model
spread = sqrt(moving) / refresh  # a

# ---- what the theorems ask of the local step -------------------------------------------------------------

local_step = {
    "local step": eta_l <= 1 / (2 * sqrt(6) * K * L),
    "local step and noise": 48 * K * L_sigma**2 * eta_l**2 <= b_small,
}
AVERAGE = "(1/T) sum over t < T of E|grad F(x_t)|^2"

# ---- sections 3 and 4 ------------------------------------------------------------------------------------

prob = paper.claim(
    "prob", "Average of M client objectives",
    kind="definition", where="(1)",
    words="F is the mean of the M clients' expected losses F_m; sample losses are unbiased, data sets have n samples.",
    latex=r"F(\mathbf{x}) := \frac1M \sum_{m \in [M]} F_m(\mathbf{x})",
    unchecked="Definition",
)  # fmt: skip

A41 = paper.assumption(
    "A41", "Local objectives are L-smooth", where="Assumption 4.1",
    words="Every client's gradient is Lipschitz with constant L.",
    latex=r"\|\nabla F_m(\mathbf{x}) - \nabla F_m(\mathbf{y})\| \le L \|\mathbf{x} - \mathbf{y}\|",
    mentions=(L,),
    uses=("fedamd.prob",), asks=smooth,
)  # fmt: skip
A42 = paper.assumption(
    "A42", "Minibatch noise at most sigma^2 over batch size", where="Assumption 4.2",
    words="A gradient on |B| samples has mean squared error at most sigma^2 / |B|, at every point and client; the "
    "noise is independent over clients and samples.",
    latex=r"\mathbb{E}\|\nabla f_m(\mathbf{x}, \mathcal{B}) - \nabla F_m(\mathbf{x})\|^2 \le "
    r"\frac{\sigma^2}{|\mathcal{B}|}",
    mentions=(sigma,),
    asks=bounded_noise,
    gap="That it is independent over clients and samples is not printed. It is read into the assumption, as is "
    "customary, because the noise terms sigma^2/(Mb) rest on it; it is so where every client draws its own samples.",
)  # fmt: skip
A43 = paper.assumption(
    "A43", "Average smoothness of the noise, L_sigma", where="Assumption 4.3",
    words="The difference of the gradient noise at two points, on the same |B| samples, has mean square at most "
    "L_sigma^2 / |B| times their squared distance.",
    latex=r"\mathbb{E}\|(\nabla f_m(\mathbf{x}, \mathcal{B}) - \nabla F_m(\mathbf{x})) - (\nabla f_m(\mathbf{y}, "
    r"\mathcal{B}) - \nabla F_m(\mathbf{y}))\|^2 \le \frac{L_\sigma^2}{|\mathcal{B}|} \|\mathbf{x} - "
    r"\mathbf{y}\|^2",
    mentions=(L_sigma,),
    asks=smooth_noise,
)  # fmt: skip
A410 = paper.assumption(
    "A410", "PL condition with constant mu", where="Assumption 4.10",
    words="Polyak-Lojasiewicz: |grad F|^2 is at least 2 mu (F - F_*) everywhere. With L-smoothness mu is at most L.",
    latex=r"\|\nabla F(\mathbf{x})\|^2 \ge 2 \mu (F(\mathbf{x}) - F_*), \quad \mu \le L",
    mentions=(mu, L),
    asks=polyak_lojasiewicz,
)  # fmt: skip

distance = Symbol("distance", positive=True)
A43_remark = paper.claim(
    "A43.remark", "Assumption 4.2 alone gives some L_sigma",
    kind="remark", where="Remark after Assumption 4.3",
    words="Where noise is bounded its difference at two points is bounded and small at near points, so some L_sigma "
    "makes it at most L_sigma^2 times their squared distance. Held against the noise s min(1, sqrt|v|), s = +-1, "
    "which Assumption 4.2 allows: at distance |v| < 1 from 0 its squared difference is |v|.",
    assumes=(A42,),
    formulas={"noise square": distance},
    uses=("fedamd.A42", "fedamd.A43"),
    gap="Said informally; a difference may vanish at near points more slowly than the distance. Where sample losses "
    "are smooth, as the last sentence of the remark has it, L_sigma exists.",
)  # fmt: skip

alg1 = paper.claim(
    "alg1", "FedAMD with anchor and miner groups",
    kind="algorithm", where="Algorithm 1",
    words="A of M clients take part; each is an anchor with probability p_t and refreshes its cached gradient on b "
    "samples, or a miner, which takes K steps with recursively corrected gradients on b' < b samples that start from "
    "the mean cached gradient. The model moves by the mean of the miners' changes.",
    latex=r"\tilde{\mathbf{x}}_{t+1} = \tilde{\mathbf{x}}_t - \frac{\eta_s}{\nu} \sum_{j=1}^{\nu} \Delta "
    r"\mathbf{x}_t^{(a_j)} \quad \text{over the miners } a_1, \ldots, a_\nu \text{ of the } A \text{ "
    r"participants}",
    mentions=(A, M, K, b, eta_s),
    unchecked="OCR of our copy merges two assignments of the miner's first line (the local model starts from the "
    "global one, the local direction from the mean cached gradient); the implementation is tested in sims",
)  # fmt: skip

eq3 = paper.claim(
    "eq3", "(3): server update over miners, none when no miner",
    kind="equation", where="(3)",
    words="The model moves by eta_s times the mean change of the miners and stays where there is none, which has "
    "probability p^A.",
    formulas={"probability of no miner": p**A},
    uses=("fedamd.alg1",),
)  # fmt: skip

alg1_k0 = paper.claim(
    "alg1.k0", "First local batch is void",
    kind="remark", where="(2) at k = 0",
    words="The two gradients of the first local step cancel, since x_{-1} = x_0: the first direction is the mean "
    "cached gradient, and with K = 1 no data of a miner are used.",
    formulas={"batches that matter": K - 1},
    uses=("fedamd.alg1",),
)  # fmt: skip

alg1_init = paper.claim(
    "alg1.init", "Caches start with a gradient of every client",
    kind="algorithm", where="section 3, Algorithm Description",
    words="Before round 0 every client computes a gradient on b samples at x_0, so that the mean cached gradient "
    "starts at grad F(x_0) up to anchor noise.",
    formulas={"clients before round 0": M},
    uses=("fedamd.alg1",),
    gap="Section 3 calls it one way to start, and Algorithm 1 takes the caches as an input. Theorems 4.6, 4.8 and 4.11 "
    "need it: from caches of zero the model leaves the minimum that it starts from, where their bounds are 0 (ERR-11).",
)  # fmt: skip

massive = paper.claim(
    "massive", "Massive-client form equals the average of caches",
    kind="equation", where="section 3, Massive-Client Settings",
    words="A server that keeps only the mean and adds (1/M) times the anchors' changes has the mean of the caches.",
    formulas={"share of a change": 1 / M},
    uses=("fedamd.alg1",),
)  # fmt: skip

special = paper.claim(
    "special", "Special cases: minibatch SGD, BVR-L-SGD",
    kind="remark", where="section 3, Previous Algorithms as Special Cases",
    words="With A = M, probabilities 1, 0, 1, 0, ... and K = 1 the model makes a step of minibatch SGD, with rate "
    "eta_s eta_l, every second round. (K > 1 is compared with BVR-L-SGD in words only.)",
    formulas={"rate": eta_s * eta_l},
    uses=("fedamd.alg1",),
)  # fmt: skip

comm = paper.claim(
    "comm", "Relative extra communication (1 - p)/2",
    kind="remark", where="section 3, Discussion on Communication Overhead; Algorithm 1, line 3",
    words="FedAvg moves 2 vectors a client and round, an anchor 2 and a miner 3, so FedAMD needs (1 - p)/2 more. "
    "Algorithm 1, line 3, taken literally, sends the mean cached gradient to all participants: 1/2 more.",
    formulas={"extra in the text": (1 - p) / 2, "extra by line 3": Rational(1, 2)},
    uses=("fedamd.alg1",),
    gap="Line 3 should send the mean cached gradient to the miners only, as the text says.",
)  # fmt: skip

eq4 = paper.claim(
    "eq4", "(4): sequential probability, anchors every tau rounds",
    kind="definition", where="(4)",
    words="p_t is 1 where tau divides t and 0 elsewhere, tau >= 2.",
    latex=r"p_t = 1 \text{ if } \tau \mid t, \quad p_t = 0 \text{ otherwise}, \quad \tau \ge 2",
    mentions=(tau,),
    unchecked="Definition",
)  # fmt: skip
