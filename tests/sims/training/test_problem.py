"""Natural clients and what the data say about a model, on a small made text data set."""

import copy
import json
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from analysis import measured, practice
from fltheory.errors import InputError
from sims import catalogue
from sims.data import LabelledData
from sims.experiment import parse
from sims.recorder import check_metrics
from sims.training import problem

pytest.importorskip("torch", reason="needs the training extra")
from sims.training.run import train
from sims.training.task import Task

pytestmark = pytest.mark.torch

EXPERIMENT = {
    "kind": "train",
    "rounds": 2,
    "replicates": 2,
    "problem": {
        "name": "training",
        "data": "made",
        "model": {"name": "fast-char-lstm", "hidden": 4},
        "partition": "natural",
        "batch": 2,
    },
    "process": {"name": "bernoulli", "p": 1.0},
    "algorithm": {"name": "fedavg", "local_lr": 0.1},
    "record": {"what": ["train_loss", "test_loss"], "every": 2},
}
GROUPS = np.repeat([0, 1, 2, 3], [5, 3, 1, 6])


@pytest.fixture(autouse=True)
def made(monkeypatch):
    rng = np.random.default_rng(0)
    data = LabelledData(
        rng.integers(0, 9, (15, 4)),
        rng.integers(0, 9, 15),
        rng.integers(0, 9, (8, 4)),
        rng.integers(0, 9, 8),
        name="made",
        source="here",
        licence="none",
        hash="h",
        classes=tuple("abcdefghi"),
        vocabulary=tuple("abcdefghi"),
        groups=GROUPS,
        test_groups=np.array([0, 1, 1, 2, 3, 3, 3, 3]),
        group_names=("Ann", "Bob", "Cid", "Dot"),
    )
    monkeypatch.setattr(problem, "loaded", lambda name, **options: data)
    problem._arrays.cache_clear()
    yield data
    problem._arrays.cache_clear()


def task(partition, **options):
    return problem.training("made", {"name": "fast-char-lstm", "hidden": 4}, partition, batch=2, seed=1, **options)


def test_each_group_is_a_client(made):
    one = task("natural")
    assert one.sampler.sizes.tolist() == [5, 3, 1, 6]
    assert one.inputs.numpy().tolist() == made.train_inputs.tolist()
    assert one.module(one.inputs).shape == (15, 9)


def test_some_of_the_groups_with_their_test_samples():
    one = task({"name": "natural", "n_groups": 2, "least": 5})
    assert one.sampler.sizes.tolist() == [5, 6]
    assert len(one.test[1]) == 1 + 4


def test_some_samples_only(made):
    one = task({"name": "iid", "n_clients": 3}, train_samples=7, test_samples=2)
    assert (one.sampler.sizes.sum(), len(one.test[0])) == (7, 2)
    rows = made.train_inputs.tolist()
    assert all(row in rows for row in one.inputs.tolist())


def test_a_key_of_a_model_that_nobody_knows_is_told_with_those_that_a_user_gives():
    for model, sentence in (
        (
            {"name": "fast-char-lstm", "hiden": 4},
            r"one of dropout, embedding, hidden \(did you mean hidden\?\); got 'hiden'",
        ),
        ({"name": "fedlaavg-lstm", "vocabulary": 4}, "one of hidden, padding; got 'vocabulary'"),
        ({"name": "fedlaavg-logistic", "widht": 3}, "one of inputs; got 'widht'"),
    ):
        with pytest.raises(InputError, match=f"^key of model {model['name']} must be {sentence}$"):
            problem.training("made", model, "natural")


def test_what_test_samples_do_not_tell_is_not_recorded(made):
    one = task("natural")
    absent = sorted({*made.train_labels.tolist()} - {*made.test_labels.tolist()})
    assert absent
    with pytest.raises(InputError, match=rf"no test sample is of class {absent[0]}, counted from 0, .*; got 'client_"):
        check_metrics(("train_loss", "client_test_accuracies"), one, None)
    check_metrics(("test_loss", "client_accuracy_std"), one, None)
    no_test = Task(one.module, one.inputs, one.targets, [np.arange(15)])
    for name in ("test_loss", "test_accuracy", "client_test_accuracy_std"):
        assert np.isnan(getattr(no_test.evaluation(no_test.start[None]), name)).all()
        with pytest.raises(InputError, match=f"there are no test samples; got '{name}'"):
            check_metrics((name,), no_test, None)


