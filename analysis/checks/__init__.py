"""How claims are checked: one module a paper, each a `CheckBook` found through `fltheory.checks`.

A check is a function (claim, depth) -> Evidence that reads the claim's formulas, bound and conditions and
computes the other side by itself. Its mutants are falsified copies of the claim: the check must judge each
of them differently from the claim, or it cannot fail.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import sympy

from analysis.domains import Domain
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, Trial
from fltheory import plugins
from fltheory.errors import InputError
from fltheory.ledger import Claim

Depth = Literal["quick", "default", "deep"]
DEPTHS: tuple[Depth, ...] = ("quick", "default", "deep")
CheckFunction = Callable[[Claim, Depth], Evidence]


@dataclass(frozen=True)
class Mutant:
    """A named way to falsify a claim."""

    name: str
    apply: Callable[[Claim], Claim]


def mutate(part: str, name: str, change: Callable[[Any], Any]) -> Mutant:
    """Falsify one part of a claim: "bound", or the name of a formula or of a condition.

    `change` gets the sympy expression and returns the falsified one.
    """

    def apply(claim: Claim) -> Claim:
        if part == "bound":
            assert claim.bound is not None
            return replace(claim, bound=replace(claim.bound, rhs=change(claim.bound.rhs)))
        if part in claim.conditions:
            return replace(claim, conditions={**claim.conditions, part: change(claim.conditions[part])})
        return replace(claim, formulas={**claim.formulas, part: change(claim.formulas[part])})

    return Mutant(f"{part}: {name}", apply)


def without(condition: str) -> Mutant:
    """A dropped condition."""

    def apply(claim: Claim) -> Claim:
        if condition not in claim.conditions:
            raise InputError("condition", condition, f"one of {', '.join(claim.conditions)}")
        return replace(claim, conditions={k: v for k, v in claim.conditions.items() if k != condition})

    return Mutant(f"without condition {condition}", apply)


def without_term(term: Any) -> Mutant:
    """A bound that lacks one of its summands (of one of its factors, where the bound is a product)."""

    def apply(claim: Claim) -> Claim:
        if term not in summands(claim):
            raise InputError("term", term, f"a summand of the bound of {claim.id}")
        assert claim.bound is not None
        rest = summands(claim)[term]
        return replace(claim, bound=replace(claim.bound, rhs=rest))

    return Mutant(f"bound: without {term}", apply)


def summands(claim: Claim) -> dict[Any, Any]:
    """Summand of the bound -> the bound without it; summands that are subtracted are left out."""
    if claim.bound is None:
        return {}
    rhs = claim.bound.rhs
    sums = [factor for factor in sympy.Mul.make_args(rhs) if isinstance(factor, sympy.Add)]
    if not sums:
        return {}
    # Of the factors of a product, such as (1 - q) (a + b), the one with the most to lose.
    chosen = max(sums, key=lambda factor: (sum(not t.could_extract_minus_sign() for t in factor.args), str(factor)))
    plus = [term for term in chosen.args if not term.could_extract_minus_sign()]
    if len(plus) < 2:
        return {}
    return {term: rhs.xreplace({chosen: chosen - term}) for term in plus}


def systematic(claim: Claim) -> list[Mutant]:
    """Falsified copies that anybody would try: each condition and each summand of the bound dropped, each formula
    times 13/10 and 7/10."""
    return [
        *(without(name) for name in claim.conditions),
        *(without_term(term) for term in summands(claim)),
        *(times(name, factor) for name, formula in claim.formulas.items() for factor in ("13/10", "7/10")
          if isinstance(formula, sympy.Expr) and formula != 0),
    ]  # fmt: skip


def times(part: str, factor: Any) -> Mutant:
    """A wrong constant: the part multiplied by `factor`."""
    return mutate(part, f"times {factor}", lambda e: e * sympy.nsimplify(factor))


def plus(part: str, term: Any) -> Mutant:
    """An index or value off by `term`."""
    return mutate(part, f"plus {term}", lambda e: e + sympy.nsimplify(term))


def put(part: str, old: Any, new: Any) -> Mutant:
    """A wrong symbol or exponent: `old` replaced by `new`."""
    return mutate(part, f"{old} -> {new}", lambda e: _replaced(e, old, new))


def _replaced(expression: Any, old: Any, new: Any) -> Any:
    changed = expression.subs(old, new)
    if changed == expression:
        raise InputError("old", old, f"a part of {expression}")
    return changed


@dataclass(frozen=True)
class Check:
    """One way to check one claim, with the falsified claims that it must reject."""

    claim_id: str
    function: CheckFunction
    mutants: tuple[Mutant, ...]

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.function.__name__

    @property
    def modules(self) -> list[str]:
        """The names of its module and of the modules of checking code that it uses."""
        module = sys.modules[self.function.__module__]
        room = module.__name__.partition(".")[0]
        used = {module.__name__}
        for value in vars(module).values():
            name = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
            if isinstance(name, str) and name.partition(".")[0] in (room, "analysis"):
                used.add(name)
        return sorted(used)

    def digest(self) -> str:
        """SHA-256 of its name and of the code of its modules; other evidence is stale."""
        sources = [inspect.getsource(sys.modules[name]) for name in self.modules]
        return hashlib.sha256("".join([self.name, *sources]).encode()).hexdigest()


class CheckBook:
    """The checks of one paper or topic.

    `@checks(claim, mutants=[...])` enters a check, `@checks.trial(claim, space)` a trial, on which checks may rest.
    """

    def __init__(self, *topics: CheckBook) -> None:
        self.checks: list[Check] = [check for topic in topics for check in topic.checks]
        self.trials: list[Trial] = [trial for topic in topics for trial in topic.trials]

    def __call__(self, claim: Claim, *, mutants: list[Mutant]) -> Callable[[CheckFunction], CheckFunction]:
        """Enter the decorated function as a check of `claim`. A check without a mutant is refused."""
        if not mutants:
            raise InputError("mutants", mutants, "at least one: a check must be able to fail")

        def enter(function: CheckFunction) -> CheckFunction:
            self.checks.append(Check(claim.id, function, tuple(mutants)))
            return function

        return enter

    def trial(
        self, claim: Claim, space: Mapping[str, Domain]
    ) -> Callable[[Trial | Callable[[Claim, Point], Sides]], Trial]:
        """Enter the decorated function as a way to put `claim` to the test, and return the trial.

        Decorators stack: what is decorated may be the trial of another claim.
        """

        def enter(evaluate: Trial | Callable[[Claim, Point], Sides]) -> Trial:
            function = evaluate.evaluate if isinstance(evaluate, Trial) else evaluate
            self.trials.append(Trial(claim.id, space, function))
            return self.trials[-1]

        return enter


@cache
def all_checks() -> Mapping[str, list[Check]]:
    """Claim id -> its checks, over all installed check books."""
    found: dict[str, list[Check]] = {}
    for entry in plugins.entries("fltheory.checks").values():
        for check in plugins.load(entry, CheckBook).checks:
            found.setdefault(check.claim_id, []).append(check)
    return found


@cache
def all_trials() -> Mapping[str, list[Trial]]:
    """Claim id -> its trials, over all installed check books."""
    found: dict[str, list[Trial]] = {}
    for entry in plugins.entries("fltheory.checks").values():
        for trial in plugins.load(entry, CheckBook).trials:
            found.setdefault(trial.claim_id, []).append(trial)
    return found
