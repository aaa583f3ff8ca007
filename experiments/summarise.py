"""The tables of docs/runs.md, written anew from the store: `python experiments/summarise.py`.

A comment in the page says which experiment, at laptop scale, and which columns; the table stands below it:

    <!-- table experiments/fedau/fashion-markov.toml: test accuracy, %; weight error -->
    <!-- end -->

A number is a mean over the last fifth of the rounds, of which the table shows mean and standard deviation over seeds.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable
from pathlib import Path

import polars as pl

from analysis.stored_runs import runs_of
from sims import store

PAGE = Path("docs/runs.md")
TABLE = re.compile(r"(<!-- table (\S+): ([^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)
GOAL = 0.75  # test accuracy, as in FedAMD's Table 2


def last(metric: str, scale: float = 1) -> Callable[[pl.DataFrame], float]:
    """Mean over the last fifth of the rounds; a metric of a round has none after the last one."""

    def compute(run: pl.DataFrame) -> float:
        late = run.filter(pl.col("round") > 0.8 * run["round"].max())[metric]  # type: ignore[operator]
        return scale * float(late.filter(late.is_not_nan()).mean() or float("nan"))  # type: ignore[arg-type]

    return compute


def swing(run: pl.DataFrame) -> float:
    """Largest minus least test accuracy in the last fifth of the rounds."""
    late = run.filter(pl.col("round") > 0.8 * run["round"].max())["test_accuracy"]  # type: ignore[operator]
    return 100 * float(late.max() - late.min())  # type: ignore[operator, arg-type]


def first(metric: str, scale: float = 1) -> Callable[[pl.DataFrame], float]:
    """Value at the first recorded round whose model has reached the goal; NaN if none has."""

    def compute(run: pl.DataFrame) -> float:
        there = run.filter(pl.col("test_accuracy") >= GOAL)[metric]
        return scale * float(there[0]) if there.len() else float("nan")

    return compute


def total(metric: str, scale: float) -> Callable[[pl.DataFrame], float]:
    return lambda run: scale * float(run[metric][-1])


COLUMNS: dict[str, tuple[Callable[[pl.DataFrame], float], int]] = {  # what, decimals
    "test accuracy, %": (last("test_accuracy", 100), 1),
    "train accuracy, %": (last("train_accuracy", 100), 1),
    "train loss": (last("train_loss"), 3),
    "spread over clients, %": (last("client_accuracy_std", 100), 1),
    "weight error": (last("weight_error"), 3),
    "swing, %": (swing, 1),
    "mean of largest staleness": (last("largest_staleness"), 0),
    "samples, 1e6": (total("gradient_samples", 1e-6), 2),
    "vectors, 1e3": (total("vectors_sent", 1e-3), 1),
    "rounds to 75 %": (first("round"), 1),
    "samples to 75 %, 1e6": (first("gradient_samples", 1e-6), 3),
    "vectors to 75 %, 1e3": (first("vectors_sent", 1e-3), 2),
}


def table(run: store.Run | None, wanted: list[str]) -> str:
    """Markdown, one row an algorithm; says so if there is no run."""
    if run is None:
        return "Not run yet.\n"
    data, experiment = run.data(), run.experiment
    lines = ["| algorithm | " + " | ".join(wanted) + " |", "|---" + "|---:" * len(wanted) + "|"]
    for contestant in experiment["algorithm"]:
        own = data.filter(pl.col("algorithm") == contestant["label"])
        seeds = own.partition_by("replicate", maintain_order=True)
        cells = [cell([COLUMNS[name][0](seed) for seed in seeds], COLUMNS[name][1]) for name in wanted]
        lines.append(f"| {contestant['label']} | " + " | ".join(cells) + " |")
    size = f"{experiment['rounds']:,} rounds, {experiment['replicates']} seeds; run `{run.key[:12]}`"
    remark = f" {run.reason}" if run.reason else ""
    return "\n".join(lines) + f"\n\n{size}.{remark}\n"


def cell(values: list[float], decimals: int) -> str:
    """Mean and standard deviation over seeds; how many seeds have a value, if not all."""
    there = [value for value in values if not math.isnan(value)]
    if not there:
        return "-"
    spread = f" ± {statistics.stdev(there):.{decimals}f}" if len(there) > 1 else ""
    missing = "" if len(there) == len(values) else f" ({len(there)} of {len(values)} seeds)"
    return f"{statistics.mean(there):.{decimals}f}{spread}{missing}"


def main() -> None:
    def fill(match: re.Match[str]) -> str:
        wanted = [name.strip() for name in match[3].split(";")]
        found = runs_of([match[2]], "laptop", Path("results")).get(match[2])
        run = found if found and found.status == "complete" else None
        return match[1] + table(run, wanted) + match[4]

    PAGE.write_text(TABLE.sub(fill, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
