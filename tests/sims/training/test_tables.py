"""Clients' tables on the device, on the host and on disk: the same bits in all places, kill and resume included."""

import os
import tempfile

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from sims import checkpoints, rounds
from sims.algorithms import algorithms
from sims.algorithms.protocol import Cohort, Local
from sims.arrays import client_rows, overwriting, tables_from
from sims.roles import ROLES
from sims.rounds import Setup, Simulation

torch = pytest.importorskip("torch", reason="needs the training extra")
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.fx.experimental.symbolic_shapes import ShapeEnv  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from sims.experiment import parse  # noqa: E402
from sims.training import tables  # noqa: E402
from sims.training.models import make  # noqa: E402
from sims.training.run import train  # noqa: E402
from sims.training.task import Task  # noqa: E402

pytestmark = pytest.mark.torch

N, ROUNDS = 8, 12
WITH_TABLES = {
    "fedamd": {"local_lr": 0.1, "local_steps": 2},
    "fedamd_massive": {"local_lr": 0.1, "local_steps": 2},
    "fedlaavg": {"local_lr": 0.1, "local_steps": 2, "refresh": 3},
    "fedvarp": {"local_lr": 0.1, "local_steps": 2},
    "mifa": {"local_lr": 0.1, "local_steps": 2, "wait": False},
    "scaffold": {"local_lr": 0.1, "local_steps": 2},
    "wait_full": {"global_lr": 0.1, "interval": 3},
    "wait_minibatch": {"global_lr": 0.1, "interval": 3},
}


def simulation(name, memory):
    generator = torch.Generator().manual_seed(3)
    inputs, targets = torch.randn((40, 6), generator=generator), torch.randint(0, 4, (40,), generator=generator)
    module, parts = make("mlp", widths=[6, 9, 4]), np.split(np.arange(40), N)
    task = Task(module, inputs, targets, parts, batch=3, memory=memory)
    algorithm = algorithms()[name]
    roles = ROLES["constant"](0.5) if "roles" in algorithm.looks_at else None
    hyper = algorithm.hyper(**WITH_TABLES[name])
    setup = Setup(task, algorithm, hyper, Bernoulli(np.full(N, 0.5)), roles=roles)
    return Simulation(setup, task.start[None], ROUNDS, np.random.default_rng(5))


