"""BVR-L-SGD: stages that start with large-batch gradients and go on with differences; ONE client's model is taken.

What is implemented, in the letters of its paper. A stage has T inner rounds. Each has two communications, which
here are two rounds of the protocol, told apart by the clock:
report  clients send gradients at x; the direction v is their mean in a stage's first inner round (large batch),
        afterwards v + the mean of (gradient at x) - (gradient where v was last renewed), both on the same samples;
move    clients make K local steps along a recursive estimate that starts with v at x; x becomes the model of the
        client that was picked, uniformly, outside: the slot with role 1. With several picked it is their mean.

The paper has all P clients report and lets each keep its own v; with all of them the mean moves as here. FedAMD's
comparison lets only the sampled ones report, which is what a smaller cohort does here. Its public code draws the
sample once a stage, sets T = ceil(1 + n / (K b)), takes K in {1, 2, 3} as a code for 640/b, 320/b and 1280/b steps,
and divides the difference, already a mean over samples, by b once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.errors import count
from sims.algorithms.arguments import batch_size, positive
from sims.algorithms.fedamd import split
from sims.algorithms.protocol import Algorithm, Cohort, Local, State, Work, mean
from sims.arrays import Array, array_namespace, counters, zeros


@dataclass(frozen=True)
class Hyper:
    """local_lr: step size; local_steps: K; stage: T, inner rounds of a stage.

    batch: stochastic gradients in a stage's first ones, None: exact; a later difference takes as many as K local steps.
    """

    local_lr: Any
    local_steps: int = 1
    stage: int = 1
    batch: int | None = 1

    def __post_init__(self) -> None:
        positive(local_lr=self.local_lr)
        count("local_steps", self.local_steps)
        count("stage", self.stage)
        batch_size(self.batch)


def init(hyper: Hyper, x0: Array, n_clients: int) -> State:
    linear = {"x": x0, "reported": x0, "direction": zeros(x0.shape, x0)}
    return State(linear, {"clock": counters(x0.shape[:-1], x0)})


def work(state: State, cohort: Cohort, hyper: Hyper) -> Work:
    x, reported, direction = (state.linear[name] for name in ("x", "reported", "direction"))
    moves, first = _phase(state)
    if moves:
        picked, _ = split(cohort)
        return Work(x, hyper.local_steps, hyper.local_lr, direction=direction, steps_by=picked)
    if first:
        return Work(x, 0, hyper.local_lr, gradient_at=x, batch=hyper.batch)
    return Work(x, 0, hyper.local_lr, gradient_at=x, gradient_since=reported, batch=hyper.local_steps)


def apply(state: State, cohort: Cohort, local: Local, hyper: Hyper) -> State:
    x, reported, direction = (state.linear[name] for name in ("x", "reported", "direction"))
    moves, first = _phase(state)
    clock = {"clock": (state.discrete["clock"] + 1) % (2 * hyper.stage)}
    if moves:
        picked, _ = split(cohort)
        return State({**state.linear, "x": x + mean(local.delta, picked)}, clock)
    xp = array_namespace(x)
    some = xp.any(cohort.valid, axis=-1)[..., None]
    reply = mean(local.gradient, cohort.valid)
    renewed = reply if first else direction + reply
    linear = {"x": x, "reported": xp.where(some, x, reported), "direction": xp.where(some, renewed, direction)}
    return State(linear, clock)


def _phase(state: State) -> tuple[bool, bool]:
    """Whether this round moves, and whether it belongs to a stage's first inner round; the same in all replicates."""
    clock = int(state.discrete["clock"].reshape(-1)[0])
    return clock % 2 == 1, clock < 2


bvr_l_sgd = Algorithm(
    "bvr_l_sgd",
    "BVR-L-SGD (arXiv 2102.03198)",
    Hyper,
    init,
    work,
    apply,
    server_vectors=lambda n_clients: 3,
    server_counters=lambda n_clients: 1,
    down=2,
    looks_at=("roles",),
)
