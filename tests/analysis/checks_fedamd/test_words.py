"""What FedAMD's checks say: sentences with numbers, one rule for rounded figures, and what they use."""

from __future__ import annotations

import re
from fractions import Fraction as F

import numpy as np
import pytest

from analysis.checks import all_checks, all_trials, without
from analysis.checks.fedamd import full, order, searching
from analysis.evidence import Evidence
from analysis.trials import conditions_at
from fltheory.errors import InputError
from fltheory.ledger import ledger


def found(name: str, check: str) -> Evidence:
    (one,) = (c for c in all_checks()[name] if c.name == check)
    return one.function(ledger[name], "quick")


@pytest.mark.parametrize(
    ("name", "check", "verdict", "numbers"),
    [
        ("fedamd.sec5.savings", "least_savings", "inconsistent", ("29.76 %", "28.62 %", "30 % and 29 %", "30 %.")),
        ("fedamd.sec5.rounds", "fewer_rounds", "inconsistent", ("21.31 %", "7.56 %", "21 % and 8 %", "10 to 20 %")),
        ("fedamd.sec5.gain40", "largest_gain", "exact", ("6.3 points", "82.3 against 76.0", "6 to whole", "up to 6")),
        ("fedamd.eq42", "cross_term", "refuted", ("cross term is not zero", "is 1/500 |g|^2 more")),
    ],
)
def test_figures_are_read_to_the_digits_that_are_printed(name, check, verdict, numbers):
    evidence = found(name, check)
    assert evidence.verdict == verdict
    assert all(number in evidence.summary for number in numbers)
    assert "{" not in evidence.summary
    assert "violated" not in evidence.summary


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("fedamd.law.noise", "error_in_two_parts"),
        ("fedamd.thm44.repaired", "miner_rounds_on_quadratics"),
        ("fedamd.thm411", "contraction_at_the_printed_step"),
    ],
)
def test_noise_over_clients_is_named(name, check):
    evidence = found(name, check)
    assert (evidence.verdict, evidence.reading) == ("proved", searching.INDEPENDENT)
    assert "independent over clients" in ledger["fedamd.A42"].gap


@pytest.mark.parametrize("name", ["thm46", "thm46.repaired", "thm48", "thm48.repaired", "thm411", "thm411.improved"])
def test_theorems_with_few_anchors_rest_on_the_start_of_the_caches(name):
    rests, open_ = set(), [f"fedamd.{name}"]
    while open_:
        rests.add(id_ := open_.pop())
        open_ += ledger[id_].uses
    assert "fedamd.alg1.init" in rests


@pytest.mark.parametrize(
    ("name", "check", "assumptions"),
    [
        ("fedamd.A43.remark", "noise_that_bends_at_a_point", ("A42",)),
        ("fedamd.eq96", "no_meaning_serves_both", ("A41", "A42")),
    ],
)
def test_witnesses_list_their_assumptions(name, check, assumptions):
    witness = found(name, check).witness
    for short in assumptions:
        assert [value for key, value in witness.items() if key.startswith(f"assumption {short} ")] == [True]


def test_constants_of_the_order_fit_every_period_of_the_grid():
    """At default depth tau = 3000 asks for the constant 4504.5, which was out of the trial's space."""
    largest = F(3, 2) * (max(point["anchor_period"] for point in full.grid("default")) + 3)
    assert order.cycles_against_a_constant.space["order_constant"].contains(largest)


@pytest.mark.parametrize("name", ["fedamd.thm44", "fedamd.thm48"])
def test_an_objective_that_falls_without_end_is_named(name):
    """The initial gap would be -1/4, which is no fault of the gap but of the curvature."""
    trial = all_trials()[name][0]
    point = {coordinate: domain.draw(np.random.default_rng(0)) for coordinate, domain in trial.space.items()}
    curvatures = {"curvatures": (F(-1, 2),), **({"cohort_size": 1} if "cohort_size" in point else {})}
    with pytest.raises(InputError, match="mean of coordinate curvatures must be >= 0, so that the objective is bound"):
        trial.evaluate(ledger[name], point | curvatures)


def test_no_words_have_a_stray_underscore():
    texts = [(id_, text) for id_, claim in ledger.items() for text in (claim.title, claim.words, claim.gap)]
    assert not [id_ for id_, text in texts if re.search(r"(^|\s)_[a-z]", text)]


@pytest.mark.parametrize("name", ["fedamd.thm411", "fedamd.thm411.improved"])
def test_long_local_steps_refute_the_linear_rate_without_their_condition(name):
    """One client, K = 2 local steps of 100/L: E F grows by orders of magnitude in 20 rounds."""
    (check,) = (c for c in all_checks()[name] if c.name.startswith("contraction"))
    evidence = check.function(without("local step").apply(ledger[name]), "quick")
    assert evidence.verdict == "refuted"
    assert evidence.witness["left"] > 10**6 * evidence.witness["right"]


def test_the_witness_against_158_takes_a_local_step_that_theorem_4_8_allows() -> None:
    noise = {"noise_smoothness": 0, "batch_size": 1}
    at = {**found("fedamd.eq158", "coefficient_of_the_move").witness, **noise}
    assert all(conditions_at(ledger["fedamd.thm48"], at).values())
