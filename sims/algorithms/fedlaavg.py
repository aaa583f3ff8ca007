"""FedLaAvg: the server moves along the average of every client's LATEST update, absent clients included.

Source: Distributed Non-Convex Optimization with Sublinear Speedup under Intermittent Client Availability (arXiv
2002.07399). Algorithm 2 (communication rounds) is here as it stands, and with one local step it is Algorithm 1:

    u += (1/N) sum over participants (u_i new - u_i old),     x += u,

all u_i zero at the start, so a client that never took part counts as zero, and a round without participants still
moves x. The server needs u only, the clients keep their u_i; with `refresh` the average is taken anew from the u_i
every so many rounds, so that rounding errors of the running average cannot pile up (`drift` measures them).

Which clients take part is `sims.selection.least_recently_used`; for it the state counts for each client the rounds
since it last took part, "age" = t - T_i in the paper's letters (never: since the start).

Unbalanced data: the paper's objective is sum_i w_i f_i with w_i the clients' shares of the data. Its section 2 and
its proofs take gradients of w_i N f_i, its pseudo-code omits that factor and so minimises the plain mean of the
f_i. `as_in_paper` is the pseudo-code, `as_in_code` has the factor and remembers sums of gradients rather than
updates, as the authors' program does; that matters only if the step size changes between rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fltheory.errors import InputError, count
from sims.algorithms.arguments import not_negative, positive, truth
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, Work, total
from sims.arrays import (
    Array,
    array_namespace,
    beside,
    client_rows,
    counters,
    device,
    marked,
    put_rows,
    sum_rows,
    take_rows,
    zeros,
)


@dataclass(frozen=True)
class Hyper:
    """Parameters of FedLaAvg.

    local_lr         step size
    local_steps      C, steps of a client in a round; 1 is Algorithm 1
    weights          w_i, the clients' shares of the data, which add up to 1; None for no factor w_i N
    gradient_memory  remember updates divided by the step size
    refresh          rounds from one exact average to the next, None for never
    """

    local_lr: Any
    local_steps: int = 1
    weights: tuple[Any, ...] | None = None
    gradient_memory: bool = False
    refresh: int | None = None

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr)
        count("local_steps", self.local_steps)
        if self.refresh is not None:
            count("refresh", self.refresh)
        truth(gradient_memory=self.gradient_memory)
        if self.weights is not None:
            if not isinstance(self.weights, Sequence | np.ndarray) or isinstance(self.weights, str):
                raise InputError("weights", self.weights, "a list with a share for each client")
            for weight in self.weights:
                not_negative(weights=weight)
            if abs(sum(self.weights) - 1) > 1e-9:
                raise InputError("weights", self.weights, "shares that add up to 1")


def as_in_paper(local_lr: Any, local_steps: int = 1) -> Hyper:
    """Algorithms 1 and 2 to the letter."""
    return Hyper(local_lr, local_steps)


def as_in_code(local_lr: Any, local_steps: int, weights: tuple[Any, ...]) -> Hyper:
    """The authors' program: client i's loss times w_i N, and a memory of gradient sums."""
    return Hyper(local_lr, local_steps, weights, gradient_memory=True)


def init(hyper: Hyper, x0: Array, n_clients: int) -> State:
    if hyper.weights is not None and len(hyper.weights) != n_clients:
        raise InputError("weights", hyper.weights, f"one number for each of the {n_clients} clients")
    batch = x0.shape[:-1]
    linear = {"x": x0, "latest": client_rows(n_clients, x0), "average": zeros(x0.shape, x0)}
    return State(linear, {"age": counters((*batch, n_clients), x0), "clock": counters(batch, x0)})


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    """A loss that is scaled by w_i N takes steps that are scaled by it."""
    x, step_size = state.linear["x"], hyper.local_lr
    if hyper.weights is not None:
        shares = array_namespace(x).asarray(hyper.weights, dtype=x.dtype, device=device(x))
        step_size = step_size * cohort.n_clients * shares[cohort.clients][..., None]
    return Work(x, hyper.local_steps, step_size)


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    xp = array_namespace(local.delta)
    unit = hyper.local_lr if hyper.gradient_memory else 1
    latest, fresh = state.linear["latest"], local.delta / unit
    change = total(fresh - take_rows(latest, cohort.clients), cohort.valid)
    latest = put_rows(latest, cohort.clients, cohort.valid, fresh)
    average = state.linear["average"] + change / cohort.n_clients
    clock = state.discrete["clock"]
    if hyper.refresh is not None:
        clock = (clock + 1) % hyper.refresh
        if bool(xp.any(clock == 0)):  # spares a sum over all clients in most rounds
            average = xp.where((clock == 0)[..., None], _mean(latest, average), average)
    taking_part = marked(cohort.clients, cohort.valid, cohort.n_clients)
    age = xp.where(taking_part, 0, state.discrete["age"] + 1)
    x = state.linear["x"] + unit * average
    return State({"x": x, "latest": latest, "average": average}, {"age": age, "clock": clock})


def drift(state: State) -> Array:
    """Running average minus the exact average of all latest updates, (..., d): zero but for rounding errors."""
    return state.linear["average"] - _mean(state.linear["latest"], state.linear["average"])


def _mean(table: Array, model: Array) -> Array:
    return beside(sum_rows(table), model) / table.shape[-2]


fedlaavg = Algorithm(
    "fedlaavg",
    "FedLaAvg, Algorithms 1 and 2",
    Hyper,
    init,
    work,
    apply,
    server_vectors=lambda n_clients: 2,
    client_vectors=1,
    server_counters=lambda n_clients: n_clients + 1,
)
