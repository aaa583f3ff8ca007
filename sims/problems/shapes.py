"""Scalar functions phi with phi(0) = 0 as their minimum, from which problems are made coordinate by coordinate.

All are even, and every constant is a closed form except the one Polyak-Lojasiewicz constant, whose digits are
certified by interval arithmetic in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.errors import InputError
from sims.arrays import Array, array_namespace
from sims.problems.rational import Number, number


@dataclass(frozen=True)
class Shape:
    """A function of one variable.

    value, slope         phi and phi', elementwise
    smoothness           sup |phi''|
    bound                sup |phi'|
    polyak_lojasiewicz   inf phi'^2 / (2 phi)
    rational             whether phi maps rationals to rationals
    """

    name: str
    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    smoothness: Number
    bound: Number
    polyak_lojasiewicz: Number = Fraction(0)
    rational: bool = False


@dataclass(frozen=True)
class Sigmoid(Shape):
    """A convex function whose slope rises from -bound to bound.

    shortfall     (z, s) with z >= s >= 0, elementwise in z -> (bound - phi'(z)) / (bound - phi'(s)), to all digits
                  also where phi' rounds to the bound
    tail, third   distance r -> bounds on phi'' and, elementwise, on |phi'''| beyond r that decrease to 0
    fourth        sup |phi''''|
    """

    shortfall: Callable[[Array, float], Array] = np.maximum
    tail: Callable[[float], float] = math.exp
    third: Callable[[Array], Array] = np.exp
    fourth: float = math.inf


def log_cosh_shape() -> Sigmoid:
    """log cosh z, with slope tanh z."""

    def value(z: Array) -> Array:
        xp = array_namespace(z)
        size = xp.abs(z)
        small = xp.where(size < 1, size, xp.zeros_like(size))
        near = xp.log1p(2 * xp.sinh(small / 2) ** 2)  # keeps the digits of z^2/2
        return xp.where(size < 1, near, size + xp.log1p(xp.expm1(-2 * size) / 2))  # cosh itself overflows

    def slope(z: Array) -> Array:
        return array_namespace(z).tanh(z)

    def shortfall(z: Array, s: float) -> Array:  # 1 - tanh z = 2 / (1 + exp 2z)
        return np.exp(2 * (s - z)) * (1 + math.exp(-2 * s)) / (1 + np.exp(-2 * z))

    return Sigmoid(
        "log-cosh",
        value,
        slope,
        smoothness=Fraction(1),
        bound=Fraction(1),
        shortfall=shortfall,
        tail=lambda r: 4 * math.exp(-2 * r),  # phi'' = sech^2
        # phi''' = -2 tanh sech^2, largest where tanh^2 = 1/3
        third=lambda r: np.minimum(4 / math.sqrt(27), 8 * np.exp(-2 * r)),
        fourth=2,  # at 0
    )


def pseudo_huber_shape(width: Any = 1) -> Sigmoid:
    """width^2 (sqrt(1 + (z / width)^2) - 1): quadratic near 0, slope +-width far away.

    Raises InputError for a width outside [1e-100, 1e100], whose square and its inverse are hardly floats.
    """
    width = number("width", width)
    if width <= 0:
        raise InputError("width", width, "greater than 0")
    if not 1e-100 <= width <= 1e100:
        raise InputError("width", width, "between 1e-100 and 1e100")
    scale = float(width)

    def length(z: Array) -> Array:
        """sqrt(width^2 + z^2), whose squares would overflow, of float32 soon."""
        xp = array_namespace(z)
        return xp.hypot(z, xp.full_like(z, scale))

    def value(z: Array) -> Array:
        return z * (scale * (z / (scale + length(z))))

    def slope(z: Array) -> Array:
        return scale * (z / length(z))

    def shortfall(z: Array, s: float) -> Array:  # 1 - z / length = width^2 / (length (length + z))
        here, there = length(z), math.hypot(scale, s)
        return there / here * ((there + s) / (here + z))

    return Sigmoid(
        "pseudo-Huber",
        value,
        slope,
        smoothness=Fraction(1),
        bound=width,
        shortfall=shortfall,
        tail=lambda r: (scale / math.hypot(scale, r)) ** 3,
        # phi''' = -3 u (1 + u^2)^(-5/2) / width for z = u width, largest at u = 1/2
        third=lambda r: np.minimum(48 / (25 * math.sqrt(5)), 3 * (scale / length(r)) ** 4) / scale,
        fourth=3 / scale**2,  # at 0
    )


def cosine_shape() -> Shape:
    """1 - cos z: maxima are stationary, so there is no Polyak-Lojasiewicz constant."""

    def value(z: Array) -> Array:
        return 2 * array_namespace(z).sin(z / 2) ** 2

    def slope(z: Array) -> Array:
        return array_namespace(z).sin(z)

    return Shape("1 - cos", value, slope, smoothness=Fraction(1), bound=Fraction(1))


def geman_mcclure_shape() -> Shape:
    """z^2 / (1 + z^2): nonconvex beyond 1/sqrt(3), flat far away, and exact on rationals."""

    def value(z: Array) -> Array:
        return z * z / (1 + z * z)

    def slope(z: Array) -> Array:
        return 2 * z / (1 + z * z) ** 2

    return Shape(
        "Geman-McClure",
        value,
        slope,
        smoothness=Fraction(2),  # phi'' = 2 (1 - 3 z^2) / (1 + z^2)^3 lies in [-1/2, 2]
        bound=math.sqrt(27) / 8,  # at z = 1/sqrt(3)
        rational=True,
    )


def pl_sine_shape() -> Shape:
    """z^2 + 3 sin^2 z: not convex, yet its only stationary point is the minimum."""

    def value(z: Array) -> Array:
        return z * z + 3 * array_namespace(z).sin(z) ** 2

    def slope(z: Array) -> Array:
        return 2 * z + 3 * array_namespace(z).sin(2 * z)

    return Shape(
        "z^2 + 3 sin^2 z",
        value,
        slope,
        smoothness=Fraction(8),  # phi'' = 2 + 6 cos 2z
        bound=math.inf,
        polyak_lojasiewicz=0.17553098587973173,  # at z = +-2.2017091764...; 1/32 is the value usually quoted
    )
