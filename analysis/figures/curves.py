"""What runs came to over the rounds or their cost: mean and standard deviation over seeds, a panel for each metric."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.exhibits import Given
from analysis.figures.style import COLUMN, LINES, WIDTH, Picture, band, house_style, new_figure
from analysis.measured import FloatArray, Number, curve, in_seeds
from analysis.stored_runs import SCALES
from sims.store import Run

METRICS = {  # of training: axis, factor
    "train_loss": ("training loss", 1.0),
    "train_accuracy": ("training accuracy, %", 100.0),
    "test_accuracy": ("test accuracy, %", 100.0),
}
ROUND = "round"
COSTS = {  # of training, summed since its beginning: axis, factor
    "gradient_samples": ("gradients, $10^5$ samples", 1e-5),
}
FIRST = 0.05  # share of a line, from its beginning, that need not be in the frame
OUTSIDE = f"The first {FIRST:.0%} of a line, and of its band, may lie outside the frame".replace("%", " %")
ABREAST = 3  # columns of one row beside each other
LETTERS = 46  # of the names of a legend, in a line as wide as a column in print
BELOW = 13  # letters of a label below, in an inch of the width that its axes have

Shown = Mapping[str, tuple[Run, str]]  # what the legend calls a line -> run and label of the algorithm
Trained = Callable[[str, str], Collection[str]]


def over_rounds(
    given: Given,
    runs: Mapping[str, tuple[Run, Sequence[str]]],
    metrics: Sequence[str],
    smooth: float = 0,
    *,
    names: Mapping[str, str] | None = None,
    declared: Mapping[str, Sequence[str]] | None = None,
) -> Picture:
    """A column for each run, a row for each of `METRICS`.

    runs     title -> run and the labels of the algorithms to show
    smooth   share of the rounds in the window of mean and standard deviation (`analysis.measured.curve`)
    names    label -> what the legend calls it
    declared as `panels` has it
    """
    called = names or {}
    columns = {title: {called.get(one, one): (run, one) for one in shown} for title, (run, shown) in runs.items()}
    return panels(given, columns, [(metric, ROUND) for metric in metrics], smooth, declared)


def panels(
    given: Given,
    columns: Mapping[str, Shown],
    rows: Sequence[tuple[str, str]],
    smooth: float = 0,
    declared: Mapping[str, Sequence[str]] | None = None,
    trained: Trained | None = None,
) -> Picture:
    """A column for each title, a row for each of `METRICS` against the round or one of `COSTS`.

    The steep beginning may lie outside the frame, which is noted then. Lines of the same name in different columns
    look the same; there can be as many names as there are `LINES`. What `smooth` is, `over_rounds` says.

    declared   title -> names of the lines of the published figure, where they, or its panels, are more than those to
               show
    trained    as `lacking` has it
    """
    legend = list(dict.fromkeys(name for shown in columns.values() for name in shown))
    style = dict(zip(legend, LINES, strict=False))
    data: list[dict[str, Any]] = []
    whole = True
    shared = len({against for _, against in rows}) == 1
    with house_style():
        figure, grid = _grid(len(columns), len(rows), shared, 0.6)
        width = figure.get_figwidth() / (min(len(columns), ABREAST) if len(rows) == 1 else len(columns))
        for column, (title, shown) in zip(grid, columns.items(), strict=True):
            for axes, (metric, against) in zip(column, rows, strict=True):
                for name, (run, label) in shown.items():
                    drawn = _line(axes, run, label, metric, against, smooth, style[name], name)
                    data += [{"data": title, **row} for row in drawn]
                axes.set_ylabel(METRICS[metric][0])
                if axes is column[-1] or not shared:
                    axes.set_xlabel(_against(against, [row["seeds"] for row in data if row["data"] == title], width))
                whole = _frame(axes) and whole
            column[0].set_title(title)
        handles = {str(line.get_label()): line for column in grid for axes in column for line in axes.lines}
        ordered = [name for name in legend if name in handles]
        named = _with_seeds(ordered, data)
        abreast = _abreast(named or legend, figure.get_figwidth())
        figure.set_figheight(figure.get_figheight() + 0.16 * -(-len(legend) // abreast))
        figure.legend([handles[n] for n in ordered], named, loc="outside lower center", ncols=abreast)
    found: dict[str, set[str]] = {}
    for row in data:
        found.setdefault(row["data"], set()).add(row.get("line", row["algorithm"]))
    wanted = declared or {title: list(shown) for title, shown in columns.items()}
    return Picture(figure, data, lacking(given, wanted, found, trained=trained), [] if whole else [OUTSIDE])


def lacking(
    given: Given,
    declared: Mapping[str, Iterable[str]],
    found: Mapping[str, Collection[str]],
    kind: str = "panel",
    trained: Trained | None = None,
) -> list[str]:
    """What panels lack of the lines that they should have, in sentences.

    given    says whether some may be not there as their run is faulty
    kind     what is named as a whole if it has nothing of what it should have, but others have
    trained  (panel, scale) -> names of those lines that its file has at this scale, where some may be in none: why they
             are not there is said by `untrained` alone

    >>> given = Given("laptop", {})
    >>> lacking(given, {"left": ["a", "b, c"], "right": ["a", "b, c"]}, {"left": ["a"], "right": ["b, c"]})
    ['Not run: b, c (left)', 'Not run: a (right)']
    >>> lacking(given, {"left": ["a", "b"], "right": ["b"]}, {"left": ["a"]})
    ['Not run: b (left)', 'Not run: the panel right']
    >>> lacking(given, {"left": ["a", "b"]}, {})
    ['Not run: a; b']
    """
    why = untrained(given.scale, declared, trained) if trained else []
    wanted = {panel: list(names) for panel, names in declared.items()}
    if trained:
        wanted = {p: [name for name in names if name in trained(p, given.scale)] for p, names in wanted.items()}
    missing = {panel: [name for name in names if name not in found.get(panel, ())] for panel, names in wanted.items()}
    empty = [panel for panel in wanted if wanted[panel] and not found.get(panel)] if any(found.values()) else []
    without = given.without.capitalize()
    partly = told(without, {panel: names for panel, names in missing.items() if panel not in empty}, len(declared))
    whole = f"{without}: the {kind}{'s' * (len(empty) > 1)} {'; '.join(empty)}"
    return [*partly, *([whole] if empty else []), *why]


def untrained(scale: str, declared: Mapping[str, Iterable[str]], trained: Trained) -> list[str]:
    """Why some lines can be in no run at a scale: the file has them at other scales, or at none; in sentences.

    declared   panel -> names of the lines that it should have
    trained    as `lacking` has it

    >>> untrained("laptop", {"left": "ab", "right": "ac"}, lambda _, scale: "ab" if scale == "paper" else "a")
    ['Not in the file at laptop scale, only at paper scale: b (left)', 'Not in the file at any scale: c (right)']
    """
    why: dict[str, dict[str, list[str]]] = {}
    for panel, names in declared.items():
        at = {one: trained(panel, one) for one in SCALES}
        for name in names:
            if name not in at[scale]:
                others = " or ".join(one for one in SCALES if name in at[one])
                where = f"at {scale} scale, only at {others} scale" if others else "at any scale"
                why.setdefault(f"Not in the file {where}", {}).setdefault(panel, []).append(name)
    return [sentence for what, panels in why.items() for sentence in told(what, panels, len(declared))]


def short(seeds: Mapping[str, Mapping[str, tuple[int, int]]]) -> list[str]:
    """What panels show of fewer seeds than were asked for, in sentences.

    seeds   panel -> name of a line or a point -> seeds that it is of, and that were asked for

    >>> short({"left": {"a": (1, 3), "b": (3, 3)}, "right": {"a": (3, 3)}})
    ['Of fewer seeds than asked for: a, 1 of 3 seeds (left)']
    """
    fewer = {
        panel: [f"{name}, {n} of {in_seeds([asked])}" for name, (n, asked) in own.items() if n < asked]
        for panel, own in seeds.items()
    }
    return told("Of fewer seeds than asked for", fewer, len(fewer))


def undrawn(means: Mapping[str, Mapping[str, Number]]) -> list[str]:
    """Points that have no mean, as a seed diverged or stopped early, in sentences.

    means   panel -> name of a point -> its number

    >>> undrawn({"left": {"a": Number(1.0), "b": Number(float("nan"))}, "right": {"a": Number(1.0)}})
    ['Not drawn, as a seed stopped early or diverged: b (left)']
    """
    none = {panel: [name for name, one in own.items() if np.isnan(one.mean)] for panel, own in means.items()}
    return told("Not drawn, as a seed stopped early or diverged", none, len(none))


def told(what: str, panels: Mapping[str, Sequence[str]], all_of: int) -> list[str]:
    """A sentence for each of the lists of names, with the panels that have it, unless these are all of so many."""
    where: dict[tuple[str, ...], list[str]] = {}
    for panel, names in panels.items():
        if names:
            where.setdefault(tuple(names), []).append(panel)
    return [
        f"{what}: {'; '.join(names)}" + ("" if len(own) == all_of else f" ({'; '.join(own)})")
        for names, own in where.items()
    ]


def _grid(columns: int, rows: int, shared: bool, more: float) -> tuple[Figure, list[list[Axes]]]:
    """A figure, and for each column its axes from above; many columns of one row stand in several lines.

    more   height of what is no axes
    """
    if rows == 1 and columns > 1:
        lines = -(-columns // ABREAST)
        figure = new_figure(more + 1.7 * lines)
        return figure, [[figure.add_subplot(lines, min(columns, ABREAST), k + 1)] for k in range(columns)]
    figure = new_figure(more + (1.35 if shared else 1.65) * rows, WIDTH if columns > 1 else COLUMN)
    grid = figure.subplots(rows, columns, sharex="col" if shared else False, squeeze=False)
    return figure, [list(column) for column in grid.T]


def _line(
    axes: Axes, run: Run, label: str, metric: str, against: str, smooth: float, style: tuple[str, Any], name: str
) -> list[dict[str, Any]]:
    """Draw an algorithm's mean and deviation, if it was run and recorded; a row for each point."""
    found, cost = curve(run, label, metric, smooth), None if against == ROUND else curve(run, label, against)
    if found is None or (cost is None and against != ROUND):
        return []
    words, unit = METRICS[metric]
    mean, sd = unit * found.mean, unit * found.sd
    columns = (found.seeds.tolist(), found.rounds.tolist(), mean.tolist(), sd.tolist())
    rows: list[dict[str, Any]] = [
        {"algorithm": label, "metric": words, "seeds": n, "round": t, "mean": m, "sd": None if np.isnan(s) else s}
        for n, t, m, s in zip(*columns, strict=True)
    ]
    x: FloatArray = found.rounds.astype(float)
    if cost is not None:
        spent = cost.mean[np.searchsorted(cost.rounds, found.rounds)]
        x = COSTS[against][1] * spent
        rows = [row | {against: one} for row, one in zip(rows, spent.tolist(), strict=True)]
    band(axes, x, mean, mean - sd, mean + sd, style, name)
    return rows if name == label else [row | {"line": name} for row in rows]


