"""What is known of FedAMD's cached gradients and of a miner's displacement (ours), and stability on quadratics."""

from __future__ import annotations

from sympy import Rational, Symbol, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fedamd.sequential import C1, C2, tuned_staleness
from fltheory.papers.fedamd.setting import (
    A41,
    A42,
    A43,
    L,
    L_sigma,
    anchor_noise,
    b_small,
    cache_error,
    cache_staleness,
    eta,
    eta_l,
    gradient_norm,
    local_step,
    move_square,
    moving,
    paper,
    refresh,
    tau,
)
from fltheory.units import GRADIENT, LOSS

law_local = paper.claim(
    "law.local", "Growth of local gradients and miner displacement error",
    kind="law", where="ours", origin="ours",
    words="Given x_t and the mean cached gradient g, a miner's directions grow by E|g_{k+1}|^2 <= ((1 + eta_l L)^2 + "
    "eta_l^2 L_sigma^2/b') E|g_k|^2, and its change D satisfies E|D/(eta_l K) - grad F|^2 <= 1.691 |g - grad F|^2 + "
    "(1/2)|grad F|^2. (Without noise in the local steps 1.691 may be 1.307; for K = 1 the error is |g - grad F|^2.)",
    assumes=(A41, A42, A43),
    conditions=local_step,
    bound=Bound("E|D/(eta_l K) - grad F|^2", C1 * cache_error**2 + C2 * gradient_norm**2, unit=GRADIENT**2),
    formulas={
        "growth": (1 + eta_l * L) ** 2 + eta_l**2 * L_sigma**2 / b_small,
        "without noise": Rational(1307, 1000),
        "with noise": C1,
    },
    uses=("fedamd.A41", "fedamd.A43", "fedamd.lemD1"),
)  # fmt: skip

law_noise = paper.claim(
    "law.noise", "Cached gradient error splits into anchor noise and staleness",
    kind="law", where="ours", origin="ours",
    words="With caches started by all clients E|g_t - grad F(x_t)|^2 <= (1 + r) 1{b<n} sigma^2/(Mb) + (1 + 1/r) E S_t "
    "for every r > 0: given who was an anchor when, noises of different clients and rounds are uncorrelated, "
    "being independent over clients and samples.",
    assumes=(A42,),
    bound=Bound(
        "E|g_t - grad F(x_t)|^2",
        (1 + tuned_staleness) * anchor_noise + (1 + 1 / tuned_staleness) * cache_staleness,
        unit=GRADIENT**2,
    ),
    uses=("fedamd.A42", "fedamd.alg1.init"),
)  # fmt: skip

law_staleness = paper.claim(
    "law.staleness", "Staleness recursion with rate q/2",
    kind="law", where="ours", origin="ours",
    words="S_t, the mean over clients of |grad F_m(last anchor model) - grad F_m(x_t)|^2, starts at 0 and satisfies "
    "E S_{t+1} <= (1 - q/2) E S_t + (2/q) L^2 E|x_{t+1} - x_t|^2, q = A p/M; so the sum of E S_t is at most "
    "((1 + sqrt(1-q))/q)^2 L^2 times that of E|x_{t+1} - x_t|^2.",
    assumes=(A41,),
    bound=Bound(
        "E S_{t+1}", (1 - refresh / 2) * cache_staleness + 2 / refresh * L**2 * move_square, unit=GRADIENT**2
    ),
    formulas={"sum over sum": ((1 + sqrt(1 - refresh)) / refresh) ** 2},
    uses=("fedamd.A41", "fedamd.alg1.init"),
)  # fmt: skip

step_over_refresh = Symbol("theta", positive=True)  # eta L / q
law_stability = paper.claim(
    "law.stability", "Mean-square divergence iff eta L / q exceeds sqrt(2)",
    kind="law", where="ours", origin="ours",
    words="Two clients with curvatures 1 and -1 (up to a vanishing rest), K = 1, A = 1, p near 0: second moments of "
    "model and caches settle for theta = eta L/q below the critical value and grow above it. Theorem 4.8's step has "
    "theta at most 1/2 there.",
    formulas={"critical value": sqrt(2)},
    uses=("fedamd.alg1",),
)  # fmt: skip

cycle_move = Symbol("cycle_move", positive=True)  # (tau - 1) gamma
law_cycle = paper.claim(
    "law.cycle", "Stationary cycle-start value s/(2 - s)",
    kind="law", where="ours", origin="ours",
    words="F = x^2/2, A = M, K = 1, anchors every tau rounds, unit anchor noise: at the start of a cycle E x^2 settles "
    "at s/(2 - s), s = (tau - 1) eta_s eta_l.",
    formulas={"stationary value": cycle_move / (2 - cycle_move), "move of a cycle": (tau - 1) * eta},
    uses=("fedamd.alg1",),
)  # fmt: skip

linear_shift = Symbol("linear_shift", real=True)
law_invariance = paper.claim(
    "law.invariance", "Linear terms summing to zero change no path",
    kind="law", where="ours", origin="ours",
    words="With caches started by all clients, adding c_m x to the clients' losses, sum c_m = 0, changes no model and "
    "no mean cached gradient: only unequal curvature matters.",
    formulas={"change of the model": 0 * linear_shift},
    uses=("fedamd.alg1.init",),
)  # fmt: skip

lemE3_repaired = paper.claim(
    "lemE3.repaired", "One-step descent with cached-gradient error, any eta_s",
    kind="lemma", where="ours, in place of Lemma E.3", origin="ours",
    words="Given round t, E F(x_{t+1}) - F(x_t) is at most -(eta_s eta_l K/4)(1 - p^A)|grad F|^2 - "
    "(1/(2 eta_s eta_l K) - L/2) E|x_{t+1} - x_t|^2 + (1.691/2) eta_s eta_l K (1 - p^A)|g - grad F|^2.",
    assumes=(A41, A42, A43),
    conditions=local_step,
    bound=Bound(
        "E F(x_{t+1}) - F(x_t)",
        -eta / 2 * (1 - C2) * moving * gradient_norm**2
        - (1 / (2 * eta) - L / 2) * move_square
        + C1 / 2 * eta * moving * cache_error**2,
        unit=LOSS,
    ),
    uses=("fedamd.lemB1.repaired", "fedamd.lemB3", "fedamd.law.local"),
)  # fmt: skip
