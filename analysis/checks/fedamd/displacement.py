"""How far a miner's local steps carry it, and by how much its change misses the gradient."""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Rational

from analysis.checks.certificates import limit_of
from fltheory.ledger import Claim
from fltheory.papers.fedamd import K, L, L_sigma, b_small, eta_l


def rhs(claim: Claim) -> Any:
    """The right-hand side of a claim that is a bound."""
    assert claim.bound is not None
    return claim.bound.rhs


def upper(number: Any) -> Any:
    """A rational number of four digits above an exact one."""
    return Rational(int(sympy.ceiling(number * 10**4)), 10**4)


def local_limits(claim: Claim) -> tuple[Any, Any]:
    """The largest eta_l K L and K eta_l^2 L_sigma^2/b' that the conditions admit."""
    wandering = K * eta_l**2 * L_sigma**2 / b_small
    return limit_of(claim, "local step", eta_l * K * L), limit_of(claim, "local step and noise", wandering)


def displacement(move: Any, noise: Any) -> tuple[Any, Any]:
    """(y, w): a miner's change is eta_l K (g + R) with |R| <= (y move + w) |g| in mean square, for any K >= 2.

    move is the largest eta_l K L, noise the largest K eta_l^2 L_sigma^2/b'. R = (1/K) sum over k < K of (K - k) D_k,
    D_k = g_{k+1} - g_k, of which at most eta_l L |g_k| is predictable and the rest are martingale differences; and
    |g_k| <= exp(alpha k/K) |g| with alpha = (2 move + move^2/2 + noise)/2. Since (1-s) exp(alpha s) falls in s, sums
    are at most integrals: y = int (1-s) exp(alpha s), w^2 = noise int (1-s)^2 exp(2 alpha s). For K = 1, R = 0.
    """
    alpha = upper((2 * move + move**2 / 2 + noise) / 2)
    twice = 2 * alpha
    predictable = (sympy.exp(alpha) - 1 - alpha) / alpha**2
    wandering = noise * (2 * sympy.exp(twice) - twice**2 - 2 * twice - 2) / twice**3
    return upper(predictable), upper(sympy.sqrt(wandering)) if noise else sympy.Integer(0)


def error_factor(move: Any, noise: Any) -> Any:
    """c with E|change/(eta_l K) - grad F|^2 <= c |g - grad F|^2 + |grad F|^2/2, by Young's inequality."""
    predictable, wandering = displacement(move, noise)
    z = upper(predictable * move + wandering)
    return (1 + z**2 / (Rational(1, 2) - z**2)) * (1 + z) ** 2
