"""What stops a run or is refused before it: divergence, bad input, mixes of exact and float, odd starts."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from sims import roles, schedules, selection
from sims.algorithms import amplified, fedamd, fedavg, fedlaavg, mifa, scaffold
from sims.algorithms.protocol import State
from sims.arrays import as_exact, require_exact
from sims.divergence import Diverged, stable_step
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.recorder import Record, check_metrics
from sims.rounds import Setup, Simulation
from sims.weighting import (
    AverageAll,
    ExponentialAverage,
    FedAU,
    KnownRates,
)
from tests.sims.round_cases import RATES, plain, quadratic, run


def test_a_divergence_stops_at_the_first_bad_number_and_keeps_the_record():
    setup = plain(lr=0.6, problem=quadratic(noise=0.0), steps=20)
    record = Record(("model",), 1, 500)
    simulation = Simulation(setup, np.ones((3, 1)), 500, np.random.default_rng(0), record)
    with pytest.raises(
        Diverged, match=r"round \d+: the update of client 2 is no longer finite with local_lr 0.6 .* 0.5$"
    ):
        simulation.advance()
    stopped = simulation.round
    assert 0 < stopped < 500
    assert record.rounds.tolist() == list(range(stopped + 1))
    assert np.isfinite(record.arrays()["model"]).all()
    assert stable_step(setup.problem) == 0.5
    for steps, says in (
        (1, r"stable up to local_lr times global_lr = 0\.5$"),
        (2, r"local steps on this problem are stable up to 0\.5, so that global_lr is what is too large$"),
    ):
        with pytest.raises(Diverged, match=f"the model is no longer finite .* {says}"):
            run(replace(setup, hyper=fedavg.Hyper(0.1, 1e200, steps)), 50)
    with pytest.raises(Diverged, match=r"stable up to 0\.5, and global_lr enlarges them$"):
        run(replace(setup, hyper=fedavg.Hyper(0.6, 1e200, 2)), 50)


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
        (lambda: check_metrics(("objective_gap",), DiagonalQuadratic([0, 0], slope=[1, 1]), None), "no known minimum"),
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
            "local_lr must be a float or an int, as the model is in floats; got Fraction",
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


@pytest.mark.parametrize("start", [np.array([[1j]]), np.array([[True]]), np.array([["x"]]), np.array([[math.nan]])])
def test_a_start_that_is_no_model(start):
    with pytest.raises(InputError, match="start must be"):
        Simulation(plain(), start, 3, np.random.default_rng(0))
