"""The recorded verdicts: how a verdict, which arises in `analysis`, reaches whoever only reads.

`fltheory verify --record` writes `data/verdicts.json`; listing, showing and planning read it and need neither
sympy nor the checks. The file holds no timings: two records of the same state are the same bytes.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Literal

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
    """Claim id -> its recorded entry; empty before anything was recorded."""
    file = files("fltheory") / "data" / "verdicts.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))["claims"]) if file.is_file() else {}
