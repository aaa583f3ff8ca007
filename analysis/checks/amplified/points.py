"""Formulas at any constants, and trials evaluated at points drawn from their own space with a fixed seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from analysis.checks.tools import SLACK, facts_of
from analysis.evidence import Evidence, Tally
from analysis.trials import Point, Trial, exact_value, judge
from fltheory.ledger import Claim
from fltheory.verdicts import Verdict


def drawn(trial: Trial, number: int, **fixed: Any) -> Iterator[Point]:
    """Points of the trial's space from a fixed seed, with some coordinates fixed."""
    rng = np.random.default_rng(20221128)
    for _ in range(number):
        yield {name: domain.draw(rng) for name, domain in trial.space.items()} | fixed


def value_of(formula: Any, constants: Mapping[str, Any]) -> Any:
    """A formula at constants of any kind: a float as soon as one constant that it uses is a float, else exact."""
    used = {s.name: constants[s.name] for s in formula.free_symbols}
    if any(isinstance(value, float) for value in used.values()):
        return float(_function(formula)(**used))
    return exact_value(formula, used)


@lru_cache(maxsize=256)
def _function(formula: Any) -> Any:
    return sympy.lambdify(sorted(formula.free_symbols, key=str), formula, "math")


def held_at(
    trial: Trial,
    claim: Claim,
    points: Iterable[Point],
    good: Verdict,
    method: str,
    summary: str,
    *,
    domain: str,
    ratio: bool = True,
) -> Evidence:
    """`good` with the largest ratio found if no admitted point violates the claim, else `refuted` with the first."""
    tally = Tally(slack=SLACK)
    for point in points:
        found = judge(trial, claim, point)
        if found.admitted:
            sides = found.sides
            facts = {k: v for k, v in facts_of(point, found).items() if k not in ("left", "right")}
            tally.at_most(sides.left, sides.right, **facts)
    tally.largest = float(f"{tally.largest:.4g}")  # the last digits differ between processors
    finding = f"{summary} at {tally.cases} points" + (f"; largest ratio found {tally.largest:g}." if ratio else ".")
    return tally.evidence(good, method, finding, domain=domain, ratio=ratio)
