"""Maxima of many functions of one number at once, and of one function with an interval around its maximum."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2

from analysis.traces.log import Floats
from fltheory.estimate import Estimate

GOLDEN = (math.sqrt(5) - 1) / 2
SECTIONS = 40  # leaves 4e-9 of an interval
GRID = 16


def sections(f: Callable[[Floats], Floats], n: int) -> tuple[Floats, Floats]:
    """Where n functions on (0, 1), each with one local maximum, have it, and their values there, (n,) each.

    `f` takes one argument for each function. A function may be minus infinity to the left of its maximum.
    """
    low, high = np.zeros(n), np.ones(n)
    left, right = np.full(n, 1 - GOLDEN), np.full(n, GOLDEN)
    at_left, at_right = f(left), f(right)
    for _ in range(SECTIONS):
        down = at_left > at_right
        low, high = np.where(down, low, left), np.where(down, right, high)
        new = np.where(down, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        value = f(new)
        left, right = np.where(down, new, right), np.where(down, left, new)
        at_left, at_right = np.where(down, value, at_right), np.where(down, at_left, value)
    best = at_left > at_right
    return np.where(best, left, right), np.maximum(at_left, at_right)


def profile(f: Callable[[float], float], low: float, high: float, n: int, level: float = 0.95) -> Estimate:
    """The maximum of a log-likelihood of one parameter on [low, high], others being maximised already.

    The interval holds the parameters at which it is less than half the chi-square quantile below its maximum (Wilks).
    A grid finds the neighbourhood of the maximum.
    """
    grid = np.linspace(low, high, GRID + 1)
    around = int(np.argmax([f(x) for x in grid]))
    below, above = grid[max(around - 1, 0)], grid[min(around + 1, GRID)]
    inside = minimize_scalar(lambda x: -f(x), bounds=(below, above), method="bounded", options={"xatol": 1e-9})
    best = max((float(grid[around]), float(inside.x)), key=f)
    least = f(best) - chi2.ppf(level, 1) / 2

    def end(bound: float) -> float:
        return bound if f(bound) >= least else float(brentq(lambda x: f(x) - least, best, bound, xtol=1e-7))

    return Estimate(best, math.nan, end(low), end(high), level, n, "profile likelihood")
