"""Checks of Algorithm 2: the library's recursion in Fractions against the stated one and against closed forms."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
import sympy

from analysis.checks import CheckBook, Depth, mutate, plus, put, times
from analysis.evidence import Evidence, Tally, algebra
from analysis.trials import exact_value
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers import fast
from fltheory.streams import stream
from sims.selection import adapted

checks = CheckBook()

_UNLIMITED = fast.probability + fast.strength * (fast.accuracy_before - fast.accuracy)
STEPS = {"quick": 2_000, "default": 20_000, "deep": 200_000}


def probabilities(accuracies: Iterable[Any], strength: Any, first: Any = F(0)) -> Iterator[Any]:
    """q_1, q_2, ... of the library after each accuracy, from q_0."""
    probability, before = first, F(0)
    for accuracy in accuracies:
        probability = adapted(np.array([probability], dtype=object), before, accuracy, strength)[0]
        before = accuracy
        yield probability


def series(depth: Depth, length: int = 20) -> Iterator[list[F]]:
    """Random accuracies in hundredths, long falls and rises among them."""
    rng = stream(0, "fast.adaptive accuracies")
    for _ in range(STEPS[depth] // length):
        walk = np.clip(50 + np.cumsum(rng.integers(-15, 16, length)), 0, 100)
        yield [F(int(value), 100) for value in walk]


def function(formula: Any) -> Callable[..., Any]:
    """A formula as a function of named Fractions (sympy's own Min and Max are slow at numbers)."""
    names = sorted(symbol.name for symbol in formula.free_symbols)
    compiled = sympy.lambdify(names, formula, modules=[{"Min": min, "Max": max}])
    return lambda **values: compiled(*(values[name] for name in names))


@checks(
    fast.alg2,
    mutants=[
        put("next", fast.strength, -fast.strength),
        mutate("next", "without limits", lambda e: _UNLIMITED),
        times("next", 2),
    ],
)  # fmt: skip
def library_runs_the_stated_recursion(claim: Claim, depth: Depth) -> Evidence:
    """Every combination of a grid: falls raise the probability, rises lower it, within [0, 1]."""
    tally = Tally()
    grid, stated = [F(k, 4) for k in range(5)], function(claim.formulas["next"])
    for probability, before, accuracy, strength in itertools.product(grid, grid, grid, (F(1, 2), F(1), F(7))):
        found = adapted(np.array([probability], dtype=object), before, accuracy, strength)[0]
        values = {"probability": probability, "accuracy_before": before, "accuracy": accuracy, "strength": strength}
        tally.equal(found, stated(**values), **values)
    summary = "The signs agree with the text: a fall of the accuracy asks for more snapshots."
    return tally.evidence("exact", "enumeration", summary, domain="quarters of [0, 1], lambda in {1/2, 1, 7}")


@checks(
    fast.alg2_I1,
    mutants=[
        times("next", 2), plus("next", "1/100"), times("largest strength", "13/10"), times("largest strength", "7/10"),
    ],
)  # fmt: skip
def drawdown(claim: Claim, depth: Depth) -> Evidence:
    """The recursion in Fractions against lambda times the drawdown, for three lambda up to the largest; not beyond."""
    tally = Tally()
    largest, stated = exact_value(claim.formulas["largest strength"], {}), function(claim.formulas["next"])
    fall = [F(1), F(0), F(1, 2)]  # the deepest that there is, and a part of the way back
    for accuracies, share in itertools.product([fall, *series(depth)], (F(1, 10), F(1, 2), F(1))):
        best = F(0)
        for r, (accuracy, found) in enumerate(zip(accuracies, probabilities(accuracies, share * largest), strict=True)):
            best = max(best, accuracy)
            values = {"strength": share * largest, "best_accuracy": best, "accuracy": accuracy}
            tally.equal(found, stated(**values), r=r, **values)
    beyond = largest * F(11, 10)
    at_the_limit = list(probabilities(fall, beyond))[1]
    tally.holds(at_the_limit < stated(strength=beyond, best_accuracy=F(1), accuracy=F(0)), strength=beyond)
    summary = "Equal in every step: adaptive FAST takes lambda times the drawdown of the accuracy."
    return tally.evidence("exact", "rational runs", summary, domain="seeded walks of 20 accuracies in hundredths")


@checks(fast.alg2_I2, mutants=[plus("recursion", "1/10"), plus("drawdown", "1/10")])
def after_the_upper_limit(claim: Claim, depth: Depth) -> Evidence:
    """Accuracies 9/10, 1/10, 1/2 at lambda = 2: the limit forgets a part of the fall."""
    accuracies, strength = [F(9, 10), F(1, 10), F(1, 2)], F(2)
    *_, last = probabilities(accuracies, strength)
    tally = Tally()
    tally.equal(last, exact_value(claim.formulas["recursion"], {}), what="recursion")
    tally.equal(strength * (max(accuracies) - accuracies[-1]), exact_value(claim.formulas["drawdown"], {}))
    tally.holds(claim.formulas["recursion"] != claim.formulas["drawdown"])
    summary = "After accuracies .9, .1, .5 the recursion is at 1/5, lambda times the drawdown at 4/5."
    return tally.evidence("exact", "rational runs", summary, domain="lambda = 2, one example")


@checks(fast.alg2_I3, mutants=[plus("next", "1/100"), plus("next", 1)])
def no_fall_no_snapshot(claim: Claim, depth: Depth) -> Evidence:
    """The stated step at q = 0 for a rise of any size, by the signs of the symbols."""
    rise = fast.accuracy  # any number >= 0: the accuracy goes from accuracy_before to accuracy_before + rise
    step = fast.alg2.formulas["next"].subs(fast.probability, 0)
    step = step.subs(fast.accuracy, fast.accuracy_before + rise)
    steps = [Step("min(1, max(0, -lambda rise)) is what the claim says", step - claim.formulas["next"])]
    return algebra(steps, "proved", "max(0, -lambda rise) = 0 for every rise, so that q stays at 0.")


@checks(fast.alg2_I4, mutants=[times("next", 2), put("next", fast.strength, fast.strength**2 / 2)])
def first_step(claim: Claim, depth: Depth) -> Evidence:
    """The first step of the library against the formula."""
    tally = Tally()
    for first, accuracy, strength in itertools.product((F(1, 2), F(1)), (F(1, 5), F(3, 5)), (F(1, 2), F(1))):
        found = next(probabilities([accuracy], strength, first))
        values = {"probability": first, "accuracy": accuracy, "strength": strength}
        tally.equal(found, exact_value(claim.formulas["next"], values), **values)
    summary = "q_0 = 1/2 and a first accuracy of 3/5 give q_1 = 0 at lambda = 1."
    return tally.evidence("exact", "rational runs", summary, domain="8 first steps")


@checks(fast.alg2_I5, mutants=[plus("after 25 percent", "-1/2"), plus("after .25", "1/20")])
def percent(claim: Claim, depth: Depth) -> Evidence:
    """The same accuracies as percentages and as fractions."""
    percentages: Sequence[int] = (10, 30, 25, 28)
    as_percent = list(probabilities(map(F, percentages), F(1)))
    as_fractions = list(probabilities((F(value, 100) for value in percentages), F(1)))
    tally = Tally()
    tally.equal(as_percent[2], exact_value(claim.formulas["after 25 percent"], {}), what="percent")
    tally.equal(as_fractions[2], exact_value(claim.formulas["after .25"], {}), what="fractions")
    tally.holds(set(as_percent) <= {F(0), F(1)})
    summary = "Percentages drive the probability to 0 or 1 at every step."
    return tally.evidence("exact", "rational runs", summary, domain="lambda = 1, one example")
