"""One shape for all clients, tilted: the clients differ by linear terms, so the heterogeneity is exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fltheory.errors import InputError
from sims.arrays import Array, array_namespace, is_exact
from sims.problems.analytic import Analytic
from sims.problems.base import Constants
from sims.problems.noise import Noise
from sims.problems.rational import norm, root, total
from sims.problems.shapes import Shape, cosine_shape, geman_mcclure_shape, pl_sine_shape
from sims.problems.tables import Table, per_client


class Tilted(Analytic):
    """F_n(x) = a_n . x + sum_j phi(x_j) with slopes a_n (N, d) of mean zero, so that f = sum_j phi(x_j).

    Raises InputError if the slopes do not sum to zero exactly, and on exact models unless phi is rational.
    """

    def __init__(self, shape: Shape, slopes: Any, noise: Noise | None = None) -> None:
        (self.slopes,) = per_client(slopes=slopes)
        if any(total(column) != 0 for column in self.slopes.T):
            raise InputError("slopes", slopes, "of sum exactly 0 over the clients (strings such as '1/10' are exact)")
        super().__init__(self.slopes.shape, noise)
        self.shape, self._slopes = shape, Table("slopes", self.slopes)

    arguments = ("slopes",)

    def value(self, y: Array, clients: Array) -> Array:
        refuse_exact(self.shape, y)
        return array_namespace(y).sum(self.shape.value(y) + self._slopes.rows(clients, y) * y, axis=-1)

    def gradient(self, y: Array, clients: Array) -> Array:
        refuse_exact(self.shape, y)
        return self.shape.slope(y) + self._slopes.rows(clients, y)

    def _constants(self) -> Constants:
        shape, bounded = self.shape, math.isfinite(self.shape.bound)
        return Constants(
            smoothness=shape.smoothness,
            strong_convexity=0,
            polyak_lojasiewicz=shape.polyak_lojasiewicz,
            noise_std=self.noise.std,
            noise_smoothness=self.noise.smoothness,
            heterogeneity=max(norm(row) for row in self.slopes),
            gradient_bound=root(self.dimension * shape.bound**2) if bounded else math.inf,
            minimum=0,
            minimiser=0 * self.slopes[0],
            # phi' takes both signs of its bound, in every coordinate on its own
            client_gradient_bound=max(norm(shape.bound + np.abs(row)) for row in self.slopes) if bounded else math.inf,
        )


def refuse_exact(shape: Shape, model: Array) -> None:
    """InputError if a model is exact and the shape has no exact values."""
    if is_exact(model) and not shape.rational:
        raise InputError("model", model, f"floats (numpy or torch): {shape.name} of a rational is not rational")


def cosine(slopes: Any = 0, noise: Noise | None = None) -> Tilted:
    """F_n(x) = a_n . x + sum_j (1 - cos x_j): nonconvex, smooth, with bounded gradients."""
    return Tilted(cosine_shape(), slopes, noise)


def geman_mcclure(slopes: Any = 0, noise: Noise | None = None) -> Tilted:
    """F_n(x) = a_n . x + sum_j x_j^2 / (1 + x_j^2): nonconvex, bounded; takes exact models."""
    return Tilted(geman_mcclure_shape(), slopes, noise)


def pl_sine(slopes: Any = 0, noise: Noise | None = None) -> Tilted:
    """F_n(x) = a_n . x + sum_j x_j^2 + 3 sin^2 x_j: nonconvex, but f satisfies the Polyak-Lojasiewicz inequality."""
    return Tilted(pl_sine_shape(), slopes, noise)
