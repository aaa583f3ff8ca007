"""What a miner does on a scalar quadratic: its change is a random multiple of the mean cached gradient.

On F = h x^2/2 with sample curvatures h +- z a miner's directions are g_{k+1} = (1 - lr (h + s_k z)) g_k with fresh
signs s_k, the first of them void, so that its change is lr G g with G = sum over k < K of products of k factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Miner:
    """curvature h of its loss, local_lr, local_steps, and the variance z^2/b' of a step's curvature."""

    curvature: Any
    local_lr: Any
    local_steps: int
    variance: Any = 0

    @property
    def factor(self) -> Any:
        """E of the factor from one direction to the next."""
        return 1 - self.local_lr * self.curvature

    @property
    def growth(self) -> Any:
        """E|g_{k+1}|^2 / E|g_k|^2."""
        return self.factor**2 + self.local_lr**2 * self.variance

    def multiplier(self) -> tuple[Any, Any]:
        """E G and E G^2."""
        mean: Any = 0
        square: Any = 0
        cross: Any = 0  # E[G_k P_k], P_k the product of k factors
        for k in range(self.local_steps):
            product = self.growth**k
            square = square + 2 * cross + product
            cross = (cross + product) * self.factor
            mean = mean + self.factor**k
        return mean, square

    def path(self) -> Any:
        """Sum over k < K of E|x_k - x_{k-1}|^2, per |g|^2: the first of these is zero."""
        return self.local_lr**2 * sum(self.growth**k for k in range(self.local_steps - 1))

    def displacement_error(self, direction: Any, gradient: Any) -> Any:
        """E|change / (lr K) - gradient|^2 for a mean cached gradient `direction`."""
        mean, square = self.multiplier()
        k = self.local_steps
        return square * direction**2 / k**2 - 2 * mean * direction * gradient / k + gradient**2


def averaged(miners: Sequence[Miner]) -> tuple[Any, Any]:
    """E and E of the square of the mean multiplier of several miners with independent samples; zero for none."""
    if not miners:
        return 0, 0
    n = len(miners)
    moments = [miner.multiplier() for miner in miners]
    mean = sum(m for m, _ in moments) / n
    variance = sum(square - m**2 for m, square in moments) / n**2
    return mean, mean**2 + variance
