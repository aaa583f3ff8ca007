"""Theorem 3 from the first iteration on, and why its availability may not look at the samples."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from analysis.trials import right_side
from fltheory.papers.fedlaavg import iterations, sharper


def _steps(caught: int, size: F, large: F, small: F, count: int) -> list[F]:
    """x^0, x^1, ... of one client with f' = min(x, 0), whose noise is -small until iteration `caught`, then `large`."""
    x, stored, path = F(0), F(0), []
    for t in range(1, count + 1):
        path.append(x)
        if t <= caught:
            stored = min(x, F(0)) + (large if t == caught else -small)
        x -= size * stored
    return path


def _squares(caught: int, size: F, large: F, small: F, count: int) -> F:
    """The sum of min(x, 0)^2 over these, in closed form: x rises to `top`, then falls by size * large each time."""
    top, fall = size * small * (caught - 1), size * large
    first, last = int(top / fall) + 1, count - caught
    if last < first:
        return F(0)
    once = F((first + last) * (last - first + 1), 2)
    twice = F(last * (last + 1) * (2 * last + 1) - (first - 1) * first * (2 * first - 1), 6)
    return top**2 * (last - first + 1) - 2 * top * fall * once + fall**2 * twice


@pytest.mark.parametrize("caught", range(1, 10))
def test_the_closed_form_is_the_run(caught):
    numbers = (F(1, 100), F(1), F(1, 3), 9)
    assert _squares(caught, *numbers) == sum(min(x, F(0)) ** 2 for x in _steps(caught, *numbers))


def test_the_first_iterations_too_need_availability_that_ignores_the_samples():
    """One client that stays away after its first large noise, T = I = E - 1: (33) fails, by a third."""
    count, chance, large, way = 8192, F(1, 2048), F(1), F(1, 32)
    size, small = way / count, large * chance / (1 - chance)
    total = F(0)
    for caught in range(count, 0, -1):  # the chance of `caught` is chance (1 - chance)^(caught - 1)
        total = (1 - chance) * total + chance * _squares(caught, size, large, small, count)
    noise_square = large * small
    known = {
        "smoothness": 1, "n_clients": 1, "local_lr": size, "iterations": count, "staleness": count, "initial_gap": 0,
        "noise_std": float(noise_square**F(1, 2)), "gradient_bound": float((way**2 + noise_square) ** F(1, 2)),
    }  # fmt: skip
    for claim in (iterations.eq33, sharper.thm3_improved):
        assert float(total / count) > 1.3 * right_side(claim.bound, known)


def test_what_the_proof_adds_up_stays_below_the_bound():
    """The sums of the proof as they are, at random b, rho, u and T, in place of its cells and corners."""
    rng = np.random.default_rng(7)
    for _ in range(2000):
        stale, late = int(rng.integers(0, 60)), int(rng.integers(1, 200))
        u = 0.5 * rng.random() ** 3
        b, rho = 3 * rng.random(), u * stale
        first = np.minimum((b + rho * np.arange(stale) / max(stale, 1)) ** 2, 1)
        share = 1 - (1 - u) ** late
        total = u * first.sum() + (b + rho) ** 2 * share + rho**2 * (u * late - share)
        theta = u * (stale + late)
        assert min(total, theta) <= (2 * theta * rho**2 + 2 * b**2) * (1 + 1e-12)
