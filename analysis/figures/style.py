"""One house style: colours that the colour-blind can tell apart, column width, data beside the picture."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from analysis.files import new_file_beside, write_text
from fltheory.errors import InputError

BLACK, BLUE, ORANGE, GREEN, PURPLE, GREY = "#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#777777"
WIDTH = 7.0  # inches, two columns in print


def house_style() -> AbstractContextManager[None]:
    """Settings for everything drawn inside the context."""
    return rc_context(
        {
            "font.size": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 8,
            "legend.frameon": False,
            "lines.linewidth": 1.3,
        }
    )


def new_figure(height: float) -> Figure:
    """An empty figure of page width and the given height in inches, to be drawn without a display."""
    figure = Figure(figsize=(WIDTH, height), dpi=200, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> Path:
    """Write a picture of the kind its name ends in, under a temporary name, then rename.

    Raises InputError if the path cannot be written.
    """
    partial = new_file_beside(path)
    try:
        figure.savefig(partial, format=path.suffix[1:])
        partial.chmod(0o644)
        os.replace(partial, path)
    except OSError as error:
        raise InputError("output file", str(path), f"a path that can be written ({error.strerror})") from None
    finally:
        partial.unlink(missing_ok=True)
    return path


def save_data(path: Path, rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> Path:
    """Write the plotted data as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
    return path
