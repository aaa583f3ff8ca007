"""What can be known to be wrong before anything runs."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np

from fltheory.errors import InputError
from fltheory.streams import stream
from sims.catalogue import setup_of
from sims.experiment import Experiment
from sims.recorder import Record, check_metrics
from sims.rounds import Setup, Simulation, stable_step


@lru_cache(maxsize=64)
def setup(canonical: str, index: int) -> Setup:
    """What the algorithm of this index runs in, from the canonical form of an experiment; made once a process."""
    return setup_of(json.loads(canonical), index)


def start(experiment: Experiment, replicates: int, dimension: int) -> np.ndarray:
    """The first models, (replicates, dimension)."""
    given = np.asarray(experiment.start, dtype=np.float64)
    if given.shape not in ((), (dimension,)):
        raise InputError("start", experiment.start, f"a number, or {dimension} numbers for this problem")
    return np.broadcast_to(given, (replicates, dimension)).copy()


def record(experiment: Experiment) -> Record:
    """An empty record."""
    assert experiment.record.every is not None  # filled in by the canonical form
    return Record(tuple(experiment.record.what), experiment.record.every, experiment.rounds)


def check(experiment: Experiment) -> None:
    """Raise InputError, one sentence, for whatever does not fit together.

    One replicate of every algorithm goes through its first round, so that what only a round can tell is told here.
    """
    for index in range(len(experiment.algorithm)):
        one = setup(experiment.canonical, index)
        check_metrics(tuple(experiment.record.what), one.problem, one.rates)
        _check_step(one, experiment.rounds)
        first = start(experiment, 1, one.problem.dimension)
        rng = stream(experiment.seed, "preflight")
        Simulation(one, first, experiment.rounds, rng, record(experiment)).advance(1)


def _check_step(one: Setup, rounds: int) -> None:
    """Refuse local steps that move away from the client's own minimum, on strongly convex problems."""
    hyper: Any = one.hyper
    lr, steps = getattr(hyper, "local_lr", 0), getattr(hyper, "local_steps", 1)
    largest = stable_step(one.problem)
    if steps > 1 and one.problem.constants.strong_convexity and lr * one.schedule(0, rounds) > largest:
        allowed = f"at most {largest:g} = 2 / smoothness on this problem, or local steps diverge"
        raise InputError("local_lr", lr, allowed)
