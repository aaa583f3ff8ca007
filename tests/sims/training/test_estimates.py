"""Estimates along a run: against exact constants, against definitions written out, and without a trace in the run."""

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli, Cyclic, UniformSubset
from sims import selection
from sims.algorithms import amplified, fedavg, scaffold
from sims.checkpoints import restore, save
from sims.problems.noise import Additive, Multiplicative
from sims.problems.quadratic import DiagonalQuadratic
from sims.recorder import METRICS, Record, check_metrics
from sims.rounds import Setup, Simulation
from sims.training import survey
from sims.training.estimates import DRAWS, ESTIMATES
from sims.training.survey import Survey
from sims.weighting import AverageParticipating, FedAU, KnownRates

ALL = tuple(ESTIMATES)
N = 6


def quadratic(curvature=2.0, noise=0.5, d=3):
    rng = np.random.default_rng(5)
    curvatures = np.broadcast_to(np.asarray(curvature, dtype=float).reshape(-1, 1), (N, d))
    return DiagonalQuadratic(curvatures, rng.normal(size=(N, d)), Additive(noise))


def setup(problem=None, process=None, rule=None, **options):
    process = process or Bernoulli(np.linspace(0.2, 0.9, N))
    return Setup(problem or quadratic(), fedavg.fedavg, fedavg.Hyper(0.05, 1, 3), process, rule or FedAU(5), **options)


def run(one, rounds=20, every=4, what=ALL, replicates=3, until=None, start=None):
    record = Record(what, every, rounds)
    start = np.zeros((replicates, one.problem.dimension)) if start is None else start
    simulation = Simulation(one, start, rounds, np.random.default_rng(1), record)
    simulation.advance(until)
    return simulation


def values(*arguments, **options):
    return run(*arguments, **options).record.arrays()


def test_on_quadratics_of_one_curvature_they_are_the_exact_constants():
    """The gradients differ by a constant there, every difference quotient is L, and sigma is that of the noise."""
    problem = quadratic()
    constants, found = problem.constants, values(setup(problem), replicates=50)
    np.testing.assert_allclose(found["heterogeneity"], float(constants.heterogeneity), rtol=1e-9)
    np.testing.assert_allclose(found["smoothness"], float(constants.smoothness), rtol=1e-9)
    sigma = float(constants.noise_std)
    one = Survey(problem, np.zeros((200, 3)), 0).noise  # of 8 draws in 3 dimensions
    spread = sigma**2 * np.sqrt(2 / 3 / DRAWS / one.size)
    assert abs(one.mean() - sigma**2) < 5 * spread
    assert (found["noise_std"] > sigma / 2).all()
    assert (found["noise_std"] < 2 * sigma).all()
    without_noise = values(setup(quadratic(noise=0)))
    assert not without_noise["noise_std"].any()
    assert (without_noise["gradient_moment"] == without_noise["client_gradient"]).all()


def test_smoothness_is_a_lower_bound_that_comes_near(monkeypatch):
    """Of a flat spectrum, the worst for a power iteration."""
    rng = np.random.default_rng(2)
    problem = DiagonalQuadratic(rng.uniform(0.1, 3, (N, 20)), rng.normal(size=(N, 20)), Additive(0))
    found = Survey(problem, rng.normal(size=(4, 20)), 3).smoothness
    largest = np.array([[float(c) for c in row] for row in problem.curvature]).max(axis=-1)
    assert (found <= largest * (1 + 1e-9)).all()
    assert (found >= 0.6 * largest).all()
    monkeypatch.setattr(survey, "STEPS", 30)
    assert (Survey(problem, rng.normal(size=(4, 20)), 3).smoothness >= 0.95 * largest).all()


def test_a_survey_is_what_its_definitions_say_whether_it_keeps_gradients_or_not(monkeypatch):
    problem, rng = quadratic([1, 2, 3, 1, 2, 3]), np.random.default_rng(3)
    x, q = rng.normal(size=(2, 3)), {"round": rng.random((2, N)), "interval": rng.dirichlet(np.ones(N), 2)}
    one = Survey(problem, x, 4, q)
    clients = np.broadcast_to(np.arange(N), (2, N))
    gradients = problem.gradient(np.broadcast_to(x[:, None], (2, N, 3)), clients)
    f = gradients.mean(axis=1)
    np.testing.assert_allclose(one.mean, f)
    np.testing.assert_allclose(one.squares, (gradients**2).sum(-1))
    np.testing.assert_allclose(one.distances, ((gradients - f[:, None]) ** 2).sum(-1))
    for name, share in q.items():
        mixed = (share[..., None] * gradients).sum(1)
        away = np.linalg.norm((share[..., None] * (gradients - f[:, None])).sum(1), axis=-1)
        np.testing.assert_allclose(one.divergence(name), away)
        spread = (share * ((gradients - mixed[:, None]) ** 2).sum(-1)).sum(-1)
        np.testing.assert_allclose(one.spread(name) ** 2, spread)
    monkeypatch.setattr(survey, "KEPT", 0)
    again = Survey(problem, x, 4, q)
    for what in ("mean", "squares", "distances", "noise", "smoothness"):
        assert getattr(one, what).tobytes() == getattr(again, what).tobytes(), what


