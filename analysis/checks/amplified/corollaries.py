"""Checks of the corollaries: Theorem 3.1 at the chosen step sizes, by certificates, and exact errors of runs.

Square roots are got rid of by writing what stands under them as squares; ranges (P >= 1, rho <= 1, ...) by
substitutions. Cases of a minimum are gone through one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import sympy
from sympy import Dummy, Min, Rational

from analysis.checks import CheckBook, Depth, mutate, plus, put, times, without
from analysis.checks.amplified.runs import least_error
from analysis.checks.amplified.theorem import RUN, divergences_met, known_constants, problem_met
from analysis.checks.amplified.weighting import MOST_CLIENTS, centred, divergences, one, schedule, slopes_met
from analysis.checks.certificates import Fact, at_most_one, chain, confirmed, identity, limit_of, more_than, nonnegative
from analysis.checks.points import drawn, held_at, value_of
from analysis.checks.tools import INDEPENDENT_NOISE, gives, reading
from analysis.domains import Domain, Real, Several, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, assumed, right_side, root, stated
from fltheory.ledger import Claim
from fltheory.papers import amplified
from fltheory.papers.amplified import I, L, N, P, T, beta, d, delta, eta, gamma, gap, nu, rho, scale, sigma, v2

checks = CheckBook()

# ---- certificates ----------------------------------------------------------------------------------------


def _ranges() -> dict[Any, Any]:
    """Roots of what stands under roots, and the ranges of the counts and of rho."""
    roots = {symbol: Dummy(f"root of {symbol}", positive=True) ** 2 for symbol in (gap, L)}
    counts = {symbol: more_than(1) ** 2 for symbol in (I, T, N)}
    return roots | counts | {P: more_than(1), rho: at_most_one()}


def _theorem(local: Any, factor: Any) -> Any:
    assert amplified.thm31.bound is not None
    return amplified.thm31.bound.rhs.subs({gamma: local, eta: factor}, simultaneous=True)


def _steps_admitted(claim: Claim, product: Any) -> Iterator[Fact]:
    """The conditions of Theorem 3.1, at the chosen local step size and a product of step sizes."""
    local = claim.formulas["local_lr"]
    yield nonnegative("gamma <= 1/(12 L I P), as T >= 1", 1 / (12 * L * I * P) - local, _ranges())
    yield nonnegative("gamma eta <= 1/(L I P)", 1 / (L * I * P) - product, _ranges())
    yield Fact("P <= T/2 is stated", limit_of(claim, "interval", P / T) == Rational(1, 2))


def _capped(claim: Claim) -> Iterator[Fact]:
    """Corollary 3.2: eta is the smaller of a/sigma and a cap."""
    assert claim.bound is not None
    local, factor = claim.formulas["local_lr"], claim.formulas["amplification"]
    free, cap = sorted(factor.args, key=lambda e: not e.has(sigma)) if isinstance(factor, Min) else (factor, factor)
    yield from _steps_admitted(claim, local * cap)
    yield nonnegative("first case: eta does not reach the cap", claim.bound.rhs - _theorem(local, free), _ranges())
    ranges = _ranges()
    balance = {sigma: (free * sigma / (cap * more_than(1))).subs(ranges, simultaneous=True)}  # the cap is the smaller
    for name, noise in (("noise that eta could balance", balance), ("no noise", {sigma: 0})):
        difference = claim.bound.rhs - _theorem(local, cap)
        yield nonnegative(f"second case: eta is the cap; {name}", difference, ranges | noise)


def _admitted(claim: Claim) -> Iterator[Fact]:
    """Corollary 3.3 and its homogeneous form: eta is free of sigma, the product of step sizes is a condition."""
    assert claim.bound is not None
    local, factor = claim.formulas["local_lr"], claim.formulas["amplification"]
    large = claim.conditions.get("large T")
    yield Fact("the condition on T is stated", large is not None)
    yield identity("its left side is gamma eta", (large.lhs - local * factor).subs(_ranges()))  # type: ignore[union-attr]
    yield from _steps_admitted(claim, large.rhs)  # type: ignore[union-attr]
    yield nonnegative("Theorem 3.1 at these step sizes", claim.bound.rhs - _theorem(local, factor), _ranges())


def _smaller(claim: Claim, of: Claim, interval_divergence: Any) -> Fact:
    """beta and nu at most d (Proposition 4.1, repaired) and this delta^2(P) in the bound of another corollary."""
    assert claim.bound is not None
    assert of.bound is not None
    parts = {beta: d * at_most_one(), nu: d * at_most_one(), delta: sympy.sqrt(interval_divergence)}
    terms = of.bound.rhs.subs(parts, simultaneous=True)
    return nonnegative(f"the terms of {of.where} are covered", claim.bound.rhs - terms, _ranges())


# ---- exact errors ----------------------------------------------------------------------------------------

PROBLEM: dict[str, Domain] = {
    "curvature": Real("1/8", 8, log=True),
    "variance": Real("1/100", 4, log=True),
    **RUN,
    "start": Real("1/100", 4),
    "rounds": Whole(2, 60),
}


def chosen_steps(claim: Claim, point: Point) -> Sides:
    """One curvature, slopes that differ, any schedule, additive noise, at the step sizes of the statement."""
    assert claim.bound is not None
    slopes, h = centred(point["slopes"]), point["curvature"]
    weights = schedule(point["who"], point["emphasis"], len(slopes), point["rounds"])
    found = divergences(slopes, weights, point["interval"])
    constants = known_constants(point, len(slopes), found) | _problem(point)
    sizes = {name: value_of(claim.formulas[name], constants) for name in ("local_lr", "amplification")}
    left = least_error(
        h, slopes, point["start"], point["variance"], sizes["local_lr"], sizes["amplification"],
        point["steps"], point["interval"], weights,
    )  # fmt: skip
    met = divergences_met(constants, found) | problem_met(constants, h, point["variance"])
    return Sides(left, right_side(claim.bound, constants), constants | sizes, met=met)


def chosen_steps_in_turn(claim: Claim, point: Point) -> Sides:
    """One curvature, slopes that differ, additive noise; the interval divergence is zero, up to rounding in floats."""
    sides = chosen_steps(claim, point)
    least = 1e-12 * sides.constants["heterogeneity"] if isinstance(point["curvature"], float) else 0
    regular = bool(sides.constants["interval_divergence"] <= least)
    return replace(sides, facts={"the interval divergence is zero": regular})


def _problem(point: Point) -> dict[str, Any]:
    found = {
        "smoothness": point["curvature"],
        "noise_std": root(point["variance"]),
        "initial_gap": point["curvature"] * point["start"] ** 2 / 2,
    }
    return found | ({"gradient_scale": point["scale"]} if "scale" in point else {})


SCALED = PROBLEM | {"scale": Real("1/8", 8, log=True)}
capped = checks.trial(amplified.cor32, space=PROBLEM)(chosen_steps)
in_fixed_units = checks.trial(amplified.cor33, space=PROBLEM)(chosen_steps)
homogeneous_steps = checks.trial(amplified.cor33_repaired, space=SCALED)(chosen_steps)
regularised = checks.trial(amplified.cor43, space=PROBLEM)(chosen_steps_in_turn)


@checks.trial(
    amplified.cor48_repaired,
    space=SCALED | {"subset": Whole(1, MOST_CLIENTS), "slopes": Several(Real(-4, 4), 2, MOST_CLIENTS)},
)
def random_subsets(claim: Claim, point: Point) -> Sides:
    """Subsets of one size, uniform and independent over rounds, with equal weights: expected error over both."""
    assert claim.bound is not None
    slopes = centred(point["slopes"])
    n = len(slopes)
    size = min(point["subset"], n)
    squares, like = sum(a * a for a in slopes), slopes[0]
    share = 1 / one(like, size)
    constants = _problem(point) | {
        "n_clients": n,
        "local_steps": point["steps"],
        "interval": point["interval"],
        "rounds": point["rounds"],
        "participation_norm": root(share),
        "weight_variance": (n - size) / one(like, size * n * n),
        "heterogeneity": root(max(a * a for a in slopes)),
    }
    sizes = {name: value_of(claim.formulas[name], constants) for name in ("local_lr", "amplification")}
    scatter = constants["weight_variance"] * n / (n - 1) * squares  # covariance v^2 N/(N-1) (identity - mean)
    left = least_error(
        point["curvature"], [0 * like], point["start"], point["variance"], sizes["local_lr"], sizes["amplification"],
        point["steps"], point["interval"], [(root(share),)] * point["rounds"], scatter,
    )  # fmt: skip
    met = slopes_met(slopes, constants) | problem_met(constants, point["curvature"], point["variance"])
    return Sides(left, right_side(claim.bound, constants), constants | sizes, met=met)


def _run(trial: Any, claim: Claim, depth: Depth, **fixed: Any) -> Evidence:
    number = {"quick": 100, "default": 500, "deep": 10_000}[depth]
    points = [*drawn(trial, number, **fixed), *drawn(trial, number, steps=1, interval=1, **fixed)]
    return held_at(
        trial, claim, points, "exact", "exact moments", "No violation on quadratics",
        domain="quadratics of one curvature, drawn from a fixed seed",
    )  # fmt: skip


# ---- the checks ------------------------------------------------------------------------------------------

RATE_MUTANTS = [
    times("bound", Rational(1, 2)),
    times("local_lr", 2),
    put("bound", delta**2, delta**2 / 2),
    put("bound", beta**2, 0),
    without("interval"),
]


@checks(
    amplified.cor32,
    mutants=[
        *RATE_MUTANTS,
        mutate("amplification", "a larger cap", lambda e: e.subs(12 * sympy.sqrt(T), 13 * sympy.sqrt(T))),
        mutate("amplification", "no cap", lambda e: next(part for part in e.args if part.has(sigma))),
        put("bound", 4 * gap, 3 * gap),
    ],
)
@reading(INDEPENDENT_NOISE)
def theorem_at_the_smaller_step(claim: Claim, depth: Depth) -> Evidence:
    """Both cases of the minimum; the cap is the product condition of Theorem 3.1."""
    summary = "Theorem 3.1 in both cases of the minimum; the cap 12 sqrt(T) is exactly gamma eta <= 1/(L I P)."
    return confirmed(chain(_capped(claim), summary), _run(capped, claim, depth))


@checks(
    amplified.cor33,
    mutants=[*RATE_MUTANTS, times("amplification", 2), put("bound", sigma**2, 0), without("large T")],
)
@reading(INDEPENDENT_NOISE)
def theorem_in_fixed_units(claim: Claim, depth: Depth) -> Evidence:
    """A true inequality between numbers; its units are another matter."""
    summary = "True as an inequality between numbers, in any fixed units."
    return confirmed(chain(_admitted(claim), summary), _run(in_fixed_units, claim, depth))


@checks(
    amplified.cor33_repaired,
    mutants=[*RATE_MUTANTS, times("amplification", 2), put("bound", scale, 1), without("large T")],
)
@reading(INDEPENDENT_NOISE)
def theorem_at_a_scale(claim: Claim, depth: Depth) -> Evidence:
    """Theorem 3.1 with eta = 12 P sqrt(L I calF)/(s rho), for every s."""
    summary = "Theorem 3.1 at these step sizes, for every s > 0."
    return confirmed(chain(_admitted(claim), summary), _run(homogeneous_steps, claim, depth))


@checks(
    amplified.cor43,
    mutants=[
        put("bound", Rational(13, 48), Rational(12, 48)),
        put("bound", sigma**2 / 18, sigma**2 / 19),
        times("bound", Rational(1, 2)),
        without("interval"),
    ],
)
@reading(INDEPENDENT_NOISE)
def regularised_rate(claim: Claim, depth: Depth) -> Evidence:
    """Corollary 3.2 with no interval divergence and both other divergences at most d."""
    same = all(claim.formulas[name] == part for name, part in amplified.cor32.formulas.items())
    steps = [
        Fact("the step sizes are those of Corollary 3.2", same),
        Fact("P <= T/2 is stated", limit_of(claim, "interval", P / T) == Rational(1, 2)),
        _smaller(claim, amplified.cor32, 0),
    ]
    numbers = _run(regularised, claim, depth, who=(1, 2, 4, 8, 16), emphasis=(1.0,))
    return confirmed(chain(steps, "From Corollary 3.2, with beta^2 and nu^2 at most d^2 each."), numbers)


def _long_enough(claim: Claim) -> Iterator[Fact]:
    """The three facts about P that Corollary 4.8 rests on."""
    rounds, local = claim.conditions.get("rounds"), claim.conditions.get("local steps")
    chosen = claim.formulas["interval"]
    yield Fact("both conditions are stated", rounds is not None and local is not None)
    same = all(claim.formulas[name] == part for name, part in amplified.cor33.formulas.items())
    yield Fact("the step sizes are those of Corollary 3.3", same)
    yield Fact("they limit T and I", rounds.gts == T and local.lts == I)  # type: ignore[union-attr]
    needed, most = rounds.lts, local.gts  # type: ignore[union-attr]
    ranges = {symbol: Dummy(f"root of {symbol}", positive=True) ** 2 for symbol in (gap, L, I, T, N)}
    yield identity("P <= T/2 if and only if the condition on T holds", ((2 * chosen) ** 2 - T * needed).subs(ranges))
    product = sympy.sqrt(gap) / (rho * sympy.sqrt(L * I * T)) * L * I * chosen
    yield identity("the condition of Corollary 3.3 is that on I", (product - I / most).subs(ranges))
    share = N**2 * d**2 * v2 / chosen
    yield identity("N^2 d^2 v^2/P = d^2/sqrt(N I T)", (share - d**2 / sympy.sqrt(N * I * T)).subs(ranges))
    yield _smaller(claim, amplified.cor33, share)


@checks(
    amplified.cor48,
    mutants=[
        times("interval", 2), times("interval", Rational(1, 2)), times("bound", Rational(1, 2)), without("rounds"),
        put("bound", N, N**2), without("local steps"), put("interval", N, N**2), times("local_lr", 2),
        times("amplification", 2),
    ],
)  # fmt: skip
@reading(INDEPENDENT_NOISE)
def interval_is_a_number_of_rounds(claim: Claim, depth: Depth) -> Evidence:
    """True at a P that is a number; the printed P need not be whole, and can be below 1."""
    found = chain(_long_enough(claim), "")
    if found.verdict != "proved":
        return found
    clients, size = 10, 9
    variance = Fraction(clients - size, size * clients**2)
    # Half of the clients at (x - 1)^2/2, half at (x + 1)^2/2, from x = 1/2, noise of variance 1.
    constants = {
        "weight_variance": variance, "n_clients": clients, "local_steps": 1, "rounds": 4, "smoothness": 1,
        "heterogeneity": 1, "noise_std": 1, "initial_gap": Fraction(1, 8),
        "participation_norm": root(Fraction(1, size)),
    }  # fmt: skip
    met = slopes_met((1, -1), constants) | problem_met(constants, 1, 1)
    given = {"objectives": "(x - 1)^2/2 and (x + 1)^2/2, five clients each, from 1/2", **constants}
    held = stated(claim, constants) | assumed(claim, met)
    if not all(held.values()):
        return Evidence("not checked", "algebra and witness", "The known witness is not admitted by this statement.")
    chosen = float(value_of(claim.formulas["interval"], constants))
    return Evidence(
        "conditional", "algebra and witness",
        "P has to be rounded and be at least 1, with v > 0; the conditions on T and I are exactly P <= T/2 and that "
        "of Corollary 3.3, and the expectation of (7) enters averaged over the intervals.",
        found.domain, found.cases,
        hypothesis="P rounded to a whole number that is at least 1, v > 0",
        witness=given | {"S": size, "P": float(f"{chosen:.4g}")} | held,
        steps=found.steps,
    )  # fmt: skip


@checks(
    amplified.cor48_repaired,
    mutants=[
        times("bound", Rational(1, 2)), put("bound", N, N**2), times("amplification", 2), without("long interval"),
        without("large T"), without("interval"), plus("bound", Rational(-1, 10)),
    ],
)  # fmt: skip
@reading(INDEPENDENT_NOISE)
def whole_interval(claim: Claim, depth: Depth) -> Evidence:
    """Corollary 3.3's homogeneous form in expectation, for every P of at least v^2 N^(5/2) sqrt(I T)."""
    long = claim.conditions.get("long interval")
    same = all(claim.formulas[name] == part for name, part in amplified.cor33_repaired.formulas.items())
    given = all(gives(claim, relation) for relation in amplified.cor33_repaired.conditions.values())
    bounded = long is not None and long.gts == P
    variance = v2 * P / (long.lts * more_than(1)) if bounded else sympy.oo  # type: ignore[union-attr]
    steps = [
        Fact("step sizes and conditions are those of Corollary 3.3, repaired", same and given),
        Fact("P is bounded from below", bounded),
        _smaller(claim, amplified.cor33_repaired, N**2 * d**2 * variance / P),
    ]
    return confirmed(
        chain(steps, "E of (7) is N^2 d^2 v^2/P at most, and Theorem 3.1 needs its average over intervals only."),
        _run(random_subsets, claim, depth),
    )
