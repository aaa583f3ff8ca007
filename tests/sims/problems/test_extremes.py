"""Numbers at the edge of floats: what is stated is right to the last digits, or refused in a sentence."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from mpmath import mp, mpf

from fltheory.errors import InputError
from sims.problems.logistic import Logistic
from sims.problems.matrix_quadratic import MatrixQuadratic
from sims.problems.shapes import log_cosh_shape
from sims.problems.shifted import log_cosh


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


def test_constants_travel_to_other_workers() -> None:
    constants = log_cosh([0.0, 1.0]).constants
    copy = pickle.loads(pickle.dumps(constants))
    assert copy.heterogeneity == constants.heterogeneity
    assert (copy.minimiser == constants.minimiser).all()
