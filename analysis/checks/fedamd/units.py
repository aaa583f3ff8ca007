"""Units of all statements; Corollaries 4.5 and 4.12, (78) and a condition of Lemma E.2 are not homogeneous in print."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy

from analysis.checks import Mutant, mutate
from analysis.checks.units import Flag, unit_checks
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import K, L, eta_l, eta_s


def _restored_steps(claim: Claim) -> Claim:
    """Corollary 4.5 with the step sizes of its repaired forms, and their products in its conditions."""
    steps, conditions = dict(claim.formulas), dict(claim.conditions)
    for which, mended in (("first", fedamd.cor45_repaired), ("second", fedamd.cor45_repaired_b)):
        local, global_ = mended.formulas["local_lr"], mended.formulas["global_lr"]
        steps |= {f"{which} local step": local, f"{which} global step": global_}
        name = f"{which} setting: product of steps"
        conditions[name] = claim.conditions[name].func(local * global_, claim.conditions[name].rhs)
    return replace(claim, conditions=conditions, formulas=steps)


def _relative_curvature(claim: Claim) -> Claim:
    """Corollary 4.12 with mu/L in its probability and 32ML in its step."""
    return replace(claim, bound=fedamd.cor412_repaired.bound, formulas=fedamd.cor412_repaired.formulas)


def _last78(square: Any) -> Any:
    """The last noise term of (78), printed with `square` = eta_l^2."""
    return eta_s * eta_l**2 * L * K**2 * 48 * eta_s**2 * square * K * fedamd.tau**2 * L * fedamd.anchor_noise


checks = unit_checks(
    fedamd.paper,
    {
        fedamd.cor45.id: Flag(
            Mutant("with the step sizes of its repaired forms", _restored_steps),
            "fixed units: L and F(x_0) - F_* are constants, as the corollary says",
        ),
        fedamd.eq78.id: Flag(
            mutate("bound", "one eta_l less", lambda e: sympy.expand(e - _last78(eta_l**2) + _last78(eta_l)))
        ),
        fedamd.lemE2.id: Flag(
            mutate(
                "local step and noise", "L_sigma",
                lambda c: c.func(c.lhs / fedamd.L_sigma, c.rhs),
            ),
            "L_sigma in place of L_sigma^2, as in Lemma D.1",
        ),
        fedamd.cor412.id: Flag(
            Mutant("with mu/L and 32ML", _relative_curvature),
            "L = 1: mu stands for mu/L, and the step lacks a factor L",
        ),
    },
)  # fmt: skip
