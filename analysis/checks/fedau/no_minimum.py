"""Where h has no minimum: F_1 = x and F_2 = -x, whose average f is 0, under weights that do not undo their rates."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

from analysis.checks.fedau.quadratics import Run
from analysis.checks.tools import at
from analysis.evidence import Tally
from analysis.trials import assumed, exact_value, stated
from fltheory.ledger import Claim
from fltheory.papers import fedau

HYPOTHESIS = "h is bounded below"
NEEDS = "needs h bounded below, which nonnegative losses satisfy; boundedness of f alone does not give it"
RATES, SLOPES, WEIGHTS = (F(9, 10), F(1, 10)), (1, -1), (1, 1)
WHERE: dict[str, Any] = {"F_1": "x", "F_2": "-x", "f": 0, "p": RATES, "weights": WEIGHTS}


def squared_gradient(claim: Claim) -> F:
    """|grad h|^2, at every point."""
    total = sum(w * p for w, p in zip(WEIGHTS, RATES, strict=True))
    shares = (
        at(claim.formulas["coefficient"], weight=w, rate=p, total_weight=total)
        for w, p in zip(WEIGHTS, RATES, strict=True)
    )
    return F(sum(share * slope for share, slope in zip(shares, SLOPES, strict=True)) ** 2)


def what_holds(claim: Claim) -> dict[str, bool]:
    """The claim's assumptions: linear losses have curvature 0, no noise, and gradients 1 from that of f."""
    run = Run((0, 0), (0, 0), RATES, 0, 0, 0, 1)
    return assumed(claim, run.met({"smoothness": 1, "noise_std": 0, "heterogeneity": 1}, max(map(abs, SLOPES))))


def gradients_that_stay(claim: Claim) -> Tally:
    """The bound at steps 1/sqrt(T), with the least value of f in place of h*, against |grad h|^2.

    The product of weights and rates sums to P = 1, so that eta stands for eta P/N and Q for the mean of p (w N/P)^2.
    Of the horizons only those count at which the conditions admit the steps.
    """
    tally = Tally()
    left, clients = squared_gradient(fedau.thm1), len(RATES)
    square = sum(p * (w * clients) ** 2 for w, p in zip(WEIGHTS, RATES, strict=True)) / clients
    for root in (10**2, 10**3, 10**4):
        constants = {
            "smoothness": 1, "local_steps": 1, "n_clients": clients, "rounds": root**2, "local_lr": F(1, root),
            "global_lr": 1, "noise_std": 0, "heterogeneity": 1, "initial_gap": 0, "weight_square": square,
        }  # fmt: skip
        conditions = stated(claim, constants)
        if all(conditions.values()):
            right = exact_value(claim.bound.rhs, constants)  # type: ignore[union-attr]
            tally.at_most(left, right, **WHERE, **constants, **conditions, **what_holds(claim))
    return tally
