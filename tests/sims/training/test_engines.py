"""The engines against each other, and each against itself.

The reference is the slow way: client after client through autograd, gradient after gradient, in float64. An engine
may round its sums in another order, so after four steps it may be off by 1e-10 (float64) or 1e-4 (float32) of the
largest change of a parameter; one that drops a term is off by 1e-2 or more. By itself it gives the same bits again.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sims.algorithms.fedavg import Hyper, fedavg
from sims.algorithms.protocol import Cohort, Work
from sims.problems.local import local_update

torch = pytest.importorskip("torch", reason="needs the training extra")
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from fltheory.participation import UniformSubset  # noqa: E402
from sims.arrays import take_rows  # noqa: E402
from sims.rounds import Setup, Simulation  # noqa: E402
from sims.training import task as tasks  # noqa: E402
from sims.training.engines import ENGINES  # noqa: E402
from sims.training.models import make  # noqa: E402
from sims.training.task import Task  # noqa: E402
from sims.weighting import AverageParticipating  # noqa: E402

pytestmark = pytest.mark.torch

ROOT = Path(__file__).parents[3]
N, SAMPLES, STEPS = 5, 12, 4
CASES = {
    "mlp": ("mlp", {"widths": [6, 9, 7, 4]}, (6,), {}),
    "wide": ("mlp", {"widths": [6, 13, 4]}, (6,), {"client_weights": "data_size"}),  # wider than samples of all steps
    "logistic": ("logistic", {"d": 6, "classes": 4}, (6,), {}),
    "cnn": ("fedau-fashion", {"size": 8, "classes": 4}, (1, 8, 8), {"augmentation": "crop-flip"}),
    "dropout": ("fedau-cifar100", {"size": 8, "classes": 4}, (3, 8, 8), {"replacement": False}),
}
CHAINS = ("mlp", "wide", "logistic")
RUNS = [(case, engine) for case in CASES for engine in ENGINES if engine != "layered" or case in CHAINS]
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}


def task(case, engine, precision="float64", **options):
    name, parameters, shape, more = CASES[case]
    generator, kind = torch.Generator().manual_seed(3), getattr(torch, precision)
    inputs = torch.randn((N * SAMPLES, *shape), generator=generator, dtype=torch.float64).to(kind)
    targets = torch.randint(0, 4, (N * SAMPLES,), generator=generator)
    parts = np.split(np.random.default_rng(0).permutation(N * SAMPLES), N)
    module = make(name, **parameters).to(kind)
    return Task(module, inputs, targets, parts, batch=3, engine=engine, **more, **options)


def updates(one, step_size=0.1, steps=STEPS):
    cohort = Cohort(torch.arange(N)[None], torch.ones((1, N), dtype=torch.bool), N)
    work = Work(one.start[None], steps, step_size)
    return local_update(one, work, cohort, one.draw(np.random.default_rng(7), cohort, work)).delta


def slow(case, precision, **options):
    one = task(case, "sequential", precision, **options)
    one.descend = None
    return updates(one)


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize(("case", "engine"), RUNS)
def test_engines_agree_with_the_slow_way(case, engine, precision):
    for weight_decay in (0.0, 0.3):
        # dropout draws other masks in another precision
        expected = slow(case, precision if case == "dropout" else "float64", weight_decay=weight_decay).double()
        one = task(case, engine, precision, weight_decay=weight_decay)
        found = updates(one)
        assert found.dtype == getattr(torch, precision)
        off = (found.double() - expected).abs().max() / expected.abs().max()
        assert float(off) < TOLERANCE[precision]


@pytest.mark.parametrize(("case", "engine"), RUNS)
def test_an_engine_gives_the_same_bits_again(case, engine):
    first, again = (updates(task(case, engine, "float32")) for _ in range(2))
    assert torch.equal(first, again)


@pytest.mark.parametrize(("case", "engine"), RUNS)
def test_how_far_batches_are_gathered_ahead_changes_nothing(case, engine, monkeypatch):
    """But for rounding: products depend on how their factors are aligned in memory."""
    expected = updates(task(case, engine))
    monkeypatch.setattr(tasks, "GATHERED", 1)  # step by step
    torch.testing.assert_close(updates(task(case, engine)), expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("case", "engine"), RUNS)
def test_steps_leave_the_servers_model_alone(case, engine):
    one = task(case, engine)
    before = one.start.clone()
    updates(one)
    assert torch.equal(one.start, before)


@pytest.mark.parametrize("engine", ENGINES)
def test_replicates_start_where_they_are_and_nobody_is_a_cohort(engine):
    """Two replicates of their own models and clients are two runs of one."""
    one, generator = task("mlp", engine), torch.Generator().manual_seed(1)
    starts = one.start + 0.1 * torch.randn((2, one.dimension), generator=generator, dtype=torch.float64)
    clients = torch.tensor([[0, 3, 1], [4, 2, 3]])
    draws = one.draw(np.random.default_rng(2), Cohort(clients, clients >= 0, N), Work(starts, STEPS, 0.1)).steps
    both = one.descend(starts[:, None].expand(2, 3, -1), clients, draws, 0.1)
    for r in range(2):
        alone = one.descend(starts[r : r + 1, None].expand(1, 3, -1), clients[r : r + 1], draws[:, r : r + 1], 0.1)
        torch.testing.assert_close(both[r], alone[0], rtol=1e-12, atol=1e-14)
    assert one.descend(starts[:, None].expand(2, 3, -1)[:, :0], clients[:, :0], draws[:, :, :0], 0.1).shape[1] == 0


class Read(TorchDispatchMode):
    """How often a number, or how many there are, went from the device to Python."""

    times = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.times += func.overloadpacket in (torch.ops.aten._local_scalar_dense, torch.ops.aten.nonzero)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("case", "engine"), [("cnn", "vmap"), ("mlp", "layered"), ("mlp", "vmap")])
def test_no_step_waits_for_the_device(case, engine):
    """What a round reads on the host does not grow with the steps."""
    counts = []
    for steps in (1, 6):
        setup = Setup(task(case, engine), fedavg, Hyper(0.1, 1, steps), UniformSubset(N, 3), AverageParticipating())
        simulation = Simulation(setup, setup.problem.start[None], 2, np.random.default_rng(0))
        simulation.advance(1)
        with Read() as read:
            simulation.advance(2)
        counts.append(read.times)
    assert 0 < counts[0] == counts[1] <= 6


@pytest.mark.parametrize("lead", [(), (1,), (2, 3)])
def test_rows_of_a_table_are_those_of_numpy(lead):
    rng = np.random.default_rng(0)
    table, clients = rng.standard_normal((*lead, 7, 4)), rng.integers(0, 7, (*lead, 5))
    found = take_rows(torch.from_numpy(table), torch.from_numpy(clients))
    assert np.array_equal(found.numpy(), take_rows(table, clients))


def test_the_benchmark_for_accelerators_runs_in_small():
    command = [sys.executable, str(ROOT / "benchmarks" / "training_gpu.py"), "--smoke"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert "TF32 on" in done.stdout
    assert "sequential / vmap" in done.stdout
