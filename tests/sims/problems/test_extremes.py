"""Numbers at the edge of floats: what is stated is right to the last digits, or refused in a sentence."""

from __future__ import annotations

import math
import pickle
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from fltheory.errors import InputError
from sims.problems import problems
from sims.problems.analytic import Analytic
from sims.problems.least_squares import LeastSquares
from sims.problems.logistic import Logistic
from sims.problems.matrix_quadratic import MatrixQuadratic
from sims.problems.quadratic import DiagonalQuadratic, linear
from sims.problems.shapes import log_cosh_shape
from sims.problems.shifted import log_cosh
from sims.problems.tilted import cosine


@pytest.mark.parametrize("z", [2e-17, 1e-16, 1e-12, 1e-3, 0.999, 1.0, 1.5, 30.0, 800.0])
def test_log_cosh_keeps_its_digits(z: float) -> None:
    with mp.workdps(60):
        true = float(mp.log(mp.cosh(mpf(z))))
    found = log_cosh_shape().value(np.array([z, -z]))
    assert found == pytest.approx([true, true], rel=4e-16)


def test_a_minimum_far_from_0_is_not_the_value_at_a_rounded_minimiser() -> None:
    centres = [1e12, 1e12 + 0.0009765625, 1e12 + 0.001953125, 1e12 + 0.0048828125]
    offsets = [mpf(b) - mpf(1e12) for b in centres]
    with mp.workdps(60):
        way = mp.findroot(lambda t: sum(mp.tanh(t - b) for b in offsets), mpf("0.002"))
        true = float(sum(mp.log(mp.cosh(way - b)) for b in offsets) / 4)
    constants = log_cosh(centres).constants
    assert constants.minimum == pytest.approx(true, rel=1e-14)
    assert constants.minimiser[0] == 1e12 + float(way)


@pytest.mark.parametrize("far", [1e3, 1e10, 1e15, 1e20])
def test_a_client_far_away_leaves_the_others_minimum_its_digits(far: float) -> None:
    for side in (-1, 1):
        found = log_cosh([side * far] + [0.0] * 9).constants.minimiser[0]
        assert found == pytest.approx(side * math.atanh(1 / 9), rel=1e-14)


def test_the_centre_of_a_nearly_singular_quadratic_is_found() -> None:
    q, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))
    curvature = q @ np.diag([1.0, 0.5, 1e-11]) @ q.T
    centre = np.array([1e12, 1e12 + 3, 1e12 - 7])
    constants = MatrixQuadratic((curvature + curvature.T) / 2, [centre]).constants
    assert np.abs(constants.minimiser - centre).max() <= np.spacing(1e12)
    assert abs(constants.minimum) < 1e-12


def test_what_logistic_regression_cannot_compute_is_refused() -> None:
    with pytest.raises(InputError, match=r"^features must be at most 1e\+70 in size"):
        Logistic([[[1e160]]], [[1]], 1)
    with pytest.raises(InputError, match=r"^l2 must be so large beside squares of the features"):
        _ = Logistic([[[1e4, 1e4]]], [[1]], 1e-12).constants
    # nearly one direction only: rounding errors of the Hessian are larger than its curvature across
    rows = np.array([[456, -1316], [-60, -773], [264, -472], [-340, 957]]) / 1e3 + 1e5
    with pytest.raises(InputError, match=r"^l2 must be so large beside squares of the features"):
        _ = Logistic([rows], [[1, -1, 1, -1]], 1e-11).constants


def test_constants_travel_to_other_workers() -> None:
    constants = log_cosh([0.0, 1.0]).constants
    copy = pickle.loads(pickle.dumps(constants))
    assert copy.heterogeneity == constants.heterogeneity
    assert (copy.minimiser == constants.minimiser).all()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (MatrixQuadratic([[2, 0], [0, 1]], [[1, 2]]), MatrixQuadratic([[2, 0], [0, 1]], [[1, 3]])),
        (linear([1, -1]), linear([[1, 0], [-1, 0]])),
        (linear([1, -1]), linear([1, 1])),  # no minimiser
    ],
)
def test_constants_are_equal_if_all_of_them_are(first: Analytic, second: Analytic) -> None:
    again = replace(first.constants)
    assert again is not first.constants
    assert again == first.constants
    assert first.constants != second.constants
    assert replace(again, smoothness=77) != again
    assert again != "constants"
    with pytest.raises(TypeError, match="unhashable"):
        hash(again)