def test_large_models_are_looked_at_one_client_at_a_time(monkeypatch):
    """Never N vectors at once: not in a call, and none kept."""
    problem, sizes = quadratic(), []
    exact = problem.gradient

    class Watched:
        n_clients, dimension, draw = problem.n_clients, problem.dimension, problem.draw
        stochastic_gradient = problem.stochastic_gradient

        def gradient(self, y, clients):
            sizes.append(clients.shape[-1])
            return exact(y, clients)

    monkeypatch.setattr(survey, "KEPT", 0)
    one = Survey(Watched(), np.zeros((2, 3)), 0, {"round": np.ones((2, N))})
    _ = one.distances, one.noise, one.smoothness, one.spread("round")
    assert set(sizes) == {1}
    assert one._kept is None


def test_what_covers_all_rounds_is_that_of_a_record_of_every_round():
    """Followed between the records: the same as running maxima and means of a dense record."""
    one = setup()
    dense, sparse = (values(one, every=every, what=(*ALL, "weight_error")) for every in (1, 4))

    def before(name, over):
        rows = [over(dense[name][:, :t], axis=1) for t in (4, 8, 12, 16, 20)]
        return np.stack(rows, axis=1)

    for name, of, over in (
        ("mean_weight_error", "weight_error", np.mean),
        ("largest_weight_error", "weight_error", np.max),
        ("largest_weight_square", "weight_square", np.max),
        ("largest_participation_norm", "participation_norm", np.max),
    ):
        np.testing.assert_allclose(sparse[name][:, 1:], before(of, over), rtol=1e-12, err_msg=name)
        assert np.isnan(sparse[name][:, 0]).all()
    for name in ("heterogeneity", "noise_std", "smoothness", "round_divergence"):
        assert sparse[name][:, :-1].tobytes() == dense[name][:, ::4][:, :-1].tobytes(), name


def test_absence_counts_the_round_itself():
    """Cyclic over 4 rounds, 1 active: after 4 rounds everybody has been absent for at most 3 of them."""
    always = values(setup(process=Bernoulli(np.ones(N))), what=("longest_absence",))["longest_absence"]
    assert not always[:, 1:].any()
    cyclic = values(setup(process=Cyclic(np.full(N, 0.25), 4)), rounds=40, what=("longest_absence",))
    assert (cyclic["longest_absence"][:, -1] == 3).all()


def test_an_interval_is_the_algorithms_or_lies_between_records():
    """Amplified with P = 4, recorded every 3 rounds: at round 9 the last finished interval is rounds 4 to 7."""
    problem, process = quadratic(), UniformSubset(N, 2)
    hyper = amplified.Hyper(0.02, 2, 4, 2)
    one = Setup(problem, amplified.amplified, hyper, process, AverageParticipating())
    shares = _shares(one, 10)
    record = values(one, rounds=10, every=3, what=("interval_divergence", "model"), replicates=1)
    assert np.isnan(record["interval_divergence"][0, :2]).all()
    for place, (start, stop) in {2: (0, 4), 3: (4, 8), 4: (4, 8)}.items():
        expected = _divergence(problem, record["model"][0, place], shares[start:stop].mean(axis=0))
        assert record["interval_divergence"][0, place] == pytest.approx(expected)
    record = values(setup(problem, process, AverageParticipating()), 10, 3, ("interval_divergence", "model"), 1)
    for place, (start, stop) in {1: (0, 3), 2: (3, 6), 3: (6, 9), 4: (9, 10)}.items():
        expected = _divergence(problem, record["model"][0, place], shares[start:stop].mean(axis=0))
        assert record["interval_divergence"][0, place] == pytest.approx(expected)


