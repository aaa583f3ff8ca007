"""What findings say: both sides named, numbers as sure as their digits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from sympy import log

from analysis.checks import times
from analysis.checks.fedau.cutoff import bias_at_the_chosen_cutoff, chosen_cutoff
from analysis.checks.fedau.estimator import interval_of_every_history
from analysis.checks.fedau.numbers import mean_rate_before_and_after_the_floor
from analysis.evidence import Evidence
from fltheory.papers import fedau
from fltheory.symbols import min_rate

EXACT = 0.105735  # the mean rate after the floor, from 4e6 draws: within 4e-6


@pytest.mark.parametrize("depth", ["quick", "default"])
def test_the_mean_after_the_floor_has_no_more_digits_than_are_sure(depth: Any) -> None:
    found = mean_rate_before_and_after_the_floor(fedau.C6_mean, depth)
    said = re.search(r"about (0\.\d+)", found.summary)
    assert said is not None
    error = found.witness["standard error"]
    assert abs(found.witness["mean rate"] - EXACT) < 4 * error + 4e-6
    assert abs(float(said[1]) - EXACT) < 4 * error + 0.5 * 10.0 ** -(len(said[1]) - 2)
    assert error < 1e-4


def by_hand(found: Evidence) -> tuple[float, float]:
    w = found.witness
    return abs(w["mean rate"] - w["stated mean"]), 5 * w["standard error"]


@pytest.mark.parametrize(
    ("check", "claim", "sides"),
    [
        (mean_rate_before_and_after_the_floor, fedau.C6_mean, by_hand),
        (
            interval_of_every_history,
            fedau.sec3_interval,
            lambda e: (e.witness["history"].split().index("1") + 1, e.witness["rounds"] / e.witness["participations"]),
        ),
    ],
)
def test_a_witness_names_its_sides_and_checks_by_hand(
    check: Callable[..., Evidence], claim: Any, sides: Callable[[Evidence], tuple[float, float]]
) -> None:
    found = check(claim, "quick")
    assert found.verdict == "conditional"
    assert found.witness["the left side"] != found.witness["the right side"]
    left, right = sides(found)
    assert float(found.witness["left"]) == pytest.approx(left, abs=1e-6)
    assert float(found.witness["right"]) == pytest.approx(right, abs=1e-6)


def test_no_difference_is_called_small() -> None:
    assert interval_of_every_history(fedau.sec3_interval, "quick").summary.endswith(
        "off by the unfinished last interval."
    )


def test_no_cutoff_but_the_stated_one_is_a_witness_against_the_choice_of_k() -> None:
    found = bias_at_the_chosen_cutoff(fedau.E7, "quick")
    assert (found.verdict, dict(found.witness)) == ("conditional", {})
    assert "114 at T = 100" in found.summary


def test_no_multiple_of_the_order_is_told_where_the_order_has_another_power_of_r() -> None:
    as_stated = chosen_cutoff(fedau.lemB71, "quick")
    assert "2 times it for large T, but near min p_n = 1 no fixed multiple" in as_stated.summary
    for power in (-1, 1, 3):  # R^2, 1 and R^-2 for R
        false = times("published order", log(1 / (1 - min_rate)) ** power).apply(fedau.lemB71)
        assert chosen_cutoff(false, "quick").verdict == "not checked"
