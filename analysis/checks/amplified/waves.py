"""A nonconvex family with exact constants: F_n(x) = h w(x - b_n) + a_n x, where the slopes a_n sum to zero.

The wave w has period 4 and a slope that goes up and down between -1 and 1 with inclination 1, so that everything is
rational. Gradients are linear between the places where some wave turns; squares of their combinations are convex
there, so that the largest divergences of (4) to (7) are attained at such places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analysis.checks.amplified.weighting import Divergences, Row, divergences, one


def wave_slope(x: Any) -> Any:
    """x on [-1, 1], 2 - x on [1, 3], with period 4: Lipschitz with constant 1, and an odd function."""
    place = (x + 1) % 4 - 1
    return place if place <= 1 else 2 - place


def wave_value(x: Any) -> Any:
    """The integral of `wave_slope` from 0: between 0 and 1."""
    place = (x + 1) % 4 - 1
    half = (1 + 0 * x) / 2
    return half * place * place if place <= 1 else 1 - half * (2 - place) ** 2


@dataclass(frozen=True)
class Waves:
    """Clients with waves of one height, each with its centre b_n and slope a_n; smooth with constant `height`."""

    height: Any
    centres: Sequence[Any]
    slopes: Sequence[Any]

    def gradients(self, x: Any) -> list[Any]:
        """Each client's gradient at x."""
        pairs = zip(self.centres, self.slopes, strict=True)
        return [self.height * wave_slope(x - b) + a for b, a in pairs]

    def gradient(self, x: Any) -> Any:
        """grad f(x)."""
        return sum(self.gradients(x)) / one(x, len(self.slopes))

    def value(self, x: Any) -> Any:
        """f(x); the slopes cancel."""
        return self.height * sum(wave_value(x - b) for b in self.centres) / one(x, len(self.slopes))

    @cached_property
    def turns(self) -> list[Any]:
        """Where gradients stop being linear, within a period and at both of its ends."""
        inside = sorted({(b + side) % 4 for b in self.centres for side in (1, -1)})
        return [*inside, inside[0] + 4]

    def lowest(self) -> Any:
        """min f: at a turn, or between two where the gradient passes zero."""
        return min(self.value(x) for x in self._candidates())

    def _candidates(self) -> Iterator[Any]:
        yield from self.turns
        for left, right in zip(self.turns, self.turns[1:], strict=False):
            before, after = self.gradient(left), self.gradient(right)
            if before < 0 < after:
                yield left + (right - left) * before / (before - after)

    def divergences(self, weights: Sequence[Row], interval: int) -> Divergences:
        """The smallest constants for all x."""
        found = []
        for x in self.turns[:-1]:
            gradients = self.gradients(x)
            mean = sum(gradients) / one(x, len(gradients))
            found.append(divergences([g - mean for g in gradients], weights, interval))
        return Divergences(*(max(values) for values in zip(*found, strict=True)))

    def run(
        self, start: Any, lr: Any, amplification: Any, steps: int, interval: int, weights: Sequence[Row]
    ) -> list[Any]:
        """||grad f(x_t)||^2 for t = 0, ..., T - 1 of Algorithm 1, without noise."""
        x = anchor = start
        found = []
        for t, row in enumerate(weights):
            found.append(self.gradient(x) ** 2)
            after = 0 * x
            for q, b, a in zip(row, self.centres, self.slopes, strict=True):
                if q:
                    y = x
                    for _ in range(steps):
                        y = y - lr * (self.height * wave_slope(y - b) + a)
                    after += q * y
            x = after
            if (t + 1) % interval == 0:
                x = anchor = anchor + amplification * (x - anchor)
        return found