def _shares(one, rounds):
    """Weights 1/|S| of the participants, (rounds, N), from a run that looks at every round."""
    shares = []

    class Seen(Record):
        def due(self, round):
            return True

        def take(self, now):
            if now.round < rounds:
                shares.append(now.participated[0] / now.participated[0].sum())

    simulation = Simulation(one, np.zeros((1, 3)), rounds, np.random.default_rng(1), Seen((), 1, rounds))
    simulation.advance()
    return np.array(shares)


def _divergence(problem, x, share):
    gradients = problem.gradient(np.broadcast_to(x, (N, 3)), np.arange(N))
    return np.linalg.norm(share @ (gradients - gradients.mean(axis=0)))


def test_permutation_of_all_clients_has_no_interval_divergence():
    """Every client once in an interval: delta(P) = 0, although no round alone is anywhere near (Proposition 4.2)."""
    process = Cyclic(np.full(N, 0.5), 2)
    one = Setup(quadratic(), amplified.amplified, amplified.Hyper(0.02, 1, 2, 1), process, KnownRates())
    found = values(one, rounds=8, every=2, what=("interval_divergence", "round_divergence"))
    assert (found["interval_divergence"][:, 1:] < 1e-12).all()
    assert (found["round_divergence"][:, :-1] > 0.1).any()


def test_a_run_has_the_same_bits_with_and_without_estimates():
    with_, without = run(setup()), run(setup(), what=("model",))
    assert with_.state.linear["x"].tobytes() == without.state.linear["x"].tobytes()
    assert [s.bit_generator.state for s in with_.streams.values()] == [
        s.bit_generator.state for s in without.streams.values()
    ]


def test_a_split_run_records_the_same(tmp_path):
    whole, first, second = run(setup()), run(setup(), until=10), run(setup(), until=0)
    save(first, tmp_path / "checkpoint.npz")
    restore(second, tmp_path / "checkpoint.npz")
    second.advance()
    for name, array in whole.record.arrays().items():
        assert array.tobytes() == second.record.arrays()[name].tobytes(), name


def test_rates_are_asked_for_where_they_are_needed():
    one = setup(selection=selection.uniform(2))
    for name in ("weight_square", "mean_weight_error", "largest_weight_error", "largest_weight_square"):
        with pytest.raises(InputError, match=f"record.what .* rates are not known here; got '{name}'"):
            check_metrics((name,), one.problem, one.rates)
    check_metrics(tuple(n for n in ALL if not ESTIMATES[n].needs_rates), one.problem, one.rates)


def test_without_weights_there_are_no_shares():
    one = Setup(quadratic(), scaffold.scaffold, scaffold.Hyper(0.05, 1, 3), UniformSubset(N, 3))
    found = values(one)
    assert np.isnan(found["round_divergence"]).all()
    assert np.isnan(found["largest_participation_norm"]).all()
    assert np.isfinite(found["heterogeneity"]).all()
    assert (found["longest_absence"][:, -1] > 0).all()


def test_every_estimate_says_what_it_is():
    for name, one in ESTIMATES.items():
        assert METRICS[name].about == f"{one.about} ({one.kind})"
        assert one.kind in ("exact", "sample", "lower bound")


@pytest.fixture(scope="module")
def digits():
    pytest.importorskip("torch", reason="needs the training extra")
    pytest.importorskip("sklearn", reason="needs the training extra")
    from sims.training.problem import training

    partition = {"name": "dirichlet", "n_clients": N, "alpha": 0.3}
    return training("digits", "logistic", partition, batch=8, precision="float64", train_samples=300)


@pytest.mark.torch
def test_a_task_has_the_same_bits_with_and_without_estimates(digits):
    with_, without = (run(setup(digits), 8, 4, what, start=digits.start[None]) for what in (ALL, ("participations",)))
    assert (with_.state.linear["x"] == without.state.linear["x"]).all()
    again = run(setup(digits), 8, 4, ALL, start=digits.start[None])
    for name, array in with_.record.arrays().items():
        assert array.tobytes() == again.record.arrays()[name].tobytes(), name


@pytest.mark.torch
def test_noise_of_minibatches_is_near_the_variance_over_samples(digits):
    """With replacement the variance of a batch is that of one sample over the batch size."""
    one = Survey(digits, digits.start[None], 0)
    expected = [_variance_of_a_batch(digits, client) for client in range(N)]
    assert one.noise[0] == pytest.approx(expected, rel=0.5)
    repeated = [Survey(digits, digits.start[None], round).noise[0] for round in range(40)]
    assert np.mean(repeated, axis=0) == pytest.approx(expected, rel=0.1)


