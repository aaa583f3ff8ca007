"""Sequential SGD: the model visits one client a round, which makes `local_steps` SGD steps and passes it on.

With a client drawn uniformly at random every round and one step it is plain SGD on the mean objective, the ideal
that FedLaAvg is compared with (FedLaAvg, section 6.1.2); with a fixed order it is cyclic incremental SGD.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.errors import InputError, count
from sims.algorithms.arguments import positive
from sims.algorithms.fedavg import init, work
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, total
from sims.arrays import array_namespace


@dataclass(frozen=True)
class Hyper:
    """local_lr: step size; local_steps: of the visited client."""

    local_lr: Any
    local_steps: int = 1

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr)
        count("local_steps", self.local_steps)


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    xp = array_namespace(local.delta)
    most = int(xp.max(xp.sum(cohort.valid, axis=-1)))
    if most > 1:
        raise InputError("cohort", f"{most} clients", "one client a round for sequential SGD")
    return State({"x": state.linear["x"] + total(local.delta, cohort.valid)})


sequential_sgd = Algorithm(
    "sequential_sgd", "FedLaAvg, section 6.1.2", Hyper, init, work, apply, server_vectors=lambda n_clients: 1
)
