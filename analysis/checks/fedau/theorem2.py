"""Checks of Theorem 2, for both options of Assumption 5: the proof, and runs of many rounds in exact moments."""

from __future__ import annotations

import math
from fractions import Fraction as F
from typing import Any

import sympy
from sympy import Rational

from analysis.checks import CheckBook, Depth, put, times, without
from analysis.checks.certificates import Fact, limit_of, nonnegative, proved
from analysis.checks.fedau.quadratics import Run, cyclic
from analysis.checks.points import held_at
from analysis.checks.tools import SLACK, made_with
from analysis.domains import Domain, Real, Several, Whole
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, Trial, right_side, root
from fltheory.ledger import Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import (
    I,
    L,
    N,
    T,
    delta,
    mean_weight_error,
    objective_gradient_bound,
    reweighted_gradient,
    sigma,
    weight_mismatch,
)
from fltheory.symbols import global_lr, initial_gap, local_lr, weight_square

checks = CheckBook()
LOCAL, BOTH = local_lr * L * I, local_lr * global_lr * L * I  # what the conditions limit


def _run(claim: Claim, point: Point) -> Sides:
    """Average E|grad f(x_t)|^2 on quadratics of one curvature, with given weights that change from round to round.

    p_n w_t^n is read cyclically from `tilts`, over clients first, then rounds. Steps are parts of 1/(16 L I) and of
    min(1/(4 L I), N/(54 L I Q)), at most a little beyond what the paper allows. For G^2 stands the largest
    E|grad f(x_t)|^2 of the run: all that the proof uses when weights are given, and less than any bound on |grad f|^2
    (where noise is bounded the run stays in an interval, outside of which the objectives may be continued linearly).
    """
    assert claim.bound is not None
    clients, smoothness, steps = len(point["centres"]), point["smoothness"], point["local_steps"]
    rates, horizon = cyclic(point["rates"], clients), point["rounds"]
    tilts = cyclic(point["tilts"], clients * len(point["tilts"]))  # their period, in rounds, is at most their number
    plan = [tilts[k * clients : (k + 1) * clients] for k in range(len(point["tilts"]))]
    weights = [[tilt / p for tilt, p in zip(row, rates, strict=True)] for row in plan]
    used = weights[:horizon]
    square = max(sum(p * w * w for p, w in zip(rates, row, strict=True)) / clients for row in used)
    errors = [sum((tilt - 1) ** 2 for tilt in row) * F(1, clients) for row in plan]
    lr = point["local_share"] / (16 * smoothness * steps)
    both = point["product_share"] * min(F(1, 4), clients / (54 * square)) / (smoothness * steps)
    run = Run([smoothness] * clients, point["centres"], rates, point["noise"] ** 2, lr, both / lr, steps)
    middle = sum(point["centres"]) * F(1, clients)
    mean, second = point["start"], point["start"] ** 2
    gradients = []
    for t in range(horizon):
        gradients.append(smoothness**2 * (second - 2 * middle * mean + middle**2))
        mean, second = run.step(mean, second, weights[t % len(weights)])
    largest = max(gradients)
    constants = {
        "smoothness": smoothness,
        "local_steps": steps,
        "n_clients": clients,
        "rounds": horizon,
        "local_lr": lr,
        "global_lr": both / lr,
        "noise_std": point["noise"],
        "heterogeneity": smoothness * max(abs(b - middle) for b in point["centres"]),
        "initial_gap": smoothness * (point["start"] - middle) ** 2 / 2,
        "objective_gradient_bound": math.sqrt(max(largest, 0)) if isinstance(largest, float) else root(largest),
        "mean_weight_error": sum(errors[t % len(errors)] for t in range(horizon)) * F(1, horizon),
        "largest_weight_error": max(errors[:horizon]),
        "weight_square": square,
    }
    met = run.met(constants, smoothness * max(abs(b - middle) for b in point["centres"]))
    bounded = bool(largest <= constants["objective_gradient_bound"] ** 2 * (1 + SLACK))
    met["ass5"] = bounded or bool(constants["largest_weight_error"] <= F(1, 81))
    return Sides(sum(gradients) * F(1, horizon), right_side(claim.bound, constants), constants, met=met)


def _space(tilts: Real) -> dict[str, Domain]:
    return {
        "smoothness": Real("1/4", 4, log=True),
        "centres": Several(Real(-3, 3), 1, 4),
        "rates": Several(Real("1/50", 1), 1, 4),
        "tilts": Several(tilts, 1, 6),
        "start": Real(-5, 5),
        "noise": Real(0, 3),
        "local_steps": Whole(1, 20),
        "local_share": Real("1/100", 2, log=True),
        "product_share": Real("1/100", 4, log=True),
        "rounds": Whole(1, 200),
    }


@checks.trial(fedau.thm2, space=_space(Real("1/20", 20, log=True)))
def runs_with_given_weights(claim: Claim, point: Point) -> Sides:
    """Runs on F_n = L (x - b_n)^2/2 with weights given in advance."""
    return _run(claim, point)


@checks.trial(fedau.thm2_option1, space=_space(Real("5/6", "7/6")))
def runs_with_nearly_optimal_weights(claim: Claim, point: Point) -> Sides:
    """Runs on F_n = L (x - b_n)^2/2 with weights given in advance that are nearly 1/p_n."""
    return _run(claim, point)


