"""What `fltheory simulate` and `fltheory results` print."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.json_text import json_text
from analysis.wording import counted
from fltheory.errors import InputError
from sims import store as stored
from sims.catalogue import TRAINING
from sims.experiment import read
from sims.montecarlo.simulate import simulate
from sims.recorder import PER_CLIENT
from sims.store import Run
from sims.training.problem import LATER

DIGITS = 12  # of a key
LONGEST = 60  # remark in a table
CLIENT_COLUMNS = tuple(f"{name}_" for name in PER_CLIENT)


def simulate_file(
    path: str | os.PathLike[str],
    *,
    scale: str | None = None,
    store: str | os.PathLike[str] = "results",
    workers: int = 1,
    backend: str = "loky",
    scheduler: str | None = None,
    resume: bool = True,
    progress: bool = True,
    as_json: bool = False,
) -> str:
    """Run the experiment of a TOML file (`sims.montecarlo.simulate.simulate`) at a scale of it; its summary.

    Raises InputError and Diverged as `simulate` does.
    """
    run = simulate(
        read(Path(path), scale),
        store=store,
        workers=workers,
        backend=backend,
        scheduler=scheduler,
        resume=resume,
        progress=progress,
    )
    return _as_json(run, _last(run.data())) if as_json else results_summary(run)


def results_table(
    store: str | os.PathLike[str] = "results", where: Iterable[str] = (), *, as_json: bool = False
) -> str:
    """The runs of a store, a line each; of training, the name of the data stands for the problem, and what is said of
    memory is where clients' tables were.

    where   "place=value" texts that the experiment must satisfy, such as "process.name=markov" or "rounds=1000"
    """
    conditions: dict[str, str] = {}
    for condition in where:
        place, equals, value = condition.partition("=")
        if not equals:
            raise InputError("where", condition, "place=value, such as process.name=markov")
        conditions[place.strip()] = value.strip()
    found = stored.runs(store, conditions)
    if as_json:
        return json_text([_about(run) for run in found])
    head = ("key", "status", "problem", "process", "algorithms", "rounds", "replicates", "seed", "memory", "remark")
    return _table(head, [_row(run) for run in found])


def results_show(reference: str, store: str | os.PathLike[str] = "results", *, as_json: bool = False) -> str:
    """One run, by its folder or the beginning of its key: what each algorithm came to."""
    run = stored.find(reference, store)
    return _as_json(run, _last(run.data())) if as_json else results_summary(run)


def results_export(reference: str, path: str | os.PathLike[str], store: str | os.PathLike[str] = "results") -> str:
    """Write a run to a .csv or .json file; the path."""
    stored.export(stored.find(reference, store), path)
    return str(Path(path))


def results_diff(a: str, b: str, store: str | os.PathLike[str] = "results") -> tuple[str, bool]:
    """What differs between two runs, given by folder or key, and whether they are the same bit for bit."""
    first, second = stored.find(a, store), stored.find(b, store)
    lines = stored.differences(first, second)
    if not lines:
        return f"same bits: {first.rows} rows of {first.key[:DIGITS]}", True
    return "\n".join(lines), False


def results_summary(run: Run) -> str:
    """Key, status, and the mean of every metric in the last round that has it, with its standard error."""
    head = f"{run.key[:DIGITS]}  {run.status}{f' ({run.reason})' if run.reason else ''}  {run.folder}"
    last = _last(run.data())
    rows = [
        (
            str(r["algorithm"]),
            r["metric"],
            str(r["round"]),
            f"{r['mean']:.6g}",
            f"{r['standard_error']:.2g}",
            str(r["n"]),
        )
        for r in last
    ]
    table = _table(("algorithm", "metric", "round", "mean", "std. error", "replicates"), rows)
    return "\n".join([head, table, *_remarks(run, last)])


def _remarks(run: Run, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a reader of the rows must not overlook."""
    remarks = []
    if len({row["round"] for row in rows}) > 1:
        remarks.append("not all of the same round: each metric is shown in the last round that has it")
    shown = {str(row["algorithm"]) for row in rows}
    labels = [str(contestant["label"]) for contestant in run.experiment["algorithm"]]
    missing = [label for label in labels if label not in shown and not _is_named(label, run.reason)]
    if rows and missing:
        remarks.append(f"not run, as the run ended before: {', '.join(missing)}")
    if kept := stored.parts(run):
        command = "train" if run.experiment["problem"]["name"] == TRAINING else "simulate"
        remarks.append(f"{counted(kept, 'part')} kept beside these rows: fltheory {command} goes on with them")
    return remarks


