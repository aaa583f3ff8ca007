"""The memory of a run, counted from what it really holds."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Periodic, Recorded, UniformSubset
from sims.algorithms import algorithms
from sims.algorithms.protocol import State
from sims.availability import widest
from sims.rounds import Setup, Simulation
from sims.selection import all_available, always, least_recently_used, permutation, snapshot, uniform
from sims.weighting import AverageAll

torch = pytest.importorskip("torch", reason="needs the training extra")
from sims import catalogue  # noqa: E402
from sims.experiment import parse  # noqa: E402
from sims.training import models, problem, room  # noqa: E402
from sims.training.memory import REHEARSED, estimate_memory, require_memory, require_workers  # noqa: E402
from sims.training.models import make  # noqa: E402
from sims.training.outline import outline  # noqa: E402
from sims.training.problem import training  # noqa: E402
from sims.training.run import train  # noqa: E402
from sims.training.task import Task  # noqa: E402

pytestmark = pytest.mark.torch

N, D = 10, 5 * 4 + 4


def setup(name, **options):
    inputs, targets = torch.zeros(20, 5), torch.zeros(20, dtype=torch.int64)
    task = Task(
        make("logistic", d=5, classes=4), inputs, targets, np.split(np.arange(20), N), test=(inputs, targets), **options
    )
    algorithm = algorithms()[name]
    rule = AverageAll() if "weighting" in algorithm.looks_at else None
    return Setup(task, algorithm, algorithm.hyper(local_lr=0.1), UniformSubset(N, 5), rule)


@pytest.mark.parametrize("name", ["fedavg", "mifa", "fedvarp", "scaffold", "fedlaavg"])
def test_the_servers_part_is_what_the_state_holds(name):
    one = setup(name)
    state = Simulation(one, one.problem.start[None], 1, np.random.default_rng(0)).state
    found = estimate_memory(one, 5)
    tables = [array for array in state.linear.values() if array.shape == (1, N, D)]
    assert sum(array.nbytes for array in tables) == found.tables
    assert sum(array.nbytes for array in state.linear.values()) == found.server / 2 + found.tables


def test_the_manual_says_what_trying_a_module_takes():
    manual = " ".join(Path("docs/training.md").read_text(encoding="utf-8").split())
    assert f"takes up to {REHEARSED} times the memory of its parameters" in manual


def test_data_and_cohort():
    found = estimate_memory(setup("fedavg"), 5)
    assert found.data == 2 * (20 * 5 * 4 + 20 * 8)
    assert found.cohort == (2 * 5 + 4 * 5) * D * 4
    assert "activations not counted" in str(found)


def test_trying_the_module_counts_where_it_takes_more_than_the_rounds():
    one = setup("fedavg")
    few, many = estimate_memory(one, 1), estimate_memory(one, 5)
    assert few.total == few.data + few.rehearsal
    assert "trying the module 2.2 KiB, more than the rounds take, activations" in str(few)
    assert many.total == many.data + many.module + many.server + many.cohort


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs the memory that Linux tells")
@pytest.mark.parametrize("engine", ["layered", "sequential", "vmap"])
def test_trying_a_module_takes_no_more_than_is_said_and_half_of_it(engine):
    script = f"""
import re, numpy as np, torch
from torch import nn
from sims.training.task import Task
from sims.training.memory import REHEARSED
inputs, targets, parts = torch.randn(40, 64), torch.randint(0, 10, (40,)), np.split(np.arange(40), 2)
def peak():  # of this process alone: ru_maxrss begins with that of the one that started it
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
def make(width):
    module = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    peaks.append(peak())
    Task(module, inputs, targets, parts, batch=4, engine={engine!r})
    peaks.append(peak())
    return sum(part.nbytes for part in module.parameters())
