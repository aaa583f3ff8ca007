"""What the exact engine must refuse."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest

from fltheory.errors import InputError
from sims.algorithms import fedamd, fedavg
from sims.algorithms.protocol import State
from sims.exact import Engine, Setting, engine, paths, run
from sims.problems.least_squares import LeastSquares
from sims.problems.noise import Additive, Multiplicative
from sims.problems.quadratic import DiagonalQuadratic, example_1, linear
from sims.problems.shifted import log_cosh
from sims.scenarios import Scenario, bernoulli, roles, schedule, selected, uniform_subsets, weighted
from sims.selection import least_recently_used
from tests.sims.exact_cases import QUADRATIC, participation, setting

BOTH = weighted(schedule([[True, True]]), [1, 1])


def test_refuses_an_algorithm_that_is_not_affine():
    def clipped(state, cohort, local, hyper):
        after = fedavg.apply(state, cohort, local, hyper)
        return State({"x": np.maximum(after.linear["x"], 0)})

    one = setting("fedavg")
    with pytest.raises(InputError, match="affine"):
        Engine(replace(one, algorithm=replace(one.algorithm, apply=clipped)), BOTH).after(1)
    curved = Setting(fedavg.fedavg, log_cosh([1.0, -1.0]), fedavg.Hyper(0.1), [0.0])
    with pytest.raises(InputError, match="affine"):
        Engine(curved, BOTH).stationary()


def test_refuses_noise_that_multiplies_and_discrete_states_that_look_at_the_model():
    def scaled(state, cohort, local, hyper):
        return State({"x": state.linear["x"] * local.delta[..., 0, :]})

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
    with pytest.raises(InputError, match=r"settle .*order 2 times 9 a round"):
        Engine(divergent, BOTH).stationary()
    with pytest.raises(InputError, match=r"settle .*order 1 times 3 a round"):
        Engine(divergent, BOTH).stationary_mean()
    alternating = Setting(fedavg.fedavg, example_1(), fedavg.Hyper(step), zero)
    for rows in ([[True, False], [False, True]], [[True, False]]):  # drifts by -4 a period, jumps from 0 to 2 and back
        with pytest.raises(InputError, match="settle"):
            Engine(alternating, weighted(schedule(rows), [2, 2])).limit_cycle()


def test_growth_before_the_long_run_counts():
    """Rounds that multiply x by -3 go on with probability 1/2, then it is halved: E x^2 grows by 9/2 all the same."""
    one = Setting(fedavg.fedavg, DiagonalQuadratic([4, F(1, 2)], 0), fedavg.Hyper(F(1)), [1])
    wild, calm = (weighted(schedule([who]), [2, 2]).outcomes(0, {})[0][1] for who in ([True, False], [False, True]))
    tossed = {"wild": [(F(1, 2), wild, "wild"), (F(1, 2), wild, "calm")], "calm": [(1, calm, "calm")]}
    exact = Engine(one, Scenario({"wild": 1}, lambda process, discrete: tossed[process]))
    before, after = list(exact.moments(9))[8:]
    assert after.second[0, 0] > 4 * before.second[0, 0]
    with pytest.raises(InputError, match=r"times 4\.5 a round"):
        exact.stationary()


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
    with pytest.raises(TypeError, match="not exact"):
        run(leaking, BOTH, 1)
    with pytest.raises(TypeError, match="not exact"):
        Engine(leaking, BOTH).after(1)
    for name, value in (("local_lr", 0.2), ("global_lr", np.float64(0.5)), ("local_lr", Decimal("0.2"))):
        with pytest.raises(InputError, match=f"{name} must be an int or a Fraction, as the model is exact; got "):
            setting("fedavg", **{name: value})
    with pytest.raises(InputError, match="weights must be an int or a Fraction"):
        setting("fedlaavg_code", weights=(0.25, 0.75))
    with pytest.raises(TypeError, match="is a float"):
        run(one, weighted(BOTH, [0.5, 0.5]), 1)
    with pytest.raises(InputError, match=r"probability must be exact .* got 0\.25"):
        Engine(one, weighted(bernoulli([0.5, 0.5]), [1, 1])).after(1)
    with pytest.raises(InputError, match="exact"):
        run(setting("fedavg", DiagonalQuadratic([1.0, 2.0])), BOTH, 1)
    with pytest.raises(InputError, match=r"local_lr must be a float or an int, .*; got 1/5$"):
        setting("fedavg", x0=[0.5])


@pytest.mark.parametrize("name", ["fedavg", "scaffold_2", "mifa", "fedlaavg"])
@pytest.mark.parametrize("clients", [1, 3])
def test_a_scenario_of_other_clients_than_the_problems_is_refused(name, clients):
    scenario = weighted(schedule([[True] * clients]), [1] * clients)
    says = f"scenario must be for 2 clients, as many as the problem has; got 'one for {clients} clients'"
    for wrong in (lambda: run(setting(name), scenario, 1), lambda: Engine(setting(name), scenario).after(1)):
        with pytest.raises(InputError, match=says):
            wrong()


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
    for problem, enumerated in (
        (DiagonalQuadratic([1, 1], 0, Multiplicative(1)), False),
        (LeastSquares([[[1], [2]], [[1], [3]]], [[1, 0], [2, 1]], batch=1), False),
        (DiagonalQuadratic([1, 1], 0, Additive(1, "rademacher")), True),
    ):
        noisy = Engine(setting("fedavg", problem), BOTH, enumerate_noise=enumerated)
        with pytest.raises(InputError, match=r"^noise must be additive and not enumerated in a limit cycle"):
            noisy.limit_cycle()
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
