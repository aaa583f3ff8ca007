"""The recorded verdicts: how a verdict, which arises in `analysis`, reaches whoever only reads.

`fltheory verify --record` writes `data/verdicts.json`; listing, showing and planning read it and need neither
sympy nor the checks. The file holds no timings: two records of the same state are the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.machinery import PathFinder
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from fltheory.errors import InputError

Verdict = Literal["refuted", "inconsistent", "conditional", "not checked", "supported", "exact", "proved"]

# From worst to best: the headline of a claim is the first of its evidences in this order.
VERDICTS: tuple[Verdict, ...] = (
    "refuted", "inconsistent", "conditional", "not checked", "supported", "exact", "proved",
)  # fmt: skip

MEANING: dict[Verdict, str] = {
    "refuted": "a reproducible witness satisfies every stated condition and violates the statement",
    "inconsistent": "units do not match, a slip, or two places of the paper contradict each other",
    "conditional": "true only with a hypothesis that neither the statement nor its assumptions give",
    "not checked": "with the reason",
    "supported": "search or simulation at a stated confidence found no violation",
    "exact": "exact computation over a declared grid",
    "proved": "a symbolic identity or inequality, or a chain of machine-checked steps",
}


def headline(verdicts: list[Verdict]) -> Verdict:
    """The worst of the verdicts; `not checked` where there is none."""
    return min(verdicts, key=VERDICTS.index, default="not checked")


def recorded() -> dict[str, dict[str, Any]]:
    """Claim id -> its recorded entry; empty before anything was recorded. Raises InputError for a damaged file."""
    file = files("fltheory") / "data" / "verdicts.json"
    if not file.is_file():
        return {}
    try:
        claims = json.loads(file.read_text(encoding="utf-8"))["claims"]
        broken = next((id_ for id_, entry in claims.items() if not _complete(entry)), None)
    except (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(str(file), f"{type(error).__name__}: {error}") from None
    if broken is not None:
        raise _damaged(str(file), f"the entry of {broken} is not one of a claim")
    return dict(claims)


def checks_changed(entry: Mapping[str, Any]) -> bool:
    """Whether the checking code of a recorded entry is no longer what was run; it is read, and not imported."""
    return "modules_sha256" in entry and entry["modules_sha256"] != sources_sha256(entry.get("check_modules", []))


def sources_sha256(modules: Iterable[str]) -> str:
    """SHA-256 of the source files of modules; one that is gone counts as empty."""
    return hashlib.sha256("".join(map(_source_sha256, modules)).encode()).hexdigest()


@cache
def _source_sha256(module: str) -> str:
    top, *rest = module.split(".")
    spec = find_spec(top)
    for part in rest:  # unlike `find_spec` of the full name, this imports no package on the way
        spec = PathFinder.find_spec(part, spec.submodule_search_locations) if spec else None
    try:
        source = Path(spec.origin).read_bytes() if spec and spec.origin else b""
    except OSError:
        source = b""
    return hashlib.sha256(source.replace(b"\r\n", b"\n")).hexdigest()


def decisive(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The evidence of a recorded entry that decides its verdict; one with a hypothesis or a reading before others."""
    found = [evidence for evidence in entry.get("evidence", []) if evidence["verdict"] == entry["verdict"]]
    named = (evidence for evidence in found if evidence.get("hypothesis") or evidence.get("reading"))
    return next(named, next(iter(found), None))


def needs(entry: Mapping[str, Any]) -> str:
    """What a conditional statement needs, of all its evidence that names something; empty for other verdicts.

    >>> needs({"verdict": "conditional", "evidence": [{"verdict": "conditional", "hypothesis": "K >= 1."}]})
    'K >= 1'
    """
    return _named("hypothesis", entry, ("conditional",))


def reading(entry: Mapping[str, Any]) -> str:
    """The customary reading of its assumptions that the evidence for a statement uses, or that for what a conditional
    one says with its hypothesis; empty for other verdicts.

    >>> reading({"verdict": "proved", "evidence": [{"verdict": "proved", "reading": "noise independent"}]})
    'noise independent'
    """
    return _named("reading", entry, ("conditional", *VERDICTS[VERDICTS.index("supported") :]))


