"""The paper and its letters.

Y. Yan, C. Niu, Y. Ding, Z. Zheng, F. Wu, G. Chen, S. Tang, Z. Wu, "Distributed Non-Convex Optimization with Sublinear
Speedup under Intermittent Client Availability", arXiv:2002.07399.
"""

from __future__ import annotations

from sympy import Abs, Symbol, ceiling, sqrt

from fltheory.ledger import Paper
from fltheory.symbols import (
    Max,
    cohort_size,
    gradient_bound,
    initial_gap,
    local_lr,
    local_steps,
    n_clients,
    noise_std,
    quantity,
    rounds,
    smoothness,
    window,
)
from fltheory.units import GRADIENT, LOSS, ONE, PARAM

paper = Paper(
    "fedlaavg",
    "Distributed Non-Convex Optimization with Sublinear Speedup under Intermittent Client Availability",
    edition="arXiv:2002.07399 (with appendices)",
    letters={
        "n_clients": "N", "cohort_size": "K", "window": "E", "iterations": "T", "rounds": "R", "local_steps": "C",
        "smoothness": "L", "noise_std": "\\sigma", "gradient_bound": "G", "initial_gap": "B", "local_lr": "\\gamma",
        "staleness": "I", "selected_share": "\\beta", "steps_back": "t - t_0", "iteration": "t",
        "stale_mean_square": "A", "stale_square": "D", "mean_stale_square": "\\bar D", "decrease": "\\Delta f",
        "example_lr": "\\gamma", "start_distance": "|x^0 - x^*|", "distance": "|x^{t-1} - x^*|",
        "example_gradient": "G", "block_staleness": "I", "first_block": "t_1", "second_block": "t_2",
        "first_mean": "e_1", "second_mean": "e_2", "start": "x^0", "periods": "k", "data_share": "w_i",
        "noise_square_sum": "\\sum_i \\mathbb{E}\\|\\cdot\\|^2", "late_gap": "B_I",
    },
    meanings={
        "Q1": "factor of a turn of group 1", "Q2": "factor of a turn of group 2", "Q3": "factor of a turn of group 3",
        "absent": "probability that the client is away", "backpropagation": "cost of a backpropagation",
        "curvature": "curvature of a group's losses", "d": "change of the deviation",
        "data_share": "share of the client in all data", "day_length": "iterations of a day",
        "decrease": "expected fall of the objective in an iteration", "first_mean": "mean of client 1's samples",
        "g": "mean of the clients' latest gradients", "is_available": "whether the client is available",
        "any_client": "true of every client",
        "local_step_count": "local steps of a round", "m": "mean of the stale client gradients",
        "mean": "mean latest gradient", "noise_variances": "mean of the variances of both clients' samples",
        "now": "global gradient at the current iterate", "old": "global gradient at the most outdated iterate in use",
        "periods": "number of periods", "point": "the model", "positive_distance": "distance from the minimiser",
        "proximal": "coefficient of the proximal term", "second_mean": "mean of client 2's samples",
        "size": "numbers of the model", "sort": "cost of sorting the clients",
        "stale_1": "deviation when client 1 last took part", "stale_2": "deviation when client 2 last took part",
        "start": "the first model", "steps_taken": "local steps of a whole turn",
        "third_mean": "minimiser of group 3", "x": "the model at the start of a period",
        "z": "deviation of the iterate from the minimiser",
    },
)  # fmt: skip

iterations = quantity("iterations", ONE, "whole number >= 1", "number of iterations of FedLaAvg")
iteration = quantity("iteration", ONE, "whole number >= 0", "the iteration that is looked at")
staleness = quantity("staleness", ONE, "whole number >= 0", "largest age of a client's latest gradient")
selected_share = quantity("selected_share", ONE, "probability in (0, 1]", "share of the clients selected in a round")
steps_back = quantity("steps_back", ONE, "whole number >= 0", "iterations between two iterates")
stale_mean_square = quantity("stale_mean_square", GRADIENT**2, ">= 0", "E|mean of the clients' stale gradients|^2")
stale_square = quantity("stale_square", GRADIENT**2, ">= 0", "E|grad f|^2 at the most outdated iterate in use")
mean_stale_square = quantity("mean_stale_square", GRADIENT**2, ">= 0", "stale_square, averaged over a round")
noise_square_sum = quantity("noise_square_sum", GRADIENT**2, ">= 0", "sum over clients of E|gradient error|^2")
decrease = Symbol("decrease", real=True)  # of the objective in an iteration, in the mean

example_lr = quantity("example_lr", ONE, "> 0", "step size on Example 1, whose losses (x - e)^2 make it a pure number")
start_distance = quantity("start_distance", PARAM, ">= 0", "distance of the start from the minimiser")
distance = quantity("distance", PARAM, ">= 0", "distance of the iterate before the step from the minimiser")
mean_gap = quantity("mean_gap", PARAM, ">= 0", "distance of the two clients' means in Example 1")
example_gradient = quantity("example_gradient", PARAM, ">= 0", "max(2 start_distance, mean_gap) in Example 1")
block_staleness = quantity("block_staleness", ONE, "whole number >= 1", "the longer of the two blocks in Example 1")
first_block = quantity("first_block", ONE, "whole number >= 1", "iterations of client 1 in a period of Example 1")
second_block = quantity("second_block", ONE, "whole number >= 1", "iterations of client 2 in a period of Example 1")

first_mean, second_mean, start = Symbol("first_mean", real=True), Symbol("second_mean", real=True), Symbol("start")
periods = Symbol("periods", integer=True, nonnegative=True)
data_share = Symbol("data_share", positive=True)

N, K, E, T, R, C = n_clients, cohort_size, window, iterations, rounds, local_steps
L, sigma, G, B, gamma = smoothness, noise_std, gradient_bound, initial_gap, local_lr
I, beta = staleness, selected_share
A, D = stale_mean_square, stale_square
lr, t1, t2, e1, e2 = example_lr, first_block, second_block, first_mean, second_mean

LARGEST_AGE = ceiling(N / K) * E - 1  # I of Lemmas 1 and 5
EXAMPLE_GRADIENT = Max(2 * Abs(start - (e1 + e2) / 2), Abs(e1 - e2))
ROOT_N = sqrt(N)
LOSS_UNIT = LOSS
