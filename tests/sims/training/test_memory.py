"""The memory of a run, counted from what it really holds."""

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from sims.algorithms import algorithms
from sims.rounds import Setup, Simulation
from sims.weighting import AverageAll

torch = pytest.importorskip("torch", reason="needs the training extra")
from sims.training import memory  # noqa: E402
from sims.training.memory import estimate_memory, require_memory  # noqa: E402
from sims.training.models import make  # noqa: E402
from sims.training.task import Task  # noqa: E402

pytestmark = pytest.mark.torch

N, D = 10, 5 * 4 + 4


def setup(name):
    inputs, targets = torch.zeros(20, 5), torch.zeros(20, dtype=torch.int64)
    task = Task(make("logistic", d=5, classes=4), inputs, targets, np.split(np.arange(20), N), test=(inputs, targets))
    algorithm = algorithms()[name]
    rule = AverageAll() if "weighting" in algorithm.looks_at else None
    return Setup(task, algorithm, algorithm.hyper(local_lr=0.1), Bernoulli(np.full(N, 0.5)), rule)


@pytest.mark.parametrize("name", ["fedavg", "mifa", "fedvarp", "scaffold", "fedlaavg"])
def test_the_servers_part_is_what_the_state_holds(name):
    one = setup(name)
    state = Simulation(one, one.problem.start[None], 1, np.random.default_rng(0)).state
    held = sum(array.nbytes for array in state.linear.values())
    clients = one.algorithm.client_vectors * N * D * 4
    assert held <= estimate_memory(one, 5).server / 2 <= held + clients


def test_data_and_cohort():
    found = estimate_memory(setup("fedavg"), 5)
    assert found.data == 2 * (20 * 5 * 4 + 20 * 8)
    assert found.cohort == (5 + 4 * 5) * D * 4
    assert "activations not counted" in str(found)


def test_what_does_not_fit_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr(memory, "_memory_of", lambda device: 3000)
    with pytest.raises(InputError, match=r"algorithm must be one that fits into 2.9 KiB, but it needs 5.5 KiB"):
        require_memory(setup("mifa"), "")
