"""Random scenarios for this half of the algorithms, and running an algorithm on them.

A scenario is everything that happens in a few rounds of a few clients with quadratic objectives, in small
rationals. The same scenario runs exactly, in floats and in torch, padded and shuffled in any way, and through the
reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sims.algorithms.protocol import Algorithm, Cohort, State
from sims.arrays import require_exact
from sims.problems.base import Draws
from sims.problems.local import local_update
from tests.sims.algorithms.reference_one import History

MOST_STEPS = 3


@dataclass(frozen=True)
class Scenario:
    """Fractions in object arrays: x0 (d,), curvature and centre (N, d), weights (T, N), noise (T, steps, N, d)."""

    x0: Any
    curvature: Any
    centre: Any
    weights: Any
    noise: Any
    extra_noise: Any
    cohorts: list[list[int]]

    @property
    def n_clients(self) -> int:
        return len(self.centre)


@st.composite
def scenarios(draw: st.DrawFn, one_client: bool = False) -> Scenario:
    """Up to 4 clients, 2 parameters and 6 rounds; cohorts are any sets of clients, also empty ones."""
    n, d, rounds = draw(st.integers(1, 4)), draw(st.integers(1, 2)), draw(st.integers(1, 6))
    cohort = st.lists(st.integers(0, n - 1), unique=True, max_size=1 if one_client else n)
    cohorts = draw(st.lists(cohort, min_size=rounds, max_size=rounds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Scenario(
        x0=small(rng, (d,)),
        curvature=small(rng, (n, d), least=0),
        centre=small(rng, (n, d)),
        weights=small(rng, (rounds, n), least=0),
        noise=small(rng, (rounds, MOST_STEPS, n, d)),
        extra_noise=small(rng, (rounds, n, d)),
        cohorts=cohorts,
    )


def small(rng: np.random.Generator, shape: tuple[int, ...], least: int = -8) -> Any:
    """Quarters between -2 (or 0) and 2."""
    return fractions(rng.integers(least, 9, shape)) / 4


def fractions(integers: Any) -> Any:
    return np.vectorize(lambda i: Fraction(int(i)), otypes=[object])(integers)


def example_1(
    times: tuple[int, int], centres: tuple[Any, Any], x0: Any, periods: int = 1, curvature: Any = 2
) -> Scenario:
    """FedLaAvg's Example 1: (x - e_i)^2 for two clients, available in turn for t_1 and t_2 rounds."""
    turns = [[0]] * times[0] + [[1]] * times[1]
    rounds = periods * len(turns)
    zero = np.full((rounds, MOST_STEPS, 2, 1), Fraction(0), dtype=object)
    return Scenario(
        x0=np.array([Fraction(x0)], dtype=object),
        curvature=np.array([[Fraction(curvature)]] * 2, dtype=object),
        centre=np.array([[Fraction(e)] for e in centres], dtype=object),
        weights=np.full((rounds, 2), Fraction(2), dtype=object),  # N / |S|: the plain average of participants
        noise=zero,
        extra_noise=zero[:, 0],
        cohorts=turns * periods,
    )


def limit(algorithm: Algorithm, hyper: Any, times: tuple[int, int], centres: tuple[Any, Any]) -> Fraction:
    """Where the model settles at the ends of periods of Example 1: the fixed point of the exact map of one period."""
    at_0, at_1 = (models(run(algorithm, hyper, example_1(times, centres, x0)))[-1][0] for x0 in (0, 1))
    return at_0 / (1 - (at_1 - at_0))


def history(scenario: Scenario) -> History:
    curvature, centre = scenario.curvature, scenario.centre
    return History(
        scenario.n_clients,
        scenario.cohorts,
        scenario.weights,
        scenario.noise,
        scenario.extra_noise,
        lambda n, y: curvature[n] * (y - centre[n]),
    )


# ---- running an algorithm --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quadratic:
    """The stochastic gradient is all that local updates ask of a problem. Tables are (N, d)."""

    curvature: Any
    centre: Any

    def stochastic_gradient(self, y: Any, clients: Any, draw: Any) -> Any:
        gradient = self.curvature[clients] * (y - self.centre[clients])
        return gradient if draw is None else gradient + draw


@dataclass(frozen=True)
class Slots:
    """A round's slots as lists: who stands where, and who counts."""

    clients: list[int]
    valid: list[bool]


