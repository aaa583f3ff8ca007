"""FedAMD with full participation and anchors every tau rounds, on scalar quadratics, in closed form.

Within a cycle the mean cached gradient g = H x + noise stays as it is, so after j moves E x_j^2 is a quadratic in j,
and from cycle to cycle E x^2 follows an affine recursion. That makes any tau and any number of cycles one formula,
in floats or Fractions; a test holds it against `sims.exact`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cycles:
    """curvature H of the objective, period tau; move, spread: mean and variance of eta_s eta_l times the mean
    multiplier of the miners in one round; noise: E|g - grad F|^2 of a fresh mean cached gradient."""

    curvature: Any
    period: int
    move: Any
    spread: Any
    noise: Any

    def within(self, j: int) -> tuple[Any, Any]:
        """(a, b) with E x_j^2 = a E x_0^2 + b after j moves of a cycle."""
        square = j * j * self.move**2 + j * self.spread
        return 1 - 2 * j * self.move * self.curvature + square * self.curvature**2, square * self.noise

    def starts(self, start: Any, cycles: int) -> tuple[Any, Any, Any]:
        """E x_0^2 of the last of the cycles, the sum over them, and E x_0^2 after them."""
        a, b = self.within(self.period - 1)
        if a == 1:
            return start + (cycles - 1) * b, cycles * start + cycles * (cycles - 1) * b / 2, start + cycles * b
        rest = b / (1 - a)
        if start == rest:  # all cycles are alike
            return rest, cycles * rest, rest
        last, power = (start - rest) * a ** (cycles - 1), a**cycles
        return rest + last, cycles * rest + (start - rest) * (1 - power) / (1 - a), rest + (start - rest) * power

    def moving_sum(self) -> tuple[Any, Any]:
        """(a, b): the sum of E x^2 over the tau - 1 miner rounds of a cycle is a E x_0^2 + b."""
        n = self.period - 1
        once, twice = n * (n - 1) // 2, (n - 1) * n * (2 * n - 1) // 6
        square = twice * self.move**2 + once * self.spread
        return n - 2 * once * self.move * self.curvature + square * self.curvature**2, square * self.noise

    def average(self, start: Any, cycles: int, *, anchors: bool) -> Any:
        """Average of E|grad F|^2 over all rounds, or over the miner rounds alone."""
        a, b = self.moving_sum()
        total = self.starts(start, cycles)[1]
        value = self.curvature**2 * (a * total + b * cycles + (total if anchors else 0))
        return value / (cycles * (self.period - 1 + anchors))

    def least(self, start: Any, cycles: int) -> Any:
        """Smallest E|grad F|^2 of all rounds: E x_j^2 grows with E x_0^2, which is monotone in the cycles."""
        lowest = min(start, self.starts(start, cycles)[0])
        (a1, b1), (a2, b2) = self.within(1), self.within(2)
        first, second = a1 * lowest + b1, a2 * lowest + b2
        bend, slope = (second - 2 * first + lowest) / 2, (4 * first - second - 3 * lowest) / 2
        turn = -slope / (2 * bend) if bend > 0 else 0
        nearest = {min(max(j, 0), self.period - 2) for j in (math.floor(turn), math.ceil(turn))}
        return self.curvature**2 * min(a * lowest + b for a, b in map(self.within, nearest))
