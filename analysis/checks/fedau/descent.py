"""Checks of Lemmas B.3.3 and B.5.1: what one round does to a reweighted objective."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import sympy
from sympy import Rational, Symbol

from analysis.checks import CheckBook, Depth, put, times, without
from analysis.checks.certificates import Fact, identity, limit_of, nonnegative, proved
from analysis.checks.fedau.quadratics import Run, cyclic
from analysis.checks.points import held_at
from analysis.checks.tools import made_with
from analysis.domains import Domain, Real, Several, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, Trial, right_side
from fltheory.ledger import Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import I, L, N, reweighted_heterogeneity, sigma, weight_mismatch
from fltheory.symbols import global_lr, heterogeneity, local_lr, weight_square

checks = CheckBook()
COINS = {"fedau.ass4": "who takes part in a round is independent of the gradients and over clients"}  # for `made_with`
LOCAL, BOTH = local_lr * L * I, local_lr * global_lr * L * I  # what the conditions limit

_ROUND: dict[str, Domain] = {
    "smoothness": Real("1/4", 4, log=True),
    "centres": Several(Real(-3, 3), 1, 4),
    "rates": Several(Real("1/50", 1), 1, 4),
    "weights": Several(Real("1/20", 50, log=True), 1, 4),
    "start": Real(-5, 5),
    "noise": Real(0, 3),
    "local_steps": Whole(1, 20),
    "local_share": Real("1/100", 2, log=True),
    "product_share": Real("1/100", 60, log=True),
}
_SHARES: dict[str, Domain] = {"shares": Several(Real(0, 1), 1, 4)}
_ONE_BEND: dict[str, Domain] = {"bends": Several(Real(-1, 1), 1, 1)}
_ANY_BENDS: dict[str, Domain] = {"bends": Several(Real(-1, 1), 1, 4)}


def _round_of_quadratics(claim: Claim, point: Point) -> Sides:
    """E f~(x') - f~(x) + (gamma eta I/4) |grad f~(x)|^2 after one round, against the bound.

    Sequences are read cyclically, one value a client. Curvatures are bends times L; steps are parts of 1/(16 L I)
    and of 1/(4 L I), a little below and at what the paper allows.
    """
    assert claim.bound is not None
    clients, smoothness, steps, x = len(point["centres"]), point["smoothness"], point["local_steps"], point["start"]
    rates, weights = (cyclic(point[name], clients) for name in ("rates", "weights"))
    shares = cyclic(point.get("shares", (F(1),)), clients)
    total = sum(shares) or 1
    lr = point["local_share"] / (16 * smoothness * steps)
    both = point["product_share"] / (4 * smoothness * steps)
    curvatures = [bend * smoothness for bend in cyclic(point["bends"], clients)]
    run = Run(curvatures, point["centres"], rates, point["noise"] ** 2, lr, both / lr, steps)
    mean, second = run.step(x, x * x, weights)
    slopes = [a * (x - b) for a, b in zip(curvatures, point["centres"], strict=True)]
    slope = sum(s * g for s, g in zip(shares, slopes, strict=True)) / total
    curvature = sum(s * a for s, a in zip(shares, curvatures, strict=True)) / total
    change = slope * (mean - x) + curvature * (second - 2 * x * mean + x * x) / 2
    divergence = max(abs(g - slope) for g in slopes)
    constants = {
        "smoothness": smoothness,
        "local_steps": steps,
        "n_clients": clients,
        "local_lr": lr,
        "global_lr": both / lr,
        "noise_std": point["noise"],
        "heterogeneity": divergence,
        "reweighted_heterogeneity": divergence,
        "divergence_at_iterate": divergence,
        "reweighted_gradient": abs(slope),
        "weight_mismatch": clients
        * sum((p * w / clients - s / total) ** 2 for p, w, s in zip(rates, weights, shares, strict=True)),
        "weight_square": sum(p * w * w for p, w in zip(rates, weights, strict=True)) / clients,
    }
    facts = {"the shares are a distribution": sum(shares) > 0}
    left, met = change + both * steps * slope * slope / 4, run.met(constants, divergence)
    return Sides(left, right_side(claim.bound, constants), constants, facts, met)


@checks.trial(fedau.lemB33, space={**_ROUND, **_SHARES, **_ONE_BEND})
def round_of_shared_curvature(claim: Claim, point: Point) -> Sides:
    """One round on F_n = a (x - b_n)^2/2, one curvature."""
    return _round_of_quadratics(claim, point)


@checks.trial(fedau.lemB33_improved, space={**_ROUND, **_SHARES, **_ANY_BENDS})
def round_of_any_curvatures(claim: Claim, point: Point) -> Sides:
    """One round on F_n = a_n (x - b_n)^2/2."""
    return _round_of_quadratics(claim, point)


@checks.trial(fedau.lemB51, space={**_ROUND, **_ONE_BEND})
def round_of_the_original_objective(claim: Claim, point: Point) -> Sides:
    """One round on F_n = a (x - b_n)^2/2, equal shares."""
    return _round_of_quadratics(claim, point)


# (centres, rates, weights, start, noise): the gap alone, noise alone, divergence from a minimum, weights far off, all.
_CASES = (
    ((0.0,), (1.0,), (1.0,), 1.0, 0.0),
    ((0.0,), (0.5,), (2.0,), 0.0, 1.0),
    ((-1.0, 1.0), (0.9, 0.1), (1.0, 1.0), 0.0, 0.0),
    ((0.0, 0.0), (0.5, 0.5), (0.05, 0.05), 2.0, 0.0),
    ((0.0, 1.0), (0.5, 0.1), (50.0, 0.1), 2.0, 0.0),
    ((-1.0, 0.0, 3.0), (0.2, 0.5, 1.0), (3.0, 1.0, 0.5), 2.0, 0.5),
)


def _points(trial: Trial) -> list[dict[str, Any]]:
    points = [
        {
            "smoothness": 2.0, "centres": centres, "rates": rates, "weights": weights, "start": start, "noise": noise,
            "local_steps": steps, "local_share": local, "product_share": product, "shares": (1.0,), "bends": bends,
        }
        for centres, rates, weights, start, noise in _CASES
        for steps in (1, 5)
        for local, product in ((1.0, 1.0), (1.0, 0.05), (0.01, 1.0), (2.0, 60.0))
        for bends in ((1.0,), (-1.0,), (1.0, -0.5, 0.25))
    ]  # fmt: skip
    chosen = [{name: point[name] for name in trial.space} for point in points]
    return [point for point in chosen if trial.space["bends"].contains(point["bends"])]


def _at_points(trial: Trial, claim: Claim) -> Evidence:
    return held_at(trial, claim, _points(trial), domain="one round on quadratics, one to three clients")


def _one_round(claim: Claim, divergence: Any) -> list[Fact]:
    """(B.3.6) to (B.3.10), divided by gamma eta I; H bounds E|grad F_n(y)|^2, D the drift."""
    assert claim.bound is not None
    local, product = limit_of(claim, "local step", LOCAL), limit_of(claim, "product of steps", BOTH)
    if not (local.is_finite and product.is_finite):
        return [Fact("both step sizes are limited", False)]
    drift, gradient = (
        lemma.bound.rhs.subs(reweighted_heterogeneity, divergence)
        for lemma in (fedau.lemB32, fedau.eqB39)
        if lemma.bound is not None
    )
    both = local_lr * global_lr
    printed = (
        weight_mismatch * gradient * (1 + 2 * both * L * I)
        + L**2 * drift / 2
        + both * L / N * weight_square * (sigma**2 + I * gradient)
    )
    # gamma L I = local / sqrt(1 + a) and gamma eta L I = product / (1 + b) with a, b >= 0: all that is allowed.
    a, b = Symbol("a", positive=True), Symbol("b", positive=True)
    room = sympy.expand(claim.bound.rhs / (both * I) - printed)
    room = sympy.expand(room.subs(global_lr, product / ((1 + b) * L * I * local_lr)))
    room = room.subs(local_lr, local / (sympy.sqrt(1 + a) * L * I))
    x, y, u = sympy.symbols("x y u", real=True)
    return [
        identity("Young with rho = 1/2: x y <= x^2/4 + y^2", x**2 / 4 + y**2 - x * y - (x / 2 - y) ** 2),
        identity("polarisation of <x, y>", ((x + y) ** 2 - x**2 - y**2) / 2 - x * y),
        identity("(x + y)^2 <= 2 x^2 + 2 y^2, by a square", 2 * x**2 + 2 * y**2 - (x + y) ** 2 - (x - y) ** 2),
        identity("squared gradients sum to -1/4", u * (Rational(1, 4) + Rational(1, 2) - 1) + u / 4),
        Fact("the step that Lemma B.3.2 asks for", bool(local <= limit_of(fedau.lemB32, "local step", LOCAL))),
        Fact("|sum phi_n sum_i grad F_n|^2 has no positive factor", bool(2 * product <= Rational(1, 2))),
        nonnegative("the bound contains what this gives for all admitted steps", room),
    ]


_MUTANTS = [
    times("bound", Rational(1, 30)),
    put("bound", weight_mismatch, 0),
    put("bound", sigma, 0),
    put("bound", weight_square, 0),
    without("local step"),
    without("product of steps"),
]
_SUMMARY = "Every printed step of the proof."


@checks(fedau.lemB33, mutants=[*_MUTANTS, put("bound", reweighted_heterogeneity, 0), put("bound", N, N**2)])
@made_with({**COINS, "fedau.ass3": "Lemma B.3.1: the divergence from f~ is bounded"})
def one_round_lowers_the_objective(claim: Claim, depth: Depth) -> Evidence:
    """Smoothness, Young, polarisation, independence; then all coefficients."""
    points = _at_points(round_of_shared_curvature, claim)
    return proved(_one_round(claim, reweighted_heterogeneity), points, _SUMMARY)


@checks(fedau.lemB33_improved, mutants=[*_MUTANTS, put("bound", fedau.divergence_at_iterate, 0)])
@made_with(COINS)
def one_round_with_the_divergence_there(claim: Claim, depth: Depth) -> Evidence:
    """The same proof: the divergence enters through |grad F_n(x_t) - grad f~(x_t)| alone."""
    points = _at_points(round_of_any_curvatures, claim)
    return proved(_one_round(claim, fedau.divergence_at_iterate), points, _SUMMARY)


@checks(fedau.lemB51, mutants=[*_MUTANTS, put("bound", heterogeneity, 0)])
@made_with(COINS)
def one_round_of_the_original_objective(claim: Claim, depth: Depth) -> Evidence:
    """Lemma B.3.3 with phi_n = 1/N, for which Assumption 3 gives delta itself."""
    assert claim.bound is not None
    assert fedau.lemB33.bound is not None
    general = fedau.lemB33.bound.rhs.subs(reweighted_heterogeneity, heterogeneity)
    p, w = Symbol("p", positive=True), Symbol("w", positive=True)
    facts = [
        *_one_round(claim, heterogeneity),
        identity("N (p w/N - 1/N)^2 = (p w - 1)^2/N", N * (p * w / N - 1 / N) ** 2 - (p * w - 1) ** 2 / N),
        nonnegative("the bound contains that of Lemma B.3.3", claim.bound.rhs - general),
        Fact("its conditions", all(claim.conditions.get(k) == c for k, c in fedau.lemB33.conditions.items())),
    ]  # fmt: skip
    return proved(facts, _at_points(round_of_the_original_objective, claim), _SUMMARY)