def _variance_of_a_batch(task, client):
    import torch

    own = torch.from_numpy(task.sampler.of(client))
    models = task.start.expand(len(own), -1)
    each = task.engine.gradients(models.contiguous(), task.inputs[own][:, None], task.targets[own][:, None])
    return ((each - each.mean(dim=0)) ** 2).sum(dim=1).mean().item() / task.sampler.batch


@pytest.mark.torch
def test_smoothness_of_a_logistic_model_is_below_that_of_its_hessian(digits):
    """The largest eigenvalue of a client's Hessian at the model, written out, is nearly reached."""
    one = Survey(digits, digits.start[None], 0)
    weight, bias = (part.numpy() for part in digits.layout.named(digits.start).values())

    def largest(client):
        """Of mean_j (diag(s_j) - s_j s_j') x (z_j z_j'), s_j the softmax of a sample and z_j its inputs and a one."""
        inputs = digits.inputs[digits.sampler.of(client)].reshape(-1, weight.shape[1]).numpy()
        share = np.exp(inputs @ weight.T + bias)
        share /= share.sum(axis=1, keepdims=True)
        z = np.hstack([inputs, np.ones((len(inputs), 1))])
        of_logits = share[:, :, None] * np.eye(10) - share[:, :, None] * share[:, None, :]
        hessian = np.einsum("jab,jc,jd->acbd", of_logits, z, z, optimize=True).reshape(10 * z.shape[1], -1)
        return np.linalg.eigvalsh(hessian / len(z))[-1]

    expected = np.array([largest(client) for client in range(N)])
    assert (one.smoothness[0] <= expected * 1.01).all()  # along v the curvature may rise a little
    assert one.smoothness.max() >= 0.8 * expected.max()


@pytest.mark.torch
def test_the_squared_gradient_of_a_task_is_that_of_its_objective(digits):
    import torch

    x = digits.start.clone().requires_grad_()
    weights = torch.from_numpy(digits.sampler.weights)
    logits = torch.func.functional_call(digits.module, digits.layout.named(x), (digits.inputs,))
    f = (weights * torch.nn.functional.cross_entropy(logits, digits.targets, reduction="none")).sum()
    (gradient,) = torch.autograd.grad(f, x)
    found = values(setup(digits), 1, 1, ("squared_gradient",), start=digits.start[None])["squared_gradient"]
    assert found[0, 0] == pytest.approx((gradient**2).sum().item(), rel=1e-10)


@pytest.mark.torch
def test_on_torch_the_numbers_are_those_of_numpy():
    torch = pytest.importorskip("torch", reason="needs the training extra")
    one = setup(noisy := quadratic([1, 2, 3, 1, 2, 3]))
    wanted = values(one)
    found = values(one, start=torch.zeros((3, noisy.dimension), dtype=torch.float64))
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.torch
def test_networks_with_dropout_and_augmentation_in_single_precision(monkeypatch):
    """Their noise counts as noise; gradients that are not kept are computed again to the same bits."""
    torch = pytest.importorskip("torch", reason="needs the training extra")
    from sims.training.models import make
    from sims.training.task import Task

    generator = torch.Generator().manual_seed(0)
    inputs, classes = torch.rand((24, 3, 8, 8), generator=generator), torch.randint(0, 4, (24,), generator=generator)
    module = make("fedau-cifar100", size=8, classes=4)
    task = Task(module, inputs, classes, np.split(np.arange(24), N), batch=4, augmentation="crop-flip")
    one = Survey(task, task.start[None], 0)
    assert (one.noise > 0).all()
    assert (one.smoothness > 0).all()
    assert one.distances.mean() <= one.squares.mean()
    monkeypatch.setattr(survey, "KEPT", 0)
    again = Survey(task, task.start[None], 0)
    assert again.noise.tobytes() == one.noise.tobytes()
    assert again.smoothness.tobytes() == one.smoothness.tobytes()


def test_the_smoothness_of_the_noise_is_exact_where_it_is_the_same_everywhere():
    """A curvature that flips has L_sigma as its size, whatever the point; additive noise has none."""
    rng = np.random.default_rng(5)
    for noise, expected in ((Multiplicative(0.7), 0.7), (Additive(0.5), 0.0)):
        problem = DiagonalQuadratic(np.full((N, 3), 2.0), rng.normal(size=(N, 3)), noise)
        found = Survey(problem, rng.normal(size=(2, 3)), 4).noise_smoothness
        assert found.shape == (2, N)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    at_the_minimum = Survey(problem, problem.centre.mean(axis=0)[None], 0)
    assert np.isfinite(at_the_minimum.noise_smoothness).all()
