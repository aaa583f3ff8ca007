"""A round as an affine map of the linear state, read off the algorithm by feeding it basis states."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fltheory.errors import InputError
from sims.algorithms.protocol import Cohort, State
from sims.arrays import Array
from sims.exact.draws import all_draws
from sims.exact.moments import Layout, close, unit_vectors
from sims.exact.setting import Setting, repeated
from sims.problems.base import Draws
from sims.problems.noise import Additive
from sims.problems.rational import scalar

Discrete = Mapping[str, Array]


@dataclass(frozen=True)
class Map:
    """One round for a fixed discrete state, cohort and draws: (1, s) -> matrix (1, s) + noise of that covariance.

    matrix and covariance are (1 + size, 1 + size); discrete is the discrete state after the round.
    """

    matrix: Array
    covariance: Array
    discrete: Discrete

    def push(self, table: Array) -> Array:
        """E[(1, s)(1, s)'] after the round, from that before; also where it is restricted to an event."""
        return self.matrix @ table @ self.matrix.T + table[0, 0] * self.covariance

    def after(self, first: Map) -> Map:
        """This round after another one."""
        return Map(self.matrix @ first.matrix, self.push(first.covariance) + self.covariance, self.discrete)


class Reader:
    """The maps of a setting, each read once.

    Additive noise stays noise: its covariance is read off by feeding unit draws. For other noise, and for all with
    `enumerate_noise`, there is one map for each value it can take.
    """

    def __init__(self, setting: Setting, enumerate_noise: bool = False, ignore: Collection[str] = ()) -> None:
        self.setting, self.ignore = setting, frozenset(ignore)
        initial = setting.initial()
        self.layout = Layout({name: values.shape[1:] for name, values in initial.linear.items()})
        self.start = self.layout.join(initial.linear)[0]
        self._ignored = {name: initial.discrete[name][0] for name in self.ignore if name in initial.discrete}
        if unknown := sorted(self.ignore - set(self._ignored)):
            raise InputError("ignore", unknown, f"names of discrete arrays, {sorted(initial.discrete)}")
        self.discrete = self._kept({name: values[0] for name, values in initial.discrete.items()})
        self._additive = isinstance(setting.noise, Additive) and not enumerate_noise
        self._maps: dict[Hashable, list[tuple[Any, Map]]] = {}

    def maps(self, discrete: Discrete, cohort: Cohort) -> list[tuple[Any, Map]]:
        """(probability, map) for what the gradient noise can do in a round.

        Raises InputError if a round is not affine in the linear state, or the discrete state depends on it.
        """
        key = (discrete_key(discrete), _cohort_key(cohort))
        if key not in self._maps:
            if self._additive:
                self._maps[key] = [(1, self._read(discrete, cohort, Draws(), self._covariance(discrete, cohort)))]
            else:
                work = self.setting.work(self._state(self.start[None], discrete), cohort)
                self._maps[key] = [
                    (self._number(probability), self._read(discrete, cohort, draws, 0))
                    for probability, draws in all_draws(self.setting.noise, cohort, work)
                ]
        return self._maps[key]

    def _read(self, discrete: Discrete, cohort: Cohort, draws: Draws, covariance: Array | int) -> Map:
        n = self.layout.size
        basis = unit_vectors(n, self.start)
        trial = basis.sum(axis=0) + np.cumsum(basis, axis=0).sum(axis=0)  # entries n + 1, n, ..., 2
        trials = [scale * trial for scale in (1, -1, 1000, -1000)]  # far out as well, for what is affine in places
        (zero, *images), after = self._round(np.stack([0 * trial, *basis, *trials]), discrete, cohort, draws)
        matrix = np.zeros_like(self.start, shape=(n + 1, n + 1))
        matrix[0, 0] = 1
        matrix[1:, 0] = zero
        for i in range(n):
            matrix[1:, i + 1] = images[i] - zero
        for point, image in zip(trials, images[n:], strict=True):
            size = np.abs(matrix[1:, 1:]) @ np.abs(point) + np.abs(zero)
            if not close(matrix[1:, 1:] @ point + zero, image, size):
                name = self.setting.algorithm.name
                raise InputError("setting", name, "affine in its linear state on a quadratic; a round is not")
        return Map(matrix, covariance + np.zeros_like(matrix), after)

    def _covariance(self, discrete: Discrete, cohort: Cohort) -> Array | int:
        """Covariance that additive noise leaves in (1, s): every number that is drawn is fed through on its own."""
        setting, slots, d = self.setting, np.flatnonzero(cohort.valid), self.setting.problem.dimension
        work = setting.work(self._state(self.start[None], discrete), cohort)
        variance = self._number(setting.noise.variance(d))
        extra = work.gradient_at is not None and work.batch is not None
        shape = (work.steps + extra, len(slots), d)
        places = int(np.prod(shape))
        if variance == 0 or places == 0:
            return 0
        units = unit_vectors(places, self.start)
        trial = np.cumsum(units, axis=0).sum(axis=0)
        # No draw, each unit draw, and at another state no draw and all of them, to see that it makes no difference.
        fed = np.concatenate([0 * trial[None], units, 0 * trial[None], trial[None]])
        draws = np.zeros_like(fed, shape=(work.steps + extra, len(fed), len(cohort.clients), d))
        draws[:, :, slots] = np.moveaxis(fed.reshape((len(fed), *shape)), 0, 1)
        states = np.repeat(0 * self.start[None], len(fed), axis=0)
        states[-2:] += 1
        steps, last = draws[: work.steps], draws[work.steps] if extra else None
        images, _ = self._round(states, discrete, cohort, Draws(steps if work.steps else None, last))
        columns = images[1:-2] - images[:1]
        if not close(images[-1] - images[-2], trial @ columns, np.abs(trial) @ np.abs(columns) + np.abs(images[-1])):
            raise InputError("setting", setting.algorithm.name, "one where noise adds to the state; here they multiply")
        total = np.zeros_like(units, shape=(columns.shape[1] + 1, columns.shape[1] + 1))
        for k, part in enumerate(columns.reshape((shape[0], -1, columns.shape[1]))):
            share = work.batch if k == work.steps else 1  # the extra gradient is an average of samples
            total[1:, 1:] += part.T @ part * variance / share
        return total

    def _round(self, states: Array, discrete: Discrete, cohort: Cohort, draws: Draws) -> tuple[Array, Discrete]:
        after = self.setting.round(self._state(states, discrete), cohort, draws)
        kept = self._kept(after.discrete)
        if any((values != values[:1]).any() for values in kept.values()):
            raise InputError("setting", self.setting.algorithm.name, "one whose discrete state ignores the linear one")
        return self.layout.join(after.linear), {name: values[0] for name, values in kept.items()}

    def _state(self, states: Array, discrete: Discrete) -> State:
        unseen = {name: np.full(values.shape, _Unseen(name)) for name, values in self._ignored.items()}
        arrays = {**discrete, **unseen}
        batch = states.shape[0]
        return State(self.layout.split(states), {name: repeated(values, batch) for name, values in arrays.items()})

    def _kept(self, discrete: Discrete) -> Discrete:
        return {name: values for name, values in discrete.items() if name not in self.ignore}

    def _number(self, value: Any) -> Any:
        return scalar("probability", value, self.start)


class _Unseen:
    """Stands for a number of a discrete array that is said not to matter: it can be counted on, but not looked at."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __add__(self, other: object) -> _Unseen:
        return self

    __radd__ = __add__

    def _look(self, *other: object) -> Any:
        raise InputError("ignore", self.name, "arrays that no round depends on; this one is looked at")

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __int__ = __index__ = __mod__ = __mul__ = _look


def discrete_key(discrete: Discrete) -> Hashable:
    """A discrete state as something that can be looked up."""
    return tuple((name, tuple(np.ravel(values).tolist())) for name, values in sorted(discrete.items()))


def _cohort_key(cohort: Cohort) -> Hashable:
    parts = (cohort.clients, cohort.valid, cohort.weight, cohort.role)
    return tuple(None if part is None else tuple(np.ravel(part).tolist()) for part in parts)
