"""What is claimed of the cohorts of `Blackout` when all clients have one rate."""

from __future__ import annotations

from fltheory.ledger import Bound, Paper
from fltheory.symbols import n_clients, rate

paper = Paper("blackout", "Clients that fail together", edition="draft", letters={"rate": "p", "n_clients": "N"})

cohort = paper.claim(
    "cohort",
    "A round with participants has N p of them on average",
    kind="proposition",
    where="Proposition 1 of the draft",
    words="For clients of one rate p, the number of participants S has E[S | S > 0] at most N p.",
    bound=Bound("E[S | S > 0]", n_clients * rate),
    repaired_by="blackout.cohort.repaired",
)
repaired = paper.claim(
    "cohort.repaired",
    "A round with participants has N p / (1 - (1 - p)^N) of them on average",
    kind="proposition",
    where="ours, in place of Proposition 1",
    words="As Proposition 1, divided by the probability that somebody takes part; then it is an equation.",
    bound=Bound("E[S | S > 0]", n_clients * rate / (1 - (1 - rate) ** n_clients)),
)
