"""What the problems of this folder share: f as the plain mean of the F_n, and noise on top of exact gradients."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from fltheory.errors import InputError
from sims.algorithms.protocol import Cohort, Work
from sims.arrays import Array, array_namespace, is_exact
from sims.problems.base import Constants, Draws, at_all_clients, full_gradient
from sims.problems.noise import Additive, Noise
from sims.problems.rational import Number, root


class Analytic(ABC):
    """A problem whose objectives have a formula; without noise its stochastic gradients are the exact ones.

    arguments           names of the numbers that it is made of, which are also its attributes
    on_exact_numbers    gives the same problem with them as Fractions, for constants on whose way floats overflow or
                        underflow; None where its constants are no exact numbers
    """

    arguments: tuple[str, ...]
    on_exact_numbers: Callable[[], Analytic] | None = None

    def __init__(self, shape: tuple[int, int], noise: Noise | None) -> None:
        """`shape` is (clients, parameters)."""
        self.n_clients, self.dimension = shape
        self.noise = noise or Additive(0)

    @cached_property
    def constants(self) -> Constants:
        """The exact constants; InputError where floats do not hold one of them."""
        twin = None if is_exact(getattr(self, self.arguments[0])) else self.on_exact_numbers
        try:
            with np.errstate(all="raise", under="raise" if twin else "ignore"):
                return _finite(self._constants())
        except ArithmeticError:
            pass
        try:
            if twin:
                return _finite(_as_floats(twin()._constants()))
        except OverflowError:
            pass
        sizes = {name: max(map(abs, np.ravel(getattr(self, name)).tolist())) for name in self.arguments}
        raise InputError(" and ".join(self.arguments), sizes, "of sizes at which floats hold the problem's constants")

    @abstractmethod
    def _constants(self) -> Constants:
        """The constants, computed where floats that overflow raise ArithmeticError."""

    @abstractmethod
    def value(self, y: Array, clients: Array) -> Array:
        """F_n of the clients (..., S), each at its own point (..., S, d): (..., S)."""

    @abstractmethod
    def gradient(self, y: Array, clients: Array) -> Array:
        """Exact gradients of the clients (..., S), each at its own point (..., S, d): (..., S, d)."""

    def objective(self, x: Array) -> Array:
        """f at models (..., d): (...)."""
        return array_namespace(x).sum(self.value(*at_all_clients(self, x)), axis=-1) / self.n_clients

    def stochastic_gradient(self, y: Array, clients: Array, draw: Array | None) -> Array:
        """Gradients (..., S, d) for draws (..., S, width) of the noise; without a draw the exact ones."""
        gradient = self.gradient(y, clients)
        return gradient if draw is None else self.noise.disturb(gradient, y, draw)

    def draw(self, rng: np.random.Generator, cohort: Cohort, work: Work) -> Draws:
        """A round's random numbers for a cohort."""
        return self.noise.draw(rng, cohort, work)

    def lowest(self, near: Array, newton: Callable[[Array], Array]) -> tuple[Array, Number]:
        """Minimiser and minimum of a quadratic f, from a minimiser computed from linear terms; exact if that is.

        newton   gradient -> inverse of the mean curvature times it, (d,) each

        Linear terms of floats are rounded by more than the clients differ where all centres are far from 0. Gradients
        at distances from the centres are not: a step along one mends the minimiser, and the next one tells what the
        value there is above the minimum, as the minimiser itself is rounded.
        """
        if is_exact(near):
            return near, self.objective(near)
        gradient = full_gradient(self, near)
        while True:  # a step mends as many digits as the curvature's condition leaves
            nearer = near - newton(gradient)
            there = full_gradient(self, nearer)
            if not np.abs(there).max() < np.abs(gradient).max():
                break
            near, gradient = nearer, there
        return near, self.objective(near) - (gradient * newton(gradient)).sum() / 2

    def heterogeneity_along(self, points: Array) -> Number:
        """max over clients and the given models (..., d) of ||grad F_n - grad f||; exact for exact models.

        Proofs use the heterogeneity only at the iterates, so this may stand in for an infinite supremum.
        """
        gradients = self.gradient(*at_all_clients(self, points))
        xp = array_namespace(points)
        gaps = gradients - xp.sum(gradients, axis=-2, keepdims=True) / self.n_clients
        if is_exact(points):
            return root(xp.max(xp.sum(gaps * gaps, axis=-1)))
        unit = float(xp.max(xp.abs(gaps))) or 1.0  # squares would overflow or underflow
        return unit * math.sqrt(float(xp.max(xp.sum((gaps / unit) ** 2, axis=-1))))


def _as_floats(constants: Constants) -> Constants:
    """Exact constants, rounded; OverflowError where one of them is larger than floats are."""
    given = vars(constants).items()
    rounded: dict[str, Any] = {name: float(value) for name, value in given if isinstance(value, Fraction)}
    if constants.minimiser is not None:
        rounded["minimiser"] = constants.minimiser.astype(np.float64)
    return replace(constants, **rounded)


def _finite(constants: Constants) -> Constants:
    """The constants; OverflowError where one is NaN, or infinite though it has a value."""
    curvatures = constants.smoothness, constants.strong_convexity, constants.noise_smoothness
    at_minimum = () if constants.minimiser is None else (constants.minimum, *constants.minimiser)
    if not all(isinstance(value, Fraction) or math.isfinite(value) for value in (*curvatures, *at_minimum)):
        raise OverflowError("a constant that is not finite")
    return constants
