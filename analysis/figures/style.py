"""One house style: colours that the colour-blind can tell apart, readable at the width of a column in print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cycler import cycler
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from analysis.files import whole_file

BLACK, BLUE, ORANGE, GREEN, PURPLE, GREY = "#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#777777"
SKY, AMBER = "#56B4E9", "#E69F00"
LINES: tuple[tuple[str, Any], ...] = (  # colours of Okabe and Ito (2008), each with dashes of its own: lines that
    (BLUE, "-"),  # cover each other stay visible, and print in grey can be read
    (ORANGE, (0, (4, 2))),
    (GREEN, (0, (4, 1, 1, 1))),
    (PURPLE, (0, (1, 1))),
    (BLACK, (0, (8, 2))),
    (AMBER, (0, (4, 1, 1, 1, 1, 1))),
    (SKY, (0, (2, 1))),
    (GREY, (0, (1, 2))),
)
DATES = {".svg": "Date", ".pdf": "CreationDate"}  # left out: the same picture is the same file
WIDTH, COLUMN = 7.0, 3.4  # inches, two columns and one in print


@dataclass(frozen=True)
class Picture:
    """A figure as it is drawn, a row of data for every plotted point, by names of columns, and what it lacks.

    lacks   what belongs to it and was not run, or not with all seeds, a sentence each without its stop (`lacking`,
            `short` and `undrawn` of `analysis.figures.curves`)
    notes   what else its reader must know of it, likewise
    """

    figure: Figure
    rows: Sequence[Mapping[str, object]]
    lacks: Sequence[str] = ()
    notes: Sequence[str] = ()


STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "fltheory",  # the same picture is the same file
}


def house_style() -> AbstractContextManager[None]:
    """Settings for everything drawn inside the context."""
    return rc_context(STYLE)


def notebook_style() -> None:
    """The same settings for all that pyplot draws from now on, two columns wide, lines in the colours of `LINES`."""
    colors, dashes = zip(*LINES, strict=True)
    rcParams.update(STYLE)
    rcParams.update(
        {
            "axes.prop_cycle": cycler(color=colors) + cycler(linestyle=dashes),
            "figure.constrained_layout.use": True,
            "figure.dpi": 150,
            "figure.figsize": (WIDTH, 2.6),
        }
    )


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure of this height and width in inches, to be drawn without a display."""
    figure = Figure(figsize=(width, height), dpi=200, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def band(axes: Axes, x: Any, middle: Any, low: Any, high: Any, line: tuple[str, Any], label: str) -> None:
    """A curve with a shaded band around it, in one of `LINES`."""
    color, dashes = line
    axes.plot(x, middle, color=color, linestyle=dashes, label=label)
    axes.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)


def save(figure: Figure, path: Path) -> Path:
    """Write a picture of the kind its name ends in, under a temporary name, then rename.

    What stands above it also goes along as text, for `caption_of`. Raises InputError if the path cannot be written.
    """
    told: dict[str, str | None] = {DATES[path.suffix]: None} if path.suffix in DATES else {}
    if (above := figure.get_suptitle()) and path.suffix in (".svg", ".png"):
        told["Description"] = above.replace("\n", " ")
    with whole_file(path) as partial:
        figure.savefig(partial, format=path.suffix[1:], metadata=told)
    return path


def caption_of(path: Path) -> str:
    """The text that stands above a picture of `save`, .svg or .png; empty if there is none, or no such picture."""
    return _caption_of(path) or ""


def is_whole(path: Path) -> bool:
    """Whether a browser can show all of a file as what its name ends in, .svg or .png."""
    return _caption_of(path) is not None


def _caption_of(path: Path) -> str | None:
    """The text above a picture; none if the file is no picture of the kind that its name ends in, or not all of it."""
    try:
        if path.suffix == ".svg":
            root = ElementTree.parse(path).getroot()
            there = root.tag == "{http://www.w3.org/2000/svg}svg"
            return root.findtext(".//{http://purl.org/dc/elements/1.1/}description", "") if there else None
        with Image.open(path, formats=["PNG"]) as picture:
            picture.load()  # to its end
            return str(picture.info.get("Description", ""))
    except (OSError, SyntaxError, ValueError, LookupError):  # what Pillow and the parser of XML raise, for any fault
        return None
