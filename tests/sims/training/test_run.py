"""Training experiments: read, run, killed, resumed, stopped by infinities; on digits, which come with scikit-learn."""

import copy
import itertools
import re
import shutil
import sys

import joblib
import numpy as np
import pytest

from analysis.simulate_command import results_summary
from fltheory.errors import InputError
from sims import store as stored
from sims.experiment import parse, read
from sims.montecarlo.simulate import simulate
from sims.rounds import Simulation
from sims.workers import in_order

torch = pytest.importorskip("torch", reason="needs the training extra")
pytest.importorskip("sklearn", reason="needs the training extra")
from sims.training.run import One, _torch_first, train  # noqa: E402

pytestmark = pytest.mark.torch

CONTENT = {
    "kind": "train",
    "rounds": 6,
    "replicates": 2,
    "seed": 3,
    "problem": {
        "name": "training",
        "data": "digits",
        "model": "logistic",
        "partition": {"name": "dirichlet", "n_clients": 10, "alpha": 0.3},
        "batch": 8,
    },
    "process": {"name": "bernoulli", "p": {"name": "fedau", "mean": 0.4}},
    "algorithm": [
        {"name": "fedavg", "local_lr": 0.1, "local_steps": 3, "weighting": {"name": "fedau", "cutoff": 5}},
        {"name": "scaffold", "local_lr": 0.1, "local_steps": 3},
    ],
    "record": {"what": ["train_loss", "test_accuracy", "weight_error", "participations"], "every": 2},
}
SCAFFOLD = CONTENT["algorithm"][1]
SCAFFOLD["label"] = "SCAFFOLD"
CONTENT["record"]["what"].remove("weight_error")


def changed(**places):
    content = copy.deepcopy(CONTENT)
    for place, value in places.items():
        inner = content
        *path, last = place.split("__")
        for step in path:
            inner = inner[step]
        inner[last] = value
    return parse(content)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return train(parse(CONTENT), store=tmp_path_factory.mktemp("store"))


def test_it_learns_and_is_recorded(whole):
    data = whole.data()
    assert whole.status == "complete"
    assert data.height == 2 * 2 * 4
    assert data["algorithm"].unique(maintain_order=True).to_list() == ["fedavg", "SCAFFOLD"]
    first, last = data.filter(data["round"] == 0)["train_loss"], data.filter(data["round"] == 6)["train_loss"]
    assert (last < first).all()
    assert whole.experiment["problem"]["data_hash"]


def test_algorithms_see_the_same_trace_and_start_and_seeds_differ(whole):
    data = whole.data()
    one, two = (data.filter(data["algorithm"] == name) for name in ("fedavg", "SCAFFOLD"))
    assert one["participations"].to_list() == two["participations"].to_list()
    starts = one.filter(one["round"] == 0)["train_loss"].to_list()
    assert starts == two.filter(two["round"] == 0)["train_loss"].to_list()
    assert starts[0] != starts[1]


def test_a_seed_of_the_problem_is_that_of_all_replicates(tmp_path):
    data = train(changed(problem__seed=1), store=tmp_path).data()
    assert data.filter(data["round"] == 0)["train_loss"].n_unique() == 1


def test_two_workers_give_the_same_bits(whole, tmp_path):
    assert train(parse(CONTENT), store=tmp_path, workers=2).sha256 == whole.sha256


def test_processes_have_torch_before_their_first_task():
    """One that grows by it later is replaced by another one, with a warning."""
    asked = [joblib.delayed(lambda: "torch" in sys.modules)()] * 2
    assert list(in_order(asked, 2, first=_torch_first)) == [True, True]


def test_a_run_computes_with_one_thread_whatever_the_machine(tmp_path):
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        train(changed(replicates=1), store=tmp_path, progress=lambda *_: seen.append(torch.get_num_threads()))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}