def test_a_seed_whose_data_do_not_tell_is_not_trained(made, monkeypatch, tmp_path):
    """The first is refused before anything runs; of another one it is said, and the first is kept."""
    monkeypatch.setattr(problem, "loaded", lambda name, **options: replace(made, test_groups=np.full(8, 3)))
    monkeypatch.setattr(catalogue, "_kept", {})
    partition = {"name": "natural", "n_groups": 1}

    def is_told(seed, replicate):
        own = catalogue._seed({"seed": seed}, replicate)
        return len(problem.divided("made", partition, None, None, None, own).test) > 0

    def run(seed):
        own = {"seed": seed, "problem": EXPERIMENT["problem"] | {"partition": partition}}
        return train(parse(EXPERIMENT | own), store=tmp_path)

    with pytest.raises(
        InputError, match=r"^record\.what must be something else: there are no test samples; got 'test_"
    ):
        run(next(seed for seed in range(99) if not is_told(seed, 0)))
    found = run(next(seed for seed in range(99) if is_told(seed, 0) and not is_told(seed, 1)))
    assert found.reason.startswith("fedavg, replicate 1: record.what must be something else: there are no test samples")
    assert found.data()["replicate"].to_list() == [0, 0]
    assert found.data()["test_loss"].is_finite().all()


def clients_of(seed):
    """How many natural clients have one of 6 samples, with the first two seeds of an experiment."""
    own = [catalogue._seed({"seed": seed}, replicate) for replicate in (0, 1)]
    return [len(problem.divided("made", "natural", 6, None, None, one).partition.clients) for one in own]


def test_seeds_may_have_different_numbers_of_natural_clients(monkeypatch, tmp_path):
    """The more numerous ones have columns of their own, and theory is held beside each seed with its own number."""
    monkeypatch.setattr(catalogue, "_kept", {})
    seed = next(seed for seed in range(99) if np.diff(clients_of(seed)) > 0)
    clients = clients_of(seed)
    fedau = {"name": "fedavg", "local_lr": 0.1, "weighting": {"name": "fedau", "cutoff": 3}}
    own = {"seed": seed, "algorithm": fedau, "problem": EXPERIMENT["problem"] | {"train_samples": 6}}
    content = EXPERIMENT | own
    what = [*practice.wanted(json.loads(parse(content).canonical)), "client_losses"]
    found = train(parse(content | {"record": {"what": what, "every": 2}}), store=tmp_path)
    for replicate, number in enumerate(clients):
        rows = found.data().filter(pl.col("replicate") == replicate).select("^client_losses_.*$")
        assert rows.width == clients[1]
        assert [rows[f"client_losses_{j}"].null_count() for j in range(rows.width)] == [
            0 if j < number else rows.height for j in range(rows.width)
        ]
        beside = practice.beside(found).filter(pl.col("replicate") == replicate)
        assert beside["n_clients"].to_list() == [number]


@pytest.mark.parametrize("option", [{"selection": {"name": "uniform"}}, {"name": "fedlaavg"}])
def test_a_seed_whose_clients_do_not_fit_is_named(monkeypatch, tmp_path, option):
    """The first seed has more clients; what asks for so many is refused of the second."""
    monkeypatch.setattr(catalogue, "_kept", {})
    seed = next(seed for seed in range(99) if np.diff(clients_of(seed)) < 0)
    first, second = clients_of(seed)
    content = copy.deepcopy(EXPERIMENT) | {"seed": seed}
    content["problem"]["train_samples"] = 6
    content["algorithm"] |= option
    if "selection" in option:
        content["algorithm"]["selection"] = option["selection"] | {"size": first}
    else:
        content["algorithm"]["weights"] = [1 / first] * first
    with pytest.raises(InputError, match=rf"^replicate 1: .*clients, {second}|^replicate 1: .*the {second} clients"):
        train(parse(content), store=tmp_path)


def freeze(module):
    module.requires_grad_(False)


def fail(module):
    def forward(x):
        raise ValueError("not with this batch")

    module.forward = forward


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [(freeze, "one with parameters, all of them trained"), (fail, ".*ValueError: not with this batch")],
)
def test_a_seed_whose_module_is_refused_is_not_trained(monkeypatch, tmp_path, spoil, sentence):
    """And the other seeds are."""
    original, made = problem.module_of, []

    def module_of(*arguments):
        made.append(original(*arguments))
        if len(made) > 1:
            spoil(made[-1])
        return made[-1]

    monkeypatch.setattr(problem, "module_of", module_of)
    monkeypatch.setattr(catalogue, "_kept", {})
    found = train(parse(EXPERIMENT), store=tmp_path)
    assert re.match(f"fedavg, replicate 1: module must be {sentence}", found.reason)
    assert found.data()["replicate"].to_list() == [0, 0]
    assert "1 of 2 seeds" in measured.sentence(found)


