"""FedAMD on scalar quadratics in exact moments: E[z] and E[zz'] of z = (model, virtual average, caches).

A few lines that search quickly in floats and stay exact on Fractions; a test holds them against `sims.exact` on the
library's FedAMD. The virtual average is h_{t+1} = (1-q) h_t + q grad F(x_t), h_0 = grad F(x_0).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from analysis.checks.fedamd.miners import Miner, averaged

MODEL, VIRTUAL, CACHES = 0, 1, 2  # places in z; the caches go on from CACHES


@dataclass(frozen=True)
class Quadratics:
    """F_m = curvatures[m] x^2/2; step: eta_s eta_l; anchor_variance: sigma^2/b of one anchor's gradient.

    With `shadows` z goes on with the caches as they were without the anchors' noise.
    """

    curvatures: Sequence[Any]
    cohort_size: int
    local_lr: Any
    local_steps: int
    step: Any
    anchor_variance: Any = 0
    sample_variance: Any = 0
    shadows: bool = False

    @property
    def size(self) -> int:
        """Entries of z."""
        return CACHES + self.n_clients * (1 + self.shadows)

    @property
    def n_clients(self) -> int:
        return len(self.curvatures)

    @property
    def curvature(self) -> Any:
        """Of the objective."""
        return sum(self.curvatures) / self.n_clients

    @property
    def exact(self) -> bool:
        """Whether all numbers are ints and Fractions."""
        numbers = (*self.curvatures, self.local_lr, self.step, self.anchor_variance, self.sample_variance)
        return not any(isinstance(number, float) for number in numbers)

    def miner(self, client: int) -> Miner:
        return Miner(self.curvatures[client], self.local_lr, self.local_steps, self.sample_variance)

    def _zeros(self, *shape: int) -> Any:
        if not self.exact:
            return np.zeros(shape)
        return np.full(shape, Fraction(0), dtype=object)

    def round(self, probability: Any) -> tuple[Any, Any]:
        """One round: (E B, affine map of the upper triangle of E[zz'], with a leading constant 1)."""
        rows, _, place = _pairs(self.size)
        entries = len(rows)
        mean, second = self._zeros(self.size, self.size), self._zeros(entries + 1, entries + 1)
        second[0, 0] = second[0, 0] + 1
        for chance, anchors, miners in _groups(self.n_clients, self.cohort_size, probability):
            matrix, move, wander = self._moved(anchors, miners, probability)
            mean = mean + chance * matrix
            second[1:, 1:] = second[1:, 1:] + self._folded(chance * matrix, matrix)
            if wander:
                second[1] = second[1] + chance * wander * self.form(move)
            for client in anchors:
                entry = 1 + place[CACHES + client, CACHES + client]
                second[entry, 0] = second[entry, 0] + chance * self.anchor_variance
        return mean, second

    def _folded(self, left: Any, right: Any) -> Any:
        """Z -> left Z right' on upper triangles."""
        rows, columns, place = _pairs(self.size)
        if not self.exact:
            kept = rows * self.size + columns
            return np.kron(left, right)[kept] @ _folding(self.size)
        image = self._zeros(len(rows), len(rows))
        for i, j in itertools.product(range(self.size), repeat=2):
            image[:, place[i, j]] = image[:, place[i, j]] + left[rows, i] * right[columns, j]
        return image

    def _moved(self, anchors: Sequence[int], miners: Sequence[int], probability: Any) -> tuple[Any, Any, Any]:
        """E B of these groups, the mean cached gradient as a row, and the variance of the multiple of it."""
        matrix, direction = self._zeros(self.size, self.size), self.vector(caches=1)
        factor, square = averaged([self.miner(client) for client in miners])
        matrix[MODEL] = -self.step * factor * direction
        matrix[MODEL, MODEL] = matrix[MODEL, MODEL] + 1
        refresh = self.cohort_size * probability * _one(self.exact) / self.n_clients
        matrix[VIRTUAL, VIRTUAL], matrix[VIRTUAL, MODEL] = 1 - refresh, refresh * self.curvature
        for place in range(CACHES, self.size):
            client = (place - CACHES) % self.n_clients
            h = self.curvatures[client]
            matrix[place, MODEL if client in anchors else place] = h if client in anchors else _one(self.exact)
        return matrix, direction, self.step**2 * (square - factor**2)

    def start(self, model: Any, *, warm: bool = True) -> tuple[Any, Any]:
        """E[z] and (1, upper triangle of E[zz']) before round 0, with caches started by all clients, or zero."""
        rows, columns, place = _pairs(self.size)
        z = self._zeros(self.size)
        z[MODEL], z[VIRTUAL] = model, self.curvature * model
        if warm:
            z[CACHES:] = [h * model for h in self.curvatures] * (1 + self.shadows)
        second = self._zeros(len(rows) + 1)
        second[0] = _one(self.exact)
        second[1:] = z[rows] * z[columns]
        for client in range(self.n_clients if warm else 0):
            entry = 1 + place[CACHES + client, CACHES + client]
            second[entry] = second[entry] + self.anchor_variance
        return z, second

    def form(self, *vectors: Any) -> Any:
        """The row that reads the sum of E (v z)^2 off (1, upper triangle)."""
        _, _, place = _pairs(self.size)
        row = self._zeros(len(_pairs(self.size)[0]) + 1)
        for vector in vectors:
            entries = [(i, a) for i, a in enumerate(vector) if a]
            for (i, a), (j, b) in itertools.product(entries, entries):
                row[1 + place[i, j]] = row[1 + place[i, j]] + a * b
        return row

    def vector(self, *, model: Any = 0, virtual: Any = 0, caches: Any = 0) -> Any:
        """A row of z: multiples of the model, the virtual average and the mean cached gradient."""
        z = self._zeros(self.size)
        z[MODEL], z[VIRTUAL] = z[MODEL] + model, z[VIRTUAL] + virtual
        end = CACHES + self.n_clients
        z[CACHES:end] = z[CACHES:end] + caches * _one(self.exact) / self.n_clients
        return z

    def staleness(self) -> Any:
        """Rows of z: a client's last anchor gradient, free of noise, less its gradient, for every client."""
        rows = []
        for client, h in enumerate(self.curvatures):
            z = self.vector(model=-h)
            z[self.size - self.n_clients + client] = z[self.size - self.n_clients + client] + 1
            rows.append(z)
        return rows


@lru_cache
def _pairs(size: int) -> tuple[Any, Any, Any]:
    """Rows, columns of the upper triangle of E[zz'], and the place of every entry in it."""
    rows, columns = np.triu_indices(size)
    place = np.zeros((size, size), dtype=int)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    return rows, columns, place


@lru_cache
def _folding(size: int) -> Any:
    """The matrix that adds up what stands twice in E[zz']."""
    rows, _, place = _pairs(size)
    folded = np.zeros((size * size, len(rows)))
    folded[np.arange(size * size), place.ravel()] = 1
    return folded


def accumulating(matrix: Any, row: Any) -> Any:
    """The map with one more entry: the running sum of `row` before the round."""
    n = len(matrix)
    wide = np.full((n + 1, n + 1), matrix[0, 0] * 0)
    wide[:n, :n], wide[n, :n], wide[n, n] = matrix, row, wide[n, n] + 1
    return wide


def after(vector: Any, rounds: Iterable[tuple[Any, int]]) -> Any:
    """The vector after each map so many times; exact vectors without a single greatest common divisor on the way."""
    if vector.dtype != object:
        for matrix, times in rounds:
            vector = np.linalg.matrix_power(matrix, times) @ vector
        return vector
    whole, denominator = _over_one_denominator(vector)
    for matrix, times in rounds:
        step, scale = _over_one_denominator(matrix)
        for _ in range(times):
            whole, denominator = step @ whole, denominator * scale
    return np.array([Fraction(entry, denominator) for entry in whole], dtype=object)


def _over_one_denominator(values: Any) -> tuple[Any, int]:
    denominator = math.lcm(*(Fraction(v).denominator for v in values.ravel()))
    whole: Callable[[Any], Any] = np.vectorize(lambda v: int(v * denominator), otypes=[object])
    return whole(values), denominator


def _groups(n: int, size: int, probability: Any) -> Iterable[tuple[Any, tuple[int, ...], tuple[int, ...]]]:
    """(probability, anchors, miners) of a round, the impossible left out."""
    share = Fraction(1, math.comb(n, size))
    for cohort in itertools.combinations(range(n), size):
        for count in range(size + 1):
            chance = share * probability**count * (1 - probability) ** (size - count)
            if chance:
                for anchors in itertools.combinations(cohort, count):
                    yield chance, anchors, tuple(client for client in cohort if client not in anchors)


def _one(exact: bool) -> Any:
    return Fraction(1) if exact else 1.0
