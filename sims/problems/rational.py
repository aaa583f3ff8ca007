"""Numbers that stay exact where they can: reading them, square roots, norms."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from fltheory.errors import InputError
from sims.arrays import Array, as_fraction, is_exact

Number = Any  # Fraction where the inputs are exact, float otherwise


def number(argument: str, value: Any, *, least: float = -math.inf) -> Number:
    """A Fraction for an int, a Fraction or a string such as "1/3", a float for a float.

    Raises InputError for anything else, for NaN and infinities, and below `least`.
    """
    allowed = "a finite number" if least == -math.inf else f"a finite number of at least {least}"
    try:
        exact = isinstance(value, int | np.integer | Fraction | str) and not isinstance(value, bool)
        read = as_fraction(value) if exact else float(value)
        good = not isinstance(value, bool | np.bool_) and math.isfinite(read) and read >= least
    except (TypeError, ValueError, ArithmeticError):
        good = False
    if not good:
        raise InputError(argument, value, allowed)
    return read


def scalar(argument: str, value: Number, like: Array) -> Number:
    """`value` to be multiplied with `like`: itself for an exact array, a float for floats and torch.

    A Fraction times a float array would silently become an array of objects.
    """
    if not is_exact(like):
        return float(value)
    if isinstance(value, float):
        raise InputError(argument, value, "exact (an int, a Fraction or a string such as '1/3') for an exact model")
    return value


def root(square: Number) -> Number:
    """Square root; a Fraction for the square of a rational, a float for any other number.

    Raises OverflowError where that is larger than floats are.
    """
    if isinstance(square, Fraction):
        top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
        if top * top == square.numerator and bottom * bottom == square.denominator:
            return Fraction(top, bottom)
        half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2  # the square need not be a float
        return math.ldexp(math.sqrt(square / Fraction(4) ** half), half)
    return math.sqrt(square)


def norm(vector: Array) -> Number:
    """Euclidean norm of one vector; of floats, without squares that overflow or underflow.

    Raises OverflowError where that is larger than floats are.
    """
    if all(isinstance(value, Rational) for value in vector):
        return root((vector * vector).sum())
    length = math.hypot(*vector)
    if length == math.inf:
        raise OverflowError("a norm that is larger than floats are")
    return length


def total(numbers: Array) -> Number:
    """The sum of exact numbers; of floats the correctly rounded one, as a Fraction where a partial sum overflows."""
    if is_exact(numbers):
        return sum(numbers)
    try:
        return math.fsum(numbers)
    except OverflowError:
        return sum(map(Fraction, numbers))
