"""FedAU: divergence, local drift and the descent of one round, without gradient noise.

Local steps and their product with the global step are the largest that the lemmas admit.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

from analysis.worst_case.lemmas import Lemma
from analysis.worst_case.problem import Problem, mean
from analysis.worst_case.steps import JUST_BELOW, cohorts, local_run


def divergence(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """|grad F_1 - sum phi_n grad F_n|^2, each gradient within delta of the plain mean."""
    gradients = [problem.point() for _ in at["shares"]]
    overall = mean(gradients)
    for gradient in gradients:
        problem.require((gradient - overall) ** 2 <= at["heterogeneity"] ** 2)
    problem.maximise((gradients[0] - _weighted(at["shares"], gradients)) ** 2)
    return dict(at)


def drift(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """|y_I - x|^2 at the largest local step that the lemma admits."""
    _, points, constants = _local_run(problem, at)
    problem.maximise((points[-1] - points[0]) ** 2)
    return constants


def local_gradient(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """|grad F_n(y_{I-1})|^2, the last local gradient that is used."""
    function, points, constants = _local_run(problem, at)
    problem.maximise(function.gradient(points[-2]) ** 2)
    return constants


def descent(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """Lemma B.3.3: hypothesis on the divergence at every point that the round visits."""
    return _round(problem, at, everywhere=True) | {"reweighted_heterogeneity": at["divergence"]}


def descent_improved(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """The same with the hypothesis at x_t alone, as the statement has it."""
    return _round(problem, at, everywhere=False) | {"divergence_at_iterate": at["divergence"]}


def descent_plain(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """Lemma B.5.1: the objective is the plain mean."""
    equal = {**at, "shares": (1 / len(at["rates"]),) * len(at["rates"])}
    return _round(problem, equal, everywhere=True) | {"heterogeneity": at["divergence"]}


def _local_run(problem: Problem, at: Mapping[str, Any]) -> tuple[Any, list[Any], dict[str, Any]]:
    steps, smoothness = at["local_steps"], at["smoothness"]
    lr = JUST_BELOW / (sqrt(30) * smoothness * steps)
    found = local_run(
        problem, smoothness=smoothness, lr=lr, steps=steps, gradient=at["gradient"], divergence=at["divergence"]
    )
    return *found, {
        "smoothness": smoothness,
        "local_steps": steps,
        "local_lr": lr,
        "noise_std": 0,
        "reweighted_gradient": at["gradient"],
        "reweighted_heterogeneity": at["divergence"],
    }


def _round(problem: Problem, at: Mapping[str, Any], *, everywhere: bool) -> dict[str, Any]:
    """One round: expected change of sum phi_n F_n plus a quarter of the step times the squared gradient.

    The expectation is over who participates; the steps are the largest that the lemma admits.
    """
    smoothness, steps = at["smoothness"], at["local_steps"]
    rates, weights, shares = at["rates"], at["weights"], at["shares"]
    clients, x = [problem.smooth(smoothness) for _ in rates], problem.origin()
    objective = _weighted(shares, clients)
    lr = JUST_BELOW / (4 * sqrt(15) * smoothness * steps)
    both = JUST_BELOW / (4 * smoothness * steps)
    runs = [problem.run(client, x, lr, steps) for client in clients]
    updates = [weight * (run[-1] - x) for weight, run in zip(weights, runs, strict=True)]
    visited, expected = [x, *(y for run in runs for y in run[1:-1])], 0
    for who, chance in cohorts(rates):
        after = x
        for n in who:
            after = after + both / lr / len(rates) * updates[n]
        for client in clients:
            problem.near(client, x, after)
        expected = expected + chance * objective(after)
        visited.append(after)
    problem.require(objective.gradient(x) ** 2 == at["gradient"] ** 2)
    for place in visited if everywhere else [x]:
        gradients = [problem.near(client, x, place) for client in clients]
        overall = _weighted(shares, gradients)
        for gradient in gradients:
            problem.require((gradient - overall) ** 2 <= at["divergence"] ** 2)
    problem.maximise(expected - objective(x) + both * steps / 4 * objective.gradient(x) ** 2)
    number = len(rates)
    return {
        "smoothness": smoothness,
        "local_steps": steps,
        "local_lr": lr,
        "global_lr": both / lr,
        "n_clients": number,
        "noise_std": 0,
        "reweighted_gradient": at["gradient"],
        "weight_mismatch": number
        * sum((p * w / number - share) ** 2 for p, w, share in zip(rates, weights, shares, strict=True)),
        "weight_square": sum(p * w**2 for p, w in zip(rates, weights, strict=True)) / number,
    }


def _weighted(weights: tuple[float, ...], values: list[Any]) -> Any:
    """Weighted sum of points or functions."""
    terms = [weight * value for weight, value in zip(weights, values, strict=True)]
    return sum(terms[1:], terms[0])


# Mostly divergence, mostly gradient, both; neither is 0, since a semidefinite program without interior is ill-posed.
_MIXES = ((0.1, 1), (1, 0.1), (1, 1))
_RUNS = tuple(
    {"smoothness": 1, "local_steps": steps, "gradient": gradient, "divergence": apart}
    for steps in (1, 2, 5)
    for gradient, apart in _MIXES
)
# The plain mean: the right weights for equal and unequal rates, everyone always, weights that ignore the rates.
_PLAIN = (
    {"rates": (0.5, 0.5), "weights": (2, 2)},
    {"rates": (0.1, 1), "weights": (10, 1)},
    {"rates": (1, 1), "weights": (1, 1)},
    {"rates": (0.5, 1), "weights": (1, 1)},
)
# A reweighted mean: the right weights for it, and others.
_REWEIGHTED = (
    {"rates": (0.5, 1), "weights": (1, 1.5), "shares": (0.25, 0.75)},
    {"rates": (0.5, 1), "weights": (1, 1), "shares": (0.25, 0.75)},
)


def _rounds(kinds: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"smoothness": 1, "local_steps": 2, **kind, "gradient": gradient, "divergence": apart}
        for kind in kinds
        for gradient, apart in _MIXES
    )


lemmas = (
    Lemma(
        "fedau.lemB31",
        tuple({"heterogeneity": 1, "shares": shares} for shares in ((0, 1), (0, 0.5, 0.5), (0.5, 0.5))),
        divergence,
        "exact",
    ),
    Lemma("fedau.lemB32", _RUNS, drift, "outer"),
    Lemma("fedau.lemB32.improved", _RUNS, drift, "outer"),
    Lemma("fedau.eqB39", _RUNS, local_gradient, "outer"),
    Lemma("fedau.lemB33", _rounds(_REWEIGHTED), descent, "outer"),
    Lemma("fedau.lemB33.improved", _rounds(_REWEIGHTED), descent_improved, "exact"),
    Lemma("fedau.lemB51", _rounds(_PLAIN), descent_plain, "outer"),
)
