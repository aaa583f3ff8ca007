"""Quadratics with full matrices, and the exact constants of any quadratic with a strictly convex mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fltheory.errors import InputError
from sims.arrays import Array, array_namespace, is_exact
from sims.linear_algebra import solve
from sims.problems.analytic import Analytic
from sims.problems.base import Constants
from sims.problems.noise import Noise
from sims.problems.rational import Number
from sims.problems.tables import Table, alike, array, per_client, rational


class MatrixQuadratic(Analytic):
    """F_n(x) = (x - b_n)' H_n (x - b_n) / 2 with symmetric H_n (N, d, d), or one (d, d) for all, and centres (N, d).

    Exact for exact input, except that eigenvalues (L, mu, the PL constant) of matrices that are not diagonal are
    floats. The mean of the H_n must be positive definite.
    """

    def __init__(self, curvature: Any, centre: Any, noise: Noise | None = None) -> None:
        (self.centre,) = per_client(centre=centre)
        super().__init__(self.centre.shape, noise)
        matrices, self.centre = alike(array("curvature", curvature), self.centre)
        shape = (self.dimension, self.dimension)
        if matrices.shape not in (shape, (self.n_clients, *shape)):
            raise InputError("curvature", matrices.shape, f"of shape {shape} or {(self.n_clients, *shape)}")
        self.curvature = np.array(np.broadcast_to(matrices, (self.n_clients, *shape)))
        if (self.curvature != self.curvature.swapaxes(1, 2)).any():
            raise InputError("curvature", curvature, "symmetric")
        self._curvature, self._centre = Table("curvature", self.curvature), Table("centre", self.centre)

    arguments = ("curvature", "centre")

    def on_exact_numbers(self) -> MatrixQuadratic:
        return MatrixQuadratic(rational(self.curvature), rational(self.centre), self.noise)

    def value(self, y: Array, clients: Array) -> Array:
        away = y - self._centre.rows(clients, y)
        return array_namespace(y).sum(away * self.gradient(y, clients), axis=-1) / 2

    def gradient(self, y: Array, clients: Array) -> Array:
        away = y - self._centre.rows(clients, y)
        return array_namespace(y).sum(self._curvature.rows(clients, y) * away[..., None, :], axis=-1)

    def _constants(self) -> Constants:
        linear = (self.curvature * self.centre[:, None, :]).sum(axis=2)
        return quadratic_constants(self, self.curvature, linear, self.noise.std, self.noise.smoothness)


def quadratic_constants(
    problem: Analytic, curvature: Array, linear: Array, noise_std: Number, noise_smoothness: Number
) -> Constants:
    """Constants of a problem with F_n(x) = x' H_n x / 2 - c_n . x and a constant, for H (N, d, d), c (N, d).

    Raises InputError unless the mean of the H_n is positive definite.
    """
    n_clients = len(curvature)
    mean_curvature, mean_linear = curvature.sum(axis=0) / n_clients, linear.sum(axis=0) / n_clients
    spectrum = eigenvalues(mean_curvature)
    if spectrum.min() <= 1e-12 * np.abs(spectrum).max():  # eigenvalues are rounded
        raise InputError("curvature", mean_curvature, "positive definite on average over the clients")
    spectra = np.stack([eigenvalues(matrix) for matrix in curvature])
    near = solve(mean_curvature, mean_linear)
    minimiser, minimum = problem.lowest(near, lambda gradient: solve(mean_curvature, gradient))
    shared = (curvature == curvature[:1]).all()
    return Constants(
        smoothness=np.abs(spectra).max(),
        strong_convexity=max(spectra.min(), 0),
        polyak_lojasiewicz=spectrum.min(),
        noise_std=noise_std,
        noise_smoothness=noise_smoothness,
        heterogeneity=problem.heterogeneity_along(minimiser) if shared else math.inf,
        gradient_bound=math.inf,
        minimum=minimum,
        minimiser=minimiser,
        client_gradient_bound=math.inf,
    )


def eigenvalues(matrix: Array) -> Array:
    """Eigenvalues of a symmetric matrix (d, d); exact only for an exact diagonal one."""
    diagonal = np.diagonal(matrix)
    if is_exact(matrix) and (matrix == np.diag(diagonal)).all():
        return diagonal
    return np.linalg.eigvalsh(matrix.astype(np.float64))
