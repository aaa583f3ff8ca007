"""Sections 2 and 3.2: the problem, the assumptions, the algorithm."""

from __future__ import annotations

import math
from typing import Any

from sympy import Integer, Symbol

from fltheory.assumptions import Holding, bounded_client_gradients, bounded_gaps, bounded_noise, smooth
from fltheory.papers.fedlaavg.letters import LARGEST_AGE, E, G, K, L, N, data_share, e1, e2, gamma, paper, sigma

is_available, takes_part, any_client = map(Symbol, ("is_available", "takes_part", "any_client"))
day_length = Symbol("day_length", integer=True, positive=True)
point = Symbol("point", real=True)
noise_variances = Symbol("noise_variances", nonnegative=True)  # half the sum of Var(xi_i)


def bounded_second_moment(problem: Any) -> Holding:
    """E|stochastic gradient|^2 <= G^2 everywhere: bounded client gradients and bounded noise, squares added."""
    gradients, noise = bounded_client_gradients(problem), bounded_noise(problem)
    if gradients.holds is None or noise.holds is None:
        return Holding(None, {})
    if not (gradients.holds and noise.holds):
        return Holding(False, {})
    bound, std = gradients.constants["gradient_bound"], noise.constants["noise_std"]
    return Holding(True, {"gradient_bound": math.hypot(float(bound), float(std))})


def_problem = paper.claim(
    "def.problem", "Weighted sum of expected local losses",
    kind="definition", where="section 2",
    words="f(x) = sum_i w_i f~_i(x), f~_i the expected loss of client i, w_i its share of the data.",
    latex=r"f(\mathbf{x}) := \sum_{i=1}^N w_i \tilde f_i(\mathbf{x})",
    mentions=(N, data_share),
    unchecked="Definition",
)  # fmt: skip

def_scaled = paper.claim(
    "def.scaled", "Scaled local objectives f_i = w_i N f~_i average to f",
    kind="definition", where="section 2",
    words="With f_i = w_i N f~_i the objective is the plain average of the f_i.",
    formulas={"scale": data_share * N},
    uses=("fedlaavg.def.problem",),
)  # fmt: skip

def_grad = paper.claim(
    "def.grad", "Conditional mean of the stochastic gradient is grad f~_i",
    kind="definition", where="section 2",
    words="Given the past, E[g_i] is `scale` times the gradient of f~_i; section 2 prints the scale 1. The server "
    "takes the plain average of the g_i.",
    formulas={"scale": Integer(1)},
    uses=("fedlaavg.def.problem", "fedlaavg.def.scaled"),
    gap="The proofs and the assumptions use g_i as the gradient of the scaled f_i, as do the authors' programs; with "
    "that reading everything fits.",
)  # fmt: skip

ass1 = paper.assumption(
    "ass1", "Scaled local objectives are L-smooth", where="Assumption 1",
    words="Every gradient of f_i is Lipschitz with constant L.",
    latex=r"\|\nabla f_i(\mathbf{x}) - \nabla f_i(\mathbf{y})\| \le L \|\mathbf{x} - \mathbf{y}\|",
    mentions=(L,),
    asks=smooth, uses=("fedlaavg.def.scaled",),
)  # fmt: skip
ass2 = paper.assumption(
    "ass2", "Gradient variance at most sigma^2", where="Assumption 2",
    words="A stochastic gradient of client i differs from grad f_i by at most sigma^2 in mean square, at every x; the "
    "noise of different clients is independent.",
    latex=r"\mathbb{E}\|\mathbf{g}_i(\mathbf{x}) - \nabla f_i(\mathbf{x})\|^2 \le \sigma^2",
    mentions=(sigma,),
    gap="Independence over clients is not printed. It is read into the assumption, as is customary (the proof of Lemma "
    "3 speaks of independent training data), because the division of sigma^2 by N rests on it.",
    asks=bounded_noise, uses=("fedlaavg.def.scaled",),
)  # fmt: skip
ass3 = paper.assumption(
    "ass3", "Second moment of the gradient at most G^2 everywhere", where="Assumption 3",
    words="The mean square of a stochastic gradient is at most G^2, at every x and for every client (no strictly "
    "convex quadratic on the whole line has that).",
    latex=r"\mathbb{E}\|\mathbf{g}_i(\mathbf{x})\|^2 \le G^2",
    mentions=(G,),
    asks=bounded_second_moment,
)  # fmt: skip
ass4 = paper.assumption(
    "ass4", "Every client available at least once in any E iterations", where="Assumption 4",
    words="Whatever E successive iterations are taken, every client is available in one of them.",
    latex=r"\text{every client is available in one of the iterations } t + 1, \ldots, t + E "
    r"\quad \text{for all } t \ge 0",
    mentions=(E,),
    asks=bounded_gaps,
)  # fmt: skip
ass5 = paper.assumption(
    "ass5", "Every client available at least once in any E rounds", where="Assumption 5",
    words="As Assumption 4 in rounds; a client is available in a round if it is so in all C iterations of it.",
    latex=r"\text{every client is available in one of the rounds } r + 1, \ldots, r + E \quad \text{for all } r \ge 0",
    mentions=(E,),
    asks=bounded_gaps,
)  # fmt: skip

