"""The exact engine against every path run by the algorithm itself, its long runs, and what it must refuse."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest

from fltheory.errors import InputError
from sims.algorithms import algorithms, fedlaavg
from sims.algorithms.protocol import State
from sims.algorithms.scaffold import Hyper as Scaffold
from sims.algorithms.scaffold import scaffold
from sims.exact import Engine, Setting, paths, run
from sims.problems.base import full_gradient
from sims.problems.least_squares import LeastSquares
from sims.problems.noise import Additive, Multiplicative
from sims.problems.quadratic import DiagonalQuadratic, example_1, plus_minus_one
from sims.scenarios import bernoulli, in_turn, markov, roles, schedule, selected, uniform_subsets, weighted
from sims.selection import least_recently_used
from tests.sims.exact_cases import ALL, METHODS, QUADRATIC, participation, setting


def flat(state):
    return np.concatenate([values.reshape(-1) for values in state.linear.values()])


def moments_of_paths(one, scenario, rounds):
    """E[s] and E[ss'] after `rounds`, summed over all paths."""
    found = [(p, flat(states[-1])) for p, states in paths(one, scenario, rounds)]
    assert sum(p for p, _ in found) == 1
    return sum(p * s for p, s in found), sum(p * np.multiply.outer(s, s) for p, s in found)


def same(moments, expected):
    first, second = expected
    return (moments.first == first).all() and (moments.second == second).all()


# ---- moments -------------------------------------------------------------------------------------------------


def test_every_algorithm_is_tried():
    assert {algorithm.name for algorithm in algorithms().values()} <= {method.name for method, _ in METHODS.values()}


@ALL
def test_moments_are_those_of_all_paths(name):
    one, scenario = setting(name), participation(name)
    after = list(Engine(one, scenario).moments(2))[2]
    assert same(after, moments_of_paths(one, scenario, 2))


@ALL
def test_variance_of_noise_is_that_of_its_values(name):
    """Additive noise is read off by unit draws; here against all values of Rademacher noise, along all paths."""
    one = setting(name, DiagonalQuadratic([1, 3], [-1, 2], Additive("1/2", "rademacher")), local_steps=1)
    who = [[True, False], [False, True]] if name == "sequential_sgd" else [[True, True], [False, True]]
    scenario = weighted(roles(schedule(who), F(1, 4)), [F(2, 3), F(5, 4)])
    expected = moments_of_paths(one, scenario, 2)
    assert same(list(Engine(one, scenario).moments(2))[2], expected)
    assert same(list(Engine(one, scenario, enumerate_noise=True).moments(2))[2], expected)


@ALL
def test_floats_agree_with_rationals(name):
    exact = setting(name)
    algorithm, hyper = METHODS[name]
    numbers = {key: float(v) if isinstance(v, F) else v for key, v in vars(hyper).items()}
    if numbers.get("weights"):
        numbers["weights"] = tuple(map(float, numbers["weights"]))
    floats = Setting(algorithm, QUADRATIC, type(hyper)(**numbers), [0.5])
    for rational, rounded in zip(
        Engine(exact, participation(name)).moments(4), Engine(floats, participation(name)).moments(4), strict=True
    ):
        np.testing.assert_allclose(rounded.table, rational.table.astype(float), rtol=1e-12, atol=1e-13)


@ALL
def test_a_wrong_apply_gives_other_moments(name):
    """The map is that of the algorithm it is given: one that keeps a tenth of every change back is noticed."""
    right, scenario = setting(name), participation(name)

    def wrong(state, cohort, local, hyper):
        after = right.algorithm.apply(state, cohort, local, hyper)
        kept = {key: values - (values - state.linear[key]) / 10 for key, values in after.linear.items()}
        return State(kept, after.discrete)

    faulty = replace(right, algorithm=replace(right.algorithm, apply=wrong))
    moments = list(Engine(faulty, scenario).moments(2))[2]
    assert same(moments, moments_of_paths(faulty, scenario, 2))
    assert not same(moments, moments_of_paths(right, scenario, 2))


def test_noise_that_is_not_additive_is_enumerated():
    for problem in (
        DiagonalQuadratic([1, 2], [1, -1], Multiplicative("1/3")),
        LeastSquares([[[1], [2]], [[1], [-1]]], [[0, 1], [2, 1]], batch=1),
    ):
        one, scenario = setting("fedamd", problem), roles(schedule([[True, False], [False, True]]), F(1, 2))
        assert same(list(Engine(one, scenario).moments(2))[2], moments_of_paths(one, scenario, 2))


def test_averages_over_samples_have_less_variance():
    """The extra gradient averages a batch: enumerated for 2 samples, and inversely proportional beyond."""
    noisy = DiagonalQuadratic([1, 2], 0, Additive(1, "rademacher"))
    scenario = weighted(schedule([[True, True]]), [1, 1])
    found = [list(Engine(setting("minibatch_sgd", noisy, batch=b), scenario).moments(1))[1] for b in (1, 2, 6)]
    assert same(found[1], moments_of_paths(setting("minibatch_sgd", noisy, batch=2), scenario, 1))
    assert [m.covariance("x")[0, 0] / found[0].covariance("x")[0, 0] for m in found] == [1, F(1, 2), F(1, 6)]


def test_minibatches_are_drawn_from_the_data():
    """Two samples with replacement halve the variance of one."""
    problem, everyone = LeastSquares([[[1], [2]]], [[0, 1]], batch=1), np.arange(1)
    alone = weighted(schedule([[True]]), [1])
    for batch in (1, 2, 3):
        one = setting("minibatch_sgd", problem, batch=batch)
        after = list(Engine(one, alone).moments(1))[1]
        variance = problem.noise_variance(one.x0[None, :], everyone)[0] / batch
        assert after.covariance("x")[0, 0] == one.hyper.global_lr**2 * variance > 0


def test_several_parameters_and_quadratic_functions():
    problem = DiagonalQuadratic([[1, 2], [3, 1]], [[0, 1], [2, -1]])
    one, scenario = setting("scaffold_2", problem, ("1/2", -1)), bernoulli([F(1, 3), F(1, 2)])
    exact = Engine(one, scenario)
    gap = exact.quadratic(lambda s: ((s["variate"] - full_gradient(problem, s["x"])) ** 2).sum(axis=-1))
    value = exact.quadratic(lambda s: problem.objective(s["x"]))
    gradient = exact.quadratic(lambda s: (full_gradient(problem, s["x"]) ** 2).sum(axis=-1))
    moments = list(exact.moments(2))[2]
    ends = [(p, states[-1].linear) for p, states in paths(one, scenario, 2)]
    assert moments.expected(value) == sum(p * problem.objective(s["x"]) for p, s in ends)
    assert moments.expected(gradient) == sum(p * (full_gradient(problem, s["x"]) ** 2).sum() for p, s in ends)
    gaps = [(p, ((s["variate"] - full_gradient(problem, s["x"])) ** 2).sum()) for p, s in ends]
    assert moments.expected(gap) == sum(p * g for p, g in gaps)
    assert moments.mean("variates").shape == (2, 2)
    assert (moments.mean("x") == sum(p * s["x"] for p, s in ends)).all()
    with pytest.raises(InputError, match="quadratic function"):
        exact.quadratic(lambda s: (s["x"] ** 3).sum(axis=-1))
    with pytest.raises(InputError, match="one of x, variate, variates"):
        moments.mean("cache")


# ---- long runs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fedavg", "fedamd", "amplified", "mifa_zero", "scaffold_2", "fedvarp", "wait_full"])
def test_stationary_moments_are_where_long_runs_end(name):
    """Both in one go and step by step, with noise, over a Markov chain of cohorts; several joint states."""
    noisy = DiagonalQuadratic([1.0, 2.0], [-1.0, 2.0], Additive(0.5))
    numbers = {key: float(v) if isinstance(v, F) else v for key, v in vars(METHODS[name][1]).items()}
    if "local_lr" in numbers:
        numbers["local_lr"] = 0.05
    one = Setting(METHODS[name][0], noisy, type(METHODS[name][1])(**numbers), [0.5])
    scenario = weighted(roles(markov([0.3, 0.5], [0.4, 0.2]), 0.3), [1.0, 0.5])
    exact = Engine(one, scenario)
    stationary = exact.stationary()
    last, _ = exact.after(2**12)
    _, average = exact.after(2**30)
    np.testing.assert_allclose(average.table, stationary.table, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        sum(m.table for m in (last, exact.after(2**12 + 1)[0])) / 2, stationary.table, rtol=1e-9, atol=1e-12
    )
    *_, hundredth = exact.moments(100)
    np.testing.assert_allclose(exact.after(100)[0].table, hundredth.table, rtol=1e-10, atol=1e-12)


def test_exact_averages_over_rounds():
    exact = Engine(setting("fedamd"), participation("fedamd"))
    *before, last = exact.moments(5)
    found, average = exact.after(5)
    assert (found.table == last.table).all()
    assert (average.table == sum(m.table for m in before) / 5).all()


@pytest.mark.parametrize("kind", [F, float])
def test_a_running_average_does_not_make_the_system_singular(kind):
    """FedLaAvg keeps the mean of its memory beside the memory: their difference never changes."""
    one = Setting(fedlaavg.fedlaavg, example_1(), fedlaavg.as_in_paper(kind(1) / 1000), [kind(1)])
    exact = Engine(one, bernoulli([F(1, 2), F(1, 3)]), ignore=["age"])
    moments = exact.stationary()
    # Away from zero, where the mean gradient vanishes, only by the memory's age.
    assert abs(moments.mean("x")[0]) < 0.01
    assert moments.mean("average")[0] == pytest.approx(moments.mean("latest").sum() / 2)
    assert 0.99 < exact.growth() < 1


def test_memory_of_clients_that_never_come_again_stays():
    """After a first round of everybody client 1 is gone; what it left behind is part of the solution."""
    one = setting("mifa_zero")
    scenario = in_turn(schedule([[True, True]]), 1, bernoulli([F(1, 2), 0]))
    left = run(one, schedule([[True, True]]), 1)[1].linear["latest"][1]
    moments = Engine(one, scenario).stationary()
    assert (moments.mean("latest")[1] == left).all()
    assert (moments.mean("latest")[0] == -left).all()  # the model comes to rest
    (fixed,) = Engine(one, in_turn(schedule([[True, True]]), 1, schedule([[True, False]]))).limit_cycle()
    assert (fixed.first == moments.first).all()


def test_limit_cycle_repeats_itself_and_attracts():
    """Amplification every 3 rounds under a schedule of 2: the cycle takes 6."""
    one, scenario = (
        setting("amplified", interval=3),
        weighted(schedule([[True, False], [True, True]]), [F(1, 3), F(1, 2)]),
    )
    exact = Engine(one, scenario)
    cycle = exact.limit_cycle()
    assert len(cycle) == 6
    again = run(replace(one, x0=cycle[0].mean("x")), scenario, 6)
    assert all((m.mean("x") == s.linear["x"]).all() for m, s in zip(cycle, again, strict=False))
    assert (again[6].linear["x"] == cycle[0].mean("x")).all()
    far = list(exact.moments(120))[120].mean("x") - cycle[0].mean("x")
    assert 0 < abs(far) < F(1, 10**6)
    average = sum(m.table for m in cycle) / 6
    assert (exact.stationary().table == average).all()
    assert (cycle[2].table == exact.stationary().given(0).table * 3 - cycle[0].table - cycle[4].table).all()


@pytest.mark.parametrize("option", [1, 2])
@pytest.mark.parametrize("local_lr", [F(1, 20), F(1, 1000)])
def test_in_floats_what_is_conserved_is_not_in_reach(option, local_lr):
    """SCAFFOLD's variate is the mean of those of its clients; rounding breaks that law, and it would never settle."""
    rng = np.random.default_rng([option, local_lr.denominator])
    problem = DiagonalQuadratic([1, 2, 4], [-1, "1/2", 2])
    drawn = [rng.random((rng.integers(2, 6), 3)) < 0.5 for _ in range(7)]
    for who in ([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]], *drawn):
        exact = Engine(Setting(scaffold, problem, Scaffold(local_lr, 1, option), ["1/3"]), schedule(who))
        floats = Engine(Setting(scaffold, problem, Scaffold(float(local_lr), 1, option), [1 / 3]), schedule(who))
        assert [len(span.pivots) for span in floats._chain()[0]._reach] == [
            len(span.pivots) for span in exact._chain()[0]._reach
        ]
        assert floats.growth() == pytest.approx(exact.growth(), rel=1e-12)
        for rounded, rational in zip(floats.limit_cycle(), exact.limit_cycle(), strict=True):
            np.testing.assert_allclose(rounded.first, rational.first.astype(float), rtol=1e-9, atol=1e-9)
        expected = exact.stationary().table.astype(float)
        np.testing.assert_allclose(floats.stationary().table, expected, rtol=1e-9, atol=1e-9)


