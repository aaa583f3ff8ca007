"""What runs came to over the rounds: mean and standard deviation over seeds, a panel for each metric and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from analysis.exhibits import Given
from analysis.figures.style import COLUMN, LINES, WIDTH, Picture, band, house_style, new_figure
from analysis.measured import curve
from sims.store import Run

METRICS = {  # of training: axis, factor
    "train_loss": ("training loss", 1.0),
    "train_accuracy": ("training accuracy, %", 100.0),
    "test_accuracy": ("test accuracy, %", 100.0),
}
FIRST = 0.05  # share of the rounds that need not be in the frame


def over_rounds(
    runs: Mapping[str, tuple[Run, Sequence[str]]],
    metrics: Sequence[str],
    smooth: float = 0,
    *,
    names: Mapping[str, str] | None = None,
) -> Picture:
    """A column for each run, a row for each of `METRICS`; the steep beginning may lie outside the frame.

    runs     title -> run and the labels of the algorithms to show, at most as many as there are `LINES`
    smooth   share of the rounds in the window of mean and standard deviation (`analysis.measured.curve`)
    names    label -> what the legend calls it; algorithms of the same name in different runs have the same line
    """
    called = dict(names or {})
    legend = list(dict.fromkeys(called.get(label, label) for _, shown in runs.values() for label in shown))
    style = dict(zip(legend, LINES, strict=False))
    rows: list[dict[str, object]] = []
    wide = len(runs) > 1
    with house_style():
        lines_of_legend = -(-len(legend) // (4 if wide else 2))
        figure = new_figure(0.6 + 1.35 * len(metrics) + 0.16 * lines_of_legend, WIDTH if wide else COLUMN)
        panels = figure.subplots(len(metrics), len(runs), sharex="col", squeeze=False)
        for column, (title, (run, shown)) in zip(panels.T, runs.items(), strict=True):
            seeds = run.experiment["replicates"]
            for axes, metric in zip(column, metrics, strict=True):
                words, unit = METRICS[metric]
                for label in shown:
                    found = curve(run, label, metric, smooth)
                    if found is None:
                        continue
                    name, mean, sd = called.get(label, label), unit * found.mean, unit * found.sd
                    band(axes, found.rounds, mean, mean - sd, mean + sd, style[name], name)
                    own = {"data": title, "algorithm": label, "metric": words, "seeds": seeds}
                    rows += [
                        own | {"round": t, "mean": m, "sd": s}
                        for t, m, s in zip(found.rounds.tolist(), mean.tolist(), sd.tolist(), strict=True)
                    ]  # fmt: skip
                axes.set_ylabel(words)
                _frame(axes)
            column[0].set_title(title)
            column[-1].set_xlabel(f"round (band: one sd, n = {seeds} seed{'s' * (seeds > 1)})")
        handles = {str(line.get_label()): line for axes in panels.flat for line in axes.lines}
        ordered = [name for name in legend if name in handles]
        figure.legend([handles[n] for n in ordered], ordered, loc="outside lower center", ncols=4 if wide else 2)
    return Picture(figure, rows)


def _frame(axes: Axes) -> None:
    """Limits of y by what is after the first rounds, whose steep lines would press the others together."""
    drawn = [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axes.lines]
    late = [y[x >= FIRST * x.max()] for x, y in drawn]
    values = np.concatenate([some[np.isfinite(some)] for some in late] or [np.array([])])
    if values.size:
        margin = 0.08 * (np.ptp(values) or 1)
        axes.set_ylim(values.min() - margin, values.max() + margin)


def present(given: Given, files: Mapping[str, str]) -> dict[str, Run]:
    """Title -> run, of those of the files {file: title} that have one."""
    return {title: given.runs[file] for file, title in files.items() if file in given.runs}
