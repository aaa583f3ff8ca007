"""Which plain falsifications of a claim no check of it notices: `python -m tests.analysis.survivors [PAPER or ID ...]`.

Each condition dropped, each summand of a bound dropped, each formula times 13/10 and 7/10; noticed if one check of the
claim changes its verdict, at quick depth. Of a claim for which no evidence speaks only the formulas are tried, and any
change of the evidence counts: that the statement is wrong stays true. `HARMLESS` names those that leave the statement
true, with the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cache

from analysis.checks import Check, Mutant, all_checks, systematic
from analysis.evidence import Evidence
from analysis.verify import select
from fltheory.ledger import Claim, ledger

# (claim, mutant) -> why the falsified statement is still true, or is the same statement.
HARMLESS: dict[tuple[str, str], str] = {}


GOOD = ("proved", "exact", "supported")


@cache
def _as_stated(claim_id: str) -> list[tuple[Check, Evidence]]:
    return [(check, check.function(ledger[claim_id], "quick")) for check in all_checks().get(claim_id, [])]


def _has_good(claim: Claim) -> bool:
    return any(found.verdict in GOOD for _, found in _as_stated(claim.id) if found.method != "units")


def noticed(claim: Claim, mutant: Mutant) -> bool:
    """Whether one of the claim's checks judges the falsified claim differently."""
    good, falsified = _has_good(claim), mutant.apply(claim)
    for check, before in _as_stated(claim.id):
        after = check.function(falsified, "quick")
        if after.verdict != before.verdict or (not good and after.to_json() != before.to_json()):
            return True
    return False


def cases(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Mutant]]:
    """The falsified copies of the claims that have a check."""
    for claim in claims:
        if _as_stated(claim.id):
            good = _has_good(claim)
            whole = ("bound: ", "without condition ")
            yield from ((claim, m) for m in systematic(claim) if good or not m.name.startswith(whole))


def main(names: Sequence[str]) -> int:
    """Print a line for every survivor, with the reason if it is harmless; the number of those without one."""
    unexplained = 0
    for claim, mutant in cases(select(names)):
        try:
            missed = not noticed(claim, mutant)
        except Exception as error:
            print(f"{claim.id}\t{mutant.name}\tCRASH {error!r}", flush=True)
            unexplained += 1
            continue
        if missed:
            reason = HARMLESS.get((claim.id, mutant.name), "")
            unexplained += not reason
            print(f"{claim.id}\t{mutant.name}\t{reason or 'SURVIVES'}", flush=True)
    return unexplained


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