def test_memory_that_ends_during_a_run_is_named_and_what_is_finished_is_kept(whole, tmp_path, monkeypatch):
    original = Simulation.advance

    def advance(self, until=None):
        if self.setup.algorithm.name == "scaffold" and self.round == 2:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.")
        original(self, until)

    with monkeypatch.context() as patch:
        patch.setattr(Simulation, "advance", advance)
        sentence = r"algorithm must be one that fits into memory, which was used up .*; got 'SCAFFOLD, replicate 0'"
        with pytest.raises(InputError, match=sentence):
            train(parse(CONTENT), store=tmp_path)
    assert sorted(file.name for file in tmp_path.glob("*/runs/*")) == ["0-0.npz", "1-0.checkpoint.npz"]
    assert train(parse(CONTENT), store=tmp_path).sha256 == whole.sha256


def test_a_process_that_comes_second_takes_the_run_that_is_there(whole, tmp_path):
    """Its checkpoints are cleared away by the one that finished first."""
    experiment, calls = parse(CONTENT), []

    def overtaken(*_):
        calls.append(1)
        run = stored.save(tmp_path, experiment.key, whole.experiment, whole.data())
        shutil.rmtree(run.folder / "runs")

    assert train(experiment, store=tmp_path, progress=overtaken).sha256 == whole.sha256
    assert len(calls) == 1


def test_a_process_that_begins_anew_takes_nothing_from_one_that_runs(whole, tmp_path):
    experiment, calls = parse(CONTENT), []

    def stop(*_):
        raise KeyboardInterrupt

    def joined(name, done, _):
        calls.append((name, done))
        if len(calls) == 2:
            with pytest.raises(KeyboardInterrupt):
                train(experiment, store=tmp_path, resume=False, progress=stop)

    assert train(experiment, store=tmp_path, progress=joined).sha256 == whole.sha256
    assert len(calls) == len(set(calls))


def test_all_is_done_again_where_nothing_is_to_be_kept(whole, tmp_path):
    """Neither what is finished nor a checkpoint is looked at."""
    experiment, rounds = parse(CONTENT), []
    folder = tmp_path / experiment.key / "runs"
    folder.mkdir(parents=True)
    for replicate in (0, 1):
        One(experiment.canonical, 0, replicate)(folder, 2)
    (folder / "0-0.npz").rename(folder / "0-1.npz")  # of another replicate: it would be seen in the data
    train(experiment, store=tmp_path, resume=False, progress=lambda name, done, _: rounds.append((name, done)))
    assert stored.complete(tmp_path, experiment.key).sha256 == whole.sha256
    assert len([name for name, _ in rounds if name == "0-0"]) == len([name for name, _ in rounds if name == "0-1"])


def test_a_whole_run_stays_alone_where_training_it_again_is_stopped(whole, tmp_path):
    experiment = parse(CONTENT)
    run, seen = stored.save(tmp_path, experiment.key, whole.experiment, whole.data()), []

    def stop(name, *_):
        if name == "1-0":
            seen.extend(sorted(run.folder.iterdir()))
            raise KeyboardInterrupt

    before = sorted(run.folder.iterdir())
    with pytest.raises(KeyboardInterrupt):
        train(experiment, store=tmp_path, resume=False, progress=stop)
    assert sorted(run.folder.iterdir()) == seen == before
    assert train(experiment, store=tmp_path, resume=False).sha256 == whole.sha256


def test_a_killed_run_goes_on_from_its_checkpoint(whole, tmp_path):
    experiment = parse(CONTENT)
    folder = tmp_path / experiment.key / "runs"
    folder.mkdir(parents=True)

    class Killed(BaseException):
        pass

    def kill(_, done, __):
        if done == 4:
            raise Killed

    with pytest.raises(Killed):
        One(experiment.canonical, 1, 0)(folder, 2, kill)
    assert [file.name for file in folder.iterdir()] == ["1-0.checkpoint.npz"]
    rounds = []
    run = train(experiment, store=tmp_path, progress=lambda name, done, _: rounds.append((name, done)))
    assert [done for name, done in rounds if name == "1-0"] == [6]
    assert run.sha256 == whole.sha256
    assert not folder.exists()


