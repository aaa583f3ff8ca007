"""The dependency graph: which claims rest on which, drawn in layers and coloured by recorded verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fltheory.errors import InputError, one_of
from fltheory.ledger import Claim, ledger
from fltheory.verdicts import VERDICTS, recorded

if TYPE_CHECKING:
    from analysis.figures.style import Picture

# Colours of Okabe and Ito, from bad to good: of marks, and half as strong for what a dark text stands on.
MARKS = {
    "refuted": "#d55e00",
    "inconsistent": "#e69f00",
    "conditional": "#cc79a7",
    "not checked": "#777777",
    "supported": "#56b4e9",
    "exact": "#0072b2",
    "proved": "#009e73",
}
COLOURS = {of: "#" + bytes((c + 255) // 2 for c in bytes.fromhex(mark[1:])).hex() for of, mark in MARKS.items()}
WIDTH, MARGIN, HEAD = 7.0, 0.15, 0.65  # inches: of the picture, two columns in print; its edge; above the first line
ROW, GAP, SPACE = 0.27, 0.24, 0.16  # from line to line, more from level to level, between names
PAD, HALF = 0.06, 0.09  # from a name to the edge of its box, beside it and above


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
    at, depth = {}, 0.0  # x of the left end, and how far below the first line
    for level in range(1 + max(level for level, _ in places.values())):
        own = sorted((id_ for id_, place in places.items() if place[0] == level), key=lambda id_: places[id_][1])
        for line in _lines(own, widths):
            x = (WIDTH - sum(widths[id_] + SPACE for id_ in line) + SPACE) / 2
            for id_ in line:
                at[id_] = x, depth
                x += widths[id_] + SPACE
            depth += ROW
        depth += GAP
    size = WIDTH, HEAD + depth - GAP
    at = {id_: (x, size[1] - HEAD - below) for id_, (x, below) in at.items()}
    figure = Figure(figsize=size, dpi=150)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, size[0]), ylim=(0, size[1]))
    axes.axis("off")
    data: list[dict[str, object]] = []
    for id_, (x, y) in at.items():
        for used in uses(claims, id_):
            top, start = y + HALF, (at[used][0] + widths[used] / 2, at[used][1] - HALF)
            end, bend = (x + widths[id_] / 2, top), (start[1] - top) / 2
            curve = Curve(
                [start, (start[0], start[1] - bend), (end[0], top + bend), end], [Curve.MOVETO] + 3 * [Curve.CURVE4]
            )
            axes.add_patch(FancyArrowPatch(path=curve, arrowstyle="-|>", mutation_scale=6, color="0.6", lw=0.6))
            data.append({"claim": id_, "verdict": verdicts[id_], "rests on": used, "its verdict": verdicts[used]})
        box = {"boxstyle": "round,pad=0.2", "facecolor": COLOURS[verdicts[id_]], "edgecolor": "0.3", "lw": 0.5}
        axes.text(x + PAD, y, names[id_], va="center", fontsize=7, bbox=box)
    present = [verdict for verdict in VERDICTS if verdict in verdicts.values()]
    handles = [Patch(facecolor=COLOURS[verdict], edgecolor="0.3", label=verdict) for verdict in present]
    assumptions = sum(claim.kind == "assumption" for claim in claims.values())
    alone = len(claims) - len(places) - assumptions
    title = (
        f"{paper or 'all papers'}: an arrow goes from a claim to what rests on it (not drawn: {assumptions} "
        f"assumptions, {alone} others without arrows)"
    )
    axes.text(MARGIN, size[1] - 0.15, title, va="center", fontsize=8)
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(MARGIN / size[0], 1 - 0.25 / size[1]),
        borderpad=0,
        ncols=len(handles),
        columnspacing=1,
        handlelength=1.5,
        frameon=False,
        fontsize=8,
    )
    return Picture(figure, data)


def _lines(names: Sequence[str], widths: Mapping[str, float]) -> list[list[str]]:
    """These names in lines that are no wider than the picture, as evenly filled as their order allows."""
    room, total = WIDTH - 2 * MARGIN, sum(widths[name] + SPACE for name in names)
    share = total / -(-total // room)
    lines: list[list[str]] = [[]]
    used = 0.0
    for name in names:
        if lines[-1] and (used + widths[name] > room or used + widths[name] / 2 > share):
            lines.append([])
            used = 0.0
        lines[-1].append(name)
        used += widths[name] + SPACE
    return lines


def uses(claims: Mapping[str, Claim], id_: str) -> list[str]:
    """What a claim rests on, among the claims given; its assumptions are not drawn, everything rests on them."""
    return [used for used in claims[id_].uses if used in claims and claims[used].kind != "assumption"]


def positions(claims: Mapping[str, Claim]) -> dict[str, tuple[int, int]]:
    """Level and place in it of every claim that has an arrow; a claim stands below everything it rests on.

    Places follow the order of a claim's sources, so that arrows cross little.
    """
    needed = {id_: uses(claims, id_) for id_ in claims}
    drawn = {id_ for id_, used in needed.items() if used} | {used for each in needed.values() for used in each}
    level_of: dict[str, int] = {}

    def depth(id_: str, path: tuple[str, ...] = ()) -> int:
        if id_ in path:
            raise InputError("uses", " -> ".join((*path, id_)), "free of circles")
        if id_ not in level_of:
            level_of[id_] = max((1 + depth(used, (*path, id_)) for used in needed[id_]), default=0)
        return level_of[id_]

    order = {id_: k for k, id_ in enumerate(claims)}
    places: dict[str, tuple[int, int]] = {}
    for level in range(1 + max((depth(id_) for id_ in drawn), default=-1)):
        members = [id_ for id_ in drawn if level_of[id_] == level]
        rows = {
            id_: (sum(places[used][1] for used in needed[id_]) / len(needed[id_]) if needed[id_] else 0.0)
            for id_ in members
        }
        for row, id_ in enumerate(sorted(members, key=lambda id_: (rows[id_], order[id_]))):
            places[id_] = (level, row)
    return places