def _named(what: str, entry: Mapping[str, Any], verdicts: Sequence[Verdict]) -> str:
    """What evidence of these verdicts names there, for an entry whose own verdict is one of them."""
    if entry["verdict"] not in verdicts:
        return ""
    named = [evidence.get(what, "").rstrip(". ") for evidence in entry["evidence"] if evidence["verdict"] in verdicts]
    kept = [text for text in dict.fromkeys(named) if not any(text != more and text in more for more in named)]
    return "; ".join(filter(None, kept))


def because(entry: Mapping[str, Any]) -> str:
    """Why an entry has its verdict, in one line: the finding, and what it needs or how its assumptions are read.

    >>> found = {"verdict": "conditional", "summary": "True for coins.", "hypothesis": "a coin decides"}
    >>> because({"verdict": "conditional", "evidence": [found]})
    'True for coins. Needs: a coin decides.'
    """
    found = decisive(entry)
    reason = str(entry.get("reason") or (found["summary"] if found else ""))
    named = {"Needs": needs(entry), "Read with": reading(entry)}
    return " ".join([reason, *(f"{label}: {text}." for label, text in named.items() if text)])


_TEXT, _LIST, _TABLE, _WHOLE, _NUMBER = (str,), (list,), (dict,), (int,), (int, float)
_ENTRY = {
    "title": _TEXT,
    "where": _TEXT,
    "verdict": _TEXT,
    "claim_sha256": _TEXT,
    "check_sha256": _LIST,
    "evidence": _LIST,
}
_ENTRY_MORE = {
    "kind": _TEXT, "origin": _TEXT, "reason": _TEXT, "repaired_by": _TEXT, "check_modules": _LIST,
    "modules_sha256": _TEXT,
}  # fmt: skip
_EVIDENCE = {"verdict": _TEXT, "method": _TEXT, "summary": _TEXT}
_EVIDENCE_MORE = {
    "domain": _TEXT, "hypothesis": _TEXT, "reading": _TEXT, "cases": _WHOLE, "largest": _NUMBER, "largest_at": _TABLE,
    "witness": _TABLE,
}  # fmt: skip
_VALUE = (str, int, float, bool)
_INSIDE = {
    "check_sha256": _TEXT, "check_modules": _TEXT, "evidence": _TABLE, "largest_at": _VALUE, "witness": _VALUE,
}  # fmt: skip


def _complete(entry: Any) -> bool:
    """Whether an entry has what its readers look for, each of the right kind."""
    if not (type(entry) is dict and _fits(entry, _ENTRY, _ENTRY_MORE)):
        return False
    found = [{**e, "largest": math.inf} if e.get("largest") == "inf" else e for e in entry["evidence"]]
    verdicts = [e["verdict"] for e in found if _fits(e, _EVIDENCE, _EVIDENCE_MORE)]
    known = all(verdict in VERDICTS for verdict in (entry["verdict"], *verdicts))
    return known and len(verdicts) == len(found) and ("reason" in entry or entry["verdict"] in verdicts)


_Kinds = Mapping[str, tuple[type, ...]]


def _fits(part: dict[str, Any], must: _Kinds, may: _Kinds) -> bool:
    """Whether all of `must` is there, and it and what is there of `may` is of its kind; True is no whole number."""
    here = dict(must) | {name: kinds for name, kinds in may.items() if name in part}
    return all(type(part.get(name)) in kinds for name, kinds in here.items()) and all(
        type(value) in _INSIDE[name]
        for name in here.keys() & _INSIDE.keys()
        for value in (part[name].values() if type(part[name]) is dict else part[name])
    )


def _damaged(file: str, why: str) -> InputError:
    return InputError(
        f"the recorded verdicts in {file}",
        why,
        "as `fltheory verify --record` wrote them (restore or reinstall the file)",
    )
