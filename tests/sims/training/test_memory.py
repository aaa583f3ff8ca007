"""The memory of a run, counted from what it really holds."""

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from sims.algorithms import algorithms
from sims.rounds import Setup, Simulation
from sims.weighting import AverageAll

torch = pytest.importorskip("torch", reason="needs the training extra")
from sims import catalogue  # noqa: E402
from sims.experiment import parse  # noqa: E402
from sims.training import memory, models, problem  # noqa: E402
from sims.training.memory import estimate_memory, require_memory  # noqa: E402
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
    return Setup(task, algorithm, algorithm.hyper(local_lr=0.1), Bernoulli(np.full(N, 0.5)), rule)


@pytest.mark.parametrize("name", ["fedavg", "mifa", "fedvarp", "scaffold", "fedlaavg"])
def test_the_servers_part_is_what_the_state_holds(name):
    one = setup(name)
    state = Simulation(one, one.problem.start[None], 1, np.random.default_rng(0)).state
    found = estimate_memory(one, 5)
    tables = [array for array in state.linear.values() if array.shape == (1, N, D)]
    assert sum(array.nbytes for array in tables) == found.tables
    assert sum(array.nbytes for array in state.linear.values()) == found.server / 2 + found.tables


def test_data_and_cohort():
    found = estimate_memory(setup("fedavg"), 5)
    assert found.data == 2 * (20 * 5 * 4 + 20 * 8)
    assert found.cohort == (5 + 4 * 5) * D * 4
    assert "activations not counted" in str(found)


def test_what_does_not_fit_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr(memory, "_memory_of", lambda device: 3000)
    with pytest.raises(InputError, match=r"algorithm must be one that fits into 2.9 KiB, but it needs 4.6 KiB"):
        require_memory(setup("mifa"), "")
    with pytest.raises(InputError, match=r"algorithm must be one that fits into 2.9 KiB"):
        require_memory(setup("mifa", memory="host"), "")  # a CPU has one memory
    monkeypatch.setattr(memory, "_memory_of", lambda device: 4000)
    assert str(require_memory(setup("mifa", memory="disk"), "")) == (
        "3.6 KiB (data 1.1 KiB, model 0.2 KiB, a cohort 2.3 KiB, activations not counted), "
        "and 0.9 KiB on disk for clients' tables"
    )
    monkeypatch.setattr(memory, "_room", lambda place: 900)
    with pytest.raises(InputError, match=r"memory must be a place for 0\.9 KiB of clients' tables, .* has 0\.9 KiB"):
        require_memory(setup("mifa", memory="disk"), "")


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
    "process": {"name": "bernoulli", "p": 0.5},
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
    for name in ("n_clients", "dimension", "itemsize", "slots_at_once", "device", "memory"):
        assert getattr(found, name) == getattr(task, name), name
    assert found.partition.hash == task.partition.hash
    copies = task.inputs.nbytes + task.targets.nbytes
    everything = 1438 * (64 * task.itemsize + 8) + 359 * (64 * task.itemsize + 8)
    assert found.data_bytes == everything + (copies if named["train_samples"] else 0)


def test_what_does_not_fit_is_refused_before_data_are_read_and_a_model_is_made(monkeypatch, tmp_path):
    pytest.importorskip("sklearn", reason="needs the training extra")
    original, devices = models.make, []

    def made(*arguments, **parameters):
        model = original(*arguments, **parameters)
        devices.append({parameter.device.type for parameter in model.parameters()})
        return model

    monkeypatch.setattr(models, "make", made)
    monkeypatch.setattr(memory, "_memory_of", lambda device: 10**5)
    monkeypatch.setattr(problem, "_arrays", None)
    catalogue._outline.cache_clear()
    with pytest.raises(InputError, match=r"algorithm must be one that fits into 97.7 KiB, but it needs"):
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
