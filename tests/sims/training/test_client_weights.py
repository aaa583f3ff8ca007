"""Clients weighted by the size of their data: by hand, against the loss over all samples, engine by engine."""

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from sims.algorithms import fedavg, fedlaavg, fedprox, fedsgd
from sims.algorithms.protocol import Cohort, Work
from sims.problems.local import local_update
from sims.rounds import Setup, Simulation
from sims.weighting import AverageParticipating

torch = pytest.importorskip("torch", reason="needs the training extra")
from sims.experiment import parse  # noqa: E402
from sims.training.engines import ENGINES  # noqa: E402
from sims.training.models import make  # noqa: E402
from sims.training.outline import outline  # noqa: E402
from sims.training.problem import training  # noqa: E402
from sims.training.task import Task  # noqa: E402

pytestmark = pytest.mark.torch

LR = 0.4


def by_hand(**options):
    """Client 0 has x = 2 of class 0; client 1 has x = 1 three times, of classes 0, 0 and 1; the model is 0."""
    module = torch.nn.Linear(1, 2, bias=False).double()
    torch.nn.init.zeros_(module.weight)
    inputs, targets = torch.tensor([[2.0], [1.0], [1.0], [1.0]]).double(), torch.tensor([0, 0, 0, 1])
    options = {"batch": 3, "replacement": False, "client_weights": "data_size", **options}
    return Task(module, inputs, targets, [np.array([0]), np.array([1, 2, 3])], **options)


def after(one, algorithm, hyper, rounds=1, rates=1.0):
    rule = AverageParticipating() if "weighting" in algorithm.looks_at else None
    setup = Setup(one, algorithm, hyper, Bernoulli(np.full(one.n_clients, rates)), rule)
    simulation = Simulation(setup, one.start[None], rounds, np.random.default_rng(5))
    simulation.advance()
    return simulation.state.linear["x"][0]


@pytest.mark.parametrize(
    ("algorithm", "hyper"),
    [
        (fedavg.fedavg, fedavg.Hyper(LR)),
        (fedsgd.fedsgd, fedsgd.Hyper(LR)),
        (fedprox.fedprox, fedprox.Hyper(LR, proximal=0.5)),
        (fedlaavg.fedlaavg, fedlaavg.Hyper(LR)),
    ],
)
@pytest.mark.parametrize("engine", ["sequential", "vmap"])
def test_a_round_by_hand(algorithm, hyper, engine):
    """Both classes have probability 1/2, so the mean gradients of the weight of class 0 are

    -1 for client 0, (-1/2 - 1/2 + 1/2) / 3 = -1/6 for client 1; times 2 * 1/4 and 2 * 3/4 they are -1/2 and -1/4.
    """
    one = by_hand(engine=engine)
    assert one.gradient(one.start.expand(1, 2, -1), torch.tensor([[0, 1]]))[0].tolist() == [
        pytest.approx([-0.5, 0.5]),
        pytest.approx([-0.25, 0.25]),
    ]
    assert after(one, algorithm, hyper).tolist() == pytest.approx([LR * 0.375, -LR * 0.375])
    assert after(by_hand(engine=engine, client_weights="uniform"), algorithm, hyper).tolist() == pytest.approx(
        [LR * 7 / 12, -LR * 7 / 12]
    )


N, SIZES = 4, [1, 2, 5, 12]


def task(**options):
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn((20, 5), generator=generator, dtype=torch.float64)
    targets = torch.randint(0, 4, (20,), generator=generator)
    parts = np.split(np.random.default_rng(0).permutation(20), np.cumsum(SIZES)[:-1])
    module = make("mlp", widths=[5, 6, 4]).double()
    return Task(module, inputs, targets, parts, **{"batch": 3, "client_weights": "data_size", **options})


def test_the_objective_is_the_mean_over_all_samples_and_its_gradient_that_of_all_clients():
    one = task(weight_decay=0.1)
    model = one.start.clone().requires_grad_()
    logits = torch.func.functional_call(one.module, one.layout.named(model), (one.inputs,))
    loss = torch.nn.functional.cross_entropy(logits, one.targets) + 0.05 * (model**2).sum()
    (expected,) = torch.autograd.grad(loss, model)
    torch.testing.assert_close(one.objective(one.start[None])[0], loss.detach(), rtol=1e-12, atol=0)
    found = one.gradient(one.start.expand(1, N, -1), torch.arange(N)[None])[0].mean(dim=0)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-13)


def updates(one):
    cohort = Cohort(torch.arange(N)[None], torch.ones((1, N), dtype=torch.bool), N)
    asked = Work(one.start[None], 3, 0.2)
    return local_update(one, asked, cohort, one.draw(np.random.default_rng(7), cohort, asked)).delta


def test_engines_and_ways_of_stepping_agree():
    """In place, all clients at once or two by two, or gradient after gradient."""
    reference = task(engine="sequential", weight_decay=0.1)
    reference.descend = None
    expected = updates(reference)
    assert not torch.allclose(expected, updates(task(client_weights="uniform", weight_decay=0.1)), rtol=0.01)
    for engine in ENGINES:
        for at_once in (None, 3):
            one = task(engine=engine, weight_decay=0.1)
            one.slots_at_once = at_once
            torch.testing.assert_close(updates(one), expected, rtol=1e-9, atol=1e-12)


def test_it_is_what_fedlaavg_does_with_weights_of_its_own():
    own = fedlaavg.Hyper(LR, 2, weights=tuple(size / 20 for size in SIZES))
    expected = after(task(client_weights="uniform"), fedlaavg.fedlaavg, own, 6, 0.5)
    found = after(task(), fedlaavg.fedlaavg, fedlaavg.Hyper(LR, 2), 6, 0.5)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


NAMED = {"data": "digits", "model": "logistic", "partition": {"name": "dirichlet", "n_clients": 4, "alpha": 0.3}}


def content(algorithm, **problem):
    return {
        "kind": "train",
        "rounds": 2,
        "replicates": 1,
        "problem": {"name": "training", **NAMED, **problem},
        "process": {"name": "bernoulli", "p": 0.5},
        "algorithm": algorithm,
    }


def test_it_is_an_option_of_the_experiment_whose_default_changes_no_key():
    pytest.importorskip("sklearn", reason="needs the training extra")
    plain = {"name": "fedavg", "local_lr": 0.1}
    without, uniform, by_size = (
        parse(content(plain, **problem))
        for problem in ({}, {"client_weights": "uniform"}, {"client_weights": "data_size"})
    )
    assert "client_weights" not in without.canonical
    assert without.key == uniform.key != by_size.key
    scales = training(**NAMED, client_weights="data_size", seed=1).sampler.scales
    sizes = outline(**NAMED, client_weights="data_size", seed=1).samples[1]
    assert scales == pytest.approx(4 * sizes / 1438)
    with pytest.raises(InputError, match=r"client_weights must be one of data_size, uniform .did you mean data_size"):
        parse(content(plain, client_weights="data-size"))


@pytest.mark.parametrize("weights", ["data_size", [0.1, 0.2, 0.3, 0.4]])
def test_losses_are_not_weighted_twice(weights):
    pytest.importorskip("sklearn", reason="needs the training extra")
    laavg = {"name": "fedlaavg", "local_lr": 0.1, "weights": weights}
    parse(content(laavg))
    with pytest.raises(InputError, match="weights must be left out beside client_weights = 'data_size'"):
        parse(content(laavg, client_weights="data_size"))
