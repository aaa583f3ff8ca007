"""Work that is divided among the clients of a round: each one's part comes out as if everybody had done all of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sims.algorithms.protocol import Cohort, Work
from sims.arrays import Array, as_exact, require_exact
from sims.problems.base import Draws, at_all_clients
from sims.problems.local import local_update
from sims.problems.quadratic import DiagonalQuadratic

from .zoo import CASES, RATIONAL, build

BATCHES = 4


def divided(problem: Any, x: Array, lr: Any, **more: Any) -> tuple[Cohort, Work]:
    """Three steps for some and a gradient for others, of each batch another number: nobody's, everybody's, ..."""
    _, clients = at_all_clients(problem, x)
    steps_by = np.random.default_rng(35).random(clients.shape) < np.array([[0.0], [0.4], [0.6], [0.6]])
    gradient_by = ~steps_by & (np.arange(problem.n_clients) > 0)
    work = Work(x, 3, lr, gradient_at=x, batch=2, steps_by=steps_by, gradient_by=gradient_by, **more)
    return Cohort(clients, clients >= 0, problem.n_clients), work


def parts_agree(problem: Any, work: Work, cohort: Cohort, draws: Draws) -> dict[str, Array]:
    found = local_update(problem, work, cohort, draws)
    whole = local_update(problem, replace(work, steps_by=None, gradient_by=None), cohort, draws)
    for chosen, part, all_of_it in (
        (work.steps_by, found.delta, whole.delta),
        (work.gradient_by, found.gradient, whole.gradient),
    ):
        assert part.shape == all_of_it.shape
        assert part.dtype == all_of_it.dtype
        ours, expected = (np.asarray(rows[chosen]) for rows in (part, all_of_it))
        assert len(ours)
        if ours.dtype == object:
            assert (ours == expected).all()
        else:
            np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-13)
    return {"delta": found.delta, "gradient": found.gradient}


@pytest.mark.parametrize("name", RATIONAL)
def test_in_rationals(name: str) -> None:
    problem = build(name)
    numbers = np.random.default_rng(36).integers(-20, 20, (BATCHES, problem.dimension)).tolist()
    cohort, work = divided(problem, as_exact(numbers), as_exact(["1/8"])[0])
    require_exact(parts_agree(problem, work, cohort, Draws()))


@pytest.mark.parametrize("at_once", [None, 1, 2])
@pytest.mark.parametrize("name", CASES)
def test_in_floats(name: str, at_once: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, rng = build(name), np.random.default_rng(37)
    x = rng.normal(size=(BATCHES, problem.dimension))
    cohort, work = divided(problem, x, 0.125, direction=x + 1)
    draws = problem.draw(rng, cohort, work)
    monkeypatch.setattr(problem, "slots_at_once", at_once, raising=False)
    parts_agree(problem, work, cohort, draws)
    of_each = rng.random((*cohort.clients.shape, 1))
    correction = rng.normal(size=(*cohort.clients.shape, problem.dimension))
    parts_agree(problem, replace(work, direction=None, step_size=of_each, correction=correction), cohort, draws)


@pytest.mark.torch
def test_in_torch_with_draws_of_numpy_or_none() -> None:
    torch = pytest.importorskip("torch")
    problem = build("different curvature")
    cohort, work = divided(problem, torch.linspace(-1, 1, BATCHES, dtype=torch.float64)[:, None], 0.125)
    masks = {name: torch.from_numpy(getattr(work, name)) for name in ("steps_by", "gradient_by")}
    plain = Cohort(cohort.clients.numpy(), cohort.valid.numpy(), cohort.n_clients)
    draws = problem.draw(np.random.default_rng(38), plain, work)
    for given in (draws, Draws()):
        parts_agree(problem, replace(work, **masks), cohort, given)


def test_draws_without_batches_of_their_own_serve_all() -> None:
    """As the exact engine gives them."""
    problem = build("different curvature")
    cohort, work = divided(problem, np.linspace(-1, 1, BATCHES)[:, None], 0.125)
    draws = problem.draw(np.random.default_rng(38), cohort, work)
    assert draws.steps is not None
    parts_agree(problem, work, cohort, Draws(draws.steps[:, :1], draws.gradient[:1]))  # type: ignore[index]


class Counting(DiagonalQuadratic):
    """How many gradients were computed."""

    computed = 0

    def stochastic_gradient(self, y: Array, clients: Array, draw: Array | None) -> Array:
        self.computed += clients.size
        return super().stochastic_gradient(y, clients, draw)


@pytest.mark.parametrize(("anchors", "expected"), [(0, 5 * 2), (2, 2 + 3 * 2), (5, 5)])
def test_nobody_computes_for_nothing(anchors: int, expected: int) -> None:
    """Two steps of five clients, but a gradient for the first few of them instead."""
    problem, role = Counting(np.ones(5), np.arange(5)), np.arange(5)[None] < anchors
    clients, x = np.arange(5)[None], np.zeros((1, 1))
    work = Work(x, 2, 0.1, gradient_at=x, steps_by=~role, gradient_by=role)
    local = local_update(problem, work, Cohort(clients, clients >= 0, 5), Draws())
    assert problem.computed == expected
    assert local.delta.shape == local.gradient.shape == (1, 5, 1)  # type: ignore[union-attr]
