"""Holds the constants that a problem states against what was found: each must be valid, and tight.

Those it calls upper bounds must be valid, and not absurd.
"""

from __future__ import annotations

import math

import numpy as np

from sims.problems.analytic import Analytic
from sims.problems.base import Constants, full_gradient

from .search import Findings

TIGHT = 0.99  # a finite constant must be reached to this fraction
USEFUL = 0.4  # and an upper bound to this one
ROUNDING = 1e-9
UNBOUNDED = 1e4  # what an infinite supremum must exceed among points as far as 1e6


def violations(problem: Analytic, stated: Constants, found: Findings) -> set[str]:
    """Names of the constants that are refuted; one that is None is not stated and not checked."""
    ratios = _ratios(stated, found)
    low, high = (math.sqrt(end) for end in found.variance)

    def supremum(name: str, attained: float, bound: float | None = None) -> bool:
        return _supremum(getattr(stated, name), attained, bound, USEFUL if name in stated.upper else TIGHT)

    verdicts = {
        "smoothness": _supremum(stated.smoothness, found.steepest),
        "strong_convexity": _infimum(stated.strong_convexity, found.flattest, found.steepest),
        "polyak_lojasiewicz": _lojasiewicz(stated, found, ratios),
        "noise_std": supremum("noise_std", low, high),
        "noise_smoothness": supremum("noise_smoothness", found.noise_steepness),
        "heterogeneity": supremum("heterogeneity", found.gap),
        "gradient_bound": _supremum(stated.gradient_bound, found.slope),
        "client_gradient_bound": _supremum(stated.client_gradient_bound, found.client_slope),
        "minimum": _minimum(stated, found),
        "minimiser": _minimiser(problem, stated, found),
    }
    return {name for name, holds in verdicts.items() if not holds}


def _supremum(stated: object, attained: float, bound: float | None = None, fraction: float = TIGHT) -> bool:
    """`attained` must not exceed it, and `bound` (an upper end of what it can be) must reach this fraction of it."""
    if stated is None:
        return True
    value, reach = float(stated), attained if bound is None else bound
    if value == math.inf:
        return reach > UNBOUNDED
    zero = 1e-12  # the zoo's numbers are about 1
    return attained <= value * (1 + ROUNDING) + zero and reach >= fraction * value - zero


def _infimum(stated: object, attained: float, scale: float) -> bool:
    value = float(stated)
    if value == 0:  # also for what is not convex
        return attained <= 1e-3 * scale
    return value * (1 - ROUNDING) <= attained <= value / TIGHT


def _ratios(stated: Constants, found: Findings) -> np.ndarray:
    """||grad f||^2 / (2 (f - f*)) where f - f* is not rounding."""
    above = found.values - float(stated.minimum)
    clear = above > 1e-3 * (1 + abs(float(stated.minimum))) if np.isfinite(above).all() else above < 0
    return found.squares[clear] / (2 * above[clear])


def _lojasiewicz(stated: Constants, found: Findings, ratios: np.ndarray) -> bool:
    value = float(stated.polyak_lojasiewicz)
    if ratios.size == 0:  # constant, or unbounded below
        return value == (math.inf if stated.minimum > -math.inf else 0)
    return math.isfinite(value) and _infimum(value, ratios.min(), found.steepest)


def _minimum(stated: Constants, found: Findings) -> bool:
    value = float(stated.minimum)
    if value == -math.inf:
        return found.lowest < -UNBOUNDED
    scale = 1e-9 * (1 + abs(value))
    return found.lowest >= value - scale and found.lowest <= value + scale


def _minimiser(problem: Analytic, stated: Constants, found: Findings) -> bool:
    if stated.minimiser is None:
        return float(stated.minimum) == -math.inf
    x = np.asarray(stated.minimiser, dtype=np.float64)
    scale = ROUNDING * (1 + found.steepest * np.linalg.norm(x))
    return bool(
        np.linalg.norm(full_gradient(problem, x)) <= scale
        and abs(problem.objective(x) - float(problem.constants.minimum)) <= ROUNDING
    )
