"""Exponents of FedAU that errors on quadratics attain (ours)."""

from __future__ import annotations

from fltheory.papers.fedau.descent import A3
from fltheory.papers.fedau.setting import paper

A3_attained = paper.claim(
    "A3.attained", "1/sqrt(ST) is attained with known rates",
    kind="law", where="ours, on Appendix A.3", origin="ours",
    words="At Corollary 4's step sizes the average squared gradient of clients at (x -+ d)^2/2, each with probability "
    "S/N and weight N/S, has slope -1/2 in T and in S, and 0 in N at fixed S.",
    assumes=A3.assumes,
    formulas={"leading order": A3.formulas["leading order"]},
    uses=("fedau.A3", "fedau.cor4"),
)  # fmt: skip
