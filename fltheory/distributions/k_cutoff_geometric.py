"""The K-cutoff geometric law: intervals between participations, cut off at K (FedAU, (B.6.1))."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.special import log1p, xlog1py

from fltheory.distributions.arguments import Floats, broadcast, whole_numbers
from fltheory.distributions.base import IntervalLaw
from fltheory.errors import probabilities
from fltheory.estimate import Estimate

if TYPE_CHECKING:
    from fltheory.distributions.symbolic import Symbolic

SERIES_BELOW = 0.5  # K p under which the terms of the variance formula cancel and its power series is summed
SERIES_TERMS = 16  # what is left out is below 2e-17 of the sum at K p = 1/2


class KCutoffGeometric(IntervalLaw):
    """Rounds until a client that takes part with probability p does so, or K if that takes longer.

    P(X = k) = p (1-p)^(k-1) for 1 <= k < K and P(X = K) = (1-p)^(K-1): the law of min(G, K), G geometric.
    K = inf is the geometric law, K = 1 the constant 1. Source: FedAU, (B.6.1) and Lemma B.6.1.

    pmf, logpmf, cdf, sf, mean, var, std and entropy have a relative error below 1e-12 for p from 1e-300 to 1
    and K up to 1e9 or infinite (results below the smallest normal float, 2e-308, excepted).

    Parameters
    ----------
    p : probability of taking part in a round, in (0, 1]; array-like.
    K : cutoff in rounds, a whole number from 1 to 2**53, or math.inf; array-like, broadcasts with p.

    Raises `InputError` for any other p or K, or where their shapes do not fit.

    >>> law = KCutoffGeometric(0.1, 50)
    >>> print(law.mean().round(6), law.sf(49).round(6))
    9.948462 0.005726
    >>> KCutoffGeometric([0.02, 0.1], 50).mean().round(4).tolist()
    [31.7915, 9.9485]
    """

    def __init__(self, p: npt.ArrayLike, K: npt.ArrayLike) -> None:
        self.p, self.K = broadcast(p=probabilities("p", p), K=whole_numbers("K", K, infinity=True))

    def _support(self) -> tuple[Floats, Floats]:
        return np.ones(self.p.shape), np.where(self.p == 1, 1.0, self.K)

    # (1-p)^k is exp(xlog1py(k, -p)): right for p = 1 too, where 0 log 0 = 0.

    def _pmf(self, k: Floats) -> Floats:
        return np.where(k < self.K, self.p, 1.0) * np.exp(xlog1py(k - 1, -self.p))

    def _logpmf(self, k: Floats) -> Floats:
        return np.where(k < self.K, np.log(self.p), 0.0) + xlog1py(k - 1, -self.p)

    def _cdf(self, k: Floats) -> Floats:
        return -np.expm1(xlog1py(k, -self.p))

    def _sf(self, k: Floats) -> Floats:
        return np.exp(xlog1py(k, -self.p))

    def _mean(self) -> Floats:
        # Clipped because a mean outside the support, if only by a rounding, is a trap.
        return np.clip(-np.expm1(xlog1py(self.K, -self.p)) / self.p, 1.0, self.K)

    def _scaled_var(self) -> tuple[Floats, Floats]:
        small = self.K * self.p < SERIES_BELOW
        value = np.where(small, _var_series(self.p, self.K, small), _var_times_p2(self.p, self.K))
        return np.where(self.K == 1, 0.0, value), np.where(small, 1.0, 1 / self.p)

    def _entropy(self) -> Floats:
        # E[min(G, K-1)] = (1 - q^(K-1)) / p rounds are decided by a coin, each worth the binary entropy h(p).
        coin_over_p = -(np.log(self.p) + xlog1py(1 - self.p, -self.p) / self.p)
        return -np.expm1(xlog1py(self.K - 1, -self.p)) * coin_over_p

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        # For a standard exponential E, P(E >= -k log(1-p)) = (1-p)^k.
        rounds: Floats = np.floor(rng.standard_exponential(shape) / -log1p(-self.p)) + 1
        return np.minimum(rounds, self.K)

    @classmethod
    def fit(cls, intervals: npt.ArrayLike, K: float, level: float = 0.95) -> Estimate:
        """Maximum likelihood estimate of p from intervals cut off at K, with guaranteed coverage.

        An interval of K says only that K - 1 rounds passed without the client. For what is computed, see
        `fltheory.distributions.fit.fit`.

        >>> print(KCutoffGeometric.fit([3, 1, 10, 10, 6], K=10))
        0.107143 [0.0283732, 0.251465] (0.95, n=5, maximum likelihood; exact tails)
        """
        from fltheory.distributions.fit import fit

        return fit(intervals, K, level)

    @staticmethod
    def symbolic() -> Symbolic:
        """The law, its mean and its variance as sympy expressions in p and K, with proofs (Lemma B.6.1)."""
        from fltheory.distributions.symbolic import symbolic

        return symbolic()


def _var_times_p2(p: Floats, K: Floats) -> Floats:
    """p^2 Var[X] = q - (2K-1) p q^K - q^(2K), q = 1-p; the factor q is taken out: it survives p -> 1."""
    power = np.exp(xlog1py(K - 1, -p))
    odd = np.where(power > 0, 2 * K - 1, 0.0)  # K = inf: infinity times 0 is 0 here
    return (1 - p) * (1 - odd * p * power - np.exp(xlog1py(2 * K - 1, -p)))


def _var_series(p: Floats, K: Floats, where: npt.NDArray[np.bool_]) -> Floats:
    """Var[X] as a power series in p: sum over n >= 3 of (-1)^n [(2K-1) C(K, n-1) - C(2K, n)] p^(n-2)."""
    p, K = np.where(where, p, 0.0), np.where(where, K, 1.0)
    first = (2 * K - 1) * K * (K - 1) / 2 * p
    second = first * 4 / 3
    total = second - first
    for n in range(4, SERIES_TERMS + 4):
        first = -first * (K - n + 2) * p / (n - 1)
        second = -second * (2 * K - n + 1) * p / n
        total = total + second - first
    return total
