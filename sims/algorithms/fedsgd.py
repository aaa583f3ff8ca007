"""FedSGD: FedAvg with a single local step, that is, SGD on what the participants' objectives average to.

Source: McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data (AISTATS 2017),
section 2; FedLaAvg compares with it in section 6.1.2. The weights arrive with the cohort as in `fedavg`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sims.algorithms.arguments import positive
from sims.algorithms.fedavg import init, weighted
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, Work


@dataclass(frozen=True)
class Hyper:
    """local_lr: the step size."""

    local_lr: Any

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr)


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    return Work(state.linear["x"], 1, hyper.local_lr)


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    return State({"x": state.linear["x"] + weighted(local.delta, cohort) / cohort.n_clients})


fedsgd = Algorithm(
    "fedsgd", "FedAvg, section 2", Hyper, init, work, apply, server_vectors=lambda n_clients: 1, looks_at=("weighting",)
)
