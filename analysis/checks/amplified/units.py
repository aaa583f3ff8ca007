"""Units of all statements; Corollaries 3.3 and 4.8 are not homogeneous as printed."""

from __future__ import annotations

from dataclasses import replace

from analysis.checks import Mutant
from analysis.checks.units import Flag, unit_checks
from fltheory.ledger import Claim
from fltheory.papers import amplified


def _stated_as(other: Claim) -> Mutant:
    """The conditions, the bound and the chosen parameters of the homogeneous form."""
    return Mutant(
        f"with the scale of {other.id}",
        lambda claim: replace(claim, conditions=other.conditions, bound=other.bound, formulas=other.formulas),
    )


checks = unit_checks(
    amplified.paper,
    {
        amplified.cor33.id: Flag(_stated_as(amplified.cor33_repaired)),
        amplified.cor48.id: Flag(
            _stated_as(amplified.cor48_repaired),
            "fixed units, as Corollary 3.3; a free gradient scale makes it homogeneous",
        ),
    },
)
