"""What the pages tell, gathered once: recorded verdicts, what rests on what, who can be searched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.checks import all_trials
from analysis.verify import stale
from fltheory.ledger import Claim, ledger
from fltheory.verdicts import MEANING, VERDICTS, recorded

NOT_RECORDED = "not recorded"
MEANINGS = {str(verdict): meaning for verdict, meaning in MEANING.items()}
AGAINST = ("refuted", "inconsistent", "conditional")  # verdicts that say something against a statement


@dataclass(frozen=True)
class Facts:
    """What is known of the claims.

    entries    claim id -> its recorded entry
    outdated   claim id -> what has changed since its entry was recorded
    searched   ids of claims that `fltheory falsify` can search
    used_by    claim id -> ids of the claims that rest on it
    """

    entries: Mapping[str, Mapping[str, Any]]
    outdated: Mapping[str, str]
    searched: frozenset[str]
    used_by: Mapping[str, list[str]]

    def verdict(self, claim: Claim) -> str:
        """The recorded verdict, or that there is none."""
        return str(self.entries.get(claim.id, {}).get("verdict", NOT_RECORDED))

    def evidence(self, claim: Claim) -> list[Mapping[str, Any]]:
        """The recorded evidence, in the order of the checks."""
        return list(self.entries.get(claim.id, {}).get("evidence", []))

    def counts(self, claims: Iterable[Claim]) -> dict[str, int]:
        """Verdict -> number of these claims, worst first; only verdicts that occur."""
        found = [self.verdict(claim) for claim in claims]
        return {verdict: found.count(verdict) for verdict in (*VERDICTS, NOT_RECORDED) if verdict in found}


def gather() -> Facts:
    """Everything that is recorded or registered; nothing is checked again."""
    used_by: dict[str, list[str]] = {id_: [] for id_ in ledger}
    for id_, claim in ledger.items():
        for used in {ledger[other].id for other in (*claim.uses, *(a.id for a in claim.assumes))}:
            used_by[used].append(id_)
    entries = recorded()
    changed = (line.split(": ", 1) for line in stale([claim for id_, claim in ledger.items() if id_ in entries]))
    return Facts(entries, dict(changed), frozenset(all_trials()), used_by)
