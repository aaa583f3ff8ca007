"""Lemma B.6.1 of FedAU by computer algebra: the K-cutoff geometric law, its mean and variance, with proofs.

A proof is a tuple of steps, each a residual that must simplify to 0. Its arguments are the claimed
expressions, in the symbols `p`, `K`, `k` below, so that a wrong claim makes a step fail. The proofs are by
induction from cutoff K to K + 1: a base case at K = 1 and the increment.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy

p = sympy.Symbol("p", positive=True)  # 0 < p <= 1, rate of participation
K = sympy.Symbol("K", integer=True, positive=True)  # cutoff
k = sympy.Symbol("k", integer=True, positive=True)  # length of an interval
q = 1 - p

PMF_BODY = p * q ** (k - 1)  # P(X = k) for k < K
PMF_LAST = q ** (K - 1)  # P(X = K)
MEAN = (1 - q**K) / p
VARIANCE = q / p**2 - (2 * K - 1) * q**K / p - q ** (2 * K) / p**2
VARIANCE_BOUND = q / p**2


@dataclass(frozen=True)
class Step:
    """A statement in words, and an expression that is identically 0 if it is true."""

    statement: str
    residual: sympy.Expr

    @property
    def holds(self) -> bool:
        """Whether the residual simplifies to exactly 0."""
        # In x = 1-p and u = x^K it is a rational function of the independent x, u, K, which cancel decides.
        x, u = sympy.Dummy("x", positive=True), sympy.Dummy("u", positive=True)
        rational = sympy.expand_power_exp(self.residual.subs(p, 1 - x)).subs(x**K, u)
        return bool(sympy.cancel(rational) == 0)


@dataclass(frozen=True)
class Symbolic:
    """The law as sympy expressions in p, K (and k), and the steps that prove them."""

    p: sympy.Symbol
    K: sympy.Symbol
    k: sympy.Symbol
    pmf: sympy.Expr
    mean: sympy.Expr
    variance: sympy.Expr
    proof: tuple[Step, ...]


def symbolic() -> Symbolic:
    """Return pmf, mean and variance with the proof that they are what Lemma B.6.1 says."""
    proof = (
        *prove_normalised(PMF_BODY, PMF_LAST),
        *prove_variance(MEAN, VARIANCE),
        *prove_variance_bound(VARIANCE, VARIANCE_BOUND),
    )
    pmf = sympy.Piecewise((PMF_BODY, k < K), (PMF_LAST, sympy.Eq(k, K)), (0, True))
    return Symbolic(p, K, k, pmf, MEAN, VARIANCE, proof)


def prove_normalised(pmf_body: sympy.Expr, pmf_last: sympy.Expr) -> tuple[Step, ...]:
    """P(X = k) = `pmf_body` (k < K), P(X = K) = `pmf_last` is the law of min(G, K), and it sums to 1."""
    body_at_cutoff = pmf_body.subs(k, K)
    return (
        Step("P(X = k), k < K: no participation in k - 1 rounds, then one", pmf_body - q ** (k - 1) * p),
        Step("P(X = K): no participation in K - 1 rounds", pmf_last - q ** (K - 1)),
        Step("raising K leaves P(X = k), k < K, as it is", sympy.diff(pmf_body, K)),
        Step("K = 1: the sum is 1", pmf_last.subs(K, 1) - 1),
        Step("K -> K + 1: the sum stays", body_at_cutoff + pmf_last.subs(K, K + 1) - pmf_last),
    )


def prove_mean(mean: sympy.Expr) -> tuple[Step, ...]:
    """E[X] = `mean`, by tail sums: E min(X, K+1) - E min(X, K) = P(X > K) = (1-p)^K."""
    return (
        Step("K -> K + 1 adds P(X > K) = (1-p)^K to E[X]", _increment_of_moment(1) - q**K),
        Step("K = 1: the mean is 1", mean.subs(K, 1) - 1),
        Step("K -> K + 1: the claimed mean grows by (1-p)^K", mean.subs(K, K + 1) - mean - q**K),
    )


def prove_variance(mean: sympy.Expr, variance: sympy.Expr) -> tuple[Step, ...]:
    """Var[X] = `variance`; the mean is proved first, then E[X^2], which grows by (2K+1) (1-p)^K."""
    second = variance + mean**2
    grown = second.subs(K, K + 1) - second
    return (
        *prove_mean(mean),
        Step("K -> K + 1 adds ((K+1)^2 - K^2) P(X > K) to E[X^2]", _increment_of_moment(2) - (2 * K + 1) * q**K),
        Step("K = 1: variance + mean^2 is 1", second.subs(K, 1) - 1),
        Step("K -> K + 1: variance + mean^2 grows by (2K+1) (1-p)^K", grown - (2 * K + 1) * q**K),
    )


def prove_variance_bound(variance: sympy.Expr, bound: sympy.Expr) -> tuple[Step, ...]:
    """`variance` <= `bound`: the difference is a sum of terms that are nonnegative for 0 < p <= 1, K >= 1."""
    terms = ((2 * K - 1) * q**K / p, q ** (2 * K) / p**2)
    return (
        Step("bound - variance is a sum of two terms", bound - variance - sum(terms)),
        *(Step(f"{term} >= 0", _negative_part(term)) for term in terms),
    )


def _increment_of_moment(power: int) -> sympy.Expr:
    """E[X^power] at cutoff K + 1 minus that at K: the terms k < K are the same in both."""
    at_cutoff, after = PMF_BODY.subs(k, K), PMF_LAST.subs(K, K + 1)
    return K**power * at_cutoff + (K + 1) ** power * after - K**power * PMF_LAST


def _negative_part(term: sympy.Expr) -> sympy.Expr:
    """|term| - term for p = 1 / (1 + s), s >= 0 and K = 1 + j, j >= 0, where every sign can be read off."""
    s, j = sympy.Symbol("s", nonnegative=True), sympy.Symbol("j", integer=True, nonnegative=True)
    # q = 1 - p is written s / (1 + s) first: sympy does not see the sign of 1 - 1 / (1 + s).
    seen = sympy.expand(term.subs(q, s / (1 + s)).subs({p: 1 / (1 + s), K: 1 + j}), power_base=True)
    return abs(seen) - seen
