"""The tests need the package installed: fltheory finds what it adds by its entry points."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest


def pytest_configure() -> None:
    if not entry_points(group="fltheory.claims", name="blackout"):
        raise pytest.UsageError("blackout is not installed: pip install -e examples/plugin (see its README)")
