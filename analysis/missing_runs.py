"""Runs that figures and tables lack: how long they will take, and running them."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path
from typing import Any

from analysis.train_command import run_training
from sims.experiment import Experiment, read
from sims.montecarlo.simulate import simulate
from sims.store import Run
from sims.training.run import One

PROBE = 3  # rounds that are timed
UNITS = {"days": 86_400, "h": 3600, "min": 60, "s": 1}


def run_file(file: str, scale: str, store: Path) -> Run:
    """Run the experiment of a file, or go on with it; before it that with whose models it begins."""
    experiment = read(file, scale)
    content = tomllib.loads(Path(file).read_text(encoding="utf-8-sig"))
    start = content.get("scale", {}).get(scale, {}).get("start", content.get("start"))
    if isinstance(start, dict) and "file" in start:
        run_file(str(Path(file).parent / start["file"]), scale, store)
    return run_training(experiment, store=store) if experiment.kind == "train" else simulate(experiment, store=store)


def seconds(file: str, scale: str) -> float:
    """How long a file's runs take on one core here, by the first rounds of one of them.

    Files with the same problem are taken to be as fast as the first of them; a simulation is counted without what it
    gains where replicates run together. Raises InputError for what keeps the file from being run, such as data that
    were not fetched.
    """
    experiment = read(file, scale)
    problem = json.dumps(json.loads(experiment.canonical)["problem"])
    if problem not in _paces:
        _paces[problem] = _pace(experiment)
    a_round, a_record = _paces[problem]
    records = experiment.rounds // (experiment.record.every or 1) + 1
    return experiment.replicates * len(experiment.algorithm) * (experiment.rounds * a_round + records * a_record)


_paces: dict[str, tuple[float, float]] = {}


def _pace(experiment: Experiment) -> tuple[float, float]:
    """Seconds that a round and an evaluation of the first algorithm take, with one seed, from whatever models."""
    anew = json.dumps(json.loads(experiment.canonical) | {"start": 0.0})  # those of another run may not be there
    simulation = One(anew, 0, 0).simulation()
    task: Any = simulation.setup.problem
    simulation.advance(1)  # the first round has loading of libraries in it; it is recorded, so it evaluates
    evaluating = getattr(task, "seconds_evaluating", 0.0)
    until = min(1 + PROBE, experiment.rounds)
    began = time.perf_counter()
    simulation.advance(until)
    spent = time.perf_counter() - began - (getattr(task, "seconds_evaluating", 0.0) - evaluating)
    return spent / max(1, until - 1), evaluating


def in_words(duration: float) -> str:
    """Seconds as a whole number of the largest unit that it has at least two of.

    >>> in_words(0.3), in_words(100), in_words(3600), in_words(260_000)
    ('1 s', '100 s', '60 min', '3 days')
    """
    for name, size in UNITS.items():
        if duration >= 2 * size or size == 1:
            return f"{max(1, round(duration / size))} {name}"
    raise AssertionError("the last unit has size 1")
