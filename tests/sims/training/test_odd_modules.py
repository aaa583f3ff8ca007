"""Odd modules in single precision: an SGD loop of one's own gives the same numbers, or the module is refused."""

import numpy as np
import pytest

from fltheory.errors import InputError

torch = pytest.importorskip("torch", reason="needs the training extra")
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402
from torch.nn.utils import parametrizations, parametrize  # noqa: E402

from fltheory.participation import Bernoulli  # noqa: E402
from sims.algorithms.fedavg import Hyper, fedavg  # noqa: E402
from sims.recorder import METRICS, Record  # noqa: E402
from sims.rounds import Setup, Simulation  # noqa: E402
from sims.training.task import Task  # noqa: E402
from sims.weighting import AverageAll  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")]

FEATURES, CLASSES, WORDS, LENGTH = 6, 3, 7, 5
GENERATOR = torch.Generator().manual_seed(3)
INPUTS = torch.randn(48, FEATURES, generator=GENERATOR)
TOKENS = torch.randint(0, WORDS, (48, LENGTH), generator=GENERATOR)
TARGETS = torch.randint(0, CLASSES, (48,), generator=GENERATOR)
PARTS = np.arange(48).reshape(3, 16)


class Two(nn.Module):
    def __init__(self, hidden=FEATURES):
        super().__init__()
        self.first, self.last = nn.Linear(FEATURES, hidden), nn.Linear(hidden, CLASSES)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


class Tied(Two):
    def __init__(self):
        super().__init__()
        self.between = nn.Linear(FEATURES, FEATURES)
        self.between.weight = self.first.weight

    def forward(self, x):
        return self.last(torch.tanh(self.between(nn.functional.gelu(self.first(x)))))


class Shifted(Two):
    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.full((FEATURES,), 0.3))

    def forward(self, x):
        return super().forward(x - self.shift)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, slope):
        return 3 * ctx.saved_tensors[0] ** 2 * slope


class Cubed(Two):
    def forward(self, x):
        return self.last(Cube.apply(self.first(x)))


class Normalised(Two):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(FEATURES)

    def forward(self, x):
        return self.last(torch.relu(self.norm(self.first(x))))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.cells = nn.Embedding(WORDS, 6), nn.GRU(6, 7, 2, batch_first=True, bidirectional=True)
        self.last = nn.Linear(14, CLASSES)

    def forward(self, tokens):
        return self.last(self.cells(self.words(tokens))[0][:, -1])


class Attentive(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, 8), nn.Parameter(0.1 * torch.randn(LENGTH, 8))
        self.heads, self.norm = nn.MultiheadAttention(8, 2, batch_first=True), nn.LayerNorm(8)
        self.last = nn.Linear(8, CLASSES)

    def forward(self, tokens):
        words = self.words(tokens) + self.places
        return self.last(self.norm(words + self.heads(words, words, words, need_weights=False)[0]).mean(1))


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T


def parametrised():
    module = Two()
    parametrize.register_parametrization(module.first, "weight", Symmetric())
    parametrizations.weight_norm(module.last)
    return module


class Pair(Two):
    def forward(self, x):
        return super().forward(x), x


class Whole(Two):
    def forward(self, x):
        return super().forward(x).long()


class Counting(Two):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls += 1
        return super().forward(x)


class Kept(Two):
    """Its product of parameters stays that of the first call."""

    product = None

    def forward(self, x):
        if self.product is None:
            self.product = self.first.weight @ self.first.weight.T
        return self.last(x @ self.product)


class Mean(Two):
    """The mean of its weight over calls stays where it is as long as the weight does."""

    def __init__(self):
        super().__init__()
        self.mean = self.last.weight.detach().clone()

    def forward(self, x):
        self.mean = 0.5 * self.mean + 0.5 * self.last.weight.detach()
        return super().forward(x) + torch.tanh(self.first(x)) @ self.mean.T


