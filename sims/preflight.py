"""What can be known to be wrong before anything runs."""

from __future__ import annotations

import json
import logging
import math
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import device

from fltheory.errors import InputError
from fltheory.participation import Recorded
from fltheory.streams import stream
from sims.arrays import Array, array_namespace
from sims.catalogue import label_of, setup_of
from sims.divergence import Stopped, stable_step
from sims.experiment import Experiment, Origin
from sims.problems.base import Problem
from sims.recorder import METRICS, Record, check_metrics, recorded
from sims.refusals import about, building
from sims.rounds import Setup, Simulation
from sims.schedules import constant, scheduled

log = logging.getLogger(__name__)

MOST_BYTES = 2**34  # of arrays that an experiment may need: 16 GiB
MOST_STEPS = 10**6  # gradients that a client may compute in a round


@lru_cache(maxsize=64)
def setup(canonical: str, index: int) -> Setup:
    """What the algorithm of this index runs in, from the canonical form of an experiment; made once a process."""
    return setup_of(_of_canonical(canonical), index)


def _of_canonical(text: str) -> Any:
    """The mapping of a canonical form; minus infinity, allowed nowhere, as the number that a refusal must show."""
    return _with_minus_infinity(json.loads(text))


def _with_minus_infinity(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_minus_infinity(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_minus_infinity(inner) for inner in value]
    return -math.inf if value == "-inf" else value


def start(experiment: Experiment, replicates: int, problem: Problem, model: npt.NDArray[Any] | None = None) -> Array:
    """The first models, (replicates, dimension); of training, the task's own, or the model (d,) of another run."""
    if experiment.kind == "train":
        own: Array = problem.start[None]  # type: ignore[attr-defined]
        if isinstance(experiment.start, Origin):
            assert model is not None  # found before anything runs
            if model.shape != own.shape[1:]:
                allowed = f"a run whose models have {own.shape[1]} parameters, not {len(model)}"
                raise InputError("start.run", experiment.start.run[:12], allowed)
            return array_namespace(own).asarray(model[None], dtype=own.dtype, device=device(own))
        if experiment.start:
            raise InputError("start", experiment.start, "left out: a model has its own first parameters")
        return own
    assert not isinstance(experiment.start, Origin)  # refused when it is read
    dimension = problem.dimension
    given = np.asarray(experiment.start, dtype=np.float64)
    if given.shape not in ((), (dimension,)):
        raise InputError("start", experiment.start, f"a number, or {dimension} numbers for this problem")
    return np.broadcast_to(given, (replicates, dimension)).copy()


def record(experiment: Experiment) -> Record:
    """An empty record."""
    assert experiment.record.every is not None  # filled in by the canonical form
    return Record(tuple(experiment.record.what), experiment.record.every, experiment.rounds)


def check(experiment: Experiment, model: npt.NDArray[Any] | None = None) -> None:
    """Raise InputError, one sentence, for whatever does not fit together; log what is only doubtful.

    model   (d,) that the first replicate begins with, where that is of another run

    One replicate of every algorithm goes through its first round, so that what only a round can tell is told here.
    """
    canonical, doubts = _of_canonical(experiment.canonical), []
    for index, contestant in enumerate(canonical["algorithm"]):
        one = setup_of(canonical, index) if experiment.kind == "train" else setup(experiment.canonical, index)
        label = label_of(canonical, contestant)
        with about(label):
            check_metrics(tuple(experiment.record.what), one.problem, one.rates)
            _check_size(experiment, one)
            _check_log(one.process, experiment.rounds)
            _check_schedule(one, experiment.rounds)
            with building(f"algorithm {contestant['name']}", contestant), _suffering(experiment):
                _run_first_round(experiment, one, model)
        doubts += _doubt_step(one, experiment.rounds, label)
    for doubt in doubts:  # what is refused says nothing else
        log.warning("warning: %s", doubt)


def _suffering(experiment: Experiment) -> AbstractContextManager[None]:
    """One training that diverges, or whose module fails, does not keep the others of its experiment from being run."""
    return suppress(Stopped) if experiment.kind == "train" else nullcontext()


def _run_first_round(experiment: Experiment, one: Setup, model: npt.NDArray[Any] | None) -> None:
    """With the step size of the whole run, but a trace of this round alone."""
    if one.schedule is not constant():
        factor = one.schedule
        one = replace(one, schedule=lambda round, rounds: factor(round, experiment.rounds))
    first, rng = start(experiment, 1, one.problem, model), stream(experiment.seed, "preflight")
    Simulation(one, first, 1, rng, Record(tuple(experiment.record.what), 1, 1)).advance()


def _check_size(experiment: Experiment, one: Setup) -> None:
    """Refuse what no memory holds, by an estimate of the largest arrays."""
    assert experiment.record.every is not None  # filled in by the canonical form
    n_clients, kept = one.problem.n_clients, recorded(experiment.rounds, experiment.record.every)
    columns = 3 + sum(METRICS[what].columns(one.problem) for what in experiment.record.what)
    rows = kept * len(experiment.algorithm)
    for name, value, each in (
        ("rounds", experiment.rounds, n_clients),
        ("rounds", experiment.rounds, Fraction(8 * columns * rows, experiment.rounds)),
        ("replicates", experiment.replicates, 8 * columns * rows),
    ):
        if value * each > MOST_BYTES:
            most = f"{int(MOST_BYTES / each):,}"
            raise InputError(name, value, f"at most {most}, as what is kept would take more than 16 GiB")
    for name in ("local_steps", "batch"):
        value = getattr(one.hyper, name, None) or 0
        if value > MOST_STEPS:
            raise InputError(name, value, f"at most {MOST_STEPS:,}")


def _check_log(process: Any, rounds: int) -> None:
    if isinstance(process, Recorded) and process.end == "raise" and rounds > process.n_rounds:
        allowed = f'at most the {process.n_rounds} rounds of the log, as the process has end = "raise"'
        raise InputError("rounds", rounds, allowed)


def _check_schedule(one: Setup, rounds: int) -> None:
    """The factors of the schedules here are the most extreme at the ends of a run."""
    if one.schedule is not constant():
        for round in (0, rounds - 1):
            scheduled(one.schedule, one.hyper.local_lr, round, rounds)


def _doubt_step(one: Setup, rounds: int, label: str) -> list[str]:
    """A warning of local steps that may move away from a client's own minimum, on strongly convex problems.

    Clients differ in curvature, so that what is too large for one of them may still be stable on the whole.
    """
    hyper: Any = one.hyper
    lr, steps = getattr(hyper, "local_lr", 0), getattr(hyper, "local_steps", 1)
    largest = stable_step(one.problem)
    if steps > 1 and one.problem.constants.strong_convexity and lr * one.schedule(0, rounds) > largest:
        who = f"algorithm {label!r}: " if label else ""
        return [f"{who}local_lr {lr:g} is above {largest:g} = 2 / smoothness, local steps may diverge"]
    return []
