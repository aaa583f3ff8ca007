"""One convex shape with bounded slope for all clients, shifted: bounded gradients, minima that differ."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import brentq

from fltheory.errors import InputError
from sims.arrays import Array, array_namespace
from sims.problems.analytic import Analytic
from sims.problems.base import Constants
from sims.problems.noise import Noise
from sims.problems.rational import Number, root
from sims.problems.shapes import Sigmoid, log_cosh_shape, pseudo_huber_shape
from sims.problems.tables import Table, per_client
from sims.problems.tilted import refuse_exact

FARTHEST = 1e50  # distance of two centres, over the bound of the slope: squares and fourth powers must be floats


class Shifted(Analytic):
    """F_n(x) = sum_j phi(x_j - b_nj) with centres b_n (N, d). Takes floats only, numpy or torch.

    Raises InputError for centres that are more than 1e50 times the bound of the slope apart.
    """

    def __init__(self, shape: Sigmoid, centres: Any, noise: Noise | None = None) -> None:
        (self.centres,) = per_client(centres=centres)
        farthest = FARTHEST * float(shape.bound)
        with np.errstate(over="ignore"):
            apart = np.ptp(self.centres.astype(np.float64), axis=0).max()
        if apart > farthest:
            raise InputError("centres", self.centres, f"at most {farthest:g} apart")
        super().__init__(self.centres.shape, noise)
        self.shape, self._centres = shape, Table("centres", self.centres)

    arguments = ("centres",)

    def value(self, y: Array, clients: Array) -> Array:
        refuse_exact(self.shape, y)
        return array_namespace(y).sum(self.shape.value(y - self._centres.rows(clients, y)), axis=-1)

    def gradient(self, y: Array, clients: Array) -> Array:
        refuse_exact(self.shape, y)
        return self.shape.slope(y - self._centres.rows(clients, y))

    def _constants(self) -> Constants:
        shape, columns = self.shape, self.centres.astype(np.float64).T
        minimiser = np.array([self._root(column) for column in columns])
        bound = shape.bound * root(Fraction(self.dimension))
        return Constants(
            smoothness=shape.smoothness,
            strong_convexity=0,
            polyak_lojasiewicz=0,
            noise_std=self.noise.std,
            noise_smoothness=self.noise.smoothness,
            heterogeneity=self._heterogeneity,  # a search over all clients, seldom asked for
            gradient_bound=bound,
            minimum=sum(self._lowest(column, x) for column, x in zip(columns, minimiser, strict=True)),
            minimiser=minimiser,
            client_gradient_bound=bound,
        )

    def _lowest(self, centres: Array, minimiser: float) -> float:
        """The mean of phi at the minimiser, which has more digits as a way from the nearest centre."""
        offsets = centres - centres[np.abs(centres - minimiser).argmin()]
        return float(self.shape.value(self._root(offsets) - offsets).mean())

    def _root(self, centres: Array) -> float:
        """Where the slopes of all clients add up to 0, to a few ulps."""
        ordered = np.unique(centres)
        if len(ordered) == 1:
            return float(ordered[0])

        def balance(x: float) -> float:
            return self._balance(x - centres)

        above = bisect_left(ordered, 0.0, lo=1, hi=len(ordered) - 1, key=balance)
        low, high = ordered[above - 1], ordered[above]
        return brentq(balance, low, high, xtol=sys.float_info.min, rtol=4 * sys.float_info.epsilon, maxiter=10_000)

    def _balance(self, away: Array) -> float:
        """A number with the sign of the sum of the slopes at these distances from the centres, (N,).

        A steep slope is the bound, or minus the bound, less its shortfall. The bounds cancel as whole numbers; added
        as they are, they would swallow the shortfalls. Where nothing but shortfalls is left, only their ratios count,
        which do not underflow.
        """
        slopes = self.shape.slope(away) / float(self.shape.bound)
        steep = np.abs(slopes) > 1 / 2
        sides, distances = np.sign(away[steep]), np.abs(away[steep])
        whole = sides.sum()
        unit = distances.min() if steep.all() and whole == 0 else 0.0
        return float(whole + slopes[~steep].sum() - (sides * self.shape.shortfall(distances, unit)).sum())

    def _heterogeneity(self) -> Number:
        """Coordinates move independently, so the supremum for a client is taken in each on its own."""
        if (self.centres == self.centres[:1]).all():
            return Fraction(0)
        columns = self.centres.astype(np.float64).T
        known = [{b: self._largest_gap(column, b) for b in (column.min(), column.max())} for column in columns]
        while True:
            bounds = np.hypot.reduce([_between(column, gaps) for column, gaps in zip(columns, known, strict=True)])
            client = bounds.argmax()
            new = [(column, gaps) for column, gaps in zip(columns, known, strict=True) if column[client] not in gaps]
            if not new:
                return float(bounds[client])
            for column, gaps in new:
                gaps[column[client]] = self._largest_gap(column, column[client])

    def _largest_gap(self, centres: Array, centre: float) -> float:
        """sup over x of |phi'(x - centre) - mean phi'(x - centres)|, from above."""
        shape, low, high = self.shape, centres.min(), centres.max()
        if low == high:
            return 0.0

        def gap(x: Array) -> Array:
            return np.abs(shape.slope(x - centre) - shape.slope(x[:, None] - centres).mean(axis=1))

        rounding = 1e-15 * float(shape.bound)
        seen, reach = gap(np.linspace(low, high, 33)).max(), 1.0
        # Farther than `reach` from all centres slopes differ by less than (high - low) * tail.
        while (high - low) * shape.tail(reach) >= seen + rounding:
            reach *= 2

        def bend(left: Array, right: Array) -> Array:
            apart = np.maximum(np.maximum(left[:, None] - centres, centres - right[:, None]), 0)
            own = np.maximum(np.maximum(left - centre, centre - right), 0)
            return np.minimum(shape.third(own) + shape.third(apart).mean(axis=1), (high - low) * shape.fourth)

        # The slopes alone keep what intervals between neighbouring floats add within reason. Taylor's bound is the
        # tight one where the centres are so close that the slopes' rounding hides what they differ by.
        offsets = centres - centre
        taylor = float(shape.smoothness) * abs(offsets.mean()) + shape.third(np.zeros(1))[0] * (offsets**2).mean() / 2
        return min(
            largest(gap, low - reach, high + reach, bend, rounding),
            2 * float(shape.bound) * (1 - 1 / len(centres)),
            float(taylor) * (1 + 1e-12),
        )


def _between(centres: Array, gaps: dict[float, float]) -> Array:
    """Bounds (N,) of the gaps at centres (N,), from those of some that are known, the outermost among them.

    At every point the slope falls with the centre, so that a gap is a maximum of one function of the centre that falls
    and one that rises: it is no larger than at both of two centres around it.
    """
    known = np.array(sorted(gaps))
    of_known, above = np.array([gaps[b] for b in known]), np.searchsorted(known, centres)
    return np.where(known[above] == centres, of_known[above], np.maximum(of_known[above], of_known[above - 1]))


def largest(
    size: Callable[[Array], Array], low: float, high: float, bend: Callable[[Array, Array], Array], rounding: float
) -> float:
    """max of |g| over [low, high] from above, to a relative 1e-12 or an absolute `rounding`.

    `size` is |g|, elementwise, and |g''| <= bend(left, right) on the intervals from left to right: branch and bound,
    since on an interval of width w, |g| exceeds the larger of its values at the ends by at most bend w^2 / 8. Plateaus
    cost nothing where `bend` is small on them. Intervals between neighbouring floats add their bounds to the maximum.
    """
    ends = np.linspace(low, high, 33)
    left, right, best = ends[:-1], ends[1:], 0.0
    while left.size:
        at_ends = np.maximum(size(left), size(right))
        bound, middle = at_ends + bend(left, right) * (right - left) ** 2 / 8, (left + right) / 2
        divisible = (left < middle) & (middle < right)
        best = max(best, at_ends.max(), bound[~divisible].max(initial=0))
        undecided = divisible & (bound > best * (1 + 1e-12) + rounding)
        left, middle, right = left[undecided], middle[undecided], right[undecided]
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    return float(best * (1 + 1e-12) + rounding)


def log_cosh(centres: Any = 0, noise: Noise | None = None) -> Shifted:
    """F_n(x) = sum_j log cosh(x_j - b_nj): L = 1 and gradients in (-1, 1)."""
    return Shifted(log_cosh_shape(), centres, noise)


def pseudo_huber(centres: Any = 0, width: Any = 1, noise: Noise | None = None) -> Shifted:
    """F_n(x) = sum_j w^2 (sqrt(1 + ((x_j - b_nj) / w)^2) - 1): L = 1 and gradients in (-w, w)."""
    return Shifted(pseudo_huber_shape(width), centres, noise)
