"""Figures of amplified FedAvg (NeurIPS 2022). The edition that was read has no pictures, and the runs no warm-up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.curves import over_rounds, present, told
from analysis.figures.style import Picture
from analysis.measured import curve, labels, number
from analysis.stored_runs import asked
from analysis.wording import at_edge
from sims.store import Run

HERE = "experiments/amplified"
DATA = {f"{HERE}/fashion.toml": "Fashion-MNIST", f"{HERE}/cifar10.toml": "CIFAR-10"}
INTERVAL = f"{HERE}/interval.toml"
METHODS = {  # name of the algorithm -> what the legend calls it
    "amplified": "amplified",
    "wait_minibatch": "wait, minibatch",
    "wait_full": "wait, full",
    "fedavg": "not amplified",
}
SHOWN = ("train_loss", "test_accuracy")

figures: dict[str, Exhibit] = {}


@enter(
    figures,
    "fig1",
    "Figure 1: amplified or not, and waiting for all, with the best of the step sizes that were run",
    *DATA,
)
def methods(given: Given) -> Picture:
    """The best of the step sizes that were run, by training loss over the last rounds; the legend says of how many."""
    runs = present(given, DATA)
    best = {title: _best(run, given.scale) for title, run in runs.items()}
    names = {label: _named(runs[title], method) for title, own in best.items() for method, label in own.items()}
    shown = {title: (run, list(best[title].values())) for title, run in runs.items()}
    tried = {title: {method: _sizes(run, method) for method in METHODS} for title, run in runs.items()}
    early = {
        title: [METHODS[m] for m, sizes in own.items() if sizes and m not in best[title]]
        for title, own in tried.items()
    }
    declared = {
        title: [_named(runs[title], m) for m in METHODS if m in best[title] or not tried[title][m]]
        if title in runs
        else list(METHODS.values())
        for title in DATA.values()
    }
    picture = over_rounds(given, shown, SHOWN, names=names, declared=declared)
    unfinished = told("Without a step size of which all seeds came to the last round", early, len(DATA))
    left = {title: list(_left_out(file, given.scale, tried[title])) for file, title in DATA.items() if title in runs}
    not_run = told("Step sizes γ of the paper or its file not run", left, len(DATA))
    edges = told(
        "Best at the edge of the γ that were run, so that others may be better",
        {title: list(_at_edge(run, best[title])) for title, run in runs.items()},
        len(DATA),
    )
    return replace(picture, lacks=[*picture.lacks, *unfinished, *not_run], notes=[*edges, *picture.notes])


@enter(
    figures,
    "fig2",
    "Figure 2: amplification with different intervals P, when a cycle of availability has 5 turns",
    INTERVAL,
)
def intervals(given: Given) -> Picture:
    run = given.runs[INTERVAL]
    cycle = run.experiment["process"]["n_groups"] * run.experiment["process"]["rounds_each"]
    return over_rounds(given, {f"Fashion-MNIST, a cycle of {cycle} rounds": (run, labels(run))}, SHOWN)


def _named(run: Run, method: str) -> str:
    """What the legend calls a method: with how many step sizes it was run, if it was."""
    tried = len(_sizes(run, method))
    sizes = {0: "", 1: " (one γ)"}.get(tried, f" (least training loss of {tried} γ)")
    return METHODS[method] + sizes


def _sizes(run: Run, method: str) -> list[float]:
    """The step sizes of a method of which there is a record."""
    asked = [one for one in run.experiment["algorithm"] if one["name"] == method]
    return [_size(one) for one in asked if curve(run, one["label"], "train_loss") is not None]


def _at_edge(run: Run, best: Mapping[str, str]) -> Iterator[str]:
    """The methods whose best step size is the largest or the smallest of those that were run, in words."""
    chosen = {one["label"]: _size(one) for one in run.experiment["algorithm"]}
    for method, label in best.items():
        if edge := at_edge(chosen[label], _sizes(run, method)):
            yield f"{METHODS[method]}, the {edge}, {chosen[label]:g}"


def _size(contestant: Mapping[str, Any]) -> float:
    """What is searched: methods that wait make one step of the server in an interval."""
    return float(contestant["global_lr" if contestant["name"].startswith("wait") else "local_lr"])


def _left_out(file: str, scale: str, tried: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Of methods that were run, the step sizes of the paper and of this scale that were not, in words."""
    for method, sizes in tried.items():
        grids = (asked(file, of)["algorithm"] for of in dict.fromkeys(("paper", scale)))
        wanted = {_size(one) for grid in grids for one in grid if one["name"] == method}
        missing = sorted(wanted - set(sizes), reverse=True)
        if sizes and missing:
            yield f"{METHODS[method]} {', '.join(f'{size:g}' for size in missing)}"


def _best(run: Run, scale: str) -> dict[str, str]:
    """Method -> label of the contestant with the least training loss at the end; one that diverged is none."""
    best: dict[str, tuple[float, str]] = {}
    for contestant in run.experiment["algorithm"]:
        found = number(run, contestant["label"], "train_loss", scale)
        if found is not None and math.isfinite(found.mean):
            method, own = contestant["name"], (found.mean, contestant["label"])
            best[method] = min(best.get(method, own), own)
    return {method: best[method][1] for method in METHODS if method in best}
