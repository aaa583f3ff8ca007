"""SCAFFOLD: local steps along g_i(y) - c_i + c, where c_i estimates a client's gradient and c is their mean.

The server variate c changes by |S|/N times the mean change of the participants' c_i: divided by N, not by the
number of participants, so that c stays the mean over ALL clients (it starts so: everything is zero).

In FedAMD's public code a client's new variate is the mean of its stochastic gradients along the local path. That
is option II, since (x - y_K) / (K local_lr) is that mean plus c - c_i. It starts from full gradients of all clients
at x0: here a first round of all clients with option I, batch=None and global_lr = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.errors import InputError, count
from sims.algorithms.arguments import batch_size, not_negative, positive
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, Work, mean, total
from sims.arrays import Array, client_rows, put_rows, take_rows, zeros


@dataclass(frozen=True)
class Hyper:
    """local_lr, global_lr: step sizes; local_steps: steps of a client in a round.

    option: how a client renews its variate; 1: a gradient at the server's model, of `batch` samples (None: all it
    has); 2: from the local steps already made, c_i - c + (x - y_K) / (local_steps local_lr).
    """

    local_lr: Any
    global_lr: Any = 1
    local_steps: int = 1
    option: int = 2
    batch: int | None = 1

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr)
        not_negative(global_lr=self.global_lr)
        count("local_steps", self.local_steps)
        batch_size(self.batch)
        if self.option is True or self.option not in (1, 2):
            raise InputError("option", self.option, "1 or 2")


def init(hyper: Hyper, x0: Array, n_clients: int) -> State:
    return State({"x": x0, "variate": zeros(x0.shape, x0), "variates": client_rows(n_clients, x0)})


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    x = state.linear["x"]
    correction = state.linear["variate"][..., None, :] - take_rows(state.linear["variates"], cohort.clients)
    return Work(
        x,
        hyper.local_steps,
        hyper.local_lr,
        correction=correction,
        gradient_at=x if hyper.option == 1 else None,
        batch=hyper.batch,
    )


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    x, variate, variates = (state.linear[name] for name in ("x", "variate", "variates"))
    own = take_rows(variates, cohort.clients)
    if hyper.option == 1:
        renewed = local.gradient
    else:
        renewed = own - variate[..., None, :] - local.delta / (hyper.local_steps * hyper.local_lr)
    return State(
        {
            "x": x + hyper.global_lr * mean(local.delta, cohort.valid),
            "variate": variate + total(renewed - own, cohort.valid) / cohort.n_clients,
            "variates": put_rows(variates, cohort.clients, cohort.valid, renewed),
        }
    )


scaffold = Algorithm(
    "scaffold",
    "SCAFFOLD (ICML 2020), Algorithm 1",
    Hyper,
    init,
    work,
    apply,
    server_vectors=lambda n_clients: 2,
    client_vectors=1,
    down=2,
    up=2,
)
