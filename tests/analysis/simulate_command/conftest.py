"""The experiment file that most of these tests run."""

import pytest

from sims.montecarlo import replicates
from tests.analysis.simulate_command.made import FILE


@pytest.fixture
def file(tmp_path, monkeypatch):
    """An experiment of three chunks for each algorithm."""
    monkeypatch.setattr(replicates, "LARGEST", 10)
    path = tmp_path / "experiment.toml"
    path.write_text(FILE)
    return path
