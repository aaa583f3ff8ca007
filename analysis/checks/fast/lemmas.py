"""Checks of the lemmas under Theorem 2: perturbed strong convexity, the drift of local steps, the split of noise."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

from sympy import Dummy, symbols

from analysis.checks import CheckBook, Depth, mutate, put, times
from analysis.checks.certificates import chain, identity, nonnegative
from analysis.checks.points import not_broken
from analysis.checks.tools import at
from analysis.domains import Real, Whole
from analysis.evidence import Evidence, Tally, conditional
from analysis.trials import Point, Sides, exact_value, right_side
from fltheory.ledger import Claim
from fltheory.papers import fast
from fltheory.papers.fast import K, L, mu, sigma, sigma_G

checks = CheckBook()


@checks.trial(
    fast.lem2_improved,
    {"flat": Real("1/100", 1), "steep": Real("1/100", 4), "y": Real(-4, 4), "z": Real(-4, 4)},
)
def two_curvatures(claim: Claim, point: Point) -> Sides:
    """x = 0, curvature mu below it and L above."""
    assert claim.bound is not None
    flat, steep = point["flat"], point["steep"]

    def value(x: Any) -> Any:
        return (steep if x > 0 else flat) * x * x / 2

    y, z = point["y"], point["z"]
    left = value(z) - value(y) + flat * (y - z) ** 2 / 4
    constants = {"smoothness": steep, "strong_convexity": flat, "lemma_distance": abs(z)}
    return Sides(left, right_side(claim.bound, constants), constants)


def _perturbed(claim: Claim) -> Evidence:
    """The chain: smoothness at z, strong convexity at y, a square; then the example that attains it."""
    assert claim.bound is not None
    u, v = symbols("u v")  # y - x, z - x, along any direction
    d, rest = fast.lemma_distance, Dummy("rest", nonnegative=True)
    steps = [
        identity(
            "(L/2)|v|^2 - (mu/2)|u|^2 + (mu/4)|u - v|^2 = ((L+mu)/2)|v|^2 - (mu/4)|u + v|^2, for each coordinate",
            L / 2 * v**2 - mu / 2 * u**2 + mu / 4 * (u - v) ** 2 - (L + mu) / 2 * v**2 + mu / 4 * (u + v) ** 2,
        ),
        nonnegative("(L+mu)/2 |z - x|^2 is at most the bound, L >= mu", claim.bound.rhs - (L + mu) / 2 * d**2,
                    {L: mu + rest}),
    ]  # fmt: skip
    attained = exact_value(claim.bound.rhs, {"smoothness": 2, "strong_convexity": 1, "lemma_distance": 1})
    if attained < F(3, 2):
        witness = {"g": "x^2 above 0, x^2/2 below", "x": 0, "y": -1, "z": 1, "left": F(3, 2), "right": attained}
        return Evidence("refuted", "witness", "The two-curvature example exceeds it.", cases=1, witness=witness)
    return chain(steps, "Smoothness at z, strong convexity at y, and a square.")


@checks(fast.lem2, mutants=[times("bound", "1/2"), put("bound", L, mu)])
def perturbed_with_the_printed_constant(claim: Claim, depth: Depth) -> Evidence:
    """The chain gives (L + mu)/2, at most L."""
    return _perturbed(claim)


@checks(fast.lem2_improved, mutants=[times("bound", "9/10"), mutate("bound", "without mu", lambda e: e.subs(mu, 0))])
def perturbed_with_the_best_constant(claim: Claim, depth: Depth) -> Evidence:
    """The chain, and an example with equality."""
    return _perturbed(claim)


# ---- drift -----------------------------------------------------------------------------------------------


@checks.trial(
    fast.reddi3,
    {
        "curvature": Real(-1, 1),  # of the client, in parts of L
        "smoothness": Real("1/4", 4, log=True),
        "gradient": Real(-4, 4),
        "divergence": Real(-4, 4),
        "variance": Real(0, 4),
        "step_share": Real("1/100", 1, log=True),
        "steps": Whole(1, 12),
    },
)
def quadratic_client(claim: Claim, point: Point) -> Sides:
    """A quadratic client of any curvature in [-L, L]: drift and variance before its last step, exactly."""
    assert claim.bound is not None
    smoothness, steps = point["smoothness"], point["steps"]
    lr = point["step_share"] / (8 * smoothness * steps)
    factor = 1 - lr * smoothness * point["curvature"]
    moved = lr * sum(factor**k for k in range(steps - 1)) * (point["gradient"] + point["divergence"])
    variance = lr**2 * point["variance"] ** 2 * sum(factor ** (2 * k) for k in range(steps - 1))
    constants = {
        "smoothness": smoothness, "local_steps": steps, "local_lr": lr, "noise_std": point["variance"],
        "heterogeneity": abs(point["divergence"]), "drift_gradient": abs(point["gradient"]),
    }  # fmt: skip
    return Sides(moved**2 + variance, right_side(claim.bound, constants), constants)


@checks(
    fast.reddi3,
    mutants=[
        times("bound", "1/20"),
        put("bound", 6 * K * sigma_G**2, 0),
        put("bound", sigma**2, 0),
        put("bound", fast.drift_gradient, 0),
    ],
)
def search_for_more_drift(claim: Claim, depth: Depth) -> Evidence:
    """A seeded search over quadratic clients; `fltheory worst-case fast.reddi3` has all smooth ones."""
    return not_broken(quadratic_client, claim, {"quick": 1500, "default": 5000, "deep": 50_000}[depth])


# ---- noise -----------------------------------------------------------------------------------------------


@checks(fast.A8_A10, mutants=[times("noise", 2), times("noise", "1/2")])
def two_local_steps(claim: Claim, depth: Depth) -> Evidence:
    """Two steps with additive noise of variance 1 on c x^2/2: noise in the sum of stochastic and of true gradients."""
    printed, convex = Tally(), Tally()
    allowed = at(claim.formulas["noise"], local_steps=2, noise_std=1)
    for c, lr in ((F(-1), F(1, 10)), (F(1), F(1, 10)), (F(1, 2), F(1, 4)), (F(4), F(1, 8)), (F(0), F(1))):
        stochastic = (1 - lr * c) ** 2 + 1  # the first noise enters the second gradient times -lr c
        true = (lr * c) ** 2
        where = {"curvature": c, "local_lr": lr}
        printed.at_most(stochastic, true + allowed, **where)
        if c >= 0:
            convex.at_most(stochastic, true + allowed, **where)
    return conditional(
        printed, convex, "linear gradients of a convex loss; else the factor two of Lemma 4",
        "exact moments", "Holds for convex quadratics; with curvature -1 two steps have 2.21 against 2.01.",
        domain="two local steps, five curvatures and step sizes",
    )  # fmt: skip
