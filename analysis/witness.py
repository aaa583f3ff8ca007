"""Witness files: a counterexample with everything needed to check it again, exactly.

A file names the claim (with the hash of its statement), the trial, the point and what was found there. Replaying
computes both sides and every condition anew from the point alone.
"""

from __future__ import annotations

import json
from fractions import Fraction
from inspect import getdoc
from pathlib import Path
from typing import Any

from analysis.checks import all_trials
from analysis.domains import Domain, Real, Several, Whole
from analysis.falsify import Found
from analysis.files import write_text
from analysis.trials import Judgement, Trial, exact_from, exact_text, judge
from fltheory.errors import InputError
from fltheory.ledger import Claim, ledger
from fltheory.verdicts import needs, recorded

SCHEMA = 1


def save(found: Found, claim: Claim, path: Path) -> None:
    """Write a counterexample, by way of a temporary name; with what a claim needs that is recorded as conditional."""
    content = {
        "schema": SCHEMA,
        "claim": claim.id,
        "claim_sha256": claim.digest,
        "trial": found.trial.name,
        "trial_in_words": getdoc(found.trial.evaluate) or "",
        "point": {name: _plain(value) for name, value in found.point.items()},
        **_judged(claim, found.judgement),
    }
    hypothesis = needs(recorded().get(claim.id, {"verdict": "not checked"}))
    if hypothesis:
        content["needs"] = hypothesis
    write_text(path, json.dumps(content, indent=1) + "\n")


def _judged(claim: Claim, judgement: Judgement) -> dict[str, Any]:
    """What a file says of its point: constants, conditions, facts and both sides."""
    sides = judgement.sides
    return {
        "constants": {name: exact_text(value) for name, value in sides.constants.items()},
        "conditions": {name: str(relation) for name, relation in claim.conditions.items()},
        "facts": dict(sides.facts),
        "left": exact_text(sides.left),
        "right": exact_text(sides.right),
    }


def replay(path: Path) -> tuple[Claim, Trial, dict[str, Any], Judgement, list[str]]:
    """Claim, trial, point, the judgement computed anew, and a note on whatever else in the file is not as it is now.

    Raises InputError for a file that is not a witness, an unknown claim or trial, a point outside the trial's space,
    or a point that does not satisfy a condition of the claim.
    """
    content = _read(path)
    claim = ledger[str(content["claim"])]
    trials = {trial.name: trial for trial in all_trials().get(claim.id, [])}
    trial = trials.get(content["trial"])
    if trial is None:
        allowed = f"a trial of {claim.id}: {', '.join(trials) or 'there is none'}"
        raise InputError("trial of the witness", content["trial"], allowed)
    point = {name: _number(name, value) for name, value in content["point"].items()}
    for name, value in point.items():
        _require_number(name, trial.space.get(name), value)
    trial.require({name: _shown(trial.space.get(name), value) for name, value in point.items()})
    point = {name: _fractions(trial.space[name], value) for name, value in point.items()}
    try:
        judgement = judge(trial, claim, point)
    except ArithmeticError as error:
        raise InputError("witness", str(path), f"a point where both sides can be computed ({error})") from None
    statements = {**judgement.conditions, **judgement.sides.facts}
    failed = [name for name, holds in statements.items() if not holds]
    if failed:
        raise InputError("witness", str(path), f"a point that satisfies every condition; it fails: {', '.join(failed)}")
    return claim, trial, point, judgement, _notes(content, claim, judgement)


def _notes(content: dict[str, Any], claim: Claim, judgement: Judgement) -> list[str]:
    """Where a file does not say what is so now: of the statement, and of its point."""
    notes, digest = [], content["claim_sha256"]
    if digest != claim.digest:
        other = next((name for name in ledger if ledger[name].digest == digest), None)
        notes.append(
            f"the file has the hash of another statement, {other}"
            if other
            else "the statement has changed since this witness was found; it was judged as it stands now"
        )
    altered = [name for name, value in _judged(claim, judgement).items() if content.get(name) != value]
    if altered:
        notes.append(f"the file itself says otherwise of {', '.join(altered)}; the lines above are computed now")
    return notes


def _require_number(name: str, domain: Domain | None, value: Any) -> None:
    """Raise InputError for a text where a number is asked for: one that is none, or has a power of ten."""
    if isinstance(domain, Several) and isinstance(value, tuple):
        for part in value:
            _require_number(name, domain.of, part)
    elif isinstance(domain, Real | Whole) and isinstance(value, str):
        how = "" if isinstance(domain, Whole) else ', as a whole number, "1/3" or "0.25"'
        raise InputError(f"coordinate {name}", value, f"{domain}{how}")


def _fractions(domain: Domain, value: Any) -> Any:
    """A whole number of a real coordinate as the fraction that a trial divides exactly."""
    if isinstance(domain, Several):
        return tuple(_fractions(domain.of, part) for part in value)
    return Fraction(value) if isinstance(domain, Real) else value


def _shown(domain: Domain | None, value: Any) -> Any:
    """A whole fraction of a real coordinate as a whole number: a refusal then shows it as one writes it."""
    if isinstance(domain, Several) and isinstance(value, tuple):
        return tuple(_shown(domain.of, part) for part in value)
    whole = isinstance(domain, Real) and isinstance(value, Fraction) and value.denominator == 1
    return value.numerator if whole else value


def _read(path: Path) -> dict[str, Any]:
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                twice.append(name)
            found[name] = value
        return found

    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once)
    except OSError as error:
        raise InputError("witness", str(path), f"a file that can be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise InputError("witness", str(path), "a JSON file as `fltheory falsify` writes it") from None
    if twice:
        raise InputError("witness", str(path), f"a file in which no name stands twice, as {twice[0]!r} does")
    wanted = {"schema": int, "claim": str, "claim_sha256": str, "trial": str, "point": dict}
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or content["schema"] is True:  # 1 to Python
        raise InputError("witness", str(path), f"a witness file of schema {SCHEMA}")
    for name, kind in wanted.items():
        if not isinstance(content.get(name), kind):
            raise InputError(f"{name} of the witness", content.get(name), f"there, as {kind.__name__}")
    return content


def _plain(value: Any) -> Any:
    """JSON of an exact value: whole numbers and options as they are, fractions as "a/b", tuples as lists."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return exact_text(value) if isinstance(value, Fraction) else value


def _number(name: str, value: Any) -> Any:
    if isinstance(value, list):
        if any(isinstance(inner, list) for part in value if isinstance(part, list) for inner in part):
            raise InputError(f"coordinate {name}", "a list in a list in a list", "a value, or a list of values")
        return tuple(_number(name, part) for part in value)
    if isinstance(value, float):
        raise InputError(f"coordinate {name}", value, 'an exact number: a whole number, or a fraction as "1/3"')
    if isinstance(value, str):
        try:
            return exact_from(value)
        except (ValueError, ZeroDivisionError):
            return value
    return value