def test_a_damaged_checkpoint_is_run_again(whole, tmp_path):
    experiment = parse(CONTENT)
    folder = tmp_path / experiment.key / "runs"
    folder.mkdir(parents=True)
    (folder / "0-0.checkpoint.npz").write_bytes(b"PK no archive")
    (folder / "0-1.npz").write_bytes(b"")
    assert train(experiment, store=tmp_path).sha256 == whole.sha256


def test_ctrl_c_keeps_what_is_finished_and_says_so(whole, tmp_path):
    experiment = parse(CONTENT)

    def interrupt(name, done, _):
        if name == "1-1" and done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(experiment, store=tmp_path, progress=interrupt)
    partial = stored.find(experiment.key[:8], tmp_path)
    assert (partial.status, partial.reason, partial.rows) == ("partial", "interrupted", 12)
    assert train(experiment, store=tmp_path).sha256 == whole.sha256


def test_a_run_that_diverges_is_kept_and_the_others_go_on(tmp_path):
    """A step of 1e30 takes the logits beyond float32 within a round or two; SCAFFOLD's own step stays small."""
    content = copy.deepcopy(CONTENT)
    content["algorithm"][0]["local_lr"] = 1e30
    run = train(parse(content), store=tmp_path)
    assert run.status == "complete"
    assert run.reason.count("no longer finite") == 2
    assert "fedavg, replicate 0: round" in run.reason
    data = run.data()
    assert data.filter(data["algorithm"] == "SCAFFOLD").height == 8
    assert data.filter(data["algorithm"] == "fedavg").height < 8


def test_adaptive_snapshots_follow_the_training_accuracy(tmp_path):
    """FAST's Algorithm 2 with lambda = 5, by hand from the recorded accuracies; and killed, it goes on."""
    adaptive = {"name": "snapshot", "size": 2, "probability": 0, "strength": 5, "otherwise": "all_available"}
    content = CONTENT | {"rounds": 10, "replicates": 1, "selection": adaptive}
    content["algorithm"] = [{"name": "fedavg", "local_lr": 1.0, "local_steps": 3}]
    content["record"] = {"what": ["train_accuracy", "snapshot_probability", "arbitrary_share"], "every": 1}
    experiment = parse(content)
    run = train(experiment, store=tmp_path)
    accuracy, found = (run.data()[name].to_list() for name in ("train_accuracy", "snapshot_probability"))
    probability, before, expected = 0, 0, [0]
    for after in accuracy[1:10]:
        probability = min(1, max(0, probability + 5 * (before - after)))
        before = after
        expected.append(probability)
    assert found[:10] == pytest.approx(expected)
    assert max(expected) > 0
    folder = tmp_path / "killed"
    folder.mkdir()

    class Killed(BaseException):
        pass

    def kill(_, done, __):
        if done == 6:
            raise Killed

    with pytest.raises(Killed):
        One(experiment.canonical, 0, 0)(folder, 3, kill)
    again = One(experiment.canonical, 0, 0)(folder, 3)
    assert again["snapshot_probability"][0, :10].tolist() == found[:10]
    assert again["arbitrary_share"][0].tolist() == run.data()["arbitrary_share"].to_list()


def test_weights_by_data_size_are_those_of_the_partition_of_each_seed(tmp_path):
    fedlaavg = {"name": "fedlaavg", "local_lr": 0.1, "weights": "data_size"}
    experiment = parse(CONTENT | {"rounds": 2, "algorithm": [fedlaavg]})
    found = []
    for replicate in range(2):
        setup = One(experiment.canonical, 0, replicate).simulation().setup
        sizes = setup.problem.sampler.sizes
        assert setup.hyper.weights == pytest.approx(sizes / sizes.sum())
        found.append(setup.hyper.weights)
    assert found[0] != found[1]
    assert train(experiment, store=tmp_path).reason == ""


