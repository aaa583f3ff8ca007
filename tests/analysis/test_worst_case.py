"""Worst cases by semidefinite programming: closed forms, falsified lemmas, quadratics that stay below, the command."""

from __future__ import annotations

import itertools
import json
import sys
from math import sqrt
from typing import Any

import numpy as np
import pytest

pytest.importorskip("PEPit", reason="needs the extra pep")

from analysis.checks import mutate, times
from analysis.worst_case import LEMMAS, textbook
from analysis.worst_case.lemmas import WorstCase, judge
from analysis.worst_case.problem import Problem, Solution
from analysis.worst_case.steps import JUST_BELOW
from analysis.worst_case_command import worst_cases
from fltheory.errors import InputError
from fltheory.ledger import Claim, ledger


def claim_of(id_: str) -> Claim:
    claim = LEMMAS[id_].claim or ledger.get(id_)
    if claim is None:
        pytest.skip(f"{id_} is not in the ledger")
    return claim


def compared(case: WorstCase) -> WorstCase:
    if case.status == "not compared":
        pytest.skip(f"the ledger has no bound of {case.claim_id} in the constants of its problem")
    return case


# ---- closed forms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("smoothness", "rounds"), [(1, 1), (2, 3), (0.5, 5)])
def test_gradient_descent_has_the_worst_case_of_drori_and_teboulle(smoothness: float, rounds: int) -> None:
    case = LEMMAS["textbook.gradient-descent"].at({"smoothness": smoothness, "rounds": rounds})
    assert case.solution.upper == pytest.approx(smoothness / (4 * rounds + 2), rel=1e-6)
    assert (case.status, case.solution.status) == ("tight", "optimal")
    assert case.ratio == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("lemma", ["textbook.gradient-step", "textbook.sgd-step"])
def test_the_descent_lemma_is_attained(lemma: str) -> None:
    assert {LEMMAS[lemma].at(point).status for point in LEMMAS[lemma].points} == {"tight"}


def test_textbook_bounds_have_the_unit_of_a_loss() -> None:
    for claim in textbook.paper.claims.values():
        assert claim.bound is not None
        claim.bound.check_units()


@pytest.mark.parametrize("ratio", [0.05, 0.4, 0.8])
def test_perturbed_strong_convexity_needs_only_the_mean_of_both_constants(ratio: float) -> None:
    """Attained by curvature L on one side of x and mu on the other, y and z on opposite sides at equal distance."""
    case = LEMMAS["fast.lem2"].at({"smoothness": 2, "strong_convexity": 2 * ratio})
    assert case.solution.upper == pytest.approx((2 + 2 * ratio) / 2, rel=1e-6)


@pytest.mark.parametrize("steps", [1, 3])
def test_drift_is_attained_by_curvature_minus_l(steps: int) -> None:
    case = LEMMAS["fedau.lemB32"].at({"smoothness": 1, "local_steps": steps, "gradient": 0.5, "divergence": 2})
    lr = JUST_BELOW / (sqrt(30) * steps)
    assert case.solution.upper == pytest.approx((2.5 * ((1 + lr) ** steps - 1)) ** 2, rel=1e-5)


def test_one_local_step_of_everyone_is_a_gradient_step() -> None:
    point = {"smoothness": 1, "local_steps": 1, "rates": (1, 1), "weights": (1, 1), "gradient": 2, "divergence": 1}
    step = JUST_BELOW / 4
    case = LEMMAS["fedau.lemB51"].at(point)
    assert case.solution.upper == pytest.approx(4 * (step / 4 - step * (1 - step / 2)), rel=1e-5)


def test_one_miner_step_along_the_cached_gradient() -> None:
    """K = 1: -<grad F, g> + |g|^2/2 is (|g - grad F|^2 - |grad F|^2)/2, whoever steps."""
    lemma = LEMMAS["fedamd.lemE3.repaired"]
    point = lemma.points[0] | {"local_steps": 1, "gradient_norm": 0.5, "cache_error": 2}
    eta, moving = JUST_BELOW / (2 * sqrt(6)), 1 - 0.5**2
    assert lemma.at(point).solution.upper == pytest.approx(eta * moving * (2**2 - 0.5**2) / 2, rel=1e-5)


# ---- what holds, and what does not -------------------------------------------------------------------------


@pytest.mark.parametrize("lemma", LEMMAS)
def test_no_lemma_is_violated(lemma: str) -> None:
    claim_of(lemma)
    point = LEMMAS[lemma].points[-1]
    case = compared(LEMMAS[lemma].at(point))
    assert case.status in ("tight", "upper")
    assert case.solution.status == "optimal"
    assert abs(case.solution.gap) < 1e-6


# A lemma, and which of its parameters have a positive worst case of more than half the claimed value.
NEARLY_TIGHT = [
    ("textbook.gradient-descent", 0),
    ("textbook.sgd-step", 1),
    ("fedau.lemB31", 0),
    ("fedlaavg.eq21", 0),
    ("fedamd.lemB3", -1),
    ("fedamd.lemE3.repaired", 0),
    ("fast.lem1", 0),
    ("fast.lem2", 0),
]


