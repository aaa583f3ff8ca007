"""Tables that the round loop lets algorithms overwrite: the same bits as with copies, and copies for everybody else."""

from contextlib import nullcontext

import numpy as np
import pytest

from fltheory.participation import Bernoulli
from sims import rounds
from sims.algorithms import amplified, fedamd, fedlaavg, fedvarp, mifa, scaffold
from sims.arrays import overwriting, put_rows
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.roles import constant as same_chance
from sims.rounds import Setup, Simulation

torch = pytest.importorskip("torch", reason="needs the training extra")

pytestmark = pytest.mark.torch

N = 4
ALGORITHMS = {
    "mifa": (mifa.mifa, mifa.as_in_paper(0.1, 1, 2)),
    "fedvarp": (fedvarp.fedvarp, fedvarp.Hyper(0.1, 1, 2)),
    "scaffold": (scaffold.scaffold, scaffold.Hyper(0.1, 1, 2)),
    "scaffold, option 1": (scaffold.scaffold, scaffold.Hyper(0.1, 1, 2, option=1)),
    "fedlaavg": (fedlaavg.fedlaavg, fedlaavg.Hyper(0.1, 2, refresh=3)),
    "wait": (amplified.wait_minibatch, amplified.WaitHyper(0.1, 3)),
    "fedamd": (fedamd.fedamd, fedamd.Hyper(0.1, 1, 2)),
    "fedamd, massive": (fedamd.fedamd_massive, fedamd.Hyper(0.1, 1, 2)),
}


def simulation(name):
    algorithm, hyper = ALGORITHMS[name]
    problem = DiagonalQuadratic(np.linspace(0.5, 2, N), np.arange(N) - 1.0, Additive(0.3))
    roles = same_chance(0.5) if "roles" in algorithm.looks_at else None
    setup = Setup(problem, algorithm, hyper, Bernoulli(np.full(N, 0.5)), roles=roles)
    start = torch.full((3, 1), 2.0, dtype=torch.float64)
    return Simulation(setup, start, 12, np.random.default_rng(0))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_overwriting_changes_no_bit(name, monkeypatch):
    fast = simulation(name)
    fast.advance()
    monkeypatch.setattr(rounds, "overwriting", nullcontext)
    slow = simulation(name)
    slow.advance()
    for part in ("linear", "discrete"):
        for key, array in getattr(slow.state, part).items():
            assert torch.equal(getattr(fast.state, part)[key], array)


def test_only_torch_tables_within_are_overwritten():
    clients, valid, rows = np.array([[2, 0]]), np.array([[True, False]]), np.ones((1, 2, 3))
    table = np.zeros((1, 4, 3))
    in_torch = [torch.from_numpy(array.copy()) for array in (table, clients, valid, rows)]
    expected = put_rows(table, clients, valid, rows)
    assert np.array_equal(put_rows(*in_torch).numpy(), expected)
    assert not in_torch[0].any()
    with overwriting():
        assert put_rows(*in_torch) is in_torch[0]
        assert put_rows(table, clients, valid, rows) is not table
    assert not table.any()
    assert np.array_equal(in_torch[0].numpy(), expected)