def _is_named(label: str, reason: str) -> bool:
    """Whether the reason is this algorithm's; of training, it may be that of several, one after the other."""
    return reason.startswith(f"{label}, ") or f"; {label}, replicate " in reason


def _last(data: pl.DataFrame) -> list[dict[str, Any]]:
    """For every algorithm and metric its mean over replicates in the last round in which it was recorded.

    Numbers of single clients are left out: they are for figures, and there are hundreds.
    """
    rows = []
    for label in data["algorithm"].unique(maintain_order=True) if data.width else ():
        own = data.filter(pl.col("algorithm") == label)
        for metric in data.columns[3:]:
            if metric.startswith(CLIENT_COLUMNS):
                continue
            there = own.filter(pl.col(metric).is_not_null())
            if there.is_empty():
                continue
            last = there.filter(pl.col("round") == there["round"].max())
            values = last[metric].to_numpy()
            mean, error = _mean_and_error(values)
            rows.append(
                {
                    "algorithm": label,
                    "metric": metric,
                    "round": int(last["round"][0]),
                    "mean": mean,
                    "standard_error": error,
                    "n": len(values),
                }
            )
    return rows


def _mean_and_error(values: npt.NDArray[Any]) -> tuple[float, float]:
    """The mean and its standard error, nan of one value; squares of values beyond 1e154 are no numbers."""
    with np.errstate(all="ignore"):  # infinities of a run that diverged
        scale = float(np.abs(values).max())
        unit = 2.0 ** (math.frexp(scale)[1] - 1) if 0 < scale < math.inf else 1.0
        scaled = values / unit
        error = scaled.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        return float(scaled.mean() * unit), float(error * unit)


def _about(run: Run) -> dict[str, Any]:
    names = ("key", "status", "reason", "experiment", "versions", "rows", "sha256")
    return {"folder": str(run.folder)} | {name: getattr(run, name) for name in names}


def _as_json(run: Run, rows: list[dict[str, Any]]) -> str:
    for row in rows:
        row["mean"] = row["mean"] if np.isfinite(row["mean"]) else str(row["mean"])  # JSON has no infinity
    return json_text(_about(run) | {"last": rows, "remarks": _remarks(run, rows)})


def _row(run: Run) -> tuple[str, ...]:
    experiment: Mapping[str, Any] = run.experiment
    labels = ", ".join(algorithm["label"] for algorithm in experiment["algorithm"])
    names = (_problem(experiment["problem"]), experiment["process"]["name"], labels)
    numbers = (experiment["rounds"], experiment["replicates"], experiment["seed"])
    remark = "; ".join(filter(None, (run.at_a_glance, run.reason)))
    remark = remark if len(remark) <= LONGEST else f"{remark[: LONGEST - 3]}..."
    named = experiment["problem"]
    memory = str(named.get("memory", LATER["memory"])) if named["name"] == TRAINING else ""
    return (run.key[:DIGITS], run.status, *names, *map(str, numbers), memory, remark)


def _problem(named: Mapping[str, Any]) -> str:
    """The name of the problem; of training, that of its data."""
    data = named.get("data")
    name = (data.get("name") if isinstance(data, Mapping) else data) if named["name"] == TRAINING else None
    return str(name or named["name"])


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Columns side by side, numbers to the right."""
    columns = list(zip(head, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(_is_number(text) for text in column[1:]) and len(column) > 1 for column in columns]
    lines = (
        "  ".join(
            text.rjust(width) if to_the_right else text.ljust(width)
            for text, width, to_the_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in (head, *rows)
    )
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