@pytest.mark.parametrize(("lemma", "which"), NEARLY_TIGHT)
def test_a_halved_constant_is_violated(lemma: str, which: int) -> None:
    claim, point = claim_of(lemma), LEMMAS[lemma].points[which]
    compared(LEMMAS[lemma].at(point))
    assert LEMMAS[lemma].at(point, times(LEMMAS[lemma].part, "1/2").apply(claim)).status == "violated"


def test_a_doubled_constant_is_no_longer_tight() -> None:
    lemma = LEMMAS["textbook.gradient-descent"]
    assert lemma.claim is not None
    assert lemma.at(lemma.points[0], times("bound", 2).apply(lemma.claim)).status == "upper"


def test_more_functions_than_the_lemma_has_decide_nothing_against_it() -> None:
    lemma = LEMMAS["fedau.lemB32"]
    assert lemma.scope == "outer"
    claim = times("bound", "1/100").apply(claim_of("fedau.lemB32"))
    assert lemma.at(lemma.points[0], claim).status == "undecided"


@pytest.mark.parametrize(
    ("claimed", "scope", "status"),
    [
        (2, "exact", "upper"),
        (2, "outer", "upper"),
        (2, "inner", "undecided"),
        (1, "exact", "tight"),
        (1, "inner", "tight"),
        (1, "outer", "upper"),
        (0.5, "exact", "violated"),
        (0.5, "inner", "violated"),
        (0.5, "outer", "undecided"),
    ],
)
def test_what_each_scope_can_tell(claimed: float, scope: Any, status: str) -> None:
    assert judge(Solution(1 - 1e-9, 1 + 1e-9, 0, "optimal", "any"), claimed, scope) == status


def test_without_convergence_nothing_is_decided() -> None:
    assert judge(Solution(1, 1, 0, "optimal_inaccurate", "any"), 0.5, "exact") == "undecided"


def test_an_unbounded_problem_is_no_worst_case() -> None:
    problem = Problem()
    function = problem.smooth(1)
    problem.maximise(function(problem.point()))
    assert problem.solve().status != "optimal"


def test_parameters_outside_a_condition_are_refused() -> None:
    claim = mutate("local step", "halved", lambda e: e.func(2 * e.lhs, e.rhs)).apply(claim_of("fedau.lemB32"))
    with pytest.raises(InputError, match="local step"):
        LEMMAS["fedau.lemB32"].at(LEMMAS["fedau.lemB32"].points[0], claim)


def test_unknown_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="smoothness, rounds"):
        LEMMAS["textbook.gradient-descent"].at({"smoothness": 1})


# ---- an independent run ------------------------------------------------------------------------------------


def change(point: dict[str, Any], bends: np.ndarray, slopes: np.ndarray) -> float:
    """What fedau.lemB51 bounds, for quadratics F_n(x) = b_n x^2/2 + s_n x at x = 0, by running the round."""
    steps, rates, weights = point["local_steps"], point["rates"], point["weights"]
    lr, both = JUST_BELOW / (4 * sqrt(15) * steps), JUST_BELOW / (4 * steps)
    local = np.zeros(len(rates))
    for _ in range(steps):
        local = local - lr * (bends * local + slopes)
    expected = 0.0
    for here in itertools.product((0, 1), repeat=len(rates)):
        chance = np.prod([p if k else 1 - p for p, k in zip(rates, here, strict=True)])
        x = both / lr * float(np.mean(np.array(here) * weights * local))
        expected += chance * float(np.mean(bends * x**2 / 2 + slopes * x))
    return expected + both * steps / 4 * float(np.mean(slopes)) ** 2


@pytest.mark.parametrize("point", LEMMAS["fedau.lemB51"].points[::4])
def test_quadratics_stay_below_the_worst_case(point: dict[str, Any]) -> None:
    case = LEMMAS["fedau.lemB51"].at(point)
    corners = itertools.product((-1, 0, 1), (-1, 0, 1), (-1, 1))
    found = max(
        change(point, np.array([a, b]), point["gradient"] + sign * point["divergence"] * np.array([1, -1]))
        for a, b, sign in corners
        if a == b  # else the divergence has no bound
    )
    assert found <= case.solution.upper + 1e-7
    assert found > case.solution.upper - 0.3 * abs(case.solution.upper)


# ---- the command -------------------------------------------------------------------------------------------


def test_the_table_tells_solver_and_gap() -> None:
    text, violated = worst_cases(["textbook", "fedau.lemB31"])
    assert not violated
    assert "fedau.lemB31" in text
    assert "Clarabel" in text
    assert "primal-dual gap" in text
    assert "supremum" not in text


def test_json_has_every_certificate() -> None:
    text, _ = worst_cases(["textbook.gradient-descent"], as_json=True)
    cases = json.loads(text)
    assert [case["parameters"]["rounds"] for case in cases] == [1, 2, 4]
    assert all(case["status"] == "tight" and case["certificate"]["status"] == "optimal" for case in cases)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InputError, match=r"fedau\.lemB31"):
        worst_cases(["fedau.lemB3"])


@pytest.mark.parametrize("missing", ["PEPit", "cvxpy", "clarabel"])
def test_without_the_extra_one_sentence_says_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InputError, match=rf"{missing} .*fltheory\[pep\]") as caught:
        worst_cases(["textbook"])
    assert "\n" not in str(caught.value)
