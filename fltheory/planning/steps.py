"""The local step sizes that a statement admits, and the best of them, with everything else given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import sympy
from scipy.optimize import minimize_scalar

from fltheory.ledger import Bound, Claim
from fltheory.planning.statements import Values, value
from fltheory.symbols import local_lr

_WIDEST = 10.0**100  # the search for a step size goes up to here, and down to its inverse
_LOWER = 10.0**-60  # of the largest admitted step: below it nothing is sought
_ZERO, _MOST = 1e-300, 1e300  # stand for a bound of 0, which has no logarithm, and for one beyond floats
_NEAR = 1e-6  # a condition this close to equality binds


@dataclass(frozen=True)
class Step:
    """`size` is the best admitted local step (param^2 / loss), `largest` the largest; `bound` the value at `size`.

    used   name of each condition on the step -> its lesser side by its greater side at `size`; 1 where it binds
    gain   by how many per cent a binding condition's step that is 1 % longer would lower the bound (0: none binds)
    """

    size: float
    largest: float
    bound: float
    used: Mapping[str, float]
    gain: float

    @property
    def binding(self) -> str:
        """Name of the condition that binds; empty where the best step lies inside."""
        name = max(self.used, key=lambda name: self.used[name], default="")
        return name if name and self.used[name] >= 1 - _NEAR else ""


def holds(condition: sympy.Basic, values: Values) -> bool:
    """Whether a relation is true at these constants."""
    if not isinstance(condition, sympy.core.relational.Relational):
        return bool(condition)
    less, more = value(condition.lts, values), value(condition.gts, values)
    strict = isinstance(condition, sympy.StrictLessThan | sympy.StrictGreaterThan)
    return less < more if strict else less <= more


def on_steps(claim: Claim) -> dict[str, sympy.Basic]:
    """Those of its conditions that say something about the local step size."""
    return {name: c for name, c in claim.conditions.items() if local_lr in c.free_symbols}


def largest_step(conditions: Mapping[str, sympy.Basic], values: Values) -> float:
    """The largest local step that satisfies all conditions (param^2 / loss), to the last bits of a float.

    Each of them bounds the step from above: it holds for all shorter steps too. 0 where no step satisfies them.
    """

    def admitted(step: float) -> bool:
        return all(holds(condition, {**values, "local_lr": step}) for condition in conditions.values())

    low, high = 1 / _WIDEST, _WIDEST
    if not admitted(low):
        return 0.0
    if admitted(high):
        return high
    while high / low > 1 + 1e-15:
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (middle, high) if admitted(middle) else (low, middle)
    return low


def best_step(claim: Claim, bound: Bound, values: Values, largest: float) -> Step:
    """The admitted local step with the smallest bound.

    Every term of these bounds is convex in the step (a positive constant times a power that is at least 1 or below
    0, 1 / (1 - 2 L step), exp(-step), (1 - step)^rounds), so that a search by sections finds the minimum; it runs in
    the logarithm, as steps have all sizes.
    """

    def at(step: float) -> float:
        return value(bound.rhs, {**values, "local_lr": step})

    top = math.log(largest)
    inside = minimize_scalar(
        lambda x: math.log(min(max(at(math.exp(x)), _ZERO), _MOST)),
        bounds=(top + math.log(_LOWER), top), method="bounded", options={"xatol": 1e-9},
    )  # fmt: skip
    size = min((largest, min(largest, math.exp(inside.x))), key=at)
    used = {}
    for name, condition in on_steps(claim).items():
        sides = {**values, "local_lr": size}
        used[name] = value(condition.lts, sides) / value(condition.gts, sides)
    step = Step(size, largest, at(size), used, 0.0)
    if not step.binding or not step.bound:
        return step
    return Step(size, largest, step.bound, used, 100 * (at(size * 0.999) / step.bound - 1) * 10)
