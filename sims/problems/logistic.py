"""l2-regularised logistic regression on given data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from fltheory.errors import InputError
from sims.arrays import Array, array_namespace, is_exact
from sims.problems.base import Constants, full_gradient
from sims.problems.finite_data import FiniteData


class Logistic(FiniteData):
    """F_n(x) = mean_i log(1 + exp(-y_ni a_ni . x)) + l2 ||x||^2 / 2 with labels +-1 and l2 > 0; floats only.

    L is attained at 0, mu = l2 far away in every direction that no sample is orthogonal to. Heterogeneity and noise
    are bounded, but their suprema have no closed form (None): use `heterogeneity_along` and `noise_variance`.
    """

    def __init__(self, features: Sequence[Any], labels: Sequence[Any], l2: Any, batch: int | None = None) -> None:
        super().__init__(features, labels, l2, batch)
        if self.l2 <= 0:
            raise InputError("l2", l2, "greater than 0, or there need be no minimiser")
        if (np.abs(self.labels[self.shares > 0]) != 1).any():
            raise InputError("labels", labels, "1 or -1")

    def loss(self, margin: Array, label: Array) -> Array:
        xp, agreement = array_namespace(margin), self._agreement(margin, label)
        size = xp.abs(agreement)
        return (size - agreement) / 2 + xp.log1p(xp.exp(-size))

    def loss_slope(self, margin: Array, label: Array) -> Array:
        half = self._agreement(margin, label) / 2
        return -label * (1 - array_namespace(margin).tanh(half)) / 2

    @staticmethod
    def _agreement(margin: Array, label: Array) -> Array:
        if is_exact(margin):
            raise InputError("model", margin, "floats (numpy or torch): the logistic loss has no exact values")
        return margin * label

    @cached_property
    def constants(self) -> Constants:
        steepest = max(np.linalg.eigvalsh(matrix)[-1] for matrix in self._hessians(np.zeros(self.dimension)))
        noisy = self.minibatch is not None
        return Constants(
            smoothness=float(steepest),
            strong_convexity=self.l2,
            polyak_lojasiewicz=self.l2,
            noise_std=None if noisy else Fraction(0),
            noise_smoothness=None if noisy else Fraction(0),
            heterogeneity=None if self.n_clients > 1 else Fraction(0),
            gradient_bound=math.inf,
            minimum=float(self.objective(self.minimiser)),
            minimiser=self.minimiser,
            client_gradient_bound=math.inf,
        )

    @cached_property
    def minimiser(self) -> Array:
        """By Newton's method, halving steps that do not shrink the gradient, until none does."""
        x = np.zeros(self.dimension)
        gradient = full_gradient(self, x)
        step = 1.0
        while step > 1e-6:
            direction = np.linalg.solve(self._hessians(x).mean(axis=0), gradient)
            nearer = x - step * direction
            there = full_gradient(self, nearer)
            if np.linalg.norm(there) < np.linalg.norm(gradient):
                x, gradient, step = nearer, there, 1.0
            else:
                step /= 2
        return x

    @property
    def minimum_error(self) -> float:
        """Certificate of the minimum: f(minimiser) - min f <= ||grad f(minimiser)||^2 / (2 l2)."""
        gradient = full_gradient(self, self.minimiser)
        return float(gradient @ gradient / (2 * self.l2))

    def _hessians(self, x: Array) -> Array:
        """Hessians of all clients at one model (d,), (N, d, d)."""
        features = self.features.astype(np.float64)
        # s (1 - s) = (1 - tanh^2(m / 2)) / 4, whatever the label
        weight = self.shares.astype(np.float64) * (1 - np.tanh(features @ x / 2) ** 2) / 4
        ridge = float(self.l2) * np.eye(self.dimension)
        return (weight[..., None, None] * features[..., :, None] * features[..., None, :]).sum(axis=1) + ridge
