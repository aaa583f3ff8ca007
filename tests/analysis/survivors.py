"""Which plain falsifications of a claim no check of it notices: `python -m tests.analysis.survivors [PAPER or ID ...]`.

Each condition dropped, each summand of a bound dropped, each formula times 13/10 and 7/10; caught if one check of the
claim changes its verdict, at quick depth. `HARMLESS` names those that leave the statement true, with the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from analysis.checks import Mutant, all_checks, systematic
from analysis.verify import caught, select
from fltheory.ledger import Claim

# (claim, mutant) -> why the falsified statement is still true, or is the same statement.
HARMLESS: dict[tuple[str, str], str] = {}


def noticed(claim: Claim, mutant: Mutant) -> bool:
    """Whether one of the claim's checks judges the falsified claim differently."""
    for check in all_checks().get(claim.id, []):
        before, after = caught(check, mutant)
        if before != after:
            return True
    return False


def cases(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Mutant]]:
    """The falsified copies of the claims that have a check."""
    for claim in claims:
        if all_checks().get(claim.id):
            yield from ((claim, mutant) for mutant in systematic(claim))


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