def test_limit_cycle_with_noise_and_selection():
    """FedLaAvg that selects the least recently used of the available; the ages have to repeat first."""
    one = setting("fedlaavg", DiagonalQuadratic([1, 2, 1], [0, 1, 3], Additive(1)), local_lr=F(1, 20))
    scenario = selected(schedule([[True] * 3, [True, False, True]]), least_recently_used(1))
    exact = Engine(one, scenario)
    cycle = exact.limit_cycle()
    assert (sum(m.table for m in cycle) / len(cycle) == exact.stationary().table).all()
    chosen = [np.flatnonzero((b["latest"] != a["latest"]).any(axis=-1)).tolist() for a, b in _steps(one, scenario)]
    assert chosen == [[0], [2], [1], [0], [2], [0], [1], [2]]
    assert cycle[0].covariance("x")[0, 0] > 0


def _steps(one, scenario):
    quiet = replace(one, problem=DiagonalQuadratic([1, 2, 1], [0, 1, 3]))
    states = [state.linear for state in run(quiet, scenario, 8)]
    return list(pairwise(states))


def test_identical_clients_need_no_chance():
    """Sampling one of two equal clients is a deterministic run, with zero variance, whatever is drawn."""
    one = setting("fedavg", plus_minus_one(2), x0=[0])
    same_clients = replace(one, problem=DiagonalQuadratic([1, 1], [1, 1]))
    scenario = weighted(uniform_subsets(2, 1), [1, 1])
    assert list(Engine(same_clients, scenario).moments(4))[4].covariance("x") == 0
    assert list(Engine(one, scenario).moments(4))[4].covariance("x") > 0


