"""What several tests of logs share."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(params=[1, 2, 3, 10**6])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So many events of a log are looked at together, wherever it is read in blocks."""
    for name, module in list(sys.modules.items()):
        if name.startswith("analysis.traces.") and hasattr(module, "AT_ONCE"):
            monkeypatch.setattr(module, "AT_ONCE", request.param)
    return int(request.param)
