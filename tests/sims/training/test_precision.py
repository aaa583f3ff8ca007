"""Short products: bfloat16 against the usual loop under autocast, TF32 by torch's switches."""

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from sims.algorithms.protocol import Cohort, Work
from sims.algorithms.scaffold import Hyper, scaffold
from sims.problems.local import local_update
from sims.rounds import Setup, Simulation

torch = pytest.importorskip("torch", reason="needs the training extra")
from sims.experiment import parse  # noqa: E402
from sims.training import precision  # noqa: E402
from sims.training.models import make  # noqa: E402
from sims.training.run import train  # noqa: E402
from sims.training.task import Task  # noqa: E402

pytestmark = pytest.mark.torch

N, SAMPLES, STEPS = 3, 10, 4
VMAP = {"engine": "vmap", "short": "bf16"}


def task(model=("fedau-fashion", {"size": 8, "classes": 4}), shape=(1, 8, 8), **options):
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn((N * SAMPLES, *shape), generator=generator)
    targets = torch.randint(0, 4, (N * SAMPLES,), generator=generator)
    module = make(model[0], **model[1])
    return Task(module, inputs, targets, np.split(np.arange(N * SAMPLES), N), batch=3, **options)


def mlp(**options):
    return task(("mlp", {"widths": [6, 9, 4]}), (6,), **options)


def draws(one):
    cohort = Cohort(torch.arange(N)[None], torch.ones((1, N), dtype=torch.bool), N)
    work = Work(one.start[None], STEPS, 0.1)
    return cohort, work, one.draw(np.random.default_rng(7), cohort, work)


def updates(one):
    cohort, work, drawn = draws(one)
    return local_update(one, work, cohort, drawn).delta[0]


def plainly(one):
    """What a user would write: a copy of the module, autocast, backward, a step of each parameter."""
    _, _, drawn = draws(one)
    found = []
    for client in range(N):
        module = make("fedau-fashion", size=8, classes=4)
        for index in drawn.steps[:, 0, client]:
            with torch.autocast("cpu", torch.bfloat16):
                logits = module(one.inputs[index])
            assert logits.dtype == torch.bfloat16
            module.zero_grad()
            torch.nn.functional.cross_entropy(logits.float(), one.targets[index]).backward()
            with torch.no_grad():
                for parameter in module.parameters():
                    parameter.sub_(parameter.grad, alpha=0.1)
        found.append(torch.cat([p.detach().reshape(-1) for p in module.parameters()]) - one.start)
    return torch.stack(found)


def off(found, expected):
    return float((found - expected).norm() / expected.norm())


def test_bf16_is_the_usual_loop_under_autocast():
    one = task(engine="sequential", short="bf16")
    assert torch.equal(updates(one), plainly(one))
    assert not torch.equal(updates(one), updates(task(engine="sequential")))
    assert updates(one).dtype == torch.float32


def test_engines_agree_in_bf16():
    """But for the rounding of products, 7 bits after the point."""
    loop, batched, full = (updates(mlp(**options)) for options in ({"short": "bf16"}, VMAP, {"engine": "vmap"}))
    assert 1e-4 < off(loop, full) < 2**-6
    assert 1e-4 < off(batched, full) < 2**-6


def test_what_is_measured_is_computed_in_full():
    short, full = mlp(**VMAP), mlp(engine="vmap")
    models, clients = full.start[None, None].expand(1, N, -1), torch.arange(N)[None]
    assert torch.equal(short.gradient(models, clients), full.gradient(models, clients))
    assert torch.equal(short.losses(short.start)[0], full.losses(full.start)[0])
    drawn = draws(full)[2].steps[0]
    first = [one.stochastic_gradient(models, clients, drawn) for one in (short, full)]
    assert 1e-4 < off(*first) < 2**-6


def test_memories_train_in_bf16_too():
    one = task(short="bf16")
    simulation = Simulation(
        Setup(one, scaffold, Hyper(0.1, 1, 2), Bernoulli(np.full(N, 0.5))),
        one.start[None],
        20,
        np.random.default_rng(0),
    )
    before = float(one.objective(one.start[None])[0])
    simulation.advance()
    assert float(one.objective(simulation.state.linear["x"])[0]) < before - 0.1


def test_engines_and_devices_that_cannot_refuse():
    assert mlp().engine.name == "layered"
    assert mlp(short="bf16").engine.name == "sequential"
    with pytest.raises(InputError, match="engine must be another one for bf16"):
        mlp(engine="layered", short="bf16")
    with pytest.raises(InputError, match="precision must be another one: only CUDA cards have TF32"):
        mlp(short="tf32")
    with pytest.raises(InputError, match=r"short must be left out, or .*did you mean bf16"):
        mlp(short="bf61")
    double = make("mlp", widths=[6, 4]).double()
    with pytest.raises(InputError, match=r"precision must be left out for a module in torch\.float64"):
        Task(double, torch.zeros(2, 6).double(), torch.zeros(2).long(), [np.arange(2)], short="bf16")


