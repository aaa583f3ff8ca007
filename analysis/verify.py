"""Run checks, collect verdicts, hold them against the recorded ones, record new ones."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import joblib

from analysis.checks import Check, Depth, Mutant, all_checks
from analysis.evidence import Evidence
from analysis.files import write_text
from analysis.json_text import json_text
from fltheory.errors import InputError, processes
from fltheory.ledger import Claim, ledger, unknown_claim
from fltheory.verdicts import MEANING, VERDICTS, Verdict, because, headline, recorded, sources_sha256
from sims.workers import in_order


@dataclass
class Result:
    """What the checks of one claim found."""

    claim: Claim
    evidence: list[Evidence] = field(default_factory=list)
    check_digests: list[str] = field(default_factory=list)
    seconds: float = 0.0
    crash: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst of its evidences; that units match says nothing about a statement's truth."""
        return headline([e.verdict for e in self.evidence if (e.method, e.verdict) != ("units", "proved")])

    @property
    def key_evidence(self) -> Evidence | None:
        """The evidence that decides the verdict."""
        return next((e for e in self.evidence if e.verdict == self.verdict), None)

    def to_json(self) -> dict[str, Any]:
        """The recorded entry: no timings, hashes of claim and checks; the last can be held against files alone."""
        claim = self.claim
        modules = sorted({name for check in all_checks().get(claim.id, []) for name in check.modules})
        entry: dict[str, Any] = {
            "title": claim.title,
            "kind": claim.kind,
            "where": claim.where,
            "origin": claim.origin,
            "verdict": self.verdict,
            "claim_sha256": claim.digest,
            "check_sha256": self.check_digests,
            **({"check_modules": modules, "modules_sha256": sources_sha256(modules)} if modules else {}),
            "evidence": [e.to_json() for e in self.evidence],
        }
        if self.verdict == "not checked" and self.key_evidence is None:
            entry["reason"] = claim.unchecked or "Only its units are checked"
        if claim.repaired_by:
            entry["repaired_by"] = claim.repaired_by
        return entry


def select(names: Sequence[str]) -> list[Claim]:
    """The claims of the given ids and papers, in ledger order; all of them for no names."""
    if not names:
        return list(ledger.values())
    chosen: set[str] = set()
    for name in names:
        if name in ledger.papers:
            chosen |= set(ledger.papers[name].claims)
        else:
            try:
                chosen.add(ledger[name].id)
            except KeyError:
                raise unknown_claim(name, [*ledger, *ledger.papers]) from None
    return [claim for id_, claim in ledger.items() if id_ in chosen]


def _run(claim: Claim, depth: Depth) -> Result:
    """Run every check of one claim; a crash is part of the result, so that nothing else is lost."""
    result = Result(claim)
    start = time.perf_counter()
    for check in all_checks().get(claim.id, []):
        try:
            evidence = check.function(claim, depth)
            if not isinstance(evidence, Evidence):
                raise TypeError(f"check {check.name} must return an Evidence; it returned {evidence!r}")
            result.evidence.append(evidence)
            result.check_digests.append(check.digest())
        except Exception:
            result.crash = traceback.format_exc()
    result.seconds = time.perf_counter() - start
    return result


def run(claims: Sequence[Claim], depth: Depth, workers: int = 1) -> Iterator[Result]:
    """Check the claims, in order, on `workers` processes."""
    workers = processes("workers", workers)
    # The workers are fresh interpreters: they find the checks through the entry points as this one does.
    tasks = (joblib.delayed(_run_by_id)(claim.id, depth) for claim in claims)
    yield from in_order(tasks, workers, batch_size=1)


def _run_by_id(claim_id: str, depth: Depth) -> Result:
    return _run(ledger[claim_id], depth)


def differences(results: Sequence[Result]) -> list[str]:
    """One line for every verdict that is not the recorded one, or, where it is, for every finding whose word is not:
    a statement that is refuted may get wrong units besides. Claims that nobody recorded, such as those of another
    package, cannot differ."""
    known = recorded()
    return [line for r in results if r.claim.id in known for line in _differences(r, known[r.claim.id])]


