"""FedAU's figures on training: accuracy and loss over the rounds, and over the cutoff K."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.curves import METRICS, dots, lacking, over_rounds, present, short, undrawn
from analysis.figures.style import COLUMN, LINES, Picture, house_style, new_figure
from analysis.measured import Number, in_seeds, number
from analysis.stored_runs import asked

SMOOTH = 0.03  # window of mean and deviation, a share of the rounds (Appendix D.2)
HERE = "experiments/fedau"
CUTOFFS = {f"{HERE}/cutoffs.toml": "p ≥ 0.02", f"{HERE}/no-floor.toml": "p ≥ 0"}
FASHION = {f"{HERE}/fashion-bernoulli.toml": "Fashion-MNIST, p ≥ 0.02"}
TABLE1 = ("FedAU, K = inf", "FedAU, K = 50", "average participating", "average all", "FedVARP", "MIFA", "known rates")

figures: dict[str, Exhibit] = {}


def _over_rounds(number: int, data: str, title: str) -> None:
    """Enter a figure of Appendix D.2."""
    file = f"{HERE}/table1-{data}-bernoulli.toml"

    @enter(figures, f"figD2{number}", f"Figure D.2.{number}: {title}, Bernoulli participation, over the rounds", file)
    def draw(given: Given) -> Picture:
        return over_rounds(given, {title: (given.runs[file], TABLE1)}, tuple(METRICS), SMOOTH)


for _number, (_data, _title) in enumerate(
    {"svhn": "SVHN", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "cinic10": "CINIC-10"}.items(), start=1
):
    _over_rounds(_number, _data, _title)


@enter(
    figures,
    "fashion_over_rounds",
    "Ours: Fashion-MNIST, Bernoulli participation, over the rounds",
    *FASHION,
    claims=["fedau.claim.top"],
)
def fashion_over_rounds(given: Given) -> Picture:
    """As Figures D.2.1 to 4, on data that the paper does not use."""
    (run,) = given.runs.values()
    return over_rounds(given, {"Fashion-MNIST (not in the paper)": (run, TABLE1)}, tuple(METRICS), SMOOTH)


@enter(figures, "fig1", "Figure 1: test accuracy of FedAU against the cutoff K, by the floor of the rates", *CUTOFFS)
def accuracy_over_cutoff(given: Given) -> Picture:
    return _over_cutoffs(given, CUTOFFS, ["test_accuracy"])


@enter(figures, "figD52", "Figure D.5.2: loss and accuracies of FedAU against the cutoff K", *CUTOFFS)
def all_over_cutoff(given: Given) -> Picture:
    return _over_cutoffs(given, CUTOFFS, list(METRICS))


@enter(
    figures,
    "fashion_over_cutoff",
    "Ours: Fashion-MNIST, loss and accuracies of FedAU against the cutoff K",
    *FASHION,
    claims=["fedau.claim.k50"],
)
def fashion_over_cutoff(given: Given) -> Picture:
    return _over_cutoffs(given, FASHION, list(METRICS))


def _over_cutoffs(given: Given, files: Mapping[str, str], metrics: list[str]) -> Picture:
    """Means over the last rounds, with their standard deviations over seeds; K = inf stands at the right."""
    runs = present(given, files)
    cutoffs = sorted({K for run in runs.values() for K in _cutoffs(run.experiment)})
    rows: list[dict[str, Any]] = []
    seeds: dict[str, dict[str, tuple[int, int]]] = {title: {} for title in runs}
    means: dict[str, dict[str, Number]] = {title: {} for title in runs}
    with house_style():
        figure = new_figure(0.8 + 1.4 * len(metrics), COLUMN)
        panels = figure.subplots(len(metrics), 1, sharex=True, squeeze=False)[:, 0]
        for axes, metric in zip(panels, metrics, strict=True):
            words, unit = METRICS[metric]
            for (title, run), line, marker in zip(runs.items(), LINES, "osD", strict=False):
                shown = _cutoffs(run.experiment)
                found = {K: number(run, shown[K], metric, given.scale, unit) for K in sorted(shown)}
                there = {K: one for K, one in found.items() if one is not None}
                dots(axes, [there.get(K) for K in cutoffs], line, marker=marker, capsize=2, label=title)
                replicates = run.experiment["replicates"]
                seeds[title] |= {f"K = {K:g}": (one.n or 0, replicates) for K, one in there.items()}
                means[title] |= {f"K = {K:g}": one for K, one in there.items()}
                rows += [
                    {"floor": title, "K": K, "metric": words, "mean": one.mean, "sd": one.sd, "seeds": one.n}
                    for K, one in there.items()
                ]
            axes.set_ylabel(words)
        panels[-1].set_xlabel(f"cutoff $K$ (bars: one sd, n = {in_seeds(row['seeds'] for row in rows)})")
        panels[-1].set_xticks(range(len(cutoffs)), [r"$\infty$" if np.isinf(K) else f"{K:g}" for K in cutoffs])
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    declared = {title: [f"K = {K:g}" for K in cutoffs] for title in files.values()}  # a floor has all that another has
    titles = {title: file for file, title in files.items() if title in runs}

    def trained(title: str, scale: str) -> list[str]:
        """Of a line that was not run, all: that it was not run says enough."""
        own = _cutoffs(asked(titles[title], scale)) if title in titles else cutoffs
        return [f"K = {K:g}" for K in own]

    lacks = lacking(given, declared, seeds, "line", trained)
    return Picture(figure, rows, lacks + undrawn(means) + short(seeds))


def _cutoffs(experiment: Mapping[str, Any]) -> dict[float, str]:
    """Cutoff -> label, of the algorithms of an experiment that are FedAU."""
    return {
        float(rule["cutoff"]): str(contestant["label"])
        for contestant in experiment["algorithm"]
        if (rule := contestant["weighting"]) is not None and rule["name"] == "fedau"
    }