def _abreast(names: Sequence[str], width: float) -> int:
    """How many names of a legend stand beside each other, in a figure of this width in inches."""
    most = 2 if width <= COLUMN else 4
    return max(1, min(most, int(LETTERS * width / COLUMN) // max(map(len, names))))


def _with_seeds(names: list[str], data: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of lines, each with its seeds where those of a panel do not have equally many."""
    seeds: dict[str, dict[str, set[int]]] = {}
    for row in data:
        seeds.setdefault(row["data"], {}).setdefault(row.get("line", row["algorithm"]), set()).add(row["seeds"])
    if all(len(set(map(frozenset, own.values()))) == 1 for own in seeds.values()):
        return names
    return [f"{name}, n = {in_seeds(n for own in seeds.values() for n in own.get(name, ()))}" for name in names]


def _against(against: str, seeds: Sequence[int], width: float) -> str:
    """The label of an axis of costs, or of rounds with the seeds that are behind the points.

    width   of the axes with what is beside them, in inches; a label that is wider stands in two lines
    """
    name = ROUND if against == ROUND else COSTS[against][0]
    if not seeds:
        return name
    behind = f"n = {in_seeds(seeds)}".replace(" ", "\N{NO-BREAK SPACE}")
    spread = behind if set(seeds) == {1} else f"band: one sd, {behind}"
    return textwrap.fill(f"{name} ({spread})", int(BELOW * width)).replace("\N{NO-BREAK SPACE}", " ")


def _frame(axes: Axes) -> bool:
    """Limits of y by lines and bands after the first rounds, whose steep lines would press the others together.

    Whether all that is drawn is within them.
    """
    drawn = [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axes.lines]
    edges = [np.asarray(path.vertices) for bands in axes.collections for path in bands.get_paths()]
    drawn += [(points[:, 0], points[:, 1]) for points in edges]
    late = [_from(FIRST * x.max(), x, y) for x, y in drawn]
    values = np.concatenate([some[np.isfinite(some)] for some in late] or [np.array([])])
    if not values.size:
        return True
    margin = 0.08 * (np.ptp(values) or 1)
    bottom, top = axes.set_ylim(values.min() - margin, values.max() + margin)
    return not any(np.any(np.isfinite(y) & ((y < bottom) | (y > top))) for _, y in drawn)


def _from(start: float, x: FloatArray, y: FloatArray) -> FloatArray:
    """The y of the points with x >= start, and of those that a line of few points has between them at the start."""
    before, after = np.minimum(x[:-1], x[1:]), np.maximum(x[:-1], x[1:])
    at = np.flatnonzero((before < start) & (start < after))
    share = (start - x[at]) / (x[at + 1] - x[at])
    return np.concatenate([y[x >= start], y[at] + share * (y[at + 1] - y[at])])


def dots(axes: Axes, numbers: Sequence[Number | None], line: tuple[str, Any], **drawn: Any) -> None:
    """Means at 0, 1, ..., with bars of one standard deviation, joined as one of `LINES` is; not over one that is None.

    drawn   goes to `Axes.errorbar`
    """
    mean = [np.nan if one is None else one.mean for one in numbers]
    sd = [np.nan if one is None or one.sd is None else one.sd for one in numbers]
    color, dashes = line
    axes.errorbar(range(len(numbers)), mean, sd, color=color, linestyle=dashes, ms=3, **drawn)


def present(given: Given, files: Mapping[str, str]) -> dict[str, Run]:
    """Title -> run, of those of the files {file: title} that have one."""
    return {title: given.runs[file] for file, title in files.items() if file in given.runs}