def test_the_time_of_evaluations_and_of_estimates_is_told(tmp_path, caplog, monkeypatch):
    """A clock that ticks once each time it is looked at: two looks for each metric, none of them else."""
    ticks = itertools.count()
    monkeypatch.setattr("sims.recorder.time.perf_counter", lambda: float(next(ticks)))
    what = ["train_loss", "test_accuracy", "squared_gradient"]
    content = CONTENT | {"rounds": 2, "replicates": 1, "algorithm": [SCAFFOLD], "record": {"what": what, "every": 1}}
    experiment = parse(content)
    simulation = One(experiment.canonical, 0, 0).simulation()
    simulation.advance()
    assert simulation.record.seconds == {"evaluation": 6.0, "estimates": 3.0}
    monkeypatch.undo()
    with caplog.at_level("INFO", logger="sims.training"):
        train(experiment, store=tmp_path)
    assert re.search(
        r"\d+ s since the last start: \d+ % of it for evaluation, \d+ % for estimates, the rest", caplog.text
    )


def test_scales_change_a_file(tmp_path):
    file = tmp_path / "e.toml"
    file.write_text(
        """
kind = "train"
rounds = 100
replicates = 3
problem = { name = "training", data = "digits", model = "logistic", partition = { name = "iid", n_clients = 10 } }
process = { name = "uniform-subset", size = 2 }
[[algorithm]]
name = "fedavg"
local_lr = 0.1
[[algorithm]]
name = "mifa"
local_lr = 0.1
[scale.smoke]
rounds = 3
problem = { partition = { n_clients = 4 } }
algorithm = { local_steps = 2 }
""".replace("size = 2", "cohort_size = 2")
    )
    small, paper = read(file, "smoke"), read(file)
    assert (small.rounds, small.replicates, paper.rounds) == (3, 3, 100)
    assert small.problem.parameters["partition"] == {"name": "iid", "n_clients": 4}
    assert [a.parameters["local_steps"] for a in small.algorithm] == [2, 2]
    assert [a.parameters["local_steps"] for a in paper.algorithm] == [1, 1]
    assert read(file, None, engine="sequential").problem.parameters["engine"] == "sequential"
    with pytest.raises(InputError, match="scale must be one of smoke"):
        read(file, "smok")