@pytest.fixture
def switches():
    backends = torch.backends
    before = backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32
    backends.cudnn.allow_tf32 = backends.cuda.matmul.allow_tf32 = True
    yield lambda: {backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32}
    backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32 = before


def test_tf32_is_off_unless_asked_for_and_left_as_it_was(switches):
    """On a card that need not be there: these are switches of torch's, not of the card's."""
    card = torch.device("cuda")
    with precision.products(card):
        assert switches() == {False}
        with precision.products(card, "tf32"):
            assert switches() == {True}
        assert switches() == {False}
    assert switches() == {True}
    with pytest.raises(RuntimeError), precision.products(card):
        raise RuntimeError
    assert switches() == {True}
    precision.require_short("tf32", card, torch.float32)


def test_all_gradients_and_losses_are_computed_with_the_switches_set(switches, monkeypatch):
    on_a_card = precision.products
    monkeypatch.setattr(precision, "products", lambda device, short=None: on_a_card(torch.device("cuda"), short))
    one, seen = mlp(), []

    def noting(name):
        original = getattr(one.engine, name)
        monkeypatch.setattr(one.engine, name, lambda *arguments: (seen.append(switches()), original(*arguments))[1])

    for name in ("gradients", "descend"):
        noting(name)
    one.module.register_forward_hook(lambda *_: seen.append(switches()))
    cohort, _, drawn = draws(one)
    models = one.start[None, None].expand(1, N, -1)
    for compute in (
        lambda: updates(one),
        lambda: one.stochastic_gradient(models, cohort.clients, drawn.steps[0]),
        lambda: one.gradient(models, cohort.clients),
        lambda: one.losses(one.start),
    ):
        compute()
        assert seen
        assert seen == [{False}] * len(seen)
        seen.clear()
    one.short = "tf32"
    updates(one)
    assert seen == [{True}] * len(seen)
    seen.clear()
    one.gradient(models, cohort.clients)
    assert seen == [{False}] * len(seen)


def test_the_precision_is_part_of_the_experiment(tmp_path):
    pytest.importorskip("sklearn", reason="needs the training extra")
    content = {
        "kind": "train",
        "rounds": 3,
        "replicates": 1,
        "problem": {
            "name": "training",
            "data": "digits",
            "model": "logistic",
            "partition": {"name": "iid", "n_clients": 4},
        },
        "process": {"name": "bernoulli", "p": 0.5},
        "algorithm": {"name": "fedavg", "local_lr": 0.1},
        "record": {"what": ["train_loss"]},
    }
    runs = {}
    for name in ("float32", "bf16"):
        content["problem"]["precision"] = name
        runs[name] = train(parse(content), store=tmp_path)
        assert runs[name].experiment["problem"]["precision"] == name
    assert runs["bf16"].key != runs["float32"].key
    losses = [runs[name].data()["train_loss"].to_list() for name in ("bf16", "float32")]
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
    content["problem"]["precision"] = "tf32"
    with pytest.raises(InputError, match="only CUDA cards have TF32"):
        parse(content)


@pytest.mark.parametrize("engine", ["layered", "sequential", "vmap"])
def test_steps_that_the_numbers_of_a_model_cannot_hold_are_no_fault_of_the_module(engine):
    clients, step = torch.zeros(1, 1, dtype=torch.int64), torch.zeros(3, 1, 1, 2, dtype=torch.int64)
    inputs, targets, parts = torch.randn(6, 4), torch.arange(6) % 3, np.arange(6).reshape(2, 3)

    def moved(step_size, decay=0.0):
        module = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.ReLU(), torch.nn.Linear(9, 3))
        one = Task(module, inputs, targets, parts, batch=2, engine=engine, weight_decay=decay)
        return one.descend(one.start[None, None], clients, step, step_size)

    with pytest.raises(InputError, match=r"^local_lr must be at most 3\.40282e\+38, the largest number of float32"):
        moved(1e300)
    with pytest.raises(InputError, match=r"^weight_decay must be at most 34\.0282: times local_lr no more than"):
        moved(1e37, 100.0)
    assert not bool(torch.isfinite(moved(1e30, 1e3)).all())  # diverges, and raises nothing


def test_such_a_step_size_is_refused_before_a_run_and_nothing_is_said_before(tmp_path, caplog):
    pytest.importorskip("sklearn", reason="needs the training extra")
    content = {
        "kind": "train",
        "rounds": 2,
        "replicates": 1,
        "problem": {
            "name": "training",
            "data": "digits",
            "model": "logistic",
            "partition": {"name": "iid", "n_clients": 4},
        },
        "process": {"name": "bernoulli", "p": 0.5},
        "algorithm": [{"name": "mifa", "local_lr": 0.1}, {"name": "mifa", "label": "far", "local_lr": 1e300}],
    }
    with caplog.at_level("INFO"), pytest.raises(InputError, match=r"^algorithm 'far': local_lr must be at most 3"):
        train(parse(content), store=tmp_path)
    assert not caplog.text
    assert not list(tmp_path.iterdir())
