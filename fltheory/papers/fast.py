"""anonymous authors, "FAST: Federated Average with Snapshot Unleashes Arbitrary Client Participation",
under double-blind review in the edition that was read.

Constants are explicit, recovered from the printed proofs; the published order stands beside each bound.
"""

from __future__ import annotations

from fltheory.ledger import Paper

paper = Paper(
    "fast",
    "FAST: Federated Average with Snapshot Unleashes Arbitrary Client Participation",
    edition="edition under double-blind review (with appendices)",
)
