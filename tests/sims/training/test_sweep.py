"""The search for step sizes, on a stand-in for training whose best pairs are known."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import polars as pl
import pytest

from fltheory.errors import InputError
from sims.algorithms.fedlaavg import fedlaavg
from sims.montecarlo.simulate import simulate
from sims.training.sweep import sweep

CONTENT = {
    "kind": "simulate",
    "rounds": 10,
    "replicates": 1,
    "problem": {"name": "quadratic", "curvature": [1, 2], "centre": [0, 1]},
    "process": {"name": "bernoulli", "p": 0.5},
    "algorithm": [
        {"name": "fedavg", "label": "one", "local_lr": 7, "global_lr": 7},
        {"name": "fedavg", "label": "two", "local_lr": 7},
        {"name": "fedlaavg", "local_lr": 7},
    ],
    "record": {"what": ["objective"], "every": 10},
    "sweep": {"local_lr": [0.01, 0.1, 1], "global_lr": [1, 2, 4], "metric": "objective"},
}
TRAINING = CONTENT | {  # read and not run
    "kind": "train",
    "problem": {
        "name": "training",
        "data": "digits",
        "model": "logistic",
        "partition": {"name": "iid", "n_clients": 2},
    },
}
BEST = {"one": (0.1, 4.0), "two": (1.0, 1.0), "fedlaavg": (0.01, None)}


@dataclass(frozen=True)
class Fixed:
    """Hyperparameters without a step size."""

    local_steps: int = 1


class Runs:
    """An objective that is least at the best pair of each algorithm; what was asked, in order."""

    def __init__(self, sign=1, ends=True):
        self.asked, self.sign, self.ends = [], sign, ends

    def __call__(self, experiment):
        rows = []
        for contestant in experiment.algorithm:
            local, eta = contestant.parameters["local_lr"], contestant.parameters.get("global_lr")
            self.asked.append((contestant.label, local, eta))
            best_local, best_eta = BEST[contestant.label]
            value = abs(math.log(local / best_local)) + (0 if eta is None else 0.1 * abs(math.log(eta / best_eta)))
            for round_ in (0, 10) if self.ends else (0,):
                rows.append({"algorithm": contestant.label, "replicate": 0, "round": round_, "objective": value})
        frame = pl.DataFrame(rows).with_columns(pl.col("objective") * self.sign)
        return SimpleNamespace(key="k", reason="", data=lambda: frame.rename({"objective": experiment.record.what[-1]}))


def test_local_steps_first_then_global_ones():
    runs = Runs()
    points, best = sweep(CONTENT, runs)
    assert {label: (point.local_lr, point.global_lr) for label, point in best.items()} == BEST
    assert runs.asked[:9] == [
        (label, lr, None if label == "fedlaavg" else 1) for lr in (0.01, 0.1, 1) for label in ("one", "two", "fedlaavg")
    ]
    assert runs.asked[9:] == [("one", 0.1, 2), ("two", 1, 2), ("one", 0.1, 4), ("two", 1, 4)]
    assert len(points) == len(runs.asked)


def test_the_largest_accuracy_is_best():
    content = TRAINING | {"sweep": CONTENT["sweep"] | {"metric": "test_accuracy"}}
    _, best = sweep(content, Runs(sign=-1))
    assert {label: (point.local_lr, point.global_lr) for label, point in best.items()} == BEST


@pytest.mark.parametrize("metric", ["client_accuracy_std", "client_test_accuracy_std", "client_loss_std"])
def test_the_least_spread_is_best(metric):
    _, best = sweep(TRAINING | {"sweep": CONTENT["sweep"] | {"metric": metric}}, Runs())
    assert {label: (point.local_lr, point.global_lr) for label, point in best.items()} == BEST


def test_a_simulation_that_diverges_is_passed_over(tmp_path):
    """That of one algorithm alone: without a record, the objective is recorded."""
    content = {key: value for key, value in CONTENT.items() if key != "record"} | {
        "rounds": 2000,
        "problem": {"name": "quadratic", "curvature": [1.7, 1.7], "centre": [0, 1]},
        "algorithm": [{"name": "fedavg"}, {"name": "fedavg", "label": "ten", "local_steps": 10}],
        "sweep": {"local_lr": [1.25, 0.1]},
    }
    points, best = sweep(content, lambda experiment: simulate(experiment, store=tmp_path))
    known = {(point.algorithm, point.local_lr): point for point in points}
    assert len(points) == len(known) == 4
    assert {key for key, point in known.items() if math.isnan(point.value)} == {("ten", 1.25)}
    (told,) = known["ten", 1.25].stopped
    assert "no longer finite with local_lr 1.25" in told
    assert set(best) == {"fedavg", "ten"}


def test_an_algorithm_that_must_have_a_global_step_is_swept(tmp_path):
    content = CONTENT | {
        "algorithm": {"name": "fedpage", "roles": {"name": "constant", "probability": 0.5}},
        "sweep": {"local_lr": [0.01], "global_lr": [0.5, 1]},
    }
    points, _ = sweep(content, lambda experiment: simulate(experiment, store=tmp_path))
    assert [(point.local_lr, point.global_lr) for point in points] == [(0.01, 1.0), (0.01, 0.5)]
    assert all(math.isfinite(point.value) for point in points)


def test_an_algorithm_without_a_local_step_is_searched_in_the_global_one():
    """Beside one that has both: each in what it has."""
    asked = []

    def run(experiment):
        asked.append([(one.name, one.parameters) for one in experiment.algorithm])
        rows = [
            {"algorithm": one.label, "replicate": 0, "round": 10, "objective": abs(one.parameters["global_lr"] - 2)}
            for one in experiment.algorithm
        ]
        return SimpleNamespace(key="k", reason="", data=lambda: pl.DataFrame(rows))

    content = CONTENT | {
        "algorithm": [{"name": "wait_full", "interval": 5, "global_lr": 9}, {"name": "fedavg"}],
        "sweep": {"local_lr": [0.1], "global_lr": [1, 2, 4]},
    }
    points, best = sweep(content, run)
    assert [(point.algorithm, point.local_lr, point.global_lr) for point in points] == [
        ("fedavg", 0.1, 1),
        ("wait_full", None, 1),
        *((name, lr, eta) for eta in (2, 4) for name, lr in (("wait_full", None), ("fedavg", 0.1))),
    ]
    assert {label: (point.local_lr, point.global_lr) for label, point in best.items()} == {
        "wait_full": (None, 2),
        "fedavg": (0.1, 2),
    }
    assert all("local_lr" not in parameters for run in asked for name, parameters in run if name == "wait_full")


def test_an_algorithm_without_step_sizes_is_refused(monkeypatch):
    monkeypatch.setattr("sims.training.sweep.algorithms", lambda: {"fedlaavg": replace(fedlaavg, hyper=Fixed)})
    with pytest.raises(InputError, match=r"^algorithm must be one with local_lr or global_lr; got 'fedlaavg'$"):
        sweep(CONTENT | {"algorithm": {"name": "fedlaavg", "local_lr": 1}}, Runs())


@pytest.mark.parametrize("what", [5, True, "objective"])
def test_a_record_of_what_is_no_list_is_refused(what):
    with pytest.raises(InputError, match=r"^record\.what must be a list; got"):
        sweep(CONTENT | {"record": {"what": what}}, Runs())


def test_a_metric_that_training_lacks_is_refused_by_its_name():
    with pytest.raises(InputError, match=r"^sweep\.metric must be one of client_acc.*; got 'objective_gap'$"):
        sweep(TRAINING | {"sweep": {"local_lr": [1], "metric": "objective_gap"}}, Runs())


def test_a_step_size_that_is_named_twice_is_tried_once():
    points, _ = sweep(CONTENT | {"sweep": {"local_lr": [0.1, 0.1, 1], "global_lr": [1, 2, 2.0, 1]}}, Runs())
    tried = [(point.local_lr, point.global_lr) for point in points if point.algorithm == "one"]
    assert tried == [(0.1, 1), (1, 1), (0.1, 2)]


def test_what_does_not_come_to_its_end_is_not_best():
    points, best = sweep(CONTENT, Runs(ends=False))
    assert all(math.isnan(point.value) for point in points)
    assert best == {}
    assert len(points) == 3 * 3


def test_it_is_told_of_each_algorithm_where_it_stopped():
    one = "one, replicate 0: round 3: the model is no longer finite; a smaller step size may help"
    two = ["two, replicate 0: round 1: of client 5", "two, replicate 2: round 4: of client 6; two"]
    runs = Runs(ends=False)
    points, _ = sweep(
        CONTENT, lambda experiment: SimpleNamespace(**vars(runs(experiment)) | {"reason": "; ".join([one, *two])})
    )
    assert [point.stopped for point in points[:3]] == [(one,), tuple(two), ()]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (None, "sweep must be a table"),
        ({"local_lr": []}, "sweep.local_lr must be a list of positive numbers"),
        ({"local_lr": [1, -1]}, "sweep.local_lr must be a list of positive numbers"),
        ({"local_lr": [1], "global_lr": [math.nan]}, "sweep.global_lr must be a list of positive numbers"),
        ({"local_lr": [1], "metric": "objectiv"}, "did you mean objective"),
        ({"local_lr": [1], "lst": 1}, "key of sweep must be one of"),
        ({"local_lr": [1], "last": 0}, "sweep.last must be a whole number"),
        ({"local_lr": [1], "last": 3}, "^sweep.last must be at most 2, the number of records; got 3$"),
        ({"local_lr": [1], "metric": "weight_error"}, "sweep.metric must be one of"),
        ({"local_lr": [1], "metric": "model"}, "sweep.metric must be one of"),
        ({"local_lr": [1], "metric": "vectors_sent"}, "sweep.metric must be one of"),
        ({"local_lr": [1], "metric": "client_losses"}, "sweep.metric must be one of"),
        ({"local_lr": [1], "metric": "test_loss"}, "sweep.metric must be one of objective, objective_gap, sq"),
        ({"local_lr": [1], "metric": ["train_loss"]}, "sweep.metric must be one of"),
    ],
)
def test_a_bad_table_is_one_sentence(table, sentence):
    with pytest.raises(InputError, match=sentence):
        sweep(CONTENT | {"sweep": table}, Runs())


@pytest.mark.parametrize(("what", "value"), [("algorithm", "fedavg"), ("algorithm", ["fedavg"]), ("record", "x")])
def test_a_bad_file_is_one_sentence(what, value):
    with pytest.raises(InputError, match=f"{what} must be a"):
        sweep(CONTENT | {what: value}, Runs())
