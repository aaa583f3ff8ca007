"""S. Wang, M. Ji, "A Unified Analysis of Federated Learning with Arbitrary Client Participation",
NeurIPS 2022.

Constants are explicit, recovered from the printed proofs; the published order stands beside each bound.
"""

from __future__ import annotations

from fltheory.ledger import Paper

paper = Paper(
    "amplified",
    "A Unified Analysis of Federated Learning with Arbitrary Client Participation",
    edition="NeurIPS 2022 (main text with appendices)",
)
