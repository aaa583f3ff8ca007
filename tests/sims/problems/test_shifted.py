"""Minima and heterogeneity of shifted shapes where slopes round to their bound, against many digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from fltheory.errors import InputError
from sims.arrays import Array
from sims.problems.base import Constants
from sims.problems.shifted import Shifted, log_cosh, pseudo_huber

EPSILON = np.finfo(float).eps


def built(centres: Any, width: float | None) -> Shifted:
    return log_cosh(centres) if width is None else pseudo_huber(centres, width)


def many_digits(centres: Array, width: float | None) -> Any:
    """The stationary point by bisection, in so many digits that no slope rounds to its bound."""
    ordered = [mpf(float(centre)) for centre in np.unique(centres)]
    span = float(ordered[-1] - ordered[0])
    mp.dps = 60 + int(span if width is None else 4 * math.log10(1 + span / width))

    def slopes(x: Any) -> Any:
        away = [x - mpf(float(centre)) for centre in centres]
        return sum(mp.tanh(z) if width is None else z / mp.sqrt(mpf(width) ** 2 + z * z) for z in away)

    low, high = ordered[0], ordered[-1]
    for centre in ordered:
        low, high = (centre, high) if slopes(centre) < 0 else (low, min(high, centre))
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (middle, high) if slopes(middle) < 0 else (low, middle)
    return (low + high) / 2


FLAT = [
    ([0, 1, 60, 62], None),
    ([0, 1, 500, 503], None),  # shortfalls underflow
    ([0, 1, 300, 310, 320], None),
    ([-50, 0, 0.1, 50], None),
    ([-50, 0.1, 0.2, 80, 90, -3], None),
    ([0, 0, 40, 40, 40, 41], None),
    ([0, 0, 1e6, 1e6 + 1], 1),
    ([0, 0, 0, 1e8], 1),
    ([0, 0, 1, 1e8, 1e8], 0.01),
    ([-1e10, 0.3, 5e9], 1),
    ([-1e30, 1, 3e30, 7e29], 1),
]


def random_centres(seed: int) -> tuple[Array, float | None]:
    """Some clients near each other, in one or two groups that are far apart, or at the same places."""
    rng = np.random.default_rng(seed)
    n_clients, width = rng.integers(2, 9), None if seed % 2 else 10.0 ** rng.uniform(-3, 3)
    centres = rng.normal(size=n_clients)
    if rng.integers(2):
        centres = np.round(3 * centres) / 3
    return centres + rng.choice([0, 45] if width is None else [0, 1e7], size=n_clients), width


@pytest.mark.parametrize(("centres", "width"), [*FLAT, *map(random_centres, range(40))])
def test_minimisers_against_sixty_digits(centres: Any, width: float | None) -> None:
    found = built(centres, width).constants.minimiser[0]
    size = max(abs(found), np.ptp(centres))
    assert abs(float(mpf(float(found)) - many_digits(np.array(centres, dtype=float), width))) <= 2 * EPSILON * size


def test_minimisers_of_several_parameters_are_those_of_each() -> None:
    columns = [centres for centres, width in FLAT if width is None and len(centres) == 4]
    alone = [log_cosh(column).constants.minimiser[0] for column in columns]
    assert log_cosh(np.transpose(columns)).constants.minimiser.tolist() == alone


@pytest.mark.parametrize(
    ("build_it", "message"),
    [
        (lambda: pseudo_huber([0, 1e160]), r"centres must be at most 1e\+50 apart; got "),
        (lambda: log_cosh([-1e308, 1e308]), r"centres must be at most 1e\+50 apart; got "),
        (lambda: pseudo_huber([[0, 0], [0, 1]], 1e-51), "centres must be at most 0.1 apart; got "),
        (lambda: pseudo_huber([0], 1e-160), "width must be between 1e-100 and 1e100; got 1e-160"),
        (lambda: pseudo_huber([0], 10**160), "width must be between 1e-100 and 1e100; got "),
    ],
)
def test_what_floats_cannot_hold_is_refused(build_it: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        build_it()


@pytest.mark.parametrize("width", [1e-100, 1, 1e100])
def test_the_farthest_centres_have_finite_constants(width: float) -> None:
    """Where all four slopes are at the bound, 3/4 of the mean is on one side."""
    constants = pseudo_huber(np.array([0, 0, 0, 1e50]) * width, width).constants
    assert constants.minimum / width**2 == pytest.approx(2.5e49, rel=1e-12)
    assert constants.heterogeneity / width == pytest.approx(1.5, rel=1e-12)
    assert constants.gradient_bound == width


def test_slopes_far_away_are_the_bound() -> None:
    """The square of the distance over the width is no float."""
    problem, clients = pseudo_huber([0], 1e-3), np.array([0])
    assert problem.gradient(np.array([[1e200]]), clients)[0, 0] == 1e-3
    assert problem.value(np.array([[1e200]]), clients)[0] == pytest.approx(1e197, rel=1e-15)


@pytest.mark.parametrize("width", [1e3, 1e7, 1e12, 1e100])
def test_heterogeneity_of_a_wide_shape_is_that_of_its_parabola(width: float) -> None:
    """Up to 1 / width, and to what rounding of slopes of the order of the width hides."""
    heterogeneity = pseudo_huber([[0, 1], [1, 3]], width).constants.heterogeneity
    assert math.sqrt(5) / 2 * (1 - 1 / width) <= heterogeneity <= math.sqrt(5) / 2 * (1 + 4 / width + 1e-11)


def test_heterogeneity_is_searched_for_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(Shifted, "_heterogeneity", lambda self: asked.append(self) or 3)
    problem = log_cosh([0, 1])
    constants = problem.constants
    assert (constants.smoothness, constants.minimiser.tolist(), asked) == (1, [0.5], [])
    assert (constants.heterogeneity, problem.constants.heterogeneity, asked) == (3, 3, [problem])


@pytest.mark.parametrize("width", [None, 0.5])
def test_heterogeneity_of_several_parameters_needs_few_of_the_clients(
    width: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    centres = np.random.default_rng(5).normal(size=(40, 2)).round(1)
    problem = built(centres, width)
    of_all = [
        math.hypot(*(problem._largest_gap(column, b) for column, b in zip(centres.T, row, strict=True)))
        for row in centres
    ]
    search, seen = Shifted._largest_gap, []

    def counted(self: Shifted, column: Array, centre: float) -> float:
        seen.append(centre)
        return search(self, column, centre)

    monkeypatch.setattr(Shifted, "_largest_gap", counted)
    assert problem.constants.heterogeneity == pytest.approx(max(of_all), rel=1e-12)
    assert len(seen) < 20


def test_constants_need_their_heterogeneity() -> None:
    with pytest.raises(TypeError, match="heterogeneity"):
        Constants(smoothness=1)  # type: ignore[call-arg]
