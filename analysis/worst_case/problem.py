"""One performance-estimation problem: the worst function of a class as a semidefinite program, solved numerically.

The functions of a class enter through what is known of them at finitely many points (values and gradients, tied by
interpolation conditions), so that the worst case over all functions and all dimensions is a small semidefinite
program (Drori and Teboulle 2014; Taylor, Hendrickx and Glineur 2017). PEPit writes it, Clarabel solves it.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from fltheory.errors import InputError


@dataclass(frozen=True)
class Solution:
    """What the solver certifies, in double precision and up to its tolerances.

    lower      value of the worst function that it found (primal)
    upper      value of its multipliers, which say that no function of the class does worse (dual)
    violation  by how much the function that it found misses a constraint, at most
    status     the solver's own word; "optimal" where its tolerances on gap and feasibility are met
    """

    lower: float
    upper: float
    violation: float
    status: str
    solver: str

    @property
    def gap(self) -> float:
        """Primal-dual gap; below zero by no more than rounding."""
        return self.upper - self.lower


class Problem:
    """What a lemma says of functions and points; PEPit is imported when the first one is made.

    Points add, subtract and scale; `u * v` is an inner product and `u**2` a squared norm; f(x) and f.gradient(x)
    belong to functions. Raises InputError where PEPit is not installed.
    """

    def __init__(self) -> None:
        self._pepit, self._functions = _module("PEPit"), _module("PEPit.functions")
        self._failure, _ = _module("cvxpy").error.SolverError, _module("clarabel")
        self._problem = self._pepit.PEP()
        self._near: dict[tuple[Any, Any], Any] = {}

    def origin(self) -> Any:
        """The point 0; where a run starts does not matter, and a free start would leave the program unbounded sets."""
        return self._pepit.null_point

    def point(self) -> Any:
        """Any point, or any vector of another kind (a gradient, noise)."""
        return self._pepit.Point()

    def smooth(self, smoothness: float) -> Any:
        """A function with a Lipschitz gradient, convex or not."""
        return self._problem.declare_function(self._functions.SmoothFunction, L=float(smoothness))

    def smooth_convex(self, smoothness: float, strong_convexity: float = 0.0) -> Any:
        """A convex function with a Lipschitz gradient, strongly convex if asked."""
        if strong_convexity == 0:
            return self._problem.declare_function(self._functions.SmoothConvexFunction, L=float(smoothness))
        kind = self._functions.SmoothStronglyConvexFunction
        return self._problem.declare_function(kind, mu=float(strong_convexity), L=float(smoothness))

    def near(self, function: Any, start: Any, point: Any) -> Any:
        """The gradient at a point that is near the start, also for later calls of function and function.gradient.

        Its unknowns are what is added to the first-order expansion at the start, in units of the smoothness: gradients
        that nearly agree would leave the solver a few digits of their difference.
        """
        if point is start:
            return function.gradient(start)
        if (function, point) not in self._near:
            bend, remainder = self._pepit.Point(), self._pepit.Expression()
            gradient = function.gradient(start) + function.L * bend
            value = function(start) + function.gradient(start) * (point - start) + function.L * remainder
            function.add_point((point, gradient, value))
            self._near[function, point] = gradient
        return self._near[function, point]

    def run(self, function: Any, start: Any, lr: float, steps: int) -> list[Any]:
        """The start and the points after each of the steps of gradient descent."""
        points = [start]
        for _ in range(steps):
            points.append(points[-1] - lr * self.near(function, start, points[-1]))
        return points

    def require(self, constraint: Any) -> None:
        """Add a hypothesis: an equation or an inequality of values and inner products."""
        self._problem.add_constraint(constraint)

    def maximise(self, value: Any) -> None:
        """What the lemma bounds."""
        self._problem.set_performance_metric(value)

    def solve(self) -> Solution:
        """Solve it. A problem without a finite worst case has `status` other than "optimal"."""
        solver = f"Clarabel {version('clarabel')}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # "may be inaccurate": `status` says so
                upper = self._problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)
        except self._failure:
            upper = None
        program = self._problem.wrapper.prob
        if upper is None:
            return Solution(float("-inf"), float("inf"), float("inf"), str(program.status), solver)
        violation = max(float(constraint.violation().max()) for constraint in program.constraints)
        return Solution(float(program.value), float(upper), violation, str(program.status), solver)


def mean(values: Sequence[Any]) -> Any:
    """Average of points, functions or values."""
    return sum(values[1:], values[0]) / len(values)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        needed = "installed for worst cases, with the extra pep: pip install 'fltheory[pep]'"
        raise InputError(name.partition(".")[0], "not installed", needed) from None
