"""Faults that users of federated training report, one test a kind: they cannot happen here.

Each test is named after the symptom, as in test_reported_faults.py.
"""

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from sims.algorithms.mifa import Hyper, mifa
from sims.rounds import Setup, Simulation

torch = pytest.importorskip("torch", reason="needs the training extra")
from torch import nn  # noqa: E402

from sims.training.memory import estimate_memory  # noqa: E402
from sims.training.task import Task  # noqa: E402

pytestmark = pytest.mark.torch

SIZES = [1, 2, 3, 14]  # a client of one sample, in batches of 5
DATA = torch.randn((20, 6), generator=torch.Generator().manual_seed(0)), torch.arange(20) % 3
PARTS = np.split(np.arange(20), np.cumsum(SIZES)[:-1])


def linear():
    torch.manual_seed(0)
    return nn.Linear(6, 3).double()


def task(module=None, **options):
    inputs, targets = DATA
    return Task(module or linear(), inputs.double(), targets, PARTS, **{"batch": 5, **options})


def setup(**options):
    return Setup(task(**options), mifa, Hyper(0.1, local_steps=2), Bernoulli(np.full(4, 0.5)))


def trained(engine):
    here = setup(engine=engine)
    simulation = Simulation(here, here.problem.start[None], 6, np.random.default_rng(0))
    simulation.advance()
    return simulation.state.linear["x"]


def test_batch_normalisation_is_silently_personalised():
    with pytest.raises(InputError, match="buffers"):
        task(nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).double())


def test_a_client_with_fewer_samples_than_a_batch_divides_by_zero():
    assert bool(torch.isfinite(trained("sequential")).all())


def test_a_thousand_clients_exhaust_the_memory_and_nobody_said_so():
    needs, vector = estimate_memory(setup(), cohort_size=2), 8 * (6 * 3 + 3)
    assert needs.tables == 4 * vector  # what MIFA remembers of each client
    assert estimate_memory(setup(), cohort_size=4).cohort > needs.cohort


def test_clients_trained_at_once_get_another_model_than_one_by_one():
    one, other = trained("sequential"), trained("vmap")
    assert torch.allclose(one, other, rtol=0, atol=1e-12)
    assert torch.equal(other, trained("vmap"))
