"""Witness files: a counterexample with everything needed to check it again, exactly.

A file names the claim (with the hash of its statement), the trial, the point and what was found there. Replaying
computes both sides and every condition anew from the point alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from inspect import getdoc
from pathlib import Path
from typing import Any

from analysis.checks import all_trials
from analysis.domains import Domain, Real, Several, Whole
from analysis.falsify import Found
from analysis.files import write_text
from analysis.trials import Judgement, Trial, exact_from, exact_text, judge
from fltheory.errors import InputError, printable
from fltheory.ledger import Claim, ledger
from fltheory.verdicts import needs, recorded

SCHEMA = 1
FIELDS = {
    "schema": int, "claim": str, "claim_sha256": str, "trial": str, "trial_in_words": object, "point": dict,
    "constants": object, "conditions": object, "facts": object, "left": object, "right": object,
}  # fmt: skip
MAY_LACK = ("needs",)  # of a claim that was or was not conditional when the file was written


def save(found: Found, claim: Claim, path: Path) -> None:
    """Write a counterexample, by way of a temporary name; with what a claim needs that is recorded as conditional."""
    content = {
        "schema": SCHEMA,
        "claim": claim.id,
        "trial": found.trial.name,
        "point": {name: _plain(value) for name, value in found.point.items()},
        **_told(claim, found.trial),
        **_judged(claim, found.judgement),
    }
    write_text(path, json.dumps(content, indent=1) + "\n")


def _told(claim: Claim, trial: Trial) -> dict[str, Any]:
    """What a file says of its claim and trial in words: what the claim needs only if it is recorded as conditional."""
    hypothesis = needs(recorded().get(claim.id, {"verdict": "not checked"}))
    return {
        "claim_sha256": claim.digest,
        "trial_in_words": getdoc(trial.evaluate) or "",
        **({"needs": hypothesis} if hypothesis else {}),
    }


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


@dataclass(frozen=True)
class Replayed:
    """A witness file judged anew.

    notes   a line on everything in the file that is not as it is computed now
    kept    whether the sides, constants, conditions and facts that the file gives are those computed now
    """

    claim: Claim
    trial: Trial
    point: dict[str, Any]
    judgement: Judgement
    notes: list[str]
    kept: bool


def replay(path: Path) -> Replayed:
    """The judgement of a file's point computed anew, and where the file says otherwise.

    Raises InputError for a file that is not a witness (a field missing, or one of an unknown name), an unknown claim or
    trial, a point outside the trial's space, or a point that does not satisfy a condition of the claim.
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
    numbers = _differences(content, _judged(claim, judgement))
    words = _differences(content, _told(claim, trial), may_lack=MAY_LACK)
    notes = [_hash_note(content, claim) if name == "claim_sha256" else note for name, note, _ in (*words, *numbers)]
    return Replayed(claim, trial, point, judgement, notes, kept=not any(said for *_, said in numbers))


def _differences(
    content: Mapping[str, Any], now: Mapping[str, Any], may_lack: Sequence[str] = (), within: str = ""
) -> list[tuple[str, str, bool]]:
    """(name, note, whether the file says anything of it) of each part of a file that is not as it is computed now.

    may_lack    names that a file may have which nothing is computed for now
    """
    found = []
    for name in (*now, *(name for name in may_lack if name in content and name not in now)):
        said, computed = content.get(name), now.get(name)
        if isinstance(said, dict) and isinstance(computed, dict):
            found += _differences(said, computed, tuple(said), f"{_cut(name)}: ")
        elif name not in content or said != computed or type(said) is not type(computed):
            full = f"{within}{_cut(name)}"
            has = f"the file says {full} = {_cut(said)}" if name in content else f"the file does not say {full}"
            is_now = f"recomputed {_cut(computed)}" if name in now else "nothing of the kind is computed now"
            found.append((full, f"{has}, {is_now}", name in content))
    return found


def _cut(value: Any) -> str:
    text = printable(" ".join(str(value).split()))  # a file of somebody else's
    return text if len(text) <= 100 else f"{text[:60]}... ({len(text)} characters)"


def _hash_note(content: Mapping[str, Any], claim: Claim) -> str:
    """That the hash of the statement is another: that of a statement in the ledger, of an earlier one, or none."""
    digest = content["claim_sha256"]
    other = next((name for name in ledger if ledger[name].digest == digest), None)
    if other:
        return f"the file has the hash of another statement, {other}"
    return (
        f"the file says claim_sha256 = {_cut(digest)}, recomputed {claim.digest}: the statement or the file has "
        "changed since this witness was found; it was judged as the statement stands now"
    )


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
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or content["schema"] is True:  # 1 to Python
        raise InputError("witness", str(path), f"a witness file of schema {SCHEMA}")
    for name, kind in FIELDS.items():
        if name not in content or not isinstance(content[name], kind):
            allowed = "there" if kind is object else f"there, as {kind.__name__}"
            raise InputError(f"{name} of the witness", content.get(name), allowed)
    unknown = next((name for name in content if name not in (*FIELDS, *MAY_LACK)), None)
    if unknown is not None:
        raise InputError("witness", str(path), f"a file without a field of another name, as {_cut(repr(unknown))} is")
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
