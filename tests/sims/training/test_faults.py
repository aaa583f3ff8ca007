"""Modules that go wrong on rare data, or once they have moved: nobody else is harmed, and the sentence is true."""

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from sims.algorithms.fedavg import Hyper, fedavg
from sims.divergence import Stopped
from sims.experiment import parse
from sims.rounds import Setup, Simulation
from sims.weighting import AverageParticipating

torch = pytest.importorskip("torch", reason="needs the training extra")
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from sims.training import models  # noqa: E402
from sims.training.run import train  # noqa: E402
from sims.training.survey import Survey  # noqa: E402
from sims.training.task import Task  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")]

FEATURES, CLASSES, SAMPLES, RARE = 6, 3, 60, 0.123
INPUTS = torch.randn(SAMPLES, FEATURES, generator=torch.Generator().manual_seed(5))
INPUTS[53] *= 0.3  # of the last client; no rehearsal sees it
INPUTS[53, 0] = RARE
TARGETS = torch.arange(SAMPLES) % 4 % CLASSES
PARTS = np.arange(SAMPLES).reshape(3, -1)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(FEATURES, 5), nn.Linear(5, CLASSES)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


def doing(does):
    """A module that does something where it sees one sample."""

    class Mine(Two):
        def forward(self, x):
            found = does(self, x) if bool((x[:, 0] == RARE).any()) else None
            return super().forward(x) if found is None else found

    return Mine()


def task(module, **options):
    return Task(module, INPUTS, TARGETS, PARTS, **{"batch": 8, "engine": "sequential", **options})


def trained(one, rounds=8, n_clients=3):
    setup = Setup(one, fedavg, Hyper(0.1, 1, 3), Bernoulli(np.ones(n_clients)), AverageParticipating())
    simulation = Simulation(setup, one.start[None], rounds, np.random.default_rng(3))
    simulation.advance()
    return simulation.state.linear["x"]


class Dips(nn.Linear):
    """Writes to its input in evaluations, once it has moved."""

    far = False

    def forward(self, x):
        if self.far and not torch.is_grad_enabled():
            x.clamp_(min=0)
        return super().forward(x)


def test_the_data_stay_whatever_a_module_writes_and_whenever():
    mine = INPUTS.clone()
    module = Dips(FEATURES, CLASSES)
    one = Task(module, mine, TARGETS, PARTS, test=(mine, TARGETS))
    one.evaluation(one.start[None])
    one.module.far = True
    with pytest.raises(Stopped, match=r"in the evaluation Dips .*, which writes to its input"):
        one.losses(one.start)
    assert torch.equal(mine, INPUTS)
    assert one.inputs.data_ptr() == mine.data_ptr()


def test_draws_in_exact_gradients_and_in_estimates_are_seen():
    one = task(doing(lambda module, x: torch.rand(1)[0] * module.last(module.first(x))))
    clients = torch.tensor([[0, 2]])
    with pytest.raises(Stopped, match=r"in the exact gradient of one of clients 0, 2 Mine .*draws no random numbers"):
        one.gradient(one.start.expand(1, 2, -1), clients)
    one = task(doing(lambda module, x: torch.rand(1) and None if len(x) <= 8 else None))
    with pytest.raises(Stopped, match=r"of client 2 Mine .*draws no random numbers"):
        _ = Survey(one, one.start[None], 0).noise


def test_many_clients_are_counted_and_not_listed():
    one = task(doing(lambda module, x: torch.rand(1) and None), batch=2)
    one = Task(one.module, INPUTS, TARGETS, np.arange(SAMPLES)[:, None], batch=2, engine="sequential")
    with pytest.raises(Stopped, match="round 0: in the local steps of one of its 60 clients Mine could"):
        trained(one, n_clients=SAMPLES)


def writes_grad(module, x):
    module.first.weight.grad = torch.ones_like(module.first.weight)


def calls_backward(module, x):
    if torch.is_grad_enabled():
        cross_entropy(module.last(torch.tanh(module.first(x))), torch.zeros(len(x), dtype=torch.long)).backward()


def turns_gradients_off(module, x):
    torch.set_grad_enabled(False)


