"""What a long verification has found so far: one line a claim, appended as it comes, read again after a stop."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.checks import Check, Depth, all_checks
from analysis.evidence import Evidence
from analysis.verify import Result, run
from fltheory.errors import InputError
from fltheory.ledger import Claim


def resumed(claims: Sequence[Claim], depth: Depth, workers: int, kept: Path) -> tuple[int, Iterator[Result]]:
    """The results of `analysis.verify.run`, and of how many `kept` remembers those of an earlier, interrupted run.

    A result is used again only if neither the claim nor one of its checks has changed since. Crashes are not kept.
    """
    known, checks = _read(kept), all_checks()
    done = {claim.id: _restored(claim, checks.get(claim.id, []), known) for claim in claims}
    missing = [claim for claim in claims if done[claim.id] is None]
    return len(claims) - len(missing), _together(claims, done, run(missing, depth, workers), kept)


def _together(
    claims: Sequence[Claim], done: Mapping[str, Result | None], fresh: Iterator[Result], kept: Path
) -> Iterator[Result]:
    for claim in claims:
        result = done[claim.id]
        if result is None:
            result = next(fresh)
            if not result.crash:
                with kept.open("a", encoding="utf-8") as file:
                    file.write("\n" + json.dumps(_plain(result)))  # a new line even after one that was cut short
        yield result


def _plain(result: Result) -> dict[str, Any]:
    return {
        "claim": result.claim.id,
        "claim_sha256": result.claim.digest,
        "check_sha256": result.check_digests,
        "seconds": result.seconds,
        "evidence": [evidence.to_json() for evidence in result.evidence],
    }


def _read(kept: Path) -> dict[str, dict[str, Any]]:
    """Claim id -> the last line about it; a line that was cut short by a kill is no line."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    except OSError as error:
        raise InputError("place to resume from", str(kept), f"a file that can be read ({error.strerror})") from None
    known: dict[str, dict[str, Any]] = {}
    for line in lines:
        try:
            entry = json.loads(line)
            known[entry["claim"]] = entry
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return known


def _restored(claim: Claim, checks: Sequence[Check], known: dict[str, dict[str, Any]]) -> Result | None:
    entry = known.get(claim.id)
    if entry is None or entry.get("claim_sha256") != claim.digest:
        return None
    if entry.get("check_sha256") != [check.digest() for check in checks]:
        return None
    evidence = [Evidence(**{"summary": "", "method": "", **fields}) for fields in entry["evidence"]]
    return Result(claim, evidence, entry["check_sha256"], entry["seconds"])
