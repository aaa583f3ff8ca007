"""Figures of amplified FedAvg (NeurIPS 2022). The edition that was read has no pictures, and the runs no warm-up."""

from __future__ import annotations

import math

from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.curves import over_rounds, present
from analysis.figures.style import Picture
from analysis.measured import curve, labels, number
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
    declared = {title: [_named(run, method) for method in METHODS] for title, run in runs.items()}
    return over_rounds(shown, SHOWN, names=names, declared=declared)


@enter(
    figures,
    "fig2",
    "Figure 2: amplification with different intervals P, when a cycle of availability has 5 turns",
    INTERVAL,
)
def intervals(given: Given) -> Picture:
    run = given.runs[INTERVAL]
    cycle = run.experiment["process"]["n_groups"] * run.experiment["process"]["rounds_each"]
    return over_rounds({f"Fashion-MNIST, a cycle of {cycle} rounds": (run, labels(run))}, SHOWN)


def _named(run: Run, method: str) -> str:
    """What the legend calls a method: with how many step sizes it was run, if it was."""
    asked = [contestant["label"] for contestant in run.experiment["algorithm"] if contestant["name"] == method]
    tried = sum(curve(run, label, "train_loss") is not None for label in asked)
    sizes = {0: "", 1: " (one γ)"}.get(tried, f" (best of {tried} γ)")
    return METHODS[method] + sizes


def _best(run: Run, scale: str) -> dict[str, str]:
    """Method -> label of the contestant with the least training loss at the end; one that diverged is none."""
    best: dict[str, tuple[float, str]] = {}
    for contestant in run.experiment["algorithm"]:
        found = number(run, contestant["label"], "train_loss", scale)
        if found is not None and math.isfinite(found.mean):
            method, own = contestant["name"], (found.mean, contestant["label"])
            best[method] = min(best.get(method, own), own)
    return {method: best[method][1] for method in METHODS if method in best}
