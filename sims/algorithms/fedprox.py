"""FedProx: FedAvg whose local steps are held back by the gradient of (proximal / 2) ||y - x||^2.

Source: Li et al., Federated Optimization in Heterogeneous Networks (MLSys 2020), Algorithm 2, with a fixed number
of local steps as the inexact solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.errors import count
from sims.algorithms.arguments import not_negative, positive
from sims.algorithms.fedavg import apply, init
from sims.algorithms.protocol import Algorithm, Cohort, State, Work


@dataclass(frozen=True)
class Hyper:
    """local_lr, global_lr: step sizes; proximal: mu, 0 is FedAvg; local_steps: of a client in a round."""

    local_lr: Any
    proximal: Any
    global_lr: Any = 1
    local_steps: int = 1

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr, global_lr=self.global_lr)
        not_negative(proximal=self.proximal)
        count("local_steps", self.local_steps)


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    return Work(state.linear["x"], hyper.local_steps, hyper.local_lr, proximal=hyper.proximal)


fedprox = Algorithm(
    "fedprox",
    "FedProx, Algorithm 2",
    Hyper,
    init,
    work,
    apply,
    server_vectors=lambda n_clients: 1,
    looks_at=("weighting",),
)
