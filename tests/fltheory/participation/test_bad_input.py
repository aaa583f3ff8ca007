"""Bad arguments of the constructors, and the examples of the docstrings."""

from __future__ import annotations

import doctest
import importlib
import math
import pkgutil
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import fltheory.participation
from fltheory.errors import InputError
from fltheory.participation import (
    Bernoulli,
    Cyclic,
    Markov,
    Periodic,
    Permutation,
    Recorded,
    UniformSubset,
    WeightedDraws,
)


@pytest.mark.parametrize("make", [Bernoulli, Markov, Cyclic])
@pytest.mark.parametrize(
    ("p", "message"),
    [
        (0, r"p must be in \(0, 1\]; got 0\.0"),
        (1.0001, r"p must be in \(0, 1\]; got 1\.0001"),
        (math.nan, r"p must be in \(0, 1\]; got nan"),
        ([0.5, math.nan], r"p must be in \(0, 1\]; got nan"),
        ([], "p must be a number or a one-dimensional array with at least one client"),
        ([[0.5]], "p must be a number or a one-dimensional array with at least one client"),
        ("half", r"p must be a number or array of numbers in \(0, 1\]; got 'half'"),
    ],
)
def test_bad_rates(make: type[Bernoulli], p: object, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        make(p)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Markov(0.1, max_enter=0), r"max_enter must be in \(0, 1\]; got 0\.0"),
        (lambda: Markov([0.1, 0.2], [0.1] * 3), r"max_enter must be a number, or one for each client \(2\)"),
        (lambda: Markov.from_stability(0.1, 1.0), r"stability must be in \[0, 1\); got 1\.0"),
        (lambda: Markov.from_stability(0.1, -0.1), r"stability must be in \[0, 1\); got -0\.1"),
        (lambda: Markov.from_stability(0.1, math.nan), r"stability must be in \[0, 1\); got nan"),
        (lambda: Markov.from_stability(0.1, "much"), "stability must be a number, or one for each client"),
        (lambda: Markov.from_stability(0.1, [0.1, 0.2]), "stability must be a number, or one for each client"),
        (lambda: Cyclic(0.1, period=0), "period must be a whole number of at least 1; got 0"),
        (lambda: Cyclic(0.9, period=2**63), r"period must be at most 2\*\*53; got 9223372036854775808"),
        (lambda: Cyclic(0.1, period=10**30), r"period must be at most 2\*\*53; got 1000000"),
        (lambda: Periodic([0], 10**10, 10**30), r"period must be at most 2\*\*53; got 1000000"),
        (lambda: Periodic([[0], [0, 1]], 1, 5), "groups must be a one-dimensional array of whole numbers"),
        (
            lambda: Bernoulli(0.1).sample(10**14, seed=0),
            r"rounds must be so few that a trace .* fit in memory; got 10000",
        ),
        (
            lambda: Recorded.from_events([0], [0], n_clients=10**12, n_rounds=10).sample(10, seed=0),
            r"n_clients must be at most 1e\+08 where there is a number for each client; got 1000000000000",
        ),
        (lambda: Markov(0.1).autocovariance(10**400), r"lag must be at most 2\*\*48; got 1000000"),
        (lambda: Markov(0.1).marginal().autocovariance(10**400), r"lag must be at most 2\*\*53; got 1000000"),
        (lambda: Bernoulli(0.1).sample(2**60, seed=0), r"rounds must be at most 2\*\*48; got 1152921"),
        (
            lambda: Bernoulli(np.full(10**5, 1e-9)).sample_events(2**47, seed=0),
            "rounds must be at most 92233720368547 for 100000 clients; got 140737488355328",
        ),
        (
            lambda: WeightedDraws(stats.pareto(1e-3), 20, 3),
            "law must be a distribution whose draws and their sum fit in a float",
        ),
        (
            lambda: WeightedDraws(stats.uniform(0, 1e308), 200, 3, interpretation="weights"),
            "law must be a distribution whose draws and their sum fit in a float",
        ),
        (lambda: Cyclic(0.1, preset="paper"), 'preset must be "as_in_paper" or "as_in_code"; got \'paper\''),
        (lambda: Periodic([0.0], 1, 1), "groups must be a one-dimensional array of whole numbers"),
        (lambda: Periodic([-1, 0], 1, 1), "groups must be a one-dimensional array of whole numbers"),
        (lambda: Periodic([], 1, 1), "groups must be a one-dimensional array of whole numbers"),
        (lambda: Periodic([0, 1], 3, 5), "period must be at least on times the number of groups = 6; got 5"),
        (lambda: Periodic([0], 0, 5), "on must be a whole number of at least 1; got 0"),
        (lambda: Periodic([0], 1, 5, offset="now"), 'offset must be "random", "first_turn" or a whole number'),
        (lambda: Periodic([0], 1, 5, offset=-1), "offset must be a whole number of at least 0; got -1"),
        (lambda: Periodic.block_cyclic(2, 3, 1), "n_groups must be at most the number of clients, 2; got 3"),
        (lambda: Periodic.diurnal(2, 3, -1), "off must be a whole number of at least 0; got -1"),
        (lambda: UniformSubset(3, 4), "cohort_size must be at most the number of clients, 3; got 4"),
        (lambda: UniformSubset(3, True), "cohort_size must be a whole number of at least 1; got True"),
        (lambda: Permutation(7, 2), "cohort_size must be a divisor of the number of clients, 7; got 2"),
        (
            lambda: WeightedDraws("normal", 9, 2),
            "law must be beta, gamma, weibull or a frozen scipy.stats distribution",
        ),
        (lambda: WeightedDraws(stats.norm(), 9, 2), "law must be beta, gamma, weibull or a frozen scipy.stats"),
        (lambda: WeightedDraws(7, 9, 2), "law must be beta, gamma, weibull or a frozen scipy.stats distribution"),
        (lambda: WeightedDraws("beta", 9, 2, interpretation="rank"), 'interpretation must be "index" or "weights"'),
        (
            lambda: WeightedDraws(stats.uniform(0.05, 0.1), 10, 3, normalise=False),
            "cohort_size must be at most the number of clients ever drawn, 2; got 3",
        ),
        (
            lambda: WeightedDraws(stats.uniform(2, 1), 10, 3, normalise=False),
            "cohort_size must be at most the number of clients ever drawn, 0; got 3",
        ),
    ],
)
def test_bad_parameters(build: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        build()


TWO_EVENTS = {"clients": [0, 1], "rounds": [1, 2], "n_clients": 2, "n_rounds": 3}


@pytest.mark.parametrize(
    ("process", "expected"),
    [
        (Bernoulli(0.1), r"1\.1e\+11"),
        (Markov([0.1, 0.2]), r"3\.3e\+11"),
        (Cyclic(0.1), r"1\.1e\+11"),
        (UniformSubset(5, 2), r"2\.2e\+12"),
        (Permutation(6, 2), r"2\.2e\+12"),
        (WeightedDraws("beta", 6, 2), r"2\.2e\+12"),
        (Recorded.from_events(**TWO_EVENTS, end="repeat"), r"7\.3e\+11"),
        (Recorded.from_events(**TWO_EVENTS, end="hold"), r"1\.1e\+12"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_more_participations_than_can_be_held_are_refused_before_any_is_drawn(process, expected: str) -> None:
    sentence = (
        rf"^rounds must be so few that at most 1e\+09 participations are expected, not {expected}; got 1099511627776$"
    )
    with pytest.raises(InputError, match=sentence):
        process.sample_events(2**40, seed=0)


@pytest.mark.parametrize(
    "use",
    [
        lambda: Recorded.from_events([5], [5], n_clients=10**12, n_rounds=10).rate,
        lambda: Recorded.from_events([5], [5], n_clients=10**12, n_rounds=10).max_gap,
        lambda: Recorded.from_events([5], [5], n_clients=10**12, n_rounds=10).autocovariance(1),
        lambda: Recorded.from_events([5], [5], n_clients=10**12, n_rounds=10).interval_law(),
        lambda: UniformSubset(10**12, 3).rate,
        lambda: Permutation(10**12, 10**6),
        lambda: WeightedDraws("beta", 10**12, 10),
        lambda: Periodic.block_cyclic(10**12, 5, 1),
        lambda: Periodic.diurnal(10**12, 5, 1),
    ],
)
def test_more_clients_than_an_array_should_have(use: Callable[[], object]) -> None:
    with pytest.raises(
        InputError, match=r"^n_clients must be at most 1e\+08 where there is a number for each client; got"
    ):
        use()


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(fltheory.participation.__path__)])
def test_examples(name: str) -> None:
    module = importlib.import_module(f"fltheory.participation.{name}")
    assert doctest.testmod(module, extraglobs={"np": np}).failed == 0


def test_every_process_is_exported() -> None:
    for name in fltheory.participation.__all__:
        assert hasattr(fltheory.participation, name)
