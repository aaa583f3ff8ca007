"""What no probe of outputs shows: a module is held against a plain loop, and watched while it is trained."""

import random
import re

import numpy as np
import pytest

from fltheory.errors import InputError
from sims import catalogue
from sims.experiment import parse

torch = pytest.importorskip("torch", reason="needs the training extra")
from torch import nn  # noqa: E402

from sims.training import models  # noqa: E402
from sims.training.run import train  # noqa: E402
from sims.training.task import Task  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")]

FEATURES, CLASSES = 6, 3
INPUTS = torch.randn(48, FEATURES, generator=torch.Generator().manual_seed(3))
INPUTS[30, 2] = 7.0  # the largest, of the second client
TARGETS = torch.arange(48) % CLASSES
PARTS = np.arange(48).reshape(3, 16)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(FEATURES, 5), nn.Linear(5, CLASSES)
        self.calls, self.mean, self.own = 0, torch.zeros(FEATURES), torch.Generator().manual_seed(1)

    def hidden(self, x):
        return torch.tanh(self.first(x))

    def forward(self, x):
        return self.last(self.hidden(x))


class Rebinds(Two):
    """Within these bounds no number changes, but steps would go into numbers that nobody uses."""

    def forward(self, x):
        self.last.weight.data = self.last.weight.data.clamp(-9, 9)
        return super().forward(x)


class Clamps(Two):
    def forward(self, x):
        with torch.no_grad():
            self.last.weight.clamp_(-9, 9)
        return super().forward(x)


class Replaces(Two):
    def forward(self, x):
        self.last.weight = nn.Parameter(self.last.weight.detach().clone())
        return super().forward(x)


class Registers(Two):
    def forward(self, x):
        if torch.is_grad_enabled() and not hasattr(self, "extra"):
            self.extra = nn.Parameter(torch.zeros(CLASSES))
        return super().forward(x)


class Supervised(Two):
    def forward(self, x):
        hidden = self.hidden(x)
        if hidden.requires_grad:
            hidden.square().mean().backward(retain_graph=True)
        return self.last(hidden)


class Hooks(Two):
    def forward(self, x):
        if torch.is_grad_enabled() and not self.calls:
            self.calls = 1
            self.first.weight.register_hook(lambda slope: 3 * slope)
        return super().forward(x)


class Shifts(Two):
    def forward(self, x):
        if torch.is_grad_enabled():
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return super().forward(x - self.mean)


class Noise(Two):
    """With gradients alone; or only of samples with large numbers, or of small probability."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        hidden = self.hidden(x)
        if self.kind == "torch" and hidden.requires_grad:
            hidden = hidden + 0.01 * torch.randn_like(hidden)
        if self.kind == "numpy" and hidden.requires_grad:
            hidden = hidden + float(np.random.default_rng().normal()) * float(np.random.rand())  # noqa: NPY002
        if self.kind == "python" and random.random() < 0.001:
            hidden = -hidden
        if self.kind == "own" and torch.rand(1, generator=self.own) < 0.001:
            hidden = -hidden
        if self.kind == "large" and x.abs().max() > 5:
            hidden = nn.functional.dropout(hidden, 0.5)
        if self.kind == "reseeded" and hidden.requires_grad:
            with torch.random.fork_rng([]):
                torch.seed()
                hidden = hidden + 0.01 * torch.randn_like(hidden)
        if self.kind == "backward" and hidden.requires_grad:
            hidden.register_hook(lambda slope: slope + 0.01 * torch.randn_like(slope))
        return self.last(hidden)


class Halves(Two):
    """In its training mode, and so with averaged buffers, alone."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(5)

    def forward(self, x):
        if self.training:
            self.last.weight.data.mul_(0.5)
        return self.last(self.norm(self.first(x)))


class Dips(Two):
    def forward(self, x):
        if x.max() > 5:
            x[x > 5] = 0
        return super().forward(x)


class Stale(Two):
    """Its copy of a weight is renewed with the count of what torch writes to it."""

    kept = None

    def forward(self, x):
        if torch.is_grad_enabled():
            return super().forward(x)
        if self.kept is None or self.kept[0] != self.last.weight._version:
            self.kept = self.last.weight._version, self.last.weight.detach().clone()
        return nn.functional.linear(self.hidden(x), self.kept[1], self.last.bias)


