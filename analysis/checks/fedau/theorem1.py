"""A check of Theorem B.4.1 by its proof, and runs with constant weights for the search to go through."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import sympy
from sympy import Rational

from analysis.checks import CheckBook, Depth, put, times, without
from analysis.checks.certificates import Fact, limit_of, nonnegative
from analysis.checks.fedau.no_minimum import HYPOTHESIS, NEEDS, gradients_that_stay
from analysis.checks.fedau.quadratics import Run, cyclic
from analysis.checks.points import drawn, tally_of
from analysis.domains import Real, Several, Whole
from analysis.evidence import EVERYWHERE, Evidence, conditional
from analysis.trials import Point, Sides, right_side
from fltheory.ledger import Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import I, L, N, T, reweighted_gradient, reweighted_heterogeneity, sigma, weight_mismatch
from fltheory.symbols import global_lr, heterogeneity, initial_gap, local_lr, weight_square

checks = CheckBook()


@checks.trial(
    fedau.thmB41,
    space={
        "smoothness": Real("1/4", 4, log=True),
        "centres": Several(Real(-3, 3), 1, 4),
        "rates": Several(Real("1/50", 1), 1, 4),
        "weights": Several(Real("1/20", 20, log=True), 1, 4),
        "start": Real(-5, 5),
        "noise": Real(0, 3),
        "local_steps": Whole(1, 20),
        "local_share": Real("1/100", 2, log=True),
        "product_share": Real("1/100", 2, log=True),
        "rounds": Whole(1, 200),
    },
)
def runs_with_constant_weights(claim: Claim, point: Point) -> Sides:
    """Average E|grad h(x_t)|^2 on quadratics of one curvature; global_lr and Q are eta P/N and that of w_n N/P."""
    assert claim.bound is not None
    clients, smoothness, steps = len(point["centres"]), point["smoothness"], point["local_steps"]
    rates, weights = (cyclic(point[name], clients) for name in ("rates", "weights"))
    total = sum(p * w for p, w in zip(rates, weights, strict=True))
    alphas = [w * clients / total for w in weights]
    lr = point["local_share"] / (16 * smoothness * steps)
    both = point["product_share"] / (4 * smoothness * steps)
    run = Run([smoothness] * clients, point["centres"], rates, point["noise"] ** 2, lr, both / lr, steps)
    lowest = sum(p * w * b for p, w, b in zip(rates, weights, point["centres"], strict=True)) / total
    middle = sum(point["centres"]) * F(1, clients)
    mean, second, gradients = point["start"], point["start"] ** 2, []
    for _ in range(point["rounds"]):
        gradients.append(smoothness**2 * (second - 2 * lowest * mean + lowest**2))
        mean, second = run.step(mean, second, alphas)
    constants = {
        "smoothness": smoothness,
        "local_steps": steps,
        "n_clients": clients,
        "rounds": point["rounds"],
        "local_lr": lr,
        "global_lr": both / lr,
        "noise_std": point["noise"],
        "heterogeneity": smoothness * max(abs(b - middle) for b in point["centres"]),
        "initial_gap": smoothness * (point["start"] - lowest) ** 2 / 2,
        "weight_square": sum(p * a * a for p, a in zip(rates, alphas, strict=True)) * F(1, clients),
    }
    met = run.met(constants, smoothness * max(abs(b - middle) for b in point["centres"]))
    return Sides(sum(gradients) * F(1, point["rounds"]), right_side(claim.bound, constants), constants, met=met)


def _facts(claim: Claim) -> list[Fact]:
    """Lemma B.3.3 without mismatch and with delta~ = 2 delta, summed and divided by gamma eta I / 8."""
    assert claim.bound is not None
    assert fedau.lemB33.bound is not None
    if "large T" not in claim.conditions:
        return [Fact("large T", False)]
    both = local_lr * global_lr
    lemma = sympy.expand(fedau.lemB33.bound.rhs / (both * I)).subs(weight_mismatch, 0)
    bracket = lemma.coeff(reweighted_gradient, 2)
    condition = claim.conditions["large T"]
    rest = lemma.subs(reweighted_gradient, 0).subs(reweighted_heterogeneity, 2 * heterogeneity)
    steps = {"local step": local_lr * L * I, "product of steps": local_lr * global_lr * L * I}
    limits = [limit_of(claim, name, step) for name, step in steps.items()]
    allowed = [limit_of(fedau.lemB33, name, step) for name, step in steps.items()]
    return [
        Fact("the conditions of Lemma B.3.3", all(bool(a <= b) for a, b in zip(limits, allowed, strict=True))),
        Fact("large T leaves 1/8 of the 1/4", sympy.expand(condition.lhs - bracket) == 0
             and bool(condition.rhs <= Rational(1, 8))),
        nonnegative("the bound contains the telescoped sum divided by that",
                    claim.bound.rhs - 8 * (initial_gap / (both * I * T) + rest)),
    ]  # fmt: skip


@checks(
    fedau.thmB41,
    mutants=[
        times("bound", Rational(1, 2)),
        put("bound", sigma, 0),
        put("bound", weight_square, 0),
        put("bound", N, N**2),
        without("local step"),
        without("large T"),
    ],
)
def descent_lemma_summed(claim: Claim, depth: Depth) -> Evidence:
    """(B.4.2) to (B.4.4); the telescoping needs the minimum of h."""
    facts = _facts(claim)
    for fact in facts:
        if not fact.holds:
            return Evidence("not checked", "algebra", f"The proof does not reach it: {fact.statement}.")
    number = {"quick": 50, "default": 300, "deep": 5000}[depth]
    found = conditional(
        gradients_that_stay(claim),
        tally_of(runs_with_constant_weights, claim, drawn(runs_with_constant_weights, number)),
        HYPOTHESIS,
        "algebra and exact points",
        f"Lemma B.3.3 without mismatch, summed; {NEEDS}.",
        domain=f"{EVERYWHERE}; points: drawn from `{runs_with_constant_weights.name}`",
    )
    return replace(found, steps=tuple(fact.statement for fact in facts))
