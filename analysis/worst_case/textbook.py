"""Steps of gradient descent and of SGD whose worst cases are known in closed form: what the method is tested on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.worst_case.lemmas import Lemma
from analysis.worst_case.problem import Problem, mean
from fltheory.ledger import Bound, Paper
from fltheory.symbols import local_lr, noise_std, quantity, rounds, smoothness
from fltheory.units import GRADIENT, LOSS, PARAM

textbook_gradient = quantity(
    "textbook_gradient", GRADIENT, ">= 0", "norm of the gradient at the start of a single step"
)
textbook_distance = quantity("textbook_distance", PARAM, ">= 0", "distance of the start from a minimiser")

paper = Paper("textbook", "One-step lemmas of the textbooks", edition="Nesterov 2018; Drori and Teboulle 2014")

_descent = -local_lr * (1 - smoothness * local_lr / 2) * textbook_gradient**2

gradient_step = paper.claim(
    "gradient-step", "One gradient step on a smooth function",
    kind="lemma", where="Nesterov 2018, section 1.2.3", origin="ours",
    words="A gradient step of size gamma lowers an L-smooth function by at least gamma (1 - L gamma/2) |grad f|^2.",
    bound=Bound("f(x+) - f(x)", _descent, unit=LOSS),
)  # fmt: skip

sgd_step = paper.claim(
    "sgd-step", "One step of SGD on a smooth function",
    kind="lemma", where="Bottou, Curtis and Nocedal 2018, Lemma 4.4", origin="ours",
    words="With an unbiased gradient of variance at most sigma^2 the expected decrease loses L gamma^2 sigma^2/2.",
    bound=Bound("E f(x+) - f(x)", _descent + smoothness * local_lr**2 * noise_std**2 / 2, unit=LOSS),
)  # fmt: skip

gradient_steps = paper.claim(
    "gradient-descent", "Gradient descent with step 1/L on a smooth convex function",
    kind="theorem", where="Drori and Teboulle 2014", origin="ours",
    words="After N steps of size 1/L the value exceeds the minimum by at most L R^2/(4N + 2), which is attained.",
    bound=Bound("f(x_N) - min f", smoothness * textbook_distance**2 / (4 * rounds + 2), unit=LOSS),
)  # fmt: skip


def step(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """One step x+ = x - gamma grad f(x), the gradient of norm 1."""
    function, x = problem.smooth(at["smoothness"]), problem.origin()
    gradient = function.gradient(x)
    problem.require(gradient**2 == 1)
    problem.maximise(function(x - at["local_lr"] * gradient) - function(x))
    return {**at, "textbook_gradient": 1}


def noisy_step(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """The noise is e or -e with equal chances: one law of many, and the worst one if the bound is attained."""
    function, x, noise = problem.smooth(at["smoothness"]), problem.origin(), problem.point()
    gradient = function.gradient(x)
    problem.require(gradient**2 == 1)
    problem.require(noise**2 <= at["noise_std"] ** 2)
    after = [function(x - at["local_lr"] * (gradient + sign * noise)) for sign in (1, -1)]
    problem.maximise(mean(after) - function(x))
    return {**at, "textbook_gradient": 1}


def steps(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """N steps of size 1/L from distance 1."""
    function, x = problem.smooth_convex(at["smoothness"]), problem.point()
    best = function.stationary_point()
    problem.require((x - best) ** 2 <= 1)
    last = problem.run(function, x, 1 / at["smoothness"], at["rounds"])[-1]
    problem.maximise(function(last) - function(best))
    return {**at, "textbook_distance": 1}


lemmas = (
    Lemma(
        gradient_step.id,
        tuple({"smoothness": 1, "local_lr": lr} for lr in (0.5, 1, 2.5)),
        step,
        "exact",
        gradient_step,
    ),
    Lemma(
        sgd_step.id,
        tuple({"smoothness": 1, "local_lr": lr, "noise_std": noise} for lr, noise in ((0.5, 1), (0.5, 3))),
        noisy_step,
        "inner",
        sgd_step,
    ),
    Lemma(
        gradient_steps.id,
        tuple({"smoothness": 1, "rounds": number} for number in (1, 2, 4)),
        steps,
        "exact",
        gradient_steps,
    ),
)
