"""FedAMD: the descent lemma with two step sizes, a miner's local steps, and the descent of one round."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import sqrt
from typing import Any

from analysis.worst_case.lemmas import Lemma
from analysis.worst_case.problem import Problem, mean
from analysis.worst_case.steps import JUST_BELOW, cohorts


def two_step_sizes(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """G(y') - G(y) for y' = y - eta d, with |grad G(y)|, |y' - y| and |d - eta' grad G(y)| given.

    The gradient has norm 1; d has its length and its cosine with the gradient.
    """
    function, y, direction = problem.smooth(at["smoothness"]), problem.origin(), problem.point()
    gradient, lr, other = function.gradient(y), at["step"], at["other_step"]
    length, cosine = at["length"], at["cosine"]
    error = sqrt(length**2 - 2 * other * length * cosine + other**2)
    problem.require(gradient**2 == 1)
    problem.require(direction**2 == length**2)
    problem.require((direction - other * gradient) ** 2 == error**2)
    problem.maximise(function(y - lr * direction) - function(y))
    return {**at, "gradient_norm": 1, "step_length": lr * length, "direction_error": error}


def miner_steps(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """Sum of |x_k - x_{k-1}|^2 over a miner's K steps, full local batches, at the largest step that is admitted."""
    lr = JUST_BELOW / (2 * sqrt(3) * at["smoothness"] * at["local_steps"])
    overall = problem.point()
    points = _miner(problem, problem.smooth(at["smoothness"]), _target(problem, overall, at), lr, at["local_steps"])
    lengths = [(after - before) ** 2 for before, after in pairwise(points)]
    problem.maximise(sum(lengths[1:], lengths[0]))
    return {**at, "local_lr": lr, "noise_smoothness": 0, "batch_size": 1}


def one_step(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """E F(x') - F(x) + (1/(2 eta) - L/2) E|x' - x|^2 of a round that asks everyone, full local batches.

    The last term is that of the bound, brought to the left; the local step is the largest that is admitted.
    """
    smoothness, steps = at["smoothness"], at["local_steps"]
    lr = JUST_BELOW / (2 * sqrt(6) * smoothness * steps)
    eta = at["global_lr"] * lr * steps
    clients, x = [problem.smooth(smoothness) for _ in range(at["cohort_size"])], problem.origin()
    objective = mean(clients)
    target = _target(problem, objective.gradient(x), at)
    moves = [_miner(problem, client, target, lr, steps)[-1] - x for client in clients]
    change = 0
    for miners, chance in cohorts([1 - at["anchor_probability"]] * len(clients)):
        if miners:
            after = x + at["global_lr"] * mean([moves[m] for m in miners])
            for client in clients:
                problem.near(client, x, after)
            move = (1 / (2 * eta) - smoothness / 2) * (after - x) ** 2
            change = change + chance * (objective(after) - objective(x) + move)
    problem.maximise(change)
    return {**at, "local_lr": lr, "move_square": 0, "noise_smoothness": 0, "batch_size": 1}


def _target(problem: Problem, overall: Any, at: Mapping[str, Any]) -> Any:
    """The mean cached gradient, near the gradient of the objective."""
    target = problem.point()
    problem.require(overall**2 == at["gradient_norm"] ** 2)
    problem.require((target - overall) ** 2 <= at["cache_error"] ** 2)
    return target


def _miner(problem: Problem, function: Any, target: Any, lr: float, steps: int) -> list[Any]:
    """A miner's points x_{-1}, x_0, ... from 0, its direction corrected by its own gradients."""
    start = problem.origin()
    points = [start, start - lr * target]
    for _ in range(steps - 1):
        before, here = points[-2:]
        target = target - problem.near(function, start, before) + problem.near(function, start, here)
        points.append(here - lr * target)
    return points


lemmas = (
    Lemma(
        "fedamd.lemB3",
        tuple(
            {"smoothness": 1, "step": step, "other_step": other, "length": length, "cosine": cosine}
            for step, other, length, cosine in ((0.5, 1, 1, 0.5), (0.5, 2, 2, -0.5), (2, 0.5, 1, 0.5))
        ),
        two_step_sizes,
        "exact",
    ),
    Lemma(
        "fedamd.lemD1",
        tuple(
            {"smoothness": 1, "local_steps": steps, "gradient_norm": gradient, "cache_error": error}
            for steps in (1, 2, 5)
            for gradient, error in ((0.1, 1), (1, 0.1), (1, 1))
        ),
        miner_steps,
        "exact",
    ),
    Lemma(
        "fedamd.lemE3.repaired",
        tuple(
            {
                "smoothness": 1,
                "local_steps": steps,
                "global_lr": 1,
                "cohort_size": 2,
                "anchor_probability": 0.5,
                "gradient_norm": gradient,
                "cache_error": error,
            }
            for steps in (1, 3)
            for gradient, error in ((0.1, 1), (1, 0.1), (1, 1))
        ),
        one_step,
        "exact",
    ),
)