def _differences(result: Result, entry: dict[str, Any]) -> list[str]:
    """What differs from the recorded entry; a crash or another check leaves only the verdict to compare. Which of
    `exact` and `supported` a finding below the verdict is may depend on the depth: deeper runs simulate more."""
    if entry["verdict"] != result.verdict:
        return [f"{result.claim.id}: recorded {entry['verdict']}, now {result.verdict}"]
    if len(entry["evidence"]) != len(result.evidence):
        return []
    return [
        f"{result.claim.id}, by {now.method}: recorded {before['verdict']}, now {now.verdict}"
        for before, now in zip(entry["evidence"], result.evidence, strict=True)
        if before["verdict"] != now.verdict and {before["verdict"], now.verdict} != {"exact", "supported"}
    ]


def stale(claims: Sequence[Claim]) -> list[str]:
    """One line for every claim that is not recorded, or has changed since it was, or whose checks have."""
    known, checks, lines = recorded(), all_checks(), []
    for claim in claims:
        id_, entry = claim.id, known.get(claim.id)
        if entry is None:
            lines.append(f"{id_}: not recorded")
        elif entry["claim_sha256"] != claim.digest:
            lines.append(f"{id_}: the claim has changed")
        elif entry["check_sha256"] != [c.digest() for c in checks.get(id_, [])]:
            lines.append(f"{id_}: its checks have changed")
    return lines


def caught(check: Check, mutant: Mutant, depth: Depth = "quick") -> tuple[Verdict, Verdict]:
    """(verdict of the claim, verdict of the falsified claim); the mutant is caught if they differ."""
    return _of_the_claim(check, depth), check.function(mutant.apply(ledger[check.claim_id]), depth).verdict


@cache
def _of_the_claim(check: Check, depth: Depth) -> Verdict:
    return check.function(ledger[check.claim_id], depth).verdict


def to_json(results: Sequence[Result]) -> str:
    """The text of a verdicts file."""
    claims = {r.claim.id: r.to_json() for r in results}
    return json_text({"schema": 1, "claims": claims}, ensure_ascii=False) + "\n"


def page(known: dict[str, dict[str, Any]]) -> str:
    """docs/verdicts.md, rendered from the recorded entries alone."""
    lines = [
        "# Verdicts",
        "",
        "Rendered by `fltheory verify --record` from `fltheory/data/verdicts.json`; not edited by hand.",
        "A claim keeps all its evidence; its verdict is the worst of them. `fltheory show ID` tells the rest.",
        '"Read with" names a customary reading of an assumption that is not printed; the assumption says so, too.',
        "",
        "| verdict | means | claims |",
        "|---|---|---:|",
    ]
    for verdict in VERDICTS:
        number = sum(entry["verdict"] == verdict for entry in known.values())
        lines.append(f"| `{verdict}` | {MEANING[verdict]} | {number} |")
    paper = ""
    for id_, entry in known.items():
        if (name := id_.partition(".")[0]) != paper:
            paper = name
            lines += [
                "",
                f"## {paper}",
                "",
                "| claim | where | statement | verdict | because |",
                "|---|---|---|---|---|",
            ]
        cells = (f"`{id_}`", entry["where"], entry["title"], f"`{entry['verdict']}`", because(entry))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def require_checkout(root: Path) -> None:
    """Raise InputError unless `root` is a source checkout, the only place where verdicts are recorded."""
    if not all((root / folder).is_dir() for folder in ("fltheory/data", "docs")):
        raise InputError("place to record", str(root), "a source checkout (with fltheory/data and docs)")


def record(results: Sequence[Result], root: Path) -> None:
    """Merge the results into the recorded verdicts below `root` (a source checkout) and render the page.

    Entries of claims that were not run are kept; claims that no longer exist are dropped.
    """
    require_checkout(root)
    if broken := [r.claim.id for r in results if r.crash]:
        raise InputError("results", ", ".join(broken), "free of crashed checks to be recorded")
    fresh = {r.claim.id: r.to_json() for r in results}
    merged = recorded() | fresh
    ordered = {id_: merged[id_] for id_ in ledger if id_ in merged}
    text = json_text({"schema": 1, "claims": ordered}, ensure_ascii=False) + "\n"
    write_text(root / "fltheory" / "data" / "verdicts.json", text)
    write_text(root / "docs" / "verdicts.md", page(ordered))
