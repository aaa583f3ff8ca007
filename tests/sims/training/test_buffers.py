"""Modules with buffers: batch normalisation against the usual loop, and what each policy refuses."""

import copy

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from sims.algorithms.fedavg import Hyper, fedavg
from sims.algorithms.protocol import Cohort, Work
from sims.algorithms.scaffold import Hyper as ScaffoldHyper
from sims.algorithms.scaffold import scaffold
from sims.problems.local import local_update
from sims.rounds import Setup, Simulation
from sims.weighting import AverageParticipating

torch = pytest.importorskip("torch", reason="needs the training extra")
from torch import nn  # noqa: E402

from sims.experiment import parse  # noqa: E402
from sims.training import models  # noqa: E402
from sims.training.outline import outline  # noqa: E402
from sims.training.problem import training  # noqa: E402
from sims.training.run import train  # noqa: E402
from sims.training.task import Task  # noqa: E402

pytestmark = pytest.mark.torch

N, SAMPLES, STEPS, LR, DECAY = 3, 12, 4, 0.1, 0.05
ENGINES = ("sequential", "vmap")


def normalised(seed=0):
    torch.manual_seed(seed)
    layers = nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 5), nn.BatchNorm1d(5)
    module = nn.Sequential(*layers, nn.ReLU(), nn.Linear(5, 4)).double()
    module(torch.randn(20, 1, 6, 6).double() + 1)  # statistics that are not those of the start
    return module


def task(module=None, **options):
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn((N * SAMPLES, 1, 6, 6), generator=generator).double()
    targets = torch.randint(0, 4, (N * SAMPLES,), generator=generator)
    parts = np.split(np.arange(N * SAMPLES), N)
    options = {"batch": 5, "weight_decay": DECAY, "buffers": "average", **options}
    return Task(module or normalised(), inputs, targets, parts, test=(inputs, targets), **options)


def draws(one):
    cohort = Cohort(torch.arange(N)[None], torch.ones((1, N), dtype=torch.bool), N)
    work = Work(one.start[None], STEPS, LR)
    return cohort, work, one.draw(np.random.default_rng(7), cohort, work)


def flat(module):
    """Parameters, and behind them the buffers that are floats."""
    parts = [*module.parameters(), *(b for b in module.buffers() if b.is_floating_point())]
    return torch.cat([part.detach().reshape(-1) for part in parts])


