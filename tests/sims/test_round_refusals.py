"""What stops a run or is refused before it: divergence, bad input, mixes of exact and float, odd starts."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from sims import roles, schedules, selection
from sims.algorithms import amplified, fedamd, fedavg, fedavgm, fedlaavg, mifa, minibatch_sgd, scaffold
from sims.algorithms.protocol import State
from sims.arrays import as_exact, require_exact
from sims.divergence import Diverged, stable_step
from sims.problems.least_squares import LeastSquares
from sims.problems.matrix_quadratic import MatrixQuadratic
from sims.problems.noise import Additive, Multiplicative
from sims.problems.quadratic import DiagonalQuadratic
from sims.recorder import Record, check_metrics
from sims.rounds import Setup, Simulation
from sims.weighting import (
    AverageAll,
    AverageParticipating,
    ExponentialAverage,
    FedAU,
    KnownRates,
)
from tests.sims.round_cases import RATES, Rests, plain, quadratic, run


def test_a_divergence_stops_at_the_first_bad_number_and_keeps_the_record():
    setup = plain(lr=0.6, problem=quadratic(noise=0.0), steps=20)
    record = Record(("model",), 1, 500)
    simulation = Simulation(setup, np.ones((3, 1)), 500, np.random.default_rng(0), record)
    with pytest.raises(
        Diverged, match=r"round \d+: the update of client 2 is no longer finite with local_lr 0.6 .* 0.5; .*$"
    ):
        simulation.advance()
    stopped = simulation.round
    assert 0 < stopped < 500
    assert record.rounds.tolist() == list(range(stopped + 1))
    assert np.isfinite(record.arrays()["model"]).all()
    assert stable_step(setup.problem) == 0.5
    one = replace(setup, hyper=fedavg.Hyper(0.1, 1e200, 1), rule=AverageAll())
    with pytest.raises(Diverged, match=r"the model is .* with local_lr 0.1 and global_lr 1e\+200; .*, by global_lr$"):
        run(one, 50)


LIMIT = (
    r"plain gradient steps are stable on the mean of all clients up to 0\.857, on the steepest client alone up to 0\.5"
)
OTHER = r"; for NAME the limit is another, often a smaller one, by "


@pytest.mark.parametrize(
    ("algorithm", "hyper", "rule", "says"),
    [
        (fedavg.fedavg, fedavg.Hyper(9.0), AverageAll(), f"with local_lr 9.0 and global_lr 1; {LIMIT}$"),
        (fedavg.fedavg, fedavg.Hyper(9.0), KnownRates(), f"{LIMIT}{OTHER}weights above 1$"),
        (fedavg.fedavg, fedavg.Hyper(9.0, 2), AverageAll(), f"{LIMIT}{OTHER}global_lr$"),
        (minibatch_sgd.minibatch_sgd, minibatch_sgd.Hyper(9.0), AverageAll(), f"with global_lr 9.0; {LIMIT}$"),
        (fedlaavg.fedlaavg, fedlaavg.Hyper(9.0), None, f"{LIMIT}{OTHER}what it keeps of earlier rounds$"),
        (
            amplified.amplified,
            amplified.Hyper(9.0, 10, 2),
            AverageAll(),
            f"with local_lr 9.0 and amplification 10; {LIMIT}{OTHER}amplification and what it keeps of earlier rounds$",
        ),
        (
            fedavgm.fedavgm,
            fedavgm.Hyper(9.0, 0.5, 2),
            AverageAll(),
            f"local_lr 9.0 and momentum 0.5 and global_lr 2; {LIMIT}{OTHER}momentum, global_lr and what it keeps .*$",
        ),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_divergence_names_all_step_sizes_and_what_the_limit_leaves_out(algorithm, hyper, rule, says):
    setup = Setup(quadratic(noise=0.0), algorithm, hyper, Bernoulli(RATES), rule)
    with pytest.raises(Diverged, match=says.replace("NAME", algorithm.name)):
        run(setup, 1000)


class Steep(DiagonalQuadratic):
    """Steeper than its constants say."""

    def gradient(self, y, clients):
        return 9 * super().gradient(y, clients)


def everybody(problem, lr):
    return plain(Bernoulli([1.0] * problem.n_clients), AverageAll(), lr, 1, problem=problem)


@pytest.mark.parametrize(
    ("problem", "limit", "says"),
    [
        (DiagonalQuadratic([1, 4], [1, 0]), 0.8, "on the mean of all clients up to 0.8, on the steepest .* up to 0.5$"),
        (
            MatrixQuadratic([[[2, 1], [1, 2]], [[4, 0], [0, 1]]], [[1, 1], [0, 0]]),
            2 / (2.25 + math.sqrt(0.8125)),
            "on the mean of all clients up to 0.635, on the steepest client alone up to 0.5$",
        ),
        (DiagonalQuadratic([4, 4], [1, 0]), 0.5, "on this problem up to 0.5$"),
        (DiagonalQuadratic([-1, 3], [1, 0]), 2, "on the mean of all clients up to 2; for fedavg .* negative curvature"),
        (LeastSquares([[[1]], [[2]]], [[1], [0]]), 0.4, "on this problem at least up to 2 / smoothness = 0.25$"),
    ],
    ids=["numbers", "matrices", "alike", "negative", "no curvature"],
)
def test_the_largest_stable_step_is_that_of_one_step_of_everybody(problem, limit, says):
    below = run(everybody(problem, 0.95 * limit), 1000).state.linear["x"]
    assert np.allclose(below, problem.constants.minimiser.astype(float), atol=1e-12)
    with pytest.raises(Diverged, match=f"plain gradient steps are stable {says}"):
        run(everybody(problem, 1.05 * limit), 10_000)


SAMPLES = {"features": [[[1], [10]], [[1], [10]]], "labels": [[1, 0], [2, 1]], "batch": 1}
NEGATIVE = "clients of negative curvature (in local steps and partial cohorts)"


@pytest.mark.parametrize(
    ("problem", "lr", "why"),
    [
        (DiagonalQuadratic([1, 1], [1, 0], Multiplicative(3)), 1.9, "noise that grows with the model"),
        (LeastSquares(**SAMPLES), 0.0195, "minibatches"),
        (DiagonalQuadratic([-1, 2], [1, 0]), 0.9, NEGATIVE),
        (MatrixQuadratic([[[-1, 0], [0, 1]], [[2, 0], [0, 2]]], [[1, 1], [0, 0]]), 0.9, NEGATIVE),
        (Steep([1, 1], [1, 0]), 0.9, None),
    ],
    ids=["multiplicative", "minibatch", "negative", "negative matrix", "unknown"],
)
def test_no_limit_above_the_step_that_diverged_without_what_makes_it_smaller(problem, lr, why):
    assert lr < stable_step(problem)
    setup = plain(Bernoulli([0.9, 0.1]), AverageParticipating(), lr, 5, problem=problem)
    with pytest.raises(Diverged) as caught:
        run(setup, 20_000)
    if why is None:
        assert str(caught.value).endswith("; a smaller step size may help")
    else:
        assert str(caught.value).endswith(f"; for fedavg the limit is another, often a smaller one, by {why}")


@pytest.mark.parametrize("problem", [DiagonalQuadratic([-1, -3], [1, 0]), DiagonalQuadratic([0, 0], slope=[1e160, 0])])
def test_no_step_is_said_to_be_stable_where_f_is_unbounded_below(problem):
    setup = plain(Bernoulli([1.0, 1.0]), AverageAll(), 0.1, 1, problem=problem)
    with pytest.raises(
        Diverged, match=r"gradient steps of no size are stable on this problem, as it is unbounded below$"
    ):
        run(setup, 20_000)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_a_start_whose_square_overflows_is_to_blame_itself(kind):
    start = np.full((1, 1), 1e308)
    if kind == "torch":
        start = pytest.importorskip("torch").asarray(start)
    with pytest.raises(InputError, match=r"start must be of numbers whose squares are finite; got .*e\+308"):
        Simulation(plain(problem=quadratic(3)), start, 3, np.random.default_rng(0))


def test_a_metric_that_is_infinite_stops_the_run_and_is_named():
    """The model's square is finite, the objective of such a curvature is not."""
    problem = DiagonalQuadratic([1e30] * 3, [1e130, 0, 0])
    setup = plain(rule=AverageAll(), lr=1e30, steps=1, problem=problem, process=Bernoulli([1.0] * 3))
    record = Record(("cohort_size", "weight_error", "squared_gradient"), 1, 50)
    simulation = Simulation(setup, np.zeros((2, 1)), 50, np.random.default_rng(0), record)
    with pytest.raises(Diverged, match=r"round 0: squared_gradient is not finite at the start, before any step$"):
        simulation.advance()
    problem = DiagonalQuadratic([1e30] * 3, [1e60, 0, 0])
    setup = replace(setup, problem=problem, hyper=fedavg.Hyper(1e3))
    record = Record(("cohort_size", "squared_gradient"), 2, 50)
    simulation = Simulation(setup, np.zeros((2, 1)), 50, np.random.default_rng(0), record)
    with pytest.raises(
        Diverged, match=r"round (\d+): squared_gradient is no longer finite with local_lr 1000"
    ) as caught:
        simulation.advance()
    values = record.arrays()["squared_gradient"]
    assert np.isfinite(values[:, :-1]).all()
    assert np.isinf(values[:, -1]).all()
    assert f"round {record.rounds[-1]}:" in str(caught.value)


