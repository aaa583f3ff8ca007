"""A task has a copy of a module, and every run begins with it as it came."""

import copy
import types
import warnings
import weakref
from collections import defaultdict, deque

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from sims.algorithms.fedavg import Hyper, fedavg
from sims.divergence import Stopped
from sims.rounds import Setup, Simulation
from sims.weighting import AverageParticipating

torch = pytest.importorskip("torch", reason="needs the training extra")
from torch import nn  # noqa: E402

from tests.sims.training.test_faults import CLASSES, FEATURES, INPUTS, TARGETS, Two, task, trained  # noqa: E402

pytestmark = pytest.mark.torch


def _hooked(self, x):
    handle = self.first.register_forward_hook(lambda m, i, o: 0.5 * o)  # for this pass, if it comes to its end
    found = Two.forward(self, x)
    if float(self.last.weight.detach().norm()) > self.far:
        raise ValueError("too far")
    handle.remove()
    return found


def _without_a_bias(self, x):
    if float(self.last.weight.detach().norm()) > self.far:
        del self.last.bias
    return Two.forward(self, x)


@pytest.mark.parametrize("forward", [_hooked, _without_a_bias])
def test_a_module_that_ended_one_run_is_whole_in_the_next(forward):
    """All runs of a task have one module."""
    module = type("Mine", (Two,), {"forward": forward})()
    module.far = 1.2 * float(module.last.weight.detach().norm())
    one = task(module)
    before = trained(one, rounds=1)
    with pytest.raises(Stopped, match=r"round \d+: "):
        trained(one, rounds=500)
    assert torch.equal(trained(one, rounds=1), before)


class Remembers(Two):
    """Has other outputs for good once it has been far away."""

    far, been = torch.inf, False

    def forward(self, x):
        self.been = self.been or float(self.last.weight.detach().norm()) > self.far
        return (2 if self.been else 1) * super().forward(x)


def test_a_run_begins_with_the_module_as_it_came():
    module = Remembers()
    module.far = 2 * float(module.last.weight.detach().norm())
    one = task(module)
    before = trained(one, rounds=1)
    trained(one, rounds=1000)
    assert one.module.been
    assert not module.been
    assert torch.equal(trained(one, rounds=1), before)


class Tables(Two):
    """Has other outputs for good once it has been far away, as it notes in a table within a table."""

    def __init__(self):
        super().__init__()
        self.notes = {"been": deque([False])}

    def forward(self, x):
        self.notes["been"].append(float(self.last.weight.detach().norm()) > 1.5)
        return (2 if any(self.notes["been"]) else 1) * super().forward(x)


def test_tables_of_tables_are_put_back():
    torch.manual_seed(0)
    one = task(Tables())
    before = trained(one, rounds=1)
    trained(one, rounds=200)
    assert any(one.module.notes["been"])
    assert torch.equal(trained(one, rounds=1), before)


def test_a_task_has_a_copy_of_the_module():
    """What its owner does with the module changes no run, and no run changes the module."""
    module = nn.Sequential(nn.Linear(FEATURES, 5), nn.BatchNorm1d(5), nn.Linear(5, CLASSES))
    first = task(module, buffers="keep")
    expected = trained(first)
    assert module.training
    with torch.no_grad():
        module[1].running_mean += 2
        module[0].weight.zero_()
    module[0].weight.register_hook(lambda gradient: 0 * gradient)
    calls = []
    module[0].register_forward_hook(lambda *_: calls.append(1))
    before = {name: part.clone() for name, part in module.state_dict().items()}
    assert torch.equal(trained(first), expected)
    assert not calls
    assert all(torch.equal(part, before[name]) for name, part in module.state_dict().items())
    assert module[0].weight._backward_hooks


class Marked(Two):
    """Multiplies by what a parameter is told to remember."""

    def forward(self, x):
        return self.last.weight.factor * super().forward(x)


def test_attributes_of_parameters_are_copied():
    module = Marked()
    module.last.weight.factor = torch.tensor(2.0)
    one = task(module)
    module.last.weight.factor.zero_()
    assert one.module.last.weight.factor == 2
    assert not torch.equal(trained(one), one.start)
    module.last.weight.factor = module.last.bias
    own = task(module).module
    assert own.last.weight.factor is own.last.bias


def test_a_task_is_not_copied():
    with pytest.raises(InputError, match=r"^copy\.deepcopy must be of its module, for another task"):
        copy.deepcopy(task(Two()))


