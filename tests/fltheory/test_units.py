"""Dimension algebra: products, powers and sums, and the sentences about what does not fit."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from fltheory.symbols import UNITS, heterogeneity, initial_gap, local_lr, local_steps, noise_std, rounds, smoothness
from fltheory.units import GRADIENT, LOSS, ONE, PARAM, Unit, UnitError, unit_of

exponents = st.fractions(min_value=-3, max_value=3, max_denominator=4)
units = st.builds(Unit, exponents, exponents)


@given(units, units)
def test_units_form_a_group(a: Unit, b: Unit) -> None:
    assert a * b == b * a
    assert a * b / b == a
    assert a * ONE == a
    assert (a * b) ** 2 == a**2 * b**2


def test_known_units() -> None:
    assert unit_of(smoothness * initial_gap, UNITS) == GRADIENT**2
    assert unit_of(local_lr * smoothness, UNITS) == ONE
    assert unit_of(sympy.sqrt(smoothness * initial_gap), UNITS) == GRADIENT
    assert unit_of(sympy.Min(1 / (smoothness * local_steps), local_lr), UNITS) == PARAM**2 / LOSS
    assert unit_of(noise_std**2 + heterogeneity**2 + 0, UNITS) == GRADIENT**2
    assert unit_of(initial_gap * sympy.log(rounds), UNITS) == LOSS


@pytest.mark.parametrize(
    ("expression", "factor"),
    [
        (1 + noise_std**2, GRADIENT**2),
        (noise_std + heterogeneity**2, GRADIENT),
        (sympy.log(smoothness), LOSS / PARAM**2),
        (2**local_lr, PARAM**2 / LOSS),
        (sympy.Max(noise_std, 1), GRADIENT),
    ],
)
def test_what_is_not_homogeneous_is_named(expression: sympy.Expr, factor: Unit) -> None:
    with pytest.raises(UnitError) as caught:
        unit_of(expression, UNITS)
    assert caught.value.factor in (factor, ONE / factor)


@given(st.integers(-3, 3), st.integers(-3, 3))
def test_units_agree_with_rescaling(loss: int, param: int) -> None:
    """The unit of an expression is what rescaling its symbols multiplies it by."""
    s, r = sympy.Integer(7), sympy.Integer(11)
    expression = noise_std**2 / (smoothness * initial_gap) * initial_gap**loss * local_lr**param
    scaled = expression.subs(
        {q: q * s ** UNITS[q].loss * r ** UNITS[q].param for q in expression.free_symbols}, simultaneous=True
    )
    unit = unit_of(expression, UNITS)
    assert sympy.simplify(scaled / expression - s ** sympy.Rational(unit.loss) * r ** sympy.Rational(unit.param)) == 0


def test_units_print_as_powers() -> None:
    assert str(LOSS / PARAM**2) == "loss param^-2"
    assert str(ONE) == "1"
    assert str(Unit(Fraction(1, 2))) == "loss^1/2"