def test_nan_is_no_divergence_where_a_metric_does_not_exist():
    setup = Setup(quadratic(), mifa.mifa, mifa.Hyper(0.05), Bernoulli(RATES))
    record = run(setup, 9, what=("weight_error", "cohort_size", "objective")).record.arrays()
    assert np.isnan(record["weight_error"]).all()
    assert np.isnan(record["cohort_size"][:, -1]).all()
    setup = replace(setup, problem=Unknown([1, 2, 4], [-1, 0, 2]))
    with pytest.raises(Diverged, match="round 0: objective is not finite at the start"):
        run(setup, 9, what=("objective",))


class Unknown(DiagonalQuadratic):
    """A problem whose objective is lost in infinities."""

    def objective(self, x):
        return x[..., 0] * math.nan


def test_a_cached_gradient_that_is_not_finite_stops_the_run():
    """Anchors send gradients and no updates: the model would look fine while the caches overflow."""
    everybody = Bernoulli([1.0] * 3)
    setup = Setup(quadratic(noise=0.0), fedamd.fedamd, fedamd.Hyper(1e-3), everybody, None, roles=roles.constant(1))
    simulation = Simulation(setup, np.full((1, 1), 5e153), 3, np.random.default_rng(0), Record(("model",), 1, 3))
    with pytest.raises(Diverged, match="round 0: the update of client 2"):
        simulation.advance()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            lambda: plain(Bernoulli([0.5, 0.5]), problem=quadratic(3)),
            "number of clients of the process must be 3, as many as the problem has; got 2$",
        ),
        (lambda: plain(dropout=1.0), "dropout must be a probability"),
        (lambda: plain(dropout=math.nan), "dropout must be a probability"),
        (lambda: plain(dropout="x"), "dropout must be a probability"),
        (lambda: run(plain(), 0), "rounds must be a whole number of at least 1"),
        (lambda: run(plain(), 3, until=4), "until must be at most the number of rounds, 3"),
        (lambda: run(plain(), 3, every=0), "every must be a whole number"),
        (lambda: run(plain(selection=selection.uniform(4)), 3), "size must be at most the number of clients, 3"),
        (
            lambda: run(plain(rule=KnownRates(), selection=selection.uniform(2)), 3),
            "rates of participation are not known",
        ),
        (lambda: run(plain(Bernoulli(np.full(4, 0.5)), problem=quadratic(4)), 2, what=()).advance(9), "until"),
        (lambda: Simulation(plain(), np.zeros((2, 2)), 3, np.random.default_rng(0)), "start must be of shape"),
        (lambda: Simulation(plain(), [[0.0]], 3, np.random.default_rng(0)), "start must be a numpy or torch array"),
        (lambda: check_metrics(("gap",), quadratic(), None), "record.what must be one of"),
        (lambda: check_metrics(("weight_error",), quadratic(), None), "participation rates are not known"),
        (
            lambda: check_metrics(("objective_gap",), DiagonalQuadratic([0, 0], slope=[1, 1]), None),
            "is unbounded below",
        ),
        (lambda: FedAU(0), "cutoff must be a whole number"),
        (lambda: ExponentialAverage(0.0), "smoothing must be"),
        (lambda: schedules.decay([-1], 0.5), "at must be a whole number"),
        (lambda: schedules.decay([1], math.nan), "factor must be"),
        (
            lambda: Setup(
                quadratic(),
                amplified.wait_full,
                amplified.WaitHyper(0.1, 2),
                Bernoulli(RATES),
                schedule=schedules.inverse_sqrt(),
            ),
            "schedule must be constant, .*; got 'inverse_sqrt'$",
        ),
        (lambda: roles.constant(1.5), "probability must be in"),
        (lambda: roles.constant([1]), "probability must be one number"),
        (lambda: roles.full_rounds([]), "probability must be one number"),
        (lambda: roles.sequential(1), "period must be"),
        (lambda: schedules.decay(3, 0.5), "at must be a list of rounds"),
        (lambda: schedules.decay([3], True), "factor must be a finite number"),
        (lambda: mifa.Hyper(0.1, wait="no"), "wait must be true or false; got 'no'"),
        (lambda: fedlaavg.Hyper(0.1, gradient_memory="no"), "gradient_memory must be true or false"),
        (lambda: fedlaavg.Hyper(0.1, weights=1), "weights must be a list"),
        (lambda: fedavg.Hyper(True), "local_lr must be a finite number"),
        (lambda: scaffold.Hyper(0.1, global_lr=False), "global_lr must be a finite number"),
        (lambda: scaffold.Hyper(0.1, option=True), "option must be 1 or 2"),
        (lambda: Additive(1e308), "std must be a number whose square is finite"),
        (lambda: Additive(10**400), "std must be a finite number"),
    ],
)
def test_bad_input_is_one_sentence(wrong, says):
    with pytest.raises(InputError, match=says) as caught:
        wrong()
    assert "\n" not in str(caught.value)


