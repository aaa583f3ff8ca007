"""Exponents of FedLaAvg that errors attain (ours)."""

from __future__ import annotations

from fltheory.papers.fedlaavg.example1 import thm2_final
from fltheory.papers.fedlaavg.letters import paper

thm2_attained = paper.claim(
    "thm2.attained", "1/sqrt(T) is attained on Example 1",
    kind="law", where="ours, on Theorem 2", origin="ours",
    words="With the step size of Theorem 2 the average squared distance on Example 1 has slope -1/2 in T.",
    conditions=thm2_final.conditions,
    formulas=thm2_final.formulas,
    bound=thm2_final.bound,
    uses=("fedlaavg.thm2.final",),
)  # fmt: skip
