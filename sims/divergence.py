"""Runs that cannot go on: in which round, and what step sizes would have been stable."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError
from sims.algorithms.protocol import Algorithm
from sims.problems.base import Problem

STEP_LIKE = ("local_lr", "global_lr", "amplification", "momentum", "proximal")  # whole numbers too; else floats only
OF_THE_MODEL = frozenset(
    ("objective", "objective_gap", "squared_gradient", "squared_distance", "model", "train_loss", "client_loss")
)  # metrics that every run has in every round, so that NaN is no "there is none"


class Stopped(InputError):
    """A run that could not go on; what was recorded before is kept. The sentence says in which round."""

    def __init__(self, sentence: str) -> None:
        ValueError.__init__(self, sentence)


class Diverged(Stopped):
    """Something became infinite or NaN; what was recorded before is still in the simulation's record."""

    @classmethod
    def at(
        cls, round: int, what: str, hyper: Any, problem: Problem, algorithm: Algorithm, largest_weight: float = 1
    ) -> Diverged:
        """The sentence: round, what is no longer finite, step sizes, and up to where steps are stable.

        largest_weight   aggregation weight of a client in the round
        """
        steps = " and ".join(f"{name} {value}" for name, value in _steps(hyper).items())
        stable = _what_is_stable(hyper, problem, algorithm, largest_weight)
        return cls(f"round {round}: {what} is no longer finite{f' with {steps}' if steps else ''}; {stable}")

    @classmethod
    def at_the_start(cls, what: str) -> Diverged:
        """The sentence for a metric that is not finite before any step was taken."""
        return cls(f"round 0: {what} is not finite at the start, before any step")


def not_finite(latest: Mapping[str, npt.NDArray[np.float64]]) -> str | None:
    """The first metric that is infinite; or NaN, unless it is one that need not exist."""
    for name, values in latest.items():
        if not np.isfinite(values).all() and (name in OF_THE_MODEL or np.isinf(values).any()):
            return name
    return None


def _steps(hyper: Any) -> dict[str, Any]:
    """The parameters that are a step size or act like one."""
    if not dataclasses.is_dataclass(hyper):
        return {}
    values = {field.name: getattr(hyper, field.name) for field in dataclasses.fields(hyper)}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, Real) and (name in STEP_LIKE or not isinstance(value, int | np.integer))
    }


def _what_is_stable(hyper: Any, problem: Problem, algorithm: Algorithm, largest_weight: float) -> str:
    if problem.constants.minimum == -math.inf:
        return "gradient steps of no size are stable on this problem, as it is unbounded below"
    largest = stable_step(problem)
    if math.isinf(largest):
        return "a smaller step size may help"
    steps = _steps(hyper)
    own = [name for name in steps if name != "local_lr" and _counts(name, steps)]
    own += ["weights above 1"] if largest_weight > 1 else []
    if algorithm.server_vectors(problem.n_clients) > 1 or algorithm.client_vectors:
        own.append("what it keeps of earlier rounds")
    own += _of_the_problem(problem)
    step = steps.get("local_lr", steps.get("global_lr", 0))
    if not own and not step > largest:  # such a step is stable as far as is known here
        return "a smaller step size may help"
    plain = f"plain gradient steps are stable {_up_to(problem)}"
    if not own:
        return plain
    return f"{plain}; for {algorithm.name} the limit is another, often a smaller one, by {_listed(own)}"


def _up_to(problem: Problem) -> str:
    """The largest stable steps of plain gradient descent, on the objective and where another on the steepest client.

    Both limits are exact where the curvatures are known. One local step of everybody is a step on the objective.
    """
    steepest, curvature = stable_step(problem), getattr(problem, "curvature", None)
    if curvature is None:
        return f"on this problem at least up to 2 / smoothness = {steepest:.3g}"
    top = float(_spectrum(curvature.sum(axis=0) / problem.n_clients).max())
    mean = 2 / top if top else math.inf
    if f"{mean:.3g}" == f"{steepest:.3g}":
        return f"on this problem up to {mean:.3g}"
    on_all = f"on the mean of all clients up to {mean:.3g}"
    return on_all if _least(curvature) < 0 else f"{on_all}, on the steepest client alone up to {steepest:.3g}"


def _of_the_problem(problem: Problem) -> list[str]:
    """What makes stochastic gradients of some clients unstable at steps at which the gradient of all is stable."""
    found = []
    if getattr(problem, "minibatch", None) is not None:
        if problem.constants.noise_smoothness != 0:  # 0: all samples have the same curvature
            found.append("minibatches")
    elif problem.constants.noise_smoothness:
        found.append("noise that grows with the model")
    curvature = getattr(problem, "curvature", None)
    if curvature is not None and _least(curvature) < 0:
        found.append("clients of negative curvature (in local steps and partial cohorts)")
    return found


def _least(curvature: Any) -> float:
    """The least curvature of a client along any direction."""
    return min(float(_spectrum(one).min()) for one in curvature)


def _spectrum(curvature: Any) -> npt.NDArray[Any]:
    """Curvatures along the axes, from numbers (d,), or along the eigenvectors of a matrix (d, d)."""
    numbers = np.asarray(curvature, dtype=np.float64)
    return np.linalg.eigvalsh(numbers) if numbers.ndim == 2 else numbers


def _counts(name: str, steps: Mapping[str, Any]) -> bool:
    """Whether a factor changes what is stable; a global_lr alone is the step itself."""
    if name in ("momentum", "proximal"):
        return bool(steps[name] != 0)
    return bool(steps[name] > 1) if name == "amplification" or "local_lr" in steps else name != "global_lr"


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def stable_step(problem: Problem) -> float:
    """2 / smoothness: a larger step moves away from the minimum of the steepest client, if that is a quadratic."""
    smoothness = float(problem.constants.smoothness or 0)
    return 2 / smoothness if smoothness else math.inf
