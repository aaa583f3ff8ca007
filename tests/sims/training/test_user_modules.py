"""Modules as users write them: trained as the usual loop trains them, or refused in one sentence.

The reference is the module itself with the model written into its parameters, and `backward`.
"""

import copy
import functools
import re
import threading
from pathlib import Path
from types import MethodType

import numpy as np
import pytest

from fltheory.errors import InputError

torch = pytest.importorskip("torch", reason="needs the training extra")
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy, embedding, linear  # noqa: E402
from torch.nn.utils import parameters_to_vector, prune, vector_to_parameters  # noqa: E402
from torch.utils.checkpoint import checkpoint, checkpoint_sequential  # noqa: E402

from sims.training import accepted, models, problem  # noqa: E402
from sims.training.outline import outline  # noqa: E402
from sims.training.task import Task  # noqa: E402

pytestmark = pytest.mark.torch

FEATURES, CLASSES, SAMPLES = 6, 3, 24
GENERATOR = torch.Generator().manual_seed(3)
INPUTS = torch.randn((SAMPLES, FEATURES), generator=GENERATOR, dtype=torch.float64)
TOKENS = torch.randint(0, 5, (SAMPLES, 4), generator=GENERATOR)
TARGETS = torch.randint(0, CLASSES, (SAMPLES,), generator=GENERATOR)
PARTS = np.split(np.arange(SAMPLES), 3)
PARTS_OF_ONE = PARTS[0]


def chain():
    return nn.Sequential(nn.Linear(FEATURES, 5), nn.ReLU(), nn.Linear(5, CLASSES))


def bias_first():
    """As pruning leaves it once it is made permanent, and as do weight and spectral normalisation."""
    module = chain()
    prune.l1_unstructured(module[0], "weight", 0.5)
    prune.remove(module[0], "weight")
    return module


def other_sizes():
    """Layers that were made for 5 hidden units, and have 4."""
    module = chain()
    module[0].weight, module[0].bias = nn.Parameter(torch.randn(4, FEATURES)), nn.Parameter(torch.randn(4))
    module[2].weight = nn.Parameter(torch.randn(CLASSES, 4))
    return module


def own_call():
    module = chain()
    module[0]._call_impl = MethodType(lambda layer, x: 2 * nn.Linear.forward(layer, x), module[0])
    return module


def call_from_outside():
    module = chain()
    module[0]._call_impl = lambda x: 2 * nn.Linear.forward(module[0], x)
    return module


class Tripled(nn.Parameter):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is linear:
            args = (args[0], 3 * args[1].as_subclass(torch.Tensor), *args[2:])
        return super().__torch_function__(function, types, args, kwargs or {})


def own_parameter():
    module = chain()
    module[0].weight = Tripled(module[0].weight.detach().clone())
    return module


def used_twice():
    layer = nn.Linear(FEATURES, FEATURES)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Tanh(), nn.Linear(FEATURES, CLASSES))


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(FEATURES, 5), nn.Linear(5, CLASSES)


class Recomputed(Two):
    """A closure, which is called again in the backward pass."""

    reentrant = False

    def forward(self, x):
        x = x.clone().requires_grad_() if self.reentrant else x
        hidden = checkpoint(lambda given: torch.tanh(self.first(given)), x, use_reentrant=self.reentrant)
        return self.last(hidden)


class Reentrant(Recomputed):
    reentrant = True


class InSegments(nn.Sequential):
    def forward(self, x):
        return checkpoint_sequential(nn.Sequential(*self), 2, x, use_reentrant=False)


class Aliased(Two):
    """Its parameters stand in a tuple and a list, too, from which they are taken."""

    def __init__(self):
        super().__init__()
        self.weights, self.biases = (self.first.weight, self.last.weight), [self.last.bias]

    def forward(self, x):
        return linear(torch.relu(linear(x, self.weights[0], self.first.bias)), self.weights[1], self.biases[0])


class Viewed(nn.Linear):
    """Uses a view of its weight, which keeps the memory of the start."""

    def __init__(self):
        super().__init__(FEATURES, CLASSES, dtype=torch.float64)
        self.transposed = self.weight.detach().T

    def forward(self, x):
        return super().forward(x) + x @ self.transposed