def turns_gradients_off_late(module, x):
    logits = module.last(module.first(x))
    torch.set_grad_enabled(False)
    return logits


def exits(module, x):
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (writes_grad, "leaves grad alone"),
        (calls_backward, "leaves grad alone"),
        (turns_gradients_off, "logits have gradients"),
        (turns_gradients_off_late, "logits have gradients"),
        (lambda module, x: (x,), "gives logits, not a tuple"),
        (exits, "the module raised SystemExit: 3"),
    ],
)
def test_what_a_module_does_on_rare_data_stops_its_run(does, says):
    module = doing(does)
    with pytest.raises(Stopped, match=rf"round \d: in the local steps of client 2 Mine could not be trained: .*{says}"):
        trained(task(module))
    assert torch.is_grad_enabled()
    assert all(parameter.grad is None for parameter in module.parameters())


class HeadFirst(Two):
    def parameters(self, recurse=True):
        return iter([*self.last.parameters(), *self.first.parameters()])


class HeadOnly(Two):
    def parameters(self, recurse=True):
        return self.last.parameters(recurse)


@pytest.mark.parametrize("engine", ["sequential", "vmap"])
def test_the_start_is_that_of_the_module_whatever_order_parameters_come_in(engine):
    torch.manual_seed(0)
    module = HeadFirst()
    expected = float(cross_entropy(module(INPUTS).detach(), TARGETS))
    assert float(task(module, engine=engine).losses(task(module).start)[0].mean()) == pytest.approx(expected, rel=1e-6)
    with pytest.raises(InputError, match=r"one whose parameters\(\) are those of named_parameters\(\), .*HeadOnly"):
        task(HeadOnly(), engine=engine)


def dropping():
    return nn.Sequential(nn.Linear(FEATURES, 5), nn.Dropout(), nn.Linear(5, CLASSES))


def test_dropout_that_is_off_where_steps_are_made_is_taken():
    assert task(dropping(), buffers="keep").dimension == 53
    assert task(dropping().eval()).dimension == 53
    for module, buffers in ((dropping(), "refuse"), (dropping(), "average"), (dropping().eval(), "average")):
        modes = [part.training for part in module.modules()]
        with pytest.raises(InputError, match="one with dropout of sims"):
            task(module, buffers=buffers)
        assert [part.training for part in module.modules()] == modes