def mapped(simulation):
    """Which parts of the state are in a mapped file, by the process's own list of them."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        ranges = [line.split()[0].split("-") for line in file if "/fltheory-" in line]
    ranges = [(int(first, 16), int(last, 16)) for first, last in ranges]
    linear = simulation.state.linear.items()
    return {name for name, array in linear if any(a <= array.data_ptr() < b for a, b in ranges)}


@pytest.mark.parametrize("name", WITH_TABLES)
def test_all_places_give_the_same_bits(name):
    by_place = {place: simulation(name, place) for place in tables.PLACES}
    for one in by_place.values():
        one.advance()
    device = by_place.pop("device")
    assert not torch.equal(device.state.linear["x"], device.setup.problem.start[None])
    for one in by_place.values():
        assert all(torch.equal(one.state.linear[part], array) for part, array in device.state.linear.items())


def test_every_algorithm_with_rows_for_clients_is_tested():
    found = {name for name, one in algorithms().items() if one.server_vectors(9) > one.server_vectors(0)}
    assert WITH_TABLES.keys() == found | {name for name, one in algorithms().items() if one.client_vectors}


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs the maps of Linux")
@pytest.mark.parametrize("name", WITH_TABLES)
def test_a_table_on_disk_stays_there(name, tmp_path):
    one = simulation(name, "disk")
    (table,) = mapped(one)
    assert one.state.linear[table].shape == (1, N, one.setup.problem.dimension)
    one.advance(7)
    checkpoints.save(one, tmp_path / "c.npz")
    one.advance()
    assert mapped(one) == {table}
    resumed = simulation(name, "disk")
    checkpoints.restore(resumed, tmp_path / "c.npz")
    assert mapped(resumed) == {table}
    resumed.advance()
    assert mapped(resumed) == {table}
    assert all(torch.equal(resumed.state.linear[part], array) for part, array in one.state.linear.items())


def test_nothing_is_left_and_no_space_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one = simulation("mifa", "disk")
    one.advance()
    assert list(tmp_path.iterdir()) == []

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(InputError, match=r"memory must be another place: .* has no 3,296 bytes \(No space left") as no:
        simulation("mifa", "disk")
    assert "\n" not in str(no.value)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="memory must be one of device, disk, host"):
        simulation("mifa", "dsk")


def test_a_checkpoint_of_a_table_is_not_copied_in_memory(tmp_path, monkeypatch):
    """The table is written from where it is, and read back client by client."""
    one, read = simulation("scaffold", "disk"), []
    one.advance(3)
    state = one.state_dict(copy=False)
    assert np.shares_memory(state["linear.variates"], one.state.linear["variates"].numpy())
    assert not np.shares_memory(state["linear.x"], one.state.linear["x"].numpy())
    assert not np.shares_memory(one.state_dict()["linear.variates"], one.state.linear["variates"].numpy())
    checkpoints.save(one, tmp_path / "c.npz")
    original = rounds._like
    monkeypatch.setattr(rounds, "_like", lambda array, model: (read.append(array.size), original(array, model))[1])
    checkpoints.restore(simulation("scaffold", "disk"), tmp_path / "c.npz")
    assert max(read) == one.setup.problem.dimension
    damaged = bytearray((tmp_path / "c.npz").read_bytes())
    at = damaged.find(one.state.linear["variates"].numpy().tobytes())
    damaged[at] ^= 1
    (tmp_path / "c.npz").write_bytes(damaged)
    with pytest.raises(InputError, match=r"checkpoint .*variates.npy is damaged"):
        checkpoints.restore(simulation("scaffold", "disk"), tmp_path / "c.npz")


@pytest.mark.parametrize("name", WITH_TABLES)
def test_only_rows_of_the_cohort_travel_between_devices(name, monkeypatch):
    """A second device without a card: tensors without numbers, which refuse to mix devices as torch does."""
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda _: True)  # there are no numbers to look at
    card, host, moved = torch.device("meta"), torch.device("cpu"), []
    original = torch.Tensor.to

    def to(array, there, *more, **named):
        if isinstance(there, torch.device) and there != array.device:
            moved.append(array.numel())
        return original(array, there, *more, **named)

    monkeypatch.setattr(torch.Tensor, "to", to)
    with FakeTensorMode(shape_env=ShapeEnv()):
        x = torch.zeros(1, 50, device=card)
        algorithm, hyper = algorithms()[name], algorithms()[name].hyper(**WITH_TABLES[name])
        with tables_from(torch.zeros):
            state = algorithm.init(hyper, x, 1000)
        clients = torch.zeros(1, 3, dtype=torch.int64, device=card)
        cohort = Cohort(clients, clients == 0, 1000, role=clients)
        rows = torch.zeros(1, 3, 50, device=card)
        with overwriting():
            algorithm.work(state, cohort, hyper)
            after = algorithm.apply(state, cohort, Local(rows, rows), hyper)
        with pytest.raises(RuntimeError, match="same device"):
            _ = x + torch.zeros(1, 50)
    devices = {part: array.device for part, array in after.linear.items()}
    assert {part for part, place in devices.items() if place == host} == {
        part for part, array in after.linear.items() if array.shape == (1, 1000, 50)
    }
    assert set(devices.values()) == {card, host}
    assert 150 <= max(moved) <= 1000  # wait_*: how often each client was heard


class Made(TorchDispatchMode):
    """The numbers of every tensor that is made, but for those of a view."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = {one.untyped_storage().data_ptr() for one in args if isinstance(one, torch.Tensor)}
        found = func(*args, **(kwargs or {}))
        if isinstance(found, torch.Tensor) and found.untyped_storage().data_ptr() not in given:
            self.sizes.append(found.numel())
        return found


@pytest.mark.parametrize("name", WITH_TABLES)
def test_nothing_of_the_size_of_a_table_is_made(name):
    """In six rounds, in which all intervals end."""
    x, algorithm = torch.zeros(1, 50), algorithms()[name]
    hyper = algorithm.hyper(**WITH_TABLES[name])
    state = algorithm.init(hyper, x, 1000)
    clients = torch.arange(3)[None]
    cohort = Cohort(clients, clients >= 0, 1000, role=clients % 2)
    with Made() as made, overwriting():
        for _ in range(6):
            algorithm.work(state, cohort, hyper)
            state = algorithm.apply(state, cohort, Local(*torch.ones(2, 1, 3, 50)), hyper)
    assert 150 <= max(made.sizes) <= 1000


def test_rows_are_where_they_are_asked_to_be():
    model = torch.zeros(2, 3)
    with tables_from(torch.ones):
        assert client_rows(4, model).shape == (2, 4, 3)
        assert client_rows(4, model).sum() == 24
    assert client_rows(4, model).sum() == 0


def test_the_place_is_an_option_of_the_experiment(tmp_path):
    pytest.importorskip("sklearn", reason="needs the training extra")
    content = {
        "kind": "train",
        "rounds": 5,
        "replicates": 1,
        "problem": {
            "name": "training",
            "data": "digits",
            "model": "logistic",
            "partition": {"name": "iid", "n_clients": 6},
        },
        "process": {"name": "bernoulli", "p": 0.5},
        "algorithm": {"name": "mifa", "local_lr": 0.1, "wait": False},
        "record": {"what": ["train_loss"]},
    }
    unsaid = parse(content)
    assert "memory" not in unsaid.canonical
    content["problem"]["memory"] = "device"
    assert parse(content).key == unsaid.key
    content["problem"]["memory"] = "disk"
    on_disk = parse(content)
    assert on_disk.key != unsaid.key
    runs = [train(one, store=tmp_path) for one in (unsaid, on_disk)]
    assert runs[0].sha256 == runs[1].sha256
    assert runs[1].experiment["problem"]["memory"] == "disk"
    content["problem"]["memory"] = "disc"
    with pytest.raises(InputError, match="memory must be one of device, disk, host"):
        parse(content)
