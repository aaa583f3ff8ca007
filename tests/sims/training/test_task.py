"""A network and its data as a problem: against autograd on the loss written out, and engines against each other."""

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli, UniformSubset
from sims.algorithms.fedavg import Hyper, fedavg
from sims.algorithms.protocol import Cohort, Work
from sims.algorithms.scaffold import Hyper as ScaffoldHyper
from sims.algorithms.scaffold import scaffold
from sims.problems.local import local_update
from sims.rounds import Setup, Simulation
from sims.weighting import AverageParticipating

torch = pytest.importorskip("torch", reason="needs the training extra")
from sims.training.engines import ENGINES  # noqa: E402
from sims.training.models import make  # noqa: E402
from sims.training.task import Task  # noqa: E402

pytestmark = pytest.mark.torch

N = 6


def data(shape, n=60, classes=4):
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn((n, *shape), generator=generator, dtype=torch.float64)
    return inputs, torch.randint(0, classes, (n,), generator=generator)


def parts(n=60):
    """Clients of 1, 2, 3, ... samples; the last has the rest."""
    cuts = np.cumsum(np.arange(1, N))
    return np.split(np.random.default_rng(0).permutation(n), cuts)


CASES = {
    "layered": ("mlp", {"widths": [5, 7, 6, 4]}, (5,)),
    "linear": ("logistic", {"d": 5, "classes": 4}, (5,)),
    "cnn": ("fedau-fashion", {"size": 8, "classes": 4}, (1, 8, 8)),
    "dropout": ("fedau-cifar100", {"size": 8, "classes": 4}, (3, 8, 8)),
}


def task(case="layered", **options):
    name, parameters, shape = CASES[case]
    return Task(make(name, **parameters).double(), *data(shape), parts(), **{"batch": 3, **options})


def loss(task, client, model):
    own = torch.from_numpy(task.sampler.of(client))
    logits = torch.func.functional_call(task.module, task.layout.named(model), (task.inputs[own],))
    return torch.nn.functional.cross_entropy(logits, task.targets[own])


def everybody(task):
    return Cohort(torch.arange(N)[None], torch.ones((1, N), dtype=torch.bool), N)


@pytest.mark.parametrize("case", CASES)
def test_exact_gradients_are_those_of_the_loss(case):
    one = task(case, weight_decay=0.1)
    models = one.start + 0.1 * torch.randn((1, N, one.dimension), generator=torch.Generator().manual_seed(1)).double()
    found = one.gradient(models, torch.arange(N)[None])[0]
    for client in range(N):
        model = models[0, client].clone().requires_grad_()
        (expected,) = torch.autograd.grad(loss(one, client, model) + 0.05 * (model**2).sum(), model)
        torch.testing.assert_close(found[client], expected, rtol=1e-10, atol=1e-12)


def test_the_objective_is_the_plain_mean_of_the_clients():
    one = task(weight_decay=0.1)
    expected = sum(loss(one, client, one.start) for client in range(N)) / N + 0.05 * (one.start**2).sum()
    torch.testing.assert_close(one.objective(one.start[None])[0], expected, rtol=1e-12, atol=0)


def updates(one, *, steps=3, **work):
    cohort = everybody(one)
    asked = Work(one.start[None], steps, 0.2, **work)
    return local_update(one, asked, cohort, one.draw(np.random.default_rng(7), cohort, asked))


CROPS = {"augmentation": "crop-flip", "per_image": True}


