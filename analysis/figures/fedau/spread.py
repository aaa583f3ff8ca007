"""FedAU's figure on single clients: how loss and accuracy are distributed over them after training."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.curves import short
from analysis.figures.style import LINES, WIDTH, Picture, house_style, new_figure
from analysis.measured import in_seeds, labels

FILE = "experiments/fedau/figD31.toml"
PANELS = {  # metric of each client: axis, factor
    "client_losses": ("training loss of a client", 1.0),
    "client_accuracies": ("training accuracy of a client, %", 100.0),
    "client_test_accuracies": ("test accuracy of a client, %", 100.0),
}

figures: dict[str, Exhibit] = {}


@enter(figures, "figD31", "Figure D.3.1: loss and accuracies of single clients, as distribution functions", FILE)
def spread_over_clients(given: Given) -> Picture:
    """Clients of all seeds together after the last round; a seed that stopped before it is left out."""
    run = given.runs[FILE]
    rows: list[dict[str, Any]] = []
    seeds = dict.fromkeys(labels(run), 0)
    last = run.frame.filter(pl.col("round") == run.experiment["rounds"])
    with house_style():
        figure = new_figure(2.3, WIDTH)
        panels = figure.subplots(1, len(PANELS), sharey=True)
        for axes, (metric, (words, unit)) in zip(panels, PANELS.items(), strict=True):
            for label, (color, dashes) in zip(labels(run), LINES, strict=False):
                own = last.filter(pl.col("algorithm") == label)
                values = np.sort(unit * own.select(cs.starts_with(f"{metric}_")).to_numpy().ravel())
                if not values.size:
                    continue
                seeds[label] = own.height
                axes.ecdf(values, color=color, linestyle=dashes, label=label)
                shares = np.arange(1, values.size + 1) / values.size
                rows += [
                    {
                        "algorithm": label,
                        "metric": words,
                        "value": value,
                        "share of clients": share,
                        "seeds": own.height,
                    }
                    for value, share in zip(values.tolist(), shares.tolist(), strict=True)
                ]
            axes.set_xlabel(words)
        panels[0].set_ylabel(f"share of clients\n(n = {in_seeds(row['seeds'] for row in rows)})")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    asked = run.experiment["replicates"]
    return Picture(figure, rows, short({"": {label: (n, asked) for label, n in seeds.items()}}))
