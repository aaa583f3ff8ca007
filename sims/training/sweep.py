"""Step sizes by search: first local_lr at global_lr = 1, then global_lr, for each algorithm by itself (FedAU, C.4).

Algorithms that have one of the two are searched in that alone.

[sweep]                       # in the file of an experiment, whose own step sizes are then ignored
local_lr = [0.01, 0.032, 0.1]
global_lr = [1, 3.2, 10]
metric = "train_loss"         # the least is best; of an accuracy the largest; in simulation "objective"
last = 1                      # mean over so many last records and over all replicates; at most all, with the start
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import polars as pl

from fltheory.errors import InputError, count, one_of
from sims.algorithms import algorithms
from sims.divergence import Stopped
from sims.experiment import Experiment, check_sweep, parse
from sims.recorder import EVALUATED, PER_CLIENT, recorded
from sims.store import Run

RANKED = {  # what says how good a model is, by the kind of the experiment
    "train": (*(name for name in EVALUATED if name not in PER_CLIENT), "objective", "squared_gradient"),
    "simulate": ("objective", "objective_gap", "squared_gradient", "squared_distance"),
}


@dataclass(frozen=True)
class Point:
    """What one algorithm came to with one pair of step sizes; one that it does not have is None.

    value     of the metric; NaN if a replicate stopped before its end
    key       of the run in the store
    stopped   where and why replicates stopped before their end, a sentence for each
    """

    algorithm: str
    local_lr: float | None
    global_lr: float | None
    value: float
    key: str
    stopped: tuple[str, ...] = ()


def sweep(content: Mapping[str, Any], run: Callable[[Experiment], Run]) -> tuple[list[Point], dict[str, Point]]:
    """All points, in the order they were run, and the best of each algorithm that came to an end with any.

    content   of an experiment file with a table `sweep`
    run       runs an experiment; what it finds in a store it need not run again

    Raises InputError for a bad table, and what `run` raises.
    """
    grid, base = _checked(content)
    whole = parse(base)
    assert whole.record.every is not None  # filled in by the canonical form
    if grid["last"] > (records := recorded(whole.rounds, whole.record.every)):
        raise InputError("sweep.last", grid["last"], f"at most {records}, the number of records")
    labels = [contestant.label or contestant.name for contestant in whole.algorithm]
    points: list[Point] = []
    best: dict[str, Point] = {}

    def go(chosen: Mapping[str, Mapping[str, float]]) -> None:
        experiment = parse(_with_steps(base, labels, chosen))
        try:
            done = run(experiment)
        except Stopped as stop:  # of a simulation, which ends with the first algorithm that diverges
            if len(chosen) > 1:
                for label, steps in chosen.items():
                    go({label: steps})
                return
            ((label, steps),) = chosen.items()
            points.append(_point(label, steps, math.nan, experiment.key, (str(stop),)))
            return
        data = done.data()
        for label, steps in chosen.items():
            value, stopped = _value(data, label, experiment, grid), _stopped(done.reason, label, labels)
            point = _point(label, steps, value, done.key, stopped)
            points.append(point)
            if _better(point.value, best[label].value if label in best else math.nan, grid["metric"]):
                best[label] = point

    sizes = {label: _step_sizes(one.name) for label, one in zip(labels, whole.algorithm, strict=True)}
    for label, own in sizes.items():
        if not own:
            raise InputError("algorithm", label, "one with local_lr or global_lr")
    for local_lr in grid["local_lr"]:
        steps = {"local_lr": local_lr, "global_lr": 1.0}
        if first := {label: {size: steps[size] for size in own} for label, own in sizes.items() if "local_lr" in own}:
            go(first)
    for global_lr in grid["global_lr"]:
        rest: dict[str, dict[str, float]] = {}
        for label, own in sizes.items():
            local = best[label].local_lr if label in best else None
            if own == ("global_lr",):
                rest[label] = {"global_lr": global_lr}
            elif "global_lr" in own and local is not None and global_lr != 1:
                rest[label] = {"local_lr": local, "global_lr": global_lr}
        if rest:
            go(rest)
    return points, best


def _checked(content: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The grid with its defaults, and the experiment without it."""
    base = copy.deepcopy(dict(content))
    given: Any = base.pop("sweep", None)
    check_sweep(given)
    kind, metric = ("train", "train_loss") if base.get("kind") == "train" else ("simulate", "objective")
    grid = {"global_lr": [1], "last": 1, "metric": metric, **given}
    for name in ("local_lr", "global_lr"):
        values = grid.get(name)
        if not isinstance(values, list) or not values or not all(_is_positive(value) for value in values):
            raise InputError(f"sweep.{name}", values, "a list of positive numbers")
        grid[name] = list(dict.fromkeys(map(float, values)))
    if grid["metric"] not in RANKED[kind]:
        raise InputError("sweep.metric", grid["metric"], one_of(grid["metric"], RANKED[kind]))
    grid["last"] = count("sweep.last", grid["last"])
    record = base.get("record", {})
    if not isinstance(record, Mapping):
        raise InputError("record", record, "a table")
    what = record.get("what", [metric])
    if not isinstance(what, list):
        raise InputError("record.what", what, "a list")
    base["record"] = {**record, "what": what if grid["metric"] in what else [*what, grid["metric"]]}
    base.setdefault("algorithm", [])
    if isinstance(base["algorithm"], Mapping):
        base["algorithm"] = [base["algorithm"]]
    if not isinstance(base["algorithm"], list) or not all(isinstance(one, dict) for one in base["algorithm"]):
        raise InputError("algorithm", base["algorithm"], "a list of tables")
    for contestant in base["algorithm"]:
        first = {"local_lr": grid["local_lr"][0], "global_lr": 1.0}
        contestant.update({size: first[size] for size in _step_sizes(contestant.get("name"))})
    return grid, base


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _step_sizes(algorithm: Any) -> tuple[str, ...]:
    """Which step sizes the algorithm of this name has; none for what is no name, which `parse` refuses."""
    known = algorithms()
    if algorithm not in list(known):
        return ()
    return tuple(field.name for field in fields(known[algorithm].hyper) if field.name in ("local_lr", "global_lr"))