@pytest.mark.parametrize(
    ("places", "sentence"),
    [
        ({"problem__data": "digit"}, "digits"),
        ({"problem__model": "logistics"}, "model must be one of .*did you mean logistic"),
        (
            {"problem__partition": {"name": "dirichlet", "n_clients": 10**5, "alpha": 1}},
            "n_clients must be at most 1438",
        ),
        ({"problem__partition": {"name": "dirichlt", "n_clients": 5}}, "did you mean dirichlet"),
        ({"problem__data_hash": "0" * 64}, "data_hash must be the hash of digits, .*; got '0000"),
        ({"problem__data_hash": ""}, "data_hash must be the hash of digits, .*; got ''"),
        ({"problem__device": "cuda"}, "device must be one that is there"),
        ({"problem__engine": "fast"}, "engine must be one of"),
        ({"problem__train_samples": 10**5}, "train_samples must be at most 1438"),
        ({"problem__batch": 0}, "batch must be a whole number of at least 1"),
        ({"process__p": {"name": "fedua"}}, "process.p must be one of fedau, mifa"),
        ({"process__p": {"name": "mifa"}}, "p_min"),
        ({"record__what": ["train_los"]}, "record.what must be one of"),
        ({"start": 1.0}, "start must be left out"),
        ({"kind": "simulate"}, 'kind must be "train" for this problem'),
    ],
)
def test_bad_input_is_one_sentence_before_anything_runs(places, sentence, tmp_path):
    with pytest.raises(InputError, match=sentence) as caught:
        train(changed(**places), store=tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_training_metrics_and_rates_need_training():
    quadratic = {"name": "quadratic", "curvature": [1, 2], "centre": [0, 1]}
    content = CONTENT | {"kind": "simulate", "problem": quadratic, "process": {"name": "bernoulli", "p": 0.5}}
    with pytest.raises(InputError, match="it is for training"):
        simulate(parse(content), store="nowhere")
    with pytest.raises(InputError, match="these clients have no labels"):
        simulate(parse(content | {"process": CONTENT["process"]}), store="nowhere")
    with pytest.raises(InputError, match="fltheory train"):
        simulate(parse(CONTENT), store="nowhere")


def test_an_option_of_training_is_not_for_a_simulation(tmp_path):
    (tmp_path / "e.toml").write_text('kind = "simulate"\n[problem]\nname = "quadratic"\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"^device must be left out: nothing is trained here; got 'cuda'$"):
        read(tmp_path / "e.toml", device="cuda")


@pytest.mark.parametrize("engine", [3, 3.5])
def test_an_engine_that_is_no_name_is_one_sentence(tmp_path, engine):
    content = CONTENT | {"problem": CONTENT["problem"] | {"engine": engine}}
    with pytest.raises(InputError, match=f"^engine must be one of auto, layered, sequential, vmap; got {engine}$"):
        train(parse(content), store=tmp_path)


def test_evaluations_are_what_they_say(whole):
    """Against accuracies counted by hand on the model of a run."""
    simulation = One(parse(CONTENT).canonical, 0, 1).simulation()
    simulation.advance()
    task, x = simulation.setup.problem, simulation.state.linear["x"]
    found = task.evaluation(x)
    weight, bias = task.layout.named(x[0]).values()

    def right(inputs, targets):
        return (inputs.reshape(len(inputs), -1) @ weight.T + bias).argmax(-1).eq(targets).numpy()

    train_right = right(task.inputs, task.targets)
    of_clients = [train_right[task.sampler.of(client)].mean() for client in range(10)]
    assert found.train_accuracy == pytest.approx(train_right.mean())
    assert found.client_accuracy == pytest.approx(np.mean(of_clients))
    assert found.client_accuracy_std == pytest.approx(np.std(of_clients))
    assert found.worst_client_accuracy == pytest.approx(np.min(of_clients))
    test_right, test_classes = right(*task.test), task.test[1].numpy()
    assert found.test_accuracy == pytest.approx(test_right.mean())
    losses = torch.nn.functional.cross_entropy(
        task.inputs.flatten(1) @ weight.T + bias, task.targets, reduction="none"
    ).detach()
    on_test = []
    for client in range(10):  # as many test samples of each class as it has of its own, on average over which ones
        own = task.targets.numpy()[task.sampler.of(client)]
        on_test.append(np.mean([test_right[test_classes == label].mean() for label in own]))
    for name, expected in (
        ("client_losses", [float(losses[task.sampler.of(client)].mean()) for client in range(10)]),
        ("client_accuracies", of_clients),
        ("client_test_accuracies", on_test),
    ):
        assert getattr(found, name)[0] == pytest.approx(expected, rel=1e-5)
    assert found.client_loss_std == pytest.approx(np.std(found.client_losses))
    assert found.client_test_accuracy_std == pytest.approx(np.std(on_test))
    data = whole.data()
    last = data.filter((data["algorithm"] == "fedavg") & (data["replicate"] == 1) & (data["round"] == 6))
    assert last["test_accuracy"].item() == pytest.approx(float(found.test_accuracy[0]))


def test_numbers_of_single_clients_are_recorded_and_not_shown(tmp_path):
    what = ["client_loss_std", "client_losses", "client_test_accuracies"]
    run = train(changed(record__what=what, replicates=1), store=tmp_path)
    data = run.data()
    own = data.select([f"client_losses_{n}" for n in range(10)]).to_numpy()
    assert own.std(axis=1) == pytest.approx(data["client_loss_std"].to_numpy())
    assert data.width == 3 + 1 + 2 * 10
    text = results_summary(run)
    assert "client_loss_std" in text
    assert "client_losses" not in text


def test_images_are_normalised_over_the_training_images():
    task = One(parse(CONTENT).canonical, 0, 0).simulation().setup.problem
    assert task.inputs.shape == (1438, 1, 8, 8)
    assert float(task.inputs.double().mean()) == pytest.approx(0, abs=1e-6)
    assert float(task.inputs.double().std(correction=0)) == pytest.approx(1, abs=1e-6)
    assert float(task.test[0].double().mean()) != pytest.approx(0, abs=1e-6)
