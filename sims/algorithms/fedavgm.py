"""FedAvgM: FedAvg with momentum on the server, v <- momentum v + (1/N) sum_n w_n Delta_n, x <- x + global_lr v.

Source: Hsu et al., Measuring the Effects of Non-Identical Data Distribution for Federated Visual Classification
(arXiv 1909.06335). The weights arrive with the cohort as in `fedavg`. The paper's cohorts are never
empty; a round in which nobody takes part changes neither the model nor the momentum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.errors import InputError, count
from sims.algorithms.arguments import not_negative, positive
from sims.algorithms.fedavg import weighted, work
from sims.algorithms.protocol import Algorithm, Cohort, Local, State
from sims.arrays import Array, array_namespace, zeros


@dataclass(frozen=True)
class Hyper:
    """local_lr, global_lr: step sizes; momentum: in [0, 1), 0 is FedAvg; local_steps: of a client in a round."""

    local_lr: Any
    momentum: Any
    global_lr: Any = 1
    local_steps: int = 1

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr, global_lr=self.global_lr)
        not_negative(momentum=self.momentum)
        if self.momentum >= 1:
            raise InputError("momentum", self.momentum, "in [0, 1)")
        count("local_steps", self.local_steps)


def init(hyper: Hyper, x0: Array, n_clients: int) -> State:
    return State({"x": x0, "velocity": zeros(x0.shape, x0)})


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    xp = array_namespace(local.delta)
    x, before = state.linear["x"], state.linear["velocity"]
    velocity = hyper.momentum * before + weighted(local.delta, cohort) / cohort.n_clients
    anybody = xp.any(cohort.valid, axis=-1)[..., None]
    return State(
        {
            "x": xp.where(anybody, x + hyper.global_lr * velocity, x),
            "velocity": xp.where(anybody, velocity, before),
        }
    )


fedavgm = Algorithm(
    "fedavgm",
    "FedAvgM (arXiv 1909.06335)",
    Hyper,
    init,
    work,
    apply,
    server_vectors=lambda n_clients: 2,
    looks_at=("weighting",),
)
