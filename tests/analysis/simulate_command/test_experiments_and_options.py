"""The example files are sound; bad options, and memory that does not hold a run, are one sentence."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis.simulate_command import (
    simulate_file,
)
from fltheory.errors import InputError
from sims.experiment import parse, read
from sims.montecarlo import replicates
from sims.montecarlo.simulate import simulate
from tests.analysis.simulate_command.made import diverging, quietly

FILES = sorted((Path(__file__).parents[3] / "experiments").rglob("*.toml"))

EXAMPLES = [file for file in FILES if 'kind = "simulate"' in file.read_text()]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_run(example, tmp_path):
    from sims import preflight

    experiment = read(example)
    preflight.check(experiment)
    assert parse(json.loads(experiment.canonical)).key == experiment.key


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"backend": "threads"}, 'backend must be "loky" or "dask"'),
        ({"scheduler": "tcp://here:1"}, 'scheduler must be given with backend "dask" only'),
        ({"workers": 0}, "workers must be a whole number of at least 1"),
    ],
)
def test_bad_options_are_one_sentence(file, tmp_path, options, says):
    with pytest.raises(InputError, match=says):
        quietly(file, tmp_path / "store", **options)
    assert not (tmp_path / "store").exists()


def test_minus_infinity_is_shown_as_a_number(tmp_path):
    with pytest.raises(InputError, match=r"p must be a finite number; got -inf$"):
        simulate(diverging(process={"name": "bernoulli", "p": -np.inf}), store=tmp_path)


def test_a_chunk_is_bounded_in_memory_and_depends_on_the_experiment_alone():
    def size(**options):
        made = diverging(**options)
        return replicates.chunk_size(made, 0)

    assert size(replicates=10_000) == replicates.LARGEST
    assert size(replicates=10_000, rounds=10**6) == replicates.BYTES // (3 * 10**6)
    assert size(replicates=10_000, rounds=10**8) == 1
    assert size(replicates=5) == 5


def test_memory_that_does_not_hold_the_run_is_one_sentence(file, tmp_path, monkeypatch):
    def full(*arguments):
        raise MemoryError

    monkeypatch.setattr(replicates, "Simulation", full)
    with pytest.raises(InputError, match="rounds must be fewer, or recorded less often"):
        simulate_file(file, store=tmp_path, progress=False)


@pytest.mark.parametrize("where", ["concat", "DataFrame"])
def test_memory_that_does_not_hold_the_joined_data_is_one_sentence(file, tmp_path, monkeypatch, where):
    def full(*arguments):
        raise MemoryError

    monkeypatch.setattr(pl, where, full)
    with pytest.raises(InputError, match=r"replicates must be fewer, or recorded less often: .*; got 23$"):
        simulate_file(file, store=tmp_path, progress=False)