EXACT = {"problem": DiagonalQuadratic([1, 2, 4], [-1, "1/2", 2]), "algorithm": scaffold.scaffold}


def exact(hyper, start=((0,), (1,)), **options):
    setup = Setup(hyper=hyper, process=Bernoulli(RATES), **(EXACT | options))
    simulation = Simulation(setup, start, 5, np.random.default_rng(0))
    simulation.advance()
    return simulation.state.linear


def test_an_exact_start_stays_exact():
    step = Fraction(1, 10)
    linear = exact(scaffold.Hyper(step, local_steps=2), as_exact([[0], [1]]))
    require_exact(linear)
    floats = exact(scaffold.Hyper(0.1, local_steps=2), np.array([[0.0], [1.0]]))
    assert np.allclose(linear["x"].astype(float), floats["x"], rtol=1e-13)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda x: exact(scaffold.Hyper(0.1), x), "local_lr must be an int or a Fraction, .* exact; got 0.1"),
        (
            lambda x: exact(fedlaavg.Hyper(Fraction(1, 9), weights=(0.5, 0.25, 0.25)), x, algorithm=fedlaavg.fedlaavg),
            "weights must be an int or a Fraction",
        ),
        (
            lambda x: exact(fedavg.Hyper(Fraction(1, 9)), x, algorithm=fedavg.fedavg, rule=AverageAll()),
            "weighting must be left out for an exact start: its weights are floats; got 'AverageAll'",
        ),
        (
            lambda x: exact(scaffold.Hyper(Fraction(1, 9)), x, schedule=schedules.inverse_sqrt()),
            "schedule must be constant for an exact start: its factors are floats; got 'inverse_sqrt'",
        ),
        (
            lambda x: exact(scaffold.Hyper(Fraction(1, 9)), x.astype(float)),
            "local_lr must be a float or an int, as the model is in floats; got 1/9$",
        ),
    ],
)
def test_exact_and_float_do_not_mix(wrong, says):
    with pytest.raises(InputError, match=says):
        wrong(as_exact([[0], [1]]))


