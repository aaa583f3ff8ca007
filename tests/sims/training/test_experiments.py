"""Every training experiment of experiments/ is one: read at its smallest scale; one of each paper runs, on digits."""

import inspect
import json
import tomllib
from pathlib import Path

import pytest

from analysis.checks.published import published
from analysis.tables.fedau import METHODS
from fltheory.errors import InputError
from sims import data
from sims.experiment import content_of, parse, read

pytest.importorskip("torch", reason="needs the training extra")
pytest.importorskip("sklearn", reason="needs the training extra")
from sims.training import models, problem
from sims.training.run import train
from sims.training.sweep import sweep

pytestmark = pytest.mark.torch

FOLDER = Path(__file__).parents[3] / "experiments"
CONTENT = {file: tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*/*.toml"))}
TRAINING = [file for file, content in CONTENT.items() if content["kind"] == "train"]
DIGITS = {"data": "digits", "train_samples": 1438, "test_samples": 100}  # a sample at least for each of 1,000 clients


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
    start = CONTENT[file].get("start")
    if start:  # the model of another file's run
        train(read(file.parent / start["file"], "smoke", **changes), store=tmp_path)
    experiment = read(file, "smoke", **changes)
    run = train(experiment, store=tmp_path)
    assert run.status == "complete"
    assert run.reason == ""
    assert run.data()["train_loss"].is_finite().all()


@pytest.mark.parametrize("name", ["svhn", "cifar10", "cifar100", "cinic10"])
def test_the_search_of_fedau_is_that_of_its_appendix(name):
    """C.4: the grids and the round; the file's own step sizes are those that were found, and lie on the grids."""
    content = CONTENT[FOLDER / "fedau" / f"tableC41-{name}.toml"]
    grid = content["sweep"]
    assert grid["local_lr"] == pytest.approx([10 ** (-2 + k / 4) for k in range(7)], rel=2e-3)
    assert grid["global_lr"] == pytest.approx([10 ** (k / 4) for k in range(7)], rel=2e-3)
    assert (grid["metric"], content["rounds"]) == ("train_loss", 500)
    found = {row["method"]: row for row in published("fedau_tabC41") if row["dataset"] == name}
    assert {METHODS[method] for method in found} == {one["label"] for one in content["algorithm"]}
    for method, row in found.items():
        own = next(one for one in content["algorithm"] if one["label"] == METHODS[method])
        assert own["local_lr"] == float(row["local_lr"]) in grid["local_lr"]
        assert own["global_lr"] == float(row["global_lr"]) in grid["global_lr"]


def test_the_search_of_fedau_runs_on_digits(tmp_path):
    changes = DIGITS | {"model": "logistic", "augmentation": "none"}
    content = content_of(FOLDER / "fedau" / "tableC41-cifar10.toml", "smoke", **changes)
    content["algorithm"] = content["algorithm"][:1]
    points, best = sweep(content, lambda experiment: train(experiment, store=tmp_path))
    assert [(point.local_lr, point.global_lr) for point in points[:2]] == [(0.001, 1), (0.01, 1)]
    assert len(points) == 3
    assert best["FedAU, K = inf"].value == min(point.value for point in points)


def test_data_that_are_not_there_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("FLTHEORY_DATA", str(tmp_path))
    problem.loaded.cache_clear()
    with pytest.raises(InputError, match="fltheory data fetch fashion-mnist"):
        read(FOLDER / "fedau" / "fashion-bernoulli.toml", "smoke")
