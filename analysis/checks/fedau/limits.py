"""Checks of where runs settle: limits, bias and variance of weighted FedAvg on quadratics, from the exact engine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction as F
from typing import Any

import sympy
from sympy import Rational, Symbol

from analysis.checks import CheckBook, Depth, mutate, put, times
from analysis.checks.fedau.quadratics import independent
from analysis.checks.tools import at, made_with
from analysis.evidence import Evidence, Tally, algebra, conditional
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import I, K, client_curvature, limit_point, p, skew
from fltheory.symbols import global_lr, local_lr
from fltheory.weights import exact_weight_law
from sims.algorithms.fedavg import Hyper, fedavg
from sims.exact import Engine, Setting
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import average_participating, bernoulli, weighted

checks = CheckBook()

# (curvatures, centres, rates); of the first the numbers 8/7, 76/47, 1076/631 and 855916/634697 are known.
PROBLEMS: tuple[tuple[Sequence[F], Sequence[F], Sequence[F]], ...] = (
    ((F(1), F(2), F(4)), (F(-1), F(1, 2), F(2)), (F(1, 10), F(1, 2), F(9, 10))),
    ((F(1), F(3)), (F(-2), F(1)), (F(1, 3), F(3, 4))),
    ((F(2), F(2)), (F(0), F(1)), (F(1, 50), F(1))),
    ((F(1, 2), F(1), F(3), F(4)), (F(1), F(-1), F(0), F(3)), (F(1, 4), F(1, 4), F(3, 5), F(1))),
)


def _engine(problem: Any, rule: Any, lr: F, steps: int, *, eta: F = F(1), noise: F = F(0)) -> Engine:
    curvatures, centres, rates = problem
    objective = DiagonalQuadratic(list(curvatures), list(centres), Additive(noise, "rademacher"))
    return Engine(Setting(fedavg, objective, Hyper(lr, eta, steps), [0]), weighted(bernoulli(rates), rule))


def settled(problem: Any, rule: Any, lr: F, steps: int) -> F:
    return F(_engine(problem, rule, lr, steps).stationary_mean()["x"][0])


def weighted_mean(parts: Sequence[F], centres: Sequence[F]) -> F:
    return sum((a * b for a, b in zip(parts, centres, strict=True)), F(0)) / sum(parts)


def rules(rates: Sequence[F]) -> Iterator[tuple[str, list[F]]]:
    yield "all", [F(1)] * len(rates)
    yield "known", [1 / p for p in rates]
    yield "fedau", [(1 - (1 - p) ** 5) / p for p in rates]


def _steps(depth: Depth) -> list[tuple[F, int]]:
    few = [(F(1, 20), 1), (F(1, 20), 5), (F(1, 5), 3)]
    return few if depth == "quick" else [*few, (F(1, 100), 2), (F(1, 10), 10), (F(1, 5), 20)]


@checks(
    fedau.law_limit,
    mutants=[
        put("pull", I, I + 1),
        put("pull", p, p**2),
        mutate("pull", "curvature squared", lambda e: e * client_curvature),
    ],
)
@made_with({"fedau.ass4": "who takes part in a round is independent of the model and over clients"})
def mean_in_the_long_run(claim: Claim, depth: Depth) -> Evidence:
    """The engine's stationary mean, solved in rationals, against the weighted mean of the centres."""
    tally = Tally()
    for problem in PROBLEMS:
        curvatures, centres, rates = problem
        for (name, weights), (lr, steps) in ((r, s) for r in rules(rates) for s in _steps(depth)):
            pulls = [
                at(claim.formulas["pull"], rate=r, weight=w, client_curvature=a, local_lr=lr, local_steps=steps)
                for r, w, a in zip(rates, weights, curvatures, strict=True)
            ]
            where = {"curvatures": curvatures, "rates": rates, "weights": name, "local_lr": lr, "local_steps": steps}
            tally.equal(settled(problem, weights, lr, steps), weighted_mean(pulls, centres), **where)
    tally.equal(settled(PROBLEMS[0], [1, 1, 1], F(1, 50), 1), F(76, 47), weights="all")
    return tally.evidence(
        "exact",
        "exact rationals",
        "Equal for every rule and step size; 76/47 for w = 1 with one local step, where the optimum is 8/7.",
        domain=f"{len(PROBLEMS)} problems of two to four clients, three rules, {len(_steps(depth))} pairs of steps",
    )


