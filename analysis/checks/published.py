"""The published tables, one printed number or cell a row, as they stand in `fltheory/data`."""

from __future__ import annotations

import csv
from importlib.resources import files


def published(name: str) -> list[dict[str, str]]:
    """The rows of `fltheory/data/<name>.csv`, such as "fast_tab3", by the names of their columns."""
    with (files("fltheory") / "data" / f"{name}.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))