def trained(module, one, batches, *, training=True):
    """What a user would write: a copy of the module in training mode, torch's optimiser."""
    module = copy.deepcopy(module).train(training)
    optimiser = torch.optim.SGD(module.parameters(), lr=LR, weight_decay=DECAY)
    for index in batches:
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(one.inputs[index]), one.targets[index]).backward()
        optimiser.step()
    return module


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("buffers", ["average", "keep"])
def test_local_steps_are_those_of_the_usual_loop(engine, buffers):
    one = task(engine=engine, buffers=buffers)
    cohort, work, drawn = draws(one)
    found = local_update(one, work, cohort, drawn).delta[0] + one.start
    for client in range(N):
        after = trained(normalised(), one, drawn.steps[:, 0, client], training=buffers == "average")
        expected = flat(after)
        if buffers == "average":
            moved = (expected - one.start)[one.layout.trained :]
            assert one.dimension == expected.numel()
            assert float(moved.abs().min()) > 1e-4  # all statistics
        torch.testing.assert_close(found[client], expected[: one.dimension], rtol=1e-10, atol=1e-12)
    assert torch.equal(flat(one.module), flat(normalised()))
    counts = [buffer for buffer in one.module.buffers() if not buffer.is_floating_point()]
    assert [int(number) for number in counts] == [1, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_plain_averaging_is_that_of_state_dicts(engine):
    """Two rounds of everybody, batches as the run draws them; evaluated with the averages."""
    one, seen = task(engine=engine), []
    original = one.draw
    one.draw = lambda *arguments: (seen.append(original(*arguments)), seen[-1])[1]
    setup = Setup(one, fedavg, Hyper(LR, 1, STEPS), Bernoulli(np.ones(N)), AverageParticipating())
    simulation = Simulation(setup, one.start[None], 2, np.random.default_rng(5))
    simulation.advance()
    server = normalised()
    for drawn in seen:
        states = [trained(server, one, drawn.steps[:, 0, client]).state_dict() for client in range(N)]
        server.load_state_dict({name: sum(state[name] for state in states) / N for name in states[0]})
    found = simulation.state.linear["x"]
    torch.testing.assert_close(found[0], flat(server), rtol=1e-9, atol=1e-11)
    logits = server.eval()(one.inputs).detach()
    loss = float(nn.functional.cross_entropy(logits, one.targets))
    assert float(one.evaluation(found).test_loss[0]) == pytest.approx(loss, rel=1e-9)
    assert float(one.evaluation(found).test_accuracy[0]) == float((logits.argmax(-1) == one.targets).double().mean())
    penalty = DECAY / 2 * sum(float((part.detach() ** 2).sum()) for part in server.parameters())
    assert float(one.objective(found)[0]) == pytest.approx(loss + penalty, rel=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_exact_gradients_are_of_parameters_in_the_evaluation_mode(engine):
    one, module = task(engine=engine), normalised().eval()
    found = one.gradient(one.start.expand(1, N, -1), torch.arange(N)[None])[0]
    for client in range(N):
        own = one.sampler.of(client)
        loss = nn.functional.cross_entropy(module(one.inputs[own]), one.targets[own])
        loss = loss + DECAY / 2 * sum((part**2).sum() for part in module.parameters())
        expected = torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, list(module.parameters()))])
        torch.testing.assert_close(found[client, : one.layout.trained], expected, rtol=1e-9, atol=1e-12)
    assert float(found[:, one.layout.trained :].abs().max()) == 0


def run(one, algorithm, hyper, rounds=4):
    rule = AverageParticipating() if "weighting" in algorithm.looks_at else None
    setup = Setup(one, algorithm, hyper, Bernoulli(np.full(N, 0.7)), rule)
    return Simulation(setup, one.start[None], rounds, np.random.default_rng(5))


def test_averages_go_through_checkpoints_and_kept_buffers_serve_all_algorithms():
    whole, half, resumed = (run(task(), fedavg, Hyper(LR, 1, 2)) for _ in range(3))
    whole.advance()
    half.advance(2)
    resumed.load_state_dict(half.state_dict())
    resumed.advance()
    assert torch.equal(resumed.state.linear["x"], whole.state.linear["x"])
    kept = run(task(buffers="keep"), scaffold, ScaffoldHyper(LR, 1, 2), rounds=20)
    before = float(kept.setup.problem.objective(kept.state.linear["x"])[0])
    kept.advance()
    assert float(kept.setup.problem.objective(kept.state.linear["x"])[0]) < before - 0.05
    with pytest.raises(InputError, match="buffers must be another policy for what takes gradients"):
        run(task(), scaffold, ScaffoldHyper(LR, 1, 2)).advance()


class Counting(nn.Linear):
    """Counts its passes, in training or always."""

    def __init__(self, always, kind):
        super().__init__(36, 4, dtype=torch.float64)
        self.always = always
        self.register_buffer("passes", torch.zeros((), dtype=kind))

    def forward(self, x):
        if self.training or self.always:
            self.passes += 1
        return super().forward(x.flatten(1))


class Replaces(Counting):
    def forward(self, x):
        self.passes = self.passes + self.training
        return nn.Linear.forward(self, x.flatten(1))


class Drops(nn.Linear):
    def __init__(self):
        super().__init__(36, 4, dtype=torch.float64)
        self.register_buffer("one", torch.ones((), dtype=torch.float64))

    def forward(self, x):
        return nn.functional.dropout(super().forward(x.flatten(1)), 0.5, self.training) * self.one