@checks(fedau.law_fixed_K, mutants=[put("share", K, K + 1), put("share", 1 - p, (1 - p) ** 2)])
@made_with({"fedau.ass4": "the exact law is that of independent rounds"})
def limit_of_fedau_with_a_fixed_cutoff(claim: Claim, depth: Depth) -> Evidence:
    """The weight settles at E[S], with a variance that falls like 1/t; FedAvg with it settles at the stated shares."""
    tally = Tally()
    for problem in PROBLEMS:
        curvatures, centres, rates = problem
        for cutoff in (1, 2, 5, 20):
            weights = [(1 - (1 - r) ** cutoff) / r for r in rates]
            shares = [at(claim.formulas["share"], rate=r, cutoff=cutoff) for r in rates]
            expected = weighted_mean([s * a for s, a in zip(shares, curvatures, strict=True)], centres)
            tally.equal(settled(problem, weights, F(1, 50), 1), expected, rates=rates, K=cutoff)
    tally.equal(settled(PROBLEMS[0], [(1 - (1 - r) ** 5) / r for r in PROBLEMS[0][2]], F(1, 50), 1),
                F(855916, 634697), K=5)  # fmt: skip
    rounds = {"quick": 400, "default": 1000, "deep": 4000}[depth]
    for rate, cutoff in ((0.1, 5), (0.5, 5), (0.1, 20)):
        law = exact_weight_law(rate, cutoff, 2 * rounds + 1)
        share = float(at(claim.formulas["share"], rate=F(rate).limit_denominator(10), cutoff=cutoff))
        tally.holds(math.isclose(rate * law.mean[rounds], share, rel_tol=1e-10), p=rate, K=cutoff, t=rounds)
        variance = law.second_moment - law.mean**2
        tally.at_most(variance[2 * rounds], 0.6 * variance[rounds], p=rate, K=cutoff, t=2 * rounds)
    return tally.evidence(
        "exact",
        "exact rationals and the exact law",
        "Equal; 855916/634697 at K = 5, where the optimum is 8/7. The weight's variance halves when t doubles.",
        domain=f"{len(PROBLEMS)} problems, K in {{1, 2, 5, 20}}; the law of the weight up to t = {2 * rounds}",
    )


def _participating(factor: Any, rates: Sequence[F]) -> list[F]:
    """p_n times the integral over the mark z of the product of the other clients' factors."""
    z = fedau.mark
    parts = []
    for n, rate in enumerate(rates):
        others = [factor.subs(p, Rational(r.numerator, r.denominator)) for m, r in enumerate(rates) if m != n]
        integral = sympy.integrate(sympy.expand(sympy.prod(others)), (z, 0, 1))
        parts.append(rate * F(int(integral.p), int(integral.q)))
    return parts


@checks(
    fedau.law_participating,
    mutants=[mutate("factor", "mark left out", lambda e: e.subs(fedau.mark, 1)), put("factor", p, p**2)],
)
@made_with({"fedau.ass4": "the others take part independently of each other"})
def weights_of_the_average_over_participants(claim: Claim, depth: Depth) -> Evidence:
    """The engine with weights N/|S| against the integrals; one local step."""
    tally = Tally()
    for problem in PROBLEMS:
        curvatures, centres, rates = problem
        parts = _participating(claim.formulas["factor"], rates)
        expected = weighted_mean([s * a for s, a in zip(parts, curvatures, strict=True)], centres)
        tally.equal(settled(problem, average_participating, F(1, 50), 1), expected, rates=rates)
    known = _participating(claim.formulas["factor"], PROBLEMS[0][2])
    for value, share in zip(known, (9, 53, 129), strict=True):
        tally.equal(value, F(share, 200), rates=PROBLEMS[0][2])
    return tally.evidence(
        "exact",
        "exact rationals",
        "Equal; weights (9, 53, 129)/200 and the limit 1076/631 for rates (.1, .5, .9), where h has 76/47.",
        domain=f"{len(PROBLEMS)} problems of two to four clients",
    )


@checks(fedau.law_bias, mutants=[put("bias", I, I + 1), times("bias", 2), times("bias", -1)])
@made_with({"fedau.ass4": "law.limit: who takes part in a round is independent of the model and over clients"})
def expansion_of_the_limit(claim: Claim, depth: Depth) -> Evidence:
    """1 - (1 - gamma a)^I to second order, with the sums over clients as letters: m1 = sum phi a, m1b = sum phi a b, ..

    and the engine at two small step sizes.
    """
    a = client_curvature
    stay = 1 - (1 - local_lr * a) ** I
    m1, m2, m1b, m2b = sympy.symbols("m1 m2 m1b m2b", real=True)
    # To second order a client's pull is I gamma a - I (I - 1)/2 gamma^2 a^2, so that the limit is top / bottom.
    second = -local_lr * (I - 1) / 2
    slope = sympy.diff((m1b + second * m2b) / (m1 + second * m2), local_lr).subs(local_lr, 0)
    minimum = m1b / m1
    stated = (claim.formulas["bias"] / local_lr).subs(skew, (m2b - minimum * m2) / m1)
    steps = [
        Step("first order of a client's pull", sympy.diff(stay, local_lr).subs(local_lr, 0) - I * a),
        Step("second order", sympy.diff(stay, local_lr, 2).subs(local_lr, 0) + I * (I - 1) * a**2),
        Step("slope of the limit in gamma", slope - stated),
    ]
    found = algebra(steps, "proved", "Expansion of the exact limit; zero for one step or equal curvatures.",
                    sample=lambda r: r.subs({I: 3, m1: 2, m2: 5, m1b: 7, m2b: 11}))  # fmt: skip
    if found.verdict != "proved":
        return found
    return found if _bias_of_the_engine(claim) else Evidence("refuted", "exact rationals", "not the engine's slope")


