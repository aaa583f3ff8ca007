"""A client whose gradient is used many times: exact moments of long runs, where the terms with the noise decide.

One client, f = x^2/2 continued linearly outside of [-1, 1] (so L = 1, G^2 = 2), gradient noise +-1, available in every
`window`-th iteration. In a block of E iterations x moves by k gamma (x + noise), so that E x^2 follows an affine
recursion from block to block; for gamma E <= 1 and |x^0| <= 1 no path leaves [-1, 1].
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

from analysis.checks import CheckBook
from analysis.checks.tools import SLACK
from analysis.domains import Domain, Real, Whole
from analysis.trials import Point, Sides, right_side, root
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import by_rounds, iterations, sharper

checks = CheckBook()

SPACE: dict[str, Domain] = {
    "window": Whole(1, 200),
    "local_lr": Real("1/100000", "1/2", log=True),
    "blocks": Whole(1, 400),
    "start": Real(-1, 1),
}


def in_block(square: Any, step: Any, iterations: int) -> Any:
    """The sum of E x^2 before the first so many iterations of a block that starts at E x^2 = `square`."""
    n = iterations
    once, twice = n * (n - 1) // 2, (n - 1) * n * (2 * n - 1) // 6
    return (n - 2 * once * step + twice * step**2) * square + twice * step**2


def mean_square(window: int, step: Any, blocks: int, start: Any, *, after: int = 0) -> Any:
    """The average of E|grad f(x^(t-1))|^2 over t > `after`, `after` less than a block."""
    square = (step * 0 + 1) * start**2
    total = -in_block(square, step, after)
    for _ in range(blocks):
        total = total + in_block(square, step, window)
        square = (1 - window * step) ** 2 * square + (window * step) ** 2
    return total / (blocks * window - after)


def seldom_trial(claim: Claim, *, late: bool = False) -> Any:
    @checks.trial(claim, SPACE)
    def one_client_in_every_window(claim: Claim, point: Point) -> Sides:
        """One client with f = x^2/2 on [-1, 1], noise +-1, available in the first of every `window` iterations."""
        window, step, blocks, start = (point[name] for name in SPACE)
        exact = not isinstance(step, float) and not isinstance(start, float)
        if not exact:
            step, start = float(step), float(start)
        where = {
            "n_clients": 1, "cohort_size": 1, "window": window, "staleness": window - 1, "smoothness": 1,
            "noise_std": 1, "gradient_bound": root(F(2)) if exact else 2**0.5, "local_lr": step,
            "iterations": window * blocks, "rounds": window * blocks, "local_steps": 1,
            "initial_gap": start**2 / (2 * (step * 0 + 1)),
        }  # fmt: skip
        here = where["window"] >= window  # there in the first of every `window` iterations
        met = {
            "ass1": where["smoothness"] >= 1, "ass2": where["noise_std"] >= 1, "ass4": here, "ass5": here,
            "ass3": bool(where["gradient_bound"] ** 2 >= 2 - (0 if exact else SLACK)),
        }  # fmt: skip
        facts = {"gamma L E <= 1": bool(step * window <= 1)}
        left = mean_square(window, step, blocks, start, after=window - 1 if late else 0)
        return Sides(left, right_side(claim.bound, where), where, facts, met)

    return one_client_in_every_window


theorem_3, eq33, eq33_repaired, eq52, theorem_4_repaired = map(
    seldom_trial, (iterations.thm3, iterations.eq33, iterations.eq33_repaired, by_rounds.eq52, by_rounds.thm4_repaired)
)
theorem_3_improved = seldom_trial(sharper.thm3_improved)
theorem_3_repaired = seldom_trial(iterations.thm3_repaired, late=True)

# Both have gamma L T = 1. In the first the noise term decides (I = 0), in the second the one with I (G^2 + sigma^2).
EVERY = {"window": 1, "local_lr": F(1, 100), "blocks": 100, "start": F(0)}
SELDOM = {"window": 100, "local_lr": F(1, 10_000), "blocks": 100, "start": F(0)}
LONG = (EVERY, SELDOM)
DOMAIN = "one client, gamma L T = 1, asked in every iteration and in every hundredth"
