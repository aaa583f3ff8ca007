"""Generalised FedAvg that amplifies what a whole interval of rounds achieved, and its rivals that wait.

Source: A Unified Analysis of Federated Learning with Arbitrary Client Participation (NeurIPS 2022). `amplified` is
its Algorithm 1: x += sum_n q_n Delta_n, and after every `interval` rounds x += (amplification - 1) u, where u is
the sum of the interval's updates, which then starts again from zero (the printed box omits that; without it the
same updates would be amplified over and over). The participation weights q_n, which the paper has add up to 1, are
the cohort's weights divided by N, as for every algorithm here: a plain average of the participants has weights
N/|S|. An interval that the run does not finish is not amplified.

`wait_minibatch` and `wait_full` (section 5, "Waiting for All Clients", and section 6) leave the model where it is
for `interval` rounds, average each client's gradients at that model, drawn on minibatches or taken on all of its
data, and make one step along the mean over clients. The paper assumes that everybody takes part at least once in
an interval; whoever did not is left out of that mean here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.errors import count
from sims.algorithms.arguments import positive
from sims.algorithms.fedavg import weighted
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, Work
from sims.arrays import (
    Array,
    array_namespace,
    beside,
    cleared,
    client_rows,
    counters,
    marked,
    put_rows,
    sum_rows,
    take_rows,
    zeros,
)


@dataclass(frozen=True)
class Hyper:
    """local_lr: local step size; amplification: eta > 0, 1 for none; interval: P rounds; local_steps: I."""

    local_lr: Any
    amplification: Any
    interval: int
    local_steps: int = 1

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr, amplification=self.amplification)
        count("interval", self.interval)
        count("local_steps", self.local_steps)


def init(hyper: Hyper, x0: Array, n_clients: int) -> State:
    return State({"x": x0, "accumulated": zeros(x0.shape, x0)}, {"clock": counters(x0.shape[:-1], x0)})


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    return Work(state.linear["x"], hyper.local_steps, hyper.local_lr)


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    xp = array_namespace(local.delta)
    update = weighted(local.delta, cohort) / cohort.n_clients
    accumulated = state.linear["accumulated"] + update
    clock = (state.discrete["clock"] + 1) % hyper.interval
    due, nothing = (clock == 0)[..., None], zeros(accumulated.shape, accumulated)
    x = state.linear["x"] + update + (hyper.amplification - 1) * xp.where(due, accumulated, nothing)
    return State({"x": x, "accumulated": xp.where(due, nothing, accumulated)}, {"clock": clock})


amplified = Algorithm(
    "amplified",
    "amplified FedAvg, Algorithm 1",
    Hyper,
    init,
    work,
    apply,
    server_vectors=lambda n_clients: 2,
    server_counters=lambda n_clients: 1,
    looks_at=("weighting",),
)


@dataclass(frozen=True)
class WaitHyper:
    """global_lr: step size; interval: P rounds; batch: stochastic gradients in one (none in wait_full)."""

    global_lr: Any
    interval: int
    batch: int = 1

    def __post_init__(self) -> None:
        positive(global_lr=self.global_lr)
        count("interval", self.interval)
        count("batch", self.batch)


def wait_init(hyper: WaitHyper, x0: Array, n_clients: int) -> State:
    batch = x0.shape[:-1]
    linear = {"x": x0, "gradients": client_rows(n_clients, x0)}
    return State(linear, {"clock": counters(batch, x0), "taken": counters((*batch, n_clients), x0)})


def wait_minibatch_work(state: State, cohort: Cohort, hyper: WaitHyper) -> Work:
    return Work(state.linear["x"], 0, 0, gradient_at=state.linear["x"], batch=hyper.batch)


def wait_full_work(state: State, cohort: Cohort, hyper: WaitHyper) -> Work:
    return Work(state.linear["x"], 0, 0, gradient_at=state.linear["x"], batch=None)


def wait_apply(state: State, cohort: Cohort, local: Local, hyper: WaitHyper) -> State:
    """The table holds each client's sum of gradients in this interval, `taken` how many they are."""
    xp = array_namespace(local.gradient)
    x, table = state.linear["x"], state.linear["gradients"]
    table = put_rows(table, cohort.clients, cohort.valid, take_rows(table, cohort.clients) + local.gradient)
    taken = state.discrete["taken"] + marked(cohort.clients, cohort.valid, cohort.n_clients)
    clock = (state.discrete["clock"] + 1) % hyper.interval
    if bool(xp.all(clock == 0)):  # in all replicates at once; only then all of the table is looked at
        heard = xp.sum(taken > 0, axis=-1)
        shares = (zeros(taken.shape, table) + 1) / beside(xp.where(taken > 0, taken, 1), table)
        gradient = beside(sum_rows(table, shares), x) / xp.where(heard > 0, heard, 1)[..., None]
        x, table, taken = x - hyper.global_lr * gradient, cleared(table), 0 * taken
    return State({"x": x, "gradients": table}, {"clock": clock, "taken": taken})


wait_minibatch, wait_full = (
    Algorithm(
        name,
        "amplified FedAvg, sections 5 and 6",
        WaitHyper,
        wait_init,
        work_of,
        wait_apply,
        server_vectors=lambda n_clients: 1,
        client_vectors=1,
        server_counters=lambda n_clients: 1,
        client_counters=1,
    )
    for name, work_of in (("wait_minibatch", wait_minibatch_work), ("wait_full", wait_full_work))
)