def _bias_of_the_engine(claim: Claim) -> bool:
    """Whether (limit - x_h)/gamma at gamma = 1e-4 and 1e-5 tends to the stated slope, linearly."""
    curvatures, centres, rates = PROBLEMS[0]
    parts = [r * a for r, a in zip(rates, curvatures, strict=True)]
    minimum = weighted_mean(parts, centres)
    s = sum(u * a * (b - minimum) for u, a, b in zip(parts, curvatures, centres, strict=True)) / sum(parts)
    gaps = [
        (
            settled(PROBLEMS[0], [1, 1, 1], lr, 5)
            - minimum
            - at(claim.formulas["bias"], local_lr=lr, local_steps=5, skew=s)
        )
        / lr
        for lr in (F(1, 10**4), F(1, 10**5))
    ]
    return abs(gaps[1]) < F(1, 10**3) and abs(gaps[1] * 10 / gaps[0] - 1) < F(1, 100)


_KNOWN_VARIANCES = {"all": 0.0200195, "known": 0.3584346, "fedau": 0.0950270}


@checks(
    fedau.law_stationary_variance,
    mutants=[
        put("participation", limit_point, 0),
        put("participation", p, p**2),
        times("noise", 2),
        put("mean step", global_lr, global_lr / 2),
        put("step variance", 1 - p, 1),
    ],
)
@made_with({"fedau.ass4": "who takes part in a round is independent of the model and over clients"})
def variance_in_the_long_run(claim: Claim, depth: Depth) -> Evidence:
    """The engine's stationary variance, solved in rationals, against the closed form."""
    tally = Tally()
    problems = PROBLEMS[: 3 if depth == "quick" else None]
    for problem in problems:
        for name, weights in rules(problem[2]):
            for lr, steps, eta, noise in (
                (F(1, 20), 5, F(1), F(0)),
                (F(1, 50), 1, F(1, 2), F(1)),
                (F(1, 30), 3, F(1), F(2)),
            ):
                engine = _engine(problem, weights, lr, steps, eta=eta, noise=noise)
                if engine.growth() >= 1:
                    continue
                settled = engine.stationary()
                constants = {"local_lr": lr, "local_steps": steps, "global_lr": eta, "noise_std": noise}
                form = _variance(claim, problem, weights, settled.mean("x")[0], constants)
                tally.equal(settled.covariance("x")[0, 0], form, rates=problem[2], weights=name, **constants)
                if problem is PROBLEMS[0] and not noise:
                    tally.equal(round(float(form), 7), _KNOWN_VARIANCES[name], weights=name)
    return tally.evidence(
        "exact",
        "exact rationals",
        "Equal; .0200195 (average-all), .3584346 (known rates) and .0950270 (FedAU, K = 5) in the known example at "
        "gamma = .05 with five steps.",
        domain=f"{len(problems)} problems, three rules, three sets of steps and noise, where second moments settle",
    )


def _variance(claim: Claim, problem: Any, weights: Sequence[F], limit: F, constants: dict[str, Any]) -> F:
    sums = dict.fromkeys(claim.formulas, F(0))
    for a, b, r, w in zip(*problem, weights, strict=True):
        known = {**constants, "rate": r, "weight": w, "client_curvature": a, "client_centre": b,
                 "limit_point": limit, "n_clients": len(weights)}  # fmt: skip
        for name, formula in claim.formulas.items():
            sums[name] += at(formula, **known)
    spread = sums["participation"] + sums["noise"]
    return spread / (1 - (1 - sums["mean step"]) ** 2 - sums["step variance"])


@checks(fedau.E10, mutants=[put("share", p, p**2), put("share", p, Symbol("rate", positive=True) + 1)])
def standard_fedavg_against_theorem_1(claim: Claim, depth: Depth) -> Evidence:
    """Limits of both averages with one local step against the minimum of h for w = 1."""
    sides = ("limit of the average over the participants", "minimum of h for w = 1")
    participants, everyone = Tally(sides=sides), Tally()
    for problem in PROBLEMS:
        curvatures, centres, rates = problem
        parts = [at(claim.formulas["share"], rate=r) * a for r, a in zip(rates, curvatures, strict=True)]
        minimum = weighted_mean(parts, centres)
        for tally, rule in ((participants, average_participating), (everyone, [F(1)] * len(rates))):
            where = {"curvatures": curvatures, "centres": centres, "p": rates, **independent(claim, min(rates))}
            tally.equal(settled(problem, rule, F(1, 50), 1), minimum, **where)
    return conditional(
        participants,
        everyone,
        "updates are averaged over all clients, absent ones counting zero",
        "exact rationals",
        "Theorem 1 with w = 1 describes the average-all rule; average-participating has slightly different implicit "
        "weights.",
        domain=f"{len(PROBLEMS)} quadratic problems of two to four clients, one local step",
    )
