"""Checks of the lemmas under Theorem 2: perturbed strong convexity, the drift of local steps, the split of noise."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import sympy
from sympy import Dummy, Max, sqrt, symbols

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks.certificates import chain, confirmed, identity, limit_of, more_than, nonnegative, proved
from analysis.checks.fast.contraction import perturbed
from analysis.checks.fast.proof import drift
from analysis.checks.points import drawn, held_at, not_broken
from analysis.checks.tools import at
from analysis.domains import Real, Whole
from analysis.evidence import Evidence, Tally
from analysis.trials import Point, Sides, exact_value, right_side
from fltheory.ledger import Claim
from fltheory.papers import fast
from fltheory.papers.fast import K, L, eta, mu, sigma, sigma_G

checks = CheckBook()


TWO = {"flat": Real("1/100", 1), "steep": Real("1/100", 4), "y": Real(-4, 4), "z": Real(-4, 4)}


def _two_curvatures(claim: Claim, point: Point) -> Sides:
    flat, steep = point["flat"], point["steep"]

    def value(x: Any) -> Any:
        return (steep if x > 0 else flat) * x * x / 2

    y, z = point["y"], point["z"]
    left = value(z) - value(y) + flat * (y - z) ** 2 / 4
    constants = {"smoothness": steep, "strong_convexity": flat, "lemma_distance": abs(z)}
    return Sides(left, right_side(claim.bound, constants), constants)


@checks.trial(fast.lem2, TWO)
def two_curvatures_printed(claim: Claim, point: Point) -> Sides:
    """x = 0, curvature mu below it and L above."""
    return _two_curvatures(claim, point)


@checks.trial(fast.lem2_improved, TWO)
def two_curvatures(claim: Claim, point: Point) -> Sides:
    """x = 0, curvature mu below it and L above."""
    return _two_curvatures(claim, point)


def _perturbed(claim: Claim) -> Evidence:
    """The chain: smoothness at z, strong convexity at y, a square; then the example that attains it."""
    assert claim.bound is not None
    d, rest = fast.lemma_distance, Dummy("rest", nonnegative=True)
    steps = [
        perturbed(),
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
        times("bound", "1/3"),
        put("bound", 6 * K * sigma_G**2, 0),
        put("bound", sigma**2, 0),
        put("bound", fast.drift_gradient, 0),
        put("bound", 30 * K**2, 30 * K),
        mutate("step", "as large as 1/(4 L K)", lambda c: c.lhs <= 2 * c.rhs),
        without("step"),
    ],
)
def drift_step_by_step(claim: Claim, depth: Depth) -> Evidence:
    """The recursion over local steps, and a seeded search; `fltheory worst-case fast.reddi3` has all smooth clients."""
    assert claim.bound is not None
    found = 2 * K * eta**2 * (sigma**2 + 6 * K * (sigma_G**2 + fast.drift_gradient**2))
    steps = [
        *drift(limit_of(claim, "step", eta * L * K), constant=2),
        nonnegative("the claim allows as much", claim.bound.rhs - found, {K: more_than(1)}),
    ]
    proof = chain(steps, "A recursion over the local steps, which has 2 in place of 5.")
    number = {"quick": 1500, "default": 5000, "deep": 50_000}[depth]
    return confirmed(proof, not_broken(quadratic_client, claim, number))


# ---- noise -----------------------------------------------------------------------------------------------


@checks.trial(
    fast.karim4,
    {"noisy": Whole(1, 100), "later": Whole(0, 20), "weight": Real(-3, 3), "pull": Real(-2, 2), "noise": Real(0, 4)},
)
def means_that_see_the_noise(claim: Claim, point: Point) -> Sides:
    """Some terms of noise alone, then terms without any: a constant and a multiple of the sum of the noises so far."""
    noisy, later, variance = point["noisy"], point["later"], point["noise"] ** 2
    constant, seen = (later * point["pull"]) ** 2, later * point["weight"]
    constants = {
        "summands": noisy + later,
        "noise_std": point["noise"],
        "means_square": constant + seen**2 * noisy * variance,
    }
    return Sides(constant + (1 + seen) ** 2 * noisy * variance, right_side(claim.bound, constants), constants)


@checks(
    fast.karim4,
    mutants=[
        times("bound", "19/20"),
        put("bound", 2 * fast.summands, fast.summands),
        put("bound", 2 * fast.means_square, fast.means_square),
        put("bound", fast.summands, sqrt(fast.summands)),
    ],
)
def mean_and_noise(claim: Claim, depth: Depth) -> Evidence:
    """The chain; and sums whose last term repeats all noises before it, which come close to the bound."""
    assert claim.bound is not None
    mean, noise, first, second = symbols("mean noise first second", real=True)
    steps = [
        identity("2|mean|^2 + 2|noise|^2 = |mean + noise|^2 + |mean - noise|^2",
                 2 * mean**2 + 2 * noise**2 - (mean + noise) ** 2 - (mean - noise) ** 2),
        identity("|a + b|^2 = |a|^2 + |b|^2 + 2<a, b>; <a, b> has mean 0 if b has it given a: T noises have T sigma^2",
                 (first + second) ** 2 - first**2 - second**2 - 2 * first * second),
        nonnegative("the claim allows as much",
                    claim.bound.rhs - 2 * fast.means_square - 2 * fast.summands * sigma**2,
                    {fast.summands: more_than(1)}),
    ]  # fmt: skip
    number = {"quick": 200, "default": 2000, "deep": 50_000}[depth]
    parts: tuple[dict[str, Any], ...] = (
        {},
        {"later": 1, "weight": 1.0, "pull": 0.0},
        {"weight": 0.0, "pull": 1.0, "noise": 0.0},
    )
    points = [point for part in parts for point in drawn(means_that_see_the_noise, number, **part)]
    numbers = held_at(
        means_that_see_the_noise, claim, points, "exact", "exact moments", domain="means that repeat earlier noise"
    )
    return confirmed(chain(steps, "Mean and noise apart, the noises orthogonal."), numbers)


def _sums(slope: Callable[[F], F], noise: Callable[[F], F], lr: F, steps: int) -> tuple[F, F]:
    """E|sum of stochastic gradients|^2 and E|sum of gradients|^2 over local steps from 1, all signs of noise(x)."""
    stochastic, true = F(0), F(0)
    for signs in itertools.product((1, -1), repeat=steps):
        x, seen, known = F(1), F(0), F(0)
        for sign in signs:
            known, gradient = known + slope(x), slope(x) + sign * noise(x)
            x, seen = x - lr * gradient, seen + gradient
        stochastic, true = stochastic + seen**2, true + known**2
    return stochastic / 2**steps, true / 2**steps


@checks(
    fast.A8_A10,
    mutants=[
        times("noise", 2), times("noise", "1/2"), times("noise", "103/100"), put("noise", sigma**2, sigma**-2),
        put("noise", K, 2 * K - 2), put("noise", K, (K + 2) / 2), without("step"),
        put("step", Max(fast.m, fast.n), Max(fast.m, fast.n) / 1000),
    ],
)  # fmt: skip
def noise_apart_from_the_path(claim: Claim, depth: Depth) -> Evidence:
    """Beside the path c_k without noise: e_k = grad F(x_k) - grad F(c_k), S_k the sum of the noises before step k.

    grad F(c_k) is fixed and later noise has mean 0 given what was before, so that the cross term is twice the sum of
    E<e_k, S_k>. As x_k - c_k = -eta (S_k + e_0 + ... + e_(k-1)), and <e_k, x_k - c_k> >= |e_k|^2/L for a convex and
    L-smooth F, it is not above 0.
    """
    e, before, noises, cohort = symbols("e before noises cohort", real=True)
    step = claim.conditions.get("step")
    longest = None if step is None or step.lts != eta else (step.gts * L).subs(Max(fast.m, fast.n), cohort)  # of eta L
    if longest is None or longest.free_symbols - {cohort, K}:
        return Evidence("not checked", "algebra", "no condition bounds the step by cohorts of whole clients")
    if fast.ass4 not in claim.assumes:
        return Evidence("not checked", "algebra", "without convexity gradients need not be co-coercive")
    away = -eta * (noises + before)
    facts = [
        identity("<e_k, S_k> = -<e_k, x_k - c_k>/eta - (|E_(k+1)|^2 - |E_k|^2 - |e_k|^2)/2, E_k = e_0 + ... + e_(k-1)",
                 e * noises + e * away / eta + ((before + e) ** 2 - before**2 - e**2) / 2),
        nonnegative("the multiple of all |e_k|^2, 1/(eta L) - 1/2, is not negative at the largest step",
                    1 / longest - sympy.Rational(1, 2), {cohort: more_than(1), K: more_than(1)}),
        identity("K orthogonal noises", claim.formulas["noise"] - K * sigma**2),
    ]  # fmt: skip
    tally = Tally()
    slopes: dict[str, Callable[[F], F]] = {
        "x": lambda x: x,
        "4 max(x, 1)": lambda x: 4 * max(x, F(1)),
        "clip(x, -1/2, 1/2)": lambda x: min(max(x, F(-1, 2)), F(1, 2)),
        "0": lambda x: F(0),
    }
    noises_at: dict[str, Callable[[F], F]] = {
        "1": lambda x: F(1),
        "1 below 1, else 1/3": lambda x: F(1) if x < 1 else F(1, 3),
    }
    sizes = {"quick": (2, 3), "default": (2, 3, 5), "deep": (2, 3, 5, 8)}[depth]
    for (slope, f), (noise, g), steps in itertools.product(slopes.items(), noises_at.items(), sizes):
        lr = F(1, 20 * steps * (4 if slope.startswith("4") else 1))
        left, true = _sums(f, g, lr, steps)
        compare = tally.equal if (slope, noise) == ("0", "1") else tally.at_most
        allowed = at(claim.formulas["noise"], local_steps=steps, noise_std=F(1))
        compare(left, true + allowed, slope=slope, noise=noise, local_lr=lr, local_steps=steps)
    points = tally.evidence(
        "exact",
        "enumeration",
        "",
        domain=f"four losses, two kinds of noise, {max(sizes)} steps at most",
        ratio=True,
    )
    return proved(
        facts, points,
        "Later noise has mean 0 given what was before, and gradients of a convex smooth loss are co-coercive: the "
        "cross term of noise and gradients is not above 0.",
    )  # fmt: skip