class Expanded(nn.Module):
    """Its logits are a view of its parameter."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(CLASSES))

    def forward(self, x):
        return self.bias.expand(len(x), CLASSES)


class Hooked(Two):
    """Neither of its calls can be made without gradients."""

    def forward(self, x):
        hidden = self.first(x)
        hidden.register_hook(lambda slope: 0.1 * slope)
        hidden.retain_grad()
        return self.last(torch.tanh(hidden))


@pytest.mark.parametrize("make", [Expanded, Hooked])
def test_logits_that_are_views_and_hooks_on_what_a_pass_makes_are_trained(make):
    one = task(make())
    before = float(one.objective(one.start))
    assert float(one.objective(trained(one)[0])) < before
    assert one.losses(one.start)[0].grad_fn is None


class Breaks(nn.Linear):
    """Where its buffers are looked at."""

    def __init__(self):
        super().__init__(FEATURES, CLASSES)
        self.register_buffer("scale", torch.ones(()))

    def named_buffers(self, *arguments, **options):
        if getattr(self, "broken", False):
            raise RuntimeError("torch says so")
        return super().named_buffers(*arguments, **options)

    def eval(self):
        self.broken = True
        return super().eval()


def test_whatever_a_module_raises_before_a_run_is_told_of_the_module():
    with pytest.raises(InputError, match=r"^module must be one that works with these data \(RuntimeError: torch says"):
        task(Breaks(), buffers="keep")


@pytest.mark.parametrize("engine", ["sequential", "vmap"])
def test_no_grad_of_the_caller_is_no_fault_of_the_module(engine):
    torch.manual_seed(0)
    module = Two()
    expected = trained(task(module, engine=engine))
    with torch.no_grad():
        one = task(module, engine=engine)
        torch.testing.assert_close(trained(one), expected, rtol=0, atol=0)
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        for made in (lambda: task(module), lambda: one.losses(one.start)):
            with pytest.raises(InputError, match=r"^torch.inference_mode must be off"):
                made()
        inside = Two()
    with pytest.raises(InputError, match=r"one that was made outside torch.inference_mode"):
        task(inside)


def test_rounding_made_large_is_not_called_a_batch():
    class Waves(Two):
        def forward(self, x):
            return self.last(torch.sin(1e7 * self.first(x)))

    with pytest.raises(InputError, match=r"differs by more than 0.1 %, which can also be rounding made large"):
        task(Waves())


def test_another_engine_is_named_where_vmap_is_at_fault():
    class Branches(nn.Linear):
        def forward(self, x):
            return super().forward(x if float(x.sum()) else -x)

    module = Branches(FEATURES, CLASSES)
    with pytest.raises(InputError, match=r'engine \'vmap\' can train .*\), or one for engine = "sequential"; got'):
        task(module, engine="vmap")


class OfDigits(nn.Linear):
    """Fails on batches above a size, and in steps far from its start."""

    most = 10**4

    def __init__(self):
        super().__init__(64, 10)

    def forward(self, x):
        if len(x) > self.most:
            raise ValueError("too many")
        if torch.is_grad_enabled() and float(self.weight.detach().norm()) > 20:
            raise ValueError("too far")
        return super().forward(x.flatten(1)) + torch.zeros(10)  # of the default type


CONTENT = {
    "kind": "train",
    "rounds": 2,
    "replicates": 1,
    "problem": {"name": "training", "data": "digits", "model": "mine", "partition": {"name": "iid", "n_clients": 3}},
    "process": {"name": "bernoulli", "p": 1.0},
    "algorithm": [
        {"name": "fedavg", "local_lr": 100.0, "local_steps": 5, "label": "far"},
        {"name": "fedavg", "local_lr": 0.01, "local_steps": 5, "label": "near"},
    ],
    "record": {"what": ["train_loss"]},
}


@pytest.fixture
def digits(monkeypatch):
    pytest.importorskip("sklearn", reason="needs the training extra")
    monkeypatch.setattr(models, "factory", lambda name: OfDigits)
    return parse(CONTENT)


def test_a_module_that_fails_in_the_first_round_stops_its_runs_alone(digits, monkeypatch, tmp_path):
    run = train(digits, store=tmp_path)
    assert run.reason.startswith(
        "far, replicate 0: round 0: in the local steps of client 0 OfDigits could not be trained"
    )
    assert run.data().filter(run.data()["algorithm"] == "near")["round"].max() == 2
    monkeypatch.setattr(OfDigits, "most", 100)
    with pytest.raises(Stopped, match=r"^no run came to its first record; .*far, replicate 0: round 0: .*too many"):
        train(digits, store=tmp_path, resume=False)


def test_a_run_does_not_depend_on_what_the_caller_set(digits, tmp_path):
    expected = train(digits, store=tmp_path / "a").data()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode():
            found = train(digits, store=tmp_path / "b").data()
        assert torch.get_default_dtype() == torch.float64
        assert models.make("mine").weight.dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
    assert found.equals(expected)


LATE = {
    "frozen": (lambda self, x: self.first.weight.requires_grad_(False), "all of which are trained"),
    "hooked": (lambda self, x: self.first.weight.register_hook(lambda g: 0 * g), "without hooks on its parameters"),
    "hooked later": (
        lambda self, x: self.first.weight.register_post_accumulate_grad_hook(lambda p: None),
        "without hooks on its parameters",
    ),
    "more": (lambda self, x: setattr(self, "more", nn.Parameter(torch.ones(3))), "all its parameters from the first"),
}


@pytest.mark.parametrize("kind", LATE)
def test_parameters_that_change_their_kind_on_the_way_are_seen(kind):
    does, sentence = LATE[kind]

    def late(self, x):
        does(self, x)

    one = task(doing(late))
    for _ in range(2):
        with pytest.raises(Stopped, match=sentence):
            trained(one, rounds=30)
