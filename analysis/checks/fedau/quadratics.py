"""FedAvg with given weights on scalar quadratics in two moments: E[x_t] and E[x_t^2] in closed form, round by round.

F_n(x) = a_n (x - b_n)^2 / 2 with independent gradient noise of variance sigma^2 and Bernoulli participation. A few
lines that search quickly and stay exact on Fractions; a test holds them against `sims.exact` on the library's FedAvg.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from analysis.trials import assumed
from fltheory.ledger import Claim


@dataclass(frozen=True)
class Run:
    """Clients (curvature, centre, rate of each), noise variance, steps: local_lr, global_lr, local_steps."""

    curvatures: Sequence[Any]
    centres: Sequence[Any]
    rates: Sequence[Any]
    variance: Any
    local_lr: Any
    global_lr: Any
    local_steps: int

    def met(self, constants: Mapping[str, Any], divergence: Any = 0) -> dict[str, bool]:
        """Assumptions 1 to 4 of the run, whose largest divergence from the objective is given."""
        room = 1 + (1e-12 if isinstance(divergence, float) else 0)
        return {
            "ass1": bool(max(map(abs, self.curvatures)) <= constants["smoothness"]),
            "ass2": bool(self.variance <= constants["noise_std"] ** 2),
            "ass3": bool(divergence <= constants.get("heterogeneity", divergence) * room),
            "ass4": all(0 < p <= 1 for p in self.rates),
        }

    @cached_property
    def pulls(self) -> list[Any]:
        """1 - (1 - gamma a)^I of every client: the part of the way to its centre that its local steps go."""
        return [1 - (1 - self.local_lr * a) ** self.local_steps for a in self.curvatures]

    @cached_property
    def noises(self) -> list[Any]:
        """Variance that gradient noise gives the update of every client."""
        stays = [(1 - self.local_lr * a) ** 2 for a in self.curvatures]
        return [self.local_lr**2 * self.variance * sum(s**i for i in range(self.local_steps)) for s in stays]

    def step(self, mean: Any, second: Any, weights: Sequence[Any]) -> tuple[Any, Any]:
        """E[x] and E[x^2] after a round with these weights."""
        n = len(self.centres)
        factors = [self.global_lr * w * Fraction(1, n) for w in weights]
        drift = shift = spread = 0
        for p, b, pull, noise, factor in zip(self.rates, self.centres, self.pulls, self.noises, factors, strict=True):
            u = factor * pull
            drift, shift = drift + p * u, shift + p * u * b
            spread += p * (1 - p) * u * u * (second - 2 * b * mean + b * b) + p * factor * factor * noise
        stay = 1 - drift
        return stay * mean + shift, stay * stay * second + 2 * stay * shift * mean + shift * shift + spread


def independent(claim: Claim, rate: Any) -> dict[str, bool]:
    """Assumption 4 as a witness lists it, where each round is drawn on its own with this probability."""
    return assumed(claim, {"ass4": bool(0 < rate <= 1)})


def cyclic(values: Sequence[Any], count: int) -> list[Any]:
    """`count` values, the given ones over and over."""
    return [values[i % len(values)] for i in range(count)]
