"""F. Wu, S. Guo, Z. Qu, S. He, Z. Liu, J. Gao, "Anchor Sampling for Federated Learning with Partial Client
Participation", ICML 2023.

Constants are explicit, recovered from the printed proofs; the published order stands beside each bound.
"""

from __future__ import annotations

from fltheory.ledger import Paper

paper = Paper(
    "fedamd",
    "Anchor Sampling for Federated Learning with Partial Client Participation",
    edition="ICML 2023 (with appendices)",
)
