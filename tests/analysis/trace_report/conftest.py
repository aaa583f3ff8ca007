"""One report that many tests read."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.trace_report import TraceReport, trace_report
from fltheory.participation import Markov
from tests.analysis.trace_report.logs import dense


@pytest.fixture(scope="session")
def report() -> TraceReport:
    """Twenty-five days of hours of four clients, of which the last never comes."""
    on = Markov.from_stability([0.2, 0.4, 0.6, 0.5], 0.5).sample(600, seed=0)
    on[:, 3] = False
    observed = np.random.default_rng(0).random(on.shape) < 0.9
    return trace_report(dense(on, observed), day=24, labels=("a", "a", "b", "b"))