TRAINED = {
    "bias first": bias_first,
    "other sizes": other_sizes,
    "own call": own_call,
    "own parameter": own_parameter,
    "used twice": used_twice,
    "recomputed": Recomputed,
    "reentrant": Reentrant,
    "in segments": lambda: InSegments(nn.Linear(FEATURES, 5), nn.Tanh(), nn.Linear(5, CLASSES)),
    "aliased": Aliased,
}
BY_ALL = ("bias first", "other sizes", "used twice")  # also by vmap


def seeded(make):
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return make().double()


def task(module, inputs=INPUTS, targets=TARGETS, parts=PARTS, **options):
    return Task(module, inputs, targets, parts, batch=4, **options)


def by_the_usual_loop(make, model):
    """The loss of client 0 at a model (d,), and its gradient."""
    module = seeded(make)
    with torch.no_grad():
        vector_to_parameters(model, module.parameters())
    loss = cross_entropy(module(INPUTS[PARTS_OF_ONE]), TARGETS[PARTS_OF_ONE])
    loss.backward()
    return loss.detach(), parameters_to_vector([parameter.grad for parameter in module.parameters()])


@pytest.mark.parametrize(
    ("case", "engine"), [*((case, "auto") for case in TRAINED), *((case, "vmap") for case in BY_ALL)]
)
def test_gradients_and_losses_are_those_of_the_usual_loop(case, engine):
    one = task(seeded(TRAINED[case]), engine=engine)
    model = one.start + 0.3 * torch.randn(one.dimension, generator=torch.Generator().manual_seed(1)).double()
    loss, gradient = by_the_usual_loop(TRAINED[case], model)
    assert float(gradient.abs().max()) > 1e-2
    found = one.gradient(model[None, None], torch.tensor([[0]]))[0, 0]
    torch.testing.assert_close(found, gradient, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(one.losses(model)[0][PARTS_OF_ONE].mean(), loss)


@pytest.mark.parametrize("case", ["bias first", "other sizes"])
def test_chains_whose_layers_were_changed_are_batched_all_the_same(case):
    assert task(seeded(TRAINED[case])).engine.name == "layered"


@pytest.mark.parametrize("engine", ["sequential", "vmap"])
def test_a_module_is_left_as_it_was(engine):
    """Its parameters and what stood in their `grad`."""
    module = seeded(used_twice)
    before = copy.deepcopy(module.state_dict())
    for parameter in module.parameters():
        parameter.grad = torch.ones_like(parameter)
    held = list(module.parameters())
    one = task(module, engine=engine)
    one.descend(one.start[None, None] + 1, torch.tensor([[0]]), torch.zeros((2, 1, 1, 4), dtype=torch.int64), 0.1)
    one.losses(one.start + 1)
    assert [id(parameter) for parameter in module.parameters()] == [id(parameter) for parameter in held]
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(torch.equal(parameter.grad, torch.ones_like(parameter)) for parameter in held)


class Scaled(nn.Linear):
    """Takes no scale below 0."""

    def __init__(self):
        super().__init__(FEATURES, CLASSES)
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        if not torch.is_grad_enabled() or bool((self.scale > 0).all()):
            return super().forward(x) * self.scale.mean()
        raise ValueError("scale below 0")


def test_the_example_of_the_page_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", Path("docs/training.md").read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(code, names)
    assert capsys.readouterr().out.startswith("[  0  10")
    losses = names["record"].arrays()["train_loss"][0]
    assert len(losses) == 11
    assert np.isfinite(losses).all()


def test_a_module_that_does_not_take_just_any_numbers_is_trained():
    assert task(seeded(Scaled)).engine.name == "sequential"


@pytest.mark.parametrize("engine", ["sequential", "vmap"])
def test_a_module_that_holds_views_of_its_parameters_is_refused(engine):
    with pytest.raises(InputError, match=r"module must be one that uses its parameters as they stand .*; got 'Viewed'"):
        task(seeded(Viewed), engine=engine)


@pytest.mark.parametrize("engine", ["auto", "vmap"])
def test_a_function_that_would_hold_the_parameters_of_the_original_is_refused(engine):
    with pytest.raises(InputError, match=r"one whose passes read its layers, tensors and arrays by self alone"):
        task(seeded(call_from_outside), engine=engine)


def test_the_way_out_of_a_parameter_of_a_class_of_its_own_is_named():
    with pytest.raises(InputError, match=r"one whose gradients the engine 'vmap' finds, .*plain parameters"):
        task(seeded(own_parameter), engine="vmap")


class Words(nn.Module):
    """In an embedding, or by a call of its own, it brings the vectors of its words to a norm of at most 0.1."""

    def __init__(self, by_layer):
        super().__init__()
        self.by_layer, self.last = by_layer, nn.Linear(4, CLASSES)
        self.table = nn.Embedding(5, 4, max_norm=0.1 if by_layer else None)

    def forward(self, x):
        words = self.table(x) if self.by_layer else embedding(x, self.table.weight, max_norm=0.1)
        return self.last(words.mean(1))


@pytest.mark.parametrize("by_layer", [True, False])
def test_a_module_that_writes_to_its_parameters_is_refused_and_stays(by_layer):
    module = seeded(lambda: Words(by_layer))
    before = module.table.weight.detach().clone()
    with pytest.raises(InputError, match=r"module must be one that leaves its parameters as they are .*Words"):
        task(module, TOKENS)
    assert torch.equal(module.table.weight, before)


def test_a_lazy_module_is_refused(monkeypatch):
    sentence = r"module must be one whose parameters have shapes .*; got \['0.weight', '0.bias'\]"
    with pytest.raises(InputError, match=sentence):
        task(nn.Sequential(nn.LazyLinear(CLASSES)).double())
    monkeypatch.setattr(models, "make", lambda *_, **__: nn.Sequential(nn.Flatten(), nn.LazyLinear(10)))
    monkeypatch.setattr(problem, "_implied", lambda *_: {})
    with pytest.raises(InputError, match="module must be one whose parameters have shapes"):
        outline("digits", "lazy", {"name": "iid", "n_clients": 3})


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        ((INPUTS[:2], torch.tensor([0, 3])), "test must be classes below 3, of which the module has logits; got 3"),
        ((INPUTS[:2, :4], TARGETS[:2]), r"module must be one for test inputs \(2, 4\) of float64"),
        ((INPUTS[:2] * torch.nan, TARGETS[:2]), r"test inputs\[0\] must be of finite numbers; got nan"),
        ((INPUTS[:2].float(), TARGETS[:2]), r"module must be one for test inputs \(2, 6\) of float32"),
    ],
)
def test_test_data_that_the_module_cannot_be_tested_on_are_refused(test, sentence):
    with pytest.raises(InputError, match=sentence):
        task(seeded(chain), test=test)