class KeptOfBatch(Two):
    """Keeps what it made of its first batch of a size: within vmap a tensor that is of no use outside."""

    def forward(self, x):
        kept = self.__dict__.setdefault("kept", {})
        if len(x) not in kept:
            kept[len(x)] = torch.ones_like(self.first(x)).detach()
        return self.last(torch.tanh(self.first(x)) * kept[len(x)])


class Listed(Two):
    def __init__(self):
        super().__init__()
        self.listed = [self.last.weight]

    def forward(self, x):
        return torch.tanh(self.first(x)) @ self.listed[0].T + self.last.bias


class Partly(Two):
    """Of its logits a twentieth is by a view of the weight that it had at its start, which no engine renews."""

    def __init__(self):
        super().__init__()
        self.view = self.last.weight.detach()

    def forward(self, x):
        hidden = torch.tanh(self.first(x))
        return self.last(hidden) + 0.05 * hidden @ self.view.T


class Hardly(Two):
    """The same of a parameter by which the gradient is below a thousandth of the whole one."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(CLASSES))
        self.view = self.scale.detach()

    def forward(self, x):
        return super().forward(x) * (1 + 3e-4 * self.scale * self.view)


class Doubled(Two):
    def __init__(self):
        super().__init__()
        self.last.double()

    def forward(self, x):
        return self.last(self.first(x).double()).to(x.dtype)


def seeded(make):
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return make()


def task(make, **options):
    inputs = TOKENS if make in (Recurrent, Attentive) else INPUTS
    return Task(seeded(make), inputs, TARGETS, PARTS, batch=8, **options)


@pytest.mark.parametrize("engine", ["sequential", "auto", "vmap"])
@pytest.mark.parametrize(
    ("make", "buffers"),
    [
        (Tied, "refuse"),
        (Shifted, "keep"),
        (Cubed, "refuse"),
        (Normalised, "keep"),
        (Normalised, "average"),
        (Recurrent, "refuse"),
        (Attentive, "refuse"),
        (parametrised, "refuse"),
    ],
)
def test_steps_are_those_of_a_loop_of_ones_own(make, buffers, engine):
    if (make, engine) == (Cubed, "vmap"):
        with pytest.raises(InputError, match=r"engine 'vmap' can train .*setup_context"):
            task(make, engine=engine)
        return
    one = task(make, engine=engine, buffers=buffers)
    clients = torch.tensor([[0, 1, 2]])
    draws = torch.from_numpy(one.sampler.draw(np.random.default_rng(0), clients.numpy(), 5, 8))
    found = one.start + one.descend(one.start.expand(1, 3, -1).clone(), clients, draws, 0.1)[0]
    for client in range(3):
        module = seeded(make).train(buffers != "keep")
        steps = torch.optim.SGD(module.parameters(), lr=0.1)
        for batch in draws[:, 0, client]:
            steps.zero_grad()
            cross_entropy(module(one.inputs[batch]), TARGETS[batch]).backward()
            steps.step()
        parts = [*module.parameters(), *(b for b in module.buffers() if buffers == "average" and b.is_floating_point())]
        expected = torch.cat([part.detach().reshape(-1) for part in parts])
        torch.testing.assert_close(found[client], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "options", "sentence"),
    [
        (Pair, {}, "one that gives logits, not a tuple"),
        (Whole, {}, "one whose logits have gradients by its parameters"),
        (Counting, {}, 'one without buffers, or with the option buffers = "keep"'),
        (Counting, {"buffers": "keep"}, r"one whose buffers stay as they are in its evaluation mode; got \['calls'\]"),
        (lambda: nn.Sequential(nn.LazyLinear(CLASSES)), {}, "one whose parameters have shapes"),
        (Kept, {}, "one that keeps nothing of earlier calls"),
        (Mean, {}, "one that keeps nothing of earlier calls"),
        (KeptOfBatch, {"engine": "vmap"}, "one that the engine 'vmap' can train .*escaped"),
        (Listed, {"engine": "vmap"}, "one whose tensors with gradients are its parameters, not in lists; or engine"),
        (Partly, {}, r"one that uses its parameters as they stand \(no views of them"),
        (Partly, {"engine": "vmap"}, "one that uses its parameters as they stand"),
        (Hardly, {"engine": "vmap"}, 'one whose gradients the engine .*; or engine = "sequential"'),
        (Hardly, {}, r"one whose gradients the engine 'sequential' finds, by \['scale'"),
        (Doubled, {}, r"one whose parameters are floats of one dtype; got \['torch.float32', 'torch.float64'\]"),
        (
            lambda: nn.Linear(6, CLASSES, dtype=torch.complex64),
            {},
            r"one whose parameters are floats of one dtype; got \['torch.complex64'\]",
        ),
    ],
)
def test_other_modules_are_refused_for_what_they_do(make, options, sentence):
    with pytest.raises(InputError, match=f"^module must be {sentence}"):
        task(make, **options)


@pytest.mark.parametrize("make", [KeptOfBatch, Listed])
def test_lists_and_what_is_kept_of_a_size_are_right_client_by_client(make):
    assert task(make).engine.name == "sequential"


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("make", [Recurrent, Attentive, Tied])
def test_rounding_in_half_precision_is_no_fault_of_a_module(make, kind):
    inputs = INPUTS.to(kind) if make is Tied else TOKENS
    assert Task(seeded(make).to(kind), inputs, TARGETS, PARTS, batch=4).engine.name == "sequential"
    with pytest.raises(InputError, match=r'^engine must be "sequential" for a module in'):  # up to 40 % by a parameter
        Task(seeded(make).to(kind), inputs, TARGETS, PARTS, batch=4, engine="vmap")


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_a_module_in_half_precision_trains_and_is_measured_as_by_a_loop_of_ones_own(kind):
    inputs = INPUTS.to(kind)
    one = Task(seeded(Two).to(kind), inputs, TARGETS, PARTS, batch=4, test=(inputs[:9], TARGETS[:9]))
    drawn, descend = [], one.descend
    one.descend = lambda start, clients, draws, step: drawn.append(draws) or descend(start, clients, draws, step)
    record = Record(tuple(name for name in METRICS if name not in ("objective_gap", "squared_distance")), 1, 2)
    setup = Setup(one, fedavg, Hyper(0.1, 1.0, 3), Bernoulli(np.ones(3)), AverageAll())
    Simulation(setup, one.start[None], 2, np.random.default_rng(0), record).advance()

    module, models = seeded(Two).to(kind), [one.start]
    for draws in drawn:
        moved = []
        for client in range(3):
            nn.utils.vector_to_parameters(models[-1].clone(), module.parameters())
            steps = torch.optim.SGD(module.parameters(), lr=0.1)
            for batch in draws[:, 0, client]:
                steps.zero_grad()
                cross_entropy(module(inputs[batch]), TARGETS[batch]).backward()
                steps.step()
            moved.append(nn.utils.parameters_to_vector(module.parameters()).detach() - models[-1])
        models.append(models[-1] + torch.stack(moved).sum(0) / 3)
    found, near = record.arrays(), 4 * torch.finfo(kind).eps
    for t, model in enumerate(models):
        exact = seeded(Two).double()
        nn.utils.vector_to_parameters(torch.from_numpy(found["model"][0, t]), exact.parameters())
        logits = exact(inputs.double())
        loss = cross_entropy(logits, TARGETS)
        loss.backward()
        square = sum(float((part.grad**2).sum()) for part in exact.parameters())
        np.testing.assert_allclose(found["model"][0, t], model.float(), atol=near)
        for name in ("train_loss", "client_loss", "objective"):  # clients have as many samples each
            assert found[name][0, t] == pytest.approx(loss.item(), rel=near)
        assert found["squared_gradient"][0, t] == pytest.approx(square, rel=4 * near)
        right = (logits[:9].argmax(1) == TARGETS[:9]).double().mean().item()
        assert found["test_accuracy"][0, t] == pytest.approx(right, abs=0.12)  # a tie may be rounded either way
    unknown = {"interval_divergence", "snapshot_probability"}  # before an interval has ended; no coin
    assert all(np.isfinite(values[:, 1]).all() for name, values in found.items() if name not in unknown)
