"""What `fltheory train` and `fltheory sweep` print."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from analysis.json_text import json_text
from analysis.simulate_command import results_show
from analysis.wording import at_edge
from sims.experiment import Experiment, content_of, read
from sims.montecarlo.simulate import simulate
from sims.store import Run
from sims.training.run import Progress, train
from sims.training.sweep import Point, sweep

SHOWN = ("train_loss", "test_accuracy", "train_accuracy")  # beside the bar, if they are recorded


def train_file(
    path: Path, *, scale: str | None = None, as_json: bool = False, changes: dict[str, Any], **options: Any
) -> str:
    """Train the experiment of a TOML file; its summary. `options` are those of `sims.training.run.train`."""
    run = run_training(read(path, scale, **changes), **options)
    return results_show(str(run.folder), as_json=as_json)


def sweep_file(
    path: Path, *, scale: str | None = None, as_json: bool = False, changes: dict[str, Any], **options: Any
) -> tuple[str, list[str]]:
    """Search the step sizes of an experiment file with a table `sweep`; what each pair came to, and the best.

    Beside it the algorithms that have none, as no pair of step sizes brought all replicates to the end.
    """

    def run(experiment: Experiment) -> Run:
        if experiment.kind == "train":
            return run_training(experiment, **options)
        return simulate(experiment, **{key: value for key, value in options.items() if key != "checkpoint"})

    points, best = sweep(content_of(path, scale, **changes), run)
    without = [label for label in dict.fromkeys(point.algorithm for point in points) if label not in best]
    if as_json:
        found = {"points": [asdict(point) for point in points], "best": {k: asdict(v) for k, v in best.items()}}
        return json_text(found), without
    lines = [f"{'algorithm':<28}{'local_lr':>12}{'global_lr':>12}{'value':>14}  run"]
    for point in points:
        mark = f" best{_edges(point, points)}" if best.get(point.algorithm) == point else ""
        sizes = "".join(f"{'' if size is None else f'{size:g}':>12}" for size in (point.local_lr, point.global_lr))
        lines.append(f"{point.algorithm:<28}{sizes}{point.value:>14.6g}  {point.key[:12]}{mark}")
    lines += [f"{point.key[:12]} stopped: {sentence}" for point in points for sentence in point.stopped]
    return "\n".join(lines), without


def _edges(best: Point, points: Sequence[Point]) -> str:
    """Which of the best step sizes are the largest or smallest tried, so that better ones may lie beyond; in words."""
    ends = {}
    for name in ("local_lr", "global_lr"):
        tried = [getattr(point, name) for point in points if point.algorithm == best.algorithm]
        if getattr(best, name) is not None:
            ends[name] = at_edge(getattr(best, name), tried)
    return "".join(f", {name} the {end} tried" for name, end in ends.items() if end)


def run_training(experiment: Experiment, **options: Any) -> Run:
    """Train an experiment, with a bar; `options` are those of `sims.training.run.train`."""
    log = logging.getLogger("sims.training")
    log.setLevel(logging.INFO)
    own = logging.NullHandler() if log.handlers else logging.StreamHandler()  # of standard error as it is now
    log.addHandler(own)
    try:
        with _bar(experiment) as progress:
            return train(experiment, progress=progress, **options)
    finally:
        log.removeHandler(own)


@contextmanager
def _bar(experiment: Experiment) -> Iterator[Progress]:
    """A line with rounds done, rounds a second, the latest loss or accuracy, and the time that is left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]} {task.fields[latest]}"),
        TimeRemainingColumn(),
    )
    labels = [str(contestant.label) for contestant in experiment.algorithm]
    total = experiment.rounds * experiment.replicates * len(labels)
    done: dict[str, int] = {}
    began = time.monotonic()
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("training", total=total, speed="", latest="")

    def tell(name: str, rounds: int, latest: dict[str, float]) -> None:
        bar.start()  # not before: a run that is refused prints one line
        algorithm, replicate = name.split("-")
        done[name] = rounds
        shown = next((f"{key} {latest[key]:.4g}" for key in SHOWN if key in latest), "")
        speed = sum(done.values()) / max(time.monotonic() - began, 1e-9)
        bar.update(
            task,
            completed=sum(done.values()),
            description=f"{labels[int(algorithm)]}, replicate {replicate}",
            speed=f"{speed:.0f} rounds/s",
            latest=shown,
        )

    try:
        yield tell
    finally:
        if done:
            bar.stop()