EXTREMES = [0.0, *(sign * size for size in (1e-320, 1e-300, 1e300, 1e308) for sign in (1, -1))]
MEANS_SOMETHING = {"polyak_lojasiewicz", "heterogeneity", "gradient_bound", "client_gradient_bound"}  # where infinite


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("a", [0.0, 1e-320, 1e-300, 1e300, 1e308])
def test_every_kind_of_problem_states_finite_constants_or_is_refused(a: float) -> None:
    """No raw error, no warning, nothing that is not a number, and infinity only where it means something."""
    stated = 0
    for b in EXTREMES:
        size = abs(a) or 1.0
        for name, given in (
            ("quadratic", {"curvature": 1.0, "centre": [a, b]}),
            ("quadratic", {"curvature": [a, b], "centre": [1.0, 2.0]}),
            ("quadratic", {"curvature": size, "centre": b, "slope": [1.0, 2.0]}),
            ("linear", {"slopes": [[a, b], [b, a]]}),
            ("groups", {"centres": [a, b], "curvatures": size}),
            ("matrix-quadratic", {"curvature": [[2 * size, size], [size, 2 * size]], "centre": [[b, 1.0], [1.0, b]]}
             if size < 1e308 else {"curvature": [[size, 0.0], [0.0, size]], "centre": [[b, 1.0], [1.0, b]]}),
            ("log-cosh", {"centres": [[a, b], [b, 1.0]]}),
            ("pseudo-huber", {"centres": [a, b], "width": min(max(size, 1e-100), 1e100)}),
            ("cosine", {"slopes": [[a, b], [-a, -b]]}),
            ("geman-mcclure", {"slopes": [[a, b], [-a, -b]]}),
            ("pl-sine", {"slopes": [[a, b], [-a, -b]]}),
            ("logistic", {"features": [[[a]], [[-a], [1.0]]], "labels": [[1], [1, -1]], "l2": abs(b) or 1, "batch": 1}),
            ("least-squares", {"features": [[[a]], [[-a], [1.0]]], "labels": [[b], [1, -1]], "l2": size, "batch": 1}),
        ):  # fmt: skip
            try:
                constants = problems[name](**given).constants
            except InputError:
                continue
            stated += 1
            for constant in fields(constants):
                value = getattr(constants, constant.name)
                if constant.name == "upper" or value is None:
                    continue
                floats = np.asarray(value, dtype=np.float64)
                assert not np.isnan(floats).any(), (name, given, constant.name)
                endless = constant.name in MEANS_SOMETHING or (constant.name == "minimum" and value == -math.inf)
                endless |= name == "least-squares" and constant.name == "noise_std"
                assert endless or np.isfinite(floats).all(), (name, given, constant.name)
            assert (constants.minimiser is None) == (constants.minimum == -math.inf)
    assert stated > 30


@pytest.mark.parametrize(
    ("problem", "minimiser", "minimum"),
    [
        (lambda: DiagonalQuadratic(2.0, [1e308]), [1e308], 0.0),
        (lambda: DiagonalQuadratic(1e300, [1.0, 2.0]), [1.5], 1.25e299),
        (lambda: DiagonalQuadratic([1e308, 1e308], [1.0, 1.0]), [1.0], 0.0),
        (lambda: DiagonalQuadratic(1e-200, [1e-200, 3e-200]), [2e-200], 0.0),
        (lambda: DiagonalQuadratic([[1e300, 1e-300]], [[1e-300, 1e300]]), [1e-300, 1e300], 0.0),
        (lambda: DiagonalQuadratic([1e-200, 3e-200], [0.0, 1e200]), [7.5e199], 1.875e199),
        (lambda: MatrixQuadratic([[2e300, 1e300], [1e300, 2e300]], [[1.0, 2.0], [3.0, 1.0]]), [2.0, 1.5], 7.5e299),
        (lambda: MatrixQuadratic([[2e-200, 1e-200], [1e-200, 2e-200]], [[1e-200, 2e-200]]), [1e-200, 2e-200], 0.0),
        (lambda: cosine([1e308, 1e308, -1e308, -1e308]), [0.0], 0.0),
    ],
)
def test_what_floats_hold_is_found_though_they_overflow_on_the_way(problem, minimiser, minimum) -> None:  # type: ignore[no-untyped-def]
    constants = problem().constants
    assert constants.minimiser.tolist() == pytest.approx(minimiser, rel=4e-16, abs=0)
    assert constants.minimum == pytest.approx(minimum, rel=4e-16, abs=0)
    assert constants.minimiser.dtype == np.float64


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (lambda: DiagonalQuadratic(1.0, [1e308, -1e308]), "curvature and centre and slope .*'centre': 1e[+]308"),
        (lambda: DiagonalQuadratic(1e-320, 1.0, slope=1.0), "curvature and centre and slope .*'curvature': 1e-320"),
        (lambda: linear([[1.7e308, 1.7e308], [-1.7e308, -1.7e308]]), "curvature and centre and slope"),
        (lambda: cosine([[1.7e308, 1.7e308], [-1.7e308, -1.7e308]]), "slopes must be .*; got {'slopes': 1.7e[+]308}"),
        (lambda: LeastSquares([[[1.0]]], [[1e160]], 1), "features and labels and l2"),
        (lambda: LeastSquares([[[10**160, 1]]], [[1]], 1, 1), "features and labels and l2"),
    ],
)
def test_constants_that_floats_do_not_hold_are_refused(problem, sentence) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=f"^{sentence}"):
        _ = problem().constants


def test_exact_constants_may_be_larger_and_smaller_than_floats() -> None:
    far = DiagonalQuadratic([[1, 1], [1, 1]], [[10**200, 10**200], [0, 0]]).constants
    assert far.minimum == Fraction(10**400, 4)
    assert far.heterogeneity == pytest.approx(10**200 / math.sqrt(2), rel=4e-16)
    near = DiagonalQuadratic([[1, 1], [1, 1]], [[Fraction(1, 10**200)] * 2, [0, 0]]).constants
    assert near.heterogeneity == pytest.approx(1e-200 / math.sqrt(2), rel=4e-16)


@pytest.mark.filterwarnings("error")
def test_log_cosh_of_infinity_is_infinite() -> None:
    assert log_cosh_shape().value(np.array([math.inf, -math.inf])).tolist() == [math.inf, math.inf]


def test_a_logistic_minimiser_beyond_the_range_of_exp_is_refused() -> None:
    """Its margin solves m + log m = log(a^2 / l2) = 967, where exp(-m) is no float."""
    with pytest.raises(InputError, match=r"^l2 must be at least 1e-180, or losses at the minimiser are no floats"):
        Logistic([[[1e60]]], [[1]], 1e-300)
    margin = 1e60 * Logistic([[[1e60]]], [[1]], 1e-179).constants.minimiser[0]
    assert margin + math.log(margin) == pytest.approx(math.log(1e120 / 1e-179), rel=1e-14)
