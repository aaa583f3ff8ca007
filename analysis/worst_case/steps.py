"""What several papers pose: the remainder of a first-order expansion, the drift of local steps, who takes part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from analysis.worst_case.problem import Problem

# Of the largest step that a lemma admits: within its condition in floats too.
JUST_BELOW = 0.999999


def remainder(problem: Problem, function: Any, distance: float) -> None:
    """f(y) - f(x) - <grad f(x), y - x> for |y - x| = distance."""
    x, y = problem.origin(), problem.point()
    problem.require((y - x) ** 2 == distance**2)
    problem.maximise(function(y) - function(x) - function.gradient(x) * (y - x))


def local_run(
    problem: Problem, *, smoothness: float, lr: float, steps: int, gradient: float, divergence: float
) -> tuple[Any, list[Any]]:
    """A client's function and its points (the common start first), without noise.

    The global gradient at the start has norm `gradient`, the client's own is within `divergence` of it.
    """
    function, start, overall = problem.smooth(smoothness), problem.origin(), problem.point()
    problem.require(overall**2 == gradient**2)
    problem.require((function.gradient(start) - overall) ** 2 <= divergence**2)
    return function, problem.run(function, start, lr, steps)


def cohorts(rates: Sequence[float]) -> Iterator[tuple[list[int], float]]:
    """Who takes part, independently at these rates, with its chance; cohorts of chance 0 are left out."""
    for present in product((True, False), repeat=len(rates)):
        chance = prod(p if here else 1 - p for p, here in zip(rates, present, strict=True))
        if chance > 0:
            yield [n for n, here in enumerate(present) if here], chance