def _point(label: str, steps: Mapping[str, float], *rest: Any) -> Point:
    return Point(label, steps.get("local_lr"), steps.get("global_lr"), *rest)


def _with_steps(
    base: Mapping[str, Any], labels: list[str], chosen: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    """The experiment with only the chosen algorithms, at these step sizes."""
    pairs = zip(labels, base["algorithm"], strict=True)
    return {**base, "algorithm": [{**one, "label": label, **chosen[label]} for label, one in pairs if label in chosen]}


def _value(data: pl.DataFrame, label: str, experiment: Experiment, grid: Mapping[str, Any]) -> float:
    """Mean of the last records over the replicates, NaN unless all of them came to the end."""
    if not data.width:
        return math.nan
    own = data.filter(pl.col("algorithm") == label)
    ends = own.filter(pl.col("round") == experiment.rounds).height
    if ends < experiment.replicates:
        return math.nan
    rounds = own["round"].unique().sort().to_list()[-grid["last"] :]
    mean = own.filter(pl.col("round").is_in(rounds))[grid["metric"]].mean()
    return float(mean) if isinstance(mean, int | float) else math.nan


def _stopped(reason: str, label: str, labels: list[str]) -> tuple[str, ...]:
    """What a run's reason, which is that of all algorithms (`sims.training.run`), says of one."""
    names = "|".join(map(re.escape, labels))
    parts = re.split(rf"; (?=(?:{names}), replicate \d+: )", reason)
    return tuple(part for part in parts if re.match(rf"{re.escape(label)}, replicate \d+: ", part))


def _better(value: float, than: float, metric: str) -> bool:
    if math.isnan(value):
        return False
    return math.isnan(than) or (value > than if metric.endswith("_accuracy") else value < than)
