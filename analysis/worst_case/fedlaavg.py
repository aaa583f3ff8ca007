"""FedLaAvg: the smoothness inequality (21) that its main proof starts from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.worst_case.lemmas import Lemma
from analysis.worst_case.problem import Problem, mean
from analysis.worst_case.steps import remainder


def descent(problem: Problem, at: Mapping[str, Any]) -> dict[str, Any]:
    """f(x^t) - f(x^{t-1}) - <grad f(x^{t-1}), x^t - x^{t-1}> of a mean of smooth functions, for a step of length 1."""
    remainder(problem, mean([problem.smooth(at["smoothness"]) for _ in range(at["n_clients"])]), 1)
    return dict(at)


lemmas = (
    Lemma(
        "fedlaavg.eq21",
        tuple({"smoothness": 1, "n_clients": clients} for clients in (1, 3)),
        descent,
        "exact",
        part="factor",
    ),
)
