"""Checks of Theorem 3.1: its explicit constants by a chain of certificates, and exact errors of runs against it.

The chain follows the printed sketch. For an interval from x_0 to x_0 + eta u: D is the average of the gradients that
the clients compute, D0 the same at x_0, g = grad f(x_0), and V the average of sum_n q_n E||y - x_0||^2, which splits
into A (spread of the local models around their mean) and B (distance of that mean from x_0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sympy
from sympy import Dummy, Rational, exp, symbols

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks.amplified.runs import quadratic_run
from analysis.checks.amplified.waves import Waves
from analysis.checks.amplified.weighting import (
    EMPHASIS,
    MASKS,
    MOST_CLIENTS,
    ROOM,
    SLOPES,
    Divergences,
    centred,
    divergences,
    one,
    schedule,
)
from analysis.checks.certificates import (
    Fact,
    chain,
    confirmed,
    identity,
    joined,
    limit_of,
    more_than,
    nonnegative,
    weighted_sum,
)
from analysis.checks.points import drawn, held_at
from analysis.checks.tools import INDEPENDENT_NOISE, reading
from analysis.domains import Domain, Real, Several, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, Trial, right_side, root
from fltheory.ledger import Claim
from fltheory.papers import amplified
from fltheory.papers.amplified import I, L, P, T, beta, delta, eta, gamma, gap, nu, rho, sigma

checks = CheckBook()

# ---- exact errors ----------------------------------------------------------------------------------------

SHARES: dict[str, Domain] = {
    "local_share": Real("1/1000", 2, log=True),  # local step size times 12 L I P
    "product_share": Real("1/1000", 2, log=True),  # product of step sizes times L I P
}
RUN: dict[str, Domain] = {
    "slopes": SLOPES,
    "who": MASKS,
    "emphasis": EMPHASIS,
    "start": Real(-4, 4),
    "steps": Whole(1, 6),
    "interval": Whole(1, 8),
    "rounds": Whole(1, 100),
}


def known_constants(point: Point, clients: int, found: Divergences) -> dict[str, Any]:
    """What the problem and the schedule determine, under the names of the bound."""
    return {
        "n_clients": clients,
        "local_steps": point["steps"],
        "interval": point["interval"],
        "rounds": point["rounds"],
        "participation_norm": root(found.rho2),
        "round_divergence": root(found.beta2),
        "cohort_divergence": root(found.nu2),
        "interval_divergence": root(found.delta2),
        "heterogeneity": root(found.d2),
    }


def divergences_met(constants: dict[str, Any], found: Divergences) -> dict[str, bool]:
    """Assumption 3, and its alternative 3'."""
    squares = zip(("round", "cohort", "interval"), found[1:4], strict=True)
    held = [_within(square, constants[f"{name}_divergence"]) for name, square in squares]
    return {"ass3": _within(found.d2, constants["heterogeneity"]), "ass3p": all(held)}


def problem_met(constants: dict[str, Any], curvature: Any, variance: Any) -> dict[str, bool]:
    """Assumptions 1 and 2."""
    return {"ass1": bool(curvature <= constants["smoothness"]), "ass2": _within(variance, constants["noise_std"])}


def _within(square: Any, root: Any) -> bool:
    return bool(square <= root**2 * (1 + (ROOM if isinstance(square, float) else 0)))


def _step_sizes(point: Point, smoothness: Any) -> dict[str, Any]:
    unit = smoothness * point["steps"] * point["interval"]
    local = point["local_share"] / (12 * unit)
    return {"smoothness": smoothness, "local_lr": local, "amplification": point["product_share"] / unit / local}


