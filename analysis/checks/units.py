"""The unit check, which every statement with a bound, conditions or chosen parameters gets: is it homogeneous?

Scaling the loss and the parameters changes every true statement into a true one, so all terms of a bound, and both
sides of a condition, have one unit, and a parameter is chosen by a formula of its own unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy

from analysis.checks import Check, CheckBook, Depth, Mutant, mutate
from analysis.evidence import Evidence
from analysis.letters import in_text
from fltheory.ledger import Claim, Paper
from fltheory.symbols import UNITS, smoothness
from fltheory.units import LOSS, ONE, PARAM, Unit, UnitError, unit_of

_STEP = PARAM**2 / LOSS
_WHICH = ("", "first ", "second ", "third ")
# The unit of a formula that chooses a parameter, by its name.
_CHOSEN = {
    **dict.fromkeys(("local_lr", "step", "best step", "product of steps"), _STEP),
    **dict.fromkeys((f"{which}local step" for which in _WHICH), _STEP),
    **dict.fromkeys((f"{which}global step" for which in _WHICH), ONE),
    **dict.fromkeys(("global_lr", "amplification", "interval", "cutoff", "probability", "example_lr"), ONE),
    "epsilon": LOSS / PARAM**2,  # of Young's inequality in Theorem 2 of FAST
}


@dataclass(frozen=True)
class Flag:
    """A statement that is known not to be homogeneous as printed.

    mended      restores its units; the check must then pass
    hypothesis  the reading under which it is meant (then it is conditional), or nothing (then it is inconsistent)
    stated      whether the statement itself speaks of one fixed unit: then it is judged as mended
    """

    mended: Mutant
    hypothesis: str = ""
    stated: bool = False


def unit_checks(paper: Paper, flagged: Mapping[str, Flag] | None = None) -> CheckBook:
    """A unit check for every claim of the paper with a bound, conditions or chosen parameters.

    `flagged` names the claims (by full id) whose units do not match as printed. A claim that is flagged and turns
    out homogeneous is judged proved, like any other.
    """
    book, flagged = CheckBook(), flagged or {}
    for claim in paper.claims.values():
        if claim.bound or claim.conditions or chosen(claim):
            book.checks.append(_check(claim, flagged.get(claim.id)))
    return book


def _check(claim: Claim, flag: Flag | None) -> Check:
    hypothesis = flag.hypothesis if flag else ""

    def homogeneous(claim: Claim, depth: Depth) -> Evidence:
        if flag is None or not flag.stated:
            return judged_by_units(claim, hypothesis)
        found = judged_by_units(flag.mended.apply(claim))
        summary = f"Homogeneous with {flag.mended.name}, which is 1 in the unit that the statement fixes."
        return replace(found, summary=summary) if found.verdict == "proved" else found

    falsified = [*_falsified_bound(claim), *_falsified_conditions(claim), *_falsified_choices(claim)]
    return Check(claim.id, homogeneous, (flag.mended,) if flag and not flag.stated else tuple(falsified))


def chosen(claim: Claim) -> dict[str, Unit]:
    """The formulas of a claim that choose a parameter, with the unit that it has."""
    return {name: _CHOSEN[name] for name in claim.formulas if name in _CHOSEN}


def judged_by_units(claim: Claim, hypothesis: str = "") -> Evidence:
    """Whether a bound has the unit of its left side, each condition one on both sides, a chosen parameter its own."""
    faults, statements, form = [], 0, in_text(claim)
    if claim.bound:
        statements += 1
        faults += _faults("bound", claim.bound.rhs, claim.bound.unit, form, "its left-hand side")
    for name, condition in claim.conditions.items():
        if isinstance(condition, sympy.core.relational.Relational):
            statements += 1
            both = sympy.Add(condition.lhs, condition.rhs, evaluate=False)
            faults += _faults(f"condition {name!r}", both, None, form)
    for name, unit in chosen(claim).items():
        statements += 1
        faults += _faults(name, claim.formulas[name], unit, form, "not")
    if not faults:
        return Evidence("proved", "units", "Homogeneous in loss and parameter.", "all units", statements)
    summary, witness = "; ".join(fault for fault, _ in faults), {k: v for _, part in faults for k, v in part.items()}
    if hypothesis:
        return Evidence(
            "conditional", "units", f"Not homogeneous: {summary}", "", statements, None, hypothesis, witness
        )
    return Evidence("inconsistent", "units", f"Not homogeneous: {summary}", "", statements, witness=witness)


def _faults(
    part: str, expression: Any, wanted: Any, form: Callable[[sympy.Basic], str], beside: str = ""
) -> list[tuple[str, dict[str, Any]]]:
    try:
        found = unit_of(expression, UNITS)
    except UnitError as error:
        term = form(error.term)
        fault = f"{part}: {str(error).replace(str(error.term), term, 1)}"
        return [(fault, {f"{part}, term": term, f"{part}, off by": str(error.factor)})]
    if wanted is not None and found != wanted and not expression.is_zero:
        return [(f"{part} has unit {found}, {beside} {wanted}", {f"{part}, off by": str(found / wanted)})]
    return []


def _falsified_bound(claim: Claim) -> list[Mutant]:
    if claim.bound is None:
        return []
    return [
        mutate("bound", "times a smoothness", lambda e: e * smoothness),
        mutate("bound", "plus smoothness^7", lambda e: e + smoothness**7),
    ]


def _falsified_choices(claim: Claim) -> list[Mutant]:
    return [mutate(name, "times a smoothness", lambda e: e * smoothness) for name in chosen(claim)]


def _falsified_conditions(claim: Claim) -> list[Mutant]:
    return [
        mutate(name, "one side times a smoothness", lambda c: c.func(c.lhs, c.rhs * smoothness))
        for name, condition in claim.conditions.items()
        if isinstance(condition, sympy.core.relational.Relational) and not condition.rhs.is_zero
    ]