def test_two_tasks_of_one_module_run_in_turns():
    module = nn.Sequential(nn.Linear(FEATURES, 5), nn.BatchNorm1d(5), nn.Linear(5, CLASSES))
    one = task(module, buffers="keep")
    module[1].running_mean += 2
    other = task(module, buffers="keep")
    setups = [Setup(t, fedavg, Hyper(0.1, 1, 3), Bernoulli(np.ones(3)), AverageParticipating()) for t in (one, other)]
    runs = [Simulation(setup, setup.problem.start[None], 8, np.random.default_rng(3)) for setup in setups]
    for until in range(1, 9):
        for simulation in runs:
            simulation.advance(until)
    for simulation, alone in zip(runs, (one, other), strict=True):
        assert torch.equal(simulation.state.linear["x"], trained(alone))
    assert not torch.equal(runs[0].state.linear["x"], runs[1].state.linear["x"])


class Factor(Two):
    """Multiplies its outputs by `factor`, which it has in an attribute, too."""

    def __init__(self):
        super().__init__()
        self.factor = torch.tensor(2.0)
        self.post = lambda logits: logits

    def forward(self, x):
        return self.post(super().forward(x))


def by_its_mode(module):
    module.post = lambda logits: logits if module.training else 0.5 * logits


def by_a_hook(module):
    module.first.register_forward_hook(lambda layer, inputs, out: out if module.training else 3 * out)


def by_a_weak_reference(module):
    parent = weakref.ref(module)
    module.post = lambda logits: parent().factor * logits


class Slotted:
    __slots__ = ("post",)

    def __init__(self, post):
        self.post = post

    def __call__(self, logits):
        return self.post(logits)


def by_a_builtin_method(module):
    module.post = module.factor.mul


def by_a_slot(module):
    factor = module.factor
    module.post = Slotted(lambda logits: factor * logits)


def by_the_default_of_a_table(module):
    factor = module.factor
    table = defaultdict(lambda: factor)
    module.post = Slotted(lambda logits: table["any"] * logits)


def by_an_array(module):
    array = module.array = np.full(1, 2.0)
    module.post = lambda logits: float(array[0]) * logits


def by_an_object(module):
    module.box = type("Box", (), {})()
    module.box.factor = torch.tensor(2.0)
    factor = module.box.factor
    module.post = lambda logits: factor * logits


def by_what_a_parameter_remembers(module):
    mask = module.first.weight.mask = torch.tensor(2.0)
    module.post = lambda logits: mask * logits


def by_its_class(module):
    del module.post
    module.__class__ = type("Mine", (Factor,), {"shared": module.factor, "post": lambda self, x: self.shared * x})


shared = torch.ones(())  # a factor of the module that is tried


def by_a_global(**members):
    def of(module):
        del module.post
        module.__class__ = type("Heir", (type("Mine", (Factor,), members),), {})
        globals()["shared"] = module.factor

    return of


in_an_inherited_method = by_a_global(post=lambda self, x: shared * x)
in_a_static_method = by_a_global(post=staticmethod(lambda x: shared * x))
in_a_property = by_a_global(post=property(lambda self: torch.mul(shared, 1).mul))
in_a_function_within = by_a_global(post=lambda self, x: next(shared * out for out in [x]))


def test_a_module_may_hold_numbers_of_any_kind():
    module, plain = Two(), Two()
    plain.load_state_dict(module.state_dict())
    module.held = [
        np.arange(3.0)[::-1], np.array(["x"], dtype=object), np.zeros(3, dtype=np.longdouble), np.array(["ab"]),
        np.zeros(2, dtype=">f4"), np.zeros(3, dtype=np.uint16), np.broadcast_to(np.ones(1), 4), np.zeros((0, 3)),
        torch.ones(1).expand(4), torch.tensor([True]), torch.zeros(2, dtype=torch.uint8), torch.eye(2).to_sparse(),
    ]  # fmt: skip
    assert torch.equal(trained(task(module)), trained(task(plain)))
    assert (module.held[0].tolist(), module.held[9].item()) == ([2, 1, 0], True)