def test_a_float_that_slips_into_an_exact_run_is_seen():
    leaking = replace(
        scaffold.scaffold, apply=lambda *args: State({**scaffold.apply(*args).linear, "x": args[0].linear["x"] * 1.0})
    )
    with pytest.raises(TypeError, match="not exact"):
        exact(scaffold.Hyper(Fraction(1, 10)), as_exact([[0], [1]]), algorithm=leaking)
    turned = replace(leaking, apply=lambda *args: State({"x": args[0].linear["x"].astype(object)}))
    with pytest.raises(InputError, match="without Fractions"):
        exact(scaffold.Hyper(0.1), np.zeros((2, 1)), algorithm=turned)


@pytest.mark.parametrize("algorithm", [fedlaavg.fedlaavg, mifa.mifa, scaffold.scaffold], ids=lambda a: a.name)
def test_a_start_in_whole_numbers_is_one_in_floats(algorithm):
    setup = Setup(quadratic(), algorithm, algorithm.hyper(local_lr=0.05), Bernoulli(RATES))
    ends = []
    for start in (np.zeros((2, 1)), np.zeros((2, 1), dtype=np.int64)):
        simulation = Simulation(setup, start, 20, np.random.default_rng(0))
        simulation.advance()
        ends.append(simulation.state.linear["x"])
    assert np.array_equal(*ends)
    torch = pytest.importorskip("torch")
    simulation = Simulation(setup, torch.zeros((2, 1), dtype=torch.int64), 20, np.random.default_rng(0))
    simulation.advance()
    assert simulation.state.linear["x"].dtype == torch.float64
    assert np.allclose(simulation.state.linear["x"].numpy(), ends[0], rtol=1e-12)