def _quadratic_errors(point: Point) -> tuple[list[Any], dict[str, Any], dict[str, bool]]:
    """One curvature for all clients, slopes that differ, any schedule of weights, additive noise."""
    slopes, h = centred(point["slopes"]), point["curvature"]
    weights = schedule(point["who"], point["emphasis"], len(slopes), point["rounds"])
    found = divergences(slopes, weights, point["interval"])
    constants = known_constants(point, len(slopes), found) | _step_sizes(point, h)
    constants |= {"noise_std": root(point["variance"]), "initial_gap": h * point["start"] ** 2 / 2}
    errors = quadratic_run(
        h, slopes, point["start"], point["variance"], constants["local_lr"], constants["amplification"],
        point["steps"], point["interval"], weights,
    )  # fmt: skip
    met = divergences_met(constants, found) | problem_met(constants, h, point["variance"])
    return errors, constants, met


def _wave_errors(point: Point) -> tuple[list[Any], dict[str, Any], dict[str, bool]]:
    """Nonconvex objectives whose divergences differ from place to place, without noise."""
    slopes, height = centred(point["slopes"]), point["height"]
    n = len(slopes)
    problem = Waves(height, [point["centres"][k % len(point["centres"])] for k in range(n)], slopes)
    weights = schedule(point["who"], point["emphasis"], n, point["rounds"])
    found = problem.divergences(weights, point["interval"])
    constants = known_constants(point, n, found) | _step_sizes(point, height)
    gap_at_start = problem.value(point["start"]) - problem.lowest()
    constants |= {"noise_std": 0, "initial_gap": max(gap_at_start, 0 * gap_at_start)}
    sizes = constants["local_lr"], constants["amplification"]
    met = divergences_met(constants, found) | problem_met(constants, height, 0)
    return problem.run(point["start"], *sizes, point["steps"], point["interval"], weights), constants, met


def _smallest(errors: list[Any], interval: int) -> Any:
    return min(errors)


