"""What `fltheory worst-case` prints: computed worst cases of one-step lemmas beside the claimed values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.json_text import json_text
from analysis.worst_case import LEMMAS, WorstCase
from fltheory.errors import InputError, one_of

HEADINGS = ("claim", "worst case", "claimed", "ratio", "status", "scope", "gap", "parameters")


def worst_cases(names: Sequence[str], *, as_json: bool = False) -> tuple[str, bool]:
    """Solve the problems of these claims (or papers; all without names): the text, and whether a bound is violated.

    Raises InputError for a name without such a problem, and where PEPit is not installed.
    """
    found = [LEMMAS[id_].at(point) for id_ in _chosen(names) for point in LEMMAS[id_].points]
    violated = any(case.status == "violated" for case in found)
    if as_json:
        return json_text([case.to_json() for case in found], ensure_ascii=False), violated
    return "\n".join([*_table(found), "", *_explained(found)]), violated


def _chosen(names: Sequence[str]) -> list[str]:
    papers = {id_.partition(".")[0] for id_ in LEMMAS}
    for name in names:
        if name not in LEMMAS and name not in papers:
            raise InputError("claim or paper", name, one_of(name, [*LEMMAS, *papers]))
    return [id_ for id_ in LEMMAS if not names or id_ in names or id_.partition(".")[0] in names]


def _table(found: Sequence[WorstCase]) -> list[str]:
    rows = [HEADINGS, *(_row(case) for case in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS) - 1)]
    return ["  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[-1]]) for row in rows]


def _row(case: WorstCase) -> tuple[str, ...]:
    return (
        case.claim_id,
        f"{case.solution.upper:.5g}",
        "" if case.claimed is None else f"{case.claimed:.5g}",
        "" if case.ratio is None else f"{case.ratio:.4f}",
        case.status,
        case.scope,
        f"{abs(case.solution.gap):.0e}",
        _shown(case.parameters),
    )


def _shown(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {str(value).replace(' ', '')}" for name, value in parameters.items())


def _explained(found: Sequence[WorstCase]) -> list[str]:
    counts = Counter(case.status for case in found)
    gap = max(abs(case.solution.gap) for case in found)
    return [
        f"{len(found)} worst cases: " + ", ".join(f"{number} {status}" for status, number in sorted(counts.items())),
        f"worst case: dual value of a semidefinite program, solved by {found[0].solution.solver} in double precision; "
        f"largest primal-dual gap {gap:.0e}.",
        "scope exact: over all functions of the lemma; outer: over more of them, so that the true worst case may be "
        "smaller; inner: over a part of the noise laws, so that it may be larger.",
    ]
