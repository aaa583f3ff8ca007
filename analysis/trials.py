"""A trial of a claim: the space in which it can be put to the test, and both of its sides at a point of that space.

Checks evaluate trials at declared points, `analysis.falsify` searches their spaces, witnesses replay them. A point
names every coordinate; its real coordinates are floats while searching and Fractions in a witness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy

from analysis.domains import Domain
from fltheory.errors import InputError
from fltheory.ledger import Bound, Claim
from fltheory.symbols import Constants

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Sides:
    """Both sides of a claim at a point, and what its conditions and assumptions are judged by.

    left, right   the claim says left <= right; Fractions (or exact sympy numbers) at an exact point
    constants     code name -> value: what the claim's conditions are evaluated at
    facts         what else the claim asks for, each with whether the point has it
    met           short name of an assumption of the claim, such as "A41" -> whether the point satisfies it, with the
                  constants above; a judgement lists those that the claim makes among its facts
    """

    left: Any
    right: Any
    constants: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, bool] = field(default_factory=dict)
    met: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """A way to put one claim to the test; `evaluate(claim, point)` reads the parts of the claim, never its verdict."""

    claim_id: str
    space: Mapping[str, Domain]
    evaluate: Callable[[Claim, Point], Sides]

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.evaluate.__name__

    def require(self, point: Point) -> None:
        """Raise InputError unless the point has exactly the coordinates of the space, each within its domain."""
        if set(point) != set(self.space):
            raise InputError("coordinates of the point", sorted(point), f"those of the trial: {', '.join(self.space)}")
        for name, domain in self.space.items():
            if not domain.contains(point[name]):
                raise InputError(f"coordinate {name}", point[name], str(domain))


@dataclass(frozen=True)
class Judgement:
    """A point judged: whether everything that the claim asks for holds there, and whether its conclusion fails."""

    sides: Sides
    conditions: Mapping[str, bool]

    @property
    def admitted(self) -> bool:
        """Whether all conditions and facts hold."""
        return all(self.conditions.values()) and all(self.sides.facts.values())

    @property
    def violated(self) -> bool:
        """Whether the point is a counterexample."""
        return self.admitted and bool(self.sides.left > self.sides.right)

    @property
    def ratio(self) -> float:
        """left / right, what a search climbs."""
        left, right = float(self.sides.left), float(self.sides.right)
        return left / right if right > 0 else (float("inf") if left > right else 0.0)


def judge(trial: Trial, claim: Claim, point: Point) -> Judgement:
    """Both sides of the claim at the point, and every condition; exact where the point is.

    Raises InputError where a side is undefined, such as a bound at a pole, and TypeError for a trial that turns an
    exact point into a float.
    """
    sides = trial.evaluate(claim, point)
    for name, side in (("left side", sides.left), ("right side", sides.right)):
        if isinstance(side, sympy.Basic) and side.has(sympy.zoo, sympy.nan):
            raise InputError(f"the point of {trial.name}", dict(point), f"one at which the {name} is a number")
    if any(isinstance(side, float) for side in (sides.left, sides.right)) and not _has_float(point):
        raise TypeError(f"{trial.name} turned an exact point into a float: {dict(point)}")
    return Judgement(
        replace(sides, facts={**assumed(claim, sides.met), **sides.facts}), conditions_at(claim, sides.constants)
    )


def assumed(claim: Claim, met: Mapping[str, bool]) -> dict[str, bool]:
    """The claim's assumptions in words, each with whether the point has it."""
    short = {assumption.id.partition(".")[2]: assumption for assumption in claim.assumes}
    return {f"assumption {name} ({a.title})": bool(met[name]) for name, a in short.items() if name in met}


def _has_float(point: Point) -> bool:
    values = [part for value in point.values() for part in (value if isinstance(value, tuple) else (value,))]
    return any(isinstance(value, float) for value in values)


def conditions_at(claim: Claim, constants: Mapping[str, Any]) -> dict[str, bool]:
    """Name of each condition -> whether it holds, exactly unless a constant is a float."""
    return {name: _holds(relation, constants) for name, relation in claim.conditions.items()}


def stated(claim: Claim, constants: Mapping[str, Any]) -> dict[str, bool]:
    """The conditions there as a witness lists them."""
    return {f"condition {name!r}": holds for name, holds in conditions_at(claim, constants).items()}


