"""Minibatch SGD: participants average `batch` stochastic gradients at the server's model, the server makes one step.

Source: Woodworth et al., Is Local SGD Better than Minibatch SGD? (ICML 2020); FedAMD compares with it in
Table 1. As many samples as FedAvg with `batch` local steps uses, but all at one point. The weights arrive
with the cohort as in `fedavg`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.errors import count
from sims.algorithms.arguments import positive
from sims.algorithms.fedavg import init, weighted
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, Work


@dataclass(frozen=True)
class Hyper:
    """global_lr: step size; batch: stochastic gradients in a client's."""

    global_lr: Any
    batch: int = 1

    def __post_init__(self) -> None:
        positive(global_lr=self.global_lr)
        count("batch", self.batch)


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    return Work(state.linear["x"], 0, 0, gradient_at=state.linear["x"], batch=hyper.batch)


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    return State({"x": state.linear["x"] - hyper.global_lr * weighted(local.gradient, cohort) / cohort.n_clients})


minibatch_sgd = Algorithm(
    "minibatch_sgd",
    "Minibatch SGD (ICML 2020)",
    Hyper,
    init,
    work,
    apply,
    server_vectors=lambda n_clients: 1,
    looks_at=("weighting",),
)
