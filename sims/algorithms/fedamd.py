"""FedAMD: some participants, the anchors, renew cached large-batch gradients; the others, the miners, move the model.

Miners start along g, the mean of the cached gradients of ALL clients as it stood before this round's anchors renew
theirs, and follow a recursive (SARAH) estimate from there: their first step is along g alone. Who is an anchor is
drawn outside (`roles`) and arrives as the cohort's role.

Caches start cold, at zero. The paper's start is warm: one round of all clients, all anchors, before the first. It
leaves the model where it is and fills every cache with a gradient at x0 (`warm` of `sims.rounds.Setup`).

In its public code a probability of exactly 1 yields no anchor at all, and p > 1 stands for `sequential(int(p))`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory import errors
from fltheory.errors import InputError, count
from sims.algorithms.arguments import batch_size, positive
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, Work, mean, total
from sims.arrays import Array, beside, client_rows, put_rows, sum_rows, take_rows, zeros

MINER, ANCHOR = 0, 1


@dataclass(frozen=True)
class Hyper:
    """local_lr, global_lr: step sizes; local_steps: a miner's; batch: an anchor's stochastic gradients, None: exact."""

    local_lr: Any
    global_lr: Any = 1
    local_steps: int = 1
    batch: int | None = 1

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr, global_lr=self.global_lr)
        count("local_steps", self.local_steps)
        batch_size(self.batch)


def sequential(period: int, round: int) -> int:
    """The sequential probability of being an anchor, FedAMD (4): 1 every `period` rounds, otherwise 0.

    >>> [sequential(3, t) for t in range(5)]
    [1, 0, 0, 1, 0]
    """
    return int(round % count("period", period, least=2) == 0)


def roles(probability: Any, shape: tuple[int, ...], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Roles of a cohort of this shape (..., S): each slot is an anchor with `probability`, in [0, 1], else a miner.

    >>> roles(1, (3,), np.random.default_rng(0)), roles(0, (3,), np.random.default_rng(0))
    (array([1, 1, 1]), array([0, 0, 0]))
    """
    chance = errors.probabilities("probability", float(probability), zero=True)
    return np.where(rng.random(shape) < chance, ANCHOR, MINER)


def split(cohort: Cohort) -> tuple[Array, Array]:
    """The valid slots with role 1 and those with role 0, as masks (..., S)."""
    if cohort.role is None:
        raise InputError("role", None, "an array of 0 and 1, one a slot of the cohort")
    return cohort.valid & (cohort.role == ANCHOR), cohort.valid & (cohort.role == MINER)


def init(hyper: Hyper, x0: Array, n_clients: int) -> State:
    return State({"x": x0, "caches": client_rows(n_clients, x0)})


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    x, caches = state.linear["x"], state.linear["caches"]
    return _work(state, cohort, beside(sum_rows(caches), x) / cohort.n_clients, hyper)


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    return State(_moved(state, cohort, local, hyper))


def init_massive(hyper: Hyper, x0: Array, n_clients: int) -> State:
    return State({**init(hyper, x0, n_clients).linear, "direction": zeros(x0.shape, x0)})


def work_massive(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    return _work(state, cohort, state.linear["direction"], hyper)


def apply_massive(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    anchor, _ = split(cohort)
    change = local.gradient - take_rows(state.linear["caches"], cohort.clients)
    direction = state.linear["direction"] + total(change, anchor) / cohort.n_clients
    return State({**_moved(state, cohort, local, hyper), "direction": direction})


def _work(state: State, cohort: Cohort, direction: Array, hyper: Hyper) -> Work:
    anchor, miner = split(cohort)
    x = state.linear["x"]
    return Work(
        x,
        hyper.local_steps,
        hyper.local_lr,
        direction=direction,
        gradient_at=x,
        batch=hyper.batch,
        steps_by=miner,
        gradient_by=anchor,
    )


def _moved(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> dict[str, Array]:
    anchor, miner = split(cohort)
    return {
        "x": state.linear["x"] + hyper.global_lr * mean(local.delta, miner),
        "caches": put_rows(state.linear["caches"], cohort.clients, anchor, local.gradient),
    }


fedamd = Algorithm(
    "fedamd",
    "FedAMD, Algorithm 1",
    Hyper,
    init,
    work,
    apply,
    server_vectors=lambda n_clients: 1 + n_clients,
    down=2,
    looks_at=("roles",),
    warm_role=ANCHOR,
)

fedamd_massive = Algorithm(
    "fedamd_massive",
    "FedAMD, section 3, massive-client settings",
    Hyper,
    init_massive,
    work_massive,
    apply_massive,
    server_vectors=lambda n_clients: 2,
    client_vectors=1,
    down=2,
    looks_at=("roles",),
    warm_role=ANCHOR,
)
