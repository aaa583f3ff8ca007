"""FAST's figures on training: accuracy against the share of snapshots, and q along adaptive runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.curves import dots, lacking, short, undrawn
from analysis.figures.style import GREY, LINES, WIDTH, Picture, house_style, new_figure
from analysis.measured import Number, in_seeds, number
from analysis.tables.fast import LAWS, SETTINGS, SNAPSHOTS, by_setting, file_of, places, titled
from analysis.tables.runs import Row
from sims.store import Run

ORDER = ("0", "0.1", "0.2", "0.3", "0.4", "0.5", "1", "adaptive 1", "adaptive 7")
FIXED = 7  # of them are constant
TICKS = {"adaptive 1": "Ada.(1)", "adaptive 7": "Ada.(7)"}
FILES = [file_of(data, alpha, law) for data, alpha in SNAPSHOTS for law in LAWS]
STRENGTHS = {law: f"experiments/fast/table5-{law}.toml" for law in LAWS}
SHOWN = (1, 7)  # lambda

figures: dict[str, Exhibit] = {}


@enter(figures, "fig3", "Figure 3: accuracy of FAST with FedAvg against q, as published and as measured", *FILES)
def accuracy_over_q(given: Given) -> Picture:
    """The numbers of Table 3, which the paper says it shows, above those of the runs."""
    measured = dict(_measured(given))
    sources = {
        "published": dict(_published()),
        f"measured, {given.scale} scale": {where: value for where, (value, _) in measured.items()},
    }
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(4.1, WIDTH)
        grid = figure.subplots(len(sources), len(SNAPSHOTS), sharex=True, squeeze=False)
        for line, (source, numbers) in zip(grid, sources.items(), strict=True):
            for axes, (data, alpha) in zip(line, SNAPSHOTS, strict=True):
                for (law, title), (color, dashes), marker in zip(LAWS.items(), LINES, "osD", strict=False):
                    own = {q: numbers[data, alpha, law, q] for q in ORDER if (data, alpha, law, q) in numbers}
                    if not own:
                        continue
                    for part, joined in ((ORDER[:FIXED], dashes), (ORDER[FIXED:], "none")):
                        dots(
                            axes, [own.get(q) if q in part else None for q in ORDER], (color, joined), marker=marker,
                            capsize=1.5, lw=1, elinewidth=0.7, label=title if joined != "none" else None,
                        )  # fmt: skip
                    rows += [
                        {"source": source, "data": titled(data, alpha), "law": title, "q": q}
                        | {"accuracy": one.mean, "sd": one.sd, "seeds": one.n}
                        for q, one in own.items()
                    ]
                if not axes.lines:
                    without = given.without.replace(" or ", " or\n")
                    axes.text(0.5, 0.5, without, transform=axes.transAxes, ha="center", color=GREY)
                    axes.set_yticks([])
                axes.set_xticks(range(len(ORDER)), [TICKS.get(q, q) for q in ORDER], rotation=90)
            line[0].set_ylabel(f"{source}\ntest accuracy, %")
        for axes, (data, alpha) in zip(grid[0], SNAPSHOTS, strict=True):
            axes.set_title(_panel(data, alpha))
        figure.legend(
            *grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
            title="probability q of a snapshot (bars: sd, published over the last 5 tests, measured over seeds)",
        )  # fmt: skip
    panels = [_panel(*at) for at in SNAPSHOTS]
    laws: dict[str, set[str]] = {panel: set() for panel in panels}
    means: dict[str, dict[str, Number]] = {}
    seeds: dict[str, dict[str, tuple[int, int]]] = {}
    for (*at, law, q), (value, asked) in measured.items():
        laws[_panel(*at)].add(LAWS[law])
        line = f"{_panel(*at)}, {LAWS[law]}"
        means.setdefault(line, {})[_q(q)] = value
        seeds.setdefault(line, {})[_q(q)] = value.n or 0, asked
    lacks = lacking(given, dict.fromkeys(panels, LAWS.values()), laws)
    lacks += lacking(given, {line: map(_q, ORDER) for line in seeds}, seeds)
    return Picture(figure, rows, lacks + undrawn(means) + short(seeds))


def _panel(data: str, alpha: str) -> str:
    return titled(data, alpha).replace(", by speaking roles", "").replace("alpha", "α")


def _q(setting: str) -> str:
    return TICKS.get(setting, f"q = {setting}")


def _published() -> Iterator[tuple[tuple[str, ...], Number]]:
    for (*where, column), value in by_setting(3).items():
        if column == "accuracy":
            yield tuple(where), value


def _measured(given: Given) -> Iterator[tuple[tuple[str, ...], tuple[Number, int]]]:
    """Each number and the seeds that were asked for."""
    for data, alpha in SNAPSHOTS:
        for law in LAWS:
            for q, (name, label) in SETTINGS.items():
                found = Row(name, q, places(file_of(data, alpha, law), "FedAvg", label)).found(given)
                if found is None:
                    continue
                value = number(*found, "test_accuracy", given.scale, 100, records=5)
                if value is not None:
                    yield (data, alpha, law, q), (value, found[0].experiment["replicates"])


@enter(
    figures, "fig4", "Figure 4: q along adaptive runs with lambda = 1 and 7, and its distribution", *STRENGTHS.values()
)
def adaptive(given: Given) -> Picture:
    """Above q of the first seed, below the share of the recorded rounds of all seeds with at most this q."""
    runs = {law: given.runs[file] for law, file in STRENGTHS.items() if file in given.runs}
    rows: list[dict[str, object]] = []
    seeds: dict[str, dict[str, tuple[int, int]]] = {LAWS[law]: {} for law in runs}
    with house_style():
        figure = new_figure(3.6, WIDTH)
        grid = figure.subplots(2, len(runs), squeeze=False, sharey="row")
        for (above, below), (law, run) in zip(grid.T, runs.items(), strict=True):
            for strength, (color, dashes) in zip(SHOWN, LINES, strict=False):
                own = _probabilities(run, f"lambda = {strength}")
                if own.is_empty():
                    continue
                seeds[LAWS[law]][f"lambda = {strength}"] = own["replicate"].n_unique(), run.experiment["replicates"]
                first = own.filter(pl.col("replicate") == 0)
                name = f"$\\lambda = {strength}$"
                above.plot(first["round"], first["q"], color=color, linestyle=dashes, lw=1, label=name)
                ordered = np.sort(own["q"].to_numpy())
                share = np.linspace(0, 1, len(ordered) + 1)
                below.step(np.append(ordered[:1], ordered), share, where="post", color=color, linestyle=dashes)
                rows += [
                    {"law": LAWS[law], "lambda": strength, "seed": seed, "round": t, "q": q}
                    for seed, t, q in own.select("replicate", "round", "q").iter_rows()
                ]
            above.set(title=f"{LAWS[law]} participation", xlabel="round (one seed)", ylim=(-0.03, 1.03))
            n = in_seeds(n for n, _ in seeds[LAWS[law]].values())
            below.set(xlabel=f"q (n = {n})", xlim=(-0.03, 1.03), ylim=(0, 1.03))
        grid[0, 0].set_ylabel("snapshot\nprobability q")
        grid[1, 0].set_ylabel("share of the rounds\nwith at most q")
        handles = {line.get_label(): line for axes in grid[0] for line in axes.lines}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2)
    declared = {name: [f"lambda = {strength}" for strength in SHOWN] for name in LAWS.values()}
    return Picture(figure, rows, lacking(given, declared, seeds) + short(seeds))


def _probabilities(run: Run, label: str) -> pl.DataFrame:
    """q of an algorithm at the recorded rounds, which the last round has none of."""
    data = run.frame.filter(pl.col("algorithm") == label).rename({"snapshot_probability": "q"})
    return data.filter(pl.col("q").is_not_null() & pl.col("q").is_not_nan()).sort("replicate", "round")