def _average(errors: list[Any], interval: int) -> Any:
    """Over the starts of whole intervals; of the first if there is none."""
    whole = max(1, len(errors) // interval)
    return sum(errors[: whole * interval : interval]) / one(errors[0], whole)


def _sides(run: Callable[[Point], Any], measure: Callable[[list[Any], int], Any]) -> Callable[[Claim, Point], Sides]:
    def evaluate(claim: Claim, point: Point) -> Sides:
        assert claim.bound is not None
        errors, constants, met = run(point)
        return Sides(measure(errors, point["interval"]), right_side(claim.bound, constants), constants, met=met)

    evaluate.__name__ = f"{run.__name__}_{measure.__name__}".strip("_").replace("__", "_")
    evaluate.__doc__ = run.__doc__
    return evaluate


QUADRATICS: dict[str, Domain] = {"curvature": Real("1/8", 8, log=True), "variance": Real(0, 4), **RUN, **SHARES}
WAVES: dict[str, Domain] = {
    "height": Real("1/8", 8, log=True),
    "centres": Several(Real(-2, 2), 1, MOST_CLIENTS),
    **RUN,
    **SHARES,
}
noisy_quadratics = checks.trial(amplified.thm31, space=QUADRATICS)(_sides(_quadratic_errors, _smallest))
noiseless_waves = checks.trial(amplified.thm31, space=WAVES)(_sides(_wave_errors, _smallest))
average_quadratics = checks.trial(amplified.thm31_average, space=QUADRATICS)(_sides(_quadratic_errors, _average))
average_waves = checks.trial(amplified.thm31_average, space=WAVES)(_sides(_wave_errors, _average))


# Each isolates a term: the initial gap, noise, a round's divergence, the interval's divergence, a round's spread.
_PARTS: tuple[dict[str, Any], ...] = (
    {"slopes": (0.0,), "variance": 0.0, "start": 1.0},
    {"slopes": (0.0,), "variance": 1.0, "start": 0.0},
    {"slopes": (-1.0, 1.0), "who": (1, 2), "emphasis": (1.0,), "interval": 2, "variance": 0.0, "start": 0.0},
    {"slopes": (-1.0, 1.0), "who": (1,), "emphasis": (1.0,), "variance": 0.0, "start": 0.0},
    {"slopes": (-1.0, 1.0), "who": (3,), "emphasis": (1.0,), "variance": 0.0, "start": 0.0},
)


def _numbers(claim: Claim, depth: Depth, quadratics: Trial, waves: Trial) -> Evidence:
    """Exact errors on quadratics, each term of the bound alone among them, and on waves."""
    number = {"quick": 40, "default": 250, "deep": 10_000}[depth]
    points = [*drawn(quadratics, 5 * number)]
    for part in _PARTS:
        points += drawn(quadratics, number, **part)
    found = held_at(
        quadratics, claim, points, "exact", "exact moments", "No violation on quadratics", domain="quadratics",
    )  # fmt: skip
    if found.verdict == "refuted":
        return found
    other = held_at(
        waves, claim, drawn(waves, 2 * number), "exact", "exact runs", "No violation on nonconvex objectives",
        domain="waves",
    )  # fmt: skip
    return other if other.verdict == "refuted" else joined(found, other)


# ---- the chain -------------------------------------------------------------------------------------------


def _squares() -> Iterator[Fact]:
    """Identities of inner products, read with numbers for vectors: both sides are quadratic forms."""
    g, D, D0, N, a, b, e, h, m = symbols("g D D0 N a b e h m")
    yield identity("-<g, D> = (|g - D|^2 - |g|^2 - |D|^2)/2", -g * D - ((g - D) ** 2 - g**2 - D**2) / 2)
    yield identity(
        "|m D + N|^2 <= m^2 |D|^2 + 2m <D0, N> + m^2 |D - D0|^2 + 2 |N|^2, short by |m (D - D0) - N|^2",
        m**2 * D**2 + 2 * m * D0 * N + m**2 * (D - D0) ** 2 + 2 * N**2 - (m * D + N) ** 2 - (m * (D - D0) - N) ** 2,
    )
    yield identity(
        "|g - D|^2 <= 2 |g - D0|^2 + 2 |D0 - D|^2, short by |g + D - 2 D0|^2",
        2 * (g - D0) ** 2 + 2 * (D0 - D) ** 2 - (g - D) ** 2 - (g + D - 2 * D0) ** 2,
    )
    yield identity(
        "|a + b|^2 <= (1 + 1/(m-1)) |a|^2 + m |b|^2, short by |a - (m-1) b|^2/(m-1)",
        (1 + 1 / (m - 1)) * a**2 + m * b**2 - (a + b) ** 2 - (a - (m - 1) * b) ** 2 / (m - 1),
    )
    pairs = [(a, b), (a, e), (a, h), (b, e), (b, h), (e, h)]
    yield identity(
        "|a + b + e + h|^2 <= 4 (|a|^2 + |b|^2 + |e|^2 + |h|^2), short by squares of differences",
        4 * (a**2 + b**2 + e**2 + h**2) - (a + b + e + h) ** 2 - sum((x - y) ** 2 for x, y in pairs),
    )
    mean, second = symbols("mean second")
    yield identity(
        "sum_n q_n |a_n - mean|^2 = sum_n q_n |a_n|^2 - |mean|^2",
        weighted_sum((a - mean) ** 2, a, {0: 1, 1: mean, 2: second}) - (second - mean**2),
    )


def _growth(most: Any) -> Iterator[Fact]:
    """A grows at most by e^(1/2 + 4 h^2) in a round and B by e^(1/2 + 8 h^2) in an interval, h = gamma L I P."""
    m, i = more_than(1), Dummy("i", positive=True)
    for name, count, rest in (("I", "round", 4 * most**2), ("P I", "interval", 8 * most**2)):
        growth = 1 / (2 * i - 1) + rest / i
        yield nonnegative(
            f"{name} - 1 steps of a {count} with factor 1 + x each grow by at most exp(1/2 + {rest})",
            Rational(1, 2) + rest - (i - 1) * growth,
            {i: m},
        )
    yield nonnegative("the mean of 0, 1, ..., m - 1 is at most m/2", i / 2 - (i - 1) / 2, {i: m})


def explicit_bound(local: Any, intervals: Any) -> Any:
    """What the chain gives if gamma L I P is at most `local` and T is at least `intervals` times P."""
    inner, outer = exp(Rational(1, 2) + 4 * local**2), exp(Rational(1, 2) + 8 * local**2)
    spread = inner * I * (4 * I * gamma**2 * L**2 * nu**2 + gamma**2 * L**2 * sigma**2)  # L^2 A at the most
    drift = outer * gamma**2 * L**2 * (4 * I**2 * P**2 * beta**2 + P * I * rho**2 * sigma**2 / 2)
    moved = spread / 2 + 4 * outer * local**2 * spread + drift  # L^2 V without its share of |g|^2
    kept = Rational(1, 2) - Rational(3, 2) * 4 * outer * local**2
    first = (1 + 1 / intervals) * gap / (gamma * eta * I * T)
    return (first + delta**2 + Rational(3, 2) * moved + gamma * eta * L * rho**2 * sigma**2) / kept, kept


def _chain(claim: Claim) -> Iterator[Fact]:
    assert claim.bound is not None
    local = limit_of(claim, "local step", gamma * L * I * P)
    product = limit_of(claim, "product of steps", gamma * eta * L * I * P)
    half = limit_of(claim, "interval", P / T)
    yield Fact("the conditions bound gamma L I P, gamma eta L I P and P/T", sympy.oo not in (local, product, half))
    yield from _squares()
    yield nonnegative("|D|^2 drops out: gamma eta L P I <= 1", 1 - product)
    yield from _growth(local)
    least = 1 / half
    k = Dummy("k", positive=True)
    yield nonnegative(
        "k whole intervals, k >= T/P - 1, fill at least the share that two of three rounds do",
        k / (k + 1) - least / (least + 1),
        {k: more_than(least)},
    )
    needed, kept = explicit_bound(local, least)
    yield nonnegative("a positive share of |g|^2 is kept", kept)
    yield nonnegative("the constants of the bound cover those of the chain", claim.bound.rhs - needed)


CHAIN_MUTANTS = [
    put("bound", 4 * gap, 3 * gap),
    put("bound", 14 * nu**2, 13 * nu**2),
    put("bound", 25 * beta**2, 24 * beta**2),
    put("bound", Rational(5, 2) * delta**2, 2 * delta**2),
    put("bound", 4 * gamma**2 * L**2 * I, 3 * gamma**2 * L**2 * I),
    put("bound", Rational(5, 2) * gamma * eta, 2 * gamma * eta),
    put("bound", beta, 0),
    times("bound", Rational(1, 1000)),
    mutate("local step", "twice as large", lambda e: gamma <= 2 * e.rhs),
    mutate("product of steps", "twice as large", lambda e: gamma * eta <= 2 * e.rhs),
    without("local step"),
    without("product of steps"),
    without("interval"),
]


@checks(amplified.thm31_average, mutants=CHAIN_MUTANTS)
@reading(INDEPENDENT_NOISE)
def chain_with_explicit_constants(claim: Claim, depth: Depth) -> Evidence:
    """The proof's steps as certificates down to the constants, and exact errors of both trials."""
    proof = chain(_chain(claim), "Along the printed sketch, with explicit constants (3.51, 13.1, 24.5, 2.34, ...).")
    return confirmed(proof, _numbers(claim, depth, average_quadratics, average_waves))


@checks(amplified.thm31, mutants=CHAIN_MUTANTS)
@reading(INDEPENDENT_NOISE)
def least_is_at_most_the_average(claim: Claim, depth: Depth) -> Evidence:
    """The same chain: a minimum over all rounds is at most the average over some of them."""
    proof = chain(_chain(claim), "Along the printed sketch, with explicit constants; the least is at most the average.")
    return confirmed(proof, _numbers(claim, depth, noisy_quadratics, noiseless_waves))
