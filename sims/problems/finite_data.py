"""Linear models on given data: each client has finitely many samples, a stochastic gradient uses some of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.errors import InputError, count
from sims.algorithms.protocol import Cohort, Work
from sims.arrays import Array, array_namespace, is_exact
from sims.problems.analytic import Analytic
from sims.problems.base import Draws
from sims.problems.matrix_quadratic import eigenvalues
from sims.problems.noise import Minibatch
from sims.problems.rational import Number, number, scalar
from sims.problems.tables import Table, alike, array, common


class FiniteData(Analytic):
    """F_n(x) = mean over the samples (a, y) of client n of loss(a . x, y), plus l2 ||x||^2 / 2.

    features    per client, a list of samples with d numbers each
    labels      per client, a number for each sample
    batch       samples of a stochastic gradient, drawn with replacement; None for exact gradients

    Raises InputError if labels and features do not match, or a client has no sample.
    """

    def __init__(self, features: Sequence[Any], labels: Sequence[Any], l2: Any = 0, batch: int | None = None) -> None:
        for argument, given in (("features", features), ("labels", labels)):
            if not isinstance(given, Sequence | np.ndarray):
                raise InputError(argument, given, "a list with an entry for each client")
        if len(features) != len(labels):
            raise InputError("labels", len(labels), f"given for each of the {len(features)} clients")
        samples = [array("features", rows) for rows in features]
        targets = [array("labels", values) for values in labels]
        if not samples or any(rows.ndim != 2 or 0 in rows.shape for rows in samples):
            raise InputError("features", features, "at least one sample with d numbers for every client")
        if len({rows.shape[1] for rows in samples}) > 1:
            raise InputError("features", [rows.shape[1] for rows in samples], "of the same dimension for all clients")
        if any(values.shape != rows.shape[:1] for rows, values in zip(samples, targets, strict=True)):
            raise InputError("labels", [values.shape for values in targets], "one number for each sample")
        self.sizes = np.array([len(rows) for rows in samples])
        shares = [array("shares", [Fraction(1, size)] * size) for size in map(int, self.sizes)]
        penalty = common([number("l2", l2, least=0)], (1,))
        self.features, self.labels, self.shares, (self.l2,) = alike(*map(_padded, (samples, targets, shares)), penalty)
        self._features, self._labels = Table("features", self.features), Table("labels", self.labels)
        self._shares = Table("shares", self.shares)
        self.minibatch = None if batch is None else Minibatch(self.sizes, count("batch", batch))
        super().__init__((len(samples), samples[0].shape[1]), None)

    arguments = ("features", "labels", "l2")

    @abstractmethod
    def loss(self, margin: Array, label: Array) -> Array:
        """Loss of the prediction a . x, elementwise."""

    @abstractmethod
    def loss_slope(self, margin: Array, label: Array) -> Array:
        """Its derivative by the prediction."""

    def value(self, y: Array, clients: Array) -> Array:
        xp = array_namespace(y)
        features, labels = self._features.rows(clients, y), self._labels.rows(clients, y)
        losses = self.loss(xp.sum(features * y[..., None, :], axis=-1), labels)
        penalty = scalar("l2", self.l2, y) * xp.sum(y * y, axis=-1) / 2
        return xp.sum(self._shares.rows(clients, y) * losses, axis=-1) + penalty

    def gradient(self, y: Array, clients: Array) -> Array:
        shares = self._shares.rows(clients, y)
        return array_namespace(y).sum(shares[..., None] * self._sample_gradients(y, clients), axis=-2)

    def stochastic_gradient(self, y: Array, clients: Array, draw: Array | None) -> Array:
        """Mean gradient of the samples with indices `draw` (..., S, batch); without a draw the exact gradient."""
        if draw is None:
            return self.gradient(y, clients)
        xp = array_namespace(y)
        index = draw if is_exact(y) else xp.asarray(draw, device=y.device)
        chosen = clients[..., None], index
        features, labels = self._features.like(y)[chosen], self._labels.like(y)[chosen]
        return xp.sum(self._gradients(y, features, labels), axis=-2) / draw.shape[-1]

    def draw(self, rng: np.random.Generator, cohort: Cohort, work: Work) -> Draws:
        """Indices of the samples that the clients of a cohort use in a round."""
        return Draws() if self.minibatch is None else self.minibatch.draw(rng, cohort, work)

    @property
    def samples(self) -> tuple[Any, Any]:
        """Samples of a stochastic gradient and of an exact one, for each client."""
        return self.sizes if self.minibatch is None else self.minibatch.batch, self.sizes

    def noise_variance(self, y: Array, clients: Array) -> Array:
        """E||stochastic - exact gradient||^2 of one draw at points (..., S, d): (..., S); exact on exact models."""
        xp, shares = array_namespace(y), self._shares.rows(clients, y)
        if self.minibatch is None:
            return 0 * xp.sum(y, axis=-1)
        away = self._sample_gradients(y, clients) - self.gradient(y, clients)[..., None, :]
        return xp.sum(shares * xp.sum(away * away, axis=-1), axis=-1) / self.minibatch.batch

    def _own_features(self) -> list[Array]:
        """Features without padding, (samples, d) for each client."""
        return [self.features[n, :size] for n, size in enumerate(self.sizes)]

    def _sample_gradients(self, y: Array, clients: Array) -> Array:
        """Gradients of all samples, (..., S, samples, d); those of padding have no share."""
        return self._gradients(y, self._features.rows(clients, y), self._labels.rows(clients, y))

    def _gradients(self, y: Array, features: Array, labels: Array) -> Array:
        slopes = self.loss_slope(array_namespace(y).sum(features * y[..., None, :], axis=-1), labels)
        return slopes[..., None] * features + scalar("l2", self.l2, y) * y[..., None, :]


def spread(hessians: Array) -> Number:
    """Largest eigenvalue of the mean of (H_i - mean H)^2, for Hessians (samples, d, d) of the samples."""
    if (hessians == hessians[:1]).all():
        return Fraction(0)  # exactly, where a rounded mean would leave a trace
    away = hessians - hessians.sum(axis=0) / len(hessians)
    return eigenvalues((away @ away).sum(axis=0) / len(hessians)).max()


def _padded(parts: list[Array]) -> Array:
    """Arrays (n_i, ...) as one (clients, max n_i, ...), filled with zeros; exact if all are."""
    longest = max(len(part) for part in parts)
    width = parts[0].shape[1:]
    rows = [[*part.ravel(), *[Fraction(0)] * ((longest - len(part)) * math.prod(width))] for part in parts]
    return common([value for row in rows for value in row], (len(parts), longest, *width))
