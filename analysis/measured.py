"""Numbers and curves of the runs behind figures and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sims.store import Run

FloatArray = npt.NDArray[np.float64]
PAPER_WINDOW = 200  # rounds, as FedAU averages; smaller scales record too rarely for it
PERCENT = 100.0  # the unit of what is printed with one decimal, a loss with three
LATE = 5  # one in so many rounds, the last ones, is what smaller scales average over, and the most at any scale


@dataclass(frozen=True)
class Number:
    """A mean with its standard deviation over n seeds, None where there is none, and the decimals to print."""

    mean: float
    sd: float | None = None
    n: int | None = None
    decimals: int = 1
    sd_decimals: int | None = None  # if they are others than those of the mean

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "diverged"
        decimals = self.decimals if self.sd_decimals is None else self.sd_decimals
        spread = "" if self.sd is None else f" ± {self.sd:.{decimals}f}"
        return f"{self.mean:.{self.decimals}f}{spread}"


@dataclass(frozen=True)
class Curve:
    """Mean and standard deviation of a metric at the recorded rounds, and how many seeds have a record there."""

    rounds: npt.NDArray[np.int64]
    mean: FloatArray
    sd: FloatArray
    seeds: npt.NDArray[np.int64]


def late_mean(own: pl.DataFrame, metric: str, last: int) -> float:
    """Mean of a metric over so many of the last rounds of one algorithm and seed; a metric of a round has none after
    the last one."""
    rounds = own["round"].to_numpy()
    late = own[metric].cast(pl.Float64).to_numpy()[rounds > rounds.max() - last]
    return float(late[~np.isnan(late)].mean()) if not np.isnan(late).all() else float("nan")


def window(scale: str, run: Run, records: int | None = None) -> int:
    """Over how many of the last rounds the numbers of a table are means: at most a fifth of all, rounded up.

    Five records of a run that has no more are its beginning too, and no late mean.

    records   how many of the last records the paper averages over, if it is them that it counts
    """
    rounds: int = run.experiment["rounds"]
    most = -(-rounds // LATE)
    if records is not None:
        every: int = run.experiment["record"]["every"]
        return min(most, records * every)
    return min(most, PAPER_WINDOW) if scale == "paper" else most


def late_records(scale: str, run: Run, records: int | None = None) -> int:
    """How many records are in `window`; the last one is, however rarely a run is recorded."""
    rounds, every = run.experiment["rounds"], run.experiment["record"]["every"]
    at = {*range(0, rounds, every), rounds}
    return sum(t > rounds - window(scale, run, records) for t in at)


def number(run: Run, label: str, metric: str, scale: str, unit: float = 1, records: int | None = None) -> Number | None:
    """`late_mean` of an algorithm over its seeds, times `unit`; None if it was not run or not recorded.

    records   as in `window`. A seed that stopped before the last round has diverged, and so has the mean: it is NaN.
    """
    own = _own(run, label, metric)
    if own is None:
        return None
    late, last = window(scale, run, records), run.experiment["rounds"]
    values = np.array(
        [
            unit * late_mean(seed, metric, late) if seed["round"].max() == last else np.nan
            for seed in own.partition_by("replicate")
        ]
    )
    with np.errstate(invalid="ignore"):  # infinities
        sd = float(values.std(ddof=1)) if len(values) > 1 else None
    return Number(float(values.mean()), sd, len(values), decimals=1 if unit == PERCENT else 3)


def when_first(run: Run, label: str, goal: tuple[str, float], metric: str, unit: float = 1) -> Number | str | None:
    """A metric, times `unit`, at the first record whose `goal`, a metric and its least value, is reached.

    Mean over the seeds; a sentence if not all of them reach it, None if it was not run or not recorded.
    """
    own, (what, least) = _own(run, label, metric), goal
    if own is None or what not in own.columns:
        return None
    seeds = own.sort("round").partition_by("replicate")
    reached = [there[metric][0] for seed in seeds if not (there := seed.filter(pl.col(what) >= least)).is_empty()]
    if len(reached) < len(seeds):
        return f"reached by {len(reached)} of {len(seeds)} seeds"
    values = unit * np.array(reached, dtype=float)
    return Number(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None, len(values))


def curve(run: Run, label: str, metric: str, smooth: float = 0) -> Curve | None:
    """Mean and standard deviation over seeds at every recorded round; None if it was not run or not recorded.

    smooth   share of all rounds: at each round they are taken over the records of all seeds in a window of that
             length around it
    """
    own = _own(run, label, metric)
    if own is None:
        return None
    own = own.filter(pl.col(metric).is_not_null())
    at, values = own["round"].to_numpy(), own[metric].cast(pl.Float64).to_numpy()
    rounds, seeds = np.unique(at, return_counts=True)
    reach = smooth * rounds.max() / 2
    near = [values[np.abs(at - t) <= reach] for t in rounds]
    with np.errstate(invalid="ignore"):
        sd = [some.std(ddof=1) if some.size > 1 else np.nan for some in near]
        return Curve(rounds, np.array([some.mean() for some in near]), np.array(sd), seeds)


def _own(run: Run, label: str, metric: str) -> pl.DataFrame | None:
    data = run.frame
    own = data.filter(pl.col("algorithm") == label)
    return None if own.is_empty() or metric not in data.columns else own


def labels(run: Run) -> list[str]:
    """The algorithms of a run, in the order of its file."""
    return [str(contestant["label"]) for contestant in run.experiment["algorithm"]]


def in_seeds(numbers: Iterable[int]) -> str:
    """Numbers of seeds in words.

    >>> in_seeds([1]), in_seeds([3, 1, 3]), in_seeds([])
    ('1 seed', '1 or 3 seeds', 'no seeds')
    """
    found = sorted(set(numbers))
    return f"{' or '.join(map(str, found)) or 'no'} seed{'s' * (found != [1])}"


def _finished(run: Run) -> str:
    """How many seeds it has: all that were asked for, or as many as its algorithms have records of."""
    asked = int(run.experiment["replicates"])
    rows = run.frame.select("algorithm", "replicate").unique()["algorithm"].to_list()
    done = {rows.count(label) for label in labels(run)}
    return in_seeds([asked]) if done == {asked} else f"{' or '.join(map(str, sorted(done)))} of {in_seeds([asked])}"


def _early(run: Run) -> str:
    """Which seeds of which algorithms stopped before the last round, as those that diverge do; empty if none did."""
    if run.status == "complete" and not run.reason:
        return ""
    last = run.frame.group_by("algorithm", "replicate").agg(pl.col("round").max())
    early = last.filter(pl.col("round") < run.experiment["rounds"]).sort("replicate")
    told: dict[str, dict[int, list[int]]] = {label: {} for label in labels(run)}
    for label, seed, at in early.select("algorithm", "replicate", "round").iter_rows():
        told.setdefault(label, {}).setdefault(at, []).append(seed)
    parts = [
        f"{label} ({', '.join(f'{_numbered(seeds)} at round {at:,}' for at, seeds in own.items())})"
        for label, own in told.items()
        if own
    ]
    return f", of them stopped before the last round: {', '.join(parts)}" if parts else ""


def _numbered(seeds: list[int]) -> str:
    """Seeds by their number in the data.

    >>> _numbered([2]), _numbered([0, 1, 2])
    ('seed 2', 'seeds 0, 1 and 2')
    """
    *others, last = map(str, seeds)
    return f"seeds {', '.join(others)} and {last}" if others else f"seed {last}"


def _constant(run: Run) -> str:
    """That all algorithms and seeds end at one accuracy, so that their numbers tell nothing of them; else empty."""
    if "test_accuracy" not in run.frame.columns or len(labels(run)) < 2:
        return ""
    at_end = run.frame.filter(pl.col("round") == run.experiment["rounds"])
    last = at_end["test_accuracy"]
    if last.n_unique() != 1 or last.is_null().any() or last.is_nan().any() or at_end["algorithm"].n_unique() < 2:
        return ""
    *others, other = (label for label in labels(run) if label in at_end["algorithm"])
    end = f"all end at the same test accuracy, {PERCENT * last[0]:.1f} %"
    return f", {end}: this tells nothing of a difference between {', '.join(others)} and {other}"


def about(run: Run) -> dict[str, Any]:
    """What a reader of a number must know of its run: data, model, sizes, key; and why it is partial, if it is."""
    problem = run.experiment["problem"]
    return {
        "data": _name(problem.get("data", problem["name"])),
        "model": _name(problem.get("model", "")),
        "rounds": run.experiment["rounds"],
        "seeds": _finished(run).rpartition(" ")[0],
        "run": run.key[:12],
        "partial": "" if run.status == "complete" else run.reason,
    }


def sentence(run: Run) -> str:
    """`about` in words; also which seeds of which algorithms stopped early, and whether it tells anything of them."""
    known = about(run)
    model = f", {known['model']}" if known["model"] else ""
    partial = f", PARTIAL ({known['partial']})" if known["partial"] else ""
    seeds = _finished(run) + _early(run)
    return f"{known['data']}{model}, {known['rounds']:,} rounds, {seeds}{partial}{_constant(run)}; run {known['run']}"


def sentences(runs: Iterable[Run]) -> list[str]:
    """`sentence` of each run; of runs that differ in nothing that it says, one for all."""
    keys: dict[str, list[str]] = {}
    for run in runs:
        words, _, key = sentence(run).rpartition("; run ")
        keys.setdefault(words, []).append(key)
    return [f"{words}; run{'s' * (len(own) > 1)} {', '.join(own)}" for words, own in keys.items()]


def _name(named: Any) -> str:
    return str(named["name"] if isinstance(named, dict) else named)
