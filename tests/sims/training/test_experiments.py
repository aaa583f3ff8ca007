"""Every training experiment of experiments/ is one: read at its smallest scale; one of each paper runs, on digits."""

import inspect
import json
import tomllib
from pathlib import Path

import pytest

from fltheory.errors import InputError
from sims import data
from sims.experiment import parse, read

pytest.importorskip("torch", reason="needs the training extra")
pytest.importorskip("sklearn", reason="needs the training extra")
from sims.training import models, problem
from sims.training.run import train

pytestmark = pytest.mark.torch

FOLDER = Path(__file__).parents[3] / "experiments"
CONTENT = {file: tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*/*.toml"))}
TRAINING = [file for file, content in CONTENT.items() if content["kind"] == "train"]
DIGITS = {"data": "digits", "train_samples": 1000, "test_samples": 100}


def name_of(file):
    return file.relative_to(FOLDER).with_suffix("").as_posix()


def data_of(content):
    named = content["problem"]["data"]
    return named if isinstance(named, str) else named["name"]


def is_there(name):
    try:
        return data.is_fetched(name)
    except InputError:
        return False


@pytest.mark.parametrize(
    "manifest", sorted((FOLDER.parent / "results").glob("*/complete.json")), ids=lambda m: m.parent.name[:12]
)
def test_what_was_run_keeps_its_key(manifest):
    """Options that come later must not make a kept run another experiment."""
    content = json.loads(manifest.read_text(encoding="utf-8"))
    if not is_there(data_of(content["experiment"])):
        pytest.skip("its data are not in the cache")
    assert parse(content["experiment"]).key == content["key"]


def test_all_five_papers_have_some():
    assert {file.parent.name for file in TRAINING} == {"amplified", "fast", "fedamd", "fedau", "fedlaavg"}


@pytest.mark.parametrize("file", TRAINING, ids=name_of)
def test_it_says_what_it_is_and_has_three_scales(file):
    assert file.read_text(encoding="utf-8").startswith("# ")
    assert CONTENT[file]["scale"].keys() == {"laptop", "smoke"}


@pytest.mark.parametrize("file", TRAINING, ids=name_of)
def test_it_is_an_experiment(file):
    """Where its data are not there, with digits in their place; its model is then looked up by name and parameters."""
    problem, changes = CONTENT[file]["problem"], {}
    if not is_there(data_of(CONTENT[file])):
        model = problem["model"] if isinstance(problem["model"], dict) else {"name": problem["model"]}
        assert model.keys() - {"name"} <= inspect.signature(models.factory(model["name"])).parameters.keys()
        changes = DIGITS | {"model": "logistic", "augmentation": "none"}
        if "natural" in str(problem["partition"]):
            changes["partition"] = {"name": "iid", "n_clients": 100}
    assert read(file, "smoke", **changes).rounds <= 4


@pytest.mark.parametrize(
    "name",
    ["fedau/fashion-bernoulli", "amplified/fashion", "fedlaavg/mnist-N200", "fast/fmnist-alpha-0.1-beta",
     "fedamd/table2-20"],
)  # fmt: skip
def test_one_of_each_paper_runs_on_digits(name, tmp_path):
    file = FOLDER / f"{name}.toml"
    changes = DIGITS | {"partition": CONTENT[file]["problem"]["partition"] | {"n_clients": 20}, "model": "logistic"}
    if name.startswith("fedlaavg"):  # its periods name the clients one by one
        changes["partition"]["n_clients"] = 200
        changes["train_samples"] = 1438
    start = CONTENT[file].get("start")
    if start:  # the model of another file's run
        train(read(file.parent / start["file"], "smoke", **changes), store=tmp_path)
    experiment = read(file, "smoke", **changes)
    run = train(experiment, store=tmp_path)
    assert run.status == "complete"
    assert run.reason == ""
    assert run.data()["train_loss"].is_finite().all()


def test_data_that_are_not_there_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("FLTHEORY_DATA", str(tmp_path))
    problem.loaded.cache_clear()
    with pytest.raises(InputError, match="fltheory data fetch fashion-mnist"):
        read(FOLDER / "fedau" / "fashion-bernoulli.toml", "smoke")
