"""FedAvg that takes a step only when enough clients answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.errors import count
from sims.algorithms.arguments import positive
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, Work, mean
from sims.arrays import array_namespace


@dataclass(frozen=True)
class Hyper:
    """local_lr: step size, a float or a Fraction; quorum: fewest clients for a step; local_steps of each of them."""

    local_lr: Any
    quorum: int
    local_steps: int = 1


def init(hyper: Hyper, x0: Any, n_clients: int) -> State:
    positive(local_lr=hyper.local_lr)
    count("quorum", hyper.quorum, most=n_clients)
    count("local_steps", hyper.local_steps)
    return State({"x": x0})


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    return Work(state.linear["x"], hyper.local_steps, hyper.local_lr)


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    x = state.linear["x"]
    xp = array_namespace(x)
    enough = xp.sum(cohort.valid, axis=-1) >= hyper.quorum
    return State({"x": xp.where(enough[..., None], x + mean(local.delta, cohort.valid), x)})


quorum = Algorithm("quorum", "examples/plugin", Hyper, init, work, apply, server_vectors=lambda n_clients: 1)