@pytest.mark.parametrize(
    ("case", "options"),
    [
        *((case, {}) for case in CASES),
        *((case, CROPS | {"per_image": per_image}) for case in ("cnn", "dropout") for per_image in (True, False)),
        *((case, {"replacement": False}) for case in CASES),
    ],
)
def test_engines_agree(case, options):
    reference = updates(task(case, engine="sequential", weight_decay=0.1, **options)).delta
    assert float(reference.abs().max()) > 1e-3
    for engine in ENGINES if case in ("layered", "linear") else ("vmap",):
        found = updates(task(case, engine=engine, weight_decay=0.1, **options)).delta
        torch.testing.assert_close(found, reference, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("extra", [{"proximal": 0.3}, {"correction": True}, {"direction": True}, {"gradient_at": True}])
def test_the_way_of_plain_steps_and_groups_change_nothing(extra):
    """In place or gradient after gradient, all clients at once or two by two."""
    one = task()
    work = dict(extra)
    if "correction" in work:
        work["correction"] = torch.linspace(-1, 1, N * one.dimension, dtype=torch.float64).reshape(1, N, -1)
    for name in ("direction", "gradient_at"):
        if name in work:
            work[name] = one.start[None] + 1
    expected = updates(one, **work, batch=2)
    one.descend = None
    slow = updates(one, **work, batch=2)
    one.slots_at_once = 4
    grouped = updates(one, **work, batch=2)
    for found in (slow, grouped):
        torch.testing.assert_close(found.delta, expected.delta, rtol=1e-10, atol=1e-12)
        if expected.gradient is not None:
            torch.testing.assert_close(found.gradient, expected.gradient, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("engine", ["layered", "sequential", "vmap"])
@pytest.mark.parametrize("at_once", [None, 1, 2])
def test_divided_work_comes_out_as_if_all_did_all_of_it(engine, at_once):
    one = task(engine=engine)
    one.slots_at_once = at_once
    stepping = torch.arange(N)[None] % 3 == 1
    for extra in ({}, {"direction": one.start[None] + 1}):
        whole = updates(one, gradient_at=one.start[None], batch=2, **extra)
        asked = {"gradient_at": one.start[None], "steps_by": stepping, "gradient_by": ~stepping}
        found = updates(one, batch=2, **asked, **extra)
        torch.testing.assert_close(found.delta[stepping], whole.delta[stepping], rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(found.gradient[~stepping], whole.gradient[~stepping], rtol=1e-10, atol=1e-12)


def test_dropout_masks_are_drawn_from_the_stream_of_the_run():
    one = task("dropout")
    torch.manual_seed(0)
    first = updates(one).delta
    torch.manual_seed(1)
    assert torch.equal(updates(one).delta, first)
    cohort = everybody(one)
    asked = Work(one.start[None], 1, 0.2)
    draws = [one.draw(np.random.default_rng(seed), cohort, asked).steps for seed in (1, 2)]
    masks = [one._batch(draw[0, 0])[2] for draw in draws]
    assert not torch.equal(masks[0][0], masks[1][0])
    assert set(masks[0][0].unique().tolist()) == {0.0, 1.25}


@pytest.mark.parametrize("engine", ["layered", "sequential", "vmap"])
def test_an_engine_gives_the_same_bits_again_and_through_a_checkpoint(engine):
    def run(until):
        one = task(engine=engine)
        setup = Setup(one, fedavg, Hyper(0.1, 1, 2), Bernoulli(np.full(N, 0.5)), AverageParticipating(), dropout=0.2)
        return Simulation(setup, one.start[None], 8, np.random.default_rng(5)), until

    unbroken, _ = run(8)
    unbroken.advance()
    half, _ = run(4)
    half.advance(4)
    resumed, _ = run(8)
    resumed.load_state_dict(half.state_dict())
    resumed.advance()
    assert torch.equal(unbroken.state.linear["x"], resumed.state.linear["x"])


def test_memories_train_too():
    one = task()
    setup = Setup(one, scaffold, ScaffoldHyper(0.1, 1, 2), UniformSubset(N, 3))
    simulation = Simulation(setup, one.start[None], 30, np.random.default_rng(0))
    before = float(one.objective(one.start[None])[0])
    simulation.advance()
    assert float(one.objective(simulation.state.linear["x"])[0]) < before - 0.1
    assert simulation.state.linear["x"].dtype == torch.float64


def test_bad_input_is_one_sentence():
    module, (inputs, targets) = make("mlp", widths=[5, 4]).double(), data((5,))
    with pytest.raises(InputError, match="module must be one without buffers"):
        Task(torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.BatchNorm1d(4)), inputs, targets, parts())
    with pytest.raises(InputError, match="one with dropout of sims"):
        Task(torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Dropout()), inputs, targets, parts())
    with pytest.raises(InputError, match="parts must be samples for every client"):
        Task(module, inputs, targets, [np.arange(5), np.arange(0)])
    with pytest.raises(InputError, match="indices of the 60 samples"):
        Task(module, inputs, targets, [np.arange(70)])
    with pytest.raises(InputError, match="targets must be one class for each"):
        Task(module, inputs, targets[:5], parts())
    with pytest.raises(InputError, match="device must be one that is there"):
        Task(module, inputs, targets, parts(), device="cuda")
    with pytest.raises(InputError, match="engine must be one of auto, layered"):
        Task(module, inputs, targets, parts(), engine="vmpa")
    with pytest.raises(InputError, match="no chain of linear layers"):
        Task(make("fedau-fashion").double(), torch.zeros(60, 1, 28, 28).double(), targets, parts(), engine="layered")


class Draws(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(5, 4)

    def forward(self, x):
        return torch.nn.functional.dropout(self.linear(x), 0.5, self.training)


class Counts(torch.nn.Linear):
    """Remembers how often it was called, outside its buffers."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x) * self.calls


class Nothing(torch.nn.Module):
    """Its parameter has no numbers."""

    def __init__(self):
        super().__init__()
        self.none = torch.nn.Parameter(torch.zeros(0))

    def forward(self, x):
        return x[:, :4] + self.none.sum()


def frozen():
    module = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 4))
    module[0].weight.requires_grad_(False)
    return module


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.LSTM(1, 4, 2, dropout=0.5, batch_first=True)

    def forward(self, x):
        return self.inner(x[..., None])[0][:, -1]


@pytest.mark.parametrize(
    ("make_it", "sentence"),
    [
        (Draws, "draws no random numbers"),
        (Recurrent, "draws no random numbers"),
        (lambda: Counts(5, 4), "gives the same again .it counts its calls, .*; got 'Counts'"),
        (frozen, "all of them trained"),
        (torch.nn.Identity, "with parameters"),
        (Nothing, "with parameters"),
        (lambda: torch.nn.Sequential(torch.nn.Linear(5, 4), BY_BATCH), "treats each sample by itself"),
        (lambda: torch.nn.Linear(6, 4), r"one for inputs \(3, 5\) of float64, samples of shape \(5,\)"),
        (lambda: torch.nn.Linear(5, 3), "logits .* for 4 classes"),
    ],
)
def test_what_cannot_be_trained_is_refused(make_it, sentence):
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    module = make_it().double()
    with pytest.raises(InputError, match=sentence):
        Task(module, *data((5,)), parts())
    torch.manual_seed(5)
    assert torch.equal(torch.random.get_rng_state(), state)


def first(layer):
    return torch.nn.Sequential(layer, torch.nn.Linear(5, 4))


class Overwrites(torch.nn.Linear):
    """Past what torch counts."""

    def forward(self, x):
        x.data.mul_(2)
        return super().forward(x)


class Fails(torch.nn.Linear):
    """Where steps are made only."""

    def __init__(self, error):
        super().__init__(5, 4)
        self.error = error

    def forward(self, x):
        if torch.is_grad_enabled() and len(x) == 16:
            raise self.error
        return super().forward(x)


class Infinite(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x) * float("nan")


class Branches(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x) if float(x.sum()) else x


@pytest.mark.parametrize("non_negative", [False, True])
@pytest.mark.parametrize("make_it", [lambda: first(torch.nn.ReLU(inplace=True)), lambda: Overwrites(5, 4)])
def test_a_module_that_writes_to_its_input_is_refused_and_the_data_stay(make_it, non_negative):
    inputs, targets = data((5,))
    inputs = inputs.abs() if non_negative else inputs  # ReLU changes none of these
    before = inputs.clone()
    with pytest.raises(InputError, match=r"leaves its inputs as they are .*, which writes to its input"):
        Task(make_it().double(), inputs, targets, parts(), test=(inputs, targets))
    assert torch.equal(inputs, before)


@pytest.mark.parametrize(
    ("make_it", "options", "sentence"),
    [
        (
            lambda: Infinite(5, 4),
            {},
            "module must be one with finite logits at its start; got 'Infinite with nan among",
        ),
        (
            lambda: torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.BatchNorm1d(4)),
            {"batch": 1, "buffers": "average"},
            "module must be one that the engine 'sequential' can train with batches of 1 .*more than 1 value per chan",
        ),
        (lambda: Branches(5, 4), {"engine": "vmap"}, "module must be one that the engine 'vmap' can train"),
        (
            lambda: Fails(MemoryError("7 GiB")),
            {"engine": "sequential"},
            r"module must be one that memory holds with batches of 16 \(MemoryError: 7 GiB\)",
        ),
    ],
)
def test_the_true_cause_is_named_before_a_run(make_it, options, sentence):
    with pytest.raises(InputError, match=sentence):
        Task(make_it().double(), *data((5,)), parts(), **options)


class Detached(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x).detach()


class WithoutGradients(torch.nn.Linear):
    def forward(self, x):
        with torch.no_grad():
            return super().forward(x)


class PlainList(torch.nn.Linear):
    """What is trained stands in a list, which registers nothing; what is registered is not used."""

    def __init__(self, inputs, classes):
        super().__init__(inputs, classes)
        self.used = [torch.nn.Linear(inputs, classes).double()]

    def forward(self, x):
        return self.used[0](x)


@pytest.mark.parametrize("engine", ["sequential", "vmap"])
@pytest.mark.parametrize("make_it", [Detached, WithoutGradients, PlainList])
def test_logits_without_gradients_are_refused_by_every_engine(make_it, engine):
    with pytest.raises(InputError, match=f"one whose logits have gradients by its param.*got {make_it.__name__!r}"):
        Task(make_it(5, 4).double(), *data((5,)), parts(), engine=engine)


class Looked(torch.nn.Linear):
    def __init__(self, sparse):
        super().__init__(5, 4)
        self.table = torch.nn.Embedding(3, 4, sparse=sparse)

    def forward(self, x):
        return super().forward(x) + self.table((x[:, 0] > 0).long())


def test_sparse_gradients_are_refused():
    assert Task(Looked(sparse=False).double(), *data((5,)), parts())
    with pytest.raises(InputError, match=r"module must be one with dense gradients .*; got 'Looked'"):
        Task(Looked(sparse=True).double(), *data((5,)), parts())


class LookedUp(Looked):
    """Its own call makes the gradient sparse, not a layer."""

    def __init__(self):
        super().__init__(sparse=False)

    def forward(self, x):
        found = torch.nn.functional.embedding((x[:, 0] > 0).long(), self.table.weight, sparse=True)
        return torch.nn.Linear.forward(self, x) + found


@pytest.mark.parametrize("engine", ["sequential", "vmap"])
def test_sparse_gradients_of_no_layer_are_refused_by_every_engine(engine):
    with pytest.raises(InputError, match=r"module must be .*; got 'LookedUp'"):
        Task(LookedUp().double(), *data((5,)), parts(), engine=engine)


@pytest.mark.parametrize("kind", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_on_parameters_are_refused(kind):
    module = torch.nn.Sequential(torch.nn.Linear(5, 4)).double()
    hook = getattr(module[0].bias, kind)(lambda gradient: None)
    with pytest.raises(InputError, match=r"module must be one without hooks on its parameters .*got \['0.bias'\]"):
        Task(module, *data((5,)), parts())
    hook.remove()
    assert Task(module, *data((5,)), parts())


def test_augmentation_of_what_is_no_image_is_refused():
    module = torch.nn.Linear(5, 4).double()
    with pytest.raises(InputError, match=r"augmentation must be none for samples \(5,\), which .*; got 'crop'"):
        Task(module, *data((5,)), parts(), augmentation="crop")


class Unused(torch.nn.Linear):
    """A parameter that is not used, as in a module of which one head of two is trained."""

    def __init__(self):
        super().__init__(5, 4, dtype=torch.float64)
        self.other = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize("engine", ["sequential", "vmap"])
def test_a_parameter_that_is_not_used_has_gradient_zero_with_every_engine(engine):
    """But for weight decay, which is part of the loss: three steps of 0.2 leave (1 - 0.2 * 0.1)^3 of it."""
    one = Task(Unused(), *data((5,)), parts(), batch=3, weight_decay=0.1, engine=engine)
    assert one.layout.names[-1] == "other"
    assert one.gradient(one.start[None, None], torch.tensor([[0]]))[0, 0, -3:].tolist() == pytest.approx([0.1] * 3)
    assert updates(one).delta[0, :, -3:].numpy() == pytest.approx(0.98**3 - 1)


def test_samples_that_are_no_numbers_are_not_blamed_on_the_module():
    inputs, targets = data((5,))
    inputs[1, 2] = torch.nan
    with pytest.raises(InputError, match=r"inputs\[1\] must be of finite numbers; got nan"):
        Task(torch.nn.Linear(5, 4).double(), inputs, targets, parts())


BY_BATCH = torch.nn.BatchNorm1d(4, affine=False, track_running_stats=False)


def test_a_chain_with_hooks_is_not_taken_apart():
    """A hook changes what a layer gives; the layered engine would not see it."""
    module = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 4)).double()
    module[0].register_forward_hook(lambda layer, inputs, output: output * 2)
    one = Task(module, *data((5,)), parts())
    assert one.engine.name == "sequential"
    model = one.start.clone().requires_grad_()
    (expected,) = torch.autograd.grad(loss(one, 0, model), model)
    torch.testing.assert_close(one.gradient(one.start[None, None], torch.tensor([[0]]))[0, 0], expected)


def test_classes_are_checked():
    module, (inputs, targets) = make("logistic", d=5, classes=4).double(), data((5,))
    for bad in (targets - 100, targets.double(), targets > 1):
        with pytest.raises(InputError, match="targets must be whole numbers of at least 0"):
            Task(module, inputs, bad, parts())
    with pytest.raises(InputError, match="test must be one class for each of the 60 inputs"):
        Task(module, inputs, targets, parts(), test=(inputs, targets[:5]))
