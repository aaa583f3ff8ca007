"""Setups and small runs of the round loop that several test files share."""

import math
from dataclasses import dataclass

import numpy as np

from fltheory.participation import Bernoulli, Cyclic, Markov, Permutation, UniformSubset
from sims import roles, schedules, selection
from sims.algorithms import bvr_l_sgd, fedamd, fedavg, fedlaavg, fedpage, mifa, scaffold
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.recorder import METRICS, Record
from sims.rounds import Setup, Simulation
from sims.weighting import (
    ExponentialAverage,
    FedAU,
    KnownRates,
)

CURVATURE, CENTRE, RATES = [1.0, 2.0, 4.0], [-1.0, 0.5, 2.0], [0.1, 0.5, 0.9]


EVERYTHING = tuple(name for name, metric in METRICS.items() if not metric.trains)


@dataclass(frozen=True)
class Rests:
    """Whoever took part rests in the next round; otherwise a coin decides."""

    n_clients: int

    def step(self, history, rng):
        coin = rng.random(history.shape[1:]) < 0.7
        return coin & ~history[-1] if len(history) else coin


def quadratic(n=3, noise=0.5):
    rng = np.random.default_rng(5)
    if n == 3:
        return DiagonalQuadratic(CURVATURE, CENTRE, Additive(noise))
    return DiagonalQuadratic(rng.uniform(1, 2, (n, 2)), rng.normal(size=(n, 2)), Additive(noise))


def plain(process=None, rule=None, lr=0.05, steps=5, **options):
    process = process or Bernoulli(RATES)
    hyper = fedavg.Hyper(lr, 1, steps)
    problem = options.pop("problem", None) or quadratic(process.n_clients)
    return Setup(problem, fedavg.fedavg, hyper, process, rule or FedAU(5), **options)


def run(setup, rounds, replicates=4, seed=0, what=("model",), every=1, until=None):
    record = Record(what, every, rounds)
    start = np.zeros((replicates, setup.problem.dimension))
    simulation = Simulation(setup, start, rounds, np.random.default_rng(seed), record)
    simulation.advance(until)
    return simulation


def same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].dtype == other[name].dtype, name
        assert one[name].tobytes() == other[name].tobytes(), name


def anchors():
    hyper = fedamd.Hyper(0.05, 1, 3, 2)
    return Setup(quadratic(6), fedamd.fedamd, hyper, Markov(np.full(6, 0.5)), roles=roles.constant(0.3))


SETUPS = {
    "fedau": plain,
    "exponential average": lambda: plain(rule=ExponentialAverage(0.2, 9)),
    "known rates, dropout": lambda: plain(Cyclic(RATES, 10), KnownRates(), dropout=0.3),
    "uniform": lambda: plain(Bernoulli(np.full(6, 0.6)), FedAU(math.inf), selection=selection.uniform(2)),
    "permutation": lambda: plain(Bernoulli(np.full(6, 0.6)), FedAU(4), selection=selection.permutation(2)),
    "snapshot": lambda: plain(
        Markov(np.full(6, 0.3)), selection=selection.snapshot(3, selection.all_available(), probability=0.2)
    ),
    "snapshots at intervals": lambda: plain(
        Markov(np.full(6, 0.3)), selection=selection.snapshot(3, selection.uniform(2), interval=4)
    ),
    "reactive": lambda: plain(Rests(3), FedAU(6)),
    "decay": lambda: plain(schedule=schedules.decay([10, 20], 0.5)),
    "mifa": lambda: Setup(quadratic(6), mifa.mifa, mifa.Hyper(0.05), Permutation(6, 2)),
    "scaffold": lambda: Setup(
        quadratic(6), scaffold.scaffold, scaffold.Hyper(0.05, 1, 3, option=1), UniformSubset(6, 3)
    ),
    "fedlaavg": lambda: Setup(
        quadratic(6),
        fedlaavg.fedlaavg,
        fedlaavg.Hyper(0.05),
        Bernoulli(np.full(6, 0.5)),
        selection=selection.least_recently_used(2),
    ),
    "fedamd": anchors,
    "fedpage": lambda: Setup(
        quadratic(6), fedpage.fedpage, fedpage.Hyper(0.05, 0.1), UniformSubset(6, 3), roles=roles.full_rounds(0.2)
    ),
    "bvr_l_sgd": lambda: Setup(
        quadratic(6), bvr_l_sgd.bvr_l_sgd, bvr_l_sgd.Hyper(0.05, 2, 3), UniformSubset(6, 3), roles=roles.one()
    ),
}
