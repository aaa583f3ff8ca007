"""A bound with explicit constants, and its value at given ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from fltheory.errors import InputError
from fltheory.symbols import QUANTITIES, UNITS, Constants
from fltheory.units import ONE, Unit, unit_of

RARE = 1e-4  # a probability below which 1 - p in floats takes more than 4 of their 16 digits from what depends on p


@dataclass(frozen=True)
class Bound:
    """`lhs` (in words) is at most `rhs` (explicit constants); `order` is how the paper prints it.

    `rhs` is a sympy expression, or a number, which becomes one. Raises InputError for anything else, such as a text.
    """

    lhs: str
    rhs: sympy.Expr
    order: str = ""
    unit: Unit = ONE

    def __post_init__(self) -> None:
        rhs = stated(self.rhs)
        if not isinstance(rhs, sympy.Expr) or rhs.is_Matrix or rhs.has(sympy.zoo, sympy.nan):
            raise InputError("right-hand side of a bound", self.rhs, "a sympy expression or a number")
        object.__setattr__(self, "rhs", rhs)

    @cached_property
    def _arguments(self) -> list[sympy.Symbol]:
        return sorted(self.rhs.free_symbols, key=lambda s: s.name)

    @cached_property
    def _probabilities(self) -> list[str]:
        return [s.name for s in self._arguments if QUANTITIES[s.name].domain.startswith("probability")]

    @cached_property
    def _function(self) -> Any:
        return sympy.lambdify(self._arguments, self.rhs, "scipy")

    def at(self, constants: Constants | None = None, **values: float) -> float:
        """The value of the right-hand side; whether the claim's conditions hold there is not its business.

        Takes a `Constants` object, which may know more names than this bound needs, or names directly.
        Where a float formula would divide by zero, a term such as 1 / log(1 / 0) still counts as its limit. Raises
        InputError for an unknown name, a missing one, a value outside its domain, or values at which the right-hand
        side is undefined or complex (it may be infinite where a constant is, or where no float is as large).
        """
        known = Constants(**{**(constants or {}), **values})
        missing = [s.name for s in self._arguments if s.name not in known]
        if missing:
            raise InputError("constants", sorted(known), f"complete; missing: {', '.join(missing)}")
        values = {s.name: known[s.name] for s in self._arguments}
        result = math.nan
        rare = any(values[name] < RARE for name in self._probabilities)
        if not rare and math.inf not in values.values():
            # Where this divides by zero, overflows or is complex, sympy's arithmetic tells whether there is a limit.
            with suppress(ArithmeticError, TypeError), np.errstate(all="ignore"):
                result = float(self._function(*values.values()))
        return result if math.isfinite(result) else self._precisely(values)

    def _precisely(self, values: Mapping[str, float]) -> float:
        """The value in sympy's arithmetic, which has infinities; what is finite is inserted first, and at once."""
        finite = {s: _precise(values[s.name]) for s in self._arguments if values[s.name] != math.inf}
        infinite = {s: sympy.oo for s in self._arguments if s not in finite}
        try:
            result = float(self.rhs.xreplace(finite).xreplace(infinite))
        except (ArithmeticError, TypeError, ValueError):  # an unsigned infinity, a complex number, a Max of nan
            result = math.nan
        if math.isnan(result):
            raise InputError("constants", dict(values), f"ones at which {self.rhs} is defined")
        return result

    def check_units(self) -> None:
        """Raise `fltheory.units.UnitError` unless the right-hand side has the unit of the left-hand side."""
        found = unit_of(self.rhs, UNITS)
        if found != self.unit:
            raise InputError("unit of the bound", str(found), f"{self.unit}, the unit of its left-hand side")


def stated(part: Any) -> sympy.Basic | None:
    """What sympy makes of an expression, a number or a truth value; None for anything else, such as a text."""
    try:
        made = sympy.sympify(part, strict=True)
    except sympy.SympifyError:
        return None
    return made if isinstance(made, sympy.Basic) else None


def _precise(value: float) -> sympy.Float:
    """With enough digits that 1 minus the smallest float is below 1.

    Neither a fraction, whose powers would be long, nor a whole number, of which sums such as harmonic numbers are
    written out term by term.
    """
    return sympy.Float(sympy.sympify(value), 350)
