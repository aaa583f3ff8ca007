"""The books behind the entry points."""

from __future__ import annotations

import pytest

from analysis import exhibits
from analysis.exhibits import Exhibit
from tests.analysis.exhibits.made import FIGURES, TABLES


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, dict[str, Exhibit]]]:
    """The books behind the entry points, to which a test may add its own; whatever is installed."""
    known: dict[str, dict[str, dict[str, Exhibit]]] = {
        "fltheory.figures": dict(FIGURES),
        "fltheory.tables": dict(TABLES),
    }
    entries, load = exhibits.plugins.entries, exhibits.plugins.load
    monkeypatch.setattr(exhibits.plugins, "entries", lambda group: known.get(group) or entries(group))
    monkeypatch.setattr(
        exhibits.plugins, "load", lambda entry, *kind: entry if isinstance(entry, dict) else load(entry, *kind)
    )
    return known
