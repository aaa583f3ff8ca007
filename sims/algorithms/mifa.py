"""MIFA: every round moves along the average of all clients' latest updates, kept in a table on the server.

Source: Gu et al., Fast Federated Learning in the Presence of Arbitrary Device Unavailability (NeurIPS 2021),
Algorithm 1: G_i <- the update of client i divided by the step size if it takes part, else as it was, then
x <- x + local_lr (1/N) sum_i G_i. A round without participants moves x as well.

The paper has everybody take part in the first round. `as_in_paper` therefore waits: until each client has answered
once the model stays where it is and only the table fills. `as_in_code` is the zero start of FedAU's public code:
the table begins with zeros and the model moves at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from fltheory.errors import count
from sims.algorithms.arguments import positive, truth
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, Work
from sims.arrays import Array, array_namespace, beside, client_rows, counters, marked, put_rows, sum_rows, zeros


@dataclass(frozen=True)
class Hyper:
    """local_lr, global_lr: step sizes; local_steps: K; wait: whether the model waits for every client's first."""

    local_lr: Any
    global_lr: Any = 1
    local_steps: int = 1
    wait: bool = True

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr, global_lr=self.global_lr)
        count("local_steps", self.local_steps)
        truth(wait=self.wait)


as_in_paper, as_in_code = partial(Hyper, wait=True), partial(Hyper, wait=False)


def init(hyper: Hyper, x0: Array, n_clients: int) -> State:
    return State({"x": x0, "latest": client_rows(n_clients, x0)}, {"seen": counters((*x0.shape[:-1], n_clients), x0)})


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    return Work(state.linear["x"], hyper.local_steps, hyper.local_lr)


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    xp = array_namespace(local.delta)
    x = state.linear["x"]
    latest = put_rows(state.linear["latest"], cohort.clients, cohort.valid, local.delta / hyper.local_lr)
    seen = xp.where(marked(cohort.clients, cohort.valid, cohort.n_clients), 1, state.discrete["seen"])
    step = hyper.global_lr * hyper.local_lr * beside(sum_rows(latest), x) / cohort.n_clients
    if hyper.wait:
        step = xp.where(xp.all(seen > 0, axis=-1)[..., None], step, zeros(x.shape, x))
    return State({"x": x + step, "latest": latest}, {"seen": seen})


mifa = Algorithm(
    "mifa",
    "MIFA, Algorithm 1",
    Hyper,
    init,
    work,
    apply,
    server_vectors=lambda n_clients: n_clients + 1,
    server_counters=lambda n_clients: n_clients,
)
