"""Checks of Corollary 4 and Appendix A.3, and of Assumption 5 for the weights of Algorithm 2."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import sympy
from sympy import Rational, Symbol

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks import histories as h
from analysis.checks.certificates import Fact, identity, nonnegative
from analysis.checks.fedau.cutoff import cutoff_at, smallest_cutoff
from analysis.checks.fedau.quadratics import Run, independent
from analysis.checks.tools import SLACK, at, gives, rational_sample
from analysis.evidence import Evidence, Tally, algebra, conditional
from analysis.trials import assumed, stated
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Bound, Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import I, L, N, T, delta, mean_weight_error, objective_gradient_bound, p, sigma
from fltheory.symbols import UNITS, cohort_size, global_lr, initial_gap, local_lr, weight_square
from fltheory.units import LOSS, PARAM, UnitError, unit_of
from sims.algorithms.fedavg import Hyper, fedavg
from sims.exact import Engine, Setting
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import bernoulli, fedau_weighted

checks = CheckBook()


# ---- Assumption 5 ----------------------------------------------------------------------------------------


@checks(
    fedau.ass5_sufficient,
    mutants=[
        times("tolerance", Rational(1, 2)),
        times("highest weight", Rational(11, 10)),
        times("lowest weight", Rational(9, 10)),
    ],
)
def a_ninth_on_either_side(claim: Claim, depth: Depth) -> Evidence:
    """At both ends |p w - 1| = 1/9, and in between it is less: (p w - 1)^2 is convex in w."""
    weight = Symbol("weight", positive=True)
    tolerance = claim.formulas["tolerance"]
    ends = {name: p * claim.formulas[name] for name in ("lowest weight", "highest weight")}
    steps = [
        Step("(p w - 1)^2 is convex in w", sympy.diff((p * weight - 1) ** 2, weight, 2) - 2 * p**2),
        *(Step(f"the {name} just satisfies it", (end - 1) ** 2 - tolerance) for name, end in ends.items()),
    ]
    return algebra(steps, "proved", "Equality at both ends, convex in between.", sample=rational_sample)


def _reachable(cutoff: float, rounds: int) -> Iterator[set[F]]:
    """For t < rounds: every weight that some history of a client with 0 < p < 1 gives round t."""
    for t in range(rounds):
        yield {h.weight(t, (len(done), s)) for done, s in (h.cut(x, cutoff) for x in h.all_histories(t))}


def _worst(rates: Sequence[F], cutoff: float, rounds: int) -> F:
    """Largest (1/N) sum (p_n w_t^n - 1)^2 over rounds and histories; a client with p = 1 always has weight 1."""
    return max(
        sum((max((rate * w - 1) ** 2 for w in (weights if rate < 1 else {F(1)})) for rate in rates), F(0)) / len(rates)
        for weights in _reachable(cutoff, rounds)
    )


@checks(fedau.ass5_option1_for_alg2, mutants=[times("tolerance", Rational(1, 10)), times("tolerance", 10_000)])
def largest_weight_error_of_all_histories(claim: Claim, depth: Depth) -> Evidence:
    """All histories of three to eight rounds. Option 1 holds for K = 1 with p >= 8/9, or if nearly all p_n are 1."""
    rounds, tolerance = {"quick": 4, "default": 6, "deep": 8}[depth], at(claim.formulas["tolerance"])
    stated, restricted = Tally(sides=("largest mean of (p_n w_t^n - 1)^2", "1/81")), Tally()
    for rate in (F(1, 50), F(1, 2), F(8, 9), F(9, 10), F(99, 100), F(999, 1000)):
        for cutoff in (2, 3, 5, math.inf):
            where = {"p": rate, "K": cutoff, "rounds": rounds, **independent(claim, rate)}
            stated.at_most(_worst([rate], cutoff, rounds), tolerance, **where)
        if rate >= F(8, 9):
            restricted.at_most(_worst([rate], 1, rounds), tolerance, p=rate, K=1, rounds=rounds)
    nearly_all = [F(1)] * 99 + [F(95, 100)]
    restricted.at_most(_worst(nearly_all, 2, rounds), tolerance, p="99 clients 1, one 19/20", K=2, rounds=rounds)
    return conditional(
        stated,
        restricted,
        "K = 1 and p_n >= 8/9, or nearly all p_n = 1; otherwise Option 2",
        "enumeration",
        "With K >= 2 and 0 < p_n < 1 Option 1 fails with positive probability: the weights 1 and 2 both occur.",
        domain=f"all histories of up to {rounds} rounds, six rates, K in {{1, 2, 3, 5, infinity}}",
    )


# ---- Corollary 4 -----------------------------------------------------------------------------------------


def _unit(formula: Any) -> Any:
    """The unit of a formula; None if its terms have several."""
    try:
        return unit_of(formula, UNITS)
    except UnitError:
        return None


def _substituted(claim: Claim) -> list[Fact]:
    """Theorem 2 at the corollary's steps. With I = i^2 and so on all roots are rational in positive letters."""
    assert claim.bound is not None
    assert fedau.thm2.bound is not None
    assert fedau.lemB71.bound is not None
    i, n, r, l, f, q = sympy.symbols("i n r l f q", positive=True)  # roots of I, N, T, L, F, Q
    d, s, w = sympy.symbols("d s w", positive=True)  # i delta, sqrt(sigma^2 + d^2), the weight error
    letters = {I: i**2, N: n**2, T: r**2, L: l**2, initial_gap: f**2, weight_square: q**2, delta: d / i}
    claimed = claim.bound.rhs.subs(fedau.lemB71.bound.rhs, w).subs(letters)
    # gamma and gamma eta are at most these, 1/(gamma eta) at most the sum of its three inverse limits.
    local, both = 1 / (l**2 * i**2 * r), f * n / (q * s * l * i * r)
    inverse = 1 / both + 4 * l**2 * i**2 + 54 * l**2 * i**2 * q**2 / n**2
    g, b, c = sympy.symbols("g b c", positive=True)  # gamma, gamma eta, 1/(gamma eta)
    theorem = sympy.expand(fedau.thm2.bound.rhs.subs(mean_weight_error, w).subs(letters))
    theorem = sympy.expand(theorem.subs({local_lr: g, global_lr: b / g}, simultaneous=True))
    theorem = sympy.expand(theorem - theorem.coeff(b, -1) / b + theorem.coeff(b, -1) * c)
    value = sympy.expand(theorem.subs({g: local, b: both, c: inverse}))
    rising, falling = value.coeff(s, 1), value.coeff(s, -1)
    largest = sympy.cancel(falling.coeff(d, 2))
    steps = {name: set(claim.formulas[name].args) for name in ("local step", "product of steps")}
    printed_both = sympy.sqrt(initial_gap * N / (weight_square * (I * delta**2 + sigma**2) * L * I * T))
    return [
        smallest_cutoff(claim),
        Fact("T >= 2, as Lemma B.7.1 needs, is stated", gives(claim, T >= 2)),
        Fact("gamma <= 1/(L I sqrt(T)), and Theorem 2 admits it",
             {1 / (L * I * sympy.sqrt(T)), fedau.thm2.conditions["local step"].rhs} <= steps["local step"]),
        Fact("gamma eta is at most its first argument, and Theorem 2 admits it",
             {printed_both, *(fedau.thm2.conditions[f"product of steps{more}"].rhs for more in ("", " and Q"))}
             <= steps["product of steps"]),
        Fact("gamma and gamma eta have one unit",
             {_unit(claim.formulas[name]) for name in steps} == {PARAM**2 / LOSS}),
        nonnegative("Theorem 2 grows with gamma, gamma eta and 1/(gamma eta)", theorem),
        nonnegative("(17/2) sigma^2 + 27 d^2 <= 27 s^2", largest - falling.coeff(sigma, 2)),
        identity("sigma^2 + d^2 <= (sigma + d)^2", (sigma + d) ** 2 - sigma**2 - d**2 - 2 * sigma * d),
        nonnegative("the bound contains what this gives",
                    claimed - (value - rising * s - falling / s) - (rising + largest) * (sigma + d)),
    ]  # fmt: skip