def test_graphs_and_files_of_the_owner_stay_as_they_are(tmp_path):
    np.save(tmp_path / "numbers.npy", np.full(CLASSES, 2, dtype=np.float32))
    module = Factor()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # writing to it is a crash
        module.file = torch.from_numpy(np.load(tmp_path / "numbers.npy", mmap_mode="r"))
    module.leaf = torch.ones(CLASSES, requires_grad=True)
    module.leaf.grad = torch.full((CLASSES,), 3.0)
    module.forward = types.MethodType(
        lambda self, x: Two.forward(self, x) * self.factor * self.file * self.leaf, module
    )
    pending = module(INPUTS).sum()
    task(module)
    assert module.leaf.grad.tolist() == [3.0] * CLASSES
    pending.backward()
    assert module.file.tolist() == [2.0] * CLASSES


def held_twice(module):
    keep = module.keep = torch.tensor([True, False, True])
    module.row = keep[None]
    module.post = lambda logits: logits * keep


@pytest.mark.parametrize("engine", ["sequential", "vmap"])
@pytest.mark.parametrize(
    "holding",
    [
        by_its_mode,
        by_a_hook,
        by_a_weak_reference,
        by_a_builtin_method,
        by_a_slot,
        by_the_default_of_a_table,
        by_an_array,
        held_twice,
        by_an_object,
        by_what_a_parameter_remembers,
        by_its_class,
        in_an_inherited_method,
        in_a_static_method,
        in_a_property,
        in_a_function_within,
    ],
)
def test_what_reads_the_original_is_refused_and_leaves_it_as_it_was(holding, engine):
    module = Factor()
    module.array = np.full(1, 2.0)
    holding(module)
    before = [part.clone() for part in module.parameters()]
    with pytest.raises(InputError, match=r"^module must be one whose passes read its layers, tensors .* by self alone"):
        task(module, engine=engine)
    assert all(torch.equal(part, then) for part, then in zip(module.parameters(), before, strict=True))
    assert module.training
    assert (module.factor, module.array) == (2, 2)


class Recorder(Two):
    """Notes what a layer gives in a table, and holds in functions that no pass calls what it is made of."""

    def __init__(self):
        super().__init__()
        given = self.given = {}
        self.handles = [self.first.register_forward_hook(lambda *parts: given.update(last=parts[2].detach()))]
        self.parameters_of = lambda: [*self.first.parameters()]
        self.parent = weakref.ref(self)
        self.widths = WIDTHS

    def plot(self):
        return sum(WIDTHS), self.parent


WIDTHS = [FEATURES, 5, CLASSES]


def test_what_no_pass_reads_is_taken():
    module = Recorder()
    assert torch.equal(trained(task(module)), trained(task(_plain(module))))
    assert "last" in module.given  # a table is shared, as the guide says


def _plain(module):
    plain = Two()
    plain.load_state_dict(module.state_dict())
    return plain


def test_a_global_with_the_name_of_an_attribute_is_none_of_the_module(monkeypatch):
    module = Two()
    expected = trained(task(module))
    monkeypatch.setitem(globals(), "first", module)
    assert torch.equal(trained(task(module)), expected)


class ByMethods(Two):
    def __init__(self):
        super().__init__()
        self.post = self.halved
        self.first.register_forward_hook(self.tripled)

    def halved(self, logits):
        return logits if self.training else 0.5 * logits

    def tripled(self, layer, inputs, out):
        return 3 * out

    def forward(self, x):
        return self.post(super().forward(x))


def test_methods_hold_the_copy():
    module = ByMethods().eval()
    one = task(module)
    found = one.losses(one.start)[0]
    expected = nn.functional.cross_entropy(module(one.inputs), one.targets, reduction="none")
    module.train()
    torch.testing.assert_close(found, expected.detach())
    torch.testing.assert_close(one.losses(one.start)[0], expected.detach())


def test_a_copy_that_is_none_is_refused():
    class Anew(Two):
        def __deepcopy__(self, memo):
            return type(self)()

    with pytest.raises(InputError, match=r"^module must be one whose copy.deepcopy has its numbers \(not of first"):
        task(Anew())


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_a_graph_of_the_owner_and_his_gradients_stay():
    torch.manual_seed(0)
    module = Two()
    loss = nn.functional.cross_entropy(module(INPUTS), TARGETS)
    task(module)
    loss.backward()
    found = [part.grad.clone() for part in module.parameters()]
    script = torch.jit.script(module)
    trained(task(script))
    assert all(torch.equal(part.grad, grad) for part, grad in zip(script.parameters(), found, strict=True))
    module.zero_grad()
    nn.functional.cross_entropy(module(INPUTS), TARGETS).backward()
    assert all(torch.equal(part.grad, grad) for part, grad in zip(module.parameters(), found, strict=True))
