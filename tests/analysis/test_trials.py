"""Sides and conditions at a point: exact where the point is, and nothing that is not a number passes."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import sympy
from sympy import Max, Rational, exp, log, sqrt

from analysis.checks import all_trials
from analysis.checks.points import held_at, tally_of
from analysis.domains import Domain, Several, Whole
from analysis.trials import Sides, Trial, conditions_at, exact_value, judge
from fltheory.errors import InputError
from fltheory.ledger import ledger
from fltheory.symbols import local_lr, rounds, smoothness
from tests.analysis import toy

POINT = {"x": F(1, 3), "rounds": 2, "who": (1,)}


@pytest.mark.parametrize(
    "expression",
    [
        local_lr / 3 + Rational(1, 7),
        sqrt(smoothness) * exp(-local_lr * rounds),
        Max(1, local_lr) ** 2 - log(rounds),
        local_lr ** Rational(5, 3),
        sympy.ceiling(rounds / 2),
    ],
)
def test_exact_values_are_those_of_substitution(expression: sympy.Expr) -> None:
    constants = {"local_lr": F(2, 7), "smoothness": F(9, 5), "rounds": 5}
    names = {s: sympy.Rational(str(constants[s.name])) for s in expression.free_symbols}
    found = exact_value(expression, constants)
    assert sympy.simplify(sympy.sympify(found) - expression.subs(names)) == 0
    assert not sympy.sympify(found).atoms(sympy.Float)


def test_a_rational_value_is_a_fraction() -> None:
    assert exact_value(local_lr / 3, {"local_lr": F(1, 2)}) == F(1, 6)


@pytest.mark.parametrize("x", [F(1), 1.0, F(3, 2), 1.5])
def test_conditions(x: object) -> None:
    assert conditions_at(toy.false, {"local_lr": x, "rounds": 2}) == {"step": x == 1}


def test_a_trial_that_loses_exactness_is_told_so() -> None:
    rounding = replace(toy.trial, evaluate=lambda claim, point: Sides(0.1, F(1), {"local_lr": F(1)}))
    with pytest.raises(TypeError, match="turned an exact point into a float"):
        judge(rounding, toy.false, POINT)


def test_what_is_not_a_number_is_a_violation() -> None:
    bad = replace(toy.trial, evaluate=lambda claim, point: Sides(math.nan, 1.0, {"local_lr": 1.0}))
    assert tally_of(bad, toy.false, [{**POINT, "x": 0.5}]).witness
    assert held_at(bad, toy.false, [{**POINT, "x": 0.5}], domain="one point").verdict == "refuted"


def test_the_first_violation_and_the_largest_ratio() -> None:
    points = [{**POINT, "x": F(1, k), "rounds": r} for k in (3, 2) for r in (2, 8)]
    tally = tally_of(toy.trial, toy.false, points)
    assert (tally.cases, tally.largest) == (4, 1.04)
    assert (tally.witness["x"], tally.witness["rounds"]) == (F(1, 2), 8)
    verdicts = [held_at(toy.trial, claim, points, domain="four points").verdict for claim in (toy.false, toy.true)]
    assert verdicts == ["refuted", "exact"]
    found = held_at(toy.trial, toy.true, points, domain="four points")
    assert found.largest_at == {"x": F(1, 2), "rounds": 8, "who": (1,)}


PAPERS = ("amplified", "fedamd", "fedau", "fedlaavg")
ASSUMING = [
    pytest.param(trial, id=f"{id_}: {trial.name}")
    for id_, trials in all_trials().items()
    for trial in trials
    if ledger[id_].paper in PAPERS and ledger[id_].assumes
]


@pytest.mark.parametrize("trial", ASSUMING)
def test_every_assumption_is_listed_with_whether_the_point_has_it(trial: Trial) -> None:
    claim, rng = ledger[trial.claim_id], np.random.default_rng(5)
    for _ in range(400):
        point = {name: domain.draw(rng) for name, domain in trial.space.items()}
        try:
            found = judge(trial, claim, point)
        except (InputError, ZeroDivisionError, OverflowError):
            continue
        if found.admitted:
            break
    else:
        pytest.skip("no drawn point is admitted")
    listed = [name for name in found.sides.facts if name.startswith("assumption ")]
    assert listed == [f"assumption {a.id.partition('.')[2]} ({a.title})" for a in claim.assumes]


def test_an_assumption_that_a_point_does_not_meet_keeps_it_out() -> None:
    claim = replace(toy.false, assumes=(ledger["fedamd.A41"], ledger["fedamd.A42"]))
    half = replace(toy.trial, evaluate=lambda claim, point: replace(toy.evaluate(claim, point), met={"A41": False}))
    found = judge(half, claim, POINT)
    assert found.sides.facts["assumption A41 (Local objectives are L-smooth)"] is False
    assert not found.admitted


def test_points_outside_the_space_are_refused() -> None:
    with pytest.raises(ValueError, match="coordinate rounds"):
        tally_of(toy.trial, toy.false, [{**POINT, "rounds": 0}])


def _few(domain: Domain, rng: np.random.Generator) -> object:
    """An exact value of the domain; whole numbers among its least, so that runs are short."""
    if isinstance(domain, Whole):
        return min(domain.high, domain.low + int(rng.integers(4)))
    if isinstance(domain, Several):
        return tuple(_few(domain.of, rng) for _ in range(max(domain.least, min(domain.most, 2))))
    return domain.exact(domain.draw(rng))


@pytest.mark.parametrize("claim_id", sorted(all_trials()))
def test_at_exact_points_both_sides_are_exact(claim_id: str) -> None:
    rng = np.random.default_rng(0)
    for trial in all_trials()[claim_id]:
        judged = 0
        for _ in range(400):
            with contextlib.suppress(InputError):  # parameters that do not fit together
                judge(trial, ledger[claim_id], {name: _few(domain, rng) for name, domain in trial.space.items()})
                judged += 1
            if judged == 5:
                break
        assert judged, trial.name


def test_a_point_at_a_pole_of_the_bound_is_refused() -> None:
    trial = replace(toy.trial, evaluate=lambda claim, point: Sides(F(1), sympy.zoo))
    with pytest.raises(InputError, match="right side is a number"):
        judge(trial, toy.false, POINT)
