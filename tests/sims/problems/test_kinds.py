"""The same lines on rationals, floats and torch: exact stays exact, and all agree."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fltheory.errors import InputError
from sims.algorithms.protocol import Cohort, Work
from sims.arrays import Array, as_exact, require_exact
from sims.problems.analytic import Analytic
from sims.problems.base import Draws, at_all_clients, full_gradient
from sims.problems.local import local_update
from sims.problems.quadratic import DiagonalQuadratic

from .zoo import CASES, RATIONAL, build


def _exact_points(dimension: int) -> Array:
    rng = np.random.default_rng(31)
    return as_exact([[Fraction(int(a), 7) for a in rng.integers(-20, 20, dimension)] for _ in range(4)])


def _exact_draws(problem: Analytic, y: Array) -> Draws:
    """Draws for three steps of all clients and for an extra gradient; none if they are not rational."""
    cohort, work = _round(problem, y)
    try:
        return problem.draw(np.random.default_rng(32), cohort, work)
    except InputError:
        return Draws()


def _round(problem: Analytic, x: Array) -> tuple[Cohort, Work]:
    _, clients = at_all_clients(problem, x)
    valid = clients >= 0
    return Cohort(clients, valid, problem.n_clients), Work(x, 3, Fraction(1, 8), gradient_at=x, batch=2)


@pytest.mark.parametrize("name", RATIONAL)
def test_exact_models_stay_exact_and_agree_with_floats(name: str) -> None:
    problem = build(name)
    x = _exact_points(problem.dimension)
    cohort, work = _round(problem, x)
    draws = _exact_draws(problem, x)
    local = local_update(problem, work, cohort, draws)
    exact = {"delta": local.delta, "gradient": local.gradient, "objective": problem.objective(x)}
    exact["full gradient"] = full_gradient(problem, x)
    require_exact(exact)
    floats = x.astype(float)
    again = local_update(problem, Work(floats, 3, 0.125, gradient_at=floats, batch=2), cohort, draws)
    assert again.delta.dtype == np.float64
    np.testing.assert_allclose(again.delta, local.delta.astype(float), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(again.gradient, local.gradient.astype(float), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(problem.objective(floats), exact["objective"].astype(float), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in RATIONAL if "McClure" not in name])
def test_gradients_of_quadratics_are_exact_differences(name: str) -> None:
    """F(y + e_j) - F(y - e_j) = 2 grad F(y)_j, as rationals."""
    problem = build(name)
    y, clients = at_all_clients(problem, _exact_points(problem.dimension))
    gradient = problem.gradient(y, clients)
    for j, axis in enumerate(as_exact(np.eye(problem.dimension, dtype=int))):
        assert (problem.value(y + axis, clients) - problem.value(y - axis, clients) == 2 * gradient[..., j]).all()


@pytest.mark.parametrize("name", [name for name in RATIONAL if "least" not in name])
def test_exact_inputs_have_exact_minima(name: str) -> None:
    problem = build(name)
    constants = problem.constants
    if constants.minimiser is not None:
        require_exact({"minimiser": constants.minimiser, "minimum": constants.minimum})
        assert (full_gradient(problem, constants.minimiser) == 0).all()
        assert problem.objective(constants.minimiser) == constants.minimum


@pytest.mark.parametrize("name", [name for name in CASES if name not in RATIONAL])
def test_what_has_no_exact_values_says_so(name: str) -> None:
    problem = build(name)
    y, clients = at_all_clients(problem, _exact_points(problem.dimension))
    for function in (problem.gradient, problem.value):
        with pytest.raises(InputError, match=r"exact|floats \(numpy or torch\)"):
            function(y, clients)


@pytest.mark.torch
@pytest.mark.parametrize("name", CASES)
def test_torch_agrees_with_numpy(name: str) -> None:
    torch = pytest.importorskip("torch")
    problem = build(name)
    x = np.random.default_rng(33).normal(size=(4, problem.dimension))
    cohort, _ = _round(problem, x)
    work = Work(x, 3, 0.125, gradient_at=x, batch=2)
    draws = problem.draw(np.random.default_rng(34), cohort, work)
    local = local_update(problem, work, cohort, draws)
    for kind, tolerance in ((torch.float64, 1e-12), (torch.float32, 2e-4)):
        there = torch.tensor(x, dtype=kind)
        tensors = Cohort(*map(torch.tensor, (cohort.clients, cohort.valid)), problem.n_clients)
        same = problem.draw(np.random.default_rng(34), tensors, Work(there, 3, 0.125, gradient_at=there, batch=2))
        result = local_update(problem, Work(there, 3, 0.125, gradient_at=there, batch=2), tensors, same)
        for ours, theirs in ((local.delta, result.delta), (local.gradient, result.gradient)):
            assert theirs.dtype == kind
            np.testing.assert_allclose(theirs.numpy(), ours, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(
            problem.objective(there).numpy(), problem.objective(x), rtol=tolerance, atol=tolerance
        )
        np.testing.assert_allclose(full_gradient(problem, there).numpy(), full_gradient(problem, x), atol=tolerance)


_numbers = st.fractions(-4, 4, max_denominator=6)


@st.composite
def _quadratics(draw: st.DrawFn) -> DiagonalQuadratic:
    n, d = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    table = st.lists(st.lists(_numbers, min_size=d, max_size=d), min_size=n, max_size=n)
    curvature = draw(st.one_of(table, st.lists(_numbers, min_size=d, max_size=d).map(lambda row: [row] * n)))
    return DiagonalQuadratic(curvature, draw(table), slope=draw(st.one_of(table, st.just(0))))


@given(_quadratics(), st.lists(st.lists(_numbers, min_size=2, max_size=2), min_size=1, max_size=4))
def test_constants_of_any_rational_quadratic_hold_exactly(problem: DiagonalQuadratic, points: list) -> None:
    constants = problem.constants
    x = as_exact(points)[:, : problem.dimension]
    gradients = problem.gradient(*at_all_clients(problem, x))
    squares = (full_gradient(problem, x) ** 2).sum(axis=-1)
    along = problem.heterogeneity_along(x)
    if constants.heterogeneity < np.inf:
        assert along == constants.heterogeneity
    for u, g in zip(x, gradients, strict=True):
        for v, h in zip(x, gradients, strict=True):
            steps, apart = ((g - h) ** 2).sum(axis=-1), ((u - v) ** 2).sum()
            assert (steps <= constants.smoothness**2 * apart).all()
            if constants.strong_convexity > 0:  # a client that is not convex states 0
                assert (((g - h) * (u - v)).sum(axis=-1) >= constants.strong_convexity * apart).all()
    if constants.minimiser is None:
        assert constants.minimum == -np.inf
    else:
        above = problem.objective(x) - constants.minimum
        assert (above >= 0).all()
        if constants.polyak_lojasiewicz < np.inf:
            assert (squares >= 2 * constants.polyak_lojasiewicz * above).all()
        else:
            assert (above == 0).all()
    if constants.gradient_bound < np.inf:
        assert (squares <= constants.gradient_bound**2 * (1 + 1e-15)).all()


def test_heterogeneity_along_a_path_is_exact() -> None:
    problem = DiagonalQuadratic([1, 3], [0, 2])  # gradients x and 3x - 6: each is |x - 3| from their mean
    assert problem.constants.heterogeneity == np.inf
    assert problem.heterogeneity_along(as_exact([[0], [1], ["7/2"]])) == 3
    assert problem.heterogeneity_along(np.array([[[2.0]], [[5.0]]])) == 2
