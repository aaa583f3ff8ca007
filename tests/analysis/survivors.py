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

WEAKER = "a larger level says less"
ORDER = "an order does not see a constant"
FACTOR = "a common factor cancels"
IMPLIED = "implied: a smooth and strongly convex function has mu <= L"
MORE = "a larger bound, number or variance says less"
WORDS = "the wording is what is judged, not the formula beside it"

# (claim, mutant) -> why the falsified statement is still true, or is the same statement.
HARMLESS: dict[tuple[str, str], str] = {
    ("amplified.eq16", "variance: times 7/10"): "a smaller variance at the same level says less",
    ("amplified.eq16", "level: times 13/10"): WEAKER,
    ("amplified.eq17", "level: times 13/10"): WEAKER,
    ("amplified.prop47.hp_one_interval", "level: times 13/10"): WEAKER,
    ("amplified.prop47.average", "level: times 13/10"): WEAKER,
    ("amplified.prop47.improved", "level: times 13/10"): WEAKER,
    ("amplified.prop47.improved", "level of a client: times 13/10"): WEAKER,
    ("fast.lem2", "without condition constants"): IMPLIED,
    ("fast.lem2.improved", "without condition constants"): IMPLIED,
    ("fast.thm2.repaired", "without condition probability"): "implied: a probability is at most 1",
    ("fast.fact.5pct", "largest share: times 13/10"): "a larger share says less",
    ("fedau.alg2", "largest: times 13/10"): "a larger largest weight says less",
    ("fedau.alg2", "fewest: times 7/10"): "fewer intervals say less",
    ("fedau.thm3.repaired", "late: times 13/10"): "a larger bound says less",
    ("fedau.law.limit", "pull: times 13/10"): FACTOR,
    ("fedau.law.limit", "pull: times 7/10"): FACTOR,
    ("fedau.E10", "share: times 13/10"): FACTOR,
    ("fedau.E10", "share: times 7/10"): FACTOR,
    ("fast.thm1.f", "line: times 13/10"): FACTOR,
    ("fast.thm1.f", "line: times 7/10"): FACTOR,
    ("fedamd.thm44.order", "constant for a given tau: times 13/10"): MORE,
    ("fedamd.tau2", "rounds: times 13/10"): FACTOR,
    ("fedamd.tau2", "rounds: times 7/10"): FACTOR,
    ("fedamd.cor47", "largest number of samples: times 13/10"): MORE,
    ("fedamd.law.local", "without noise: times 13/10"): MORE,
    ("fedamd.thm48.repaired", "factor for b = n: times 13/10"): MORE,
    ("fedamd.cor49.repaired", "printed factor: times 13/10"): MORE,
    ("fedamd.ERR-8", "anchor samples of a round: times 13/10"): FACTOR,
    ("fedamd.ERR-8", "anchor samples of a round: times 7/10"): FACTOR,
    ("fedamd.thm411", "without condition product of steps: cache"): "implied by the other condition and mu <= L",
    ("fedamd.cor412", "without condition thinning"): "cor412.repaired holds for every c that leaves a probability",
    ("fedlaavg.E23", "amplitude: times 7/10"): "a smaller swing says less",
    ("fedlaavg.sec3.2.period.repaired", "period: times 13/10"): "a longer period says less",
    ("fedlaavg.lem2", "variance: times 13/10"): MORE,
    ("fedlaavg.lem6", "variance: times 13/10"): MORE,
    ("fedlaavg.eq34", "order: times 13/10"): MORE,
    ("fedlaavg.eq53", "order: times 13/10"): MORE,
    **{("fedlaavg.eq33.repaired", f"bound: without {term}"): "thm3.improved holds with less than what is left"
       for term in (
           "4*gradient_bound**2*local_lr**2*smoothness**2*staleness**2",
           "2*gradient_bound**2*local_lr**2*smoothness**2*staleness**2/(-2*local_lr*smoothness + 1)",
       )},
    **{(claim, f"{part}: times {factor}"): WORDS
       for claim, part in {
           "fedlaavg.thm1.index": "shift",
           "fedlaavg.def.grad": "scale",
           "fedlaavg.def.R": "counted",
           "fedlaavg.sec3.2.period": "period",
           "fedlaavg.b3.remark": "norm",
           "fedlaavg.eq39": "updated",
           "fedlaavg.eq55": "(54)",
           "fedlaavg.appA.MR": "distance",
       }.items()
       for factor in ("13/10", "7/10")},
    **{(claim, f"{part}: times {factor}"): ORDER
       for claim, parts in {
           "fedau.lemB71": ("published order",),
           "fast.cor3.repaired": ("step", "share term", "heterogeneity term", "noise term"),
       }.items()
       for part in parts for factor in ("13/10", "7/10")},
}  # fmt: skip


GOOD = ("proved", "exact", "supported")


@cache
def _as_stated(claim_id: str) -> list[tuple[Check, Evidence]]:
    return [(check, check.function(ledger[claim_id], "quick")) for check in all_checks().get(claim_id, [])]


def _has_good(claim: Claim) -> bool:
    """Whether evidence speaks for it: it is not wrong as it stands, and more than its units was found right."""
    words = [found.verdict for _, found in _as_stated(claim.id) if found.method != "units"]
    return any(word in GOOD for word in words) and not {"refuted", "inconsistent"} & set(words)


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
        if _as_stated(claim.id) and ".attained" not in claim.id:  # exponents: they see no constant
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
