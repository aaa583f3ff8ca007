"""Every constant of every problem is certified, and no wrong constant would be."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from sims.problems.base import Constants, at_all_clients, full_gradient

from .certify import violations
from .search import Findings, findings, sample_points
from .zoo import CASES, build

NAMES = [field.name for field in fields(Constants) if field.name != "upper"]


@pytest.mark.parametrize("name", CASES)
def test_every_stated_constant_is_valid_and_tight(name: str) -> None:
    problem = build(name)
    assert violations(problem, problem.constants, findings(name)) == set()


@pytest.mark.parametrize("constant", NAMES)
@pytest.mark.parametrize("name", CASES)
def test_a_wrong_constant_is_refuted(name: str, constant: str) -> None:
    problem = build(name)
    stated = problem.constants
    found = findings(name)
    loose = _beside(constant, found) if constant in stated.upper else _wrong(constant, stated, problem.dimension)
    for wrong in loose:
        mutated = replace(stated, **{constant: wrong})
        assert constant in violations(problem, mutated, found), wrong


def _beside(constant: str, found: Findings) -> list[float]:
    """Values just below what was found, and far above it."""
    attained = {
        "heterogeneity": found.gap,
        "noise_std": math.sqrt(found.variance[0]),
        "noise_smoothness": found.noise_steepness,
    }[constant]
    return [0.99 * attained, 3 * attained, math.inf]


@pytest.mark.parametrize("name", CASES)
def test_no_supremum_that_was_reached_is_called_an_upper_bound(name: str) -> None:
    stated = build(name).constants
    for constant in stated.upper:
        tight = replace(stated, upper=stated.upper - {constant})
        assert constant in violations(build(name), tight, findings(name))


def _wrong(constant: str, stated: Constants, dimension: int) -> list[object]:
    """Values nearby, and one of the other kind (finite or infinite)."""
    value = getattr(stated, constant)
    if value is None:
        return [np.zeros(dimension)] if constant == "minimiser" else []
    if constant == "minimiser":
        flat = stated.polyak_lojasiewicz == math.inf
        return [] if flat else [value + np.eye(len(value))[0] / 50, None]
    if constant == "minimum":
        return [0.0] if value == -math.inf else [float(value) - 0.01, float(value) + 0.01, -math.inf]
    if value == math.inf:
        return [1e3]
    return [0.98 * float(value), 1.02 * float(value), math.inf] if value else [0.1, math.inf]


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_the_slopes_of_the_values(name: str) -> None:
    """|F(y + hv) - F(y - hv) - 2 h grad F . v| <= L h^2 + rounding, for any L-smooth F."""
    problem = build(name)
    y, clients = at_all_clients(problem, sample_points(problem.dimension, 400, seed=11)[:, :] / 1e3)
    v = np.random.default_rng(12).normal(size=y.shape)
    v /= np.linalg.norm(v, axis=-1, keepdims=True)
    h = 1e-4
    ahead, behind = problem.value(y + h * v, clients), problem.value(y - h * v, clients)
    along = (problem.gradient(y, clients) * v).sum(axis=-1)
    # the moved points are rounded too, by 1 ulp of y, which the gradient multiplies
    rounding = 2e-14 * (np.abs(ahead) + np.abs(y).max(axis=-1) * np.linalg.norm(problem.gradient(y, clients), axis=-1))
    allowed = float(problem.constants.smoothness) * h * h + rounding + 1e-15
    assert (np.abs(ahead - behind - 2 * h * along) <= allowed).all()
    near = np.abs(y).max(axis=-1) < 10  # where a gradient that is 1 % off must not pass
    wrong = np.abs(ahead - behind - 2.02 * h * along) > allowed
    assert wrong[near].any()


@pytest.mark.parametrize("name", CASES)
def test_batches_agree_with_single_models(name: str) -> None:
    problem = build(name)
    x = np.random.default_rng(13).normal(size=(3, 2, problem.dimension))
    assert problem.objective(x).shape == (3, 2)
    assert full_gradient(problem, x).shape == x.shape
    y, clients = at_all_clients(problem, x)
    for i, j in np.ndindex(3, 2):
        one = [problem.gradient(x[i, j][None], np.array([n]))[0] for n in range(problem.n_clients)]
        np.testing.assert_allclose(problem.gradient(y, clients)[i, j], one, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(full_gradient(problem, x)[i, j], np.mean(one, axis=0), rtol=1e-12, atol=1e-13)
        mean = np.mean([problem.value(x[i, j][None], np.array([n])) for n in range(problem.n_clients)])
        assert problem.objective(x)[i, j] == pytest.approx(mean, rel=1e-13, abs=1e-13)