def right_side(bound: Bound | None, constants: Mapping[str, Any]) -> Any:
    """The bound at constants of any kind: a float as soon as one constant is a float, else exact.

    An exact value is a Fraction where it is rational, else a sympy number, which compares exactly.
    """
    assert bound is not None, "a claim without a bound has no right-hand side"
    used = {s.name: constants[s.name] for s in bound.rhs.free_symbols}
    if any(isinstance(value, float) for value in used.values()):
        return bound.at(**used)
    Constants(**used)  # domains
    return exact_value(bound.rhs, constants)


def exact_value(expression: Any, constants: Mapping[str, Any]) -> Any:
    """An expression at ints, Fractions and sympy numbers: a Fraction where it is rational, else a sympy number."""
    return fraction(_exactly(expression, constants))


def exact_number(value: Any) -> sympy.Expr:
    """An int, a Fraction or a sympy number as a sympy number."""
    if isinstance(value, sympy.Basic):
        return value
    numerator, denominator = value.as_integer_ratio()
    return sympy.Rational(int(numerator), int(denominator))


def root(square: Any) -> Any:
    """Square root: a float of a float, else exact."""
    return math.sqrt(square) if isinstance(square, float) else fraction(sympy.sqrt(exact_number(square)))


def fraction(value: Any) -> Any:
    """A rational sympy number as a Fraction; any other as it is."""
    return Fraction(int(value.p), int(value.q)) if getattr(value, "is_Rational", False) else value


def exact_text(value: Any) -> str:
    """An exact value as text that `exact_from` reads; numbers of thousands of digits in hexadecimal, which is fast.

    >>> exact_text(Fraction(1, 3)), exact_text(10**5000)[:8]
    ('1/3', '0x31e208')
    """
    if isinstance(value, sympy.Basic):
        long = {number: sympy.Symbol(exact_text(fraction(number))) for number in value.atoms(sympy.Rational)
                if _long(number)}  # fmt: skip
        return str(value.xreplace(long))
    if not (isinstance(value, int | Fraction) and _long(value)):
        return str(value)
    numerator, denominator = hex(value.numerator), hex(value.denominator)
    return numerator if value.denominator == 1 else f"{numerator}/{denominator}"


def exact_from(text: str) -> Fraction:
    """The number of a text. Raises ValueError for a text that is none, or one of more than `MOST_LETTERS` letters."""
    if len(text) > MOST_LETTERS:
        raise ValueError(f"a number of {len(text)} letters")
    if "0x" not in text:
        if "e" in text.lower():
            raise ValueError("a power of ten, which may have more digits than there is memory")
        return Fraction(text)
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator, 16), int(denominator, 16) if denominator else 1)


LONG = 10_000  # bits: some 3000 digits, where Python's own conversion to decimals still works
MOST_LETTERS = 1_000_000


def _long(number: Any) -> bool:
    parts = (number.p, number.q) if isinstance(number, sympy.Rational) else (number.numerator, number.denominator)
    return any(int(part).bit_length() > LONG for part in parts)


def _holds(relation: sympy.Basic, constants: Mapping[str, Any]) -> bool:
    symbols = sorted(relation.free_symbols, key=lambda s: s.name)
    values = [constants[s.name] for s in symbols]
    if any(isinstance(value, float) for value in values):
        return bool(_function(relation)(*map(float, values)))
    return bool(_exactly(relation, constants))


@lru_cache(maxsize=1024)
def _function(relation: sympy.Basic) -> Any:
    return sympy.lambdify(sorted(relation.free_symbols, key=lambda s: s.name), relation, "math")


def _exactly(expression: Any, constants: Mapping[str, Any]) -> Any:
    names, function = _compiled(expression)
    return function(*(exact_number(constants[name]) for name in names))


@lru_cache(maxsize=4096)
def _compiled(expression: Any) -> tuple[list[str], Any]:
    """Names and a function of exact sympy numbers: much faster than substitution, and fractions stay fractions."""
    names = sorted(symbol.name for symbol in expression.free_symbols)
    text = sympy.sstr(expression, sympy_integers=True)
    return names, eval(f"lambda {', '.join(names)}: {text}", vars(sympy).copy())
