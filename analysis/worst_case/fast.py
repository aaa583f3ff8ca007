"""FAST: the descent lemma, perturbed strong convexity, and the imported bound on the drift of local steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.worst_case.lemmas import Lemma
from analysis.worst_case.problem import Problem
from analysis.worst_case.steps import JUST_BELOW, local_run, remainder


def descent(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """F(y) - F(x) - <grad F(x), y - x>."""
    remainder(problem, problem.smooth(at["smoothness"]), 1)
    return dict(at)


def perturbed_strong_convexity(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """g(z) - g(y) + mu |y - z|^2/4 - <grad g(x), z - y>, with z at distance 1 from x and y anywhere."""
    function = problem.smooth_convex(at["smoothness"], at["strong_convexity"])
    x, y, z = problem.origin(), problem.point(), problem.point()
    problem.require((z - x) ** 2 == 1)
    problem.maximise(
        function(z) - function(y) + at["strong_convexity"] / 4 * (y - z) ** 2 - function.gradient(x) * (z - y)
    )
    return {**at, "lemma_distance": 1}


def drift(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """|x_K - x|^2 of one client at the largest step that the lemma admits, without noise."""
    steps, smoothness = at["local_steps"], at["smoothness"]
    lr = JUST_BELOW / (8 * smoothness * steps)
    gradient, divergence = at["gradient_norm"], at["heterogeneity"]
    _, points = local_run(problem, smoothness=smoothness, lr=lr, steps=steps, gradient=gradient, divergence=divergence)
    problem.maximise((points[-1] - points[0]) ** 2)
    return {**at, "local_lr": lr, "noise_std": 0, "drift_gradient": gradient}


lemmas = (
    Lemma("fast.lem1", ({"smoothness": 1}, {"smoothness": 3}), descent, "exact", part="excess"),
    Lemma(
        "fast.lem2",
        tuple({"smoothness": 1, "strong_convexity": mu} for mu in (0.01, 0.1, 0.5, 0.9)),
        perturbed_strong_convexity,
        "exact",
    ),
    Lemma(
        "fast.reddi3",
        tuple(
            {"smoothness": 1, "local_steps": steps, "gradient_norm": gradient, "heterogeneity": divergence}
            for steps in (1, 2, 5)
            for gradient, divergence in ((0.1, 1), (1, 0.1), (1, 1))
        ),
        drift,
        "outer",
    ),
)
