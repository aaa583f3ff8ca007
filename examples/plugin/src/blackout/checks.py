"""How the claims are checked, and where the falsifier may look for a counterexample."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

from analysis.checks import CheckBook, times
from analysis.domains import Real, Whole
from analysis.evidence import Evidence, Tally
from analysis.trials import Sides, right_side
from blackout.claims import cohort, repaired
from fltheory.ledger import Claim

checks = CheckBook()


def participants(p: Any, n: int) -> Any:
    """E[S | S > 0], summed over S; exact if p is a Fraction. Outages cancel: they leave S > 0 to other rounds."""
    chances = [comb(n, s) * p**s * (1 - p) ** (n - s) for s in range(1, n + 1)]
    return sum(s * chance for s, chance in enumerate(chances, start=1)) / sum(chances)


@checks(cohort, mutants=[times("bound", "99/100")])
@checks(repaired, mutants=[times("bound", "99/100")])
def on_a_grid(claim: Claim, depth: Any) -> Evidence:
    """Exact rationals on a grid of rates and numbers of clients."""
    assert claim.bound is not None
    tally = Tally()
    for n in range(1, 8):
        for p in (Fraction(k, 10) for k in range(1, 11)):
            right = right_side(claim.bound, {"rate": p, "n_clients": n})
            tally.at_most(participants(p, n), right, p=p, N=n)
    summary = "Sums over all numbers of participants."
    return tally.evidence("exact", "exact rationals", summary, domain="p = .1, ..., 1; N <= 7", ratio=True)


@checks.trial(cohort, {"p": Real("1/100", 1), "N": Whole(1, 50)})
@checks.trial(repaired, {"p": Real("1/100", 1), "N": Whole(1, 50)})
def in_one_round(claim: Claim, point: Any) -> Sides:
    """N clients of rate p; floats while searching, Fractions in a witness."""
    constants = {"rate": point["p"], "n_clients": point["N"]}
    return Sides(participants(point["p"], point["N"]), right_side(claim.bound, constants), constants)