ass4_full = paper.claim(
    "ass4.full", "Full availability is E = 1",
    kind="remark", where="section 2",
    words="All clients are available in all iterations if and only if Assumption 4 holds with this window.",
    formulas={"window": Integer(1)},
    uses=("fedlaavg.ass4",),
)  # fmt: skip

ass4_day = paper.claim(
    "ass4.day", "E as iterations per day describes nightly availability",
    kind="remark", where="section 2",
    words="Clients that are available every night satisfy Assumption 4 with this window.",
    formulas={"window": day_length},
    uses=("fedlaavg.ass4",),
    gap="True where the nights are strictly periodic; with one free hour a night, taken early one night and late the "
    "next, the gap is nearly two days.",
)  # fmt: skip

ex1 = paper.claim(
    "ex1", "Example 1: two clients, squared loss, alternating availability",
    kind="definition", where="Example 1; proof of Theorem 2",
    words="f_i(x) = E(x - xi_i)^2 with means e_1, e_2 and equal shares; client 1 is available in the first t_1 "
    "iterations of a period, client 2 in the t_2 that follow. Then f is this quadratic.",
    formulas={"objective": (point - (e1 + e2) / 2) ** 2 + (e1 - e2) ** 2 / 4 + noise_variances},
)  # fmt: skip

def_T = paper.claim(
    "def.T", "Latest iteration in which a client took part",
    kind="definition", where="section 3.2",
    words="T_i^t is the last iteration up to t in which client i took part, 0 before the first; g_i^0 = 0.",
    latex=r"T_i^t := \max\{s \le t : \text{client } i \text{ took part in } s\}, \quad "
    r"T_i^t = 0 \text{ if there is none}",
    unchecked="Definition",
)  # fmt: skip

def_R = paper.claim(
    "def.R", "Latest round in which a client is available",
    kind="definition", where="section 5",
    words="R_i^r is the last round up to r in which `counted` is true of client i.",
    formulas={"counted": is_available},
    gap="Algorithm 2 sets R_i when a client takes part, so `available` reads as `participating`.",
)  # fmt: skip

alg1 = paper.claim(
    "alg1", "FedLaAvg with least-recently-used selection",
    kind="algorithm", where="Algorithm 1",
    words="Of the available clients the K that took part longest ago compute a gradient; the server moves along the "
    "average of everybody's latest gradient.",
    latex=r"\mathbf{x}^t = \mathbf{x}^{t-1} - \frac{\gamma}{N} \sum_{i=1}^N \mathbf{g}_i^t",
    mentions=(K, N, gamma),
    unchecked="Procedure: its parts are checked in eq3, alg1.full and lem1; what to do when fewer than K clients are "
    "available is left open",
    uses=("fedlaavg.def.T",),
)  # fmt: skip

eq3 = paper.claim(
    "eq3", "Server state equals the average of latest gradients",
    kind="equation", where="(3), (4)",
    words="After every iteration g^t is `share` times the sum of the clients' latest gradients, g_i^0 = 0 among them.",
    formulas={"share": 1 / N},
    uses=("fedlaavg.alg1", "fedlaavg.def.T"),
)  # fmt: skip

sec32_period = paper.claim(
    "sec3.2.period", "Each client selected in any period of I iterations",
    kind="remark", where="section 3.2",
    words="Every client is selected at least once in any so many successive iterations.",
    assumes=(ass4,),
    formulas={"period": LARGEST_AGE},
    uses=("fedlaavg.ass4", "fedlaavg.alg1"),
    repaired_by="fedlaavg.sec3.2.period.repaired",
    gap="Lemma 1, to which the sentence refers, gives a period one iteration longer.",
)  # fmt: skip

sec32_period_repaired = paper.claim(
    "sec3.2.period.repaired", "Each client selected in any period of I + 1 iterations",
    kind="remark", where="ours", origin="ours",
    words="Every client is selected at least once in any so many successive iterations, if all available clients are "
    "taken when they are fewer than K.",
    assumes=(ass4,),
    formulas={"period": LARGEST_AGE + 1},
    uses=("fedlaavg.lem1",),
)  # fmt: skip

alg1_full = paper.claim(
    "alg1.full", "Full participation gives minibatch gradient descent",
    kind="remark", where="section 4.2",
    words="With K = N and E = 1 an iteration is x - gamma `share` times the sum of all gradients at x.",
    formulas={"share": 1 / N},
    uses=("fedlaavg.alg1",),
)  # fmt: skip
