"""Warm caches: a round of all clients before the first, which costs what it costs and moves nothing."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Recorded, UniformSubset
from sims import preflight, roles
from sims.algorithms import fedamd
from sims.experiment import parse
from sims.problems.base import full_gradient
from sims.rounds import Setup, Simulation
from tests.sims.round_cases import plain, quadratic

N = 6


def setup(process=None, algorithm=fedamd.fedamd, batch=None, role=None, **options):
    hyper = fedamd.Hyper(0.05, 0.8, 3, batch)
    role = role or roles.constant(0.5)
    return Setup(quadratic(N), algorithm, hyper, process or UniformSubset(N, 2), roles=role, **options)


def simulation(one, rounds=5, seed=0):
    start = np.random.default_rng(9).normal(size=(3, one.problem.dimension))
    return Simulation(one, start, rounds, np.random.default_rng(seed))


@pytest.mark.parametrize("algorithm", [fedamd.fedamd, fedamd.fedamd_massive])
def test_caches_are_the_gradients_at_the_start(algorithm):
    cold, warm = (simulation(setup(algorithm=algorithm, warm=warm)) for warm in (False, True))
    x = warm.state.linear["x"]
    assert np.array_equal(x, cold.state.linear["x"])
    clients = np.broadcast_to(np.arange(N), (3, N))
    expected = warm.setup.problem.gradient(np.broadcast_to(x[:, None], (3, N, x.shape[1])), clients)
    np.testing.assert_allclose(warm.state.linear["caches"], expected, rtol=1e-13)
    assert not cold.state.linear["caches"].any()
    if algorithm is fedamd.fedamd_massive:
        np.testing.assert_allclose(warm.state.linear["direction"], full_gradient(warm.setup.problem, x), rtol=1e-12)


def test_the_round_costs_and_is_none_of_the_others():
    cold, warm = (simulation(setup(warm=warm)) for warm in (False, True))
    assert (warm.round, warm.record.taken) == (0, 0)
    assert np.array_equal(warm.costs.exact, cold.costs.exact + 1)
    assert np.array_equal(warm.costs.participations, cold.costs.participations + 1)
    assert not warm.costs.stochastic.any()
    assert (simulation(setup(batch=4, warm=True)).costs.stochastic == 4).all()


def test_it_is_the_cold_start_after_a_round_of_everybody_all_anchors():
    """Exact anchors, and miners who have no noise either: the trace alone decides."""
    trace = np.random.default_rng(3).random((7, N)) < 0.4
    trace[0] = True
    later, all_ = Recorded.from_matrix(trace[1:].astype(int)), Recorded.from_matrix(trace.astype(int))
    exact = quadratic(N, noise=0.0)

    def anchors(shift):
        return lambda round, cohort, rng: np.full(cohort.clients.shape, int((round + shift) % 3 == 0))

    warm = simulation(replace(setup(later, role=anchors(1), warm=True), problem=exact), 6)
    cold = simulation(replace(setup(all_, role=anchors(0)), problem=exact), 7)
    warm.advance()
    cold.advance()
    for name, values in cold.state.linear.items():
        np.testing.assert_allclose(warm.state.linear[name], values, rtol=1e-13, atol=1e-15)
    assert np.array_equal(warm.costs.participations, cold.costs.participations)


def test_a_checkpoint_of_a_warm_run_goes_on():
    whole, cut, rest = (simulation(setup(batch=2, warm=True)) for _ in range(3))
    whole.advance()
    cut.advance(2)
    rest.load_state_dict(cut.state_dict())
    rest.advance()
    assert np.array_equal(rest.state.linear["x"], whole.state.linear["x"])
    assert np.array_equal(rest.costs.stochastic, whole.costs.stochastic)


def test_what_has_no_caches_is_refused():
    with pytest.raises(InputError, match="warm must be false for fedavg, which has no caches to fill"):
        plain(warm=True)


CONTENT = {
    "kind": "simulate",
    "rounds": 5,
    "replicates": 2,
    "problem": {"name": "quadratic", "curvature": [1, 2, 4], "centre": [-1, 0, 2]},
    "process": {"name": "uniform-subset", "cohort_size": 2},
    "algorithm": {"name": "fedamd", "local_lr": 0.05, "roles": {"name": "constant", "probability": 0.5}},
}


def test_a_file_says_warm_and_a_cold_start_keeps_its_key():
    cold, warm = (parse(CONTENT | {"algorithm": CONTENT["algorithm"] | {"warm": w}}) for w in (False, True))
    assert parse(CONTENT).key == cold.key != warm.key
    assert "warm" not in json.loads(cold.canonical)["algorithm"][0]
    assert parse(json.loads(warm.canonical)).canonical == warm.canonical
    assert preflight.setup(warm.canonical, 0).warm
    assert not preflight.setup(cold.canonical, 0).warm
    with pytest.raises(InputError, match="warm"):
        parse(CONTENT | {"algorithm": CONTENT["algorithm"] | {"warm": "yes"}})


def test_a_file_can_ask_for_all_samples():
    every = parse(CONTENT | {"algorithm": CONTENT["algorithm"] | {"batch": "all"}})
    assert json.loads(every.canonical)["algorithm"][0]["batch"] == "all"
    assert preflight.setup(every.canonical, 0).hyper.batch is None
    with pytest.raises(InputError, match="batch must be a whole number"):
        parse(CONTENT | {"algorithm": CONTENT["algorithm"] | {"batch": "some"}})
