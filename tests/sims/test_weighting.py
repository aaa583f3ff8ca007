"""Weights of an estimator of one's own in the round loop."""

import math

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli
from fltheory.weights import FedAUWeights
from sims.algorithms.fedavg import Hyper, fedavg
from sims.problems.quadratic import DiagonalQuadratic
from sims.recorder import Record
from sims.rounds import Setup, Simulation
from sims.weighting import FedAU, FromEstimator


def simulation(rule):
    problem = DiagonalQuadratic([1, 2, 4], [-1, 0, 2])
    setup = Setup(problem, fedavg, Hyper(0.05), Bernoulli([0.2, 0.5, 0.9]), rule)
    what = Record(("objective", "participations"), every=1, rounds=30)
    return Simulation(setup, np.ones((4, 1)), 30, np.random.default_rng(1), what)


def test_an_estimator_is_followed_replicate_by_replicate_and_through_a_checkpoint():
    own = FromEstimator(lambda n_clients: FedAUWeights(n_clients, cutoff=5))
    expected, half, found = simulation(FedAU(5)), simulation(own), simulation(own)
    expected.advance()
    half.advance(11)
    found.load_state_dict(half.state_dict())
    found.advance()
    assert len(np.unique(expected.state.linear["x"])) == 4
    assert np.array_equal(found.state.linear["x"], expected.state.linear["x"])


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "ones",
        [1.0] * 11,
        [[1.0] * 12],
        [math.nan] * 12,
        [-1.0] * 12,
        [math.inf] * 12,
        [1j] * 12,
        ["1"] * 12,
        [10**400] * 12,
        np.full(12, np.datetime64("2024-01-31")),
    ],
)
def test_bad_weights_are_told_as_such_and_not_as_a_step_that_is_too_long(bad):
    class Broken(FedAUWeights):
        def update(self, participated):
            super().update(participated)
            return bad

    run = simulation(FromEstimator(lambda n_clients: Broken(n_clients, cutoff=5)))
    with pytest.raises(InputError, match=r"^weights of Broken must be 12 finite numbers of at least 0, one a client"):
        run.advance()


class Own(FedAUWeights):
    def __init__(self, n_clients):
        super().__init__(n_clients, cutoff=5)


@pytest.mark.parametrize("rule", [Own, Own(3), FedAU, "fedau", Own.update])
def test_what_is_no_rule_is_told_how_an_estimator_becomes_one(rule):
    with pytest.raises(InputError, match=r"^rule must be a rule of sims.weighting, .* FromEstimator\(make\), where"):
        simulation(rule)


@pytest.mark.parametrize("make", [3, lambda: None, lambda n_clients, cutoff: None])
def test_what_makes_no_estimator_is_told_as_such(make):
    with pytest.raises(InputError, match=r"^make must be a function of the number of clients; got"):
        FromEstimator(make)


def own(**methods):
    """An estimator with these in place of its own."""
    return FromEstimator(type("Broken", (Own,), methods))


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (FromEstimator(lambda n: None), "what make gives must be .* also has weights, update, state_dict, load_state"),
        (FromEstimator(lambda n: Own), "what make gives must be an estimator, not the class of one; got"),
        (own(update=None), "what make gives must be an estimator that also has update; got"),
        (own(state_dict=None, load_state_dict=3), "what make gives must .* also has state_dict, load_state_dict; got"),
        (own(update=lambda self: None), "update of Broken must be a method that is called with one argument; got"),
        (own(state_dict=lambda self, more: {}), "state_dict of Broken must be a method that is called with nothing;"),
        (own(load_state_dict=lambda self: None), "load_state_dict of Broken must be a method .* one argument; got"),
        (own(state_dict=lambda self: None), r"state_dict\(\) of Broken must be a mapping of names .*; got None"),
        (own(state_dict=lambda self: [1]), r"state_dict\(\) of Broken must be a mapping"),
        (own(state_dict=lambda self: {1: 1}), r"state_dict\(\) of Broken must be a mapping"),
        (own(state_dict=lambda self: {"t": None}), r"t in state_dict\(\) of Broken must be an array .*; got None"),
        (own(state_dict=lambda self: {"t": [[1], []]}), r"t in state_dict\(\) of Broken must be an array of numbers"),
    ],
)
def test_what_an_estimator_lacks_is_named_before_the_run(rule, told):
    with pytest.raises(InputError, match=f"^{told}"):
        simulation(rule)


def test_numbers_and_lists_are_a_state_too():
    class Listed(Own):
        def state_dict(self):
            return {name: array.tolist() for name, array in super().state_dict().items()}

    half, found, expected = (simulation(FromEstimator(Listed)) for _ in range(3))
    half.advance(11)
    found.load_state_dict(half.state_dict())
    found.advance()
    expected.advance()
    assert np.array_equal(found.state.linear["x"], expected.state.linear["x"])


def test_an_estimator_that_writes_into_its_argument_changes_no_record():
    class Writes(FedAUWeights):
        def update(self, participated):
            weights = super().update(participated)
            participated[:] = True
            return weights

    plain, writing = (
        simulation(FromEstimator(lambda n_clients, kind=kind: kind(n_clients, cutoff=5)))
        for kind in (FedAUWeights, Writes)
    )
    plain.advance()
    writing.advance()
    assert np.array_equal(plain.state.linear["x"], writing.state.linear["x"])
    for name, values in plain.record.arrays().items():
        assert np.array_equal(values, writing.record.arrays()[name]), name