def test_nobody_draws_noise_in_an_empty_round():
    """Enumerated noise gives the moments that its variance gives, rounds without participants included."""
    problem = DiagonalQuadratic([1, 2], [0, 1], Additive(1, "rademacher"))
    one = Setting(algorithms()["fedavg"], problem, algorithms()["fedavg"].hyper(F(1, 20)), [0])
    scenario = weighted(bernoulli([F(1, 2)] * 2), [1, 1])
    enumerated = list(Engine(one, scenario, enumerate_noise=True).moments(3))
    for ours, theirs in zip(enumerated, Engine(one, scenario).moments(3), strict=True):
        assert (ours.first == theirs.first).all()
        assert (ours.second == theirs.second).all()
    last = sum(p * flat(states[-1]) for p, states in paths(one, scenario, 2))
    assert (last == enumerated[2].first).all()


def test_a_flipping_curvature_is_only_seen_by_those_who_take_part():
    """One round from 1 by hand: client n moves by -(h_n (1 - c_n) + z) / 20 / 2, z = +-1/2, where it takes part."""
    problem = DiagonalQuadratic([1, 2], [0, 1], Multiplicative("1/2"))
    one = Setting(algorithms()["fedavg"], problem, algorithms()["fedavg"].hyper(F(1, 20)), [1])
    scenario = weighted(bernoulli([F(1, 2)] * 2), [1, 1])
    ends = [
        1 - F(on_a * (1 + a) + on_b * b, 40)
        for on_a in (0, 1)
        for on_b in (0, 1)
        for a in (F(-1, 2), F(1, 2))
        for b in (F(-1, 2), F(1, 2))
    ]
    after = list(Engine(one, scenario).moments(1))[1]
    assert after.first[0] == sum(ends) / 16
    assert after.second[0, 0] == sum(x * x for x in ends) / 16
    assert sum(p * flat(states[-1])[0] ** 2 for p, states in paths(one, scenario, 1)) == after.second[0, 0]
    assert Engine(one, scenario).stationary().first[0] == F(2, 3)


def test_paths_and_weights_read_numbers_as_the_engine_does():
    one = Setting(algorithms()["fedavg"], DiagonalQuadratic([1], [1]), algorithms()["fedavg"].hyper(F(1, 20)), [0])
    with pytest.raises(InputError, match="probability must be exact"):
        list(paths(one, weighted(bernoulli([0.5]), [1]), 1))
    floats = Setting(algorithms()["fedavg"], DiagonalQuadratic([1], [1]), algorithms()["fedavg"].hyper(0.05), [0.0])
    ends = [run(floats, weighted(bernoulli([1]), [weight]), 1)[1].linear["x"] for weight in ("1/2", 0.5)]
    assert ends[0] == ends[1] == 0.025
    with pytest.raises(InputError, match="weights must be"):
        list(paths(floats, weighted(bernoulli([1]), ["heavy"]), 1))