peaks = []
make(8)
size = make(2500)
print((peaks[3] - peaks[1]) / size, REHEARSED)
"""
    env = os.environ | {
        "MALLOC_MMAP_THRESHOLD_": "131072"
    }  # what is freed goes back: else by chance up to 4 vectors more
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env).stdout
    vectors, said = map(float, found.split())
    assert said / 2 < vectors <= said


def rooms(monkeypatch, **there):
    """As much room as is said, and elsewhere without end."""
    for name in ("of_device", "of_the_machine", "of_the_process", "of_disk"):
        found = there.get(name, math.inf)
        monkeypatch.setattr(room, name, lambda *_, found=found: found)


def test_what_does_not_fit_is_refused_before_it_starts(monkeypatch):
    rooms(monkeypatch, of_device=3000)
    with pytest.raises(
        InputError, match=r"algorithm must be one that fits into the 2.9 KiB that are free, but it needs 6"
    ):
        require_memory(setup("mifa"), "", 9)
    with pytest.raises(InputError, match=r"algorithm must be one that fits into the 2.9 KiB that are free"):
        require_memory(setup("mifa", memory="host"), "", 9)  # a CPU has one memory
    rooms(monkeypatch, of_the_process=3000)
    with pytest.raises(
        InputError, match=r"fits into the 2.9 KiB that a process may take \(ulimit -v\), but it needs 6"
    ):
        require_memory(setup("mifa"), "", 9)
    rooms(monkeypatch, of_device=6000)
    assert str(require_memory(setup("mifa", memory="disk"), "", 9)) == (
        "5.3 KiB (data 1.1 KiB, model 0.5 KiB, a cohort 3.8 KiB, activations not counted), "
        "and 0.9 KiB on disk for clients' tables"
    )
    rooms(monkeypatch, of_the_process=6000)  # what is mapped counts, if it is on disk
    with pytest.raises(InputError, match="a process may take"):
        require_memory(setup("mifa", memory="disk"), "", 9)
    rooms(monkeypatch, of_disk=900)
    with pytest.raises(InputError, match=r"memory must be a place for 0\.9 KiB of clients' tables, .* has 0\.9 KiB"):
        require_memory(setup("mifa", memory="disk"), "", 9)


def users_own(available, state, memory, rng):
    return all_available()(available, state, memory, rng)


@pytest.mark.parametrize(
    ("selection", "cohort"),
    [
        (all_available(), 5),
        (always(2, 0, 2), 2),
        (uniform(4), 4),
        (least_recently_used(3), 3),
        (permutation(2), 2),
        (snapshot(3, uniform(4), interval=2), 4),
        (snapshot(3, all_available(), interval=2), 5),
        (snapshot(7, all_available(), interval=2), 7),
        (uniform(8), 8),  # with slots for three who are not there
        (users_own, N),
    ],
)
def test_a_cohort_is_the_largest_that_a_selection_asks(selection, cohort):
    one = setup("fedavg")
    chosen = replace(one, selection=selection)
    assert require_memory(chosen, "", 9) == estimate_memory(one, cohort)
    there, state = chosen.process.sample(1, 3), State({}, {"age": np.zeros((1, N), dtype=int)})
    if selection is not users_own:
        assert selection(there, state, {}, np.random.default_rng(0))[0].clients.shape[-1] == cohort
    warm = setup("fedamd")
    assert require_memory(replace(warm, selection=selection, warm=True), "", 9) == estimate_memory(warm, N)


class ReactsToTheRun:
    n_clients = N

    def step(self, history, rng):
        return np.ones(history.shape[1:], dtype=bool)


TURNS = Periodic.diurnal(n_clients=N, on=1, off=19, offset=4)  # all at once, in one round of twenty
WIDENS = np.arange(N) < [[1], [2], [9], [3]]


@pytest.mark.parametrize(
    ("process", "rounds", "cohort"),
    [
        (TURNS, 16, 1),
        (TURNS, 17, N),
        (Recorded.from_matrix(WIDENS, end="raise"), 2, 2),
        (Recorded.from_matrix(WIDENS, end="raise"), 4, 9),
        (Recorded.from_matrix(WIDENS, end="raise"), 5, N),  # a run of so many rounds is refused for that
        (ReactsToTheRun(), 9, N),
    ],
)
def test_a_cohort_of_all_available_is_the_widest_of_the_rounds(process, rounds, cohort):
    one = setup("fedavg")
    assert require_memory(replace(one, process=process), "", rounds) == estimate_memory(one, cohort)


def test_of_many_rounds_some_are_looked_at_and_of_many_clients_at_least_one():
    asked = []

    class Counts(UniformSubset):
        def sample(self, rounds, seed):
            asked.append((rounds, seed))
            return np.ones((rounds, 1), dtype=bool)

    for n_clients, rounds in ((1000, 10**9), (3 * 10**6, 10), (5, 7)):
        assert widest(Counts(n_clients, 1), rounds) == 1
    assert asked == [(length, seed) for length in (400, 1, 7) for seed in range(5)]


def test_a_day_that_begins_at_random_is_looked_at_more_than_once():
    assert widest(Periodic.diurnal(40, on=1, off=19), 5) == 40  # in one of four runs of five rounds


@pytest.mark.parametrize("place", ["device", "disk"])
def test_tables_are_not_mentioned_where_there_are_none(place):
    assert "tables" not in str(estimate_memory(setup("fedavg", memory=place), 5))


def test_workers_need_memory_each_for_whichever_runs_they_have(monkeypatch):
    small, large = (estimate_memory(setup(name), 5) for name in ("fedavg", "mifa"))
    needs, device = [small, large] * 3, torch.device("cpu")
    rooms(monkeypatch, of_device=3 * large.total + small.total + large.data + large.module)
    require_workers(4, needs, device)
    with pytest.raises(InputError, match=r"workers must be at most 4: 5 runs at a time need .* KiB are free; got 5"):
        require_workers(5, needs, device)
    require_workers(5, needs[:4], device)  # no more than four at a time
    rooms(monkeypatch, of_disk=2 * large.tables)
    on_disk = estimate_memory(setup("mifa", memory="disk"), 5)
    require_workers(3, [on_disk, on_disk, small], device)
    with pytest.raises(InputError, match=r"workers must be at most 2: 3 runs at a time need .* on disk"):
        require_workers(3, [on_disk] * 3, device)


def test_workers_are_counted_before_data_are_read(monkeypatch, tmp_path):
    pytest.importorskip("sklearn", reason="needs the training extra")
    monkeypatch.setattr(problem, "_arrays", None)
    needed = estimate_memory(catalogue.setup_of(json.loads(parse(CONTENT).canonical), 0, outlined=True), 5)
    rooms(monkeypatch, of_device=needed.total + needed.data + needed.source + needed.module)
    with pytest.raises(InputError, match=r"workers must be at most 1: 2 runs at a time need"):
        train(parse(CONTENT | {"replicates": 2}), store=tmp_path, workers=2)


CONTENT = {
    "kind": "train",
    "rounds": 2,
    "replicates": 1,
    "problem": {
        "name": "training",
        "data": "digits",
        "model": {"name": "mlp", "widths": [64, 5, 10]},
        "partition": {"name": "iid", "n_clients": 10},
        "train_samples": 1000,
    },
    "process": {"name": "uniform-subset", "cohort_size": 5},
    "algorithm": {"name": "mifa", "local_lr": 0.1},
    "record": {"what": ["train_loss"]},
}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"precision": "float64"},
        {"engine": "sequential", "memory": "disk"},
        {"train_samples": None},
        {"model": "fedau-fashion"},
        {"partition": {"name": "dirichlet", "n_clients": 7, "alpha": 0.5}},
    ],
)
def test_an_outline_is_that_of_the_task(changes):
    pytest.importorskip("sklearn", reason="needs the training extra")
    named = {**CONTENT["problem"], **changes, "seed": 3}
    del named["name"]
    task, found = training(**named), outline(**named)
    for name in ("n_clients", "dimension", "itemsize", "data_bytes", "slots_at_once", "device", "memory"):
        assert getattr(found, name) == getattr(task, name), name
    assert found.partition.hash == task.partition.hash
    everything = 1438 * (64 * task.itemsize + 8)
    assert found.source_bytes == (everything if named["train_samples"] else 0)


def test_data_that_are_held_beside_the_samples_that_are_used_are_named():
    pytest.importorskip("sklearn", reason="needs the training extra")

    def estimated(train_samples):
        content = parse(CONTENT | {"problem": CONTENT["problem"] | {"train_samples": train_samples}})
        return estimate_memory(catalogue.setup_of(json.loads(content.canonical), 0, outlined=True), 5)

    found, whole = estimated(1000), estimated(1438)
    each = 64 * 4 + 8  # bytes of a sample and its class
    assert (found.data, found.source) == ((1000 + 359) * each, 1438 * each)
    assert (whole.data, whole.source) == (1797 * each, 0)
    assert found.total - whole.total == 1000 * each
    assert "(data 350.4 KiB, the set they are taken from 370.7 KiB, model" in str(found)
    assert "taken from" not in str(whole)


def test_what_does_not_fit_is_refused_before_data_are_read_and_a_model_is_made(monkeypatch, tmp_path):
    pytest.importorskip("sklearn", reason="needs the training extra")
    original, devices = models.make, []

    def made(*arguments, **parameters):
        model = original(*arguments, **parameters)
        devices.append({parameter.device.type for parameter in model.parameters()})
        return model

    monkeypatch.setattr(models, "make", made)
    rooms(monkeypatch, of_device=10**5)
    monkeypatch.setattr(problem, "_arrays", None)
    catalogue._outline.cache_clear()
    with pytest.raises(
        InputError, match=r"algorithm must be one that fits into the 97.7 KiB that are free, but it needs"
    ):
        train(parse(CONTENT), store=tmp_path)
    assert set().union(*devices) == {"meta"}
    assert list(tmp_path.iterdir()) == []


class Looks(torch.nn.Linear):
    """A model that looks at its first numbers."""

    def __init__(self, d, classes):
        super().__init__(d, classes)
        assert float(self.weight.abs().max()) > 0

    def forward(self, x):
        return super().forward(x.flatten(1))


def test_a_model_that_looks_at_its_numbers_is_outlined_too(monkeypatch):
    pytest.importorskip("sklearn", reason="needs the training extra")
    monkeypatch.setattr(models, "factory", lambda name: Looks)
    assert outline("digits", "mine", {"name": "iid", "n_clients": 3}).dimension == 650
