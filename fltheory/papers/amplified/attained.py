"""Exponents of amplified FedAvg that errors on quadratics attain (ours)."""

from __future__ import annotations

from fltheory.papers.amplified.bounds import cor32
from fltheory.papers.amplified.rates import linspeed
from fltheory.papers.amplified.setting import P, paper

cor32_attained = paper.claim(
    "cor32.attained", "The exponents of Corollary 3.2 are attained",
    kind="law", where="ours, on Corollary 3.2", origin="ours",
    words="At the corollary's step sizes the average squared gradient over the starts of intervals, with S clients at "
    "x^2/2 in every round, keeps to the bound and has slope -1/2 in T, S and I and 0 in P with noise, -1 in T and 1 in "
    "P without.",
    assumes=cor32.assumes,
    conditions=cor32.conditions,
    formulas=cor32.formulas,
    bound=cor32.bound,
    uses=("amplified.cor32", "amplified.thm31.average"),
)  # fmt: skip

linspeed_attained = paper.claim(
    "linspeed.attained", "sigma/sqrt(S I T) is attained",
    kind="law", where="ours, on section 5", origin="ours",
    words="In the runs of cor32.attained the error has the exponents of this rate.",
    formulas={"rate": linspeed.formulas["rate"]},
    uses=("amplified.linspeed", "amplified.cor32.attained"),
    mentions=(P,),
)  # fmt: skip
