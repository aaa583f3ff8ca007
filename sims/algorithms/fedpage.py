"""FedPAGE: the server's gradient estimate is renewed by a full round now and then, and updated by differences else.

What is implemented, in the letters of its paper: in a full round (probability p_r, drawn outside and given as role 1
for every slot; the first round is one) every participant reports a large-batch gradient at x_r, and g_r is their
mean. In any other round a participant makes K local steps along a recursive estimate that starts with
g_{r-1} + (gradient at x_r) - (gradient at x_{r-1}), both on one sample, and g_r is the mean of
(x_r - y_K) / (K local_lr). The server then moves: x_{r+1} = x_r - global_lr g_r.

A full round of the paper asks all N clients; so does ours if the cohort holds them, otherwise it averages those who
are there, as in FedAMD's comparison under partial participation. That comparison's public code makes K + 1 steps
and divides by K local_lr, takes the first difference on the client's whole data (here: on one sample, like a step),
and fixes p_r at 0.5 (Fashion-MNIST) or 0.2 (EMNIST).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.errors import count
from sims.algorithms.arguments import batch_size, positive
from sims.algorithms.fedamd import split
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, Work, mean
from sims.arrays import Array, array_namespace, zeros


@dataclass(frozen=True)
class Hyper:
    """local_lr, global_lr: step sizes; local_steps: K; batch: stochastic gradients in a full round's, None: exact.

    The server's step is global_lr times a gradient, not times a sum of local steps: global_lr = K local_lr moves it
    by the mean of the local updates.
    """

    local_lr: Any
    global_lr: Any
    local_steps: int = 1
    batch: int | None = 1

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr, global_lr=self.global_lr)
        count("local_steps", self.local_steps)
        batch_size(self.batch)


def init(hyper: Hyper, x0: Array, n_clients: int) -> State:
    return State({"x": x0, "previous": x0, "direction": zeros(x0.shape, x0)})


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    full, partial = split(cohort)
    x, previous, direction = (state.linear[name] for name in ("x", "previous", "direction"))
    return Work(
        x,
        hyper.local_steps,
        hyper.local_lr,
        direction=direction,
        previous=previous,
        gradient_at=x,
        batch=hyper.batch,
        steps_by=partial,
        gradient_by=full,
    )


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    full, partial = split(cohort)
    x, previous, direction = (state.linear[name] for name in ("x", "previous", "direction"))
    xp = array_namespace(x)
    any_full, any_partial = (xp.any(slots, axis=-1)[..., None] for slots in (full, partial))
    stepped = mean(local.delta, partial) / (-hyper.local_steps * hyper.local_lr)
    direction = xp.where(any_full, mean(local.gradient, full), xp.where(any_partial, stepped, direction))
    some = any_full | any_partial
    return State(
        {
            "x": xp.where(some, x - hyper.global_lr * direction, x),
            "previous": xp.where(some, x, previous),
            "direction": direction,
        }
    )


fedpage = Algorithm(
    "fedpage",
    "FedPAGE (arXiv 2108.04755)",
    Hyper,
    init,
    work,
    apply,
    server_vectors=lambda n_clients: 3,
    down=3,
    looks_at=("roles",),
)
