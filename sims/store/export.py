"""Runs as files for other programs."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import polars as pl

from fltheory.errors import InputError
from sims.store.files import Run
from sims.whole import whole


def export(run: Run, path: str | os.PathLike[str]) -> None:
    """Write the data as .csv, or manifest and columns as .json.

    Raises InputError for another ending, and for a folder that is not there.
    """
    target = Path(path)
    if target.suffix not in (".csv", ".json"):
        raise InputError("path", str(path), "a name that ends in .csv or .json")
    if not target.parent.is_dir():
        raise InputError("path", str(path), "a path in a folder that is there")
    data = run.data()
    if target.suffix == ".csv":
        text = data.write_csv()
    else:
        about = {"key": run.key, "status": run.status, "reason": run.reason, "versions": run.versions}
        about |= {
            "experiment": run.experiment,
            "columns": {column.name: _strict(column) for column in data.iter_columns()},
        }
        text = json.dumps(about, indent=1, allow_nan=False) + "\n"
    try:
        with whole(target) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError("path", str(path), f"a file that can be written ({error.strerror})") from None


def _strict(column: pl.Series) -> list[Any]:
    """The values, with infinity as text, since JSON has no number for it."""
    return [str(value) if isinstance(value, float) and not math.isfinite(value) else value for value in column]
