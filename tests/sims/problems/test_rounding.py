"""Constants of problems in floats are those of the same problem in rationals, wherever its centres are."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from fltheory.errors import InputError
from sims.problems import problems
from sims.problems.logistic import Logistic
from sims.problems.matrix_quadratic import MatrixQuadratic
from sims.problems.quadratic import DiagonalQuadratic, linear
from sims.problems.tilted import cosine

FAR = {
    "matrix": (
        "matrix-quadratic",
        {"curvature": [[2.0, 1.0], [1.0, 2.0]], "centre": [[1e8, 1e8 + 1], [1e8 + 2, 1e8], [1e8, 1e8]]},
    ),
    "matrices that are nearly singular": (
        "matrix-quadratic",
        {
            "curvature": [[[1.0, 0.0], [0.0, 1e-9]], [[1e-9, 0.0], [0.0, 1e-9]]],
            "centre": [[1e4, 1e4 + 1], [1e4 + 2, 1e4]],
        },
    ),
    "shared curvature": ("quadratic", {"curvature": [0.1] * 3, "centre": [1e15, 1e15 + 1, 1e15 + 3]}),
    "different curvature": ("quadratic", {"curvature": [0.1, 0.2, 0.7], "centre": [1e12, 1e12 + 1, 1e12 + 3]}),
    "a flat direction": ("quadratic", {"curvature": [[0.1, 0.0]] * 2, "centre": [[1e12, 7.0], [1e12 + 1, 0.0]]}),
    "lines that all but cancel": ("linear", {"slopes": [0.1, 0.2, -0.3]}),
    "means of samples": (
        "least-squares",
        {"features": [[[1.0]], [[1.0], [1.0]]], "labels": [[1e8], [1e8 + 1, 1e8 + 3]], "batch": 1},
    ),
    "two features": (
        "least-squares",
        {
            "features": [[[1.0, 2.0], [3.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]],
            "labels": [[1e8, 0.0], [1e8 + 1, 1e8 + 3]],
            "l2": 2.0**-30,
            "batch": 1,
        },
    ),
}


def exactly(value: Any) -> Any:
    if isinstance(value, list):
        return [exactly(inner) for inner in value]
    return Fraction(value) if isinstance(value, float) else value


@pytest.mark.parametrize("name", FAR)
def test_floats_state_what_rationals_state(name: str) -> None:
    kind, parameters = FAR[name]
    found = vars(problems[kind](**parameters).constants)
    true = vars(problems[kind](**{key: exactly(value) for key, value in parameters.items()}).constants)
    minimiser, truly = found.pop("minimiser"), true.pop("minimiser")
    assert (minimiser is None) == (truly is None)
    if truly is not None:
        np.testing.assert_allclose(minimiser, truly.astype(float), rtol=0, atol=4e-16 * float(np.abs(truly).max()))
    for constant, value in true.items():
        if constant != "upper":
            assert float(found[constant]) == pytest.approx(float(value), rel=1e-13, abs=0), constant


@pytest.mark.parametrize(
    ("features", "labels", "l2"),
    [
        ([[[1.0]], [[2.0]]], [[1], [1]], 1e-10),
        ([[[1.0]], [[2.0]]], [[1], [1]], 1e-100),
        ([[[1e8], [1.0]], [[1e-8]]], [[1, 1], [-1]], 1e-20),
        ([[[100.0]], [[200.0], [150.0]]], [[1], [1, 1]], 1e-200),
    ],
)
def test_logistic_minima_of_separable_data_against_sixty_digits(features: Any, labels: Any, l2: float) -> None:
    """The slopes there are as small as l2, far below the rounding of 1."""
    mp.dps = 60
    clients = [
        [(mpf(a), y) for (a,), y in zip(rows, signs, strict=True)] for rows, signs in zip(features, labels, strict=True)
    ]

    def mean(of: Callable[[Any], Any]) -> Any:
        return sum(sum(of(y * a) for a, y in samples) / len(samples) for samples in clients) / len(clients)

    low, high = mpf(0), mpf(300)
    for _ in range(100):
        middle = (low + high) / 2
        rises = mean(lambda a, x=middle: -a / (1 + mp.exp(a * x))) + mpf(l2) * middle > 0
        low, high = (low, middle) if rises else (middle, high)
    constants = Logistic(features, labels, l2).constants
    assert constants.minimiser[0] == pytest.approx(float(low), rel=1e-14)
    true = mean(lambda a: mp.log1p(mp.exp(-a * low))) + mpf(l2) * low**2 / 2
    assert constants.minimum == pytest.approx(float(true), rel=1e-13)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_heterogeneity_does_not_overflow_or_underflow(size: float) -> None:
    for problem in (
        cosine([[3 * size, 4 * size], [-3 * size, -4 * size]]),
        linear([[3 * size, 4 * size], [-3 * size, -4 * size]]),
        DiagonalQuadratic(size, [[3.0, 4.0], [-3.0, -4.0]]),
        MatrixQuadratic([[size, 0.0], [0.0, size]], [[3.0, 4.0], [-3.0, -4.0]]),
    ):
        assert problem.constants.heterogeneity == pytest.approx(5 * size, rel=1e-15)


def test_curvatures_that_all_but_cancel_must_be_exact() -> None:
    with pytest.raises(
        InputError, match=r"^curvature must be exact .* where those of the clients all but cancel; got "
    ):
        _ = DiagonalQuadratic([0.1, 0.2, -0.3], [1.0, 2.0, 3.0]).constants
    assert DiagonalQuadratic(["1/10", "1/5", "-3/10"], [1, 2, 3]).constants.minimum == -math.inf
    assert DiagonalQuadratic([0.5, -0.5], [1.0, 1.0]).constants.polyak_lojasiewicz == math.inf  # f = 0