@pytest.mark.parametrize("place", [0, 20, 23])
@pytest.mark.parametrize("what", ["inputs", "test inputs"])
def test_the_first_sample_with_no_number_is_named_wherever_it_is(what, place, monkeypatch):
    monkeypatch.setattr(accepted, "LOOKED_AT", 7 * FEATURES)
    bad = INPUTS.clone()
    bad[place, 2], bad[23, 0] = torch.inf, torch.nan
    with pytest.raises(InputError, match=rf"^{what}\[{place}\] must be of finite numbers; got"):
        task(seeded(chain), **({"inputs": bad} if what == "inputs" else {"test": (bad, TARGETS)}))


def test_large_numbers_whose_sum_is_infinite_are_numbers():
    accepted._require_finite("inputs", torch.full((5, 3), 3e38))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"module": nn.Linear}, "module must be a torch.nn.Module, made and not only its class; got <class"),
        ({"inputs": INPUTS.numpy()}, r"inputs must be a tensor \(torch.as_tensor makes one .*\); got 'ndarray'"),
        ({"inputs": INPUTS.to_sparse()}, "inputs must be dense, with a row for each sample; got 'sparse_coo of shape"),
        ({"inputs": INPUTS[0, 0]}, "inputs must be dense, with a row for each sample; got 'strided of shape"),
        ({"targets": TARGETS.tolist()}, r"targets must be a tensor .*; got 'list'"),
        ({"test": (INPUTS.numpy(), TARGETS)}, r"test inputs must be a tensor .*; got 'ndarray'"),
        ({"test": INPUTS}, "test must be a pair of inputs and classes; got tensor"),
        ({"test": (INPUTS, TARGETS, TARGETS)}, "test must be a pair of inputs and classes; got"),
        ({"parts": np.arange(SAMPLES)[:, None, None]}, r"shape of parts\[0\] must be \(n,\): for each client one row"),
        ({"parts": [*PARTS[:2], PARTS[2][:, None]]}, r"shape of parts\[2\] must be .*; got \(8, 1\)"),
        ({"parts": np.arange(SAMPLES)}, r"shape of parts\[0\] must be .*; got \(\)"),
        ({"parts": 3}, "parts must be for each client one row of the indices of its samples; got 3"),
        ({"parts": [[[0, 1], [2]], [3]]}, "parts must be for each client one row"),
    ],
)
def test_what_is_no_module_and_no_data_is_told_as_such(changed, sentence):
    given = {"module": seeded(chain), "inputs": INPUTS, "targets": TARGETS, "parts": PARTS}
    with pytest.raises(InputError, match=f"^{sentence}"):
        Task(**{**given, **changed})


