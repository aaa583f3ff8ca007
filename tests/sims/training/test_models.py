"""The models: their published sizes, and that engines may batch them over clients without changing a gradient."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest

from fltheory.errors import InputError
from sims.training.models import make, models, names
from sims.training.outline import outline

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.func import functional_call, grad, vmap  # noqa: E402

from sims.training.models import layers, plain  # noqa: E402

pytestmark = pytest.mark.torch


def _vectors(width, tokens=30):
    table = torch.randn((tokens, width), generator=torch.Generator().manual_seed(1))
    table[:2] = 0  # padding, and a word without a vector
    return table


COUNTS = [
    ("fedau-svhn", {}, 273_706),
    ("fedau-cifar10", {}, 551_786),
    ("fedau-fashion", {}, 211_690),
    ("fedau-cifar100", {}, 1_216_260),
    ("fedau-cinic10", {}, 1_193_130),
    ("amplified-cifar10", {}, 2_218_314),
    ("amplified-fashion", {}, 228_586),
    ("fedamd-lenet5", {}, 44_426),
    ("fedamd-mlp", {}, 79_510),
    ("fedlaavg-logistic", {}, 7_850),
    ("fedlaavg-lstm", {"vectors": _vectors(25)}, 4_945),
    ("fedlaavg-lstm", {"vectors": _vectors(50)}, 6_545),
    ("fedlaavg-lstm", {"vectors": _vectors(50), "classes": 3}, 6_562),
    ("fast-fashion", {}, 421_642),
    ("fast-cifar10", {}, 188_810),
    ("fast-char-lstm", {}, 819_920),
    ("logistic", {"d": 60, "classes": 10}, 610),
    ("mlp", {"widths": [784, 100, 10]}, 79_510),
]

# The same models at sizes that a test can afford, with the shape of one input.
SMALL = {
    "fedau-svhn": ({"size": 8}, (3, 8, 8)),
    "fedau-cifar10": ({"size": 8}, (3, 8, 8)),
    "fedau-fashion": ({"size": 8}, (1, 8, 8)),
    "fedau-cifar100": ({"size": 8}, (3, 8, 8)),
    "fedau-cinic10": ({"size": 8}, (3, 8, 8)),
    "amplified-cifar10": ({"size": 8}, (3, 8, 8)),
    "amplified-fashion": ({"size": 8}, (1, 8, 8)),
    "fedamd-lenet5": ({"size": 16}, (1, 16, 16)),
    "fedamd-mlp": ({"inputs": 64}, (1, 8, 8)),
    "fedlaavg-logistic": ({"inputs": 64}, (1, 8, 8)),
    "fedlaavg-lstm": ({"vectors": _vectors(50), "classes": 3}, 7),
    "fast-fashion": ({"size": 8}, (1, 8, 8)),
    "fast-cifar10": ({"size": 8}, (3, 8, 8)),
    "fast-char-lstm": ({"vocabulary": 30, "hidden": 12}, 7),
    "logistic": ({"d": 64, "classes": 10}, (64,)),
    "mlp": ({"widths": [64, 20, 20, 5]}, (1, 8, 8)),
}
DROPS = {"fedau-cifar100": [128, 512, 256], "fedau-cinic10": [128, 512, 256], "fast-char-lstm": [12]}


def _small(name):
    parameters, shape = SMALL[name]
    return make(name, seed=5, **parameters).double(), shape


def _inputs(shape, *lead):
    source = torch.Generator().manual_seed(2)
    if isinstance(shape, int):
        tokens = torch.randint(2, 30, (*lead, shape), generator=source)
        tokens[..., 1, shape - 3 :] = 0  # a short text among longer ones
        return tokens
    return torch.randn((*lead, *shape), generator=source, dtype=torch.float64)


def _masks(model, batch, *lead):
    source = torch.Generator().manual_seed(3)
    shapes = model.mask_shapes(batch)
    return layers.masks_from(
        model, [torch.rand((*lead, *shape), generator=source, dtype=torch.float64) for shape in shapes]
    )


@pytest.mark.parametrize(
    ("name", "parameters", "count"), COUNTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_parameter_counts_and_no_buffers(name, parameters, count):
    model = make(name, **parameters)
    assert sum(p.numel() for p in model.parameters()) == count
    assert not list(model.buffers())
    assert all(p.requires_grad and p.dtype == torch.float32 for p in model.parameters())


def test_every_model_of_ours_is_tested_here():
    ours = {name for name, factory in models().items() if factory.__module__.startswith("sims.")}
    assert ours == {name for name, _, _ in COUNTS} == set(SMALL)
    assert ours <= set(names())


def test_listing_the_names_needs_no_torch():
    code = "import sys, sims.training.models as m; sys.exit('torch' in sys.modules or 'mlp' not in m.names())"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", SMALL)
def test_gradients_batched_over_clients_equal_those_one_by_one(name):
    model, shape = _small(name)
    clients, batch = 3, 4
    source = torch.Generator().manual_seed(4)
    parameters = {
        key: value.detach() + 0.1 * torch.randn((clients, *value.shape), generator=source, dtype=torch.float64)
        for key, value in model.named_parameters()
    }
    x = _inputs(shape, clients, batch)
    classes = model(x[0]).shape[-1]
    y = torch.randint(0, classes, (clients, batch), generator=source)
    masks = _masks(model, batch, clients)

    def loss(w, x, y, masks):
        return nn.functional.cross_entropy(functional_call(model, w, (x, masks)), y)

    together = vmap(grad(loss))(parameters, x, y, masks)
    for client in range(clients):
        alone = copy.deepcopy(model)
        alone.load_state_dict({key: value[client] for key, value in parameters.items()})
        nn.functional.cross_entropy(alone(x[client], tuple(m[client] for m in masks)), y[client]).backward()
        for key, value in alone.named_parameters():
            torch.testing.assert_close(together[key][client], value.grad, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_masks_multiply_and_are_the_identity_when_absent(name):
    model, shape = _small(name)
    x = _inputs(shape, 4)
    shapes = model.mask_shapes(4)
    assert [s[1] for s in shapes] == DROPS.get(name, [])
    assert all(s[0] == 4 and len(s) == 2 for s in shapes)
    plainly = model(x)
    assert plainly.shape[0] == 4
    assert plainly.ndim == 2
    ones = tuple(torch.ones(s, dtype=torch.float64) for s in shapes)
    assert torch.equal(model(x, ones), plainly)
    assert torch.equal(model.train()(x), model.eval()(x))
    with pytest.raises(InputError, match="masks must be"):
        model(x, (*ones, torch.ones(1)))
    if shapes:
        zeros = tuple(torch.zeros_like(one) for one in ones)
        last = list(model.parameters())[-1]
        assert torch.equal(model(x, (*ones[:-1], zeros[-1])), last.expand(4, -1))
        one_dropped = ones[-1].clone()
        one_dropped[0, 0] = 0
        assert torch.equal(model(x, (*ones[:-1], one_dropped))[1:], plainly[1:])


def test_masks_from_uniforms_are_scaled_so_that_their_mean_is_one():
    model = make("fedau-cifar100", size=8)
    (mask, *_) = layers.masks_from(
        model, [torch.rand(5000, w, generator=torch.Generator().manual_seed(6)) for w in DROPS["fedau-cifar100"]]
    )
    assert set(mask.unique().tolist()) == {0.0, 1.25}
    assert model.drop_rates == (0.2, 0.2, 0.2)
    kept = (mask > 0).double().mean()
    assert abs(kept - 0.8) < 5 * (0.16 / mask.numel()) ** 0.5  # five standard errors
    edge = layers.masks_from(make("fast-char-lstm", dropout=0.5, hidden=2), [torch.tensor([0.0, 0.5])])
    assert edge[0].tolist() == [0.0, 2.0]
    with pytest.raises(InputError, match="uniforms must be 3 tensors"):
        layers.masks_from(model, [])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_lstm_is_torchs(depth):
    ours, theirs = layers.Lstm(5, 7, depth).double(), nn.LSTM(5, 7, depth, batch_first=True).double()
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(4, 6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    found, expected = ours(x), theirs(x)[0]
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-13)
    for a, b in zip(
        torch.autograd.grad(found.square().sum(), list(ours.parameters())),
        torch.autograd.grad(expected.square().sum(), list(theirs.parameters())),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-12)


def test_text_ends_at_its_last_token():
    model = make("fedlaavg-lstm", vectors=_vectors(25), classes=3).double()
    short = torch.tensor([[5, 1, 9]])
    padded = torch.tensor([[5, 1, 9, 0, 0], [0, 0, 0, 0, 0]])
    torch.testing.assert_close(model(padded)[:1], model(short), rtol=1e-12, atol=1e-14)
    assert model(padded)[:, 0].tolist() == [0, 0]  # the first class is the reference
    whole = make("fedlaavg-lstm", vectors=_vectors(25), padding=None).double()
    assert not torch.allclose(whole(padded)[:1], whole(short))


def test_frozen_vectors_follow_the_module_and_stay_out_of_its_state():
    vectors = _vectors(50)
    model = make("fedlaavg-lstm", vectors=vectors.numpy())
    assert not any("table" in key for key in model.state_dict())
    assert model.double().vectors.table.dtype == torch.float64
    assert model.to("meta").vectors.table.device.type == "meta"
    assert torch.equal(vectors, _vectors(50))


@pytest.mark.parametrize("name", [name for name in SMALL if name.startswith(("fedau", "amplified"))])
def test_kaiming_in_all_but_the_last_layer(name):
    model = make(name, seed=1)
    parts = [layer for layer in model.modules() if isinstance(layer, nn.Linear | nn.Conv2d)]
    for layer in parts[:-1]:
        fan_in = layer.weight[0].numel()
        assert not layer.bias.any()
        expected, n = (2 / fan_in) ** 0.5, layer.weight.numel()
        assert abs(layer.weight.std() / expected - 1) < 5 / (2 * n) ** 0.5  # five standard errors
        assert layer.weight.abs().max() > 2.5 * expected  # normal, not uniform
    bound = parts[-1].weight[0].numel() ** -0.5
    assert parts[-1].bias.any()
    assert parts[-1].weight.abs().max() <= bound


def test_a_seed_gives_the_same_model_and_touches_no_global_generator():
    before = torch.get_rng_state()
    one, same, other = (make("fedamd-mlp", seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    weights = [model[1].weight for model in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_chains_of_linear_and_relu_are_recognised():
    assert layers.layers_of(make("mlp", widths=[784, 100, 10])) == (784, 100, 10)
    assert layers.layers_of(make("fedamd-mlp")) == (784, 100, 10)
    assert layers.layers_of(make("fedlaavg-logistic")) == (784, 10)
    assert layers.layers_of(nn.Linear(4, 3)) == (4, 3)
    assert layers.layers_of(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))) == (4, 3, 2)


class _Scaled(nn.Sequential):
    def forward(self, x):
        return 2 * super().forward(x)


def _frozen():
    chain = plain.mlp([4, 3, 2])
    chain[1].bias.requires_grad_(False)
    return chain


def _shared():
    layer = nn.Linear(3, 3)
    return nn.Sequential(layer, nn.ReLU(), layer)


def _tied():
    chain = plain.mlp([3, 3, 3])
    chain[3].weight = chain[1].weight
    return chain


def _with(change):
    chain = plain.mlp([4, 3, 2])
    change(chain)
    return chain


def _replaced(chain):
    forward = chain[1].forward
    chain[1].forward = lambda x: 2 * forward(x)


@pytest.mark.parametrize(
    "build",
    [
        lambda: make("fedau-svhn", size=8),
        lambda: make("fast-char-lstm", hidden=4),
        nn.Sequential,
        lambda: nn.Sequential(nn.Flatten()),
        lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU()),
        lambda: nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)),
        lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)),
        lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(5, 2)),
        lambda: nn.Sequential(nn.Linear(4, 3, bias=False)),
        lambda: nn.Sequential(nn.Flatten(2), nn.Linear(4, 3)),
        lambda: layers.Chain(nn.Flatten(), *layers.dense((4, 3, 2), 0.1)),
        lambda: _Scaled(nn.Linear(4, 3)),
        _frozen,
        _shared,
        _tied,
        lambda: _with(lambda chain: chain[1].register_forward_hook(lambda layer, given, out: 2 * out)),
        lambda: _with(lambda chain: chain[3].register_forward_pre_hook(lambda layer, given: None)),
        lambda: _with(lambda chain: chain[3].register_full_backward_hook(lambda layer, given, out: None)),
        lambda: _with(lambda chain: chain.register_full_backward_pre_hook(lambda layer, out: None)),
        lambda: _with(_replaced),
        lambda: _with(lambda chain: nn.utils.parametrizations.weight_norm(chain[1])),
    ],
)
def test_anything_else_is_no_such_chain(build):
    assert layers.layers_of(build()) is None


@pytest.mark.parametrize(
    "register",
    [
        nn.modules.module.register_module_forward_hook,
        nn.modules.module.register_module_forward_pre_hook,
        nn.modules.module.register_module_full_backward_hook,
        nn.modules.module.register_module_full_backward_pre_hook,
    ],
)
def test_no_chain_is_taken_apart_while_there_are_hooks_on_all_modules(register):
    chain = plain.mlp([4, 3, 2])
    hook = register(lambda *seen: None)
    try:
        assert layers.layers_of(chain) is None
    finally:
        hook.remove()
    assert layers.layers_of(chain) == (4, 3, 2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make("fedau-cifar1"), "model must be one of .*did you mean fedau-cifar10"),
        (lambda: make("mlp", width=[3, 2]), "model mlp must be given by widths"),
        (lambda: make("mlp", widths=[3]), "widths must be a list of at least two whole numbers"),
        (lambda: make("mlp", widths=[3, 0]), "widths must be a whole number"),
        (lambda: make("logistic", d=3, classes=1), "classes must be a whole number of at least 2"),
        (lambda: make("fedau-svhn", size=3), "size must be large enough"),
        (lambda: make("fedamd-lenet5", size=8), "size must be large enough"),
        (lambda: make("fast-char-lstm", dropout=1), r"dropout must be a number in \[0, 1\)"),
        (lambda: make("fedlaavg-lstm"), "model fedlaavg-lstm must be given by vectors"),
        (lambda: make("fedlaavg-lstm", vectors="glove"), "vectors must be an array"),
        (lambda: make("fedlaavg-lstm", vectors=[1.0, 2.0]), "vectors must be an array"),
        (lambda: make("fedlaavg-lstm", vectors=[[float("nan")]]), "vectors must be an array"),
        (lambda: make("fedlaavg-lstm", vectors=[[1.0]], padding=1), "padding must be one of the 1 tokens"),
        (lambda: make("mlp", widths=[3, 2], seed=-1), "seed must be"),
    ],
)
def test_bad_input_is_named(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


@pytest.mark.parametrize("first", ["outlined", "made"])
def test_a_factory_that_gives_one_module_twice_is_named(monkeypatch, first):
    known = []

    def factory(d, classes):
        known[:] = known or [nn.Linear(d, classes)]
        return known[0]

    monkeypatch.setattr("sims.training.models.factory", lambda name: factory)
    with torch.device("meta" if first == "outlined" else "cpu"):
        make("mine", d=4, classes=3)
    sentence = "^model mine must be a factory that makes a new module at each call; got 'one of an earlier call'$"
    with pytest.raises(InputError, match=sentence):
        make("mine", d=4, classes=3)


def test_a_model_that_the_data_determine_takes_no_key():
    pytest.importorskip("sklearn", reason="needs the training extra")
    sentence = (
        r"^key of model logistic must be left out: the data give what this model has \(d, classes\); got 'widht'$"
    )
    with pytest.raises(InputError, match=sentence):
        outline("digits", {"name": "logistic", "widht": 3}, {"name": "iid", "n_clients": 3})