# (centres, rates, tilts, start, noise): the gap alone, noise alone, weights near zero (a run that stands still far
# from the minimum), weights of one sign off, weights that change, everything.
_CASES: tuple[tuple[Any, ...], ...] = (
    ((0.0,), (1.0,), (1.0,), 1.0, 0.0),
    ((0.0,), (0.5,), (1.0,), 0.0, 1.0),
    ((0.0, 0.0), (0.9, 0.1), (0.05,), 5.0, 0.0),
    ((-1.0, 1.0), (0.9, 0.1), (1.8, 0.2), 0.0, 0.0),
    ((-1.0, 1.0), (0.02, 0.02), (1.0, 1.0, 0.05, 5.0), 0.0, 0.0),
    ((-2.0, 2.0), (0.9, 0.1), (1.1, 0.9), 1.0, 0.0),
    ((-1.0, 0.0, 3.0), (0.2, 0.5, 1.0), (0.9, 1.05, 1.1), 2.0, 0.5),
    ((-1.0, 0.0, 3.0), (0.2, 0.5, 1.0), (3.0, 1.0, 0.5, 0.1), 2.0, 0.5),
)


def _points(trial: Trial, depth: Depth) -> list[dict[str, Any]]:
    horizons = {"quick": (1, 200), "default": (1, 2, 20, 200), "deep": (1, 2, 5, 20, 100, 150, 200)}[depth]
    points = [
        dict(zip(trial.space, (2.0, *case, steps, local, product, horizon), strict=True))
        for case in _CASES
        for steps in (1, 5)
        for local, product in ((1.0, 1.0), (0.01, 1.0), (1.0, 0.05), (0.01, 4.0))
        for horizon in horizons
    ]
    return [point for point in points if trial.space["tilts"].contains(point["tilts"])]


def _at_points(trial: Trial, claim: Claim, depth: Depth) -> Evidence:
    domain = (
        "runs on quadratics of one curvature, one to three clients, constant and changing weights, up to 200 rounds"
    )
    return held_at(trial, claim, _points(trial, depth), domain=domain, method="exact moments")


def _summed(claim: Claim, gradient_bound: Any, allowed_error: Any) -> list[Fact]:
    """Lemma B.5.1 summed over the rounds and divided by gamma eta I times what is left of the factor 1/4."""
    assert claim.bound is not None
    assert fedau.lemB51.bound is not None
    local, product = limit_of(claim, "local step", LOCAL), limit_of(claim, "product of steps", BOTH)
    with_Q = limit_of(claim, "product of steps and Q", BOTH * weight_square / N)
    if not all(limit.is_finite for limit in (local, product, with_Q, allowed_error)):
        return [Fact("steps and weight errors are limited", False)]
    both = local_lr * global_lr
    lemma = sympy.expand(fedau.lemB51.bound.rhs / (both * I)).subs(weight_mismatch, mean_weight_error)
    bracket = lemma.coeff(reweighted_gradient, 2)
    expected = (
        Rational(81, 16) * mean_weight_error
        + 15 * L**2 * I**2 * local_lr**2
        + (27 * both * L * I * weight_square / (8 * N))
    )
    left = Rational(1, 4) - 15 * local**2 - Rational(27, 8) * with_Q - Rational(81, 16) * allowed_error
    rest = initial_gap / (both * I * T) + lemma.subs(reweighted_gradient, 0)
    rest = rest + Rational(81, 16) * mean_weight_error * gradient_bound**2
    return [
        Fact("the conditions of Lemma B.5.1", bool(local <= limit_of(fedau.lemB51, "local step", LOCAL))
             and bool(product <= limit_of(fedau.lemB51, "product of steps", BOTH))),
        Fact("the bracket of Lemma B.5.1", sympy.expand(bracket - expected) == 0),
        Fact(f"the steps leave at least {left} of its 1/4", bool(left > 0)),
        nonnegative("the bound contains the telescoped sum divided by that", claim.bound.rhs - rest / left),
    ]  # fmt: skip


_MUTANTS = [
    put("bound", initial_gap, initial_gap / 100),
    put("bound", mean_weight_error, mean_weight_error / 100),
    put("bound", sigma, sigma / 100),
    put("bound", delta, delta / 100),
    times("bound", Rational(1, 30)),
    without("local step"),
    without("product of steps"),
    without("product of steps and Q"),
]


@checks(fedau.thm2, mutants=[*_MUTANTS, put("bound", objective_gradient_bound, 0), put("bound", T, T**2)])
@made_with({"fedau.ass4": "Lemma B.5.1: who takes part in a round is independent of the gradients and over clients"})
def weighted_fedavg_with_a_bounded_gradient(claim: Claim, depth: Depth) -> Evidence:
    """(B.5.2) and (B.5.3): the weight error times the squared gradient is at most the weight error times G^2."""
    points = _at_points(runs_with_given_weights, claim, depth)
    return proved(_summed(claim, objective_gradient_bound, sympy.Integer(0)), points, "Lemma B.5.1 summed.")


@checks(fedau.thm2_option1, mutants=[*_MUTANTS, without("nearly optimal weights")])
@made_with(
    {
        "fedau.ass4": "Lemma B.5.1: who takes part in a round is independent of the gradients and over clients",
        "fedau.ass5": "(B.5.4): weight errors of at most 1/81",
    }
)
def weighted_fedavg_with_nearly_optimal_weights(claim: Claim, depth: Depth) -> Evidence:
    """(B.5.4) and (B.5.5): a weight error of at most 1/81 takes another sixteenth."""
    points = _at_points(runs_with_nearly_optimal_weights, claim, depth)
    return proved(
        _summed(claim, 0, limit_of(claim, "nearly optimal weights", fedau.largest_weight_error)),
        points,
        "Lemma B.5.1 summed.",
    )
