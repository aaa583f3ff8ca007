"""Training that begins with the models of another run: which ones, and what is told where there are none."""

import copy
import json

import pytest

from fltheory.errors import InputError
from sims.experiment import parse, read, read_without_data

torch = pytest.importorskip("torch", reason="needs the training extra")
pytest.importorskip("sklearn", reason="needs the training extra")
from sims.training.run import train  # noqa: E402
from tests.sims.training.test_run import CONTENT  # noqa: E402

pytestmark = pytest.mark.torch

WARM_UP = CONTENT | {
    "rounds": 4,
    "algorithm": [{"name": "fedavg", "local_lr": 0.1, "local_steps": 2}],
    "record": {"what": ["train_loss"], "every": 2, "final_model": True},
}


def test_a_run_begins_with_the_models_of_another_one(tmp_path):
    """Every replicate and algorithm with the last model of the same replicate; hashes stand in both manifests."""
    first = train(parse(WARM_UP), store=tmp_path)
    experiment = parse(CONTENT | {"start": {"run": first.key}})
    run = train(experiment, store=tmp_path)
    assert run.start == first.models is not None
    assert run.models is None
    assert json.loads((run.folder / "complete.json").read_text())["start"] == first.models
    data, before = run.data(), first.data()
    for replicate in range(2):
        last = before.filter((before["replicate"] == replicate) & (before["round"] == 4))["train_loss"].item()
        own = data.filter((data["replicate"] == replicate) & (data["round"] == 0))["train_loss"].to_list()
        assert own == [last, last]
    assert train(experiment, store=tmp_path, workers=2, resume=False).sha256 == run.sha256
    assert train(parse(WARM_UP), store=tmp_path, workers=2, resume=False).models == first.models


FILE = """
kind = "train"
rounds = 4
replicates = 1
problem = { name = "training", data = "digits", model = "logistic", partition = { name = "iid", n_clients = 10 } }
process = { name = "uniform-subset", cohort_size = 2 }
algorithm = [{ name = "fedavg", local_lr = 0.1 }, { name = "fedavg", label = "b", local_lr = 0.2 }]
"""


@pytest.mark.parametrize("begins_with", [{"one": "one"}, {"one": "two", "two": "one"}, {"one": "two", "two": "two"}])
def test_files_that_begin_with_each_other_are_refused(begins_with, tmp_path):
    for name, other in begins_with.items():
        (tmp_path / f"{name}.toml").write_text(f'{FILE}start = {{ file = "{other}.toml" }}\n')
    for reader in (read, read_without_data):
        with pytest.raises(InputError, match=r"^start.file must be one whose chain of starts comes to an end; got"):
            reader(tmp_path / "one.toml")


def test_a_file_names_the_file_to_begin_with(tmp_path):
    """At the same scale, and with the same changes of the problem."""
    scale = "[scale.smoke]\nrounds = 2\n"
    (tmp_path / "first.toml").write_text(f"{FILE}record = {{ final_model = true }}\n{scale}")
    second = tmp_path / "second.toml"
    second.write_text(f'{FILE}start = {{ file = "first.toml", algorithm = "b" }}\n{scale}')
    for name, changes in ((None, {}), ("smoke", {}), ("smoke", {"engine": "sequential"})):
        expected = {"run": read(tmp_path / "first.toml", name, **changes).key, "algorithm": "b"}
        assert json.loads(read(second, name, **changes).canonical)["start"] == expected
    train(read(tmp_path / "first.toml", "smoke"), store=tmp_path)
    assert train(read(second, "smoke"), store=tmp_path).reason == ""
    second.write_text(f'{FILE}start = {{ file = "first.toml", run = "{"0" * 64}" }}\n{scale}')
    with pytest.raises(InputError, match=r"^start must be a table with run or file, and not both; got"):
        read(second)
    second.write_text(f"{FILE}start = 0.0\n{scale}")  # as a number that would be looked at
    with pytest.raises(InputError, match=r"^start must be left out: a model has its own first parameters; got 0"):
        read(second)


def test_keys_of_runs_that_keep_no_model_do_not_change():
    assert "final_model" not in json.loads(parse(CONTENT).canonical)["record"]
    kept = parse(CONTENT | {"record": CONTENT["record"] | {"final_model": True}})
    assert json.loads(kept.canonical)["record"]["final_model"] is True
    assert kept.key != parse(CONTENT).key


def test_models_that_are_not_there_are_told_before_anything_runs(tmp_path):
    def refused(sentence, **changes):
        with pytest.raises(InputError, match=sentence) as caught:
            train(parse(CONTENT | changes), store=tmp_path)
        assert "\n" not in str(caught.value)

    refused("start must be a table with run, a key of 64 digits", start={"run": "abc"})
    refused("key of start must be one of algorithm, file, run;", start={"run": "0" * 64, "label": "b"})
    refused("key of start must be one of .*did you mean file", start={"fil": "x.toml"})
    refused("^start.file must be the name of another file, in the file of an experiment; got 3$", start={"file": 3})
    refused("start.run must be the key of a complete run in the store .*what start.file names", start={"run": "0" * 64})
    plain = train(parse(WARM_UP | {"record": {"what": ["train_loss"]}}), store=tmp_path)
    refused("must be one that keeps its models", start={"run": plain.key})
    first = train(parse(WARM_UP), store=tmp_path)
    refused("replicates must be at most 2, as many as start.run has", start={"run": first.key}, replicates=3)
    refused("start.algorithm must be one of fedavg", start={"run": first.key, "algorithm": "fedavgg"})
    mlp = CONTENT["problem"] | {"model": {"name": "mlp", "widths": [64, 5, 10]}}
    refused("start.run must be a run whose models have 385 parameters, not 650", start={"run": first.key}, problem=mlp)
    two = train(parse(CONTENT | {"record": WARM_UP["record"]}), store=tmp_path)
    refused("start.algorithm must be given, as the run has several: fedavg, SCAFFOLD", start={"run": two.key})
    (first.folder / "models.npz").write_bytes(b"PK no archive")
    refused("whose models are what its manifest says", start={"run": first.key})
    quadratic = {"name": "quadratic", "curvature": [1, 2], "centre": [0, 1]}
    with pytest.raises(InputError, match="models of runs are for training"):
        parse(CONTENT | {"kind": "simulate", "problem": quadratic, "start": {"run": first.key}})


def test_a_run_that_diverged_has_no_model_to_begin_with(tmp_path):
    content = copy.deepcopy(WARM_UP)
    content["algorithm"][0]["local_lr"] = 1e30
    first = train(parse(content), store=tmp_path)
    with pytest.raises(InputError, match=r"one that came to its end \(fedavg, replicate 0: round"):
        train(parse(CONTENT | {"start": {"run": first.key}}), store=tmp_path)
