"""The dependency graph: which claims rest on which, drawn in layers and coloured by recorded verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fltheory.errors import InputError, one_of
from fltheory.ledger import Claim, ledger
from fltheory.verdicts import VERDICTS, recorded

if TYPE_CHECKING:
    from analysis.figures.style import Picture

# Colour-blind safe (after Okabe and Ito), from bad to good, each with a dark text on it.
COLOURS = {
    "refuted": "#e69f9f",
    "inconsistent": "#f0b48a",
    "conditional": "#f5e08a",
    "not checked": "#e4e4e4",
    "supported": "#cfe8f7",
    "exact": "#9fd0ee",
    "proved": "#8fd6bd",
}
ROW, GAP, HEAD, MARGIN, PAD = 0.27, 0.85, 0.75, 0.15, 0.06  # inches


def draw(paper: str | None = None, out: Path | None = None) -> str:
    """Draw the claims of one paper, or of all, that rest on others or are rested on; where the picture is.

    Raises InputError for an unknown paper, for a place that cannot be written and for a paper without any such claims.
    """
    from analysis.figures.style import house_style, save
    from analysis.files import require_writable

    if paper is not None and paper not in ledger.papers:
        raise InputError("PAPER", paper, one_of(paper, ledger.papers))
    path = out or Path(f"{paper or 'claims'}.svg")
    if path.suffix not in (".svg", ".png", ".pdf"):
        raise InputError("--out", str(path), "a name that ends in .svg, .png or .pdf")
    require_writable(path)
    drawn = picture(paper)
    with house_style():
        return str(save(drawn.figure, path))


def picture(paper: str | None = None) -> Picture:
    """The claims of one paper, or of all, with an arrow from a claim to what rests on it; a row for each arrow.

    Raises InputError if no claim rests on another.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch, Patch
    from matplotlib.path import Path as Curve
    from matplotlib.textpath import TextPath

    from analysis.figures.style import Picture

    claims = {id_: claim for id_, claim in ledger.items() if paper in (None, claim.paper)}
    places = positions(claims)
    if not places:
        raise InputError("PAPER", paper, "one with claims that rest on each other")
    known = recorded()
    verdicts = {id_: known.get(id_, {}).get("verdict", "not checked") for id_ in places}
    names = {id_: id_ if paper is None else id_.partition(".")[2] for id_ in places}
    widths = {id_: 2 * PAD + TextPath((0, 0), name, size=7).get_extents().width / 72 for id_, name in names.items()}
    rows = 1 + max(row for _, row in places.values())
    left = [MARGIN]
    for level in range(1 + max(column for column, _ in places.values())):
        left.append(left[-1] + GAP + max(widths[id_] for id_, place in places.items() if place[0] == level))
    size = max(left[-1], 6.5), HEAD + (rows + 0.5) * ROW
    at = {id_: (left[column], size[1] - HEAD - row * ROW) for id_, (column, row) in places.items()}
    figure = Figure(figsize=size, dpi=150)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, size[0]), ylim=(0, size[1]))
    axes.axis("off")
    data: list[dict[str, object]] = []
    for id_, (x, y) in at.items():
        for used in uses(claims, id_):
            start = at[used][0] + widths[used]
            bend = (x - start) / 2
            curve = Curve(
                [(start, at[used][1]), (start + bend, at[used][1]), (x - bend, y), (x, y)],
                [Curve.MOVETO] + 3 * [Curve.CURVE4],
            )
            axes.add_patch(FancyArrowPatch(path=curve, arrowstyle="-|>", mutation_scale=6, color="0.6", lw=0.6))
            data.append({"claim": id_, "verdict": verdicts[id_], "rests on": used, "its verdict": verdicts[used]})
        box = {"boxstyle": "round,pad=0.2", "facecolor": COLOURS[verdicts[id_]], "edgecolor": "0.3", "lw": 0.5}
        axes.text(x + PAD, y, names[id_], va="center", fontsize=7, bbox=box)
    present = [verdict for verdict in VERDICTS if verdict in verdicts.values()]
    handles = [Patch(facecolor=COLOURS[verdict], edgecolor="0.3", label=verdict) for verdict in present]
    alone = len(claims) - len(places)
    title = (
        f"{paper or 'all papers'}: an arrow goes from a claim to what rests on it ({alone} without arrows not drawn)"
    )
    axes.text(MARGIN, size[1] - 0.15, title, va="center", fontsize=8)
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(MARGIN / size[0], 1 - 0.25 / size[1]),
        borderpad=0,
        ncols=len(handles),
        frameon=False,
        fontsize=8,
    )
    return Picture(figure, data)


def uses(claims: Mapping[str, Claim], id_: str) -> list[str]:
    """What a claim rests on, among the claims given; its assumptions are not drawn, everything rests on them."""
    return [used for used in claims[id_].uses if used in claims and claims[used].kind != "assumption"]


def positions(claims: Mapping[str, Claim]) -> dict[str, tuple[int, int]]:
    """Column and row of every claim that has an arrow; a claim stands to the right of everything it rests on.

    Rows follow the order of a claim's sources, so that arrows cross little.
    """
    needed = {id_: uses(claims, id_) for id_ in claims}
    drawn = {id_ for id_, used in needed.items() if used} | {used for each in needed.values() for used in each}
    column: dict[str, int] = {}

    def depth(id_: str, path: tuple[str, ...] = ()) -> int:
        if id_ in path:
            raise InputError("uses", " -> ".join((*path, id_)), "free of circles")
        if id_ not in column:
            column[id_] = max((1 + depth(used, (*path, id_)) for used in needed[id_]), default=0)
        return column[id_]

    order = {id_: k for k, id_ in enumerate(claims)}
    places: dict[str, tuple[int, int]] = {}
    for level in range(1 + max((depth(id_) for id_ in drawn), default=-1)):
        members = [id_ for id_ in drawn if column[id_] == level]
        rows = {
            id_: (sum(places[used][1] for used in needed[id_]) / len(needed[id_]) if needed[id_] else 0.0)
            for id_ in members
        }
        for row, id_ in enumerate(sorted(members, key=lambda id_: (rows[id_], order[id_]))):
            places[id_] = (level, row)
    return places