def _weights(cutoff: int, rounds: int) -> list[F]:
    """The largest weight that some history gives each round."""
    return [max(weights) for weights in _reachable(cutoff, rounds)]


# (centres, rates, start, noise, curvature, local steps, rounds)
_RUNS: tuple[tuple[Any, ...], ...] = (
    ((0.0,), (0.5,), 1.0, 0.001, 1.0, 1, 6),
    ((0.0,), (0.5,), 0.1, 1.0, 1.0, 2, 6),
    ((-1.0, 1.0), (0.9, 0.3), 0.1, 0.0, 2.0, 1, 4),
    ((-1.0, 2.0), (0.9, 0.5), 3.0, 0.5, 0.5, 3, 5),
    ((-1.0, 1.0), (0.2, 0.2), 0.5, 0.1, 1.0, 1, 5),
)


def _fedau_runs(claim: Claim) -> Tally:
    """Exact moments of FedAU on quadratics: Q the largest of all histories, G a bound on the gradient along any."""
    assert claim.bound is not None
    tally = Tally(slack=SLACK)
    for centres, rates, start, noise, curvature, steps, rounds in _RUNS:
        clients, middle, slowest = len(centres), float(np.mean(centres)), min(rates)
        cutoff = cutoff_at(claim.formulas["cutoff"], slowest, rounds)
        weights = [float(w) for w in _weights(cutoff, rounds)]
        constants = {
            "smoothness": curvature,
            "local_steps": steps,
            "n_clients": clients,
            "rounds": rounds,
            "min_rate": slowest,
            "noise_std": noise,
            "heterogeneity": curvature * max(abs(b - middle) for b in centres),
            "initial_gap": curvature * (start - middle) ** 2 / 2,
            "weight_square": float(np.mean(rates)) * max(weights) ** 2,
        }
        lr, both = (_value(claim.formulas[name], constants) for name in ("local step", "product of steps"))
        # Nobody moves further than to its centre, plus noise that is bounded by its deviation (two values).
        far, spread = abs(start - middle), max(abs(b - middle) for b in centres)
        pull, push = 1 - (1 - lr * curvature) ** steps, lr * noise * steps
        for w in weights[:-1]:
            far += both / lr * w * (pull * (far + spread) + push)
        problem = DiagonalQuadratic([curvature] * clients, centres, Additive(noise))
        setting = Setting(fedavg, problem, Hyper(lr, both / lr, steps), [float(start)])
        moments = list(Engine(setting, fedau_weighted(bernoulli(rates), cutoff)).moments(rounds - 1))
        squares = [curvature**2 * (m.second[0, 0] - 2 * middle * m.mean("x")[0] + middle**2) for m in moments]
        right = claim.bound.at(**constants, objective_gradient_bound=curvature * far)
        tally.at_most(float(np.mean(np.asarray(squares, dtype=np.float64))), right, rates=rates, T=rounds, K=cutoff)
    return tally


