"""Small random runs, exactly given, played by an algorithm on any backend or by a plain reference.

A scenario has two replicates, cohorts that differ in size (possibly empty) and stand in random slots, padding slots
with a random client's id, roles, weights, and samples of every stochastic gradient. A sample s changes a client's
gradient to h (y - b) + s y, so that two gradients differ unless they are taken on the same sample.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sims.algorithms.protocol import Algorithm, Cohort, Local, State
from sims.arrays import Array, is_exact
from sims.problems.base import Draws
from sims.problems.local import local_update

Convert = Callable[[Array], Array]


def exact(array: Array) -> Array:
    return array


def floats(array: Array) -> Array:
    return array.astype(float) if is_exact(array) else array


def tensors(array: Array) -> Array:
    import torch

    return torch.tensor(floats(array))


@dataclass(frozen=True)
class SampledQuadratic:
    """Clients with gradients h (y - b) + s y + bend y^2; curvature, centre (N, d)."""

    curvature: Array
    centre: Array
    bend: Any = 0

    def stochastic_gradient(self, y: Array, clients: Array, draw: Array | None) -> Array:
        curved = self.curvature[clients] * (y - self.centre[clients]) + self.bend * y * y
        return curved if draw is None else curved + draw * y


@dataclass(frozen=True)
class Slots:
    """One round: clients, valid, role (R, S), weight (R, S), samples of steps (K, R, S, d) and gradients (R, S, d)."""

    clients: Array
    valid: Array
    role: Array
    weight: Array
    steps: Array
    gradient: Array


@dataclass(frozen=True)
class Round:
    """The same for one replicate, by client id, as a reference reads it."""

    who: list[int]
    role: dict[int, int]
    steps: dict[int, list[Array]]
    large: dict[int, Array]


@dataclass(frozen=True)
class Scenario:
    curvature: Array
    centre: Array
    x0: Array
    rounds: list[Slots]

    @property
    def n_clients(self) -> int:
        return int(self.curvature.shape[0])

    def gradient(self, client: int, y: Array, sample: Array) -> Array:
        return self.curvature[client] * (y - self.centre[client]) + sample * y

    def of(self, replicate: int) -> list[Round]:
        found = []
        for slots in self.rounds:
            at = {int(slots.clients[replicate, s]): s for s in np.nonzero(slots.valid[replicate])[0]}
            found.append(
                Round(
                    list(at),
                    {i: int(slots.role[replicate, s]) for i, s in at.items()},
                    {i: list(slots.steps[:, replicate, s]) for i, s in at.items()},
                    {i: slots.gradient[replicate, s] for i, s in at.items()},
                )
            )
        return found


def eighths(rng: np.random.Generator, low: int, high: int, shape: tuple[int, ...]) -> Array:
    """Random multiples of 1/8 as Fractions."""
    values = rng.integers(low, high + 1, shape)
    out = np.empty(shape, dtype=object)
    out.reshape(-1)[:] = [Fraction(int(v), 8) for v in values.flat]
    return out


def scenario(
    seed: int,
    *,
    n_clients: int = 3,
    dimension: int = 2,
    rounds: int = 4,
    local_steps: int = 2,
    same_role: bool = False,
    hold: int = 1,
) -> Scenario:
    """A random scenario.

    same_role  one role for all slots of a replicate in a round
    hold       rounds for which a cohort stays; if above 1, none is empty
    """
    rng = np.random.default_rng(seed)
    shape = (2, n_clients + 1)
    played: list[Slots] = []
    for t in range(rounds):
        order = np.argsort(rng.random(shape), axis=-1)  # n_clients stands for no client
        chosen = rng.random(shape) < rng.choice([0, 0.6, 1], p=[0.1, 0.7, 0.2])
        if hold > 1:
            chosen[..., 0] |= order[..., 0] < n_clients
            chosen[..., 1] |= order[..., 1] < n_clients
        valid = chosen & (order < n_clients)
        clients = np.where(order < n_clients, order, rng.integers(0, n_clients, shape))
        if hold > 1 and t % hold:
            clients, valid = played[-1].clients, played[-1].valid
        role = np.broadcast_to(rng.integers(0, 2, (2, 1)), shape) if same_role else rng.integers(0, 2, shape)
        played.append(
            Slots(
                clients,
                valid,
                role.copy(),
                eighths(rng, 1, 24, shape),
                eighths(rng, -2, 2, (local_steps, *shape, dimension)),
                eighths(rng, -2, 2, (*shape, dimension)),
            )
        )
    table = (n_clients, dimension)
    return Scenario(eighths(rng, 1, 8, table), eighths(rng, -8, 8, table), eighths(rng, -8, 8, (2, dimension)), played)


def with_floats(hyper: Any) -> Any:
    """The same parameters with floats for Fractions."""
    values = {field.name: getattr(hyper, field.name) for field in dataclasses.fields(hyper)}
    return dataclasses.replace(hyper, **{k: float(v) for k, v in values.items() if isinstance(v, Fraction)})


def play(
    algorithm: Algorithm,
    hyper: Any,
    given: Scenario,
    to: Convert = exact,
    *,
    bend: Any = 0,
    prepare: Callable[[State, Cohort, Local], State] | None = None,
) -> Iterator[State]:
    """The states after each round. Samples of padding slots become NaN where there is one.

    `prepare` is for faulty variants: it may change the state between a client's work and the same work done again.
    """
    if to is not exact:
        hyper = with_floats(hyper)
    problem: Any = SampledQuadratic(to(given.curvature), to(given.centre), bend)
    state = algorithm.init(hyper, to(given.x0), given.n_clients)
    for slots in given.rounds:
        padding = ~slots.valid[..., None]
        samples = [
            to(array) if to is exact else to(np.where(padding, np.nan, floats(array)))
            for array in (slots.steps, slots.gradient)
        ]
        clients, valid, role, weight = (to(a) for a in (slots.clients, slots.valid, slots.role, slots.weight))
        cohort = Cohort(clients, valid, given.n_clients, weight=weight, role=role)
        if prepare is not None:
            local = local_update(problem, algorithm.work(state, cohort, hyper), cohort, Draws(*samples))
            state = prepare(state, cohort, local)
        local = local_update(problem, algorithm.work(state, cohort, hyper), cohort, Draws(*samples))
        state = algorithm.apply(state, cohort, local, hyper)
        yield state


def numbers(array: Array) -> Array:
    """Any backend's array as floats of numpy."""
    return np.asarray(array, dtype=float)
