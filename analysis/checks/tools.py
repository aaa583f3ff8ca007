"""What checks of several papers share: exact values of formulas, the accuracy that is granted, and what evidence
rests on.

A check whose points or steps lie within a condition by themselves would judge a claim without that condition alike. It
therefore says which conditions its evidence rests on (`rests_on`); a claim that does not give one is `conditional`.
So is one that does not make an assumption whose use a check names (`made_with`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import Any

import sympy
from sympy import Rational

from analysis.evidence import Evidence
from analysis.letters import in_text
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


# ---- what evidence rests on --------------------------------------------------------------------------------

Judge = Callable[[Claim, Any], Evidence]


def rests_on(conditions: Mapping[str, Any]) -> Callable[[Judge], Judge]:
    """For a check, below its `@checks`: name -> relation that its evidence rests on, written out, not read off the
    claim. Evidence for a claim that does not give one of them is `conditional`; what speaks against it stays as it is.
    """

    def enter(judge: Judge) -> Judge:
        @wraps(judge)
        def judged(claim: Claim, depth: Any) -> Evidence:
            return under(judge(claim, depth), claim, conditions)

        return judged

    return enter


def under(found: Evidence, claim: Claim, conditions: Mapping[str, Any]) -> Evidence:
    """The evidence if the claim gives all of these conditions, else `conditional` with those that it does not give."""
    missing = {name: relation for name, relation in conditions.items() if not gives(claim, relation)}
    form = in_text(claim, replace(claim, conditions=missing))
    needs = (f"{name}: {form(relation)}" for name, relation in missing.items())
    return _needing(found, "a condition that the statement does not give", needs)


def _needing(found: Evidence, what: str, needs: Iterable[str]) -> Evidence:
    hypothesis = "; ".join(needs)
    if not hypothesis or found.verdict not in ("proved", "exact", "supported"):
        return found
    summary = f"The {'proof' if found.verdict == 'proved' else 'evidence'} needs {what}."
    return replace(found, verdict="conditional", summary=summary, hypothesis=hypothesis)


def made_with(steps: Mapping[str, str]) -> Callable[[Judge], Judge]:
    """For a check, below its `@checks`: id of an assumption -> the step of its evidence that uses it, where no letter
    of the statement shows that it is needed. Evidence for a claim that does not make one of them is `conditional`.
    """

    def enter(judge: Judge) -> Judge:
        @wraps(judge)
        def judged(claim: Claim, depth: Any) -> Evidence:
            made = {assumption.id for assumption in claim.assumes}
            needs = (f"{id_}: {step}" for id_, step in steps.items() if id_ not in made)
            return _needing(judge(claim, depth), "an assumption that the statement does not make", needs)

        return judged

    return enter


def gives(claim: Claim, relation: Any) -> bool:
    """Whether a condition of the claim is the relation, or one with the same symbols that plainly says more."""
    return any(_says(condition, relation) for condition in claim.conditions.values())


def _says(condition: Any, wanted: Any) -> bool:
    if condition == wanted:
        return True
    order = (sympy.Le, sympy.Lt, sympy.Ge, sympy.Gt)
    if not (isinstance(condition, order) and isinstance(wanted, order)):
        return False
    # condition: a <= b, wanted: c <= d; a <= b says c <= d if c <= a and b <= d, or if d - c >= b - a; and c < d if one
    # of these is strict.
    strict = (sympy.Lt, sympy.Gt)
    more = isinstance(wanted, strict) and not isinstance(condition, strict)
    gains = [sympy.simplify(gain) for gain in (condition.lts - wanted.lts, wanted.gts - condition.gts)]
    apart = all(gain.is_nonnegative for gain in gains) and (not more or any(gain.is_positive for gain in gains))
    difference = sympy.simplify(sympy.expand(sum(gains)))
    return bool(apart or (difference.is_positive if more else difference.is_nonnegative))


READ = ("proved", "exact", "supported", "conditional")  # words of evidence that may use a reading
INDEPENDENT_NOISE = "noise independent over clients (customary; not printed)"


def reading(used: str) -> Callable[[Judge], Judge]:
    """For a check whose evidence uses a customary reading of an assumption that is not printed: it keeps its word, and
    says what it uses. What speaks against a statement uses no reading."""

    def enter(judge: Judge) -> Judge:
        @wraps(judge)
        def judged(claim: Claim, depth: Any) -> Evidence:
            found = judge(claim, depth)
            return replace(found, reading=used) if found.verdict in READ else found

        return judged

    return enter
