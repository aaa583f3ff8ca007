"""The recorded verdicts: how a verdict, which arises in `analysis`, reaches whoever only reads.

`fltheory verify --record` writes `data/verdicts.json`; listing, showing and planning read it and need neither
sympy nor the checks. The file holds no timings: two records of the same state are the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
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
    "conditional": "true only with a hypothesis that the statement does not give",
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


def decisive(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The evidence of a recorded entry that decides its verdict; one that names a hypothesis before others."""
    found = [evidence for evidence in entry.get("evidence", []) if evidence["verdict"] == entry["verdict"]]
    return next((evidence for evidence in found if evidence.get("hypothesis")), next(iter(found), None))


def needs(entry: Mapping[str, Any]) -> str:
    """What a conditional statement needs, of all its evidence that names something; empty for other verdicts.

    >>> needs({"verdict": "conditional", "evidence": [{"verdict": "conditional", "hypothesis": "K >= 1."}]})
    'K >= 1'
    """
    if entry["verdict"] != "conditional":
        return ""
    named = [evidence.get("hypothesis", "").rstrip(". ") for evidence in entry["evidence"]
             if evidence["verdict"] == "conditional"]  # fmt: skip
    return "; ".join(dict.fromkeys(filter(None, named)))


def because(entry: Mapping[str, Any]) -> str:
    """Why an entry has its verdict, in one line: the finding, and what a conditional statement needs.

    >>> found = {"verdict": "conditional", "summary": "True for coins.", "hypothesis": "a coin decides"}
    >>> because({"verdict": "conditional", "evidence": [found]})
    'True for coins. Needs: a coin decides.'
    """
    found = decisive(entry)
    reason = str(entry.get("reason") or (found["summary"] if found else ""))
    return f"{reason} Needs: {needs(entry)}." if needs(entry) else reason


_FORM: dict[str, type] = {"title": str, "where": str, "claim_sha256": str, "check_sha256": list, "evidence": list}
_EVIDENCE: dict[str, type] = {"verdict": str, "method": str, "summary": str}
_MORE: dict[str, type] = {"domain": str, "hypothesis": str, "witness": dict, "largest_at": dict, "cases": int}


def _complete(entry: Any) -> bool:
    """Whether an entry has what its readers look for, each of the right kind."""
    if not (isinstance(entry, dict) and entry.get("verdict") in VERDICTS and _has(entry, _FORM)):
        return False
    found = entry["evidence"]
    if not all(isinstance(e, dict) and _has(e, _EVIDENCE) and e["verdict"] in VERDICTS for e in found):
        return False
    if not all(isinstance(e[name], kind) for e in found for name, kind in _MORE.items() if name in e):
        return False
    return isinstance(entry.get("reason"), str) or entry["verdict"] in [e["verdict"] for e in found]


def _has(part: dict[str, Any], form: dict[str, type]) -> bool:
    return all(isinstance(part.get(name), kind) for name, kind in form.items())


def _damaged(file: str, why: str) -> InputError:
    return InputError(
        f"the recorded verdicts in {file}",
        why,
        "as `fltheory verify --record` wrote them (restore or reinstall the file)",
    )