def _value(formula: Any, constants: dict[str, Any]) -> float:
    return Bound("", formula).at(**{s.name: constants[s.name] for s in formula.free_symbols})


def _squares(rate: F, cutoff: int, rounds: int) -> set[F]:
    """Q = max over rounds of p w_t^2 of one client, over all of its histories."""
    return {
        max(rate * h.weight(t, (len(done), s)) ** 2 for t in range(rounds) for done, s in [h.cut(x[:t], cutoff)])
        for x in product((False, True), repeat=rounds)
    }


@checks(
    fedau.cor4,
    mutants=[
        times("bound", Rational(1, 2)),
        put("bound", 432, 431),
        put("bound", objective_gradient_bound, 0),
        put("local step", sympy.sqrt(T), T),
        put("product of steps", N, N**2),
        mutate("product of steps", "without Q", lambda e: e.subs(weight_square, 1)),
        times("cutoff", Rational(13, 10)),
        without("rounds"),
    ],
)
def theorem_2_at_these_steps(claim: Claim, depth: Depth) -> Evidence:
    """The substitution, exact runs of FedAU, and a client whose Q is known only at the end."""
    for fact in _substituted(claim):
        if not fact.holds:
            return Evidence("not checked", "algebra", f"The proof does not reach it: {fact.statement}.")
    known_before = Tally()
    # Of one client any objective serves, since Q is what its participation makes it: x^2/2 without noise, from x = 1,
    # which no round takes further from 0, as gamma eta w <= 1/(4 L I) w and w <= K = 2.
    constants = {"rounds": 3, "smoothness": 1, "noise_std": 0, "heterogeneity": 0, "objective_gradient_bound": 1}
    run = Run([1], [0], [F(1, 2)], 0, F(1, 16), 1, 1)
    met = run.met(constants) | {"ass5": True}
    squares, held = _squares(F(1, 2), 2, 3), stated(claim, constants) | assumed(claim, met)
    where = {"objective": "x^2/2, no noise, from x = 1", "N": 1, "p": F(1, 2), "K": 2, "T": 3, "G": 1}
    known_before.equal(max(squares), min(squares), **where, quantity="Q, largest and least", **held)
    return conditional(
        known_before,
        _fedau_runs(claim),
        "Option 2 of Assumption 5, a deterministic upper bound on Q, a known lower bound on min p_n",
        "algebra and exact moments",
        "Theorem 2 at these steps, with Lemma B.7.1; but eta may not depend on future participation, so Q should be "
        "a deterministic upper bound, and Algorithm 2 needs Option 2.",
        domain=f"substitution for all parameters; {len(_RUNS)} runs of one or two clients, up to 6 rounds",
    )


# ---- Appendix A.3 ----------------------------------------------------------------------------------------


@checks(fedau.A3, mutants=[times("Q", 2), put("leading order", cohort_size, cohort_size**2)])
def known_equal_rates(claim: Claim, depth: Depth) -> Evidence:
    """w = 1/p with p = S/N in Q, in the weight error and in the leading order."""
    rate = cohort_size / N
    square, order = claim.formulas["Q"], claim.formulas["leading order"]
    steps = [
        Step("p w - 1 = 0 for w = 1/p", p * (1 / p) - 1),
        Step("Q = p w^2 = N/S", rate * (1 / rate) ** 2 - square),
        Step("Q/(N T) = 1/(S T), the square of the leading order", square / (N * T) - order**2),
    ]
    return algebra(steps, "proved", "Substitution.", sample=rational_sample)
