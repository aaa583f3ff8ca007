"""The testing kit on the package's own process and algorithm, and the verdicts of its claims."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from blackout.algorithm import Hyper, quorum
from blackout.checks import participants
from blackout.process import Blackout

from analysis.cli import main
from fltheory.errors import InputError
from fltheory.participation import families
from fltheory.testing import check_participation_process
from sims.algorithms import algorithms
from sims.testing import check_algorithm

EXPERIMENT = Path(__file__).parents[1] / "experiment.toml"


def test_the_process_passes_the_battery() -> None:
    check_participation_process(
        Blackout([0.2, 0.9], outage=0.3),
        of=Blackout,
        expected_failures={"independent clients": "an outage takes everybody with it"},
    )


def test_clients_fail_together() -> None:
    trace = Blackout(np.ones(3), outage=0.5).sample(100, seed=1)
    assert set(trace.sum(axis=1)) == {0, 3}


def test_the_algorithm_passes_the_battery() -> None:
    check_algorithm(quorum, Hyper(Fraction(1, 8), quorum=2, local_steps=2))


def test_they_are_found() -> None:
    assert families()["blackout"] is Blackout
    assert algorithms()["quorum"] is quorum


def test_the_expected_cohort_by_hand() -> None:
    assert participants(Fraction(1, 2), 2) == Fraction(4, 3)


@pytest.mark.parametrize("outage", [-0.1, 1, float("nan")])
def test_an_outage_is_a_probability_below_1(outage: float) -> None:
    with pytest.raises(InputError, match=r"^outage must be in \[0, 1\); got "):
        Blackout(0.5, outage)


def test_verdicts_witness_and_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fltheory("verify blackout") == 0
    assert "1 exact, 1 refuted" in capsys.readouterr().out
    assert fltheory("falsify blackout.cohort --budget 2s") == 1  # found
    assert fltheory("replay blackout.cohort.witness.json") == 0
    assert "violates the claim" in capsys.readouterr().out
    assert fltheory("falsify blackout.cohort.repaired --budget 1s") == 0
    assert fltheory(f"simulate {EXPERIMENT}") == 0
    (manifest,) = (tmp_path / "results").rglob("complete.json")
    assert json.loads(manifest.read_text())["experiment"]["process"]["name"] == "blackout"


def fltheory(command: str) -> int:
    """The exit code of the command line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["fltheory", *command.split()])
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0
