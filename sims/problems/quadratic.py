"""Diagonal quadratics: every algorithm is affine on them, so everything is exact.

The families of the papers are here: FedLaAvg's Example 1 and its form with several groups, FAST's +-1 family,
linear losses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.errors import InputError, count
from sims.arrays import Array, array_namespace, is_exact
from sims.problems.analytic import Analytic
from sims.problems.base import Constants
from sims.problems.noise import Noise
from sims.problems.rational import Number, norm, total
from sims.problems.tables import Table, per_client, rational

CANCELLED = 1e-8  # mean of curvatures, over the largest, below which floats leave too few digits of the minimum
MOST_CLIENTS = 100_000  # of a family that is given by a number of clients: exact sums over them take seconds here


class DiagonalQuadratic(Analytic):
    """F_n(x) = sum_j h_nj (x_j - b_nj)^2 / 2 + a_nj x_j, with curvatures h, centres b and slopes a.

    Each is a number, a list of N numbers (d = 1), or an array (N, d); given as ints, Fractions or strings such as
    "1/3" the constants are exact, and the problem takes exact models. Curvatures may be negative.

    >>> DiagonalQuadratic([1, 2, 4], [-1, "1/2", 2]).constants.minimiser
    array([Fraction(8, 7)], dtype=object)
    """

    def __init__(self, curvature: Any, centre: Any = 0, noise: Noise | None = None, *, slope: Any = 0) -> None:
        self.curvature, self.centre, self.slope = per_client(curvature=curvature, centre=centre, slope=slope)
        super().__init__(self.curvature.shape, noise)
        self._curvature, self._centre = Table("curvature", self.curvature), Table("centre", self.centre)
        self._slope = Table("slope", self.slope) if (self.slope != 0).any() else None

    arguments = ("curvature", "centre", "slope")

    def on_exact_numbers(self) -> DiagonalQuadratic:
        curvature, centre, slope = map(rational, (self.curvature, self.centre, self.slope))
        return DiagonalQuadratic(curvature, centre, self.noise, slope=slope)

    def value(self, y: Array, clients: Array) -> Array:
        away = y - self._centre.rows(clients, y)
        values = self._curvature.rows(clients, y) * away * away / 2
        if self._slope is not None:
            values = values + self._slope.rows(clients, y) * y
        return array_namespace(y).sum(values, axis=-1)

    def gradient(self, y: Array, clients: Array) -> Array:
        gradient = self._curvature.rows(clients, y) * (y - self._centre.rows(clients, y))
        return gradient if self._slope is None else gradient + self._slope.rows(clients, y)

    def _constants(self) -> Constants:
        """Heterogeneity is finite only where all clients have the same curvature."""
        curvature, linear = self.curvature, self.curvature * self.centre - self.slope
        mean_curvature, mean_linear = _means(curvature), _means(linear)
        cancelled = (mean_curvature != 0) & (np.abs(mean_curvature) <= CANCELLED * np.abs(curvature).max(axis=0))
        if not is_exact(curvature) and cancelled.any():
            raise InputError(
                "curvature", curvature, "exact (strings such as '1/10') where those of the clients all but cancel"
            )
        bounded = ((mean_curvature > 0) | ((mean_curvature == 0) & (mean_linear == 0))).all()
        curved = mean_curvature > 0
        minimiser = 0 * mean_linear
        minimiser[curved] = mean_linear[curved] / mean_curvature[curved]
        minimum: Any = -math.inf
        lojasiewicz: Any = 0
        if bounded:
            lojasiewicz = mean_curvature[curved].min() if curved.any() else math.inf
            steep = np.where(curved, mean_curvature, 1)
            minimiser, minimum = self.lowest(minimiser, lambda gradient: curved * gradient / steep)
        shared, flat = (curvature == curvature[:1]).all(), (mean_curvature == 0).all()
        return Constants(
            smoothness=np.abs(curvature).max(),
            strong_convexity=max(curvature.min(), 0),
            polyak_lojasiewicz=lojasiewicz,
            noise_std=self.noise.std,
            noise_smoothness=self.noise.smoothness,
            heterogeneity=self._distance_of_slopes() if shared else math.inf,
            gradient_bound=norm(mean_linear) if flat else math.inf,
            minimum=minimum,
            minimiser=minimiser if bounded else None,
            client_gradient_bound=max(norm(row) for row in linear) if (curvature == 0).all() else math.inf,
        )

    def _distance_of_slopes(self) -> Number:
        """Heterogeneity for one curvature, from distances to the first client: what all share must take no digits."""
        away = self.curvature * (self.centre - self.centre[0]) - (self.slope - self.slope[0])
        return max(norm(row) for row in away - _means(away))


def _means(table: Array) -> Array:
    """Means over the clients of (N, d); of floats correctly rounded sums, so that 0 is 0."""
    return np.array([total(column) for column in table.T], dtype=table.dtype) / len(table)


def groups(
    centres: Sequence[Any], curvatures: Any = 2, sizes: int | Sequence[int] = 1, noise: Noise | None = None
) -> DiagonalQuadratic:
    """Groups of clients that share a loss (a_i / 2)(x - e_i)^2: FedLaAvg's Example 1 with any number of groups.

    centres e_i and curvatures a_i: a number a group; sizes: clients of a group. Client ids go group by group.
    """
    centre, curvature = per_client(centres=centres, curvatures=curvatures)
    each = sizes if isinstance(sizes, Sequence) else [sizes] * len(centre)
    repeats = [count("sizes", size) for size in each]
    if len(repeats) != len(centre):
        raise InputError("sizes", sizes, f"one number or one for each of the {len(centre)} groups")
    if sum(repeats) > MOST_CLIENTS:
        raise InputError("sizes", sizes, f"of at most {MOST_CLIENTS:,} clients in all, over which constants are summed")
    return DiagonalQuadratic(np.repeat(curvature, repeats, axis=0), np.repeat(centre, repeats, axis=0), noise)


def example_1(centres: Sequence[Any] = (1, -1), noise: Noise | None = None) -> DiagonalQuadratic:
    """FedLaAvg, Example 1: two clients with losses (x - e_1)^2 and (x - e_2)^2."""
    problem = groups(centres, 2, 1, noise)
    if problem.n_clients != 2:
        raise InputError("centres", centres, "two numbers")
    return problem


def plus_minus_one(n_clients: int = 2, noise: Noise | None = None) -> DiagonalQuadratic:
    """FAST's test family: (x - 1)^2 / 2 for the first half of the clients, (x + 1)^2 / 2 for the others.

    L = mu = delta = 1 exactly, f = x^2/2 + 1/2.
    """
    if count("n_clients", n_clients, least=2) % 2:
        raise InputError("n_clients", n_clients, "even")
    if n_clients > MOST_CLIENTS:
        raise InputError("n_clients", n_clients, f"at most {MOST_CLIENTS:,}, over which constants are summed exactly")
    return groups((1, -1), 1, n_clients // 2, noise)


def linear(slopes: Any, noise: Noise | None = None) -> DiagonalQuadratic:
    """F_n(x) = a_n . x: no curvature, all heterogeneity; bounded below only if the slopes sum to zero."""
    return DiagonalQuadratic(Fraction(0), Fraction(0), noise, slope=slopes)