def without_momentum():
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 4), nn.BatchNorm1d(4, momentum=None)).double()


class CountsBatches(nn.Linear):
    """A buffer that is called as the count of batch normalisation is, and is none."""

    def __init__(self, step):
        super().__init__(36, 4, dtype=torch.float64)
        self.step = step
        self.register_buffer("num_batches_tracked", torch.ones((), dtype=torch.int64))

    def forward(self, x):
        self.num_batches_tracked += self.step * self.training
        return super().forward(x.flatten(1)) / self.num_batches_tracked


def mixed():
    module = nn.Sequential(nn.Flatten(), nn.Linear(36, 4)).double()
    module.register_buffer("single", torch.zeros(2))
    return module


@pytest.mark.parametrize(
    ("make", "options", "sentence"),
    [
        (normalised, {"buffers": "refuse"}, r"module must be one without buffers, or with the option buffers = .keep."),
        (normalised, {"buffers": "averages"}, r"buffers must be one of average, keep, refuse \(did you mean average"),
        (normalised, {"engine": "layered"}, "engine must be another one"),
        (lambda: Counting(True, torch.float64), {"buffers": "keep"}, "buffers stay as they are in its evaluation mode"),
        (lambda: Counting(True, torch.float64), {}, "buffers stay as they are in its evaluation mode"),
        (lambda: Counting(False, torch.int64), {}, "floats where they change"),
        (lambda: Replaces(False, torch.float64), {}, "writes into its buffers and does not replace them"),
        (Drops, {}, "draws no random numbers"),
        (lambda: CountsBatches(1), {}, r"one whose buffers are floats where they change, .*'num_batches_tracked'"),
        (without_momentum, {}, "running statistics have a momentum"),
        (mixed, {}, "parameters and buffers have one dtype"),
    ],
)
def test_what_a_policy_cannot_do_is_one_sentence(make, options, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        task(make(), **options)
    assert "\n" not in str(caught.value)


def test_constants_and_floats_that_change_are_served():
    assert task(Counting(False, torch.int64), buffers="keep").dimension == 36 * 4 + 4
    assert task(CountsBatches(0)).dimension == 36 * 4 + 4
    one = task(Counting(False, torch.float64), engine="vmap")
    cohort, work, drawn = draws(one)
    found = local_update(one, work, cohort, drawn).delta[0]
    assert found[:, -1].tolist() == [STEPS] * N
    chain = nn.Sequential(nn.Flatten(), nn.Linear(36, 4)).double()
    chain.register_buffer("constant", torch.zeros(2, dtype=torch.float64))
    assert task(copy.deepcopy(chain), buffers="keep").engine.name == "layered"
    assert task(chain).engine.name == "sequential"


def factory(classes=10):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, classes))


def test_the_policy_is_an_option_of_the_experiment(monkeypatch, tmp_path):
    pytest.importorskip("sklearn", reason="needs the training extra")
    monkeypatch.setattr(models, "factory", lambda name: factory)
    named = {"data": "digits", "model": "mine", "partition": {"name": "iid", "n_clients": 4}, "seed": 1}
    content = {
        "kind": "train",
        "rounds": 20,
        "replicates": 1,
        "problem": {"name": "training", **named},
        "process": {"name": "bernoulli", "p": 0.5},
        "algorithm": {"name": "fedavg", "local_lr": 0.1, "local_steps": 5},
        "record": {"what": ["test_accuracy"]},
    }
    with pytest.raises(InputError, match="module must be one without buffers"):
        parse(content)
    for buffers, more in (("keep", 0), ("average", 16)):
        content["problem"]["buffers"] = buffers
        found = train(parse(content), store=tmp_path)
        assert found.experiment["problem"]["buffers"] == buffers
        assert found.data()["test_accuracy"][-1] > 0.8
        dimension = sum(part.numel() for part in factory().parameters()) + more
        assert outline(**named, buffers=buffers).dimension == training(**named, buffers=buffers).dimension == dimension
