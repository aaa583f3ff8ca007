"""What a run has cost: counted by hand from the trace of the same run."""

import numpy as np
import pytest

from fltheory.participation import Permutation, UniformSubset
from sims import roles
from sims.algorithms import bvr_l_sgd, fedamd, fedavg, fedlaavg, minibatch_sgd, scaffold
from sims.problems.least_squares import LeastSquares
from sims.rounds import Setup, Simulation
from sims.weighting import AverageAll

N, ROUNDS = 6, 9
SIZES = np.arange(1, N + 1)
RNG = np.random.default_rng(0)
FEATURES, LABELS = [RNG.normal(size=(n, 2)) for n in SIZES], [RNG.normal(size=n) for n in SIZES]


def costs(algorithm, hyper, batch=3, process=None, **options):
    problem = LeastSquares(FEATURES, LABELS, 0.1, batch)
    setup = Setup(problem, algorithm, hyper, process or Permutation(N, 2), **options)
    simulation = Simulation(setup, np.zeros((2, 2)), ROUNDS, np.random.default_rng(1))
    simulation.advance()
    return simulation.costs, problem


def test_every_permutation_asks_everybody_once():
    """Nine rounds of two clients are three passes over all six."""
    found, _ = costs(fedavg.fedavg, fedavg.Hyper(0.01, 1, 4), rule=AverageAll())
    assert (found.participations == 3).all()
    assert (found.stochastic == 12).all()


@pytest.mark.parametrize(
    ("algorithm", "hyper", "options", "stochastic", "exact", "vectors"),
    [
        (fedavg.fedavg, fedavg.Hyper(0.01, 1, 4), {"rule": AverageAll()}, 4, 0, 2),
        (fedlaavg.fedlaavg, fedlaavg.Hyper(0.01, 4), {}, 4, 0, 2),
        (minibatch_sgd.minibatch_sgd, minibatch_sgd.Hyper(0.01, 5), {"rule": AverageAll()}, 5, 0, 2),
        (scaffold.scaffold, scaffold.Hyper(0.01, 1, 4, option=1, batch=None), {}, 4, 1, 4),
        (scaffold.scaffold, scaffold.Hyper(0.01, 1, 4, option=1, batch=2), {}, 6, 0, 4),
        (fedamd.fedamd, fedamd.Hyper(0.01, 1, 4, None), {"roles": roles.constant(1)}, 0, 1, 3),
        (fedamd.fedamd, fedamd.Hyper(0.01, 1, 4, 7), {"roles": roles.constant(1)}, 7, 0, 3),
        (fedamd.fedamd, fedamd.Hyper(0.01, 1, 4, None), {"roles": roles.constant(0)}, 8, 0, 3),
    ],
)
def test_a_participation_costs(algorithm, hyper, options, stochastic, exact, vectors):
    found, problem = costs(algorithm, hyper, **options)
    assert (found.stochastic == 3 * stochastic).all()
    assert (found.exact == 3 * exact).all()
    assert found.vectors().tolist() == [3 * N * vectors] * 2
    assert found.samples(problem).tolist() == [3 * (stochastic * 3 * N + exact * SIZES.sum())] * 2


def test_roles_of_a_sequence_of_rounds():
    """Anchors in rounds 0, 3, 6, miners in the other six; two clients each."""
    found, _ = costs(fedamd.fedamd, fedamd.Hyper(0.01, 1, 4, None), roles=roles.sequential(3))
    assert found.exact.sum(axis=-1).tolist() == [6, 6]
    assert found.stochastic.sum(axis=-1).tolist() == [12 * 8] * 2


def test_one_client_of_a_stage_moves():
    """Stages of T = 2: report (exact), move, report (differences of 4), move; 9 rounds hold 4 moves of one client."""
    hyper = bvr_l_sgd.Hyper(0.01, 4, 2, None)
    found, _ = costs(bvr_l_sgd.bvr_l_sgd, hyper, process=UniformSubset(N, 3), roles=roles.one())
    assert found.exact.sum(axis=-1).tolist() == [3 * 3] * 2
    assert found.stochastic.sum(axis=-1).tolist() == [2 * 3 * 2 * 4 + 4 * 1 * 2 * 4] * 2


def test_exact_local_gradients_take_all_samples():
    found, problem = costs(fedavg.fedavg, fedavg.Hyper(0.01, 1, 4), batch=None, rule=AverageAll())
    assert found.samples(problem).tolist() == [3 * 4 * SIZES.sum()] * 2
