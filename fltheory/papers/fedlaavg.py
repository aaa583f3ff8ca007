"""Y. Yan, C. Niu, Y. Ding, Z. Zheng, F. Wu, G. Chen, S. Tang, Z. Wu, "Distributed Non-Convex
Optimization with Sublinear Speedup under Intermittent Client Availability", arXiv:2002.07399.

Constants are explicit, recovered from the printed proofs; the published order stands beside each bound.
"""

from __future__ import annotations

from fltheory.ledger import Paper

paper = Paper(
    "fedlaavg",
    "Distributed Non-Convex Optimization with Sublinear Speedup under Intermittent Client Availability",
    edition="arXiv:2002.07399 (with appendices)",
)
