"""Least squares on given data: minibatch noise whose constants are exact."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sims.arrays import Array
from sims.problems.base import Constants
from sims.problems.finite_data import FiniteData, spread
from sims.problems.matrix_quadratic import quadratic_constants
from sims.problems.rational import Number, root


class LeastSquares(FiniteData):
    """F_n(x) = mean_i (a_ni . x - y_ni)^2 + l2 ||x||^2 / 2; takes exact models where data and l2 are exact.

    With features 1 it is estimation of a mean from samples y, FedLaAvg's Example 1 with its data.
    """

    def loss(self, margin: Array, label: Array) -> Array:
        return (margin - label) * (margin - label)

    def loss_slope(self, margin: Array, label: Array) -> Array:
        return 2 * (margin - label)

    def _constants(self) -> Constants:
        """Raises InputError if the mean Hessian is singular."""
        a, y, share = self.features, self.labels, self.shares
        ridge = self.l2 * np.eye(self.dimension, dtype=int)
        curvature = 2 * (share[..., None, None] * a[..., :, None] * a[..., None, :]).sum(axis=1) + ridge
        linear = (2 * (share * y)[..., None] * a).sum(axis=1)
        return quadratic_constants(self, curvature, linear, *self._noise_constants())

    def _noise_constants(self) -> tuple[Number, Number]:
        """The noise is 2 (a a' - mean aa') x less a part that does not depend on x."""
        if self.minibatch is None:
            return Fraction(0), Fraction(0)
        squares = max(spread(2 * rows[:, :, None] * rows[:, None, :]) for rows in self._own_features())
        if squares > 0:
            return math.inf, root(squares / self.minibatch.batch)
        origin, everyone = 0 * self.features[:, 0], np.arange(self.n_clients)
        return root(self.noise_variance(origin, everyone).max()), Fraction(0)
