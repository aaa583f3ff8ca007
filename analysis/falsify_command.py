"""What `fltheory falsify` and `fltheory replay` print."""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import getdoc
from pathlib import Path
from typing import Any

import sympy

from analysis import witness
from analysis.checks import all_trials
from analysis.evidence import ratio_text
from analysis.falsify import Search, falsify
from analysis.files import require_writable
from analysis.trials import Judgement, Trial, exact_text
from fltheory.errors import InputError, count
from fltheory.ledger import Claim, ledger
from fltheory.verdicts import needs, recorded

UNITS = {"s": 1, "m": 60, "h": 3600}
STEP_SIZES = {"local_lr", "global_lr", "example_lr"}


def falsify_claim(claim_id: str, *, budget: str, seed: int = 0, out: Path | None = None) -> tuple[str, bool]:
    """Search for a counterexample and save it; the text to print, and whether there is one.

    Raises InputError for an unknown claim, one without trials, a budget that is no positive time, a bad place.
    """
    seconds = duration("--budget", budget)
    claim, seed = ledger[claim_id], count("--seed", seed, least=0)
    path = out or Path(f"{claim.id}.witness.json")
    require_writable(path)
    trials = list(all_trials().get(claim.id, []))
    search = falsify(claim, trials, seconds=seconds, seed=seed)
    if search.found is None:
        searched = [line for trial in trials for line in _space(trial)]
        return "\n".join([_nothing(claim, search), *searched, *_record(claim, violated=False)]), False
    witness.save(search.found, claim, path)
    missing = _record(claim, violated=True)
    what = "a counterexample to the claim as it is stated," if missing else "a counterexample"
    lines = [
        f"{claim.id}: {what} after {search.seconds:.1f} s and {search.tried} points",
        *_facts(search.found.trial, search.found.point, search.found.judgement, claim),
        *missing,
        f"saved as {path}; verify it with: fltheory replay {path}",
    ]
    return "\n".join(lines), True


def replay_file(path: Path) -> tuple[str, bool]:
    """Verify a witness file anew; the text to print, and whether it violates the claim as the file says."""
    found = witness.replay(path)
    claim, judgement = found.claim, found.judgement
    missing = _record(claim, violated=True) if judgement.violated else []
    verdict = "violates" if judgement.violated else "does not violate"
    lines = [
        f"{claim.id}: {claim.title}",
        *_facts(found.trial, found.point, judgement, claim),
        *(f"note: {note}" for note in found.notes),
        f"In exact arithmetic this point {verdict} the claim{' as it is stated' if missing else ''}.",
        *missing,
        *([] if found.kept else ["The file is not what was found: it says otherwise of its own point, see the notes."]),
    ]
    return "\n".join(lines), judgement.violated and found.kept


def duration(argument: str, text: str) -> float:
    """Seconds of a text such as "60s", "10m" or "2h"; a bare number is seconds.

    >>> duration("--budget", "10m")
    600.0
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    seconds = float(match[1]) * UNITS[match[2] or "s"] if match else 0.0
    if seconds <= 0:
        raise InputError(argument, text, "a positive time, such as 60s, 10m or 2h")
    return seconds


def _nothing(claim: Claim, search: Search) -> str:
    letters = {symbol.name for condition in claim.conditions.values() for symbol in condition.free_symbols}
    within = "; only step sizes within the stated conditions were tried" if letters & STEP_SIZES else ""
    return (
        f"{claim.id}: no counterexample in {search.seconds:.0f} s; {search.admitted} of {search.tried} points "
        "satisfied every condition, the largest left/right ratio found is "
        f"{ratio_text(search.largest, '.4g')} (a found value, no supremum{within})"
    )


def _record(claim: Claim, *, violated: bool) -> list[str]:
    """Of a claim recorded as conditional what it needs; of a false one, where nothing was found, that it is false."""
    entry = recorded().get(claim.id)
    if entry is None:
        return []
    verdict, hypothesis = entry["verdict"], needs(entry)
    when = "" if entry["claim_sha256"] == claim.digest else ", before the statement was changed"
    if hypothesis:
        lacks = ", and that this point lacks, wholly or in part" if violated else ""
        return [
            f"It is recorded as conditional{when}: true with a hypothesis that it does not state{lacks}. "
            f"Needs: {hypothesis}."
        ]
    if verdict in ("refuted", "inconsistent") and not violated:
        return [f"It is recorded as {verdict}{when}; for the evidence: fltheory show {claim.id}"]
    return []


def _facts(trial: Trial, point: Mapping[str, Any], judgement: Judgement, claim: Claim) -> list[str]:
    """The trial in its own words, the point, its constants, every condition and both sides, a line each.

    A trial that rounds says so in its words. Irrational sides are not rounded: sympy compares them, with as many
    digits as decide it.
    """
    sides = judgement.sides
    lines = _trial(trial)
    lines += [f"  {name} = {_shown(value)}" for name, value in point.items()]
    lines += [f"  {name} = {_shown(value)}" for name, value in sides.constants.items() if name not in point]
    holds = {True: "holds", False: "FAILS"}
    lines += [
        f"  condition {name}: {claim.conditions[name]} {holds[good]}" for name, good in judgement.conditions.items()
    ]
    lines += [f"  {name}: {holds[good]}" for name, good in sides.facts.items()]
    for name, value in (("left ", sides.left), ("right", sides.right)):
        lines.append(f"  {name} = {_shown(value)} = {_decimals(value)}")
    irrational = [name for name in ("left", "right") if isinstance(getattr(sides, name), sympy.Basic)]
    if irrational:
        lines.append(f"  {' and '.join(irrational)} irrational: compared with as many digits as decide it")
    return lines


def _trial(trial: Trial) -> list[str]:
    """The name of a trial and what it says of itself."""
    return [f"trial {trial.name}", *(f"  {line}".rstrip() for line in (getdoc(trial.evaluate) or "").splitlines())]


def _space(trial: Trial) -> list[str]:
    """A trial and where its points were drawn from: outside of it nothing was looked for."""
    return [*_trial(trial), *(f"  {name}: {domain}" for name, domain in trial.space.items())]


def _decimals(value: Any) -> str:
    try:
        return f"{float(value):.10g}"
    except OverflowError:
        return "a number beyond all floats"


def _shown(value: Any) -> str:
    """A value on one line; a fraction too long to read is cut."""
    text = f"({', '.join(map(_shown, value))})" if isinstance(value, tuple) else exact_text(value)
    return text if len(text) <= 100 else f"{text[:60]}... ({len(text)} characters)"
