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
from sims.problems.base import Constants, at_all_clients, full_gradient
from sims.problems.finite_data import FiniteData, spread
from sims.problems.rational import Number

LARGEST = 1e70
STEEPEST = 1e300  # square of a feature over l2: its logarithm bounds margins m at the minimiser, and exp(-m) is a loss
UNSURE = 1e-6  # part of the minimum by which it may be wrong where rounding stops Newton's method


class Logistic(FiniteData):
    """F_n(x) = mean_i log(1 + exp(-y_ni a_ni . x)) + l2 ||x||^2 / 2 with labels +-1 and l2 > 0; floats only.

    L is attained at 0, mu = l2 far away in every direction that no sample is orthogonal to. Heterogeneity and, of
    minibatches, noise_std and noise_smoothness are certified upper bounds (`Constants.upper`), whose suprema have no
    closed form: the slope of a sample's loss is within 1/2 of its slope at 0, its second derivative within 1/8 of the
    middle of [0, 1/4], and the rest is the triangle inequality. Each is exact (not in `upper`) where it is 0, and the
    noise also where it does not depend on the model. `heterogeneity_along` and `noise_variance` are exact at points.
    """

    def __init__(self, features: Sequence[Any], labels: Sequence[Any], l2: Any, batch: int | None = None) -> None:
        super().__init__(features, labels, l2, batch)
        if self.l2 <= 0:
            raise InputError("l2", l2, "greater than 0, or there need be no minimiser")
        largest = float(np.abs(self.features.astype(np.float64)).max())
        if largest > LARGEST:
            raise InputError("features", largest, f"at most {LARGEST:g} in size, as their fourth powers must be floats")
        if self.l2 < (least := largest**2 / STEEPEST):
            raise InputError("l2", l2, f"at least {least:g}, or losses at the minimiser are no floats")
        if (np.abs(self.labels[self.shares > 0]) != 1).any():
            raise InputError("labels", labels, "1 or -1")

    def loss(self, margin: Array, label: Array) -> Array:
        xp, agreement = array_namespace(margin), self._agreement(margin, label)
        size = xp.abs(agreement)
        return (size - agreement) / 2 + xp.log1p(xp.exp(-size))

    def loss_slope(self, margin: Array, label: Array) -> Array:
        return -label * _share(self._agreement(margin, label))

    @staticmethod
    def _agreement(margin: Array, label: Array) -> Array:
        if is_exact(margin):
            raise InputError("model", margin, "floats (numpy or torch): the logistic loss has no exact values")
        return margin * label

    def _constants(self) -> Constants:
        steepest = max(np.linalg.eigvalsh(matrix)[-1] for matrix in self._hessians(np.zeros(self.dimension)))
        heterogeneity, (noise_std, noise_smoothness) = self._heterogeneity(), self._noise_constants()
        bounds = {"heterogeneity": heterogeneity, "noise_smoothness": noise_smoothness}
        bounds |= {"noise_std": noise_std} if noise_smoothness else {}
        return Constants(
            smoothness=float(steepest),
            strong_convexity=self.l2,
            polyak_lojasiewicz=self.l2,
            noise_std=noise_std,
            noise_smoothness=noise_smoothness,
            heterogeneity=heterogeneity,
            gradient_bound=math.inf,
            minimum=float(self.objective(self.minimiser)),
            minimiser=self.minimiser,
            client_gradient_bound=math.inf,
            upper=frozenset(name for name, bound in bounds.items() if bound),
        )

    def _heterogeneity(self) -> Number:
        """Upper bound, ||grad F_n - grad f|| at 0 and half of what its samples' features weigh; 0 for equal clients."""
        if all((values == values[:1]).all() for values in (self.features, self.labels, self.shares)):
            return Fraction(0)
        gradients = self.gradient(*at_all_clients(self, np.zeros(self.dimension)))
        at_zero = np.linalg.norm(gradients - gradients.mean(axis=0), axis=1)
        lengths = np.array([np.linalg.norm(rows.astype(np.float64), axis=1).mean() for rows in self._own_features()])
        # samples of the client weigh 1 - 1/N, those of each other client 1/N
        return float((at_zero + ((1 - 2 / self.n_clients) * lengths + lengths.mean()) / 2).max())

    def _noise_constants(self) -> tuple[Number, Number]:
        """noise_std and noise_smoothness, of one sample the maxima over clients, then by the batch."""
        if self.minibatch is None:
            return Fraction(0), Fraction(0)
        at_zero = np.sqrt(self.noise_variance(np.zeros((self.n_clients, self.dimension)), np.arange(self.n_clients)))
        clients = zip(at_zero * math.sqrt(self.minibatch.batch), self._own_features(), strict=True)
        stds, slopes = zip(*(_noise_of(std, rows.astype(np.float64)) for std, rows in clients), strict=True)
        by_batch = math.sqrt(self.minibatch.batch)
        return max(stds) / by_batch, max(slopes) / by_batch if any(slopes) else Fraction(0)

    @cached_property
    def minimiser(self) -> Array:
        """By Newton's method, halving steps that do not shrink the gradient, until none does.

        Raises InputError where the gradient left does not certify the minimum to a millionth.
        """
        x = np.zeros(self.dimension)
        gradient = full_gradient(self, x)
        step = 1.0
        while step > 1e-6:
            try:
                direction = np.linalg.solve(self._hessians(x).mean(axis=0), gradient)
            except np.linalg.LinAlgError:
                raise self._flat() from None
            nearer = x - step * direction
            there = full_gradient(self, nearer)
            if np.abs(there).max() < np.abs(gradient).max():  # squares would underflow
                x, gradient, step = nearer, there, 1.0
            else:
                step /= 2
        if not self._excess(gradient) <= UNSURE * self.objective(x):
            raise self._flat()
        return x

    @property
    def minimum_error(self) -> float:
        """Certificate of the minimum: f(minimiser) - min f <= ||grad f(minimiser)||^2 / (2 l2)."""
        return self._excess(full_gradient(self, self.minimiser))

    def _excess(self, gradient: Array) -> float:
        """What the objective can be above its minimum where it has this gradient (d,)."""
        return float(gradient / float(self.l2) @ gradient / 2)

    def _flat(self) -> InputError:
        return InputError("l2", self.l2, "so large beside squares of the features that Newton's method works in floats")

    def _hessians(self, x: Array) -> Array:
        """Hessians of all clients at one model (d,), (N, d, d)."""
        features = self.features.astype(np.float64)
        margins = features @ x
        weight = self.shares.astype(np.float64) * _share(margins) * _share(-margins)  # whatever the label
        ridge = float(self.l2) * np.eye(self.dimension)
        return (weight[..., None, None] * features[..., :, None] * features[..., None, :]).sum(axis=1) + ridge


def _share(agreement: Array) -> Array:
    """1 / (1 + exp(agreement)), to all digits where it is small, as it is at the minimiser of separable data."""
    xp = array_namespace(agreement)
    size = xp.abs(agreement)
    return xp.exp(-(size + agreement) / 2) / (1 + xp.exp(-size))


def _noise_of(std: float, features: Array) -> tuple[float, float]:
    """noise_std and noise_smoothness of one sample of a client, from its noise at 0 and its features (samples, d).

    The noise is the deviation of c_i a_i from its mean, and that has no larger mean square than c_i a_i itself. Between
    two models c_i changes by w_i a_i . (u - v) with w_i in [0, 1/4].
    """
    products = features[:, :, None] * features[:, None, :]
    away = float(spread(products))
    if away == 0:  # all samples curve alike, so that the noise is the same everywhere
        return std, 0.0
    squares = (features * features).sum(axis=1)
    raw = np.linalg.eigvalsh((squares[:, None, None] * products).mean(axis=0)).max()
    return std + math.sqrt(squares.mean()) / 2, (math.sqrt(away) + math.sqrt(raw)) / 8
