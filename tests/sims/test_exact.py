"""The exact engine against every path run by the algorithm itself, its long runs, and what it must refuse."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest

from fltheory.errors import InputError
from sims.algorithms import fedamd, fedavg, fedlaavg, scaffold
from sims.algorithms.amplified import Hyper as Amplified
from sims.algorithms.amplified import WaitHyper, amplified, wait_full, wait_minibatch
from sims.algorithms.bvr_l_sgd import Hyper as BVR
from sims.algorithms.bvr_l_sgd import bvr_l_sgd
from sims.algorithms.fedavgm import Hyper as FedAvgM
from sims.algorithms.fedavgm import fedavgm
from sims.algorithms.fedpage import Hyper as FedPAGE
from sims.algorithms.fedpage import fedpage
from sims.algorithms.fedprox import Hyper as FedProx
from sims.algorithms.fedprox import fedprox
from sims.algorithms.fedsgd import Hyper as FedSGD
from sims.algorithms.fedsgd import fedsgd
from sims.algorithms.fedvarp import fedvarp
from sims.algorithms.mifa import Hyper as MIFA
from sims.algorithms.mifa import mifa
from sims.algorithms.minibatch_sgd import Hyper as MinibatchSGD
from sims.algorithms.minibatch_sgd import minibatch_sgd
from sims.algorithms.protocol import State
from sims.algorithms.sequential_sgd import Hyper as SequentialSGD
from sims.algorithms.sequential_sgd import sequential_sgd
from sims.exact import Engine, Setting, engine, paths, run
from sims.problems.base import full_gradient
from sims.problems.least_squares import LeastSquares
from sims.problems.noise import Additive, Multiplicative
from sims.problems.quadratic import DiagonalQuadratic, example_1, linear, plus_minus_one
from sims.problems.shifted import log_cosh
from sims.scenarios import bernoulli, in_turn, markov, roles, schedule, selected, uniform_subsets, weighted
from sims.selection import least_recently_used

LR = F(1, 5)
METHODS = {
    "fedavg": (fedavg.fedavg, fedavg.Hyper(LR, F(3, 2), 2)),
    "fedprox": (fedprox, FedProx(LR, F(1, 2), 1, 2)),
    "fedavgm": (fedavgm, FedAvgM(LR, F(1, 3))),
    "fedsgd": (fedsgd, FedSGD(LR)),
    "minibatch_sgd": (minibatch_sgd, MinibatchSGD(LR, 2)),
    "sequential_sgd": (sequential_sgd, SequentialSGD(LR, 2)),
    "amplified": (amplified, Amplified(LR, F(3, 2), 2)),
    "wait_minibatch": (wait_minibatch, WaitHyper(LR, 2)),
    "wait_full": (wait_full, WaitHyper(LR, 2)),
    "fedlaavg": (fedlaavg.fedlaavg, fedlaavg.as_in_paper(LR)),
    "fedlaavg_code": (fedlaavg.fedlaavg, fedlaavg.as_in_code(LR, 1, (F(1, 4), F(3, 4)))),
    "mifa": (mifa, MIFA(LR)),
    "mifa_zero": (mifa, MIFA(LR, wait=False)),
    "fedvarp": (fedvarp, fedavg.Hyper(LR)),
    "scaffold_1": (scaffold.scaffold, scaffold.Hyper(LR, option=1)),
    "scaffold_2": (scaffold.scaffold, scaffold.Hyper(LR, option=2)),
    "fedamd": (fedamd.fedamd, fedamd.Hyper(LR, 1, 2)),
    "fedamd_massive": (fedamd.fedamd_massive, fedamd.Hyper(LR)),
    "fedpage": (fedpage, FedPAGE(LR, LR)),
    "bvr_l_sgd": (bvr_l_sgd, BVR(LR, stage=2)),
}
ALL = pytest.mark.parametrize("name", METHODS)
QUADRATIC = DiagonalQuadratic([1, 3], [-1, 2])


def setting(name, problem=QUADRATIC, x0=(F(1, 2),), **changes):
    algorithm, hyper = METHODS[name]
    changes = {key: value for key, value in changes.items() if hasattr(hyper, key)}
    return Setting(algorithm, problem, replace(hyper, **changes), list(x0))


def one_at_a_time(name, scenario):
    return uniform_subsets(2, 1) if name == "sequential_sgd" else scenario


def participation(name):
    """Random cohorts, an empty one among them, with weights and roles."""
    return weighted(roles(one_at_a_time(name, bernoulli([F(1, 3), F(1, 2)])), F(1, 4)), [F(2, 3), F(5, 4)])


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


# ---- refusals ------------------------------------------------------------------------------------------------

BOTH = weighted(schedule([[True, True]]), [1, 1])


def test_refuses_an_algorithm_that_is_not_affine():
    def clipped(state, cohort, local, hyper):
        after = fedavg.apply(state, cohort, local, hyper)
        return State({"x": np.maximum(after.linear["x"], 0)})

    one = setting("fedavg")
    with pytest.raises(InputError, match="affine"):
        next(iter(Engine(replace(one, algorithm=replace(one.algorithm, apply=clipped)), BOTH).after(1)))
    cubed = Setting(fedavg.fedavg, log_cosh([1.0, -1.0]), fedavg.Hyper(0.1), [0.0])
    with pytest.raises(InputError, match="affine"):
        Engine(cubed, BOTH).stationary()


def test_refuses_noise_that_multiplies_and_discrete_states_that_look_at_the_model():
    def scaled(state, cohort, local, hyper):
        return State({"x": state.linear["x"] * (1 + 0 * local.delta[..., 0, :]) * local.delta[..., 0, :]})

    def counted(state, cohort, local, hyper):
        return State(
            fedavg.apply(state, cohort, local, hyper).linear, {"sign": (state.linear["x"] > 0).astype(int)[..., 0]}
        )

    one = Setting(fedavg.fedavg, linear([1, -1], Additive(1)), fedavg.Hyper(F(1, 10)), [0])
    with pytest.raises(InputError, match="multiply"):
        Engine(replace(one, algorithm=replace(one.algorithm, apply=scaled)), BOTH).after(1)
    with pytest.raises(InputError, match="discrete state ignores"):
        Engine(replace(one, algorithm=replace(one.algorithm, apply=counted)), BOTH).after(1)


@pytest.mark.parametrize("kind", [F, float])
def test_refuses_what_does_not_settle(kind):
    """A random walk, a divergent step, and Example 1 at step 1."""
    step, zero = kind(1), [kind(0)]
    walk = Setting(fedavg.fedavg, linear([1, -1], Additive(1)), fedavg.Hyper(step / 10), zero)
    with pytest.raises(InputError, match=r"settle .*times 1 a round"):
        Engine(walk, BOTH).stationary()
    divergent = Setting(fedavg.fedavg, QUADRATIC, fedavg.Hyper(step * 2), [kind(1)])
    with pytest.raises(InputError, match=r"settle .*times 9 a round"):
        Engine(divergent, BOTH).stationary()
    alternating = Setting(fedavg.fedavg, example_1(), fedavg.Hyper(step), zero)
    for rows in ([[True, False], [False, True]], [[True, False]]):  # drifts by -4 a period, jumps from 0 to 2 and back
        with pytest.raises(InputError, match="settle"):
            Engine(alternating, weighted(schedule(rows), [2, 2])).limit_cycle()


def test_mean_square_stability_is_not_stability_of_the_mean():
    """x is multiplied by 2 or by -1 with equal probability: the mean halves, the second moment grows by 5/2."""
    one = Setting(fedavg.fedavg, DiagonalQuadratic([1, -1], 0), fedavg.Hyper(F(1)), [1])
    scenario = weighted(uniform_subsets(2, 1), [4, 2])
    exact = Engine(one, scenario)
    assert list(exact.moments(3))[3].mean("x") == F(1, 8)
    assert exact.growth() == pytest.approx(F(5, 2))
    with pytest.raises(InputError, match=r"times 2\.5 a round"):
        exact.stationary()
    assert exact.stationary_mean()["x"] == 0


@pytest.mark.parametrize("kind", [F, float])
def test_settling_is_decided_as_by_the_growth(kind):
    """The positive solution that decides it exists exactly where the spectral radius is below 1."""
    decided = []
    for step in range(1, 16):
        one = Setting(fedamd.fedamd, QUADRATIC, fedamd.Hyper(kind(step) / 80), [kind(1)])
        exact = Engine(one, roles(uniform_subsets(2, 1), kind(1) / 4))
        try:
            exact.stationary()
            decided.append(True)
        except InputError:
            decided.append(False)
        assert decided[-1] == (exact.growth() < 1)
    assert 3 < sum(decided) < 12


def test_floats_do_not_slip_into_exact_runs():
    one = setting("fedavg")
    leaking = replace(one, algorithm=replace(one.algorithm, apply=lambda *args: _leak(fedavg.apply(*args))))
    for faulty in (leaking, setting("fedavg", local_lr=0.2)):
        with pytest.raises(TypeError, match="not exact"):
            run(faulty, BOTH, 1)
        with pytest.raises(TypeError, match="not exact"):
            Engine(faulty, BOTH).after(1)
    with pytest.raises(TypeError, match="is a float"):
        run(one, weighted(BOTH, [0.5, 0.5]), 1)
    with pytest.raises(InputError, match=r"probability must be exact .* got 0\.25"):
        Engine(one, weighted(bernoulli([0.5, 0.5]), [1, 1])).after(1)
    with pytest.raises(InputError, match="exact"):
        run(setting("fedavg", DiagonalQuadratic([1.0, 2.0])), BOTH, 1)
    with pytest.raises(InputError, match="in floats or ints if x0 is in floats"):
        Engine(setting("fedavg", x0=[0.5]), BOTH).after(1)


def _leak(state):
    return State({"x": state.linear["x"] * 1.0})


def test_what_is_ignored_must_not_matter():
    bound = setting("fedlaavg"), bernoulli([F(1, 2), F(1, 3)])
    free = [m.table for m in Engine(*bound).moments(3)]
    assert all((a == b.table).all() for a, b in zip(free, Engine(*bound, ignore=["age"]).moments(3), strict=True))
    with pytest.raises(InputError, match="looked at"):
        Engine(setting("mifa"), bound[1], ignore=["seen"]).after(1)
    with pytest.raises(InputError, match="looked at"):
        Engine(setting("amplified"), BOTH, ignore=["clock"]).after(1)
    with pytest.raises(InputError, match="names of discrete arrays"):
        Engine(bound[0], bound[1], ignore=["ages"])
    with pytest.raises(InputError, match='"age"'):
        Engine(bound[0], selected(bound[1], least_recently_used(1)), ignore=["age"]).after(1)


def test_other_bad_input(monkeypatch):
    one = setting("fedavg")
    halved = replace(BOTH, outcomes=lambda *state: [(F(1, 2), *rest) for _, *rest in BOTH.outcomes(*state)])
    with pytest.raises(InputError, match="add up to 1"):
        Engine(one, halved).after(1)
    with pytest.raises(InputError, match="without gradient noise"):
        run(one, participation("fedavg"), 1)
    with pytest.raises(InputError, match="single outcome"):
        Engine(one, participation("fedavg")).limit_cycle()
    with pytest.raises(InputError, match="rademacher"):
        list(paths(setting("fedavg", DiagonalQuadratic([1, 1], 0, Additive(1))), BOTH, 1))
    with pytest.raises(InputError, match="1 numbers"):
        setting("fedavg", x0=[0, 0])
    with pytest.raises(InputError, match="can be in"):
        Engine(one, BOTH).stationary().given(7)
    twice = replace(BOTH, start={0: F(1, 2), 1: F(1, 2)}, outcomes=lambda r, d: [(1, BOTH.outcomes(0, d)[0][1], r)])
    with pytest.raises(InputError, match="a single long run"):
        Engine(one, twice).stationary()
    monkeypatch.setattr(engine, "MOST_STATES", 50)
    with pytest.raises(InputError, match="at most 50 joint states"):
        Engine(setting("fedlaavg"), bernoulli([F(1, 2), F(1, 3)])).stationary()


def test_identical_clients_need_no_chance():
    """Sampling one of two equal clients is a deterministic run, with zero variance, whatever is drawn."""
    one = setting("fedavg", plus_minus_one(2), x0=[0])
    same_clients = replace(one, problem=DiagonalQuadratic([1, 1], [1, 1]))
    scenario = weighted(uniform_subsets(2, 1), [1, 1])
    assert list(Engine(same_clients, scenario).moments(4))[4].covariance("x") == 0
    assert list(Engine(one, scenario).moments(4))[4].covariance("x") > 0
