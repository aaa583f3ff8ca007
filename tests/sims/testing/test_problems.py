"""The strategy of problems: what is drawn keeps what it states."""

from __future__ import annotations

import numpy as np
from hypothesis import find, given, settings
from hypothesis import strategies as st

from fltheory.testing.battery import examples_of
from sims.problems.analytic import Analytic
from sims.problems.shifted import log_cosh, pseudo_huber
from sims.problems.tilted import cosine, geman_mcclure, pl_sine
from sims.testing import federated_problems

points = st.lists(st.floats(-3, 3), min_size=4, max_size=4)


@given(federated_problems(), points)
def test_the_stated_smoothness_and_minimum_hold(problem: Analytic, numbers: list[float]) -> None:
    clients = np.arange(problem.n_clients)
    x, y = (np.array(part[: problem.dimension]) for part in (numbers[:2], numbers[2:]))
    at_x, at_y = (
        np.asarray(problem.gradient(np.tile(p, (problem.n_clients, 1)), clients), dtype=float) for p in (x, y)
    )
    steep, distance = np.linalg.norm(at_x - at_y, axis=-1), float(np.linalg.norm(x - y))
    assert (steep <= float(problem.constants.smoothness) * distance * (1 + 1e-9) + 1e-12).all()
    minimum = problem.constants.minimum
    assert minimum is None or float(problem.objective(x)) >= float(minimum) - 1e-9


def test_all_six_families_with_and_without_noise() -> None:
    drawn = examples_of(federated_problems())
    shapes = {getattr(p, "shape", None) and p.shape.name for p in drawn}
    others = (log_cosh([0]), pseudo_huber([0]), cosine(), geman_mcclure(), pl_sine())
    assert shapes == {None, *(p.shape.name for p in others)}
    assert {bool(p.noise.std) for p in drawn} == {True, False}


def test_the_smallest_has_one_client_one_parameter_and_no_noise() -> None:
    smallest = find(federated_problems(), lambda p: True, settings=settings(database=None, derandomize=True))
    assert smallest.n_clients == smallest.dimension == 1
    assert smallest.noise.std == 0