@pytest.mark.parametrize("start", [np.array([[1j]]), np.array([[True]]), np.array([["x"]]), np.array([[math.nan]])])
def test_a_start_that_is_no_model(start):
    with pytest.raises(InputError, match="start must be"):
        Simulation(plain(), start, 3, np.random.default_rng(0))


def test_a_schedule_that_rounds_the_step_size_to_zero_is_named():
    setup = plain(lr=1e-200, schedule=schedules.decay([3], 1e-200))
    with pytest.raises(InputError, match=r"^schedule must be one that .*; in round 3 it would be 0\.0; got 'decay'$"):
        run(setup, 5)


def test_a_run_of_no_replicate_is_refused():
    with pytest.raises(InputError, match=r"^start must be of shape \(replicates, 1\); got \(0, 1\)"):
        run(plain(), 5, replicates=0)


def test_a_snapshot_needs_a_selection_for_the_other_rounds():
    with pytest.raises(InputError, match=r"^otherwise must be a selection of this module"):
        selection.snapshot(1, None, interval=2)


def test_a_reactive_process_cannot_rewrite_the_past():
    class Rewrites(Rests):
        def step(self, history, rng):
            history[...] = True
            return super().step(history, rng)

    with pytest.raises(ValueError, match="read-only"):
        run(plain(Rewrites(3)), 5)