def plain(scenario: Scenario) -> list[Slots]:
    """One slot for each participant; none in a round without any."""
    return [Slots(cohort, [True] * len(cohort)) for cohort in scenario.cohorts]


@st.composite
def padded(draw: st.DrawFn, scenario: Scenario, width: int = 6) -> list[Slots]:
    """The cohorts in any order, with padding anywhere between that names any client, also one that takes part."""
    rounds = []
    for cohort in scenario.cohorts:
        spare = st.integers(0, scenario.n_clients - 1)
        extra = draw(st.lists(spare, min_size=width - len(cohort), max_size=width - len(cohort)))
        slots = draw(st.permutations([(n, True) for n in cohort] + [(n, False) for n in extra]))
        rounds.append(Slots([n for n, _ in slots], [v for _, v in slots]))
    return rounds


def run(
    algorithm: Algorithm, hyper: Any, scenario: Scenario, kind: str = "exact", slots: list[Slots] | None = None
) -> list[State]:
    """The states after each round."""
    states = run_batch(algorithm, hyper, [scenario], kind, [slots or plain(scenario)])
    return [_replicate(state, 0) for state in states]


def run_batch(
    algorithm: Algorithm, hyper: Any, scenarios: Sequence[Scenario], kind: str, slots: Sequence[list[Slots]]
) -> list[State]:
    """Scenarios with the same objectives as replicates: the states after each round, with a leading batch axis.

    States are frozen before they are passed on, so that an algorithm that writes into its input fails.
    """
    array, _ = _makers(kind)
    hyper = hyper if kind == "exact" else in_floats(hyper)
    state = algorithm.init(hyper, array(np.stack([s.x0 for s in scenarios])), scenarios[0].n_clients)
    states = []
    for t in range(len(scenarios[0].cohorts)):
        _freeze(state)
        state = one_round(algorithm, hyper, state, t, scenarios, kind, slots)
        states.append(state)
        if kind == "exact":
            require_exact(state.linear)
    return states


def one_round(
    algorithm: Algorithm,
    hyper: Any,
    state: State,
    t: int,
    scenarios: Sequence[Scenario],
    kind: str,
    slots: Sequence[list[Slots]],
) -> State:
    """The state after what happens in round t of the scenarios, one of each replicate."""
    array, index = _makers(kind)
    problem = Quadratic(array(scenarios[0].curvature), array(scenarios[0].centre))
    clients = np.array([s[t].clients for s in slots], dtype=np.int64)
    valid = np.array([s[t].valid for s in slots], dtype=np.bool_)
    pairs = list(zip(scenarios, clients, strict=True))
    weight = np.stack([s.weights[t][c] for s, c in pairs])
    cohort = Cohort(index(clients), index(valid), scenarios[0].n_clients, array(weight))
    work = algorithm.work(state, cohort, hyper)
    assert work.steps <= MOST_STEPS
    noise = np.stack([s.noise[t][:, c] for s, c in pairs], axis=1)
    extra = np.stack([s.extra_noise[t][c] for s, c in pairs])
    draws = Draws(array(noise[: work.steps]), None if work.batch is None else array(extra))
    return algorithm.apply(state, cohort, local_update(problem, work, cohort, draws), hyper)  # type: ignore[arg-type]


def _makers(kind: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """How to make an array of numbers, and one of indices."""
    if kind == "torch":
        import torch

        return lambda a: torch.tensor(a.astype(float), dtype=torch.float64), torch.tensor
    return (lambda a: a) if kind == "exact" else (lambda a: a.astype(float)), np.asarray


def _freeze(state: State) -> None:
    for array in (*state.linear.values(), *state.discrete.values()):
        if isinstance(array, np.ndarray):
            array.setflags(write=False)


def _replicate(state: State, b: int) -> State:
    return State({k: v[b] for k, v in state.linear.items()}, {k: v[b] for k, v in state.discrete.items()})


def in_floats(hyper: Any) -> Any:
    """The same parameters with floats for Fractions."""
    return replace(hyper, **{f.name: _in_floats(getattr(hyper, f.name)) for f in fields(hyper)})


def _in_floats(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_in_floats(v) for v in value)
    return float(value) if isinstance(value, Fraction) else value


def models(states: list[State]) -> list[Any]:
    return [np.asarray(state.linear["x"]) for state in states]
