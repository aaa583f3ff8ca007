"""Figures of the ledger, all ours: how tight each bound was found to be, and what rests on what."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis import graph
from analysis.evidence import SAME
from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.style import (
    BLACK,
    GREY,
    WIDTH,
    Picture,
    house_style,
    new_figure,
)
from analysis.trials import exact_from
from fltheory.ledger import ledger
from fltheory.verdicts import VERDICTS, recorded

COLUMNS = (("fedau", "fedlaavg"), ("amplified", "fast", "fedamd"))  # of papers, about as long as each other
PAPERS = [paper for column in COLUMNS for paper in column]
LEFT, RIGHT = 3e-3, 200.0  # of the axis; an infinite ratio stands at the right
ROW, HEAD = 0.135, 4  # inches a claim; height of a title and an axis, in claims

figures: dict[str, Exhibit] = {}


def found_ratios(claims: Mapping[str, Mapping[str, Any]]) -> list[dict[str, object]]:
    """A row for each claim with a recorded ratio: the largest of its evidence, 1 where it is 1 but for rounding."""
    rows: list[dict[str, object]] = []
    for id_, entry in claims.items():
        bounded = id_ in ledger and ledger[id_].bound is not None
        found = [(_ratio(evidence, bounded), evidence["method"]) for evidence in entry["evidence"]]
        ratios = {ratio: method for ratio, method in found if ratio is not None}
        if ratios:
            largest = max(ratios)
            rows.append(
                {
                    "paper": id_.partition(".")[0], "claim": id_.partition(".")[2], "verdict": entry["verdict"],
                    "origin": entry["origin"], "ratio": 1.0 if abs(largest - 1) <= SAME else largest,
                    "method": ratios[largest],
                }
            )  # fmt: skip
    return rows


def _ratio(evidence: Mapping[str, Any], bounded: bool) -> float | None:
    """The ratio that was found, or that of the witness of a bound that needs a hypothesis."""
    if "largest" in evidence:
        return float(evidence["largest"])
    witness = evidence.get("witness", {})
    if not (bounded and evidence["verdict"] == "conditional" and {"left", "right"} <= witness.keys()):
        return None
    sides = (str(witness[side]) for side in ("left", "right"))
    left, right = (float(exact_from(side) if "0x" in side else sympy.sympify(side)) for side in sides)
    return left / right if right > 0 else math.inf


NOTES = [
    "Of refuted and many conditional claims the ratio is that of the recorded witness: others may have more, without "
    "end for some",
    "A conditional claim above 1 fails where what it needs is not given; ∞: the right side is not positive",
]


@enter(figures, "tightness", "Ours: the largest left over right side that was found, of every bound, by paper")
def tightness(given: Given) -> Picture:
    """Of the recorded verdicts. What is proved without any point at which both sides were computed has no ratio."""
    rows = found_ratios(recorded())
    of = {paper: [row for row in rows if row["paper"] == paper] for paper in PAPERS}
    heights = [[len(of[paper]) + HEAD for paper in column] for column in COLUMNS]
    tallest = max(map(sum, heights))
    with house_style():
        figure = new_figure(ROW * tallest + 0.7, WIDTH)
        parts: Any = figure.subfigures(1, len(COLUMNS))
        for part, column, height in zip(parts, COLUMNS, heights, strict=True):
            ratios = [*height, max(tallest - sum(height), 1e-3)]
            *panels, rest = part.subplots(len(ratios), 1, height_ratios=ratios)
            rest.axis("off")
            for axes, paper in zip(panels, column, strict=True):
                _panel(axes, paper, of[paper])
        verdicts = [verdict for verdict in VERDICTS if any(row["verdict"] == verdict for row in rows)]
        handles = [Line2D([], [], ls="", marker="o", color=graph.MARKS[verdict], label=verdict) for verdict in verdicts]
        for label, marker in (("the paper's", "o"), ("ours", "s")):
            handles.append(Line2D([], [], ls="", marker=marker, color=BLACK, mfc="none", label=label))
        figure.legend(handles=handles, loc="outside lower center", ncols=4, handletextpad=0.1)
    return Picture(figure, rows, notes=NOTES)


def _panel(axes: Axes, paper: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """A line for each claim, in the order of the ledger from above."""
    axes.axvline(1, color=BLACK, lw=0.7)
    for k, row in enumerate(rows):
        ratio, color = row["ratio"], graph.MARKS[row["verdict"]]
        x = RIGHT / 1.3 if math.isinf(ratio) else ratio
        axes.plot([LEFT, x], [k, k], color=GREY, lw=0.4, zorder=0)
        axes.plot(x, k, "s" if row["origin"] == "ours" else "o", ms=3.5, color=color, clip_on=False)
        if math.isinf(ratio):
            axes.text(x * 1.12, k, r"$\infty$", va="center", fontsize=6)
    axes.set_yticks(range(len(rows)), [str(row["claim"]) for row in rows], fontsize=5.5)
    axes.set(xscale="log", xlim=(LEFT, RIGHT), ylim=(len(rows) - 0.3, -0.7))
    axes.set_title(f"{paper}: {len(rows)} statements with a ratio", pad=3)
    axes.set_xlabel("largest ratio found (no unit);\nabove 1 the statement fails", fontsize=6.5, labelpad=1)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=6)


def _graph(paper: str) -> None:
    """Enter the dependency graph of a paper: no claim rests on one of another paper."""

    @enter(figures, f"graph_{paper}", f"Ours: which claims of {paper} rest on which, by verdict")
    def draw(given: Given) -> Picture:
        return graph.picture(paper)


for _paper in PAPERS:
    _graph(_paper)