@pytest.mark.parametrize("says", ["no weights for it", "Cannot allocate memory"])
@pytest.mark.parametrize("error", [RuntimeError, FileNotFoundError, OSError, StopIteration, SystemExit, ImportError])
def test_a_seed_whose_module_cannot_be_made_is_named(monkeypatch, tmp_path, error, says):
    """And what is done is kept: it may be made at another time."""
    original, made, taken = problem.module_of, [], []

    def module_of(*arguments):
        made.append(arguments)
        if len(made) == 2:
            raise error(says)
        return original(*arguments)

    monkeypatch.setattr(problem, "module_of", module_of)
    monkeypatch.setattr(catalogue, "_kept", {})
    allowed = "fits into memory" if "memory" in says else "its factory makes"
    sentence = rf"^replicate 1: model must be one that {allowed} \({error.__name__}: {says}\); got "
    with pytest.raises(InputError, match=sentence):
        train(parse(EXPERIMENT), store=tmp_path)
    found = train(parse(EXPERIMENT), store=tmp_path, progress=lambda name, *_: taken.append(name))
    assert set(found.data()["replicate"]) == {0, 1}
    assert set(taken) == {"0-1"}


@pytest.mark.parametrize("late", range(8))
def test_memory_that_ends_in_a_pass_of_a_later_seed_is_not_its_last_word(monkeypatch, tmp_path, late):
    """Wherever it ends while the module is tried, no run is kept for which the module is blamed."""
    original, made = problem.module_of, []

    def module_of(*arguments):
        made.append(original(*arguments))
        if len(made) == 2:
            passes, forward = [], made[-1].forward

            def counting(*given, **more):
                passes.append(given)
                if len(passes) == late + 1:
                    raise MemoryError("3 GiB")
                return forward(*given, **more)

            made[-1].forward = counting
        return made[-1]

    monkeypatch.setattr(problem, "module_of", module_of)
    monkeypatch.setattr(catalogue, "_kept", {})
    with suppress(InputError):
        train(parse(EXPERIMENT), store=tmp_path)
    found = train(parse(EXPERIMENT), store=tmp_path)
    assert "treats each sample" not in found.reason


def test_what_a_machine_lacks_for_a_seed_is_told_and_asked_for_again(made, monkeypatch, tmp_path):
    def module_of(*arguments):
        tried.append(arguments)
        if len(tried) > 1 and faults:
            raise faults.pop()
        return original(*arguments)

    original, tried = problem.module_of, []
    faults = [MemoryError("3 GiB"), InputError("data set", "made", "fetched"), RuntimeError("the card is busy")]
    monkeypatch.setattr(problem, "module_of", module_of)
    monkeypatch.setattr(catalogue, "_kept", {})
    while faults:
        tried.clear()
        with pytest.raises(InputError, match=r"3 GiB|fetched|busy"):
            train(parse(EXPERIMENT), store=tmp_path)
    found = train(parse(EXPERIMENT), store=tmp_path)
    assert (found.status, found.reason) == ("complete", "")
    assert found.data()["replicate"].to_list() == [0, 0, 1, 1]
    assert ", 2 seeds;" in measured.sentence(found)


def test_a_model_that_takes_no_text_is_told_so():
    for model in ({"name": "logistic", "d": 4}, "fedlaavg-logistic", {"name": "mlp", "widths": [4, 9]}):
        with pytest.raises(
            InputError, match=r"^module must be one that takes whole numbers, such as text, as the inputs are"
        ):
            problem.training("made", model, "natural")


def test_bad_parts_are_one_sentence():
    with pytest.raises(InputError, match="n_groups must be at most 2"):
        task({"name": "natural", "n_groups": 3, "least": 5})
    with pytest.raises(InputError, match=r"least must be left out, or given beside n_groups: .*; got 9"):
        task({"name": "natural", "least": 9})
    with pytest.raises(InputError, match=r"parameters of natural must be one of least, n_groups .*; got 'n_group'"):
        task({"name": "natural", "n_group": 2})
    with pytest.raises(InputError, match="train_samples must be at most 11"):
        task({"name": "natural", "n_groups": 2, "least": 5}, train_samples=12)
    with pytest.raises(InputError, match="precision must be one of bf16, float32, float64, tf32"):
        task("natural", precision="float16")
    with pytest.raises(InputError, match="partition must be a name"):
        task(7)
