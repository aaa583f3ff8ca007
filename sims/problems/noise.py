"""Gradient noise: how a stochastic gradient differs from the exact one.

Each kind makes a round's draws as numpy arrays, says how a draw disturbs a gradient, and states sigma (`std`) and
L_sigma (`smoothness`). Kinds with finitely many outcomes list them, so that expectations need no Monte Carlo.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from array_api_compat import to_device

from fltheory.errors import InputError, one_of
from sims.algorithms.protocol import Cohort, Work
from sims.arrays import Array, array_namespace, as_exact, is_exact
from sims.problems.base import Draws
from sims.problems.rational import Number, number, root, scalar

KINDS = ("gaussian", "rademacher", "uniform")


class Noise(Protocol):
    """Noise of mean 0 in a gradient."""

    @property
    def std(self) -> Number:
        """sigma: sup over points of (E||noise||^2)^(1/2), for one draw."""

    @property
    def smoothness(self) -> Number:
        """L_sigma: least L with E||noise(u) - noise(v)||^2 <= L^2 ||u - v||^2, for one draw at both points."""

    def draw(self, rng: np.random.Generator, cohort: Cohort, work: Work) -> Draws:
        """A round's draws for a cohort; the one for the extra gradient is averaged over `work.batch` samples.

        There is none for an extra gradient that is exact (`work.batch` is None).
        """

    def outcomes(self, dimension: int) -> tuple[Array, Array]:
        """All values of one draw (n_outcomes, width) and their probabilities; InputError if not finitely many."""

    def disturb(self, gradient: Array, y: Array, draw: Array) -> Array:
        """The stochastic gradient at y (..., S, d) for draws (..., S, width)."""


@dataclass(frozen=True)
class Additive:
    """Noise added to the gradient, independent of the point, of mean 0 and E||noise||^2 = std^2.

    kind: "gaussian", "rademacher" (each parameter +-std/sqrt(d), independently) or "uniform" (bounded by
    std sqrt(3/d)). An exact model needs Rademacher noise with a rational std/sqrt(d).
    """

    std: Any
    kind: str = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "std", number("std", self.std, least=0))
        if not math.isfinite(float(self.std) * float(self.std)):
            raise InputError("std", self.std, "a number whose square is finite")
        if self.kind not in KINDS:
            raise InputError("kind", self.kind, one_of(str(self.kind), KINDS))

    @property
    def smoothness(self) -> Number:
        return Fraction(0)

    def variance(self, dimension: int) -> Number:
        """Variance of each of the `dimension` parameters of one draw."""
        return self.std**2 / dimension

    def outcomes(self, dimension: int) -> tuple[Array, Array]:
        if self.std == 0:
            return as_exact([[0] * dimension]), as_exact([1])
        if self.kind != "rademacher":
            raise InputError("kind", self.kind, "'rademacher', the only one with finitely many outcomes")
        signs = as_exact(list(itertools.product((-1, 1), repeat=dimension)))
        scale = root(self.variance(dimension))
        values = signs * scale if isinstance(scale, Fraction) else signs.astype(np.float64) * scale
        return values, as_exact([Fraction(1, 2**dimension)] * 2**dimension)

    def draw(self, rng: np.random.Generator, cohort: Cohort, work: Work) -> Draws:
        if self.std == 0:
            return Draws()
        width, exact = work.start.shape[-1], is_exact(work.start)
        scale = root(self.variance(width))
        if exact and not (self.kind == "rademacher" and isinstance(scale, Fraction)):
            raise InputError("noise", self, "Rademacher with a rational std / sqrt(dimension) for an exact model")
        scale = scalar("std", scale, work.start)
        return _draws(lambda shape: self._sample(rng, shape, exact) * scale, cohort, work, width)

    def _sample(self, rng: np.random.Generator, shape: tuple[int, ...], exact: bool) -> Array:
        """Independent numbers of mean 0 and variance 1."""
        if self.kind == "gaussian":
            return rng.standard_normal(shape)
        if self.kind == "rademacher":
            return _signs(rng, shape, exact)
        return rng.uniform(-math.sqrt(3), math.sqrt(3), shape)

    def disturb(self, gradient: Array, y: Array, draw: Array) -> Array:
        return gradient + as_draw(draw, y)


@dataclass(frozen=True)
class Multiplicative:
    """A curvature that flips: s * smoothness * y is added, with one sign s = +-1 a sample.

    On F = h x^2 / 2 a sample's loss is (h + s z) x^2 / 2 with z the `smoothness` (FedAMD, Assumption 4.3 with
    L_sigma = z). The variance z^2 ||y||^2 has no bound: `std` is infinite.
    """

    smoothness: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "smoothness", number("smoothness", self.smoothness, least=0))

    @property
    def std(self) -> Number:
        return math.inf if self.smoothness else Fraction(0)

    def outcomes(self, dimension: int) -> tuple[Array, Array]:
        return as_exact([[-1], [1]]), as_exact(["1/2", "1/2"])

    def draw(self, rng: np.random.Generator, cohort: Cohort, work: Work) -> Draws:
        exact = is_exact(work.start)
        return _draws(lambda shape: _signs(rng, shape, exact), cohort, work, 1)

    def disturb(self, gradient: Array, y: Array, draw: Array) -> Array:
        return gradient + as_draw(draw, y) * scalar("smoothness", self.smoothness, y) * y


@dataclass(frozen=True, eq=False)
class Minibatch:
    """Which samples of its finite data set a client uses: indices, uniform and with replacement.

    sizes    number of samples of each client, int (N,)
    batch    samples a stochastic gradient averages
    """

    sizes: Array
    batch: int = 1

    def draw(self, rng: np.random.Generator, cohort: Cohort, work: Work) -> Draws:
        sizes = self.sizes[np.asarray(to_device(cohort.clients, "cpu"))][..., None]
        high = self.sizes[0] if (self.sizes == self.sizes[0]).all() else sizes  # a common bound is much faster
        shape = sizes.shape[:-1]
        steps = rng.integers(0, high, (work.steps, *shape, self.batch)) if work.steps else None
        if work.gradient_at is None or work.batch is None:
            return Draws(steps)
        return Draws(steps, rng.integers(0, high, (*shape, self.batch * work.batch)))

    def outcomes(self, dimension: int) -> tuple[Array, Array]:
        size = int(self.sizes[0])
        if (self.sizes != size).any():
            raise InputError("sizes", self.sizes, "the same for all clients, for a common list of outcomes")
        values = np.array(list(itertools.product(range(size), repeat=self.batch)))
        return values, as_exact([Fraction(1, len(values))] * len(values))


def as_draw(draw: Array, y: Array) -> Array:
    """A draw, made with numpy, in the kind of `y` (its precision and device); exact models take exact draws only."""
    if is_exact(y):
        if is_exact(draw):
            return draw
        if np.issubdtype(draw.dtype, np.integer):
            return as_exact(draw)
        raise InputError("draw", draw, "exact rationals for an exact model")
    floats = draw.astype(np.float64) if is_exact(draw) else draw
    return array_namespace(y).asarray(floats, dtype=y.dtype, device=y.device)


def _draws(sample: Callable[[tuple[int, ...]], Array], cohort: Cohort, work: Work, width: int) -> Draws:
    shape = (*cohort.clients.shape, width)
    steps = sample((work.steps, *shape)) if work.steps else None
    if work.gradient_at is None or work.batch is None:
        return Draws(steps)
    total = sample(shape)
    for _ in range(work.batch - 1):  # a running sum: a large batch must not need large memory
        total = total + sample(shape)
    return Draws(steps, total / work.batch)


def _signs(rng: np.random.Generator, shape: tuple[int, ...], exact: bool) -> Array:
    signs = 2 * rng.integers(0, 2, shape, dtype=np.int8) - 1
    return as_exact(signs) if exact else signs.astype(np.float64)
