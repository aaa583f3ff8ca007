"""Dimension algebra: every quantity of the theory is a power of the loss times a power of the parameter.

Scaling the loss by s and the parameter by r multiplies a quantity of unit loss^a param^b by s^a r^b. A true
statement survives any such change of units, so both sides of a bound, and all terms of a sum, must have
one unit. `unit_of` computes it from the units of the symbols, or says which term is off by which factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import sympy


@dataclass(frozen=True)
class Unit:
    """loss^loss param^param, with rational exponents.

    >>> LOSS / PARAM**2
    Unit('loss param^-2')
    """

    loss: Fraction = Fraction(0)
    param: Fraction = Fraction(0)

    def __mul__(self, other: Unit) -> Unit:
        return Unit(self.loss + other.loss, self.param + other.param)

    def __truediv__(self, other: Unit) -> Unit:
        return Unit(self.loss - other.loss, self.param - other.param)

    def __pow__(self, exponent: Fraction | int) -> Unit:
        return Unit(self.loss * exponent, self.param * exponent)

    def __str__(self) -> str:
        powers = (("loss", self.loss), ("param", self.param))
        return " ".join(name if e == 1 else f"{name}^{e}" for name, e in powers if e) or "1"

    def __repr__(self) -> str:
        return f"Unit('{self}')"


ONE = Unit()
LOSS = Unit(loss=Fraction(1))
PARAM = Unit(param=Fraction(1))
GRADIENT = LOSS / PARAM


class UnitError(ValueError):
    """An expression is not homogeneous: `term` is off by the unit `factor`."""

    def __init__(self, term: sympy.Basic, factor: Unit, reason: str) -> None:
        self.term, self.factor = term, factor
        super().__init__(f"{term}: {reason}")


# Their arguments must carry one common unit, which is also the unit of the result.
_SAME_UNIT = (sympy.Add, sympy.Min, sympy.Max)
_KEEPS_UNIT = (sympy.Abs, sympy.ceiling, sympy.floor)


def unit_of(expression: sympy.Basic, units: Mapping[sympy.Symbol, Unit]) -> Unit:
    """The unit of `expression`; raises UnitError naming the first term that does not fit.

    `units` gives the unit of every free symbol; a symbol that is missing raises KeyError.
    """
    if expression.is_number:
        return ONE
    if isinstance(expression, sympy.Symbol):
        return units[expression]
    if isinstance(expression, _SAME_UNIT):
        return _common_unit(expression.args, units)
    if isinstance(expression, sympy.Mul):
        product = ONE
        for factor in expression.args:
            product = product * unit_of(factor, units)
        return product
    if isinstance(expression, sympy.Pow):
        return _power(expression, units)
    if isinstance(expression, _KEEPS_UNIT):
        return unit_of(expression.args[0], units)
    if isinstance(expression, sympy.Piecewise):
        return _common_unit([branch for branch, _ in expression.args], units)
    if isinstance(expression, sympy.Sum):
        return unit_of(expression.function, units)
    for argument in expression.args:  # log, exp, harmonic, ...: only pure numbers have these
        _require_one(argument, units, f"{type(expression).__name__} needs a pure number")
    return ONE


def _common_unit(terms: object, units: Mapping[sympy.Symbol, Unit]) -> Unit:
    first: Unit | None = None
    for term in terms:
        if term.is_zero or term.is_infinite:
            continue
        found = unit_of(term, units)
        if first is None:
            first = found
        elif found != first:
            raise UnitError(term, found / first, f"has unit {found} beside terms of unit {first}")
    return first or ONE


def _power(power: sympy.Pow, units: Mapping[sympy.Symbol, Unit]) -> Unit:
    base = unit_of(power.base, units)
    if power.exp.is_Rational:
        return base ** Fraction(int(power.exp.p), int(power.exp.q))
    _require_one(power.exp, units, "an exponent must be a pure number")
    if base != ONE:
        raise UnitError(power, base, f"a base of unit {base} under a variable exponent")
    return ONE


def _require_one(argument: sympy.Basic, units: Mapping[sympy.Symbol, Unit], reason: str) -> None:
    found = unit_of(argument, units)
    if found != ONE:
        raise UnitError(argument, found, f"{reason}, but has unit {found}")
