"""FedAvg with pluggable aggregation weights (FedAU, Algorithm 1): x += (global_lr / N) sum_n w_n Delta_n.

Which rule gives the weights is not the algorithm's business: they arrive with the cohort (`fltheory.weights`).
With weights N/|S| it is the usual FedAvg that averages the participating clients, with weights 1 it averages
all clients, absent ones counting as zero. A round in which nobody takes part changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.errors import InputError, count
from sims.algorithms.arguments import positive
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, Work, total
from sims.arrays import Array


@dataclass(frozen=True)
class Hyper:
    """local_lr, global_lr: step sizes; local_steps: stochastic gradient steps of a client in a round."""

    local_lr: Any
    global_lr: Any = 1
    local_steps: int = 1

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr, global_lr=self.global_lr)
        count("local_steps", self.local_steps)


def init(hyper: Hyper, x0: Array, n_clients: int) -> State:
    return State({"x": x0})


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    return Work(state.linear["x"], hyper.local_steps, hyper.local_lr)


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    update = weighted(local.delta, cohort) / cohort.n_clients
    return State({"x": state.linear["x"] + hyper.global_lr * update})


def weighted(values: Array, cohort: Cohort) -> Array:
    """Sum of the clients' values (..., S, d), each times its weight in the cohort: (..., d)."""
    if cohort.weight is None:
        raise InputError("cohort.weight", None, "an array, since this algorithm weighs what the clients send")
    return total(values, cohort.valid, cohort.weight)


fedavg = Algorithm(
    "fedavg",
    "FedAU, Algorithm 1",
    Hyper,
    init,
    work,
    apply,
    server_vectors=lambda n_clients: 1,
    looks_at=("weighting",),
)
