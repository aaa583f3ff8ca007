"""What one round of FAST does on strongly convex clients, and what R of them do: the chain of facts under Theorem 2.

With H the mean of the gradients at x_r over clients and local steps, D what the local steps change it by, and B the
noise, a round moves the model by -K eta (H + D + B). Given x_r and the clients asked, B has mean 0 and H is fixed, so
<H, B> has mean 0 and only <D, B> needs Young's inequality: the noise may depend on the state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sympy import Dummy, Max, Rational, exp, symbols

from analysis.checks.certificates import Fact, at_most_one, identity, limit_of, more_than, nonnegative, weighted_sum
from analysis.checks.fast.proof import drift, exponentials, squares
from fltheory.ledger import Claim
from fltheory.papers import fast
from fltheory.papers.fast import K, L, R, epsilon, eta, m, mu, n, q, sigma, sigma_G

WEIGHT = Rational(5, 2)  # of |D|^2 against |B|^2
before = fast.square_before


def perturbed() -> Fact:
    """What Lemma 2 rests on: smoothness between x and z, strong convexity between x and y, and a square."""
    u, v = symbols("u v")  # y - x, z - x, along any direction
    return identity(
        "(L/2)|v|^2 - (mu/2)|u|^2 + (mu/4)|u - v|^2 = ((L+mu)/2)|v|^2 - (mu/4)|u + v|^2, for each coordinate",
        L / 2 * v**2 - mu / 2 * u**2 + mu / 4 * (u - v) ** 2 - (L + mu) / 2 * v**2 + mu / 4 * (u + v) ** 2,
    )


def _splits() -> Iterator[Fact]:
    """Vectors: products stand for inner products."""
    a, b, d, t = symbols("a b d t", positive=True)
    yield identity(
        "2|H|^2 + (2+t)|D|^2 + (1+1/t)|B|^2 + 2<H, B> = |H + D + B|^2 + |H - D|^2 + |t D - B|^2/t",
        2 * a**2 + (2 + t) * d**2 + (1 + 1 / t) * b**2 + 2 * a * b
        - (a + d + b) ** 2 - (a - d) ** 2 - (t * d - b) ** 2 / t,
    )  # fmt: skip
    yield identity("|a|^2/(4t) + t|b|^2 - <a, b> = |a - 2 t b|^2/(4t)",
                   a**2 / (4 * t) + t * b**2 - a * b - (a - 2 * t * b) ** 2 / (4 * t))  # fmt: skip
    mean, second = symbols("mean second")
    spread = weighted_sum((a - mean) ** 2, a, {0: 1, 1: mean, 2: second})
    yield identity("a mean of squares is the square of the mean and the spread", second - mean**2 - spread)
    yield identity("n K noises of mean 0 given what went before: E|B|^2 <= sigma^2/(n K)",
                   n * K * sigma**2 / (n * K) ** 2 - sigma**2 / (n * K))  # fmt: skip


def round_at_most(clients: Any, *, biased: bool) -> Any:
    """What the chain gives for E|x_{r+1} - x*|^2 after a round of so many clients, uniformly drawn or biased.

    The gradients at x_r are within L|x_r - x*| of those at x*, which are at most sigma_G, as grad F(x*) = 0; so
    |H|^2 <= 2 L^2 |x_r - x*|^2 + 2 sigma_G^2.
    """
    moved = 5 * K * eta**2 * (sigma**2 + 6 * K * (sigma_G**2 + L**2 * before))  # E|x_k - x_r|^2 of every client
    towards = 3 * mu * K * eta / 2 * before - 2 * L * K * eta * moved
    if biased:  # <grad F_i(x*), x_r - x*>, whose mean over all clients is 0
        towards -= K * eta * sigma_G**2 / (2 * epsilon) + 2 * K * eta * epsilon * before
    gradients = 2 * (2 * L**2 * before + 2 * sigma_G**2)
    square = gradients + (2 + WEIGHT) * L**2 * moved + (1 + 1 / WEIGHT) * sigma**2 / (clients * K)
    return before - towards + (K * eta) ** 2 * square


def largest(claim: Claim) -> Any:
    """The largest L K eta max(m, n)."""
    return limit_of(claim, "step", eta * L * K * Max(m, n))


def one_round_covered(claim: Claim, bound: Any) -> Iterator[Fact]:
    """That `bound`, affine in q, covers a round of the algorithm wherever the claim's step condition holds."""
    most = largest(claim)
    yield Fact("the step condition bounds L K eta max(m, n) by a number", bool(most.is_number and most.is_finite))
    yield from drift(most)
    yield from squares()
    yield perturbed()
    yield from _splits()
    snapshot, arbitrary = bound.subs(q, 1), bound.subs(q, 0)
    yield nonnegative("(30): a snapshot round", snapshot - round_at_most(m, biased=False), _step(most, m))
    yield nonnegative("(38): an arbitrary round", arbitrary - round_at_most(n, biased=True), _step(most, n))
    yield identity("the coin mixes them", bound - q * snapshot - (1 - q) * arbitrary)


def _step(most: Any, clients: Any) -> dict[Any, Any]:
    some = more_than(1)
    return {clients: some, eta: most * at_most_one() / (L * K * some)}


def all_rounds_covered(claim: Claim, chosen: Any, spare: Any = 0) -> Iterator[Fact]:
    """From one round, with `chosen` for epsilon, to the claim's bound on E|x_R - x*|^2; at q = 1 epsilon drops out.

    `spare` is what a round may leave of the 8 before K^2 eta^2 sigma_G^2.
    """
    assert claim.bound is not None
    assert fast.thm2_gen.bound is not None
    one = fast.thm2_gen.bound.rhs - spare * (K * eta * sigma_G) ** 2
    yield from one_round_covered(claim, one)
    share, where, most = _any_share(), _given(claim), largest(claim)
    after = one.subs(epsilon, chosen)
    added = after.subs(before, 0)
    keeps = after.subs(before, 1) - added
    yield nonnegative("epsilon >= 0, and 0 only where the conditions have no meaning", chosen, share | where)
    yield nonnegative("a round keeps at most 1 - mu K eta", 1 - mu * K * eta - keeps, share | where)
    yield nonnegative("which is in [0, 1), as mu <= L", 1 - mu * K * eta,
                      {mu: L * at_most_one(), eta: most * at_most_one() / (L * K)})  # fmt: skip
    keep, add, start, r = symbols("keep add start r", positive=True)
    total = keep**r * start + add / (1 - keep)
    yield identity("and R rounds (1 - mu K eta)^R and added/(mu K eta)",
                   keep * total + add - keep * keep**r * start - add / (1 - keep))  # fmt: skip
    yield from exponentials()
    forgotten = Dummy("forgotten", nonnegative=True)
    needed = forgotten * fast.kappa + added / (mu * K * eta)
    stated = claim.bound.rhs.subs(exp(-mu * K * R * eta), forgotten)
    yield nonnegative("the bound covers both, for every q", stated - needed, where | share)


def _any_share() -> dict[Any, Any]:
    """q in [0, 1]."""
    u, v = (Dummy(name, positive=True) for name in "uv")
    return {q: u / (u + v)}


def _given(claim: Claim) -> dict[Any, Any]:
    """What the claim's conditions say of q and of mu."""
    where = {}
    for name, symbol in (("snapshots", q), ("conditioning", mu)):
        condition: Any = claim.conditions.get(name)
        if condition is not None and condition.gts == symbol:
            where[symbol] = condition.lts + Dummy("slack", nonnegative=True)
    return where
