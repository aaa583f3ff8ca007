"""What checks of several papers share: exact values of formulas, and the accuracy that is granted."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import sympy
from sympy import Rational

from fltheory.ledger import Claim

# The exact law is accurate to 1e-12 relative; a bound may be missed by that much and no more.
SLACK = 1e-11


def at(expression: Any, **values: Any) -> Fraction:
    """A formula at exact values (Fraction, int or math.inf, by the names of its symbols), as a Fraction."""
    known = {s: values[s.name] for s in expression.free_symbols}
    value = expression.subs({s: sympy.oo if v == math.inf else Rational(v) for s, v in known.items()})
    return Fraction(int(value.p), int(value.q))


def admitted(claim: Claim, **values: Any) -> bool:
    """Whether the claim states its conclusion there: all its conditions hold, compared exactly."""
    return all(
        bool(condition.subs({s: Rational(values[s.name]) for s in condition.free_symbols}))
        for condition in claim.conditions.values()
    )


def rational_sample(residual: Any) -> Any:
    """A residual at p = 1/3, K = 4, T = 7, t = 2 and distinct values, none of them 1, of the other letters."""
    first = {"p": Rational(1, 3), "rate": Rational(1, 3), "K": 4, "cutoff": 4, "rounds": 7, "round_index": 2}
    others = sorted({s.name for s in residual.free_symbols} - set(first))
    values = first | {name: Rational(3 + 2 * i, 4) for i, name in enumerate(others)}
    return residual.subs({s: values[s.name] for s in residual.free_symbols})