DRAWS, WRITES = "draws no random numbers", "leaves its parameters as they are"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (Rebinds, WRITES),
        (Clamps, WRITES),
        (Halves, WRITES),
        (Replaces, "replaces none"),
        (Registers, "has all its parameters from the first call on"),
        (Supervised, "no backward in a pass"),
        (Hooks, "without hooks on its parameters"),
        (Shifts, "gives the same again"),
        (Stale, "keeps nothing of earlier calls"),
        (Dips, "leaves its inputs as they are"),
        *((lambda kind=kind: Noise(kind), DRAWS) for kind in ("torch", "numpy", "python", "own", "large", "backward")),
        (lambda: Noise("reseeded"), "gives the same again .*draws numbers that torch does not seed"),
    ],
)
@pytest.mark.parametrize("engine", ["sequential", "vmap"])
def test_what_shows_in_steps_alone_is_refused_and_all_is_as_it_was(make, sentence, engine):
    sentence = sentence if engine == "sequential" else f"({sentence}|engine 'vmap' can train)"
    module, data = make(), INPUTS.clone()
    before = {name: (part, part.detach().clone()) for name, part in module.named_parameters()}
    attributes = dict(vars(module))
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    with pytest.raises(InputError, match=f"^module must be one .*{sentence}"):
        Task(module, data, TARGETS, PARTS, batch=8, engine=engine, buffers="average" if make is Halves else "refuse")
    assert torch.equal(states[0], torch.get_rng_state())
    assert states[1:] == (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002
    after = dict(module.named_parameters())
    assert after.keys() == before.keys()
    assert all(after[name] is part and torch.equal(part, numbers) for name, (part, numbers) in before.items())
    assert not any(part._backward_hooks or part.grad is not None for part in after.values())
    assert {n: v for n, v in vars(module).items() if n != "training"}.keys() == attributes.keys() - {"training"}
    assert torch.equal(data, INPUTS)


@pytest.mark.parametrize("engine", ["layered", "vmap"])
@pytest.mark.parametrize("make", [lambda: nn.Linear(6, 4), lambda: models.make("mlp", widths=[6, 9, 4])])
@pytest.mark.parametrize(("scale", "batch"), [(1e-4, 64), (1, 10_000)])
def test_gradients_that_are_small_beside_their_parameters_are_taken(make, scale, batch, engine):
    """A batch that is added up onto a parameter rounds in the last places of that parameter."""
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        inputs = scale * torch.randn((90, 6), generator=generator)
        targets = torch.randint(0, 4, (90,), generator=generator)
        torch.manual_seed(seed)
        assert Task(make(), inputs, targets, [np.arange(90)], batch=batch, engine=engine).dimension


def test_an_output_that_loses_its_batch_is_told():
    class Squeezes(Two):
        def forward(self, x):
            return super().forward(x).squeeze()

    with pytest.raises(
        InputError, match=r"one with logits \(B, classes\) .* got 'Squeezes with outputs \(3,\) for one"
    ):
        Task(Squeezes(), INPUTS, TARGETS, PARTS, batch=8)


class Later(nn.Module):
    """Goes wrong once its weights have grown, in passes of one kind."""

    fault, in_steps = "", True

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 10)
        self.before = float(self.layer.weight.detach().norm())

    def forward(self, x):
        if float(self.layer.weight.detach().norm()) > 1.5 * self.before and torch.is_grad_enabled() is self.in_steps:
            if self.fault == "raises":
                raise ValueError("too large")
            if self.fault == "draws":
                torch.rand(1)
            if self.fault == "writes":
                with torch.no_grad():
                    self.layer.weight.mul_(0.9)
        return self.layer(x.flatten(1))


@pytest.mark.parametrize("in_steps", [True, False])
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("raises", "could not be trained: the module raised ValueError: too large"),
        ("draws", f"could not be trained: module must be one that {DRAWS}"),
        ("writes", f"could not be trained: module must be one that {WRITES}"),
    ],
)
def test_a_fault_in_mid_run_stops_that_run_alone(fault, says, in_steps, monkeypatch, tmp_path):
    pytest.importorskip("sklearn", reason="needs the training extra")
    monkeypatch.setattr(models, "factory", lambda name: Later)
    monkeypatch.setattr(catalogue, "_kept", {})  # a task of another fault
    monkeypatch.setattr(Later, "fault", fault)
    monkeypatch.setattr(Later, "in_steps", in_steps)
    algorithm = {"name": "fedavg", "local_steps": 5}
    content = {
        "kind": "train",
        "rounds": 30,
        "replicates": 1,
        "problem": {
            "name": "training",
            "data": "digits",
            "model": "mine",
            "partition": {"name": "iid", "n_clients": 4},
        },
        "process": {"name": "bernoulli", "p": 1.0},
        "algorithm": [
            {**algorithm, "local_lr": 0.1, "label": "far"},
            {**algorithm, "local_lr": 0.001, "label": "near"},
        ],
        "record": {"what": ["train_loss"]},
    }
    content["problem"]["engine"] = "sequential"
    run = train(parse(content), store=tmp_path)
    where = r"the local steps of (one of clients|client) [\d, ]+" if in_steps else "the evaluation"
    assert re.match(rf"far, replicate 0: round \d+: in {where} Later {says}", run.reason)
    data = run.data()
    rounds = {label: data.filter(data["algorithm"] == label)["round"].max() for label in ("far", "near")}
    assert 0 < rounds["far"] < rounds["near"] == 30