def test_a_table_with_a_row_for_each_client_is_parts():
    assert task(seeded(chain), parts=np.arange(SAMPLES).reshape(3, 8)).n_clients == 3


@pytest.mark.parametrize("kind", [torch.int32, torch.uint8])
def test_classes_are_whole_numbers_of_any_type(kind):
    results = []
    for targets in (TARGETS, TARGETS.to(kind)):
        one = task(seeded(chain), targets=targets, test=(INPUTS, targets))
        found = one.evaluation(one.start[None])
        results.append((one.objective(one.start).item(), found.test_loss[0], found.client_test_accuracies.tolist()))
    assert results[0] == results[1]


def test_no_samples_and_parts_of_other_samples_are_refused():
    with pytest.raises(InputError, match=r"inputs must be some samples; got \(0, 6\)"):
        task(seeded(chain), INPUTS[:0], TARGETS[:0])
    with pytest.raises(InputError, match="parts must be indices of the 24 samples, counted from 0; got -1"):
        task(seeded(chain), parts=[np.array([3, -1, 23])])


class Rarely(Two):
    """Of so small a probability that hardly ever anything is seen of it."""

    def forward(self, x):
        return self.last(torch.tanh(nn.functional.dropout(self.first(x), 1e-9, training=True)))


class Clamped(nn.Linear):
    """Writes nothing new as long as its numbers are at least 0, as at its start."""

    def forward(self, x):
        with torch.no_grad():
            self.weight.clamp_(min=0)
        return super().forward(x)


def clamped():
    module = Clamped(FEATURES, CLASSES)
    module.weight = nn.Parameter(torch.rand(CLASSES, FEATURES))
    return module


def expanded():
    module = chain()
    module[2].bias = nn.Parameter(torch.zeros(1, dtype=torch.float64).expand(CLASSES))
    return module


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (Rarely, "draws no random numbers"),
        (clamped, "leaves its parameters as they are .*Clamped, which writes to"),
        (expanded, "memory for each of their numbers"),
    ],
    ids=["rare draws", "clamped", "expanded"],
)
def test_what_shows_at_no_start_is_refused_and_the_module_stays(make, sentence):
    module = seeded(make)
    before = copy.deepcopy(module.state_dict())
    with pytest.raises(InputError, match=sentence):
        task(module)
    assert all(torch.equal(before[name], part) for name, part in module.state_dict().items())


class Cached(nn.Linear):
    """Keeps what it made of its weight, and with it the graph of its first pass."""

    @functools.lru_cache  # noqa: B019
    def doubled(self):
        return 2 * self.weight

    def forward(self, x):
        return x @ self.doubled().T


class CachedBesideABias(Cached):
    def forward(self, x):
        return super().forward(x) + self.bias


@pytest.mark.parametrize("engine", ["auto", "sequential", "vmap"])
@pytest.mark.parametrize("kind", [Cached, CachedBesideABias])
def test_a_module_that_keeps_a_graph_of_an_earlier_pass_is_told_that(kind, engine):
    with pytest.raises(InputError, match=r"^module must be one that keeps nothing of earlier calls .*; got 'Cached"):
        task(kind(FEATURES, CLASSES).double(), engine=engine)


def test_dropout_that_drops_nothing_is_taken():
    task(nn.Sequential(*seeded(chain), nn.Dropout(0)))


def test_a_module_that_cannot_be_copied_is_told_why():
    module = nn.Sequential(nn.BatchNorm1d(FEATURES), *seeded(chain)).double()
    module.lock = threading.Lock()
    with pytest.raises(InputError, match=r"module must be one of which copy.deepcopy makes a copy .*lock"):
        task(module, buffers="keep")
