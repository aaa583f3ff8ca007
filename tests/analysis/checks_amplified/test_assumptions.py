"""Assumption 3' asks a problem: left sides of (5), (6), (7) for many weights, against the constants it is told."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest

from fltheory.assumptions import bounded
from fltheory.ledger import ledger
from fltheory.papers.amplified.setting import ass3p
from sims.problems.quadratic import DiagonalQuadratic, linear

SLOPES = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])  # d = 3


def left_sides(differences: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """The roots of (5), (6), (7) for gradients minus their mean (N, d) and the weights of an interval (P, N)."""
    rounds = weights @ differences
    apart = differences - rounds[:, None]
    return {
        "round_divergence": float(np.linalg.norm(rounds, axis=1).max()),
        "cohort_divergence": float(np.sqrt((weights * (apart**2).sum(axis=2)).sum(axis=1).max())),
        "interval_divergence": float(np.linalg.norm(rounds.mean(axis=0))),
    }


def exceeded(constants: Mapping[str, float]) -> set[str]:
    """The constants that some weights exceed: of one client, of two halves, of all that random numbers give."""
    draw = np.random.default_rng(0)
    alone, halves = np.tile(np.eye(4)[0], (3, 1)), np.tile([0.5, 0.5, 0, 0], (3, 1))
    tried = [alone, halves, *draw.dirichlet(np.full(4, 0.3), size=(200, 3))]
    found = [left_sides(SLOPES, weights) for weights in tried]
    return {name for name, most in constants.items() if any(one[name] > most * (1 + 1e-12) for one in found)}


def test_no_weights_exceed_what_a_problem_answers() -> None:
    found = ass3p.holds_for(linear(SLOPES))
    assert found.holds is True
    assert found.constants == {"round_divergence": 3, "cohort_divergence": 3, "interval_divergence": 3}
    assert exceeded(found.constants) == set()


@pytest.mark.parametrize("name", ["round_divergence", "cohort_divergence", "interval_divergence"])
def test_no_smaller_constant_would_do(name: str) -> None:
    smaller = {**ass3p.holds_for(linear(SLOPES)).constants, name: 2.9}
    assert exceeded(smaller) == {name}


def test_a_predicate_that_asks_for_another_constant_is_noticed() -> None:
    wrong = bounded(
        round_divergence="heterogeneity", cohort_divergence="smoothness", interval_divergence="heterogeneity"
    )
    assert exceeded(wrong(linear(SLOPES)).constants) == {"cohort_divergence"}


def test_differences_without_a_bound_have_none_of_these() -> None:
    """Curvatures 1 and 3: whoever has the weight, (5) and (6) together grow with x."""
    assert ass3p.holds_for(DiagonalQuadratic([1, 3], [0, 0])).holds is False
    for weight in (0.01, 0.5, 1.0):
        found = [left_sides(np.array([[-x], [x]]), np.array([[weight, 1 - weight]])) for x in (1.0, 1e3)]
        both = [math.hypot(one["round_divergence"], one["cohort_divergence"]) for one in found]
        assert both[1] == pytest.approx(1e3 * both[0])


def test_every_assumption_of_the_papers_can_be_asked() -> None:
    assert [claim.id for claim in ledger.values() if claim.kind == "assumption" and claim.asks is None] == []
