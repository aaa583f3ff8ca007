"""Falsifications inside a statement: a wrong exponent or sign, half a summand of a bound, a condition with more room.

Only what falsifies counts. A larger upper bound and a narrower condition say less, so an exponent or a sign is changed
in a bound only if that makes the bound smaller by a large factor at some point that the conditions admit, and in a
condition only if that admits points which were not admitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy
from sympy.core.relational import Relational

from analysis.checks import Mutant, mutate, summands
from fltheory.ledger import Claim
from fltheory.papers import amplified, fast, fedamd, fedau
from fltheory.papers.fedlaavg.setting import any_client, is_available
from fltheory.symbols import QUANTITIES

EXPONENTS = (sympy.Integer(2), sympy.Rational(1, 2), sympy.Integer(0))
WHOLE = (sympy.Integer(2), sympy.Integer(0))  # of formulas, which are compared at rational points
LARGE = 8  # a bound need not be tight: one that is smaller by less than this factor may still be true
SMALL = 1.5  # a proof notices less, such as p^2 for p in 1 - p^A
DRAWS = 4000
INDICATORS = {fedamd.subsampled, fedau.participated, is_available, any_client}  # 0 or 1
SHARES = {fast.q, amplified.rho}  # weights that sum to one have a norm of at most 1


def exponents(claim: Claim, factor: float = LARGE) -> Iterator[Mutant]:
    """A wrong exponent of each symbol of each formula, and of the bound if that makes it smaller by the factor."""
    if claim.bound is not None:
        bound = claim.bound.rhs
        for symbol in _symbols(bound):
            for power in EXPONENTS:
                falsified = bound.subs(symbol, symbol**power)
                if not falsified.has(sympy.zoo, sympy.nan) and _much_smaller(claim, falsified, factor):
                    yield _power("bound", symbol, power)
    for name, formula in claim.formulas.items():
        for symbol in _symbols(formula) if isinstance(formula, sympy.Expr) else ():
            for power in WHOLE:
                falsified = formula.subs(symbol, symbol**power)
                if falsified != 0 and not falsified.has(sympy.zoo, sympy.nan):  # else nothing is left of it
                    yield _power(name, symbol, power)


def reversals(claim: Claim) -> Iterator[Mutant]:
    """Each relation among the formulas the other way round, and 1 where a formula is 0."""
    for name, formula in claim.formulas.items():
        if isinstance(formula, Relational):
            yield mutate(name, "reversed", lambda r: r.func(r.rhs, r.lhs))
        elif formula == 0:
            yield mutate(name, "plus 1", lambda zero: zero + 1)


def flips(claim: Claim) -> Iterator[Mutant]:
    """A summand with the wrong sign, of each sum within the bound and within each formula, denominators left out."""
    bound = {"bound": claim.bound.rhs} if claim.bound is not None else {}
    for name, part in {**bound, **claim.formulas}.items():
        below = [power.base for power in part.atoms(sympy.Pow) if power.exp.could_extract_minus_sign()]
        sums = part.atoms(sympy.Add).difference(*(base.atoms(sympy.Add) for base in below))
        for total in sorted(sums, key=str) if isinstance(part, sympy.Expr) else ():
            for term in total.args:
                flipped = part.xreplace({total: total - 2 * term})
                if _real(flipped) and (name != "bound" or _much_smaller(claim, flipped)):
                    yield mutate(name, f"-({term}) in {total}", lambda e, flipped=flipped: flipped)


def halves(claim: Claim) -> Iterator[Mutant]:
    """Each summand of the bound halved."""
    for term, rest in summands(claim).items():
        yield mutate("bound", f"half of {term}", lambda bound, rest=rest: (bound + rest) / 2)


def shifted(claim: Claim) -> Iterator[Mutant]:
    """The bound and each formula times a root of each of its whole numbers, the letters of rates, and divided by it."""
    parts = {"bound": claim.bound.rhs} if claim.bound is not None else {}
    for name, part in (parts | dict(claim.formulas)).items():
        for symbol in filter(lambda symbol: symbol.is_integer, _symbols(part)):
            root = sympy.sqrt(symbol)
            yield mutate(name, f"times {symbol}^1/2", lambda e, root=root: e * root)
            yield mutate(name, f"times {symbol}^-1/2", lambda e, root=root: e / root)


def loosened(claim: Claim, conditions: Mapping[str, Any]) -> Iterator[Mutant]:
    """Each inequality among these conditions with twice the room, and with a wrong exponent of each of its symbols."""
    for name, relation in conditions.items():
        if isinstance(relation, Relational):
            wider = [_twice_the_room(name), *(_power(name, symbol, EXPONENTS[0]) for symbol in _symbols(relation))]
            for mutant in wider:
                falsified = mutant.apply(claim).conditions[name]
                if isinstance(falsified, Relational) and _admits_more(relation, falsified):  # else it says nothing
                    yield mutant


def _twice_the_room(name: str) -> Mutant:
    return mutate(
        name, "twice the room", lambda r: r.func(2 * r.lhs, r.rhs) if r.gts == r.lhs else r.func(r.lhs, 2 * r.rhs)
    )


def _power(part: str, symbol: Any, power: Any) -> Mutant:
    return mutate(part, f"{symbol} -> {symbol}^{power}", lambda e: e.subs(symbol, symbol**power))


def _symbols(expression: Any) -> list[Any]:
    """Its symbols, without those of which every power is the same."""
    return sorted((s for s in expression.free_symbols if s not in INDICATORS), key=str)


def _real(expression: Any) -> bool:
    """Whether no power of a number below 0 makes it meaningless somewhere."""
    roots = [power.base for power in expression.atoms(sympy.Pow) if not power.exp.is_integer]
    return all(bool(np.all(_values(base) >= 0)) for base in roots)


# ---- where a falsified statement says more ---------------------------------------------------------------------------


def _much_smaller(claim: Claim, falsified: Any, factor: float = LARGE) -> bool:
    """Whether the falsified bound is far below the claim's at some admitted point (at any point, if none is drawn)."""
    assert claim.bound is not None
    true, false = _values(claim.bound.rhs), _values(falsified)
    admitted = np.all([_values(c) for c in claim.conditions.values() if isinstance(c, Relational)], axis=0)
    with np.errstate(invalid="ignore", over="ignore"):
        far = (true - false > (1 - 1 / factor) * np.abs(true)) & np.isfinite(true)
    return bool(np.any(far & admitted if np.any(admitted) else far))


def _admits_more(relation: Any, falsified: Any) -> bool:
    return bool(np.any(_values(falsified) & ~_values(relation)))


def _values(expression: Any) -> Any:
    """An expression or a relation at all draws."""
    names = sorted(expression.free_symbols, key=str)
    with np.errstate(all="ignore"):
        found = sympy.lambdify(names, expression, "numpy")(*map(_draws, names))
    return np.broadcast_to(found, DRAWS)


@cache
def _draws(symbol: Any) -> Any:
    """Values of a symbol over a generous part of its domain, the same in every expression."""
    rng = np.random.default_rng([ord(letter) for letter in symbol.name])
    known = QUANTITIES.get(symbol.name)
    if symbol in SHARES or (known is not None and known.domain.startswith("probability")):
        return rng.uniform(0, 1, DRAWS) ** rng.choice([1, 4], DRAWS)
    if symbol.is_integer:
        return np.round(10 ** rng.uniform(0, 3, DRAWS))
    if symbol in INDICATORS:
        return rng.integers(0, 2, DRAWS)
    return 10 ** rng.uniform(-3, 3, DRAWS)
