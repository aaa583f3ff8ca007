"""Exponents of FedAMD that errors on quadratics attain (ours)."""

from __future__ import annotations

from fltheory.papers.fedamd.full import cor45_repaired, cor45_repaired_b
from fltheory.papers.fedamd.setting import paper


def _attained(suffix, claim, batch):
    return paper.claim(
        f"cor45.attained{suffix}", f"The exponents of Corollary 4.5 with restored units are attained: {batch}",
        kind="law", where="ours, on Corollary 4.5", origin="ours",
        words="At these step sizes the average squared gradient of x^2/2 over the miner rounds keeps to the bound and "
        "has its exponents in T, M, K and tau, so that the factor sqrt(tau) is needed.",
        assumes=claim.assumes,
        conditions=claim.conditions,
        bound=claim.bound,
        formulas=claim.formulas,
        uses=(claim.id,),
    )  # fmt: skip


cor45_attained = _attained("", cor45_repaired, "b = 1")
cor45_attained_b = _attained("-B", cor45_repaired_b, "b = K")
