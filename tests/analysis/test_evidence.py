"""Verdict words never exceed what was found."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from analysis.checks.certificates import Fact, chain, confirmed, joined
from analysis.evidence import Evidence, Tally, algebra, conditional, ratio_text
from fltheory.distributions.symbolic import Step
from fltheory.verdicts import VERDICTS, headline


def tally(*cases: tuple[object, object], slack: float = 0.0) -> Tally:
    made = Tally(slack=slack)
    for left, right in cases:
        made.at_most(left, right, case=f"{left}<={right}")
    return made


def test_the_headline_is_the_worst_evidence() -> None:
    assert headline(["proved", "exact", "conditional"]) == "conditional"
    assert headline(["proved"]) == "proved"
    assert headline([]) == "not checked"
    assert VERDICTS[0] == "refuted"
    assert VERDICTS[-1] == "proved"


def test_a_violation_refutes_and_keeps_its_witness() -> None:
    good = tally((1, 2), (2, 2)).evidence("exact", "m", "s", domain="d", ratio=True)
    assert (good.verdict, good.largest, good.cases) == ("exact", 1.0, 2)
    bad = tally((1, 2), (3, 2), (9, 2)).evidence("exact", "m", "s", domain="d")
    assert bad.verdict == "refuted"
    assert bad.witness == {"case": "3<=2", "left": 3, "right": 2}


def test_exact_comparisons_grant_nothing() -> None:
    just_above = Fraction(1) + Fraction(1, 10**30)
    assert tally((just_above, Fraction(1))).witness
    assert not tally((1 + 1e-13, 1.0), slack=1e-12).witness
    assert tally((1 + 1e-11, 1.0), slack=1e-12).witness


@pytest.mark.parametrize("left", [float("nan"), float("inf")])
def test_nan_and_infinity_never_pass(left: float) -> None:
    assert tally((left, 1.0), slack=1e-12).witness
    equal = Tally(slack=1e-12)
    equal.equal(left, 1.0)
    assert equal.witness


def test_conditional_needs_both_a_failure_and_a_cure() -> None:
    holds, fails = tally((1, 2)), tally((3, 2))

    def judge(as_stated: Tally, cured: Tally) -> Evidence:
        return conditional(as_stated, cured, "h", "m", "s", domain="d")

    assert judge(fails, holds).verdict == "conditional"
    assert judge(holds, holds).verdict == "exact"
    assert judge(fails, fails).verdict == "refuted"
    assert judge(holds, fails).verdict == "refuted"


def test_algebra_refutes_only_with_a_number() -> None:
    x = sympy.Symbol("x", positive=True)
    assert algebra([Step("zero", (x + 1) ** 2 - x**2 - 2 * x - 1)], "proved", "s").verdict == "proved"
    sampled = algebra([Step("one", x)], "proved", "s", sample=lambda e: e.subs(x, 3))
    assert (sampled.verdict, sampled.witness["residual"]) == ("refuted", 3)
    assert algebra([Step("undecided", x)], "proved", "s").verdict == "not checked"


def test_evidence_is_plain_json() -> None:
    found = Evidence("exact", "m", "s", cases=3, largest=1 / 3, witness={"p": Fraction(1, 3), "K": 2})
    assert json.loads(json.dumps(found.to_json()))["witness"] == {"p": "1/3", "K": 2}


def test_numbers_of_thousands_of_digits_are_evidence_too() -> None:
    made = Tally()
    made.at_most(1 + Fraction(1, 3**30_000), Fraction(1), case="long")
    found = made.evidence("exact", "m", "s", domain="d")
    assert found.verdict == "refuted"
    assert json.loads(json.dumps(found.to_json()))["witness"]["left"].startswith("0x")


def test_numbers_that_json_does_not_have_are_texts() -> None:
    tally = Tally()
    tally.at_most(1, 0, far=float("inf"), near=0.5, who=(1.5, 2))
    found = replace(tally.evidence("exact", "m", "s", domain="d"), largest=tally.largest).to_json()
    assert (found["largest"], found["witness"]["far"], found["witness"]["near"]) == ("inf", "inf", 0.5)
    json.dumps(found, allow_nan=False)


def test_the_place_of_the_largest_ratio_is_kept() -> None:
    made = Tally()
    for k, left in enumerate((1, 3, 3 * (1 + 1e-12), 2)):
        made.at_most(left, 4, k=k, share=1 / 3)
    found = made.evidence("exact", "m", "s", domain="d", ratio=True)
    assert found.largest_at == {"k": 1, "share": 0.333333}  # no other place within rounding, and no last digits
    assert found.to_json()["largest_at"] == found.largest_at
    assert "largest_at" not in made.evidence("exact", "m", "s", domain="d").to_json()


@pytest.mark.parametrize(
    ("ratio", "form", "text"),
    [
        (0.98765, ".3f", "0.988"),
        (0.9995, ".3f", "0.9995"),
        (0.99999996, ".3f", "0.99999996"),
        (1 - 1e-15, ".3f", "1.000"),
        (1.0004, ".3f", "1.0004"),
        (7.25, ".3f", "7.250"),
        (0.0123456, ".4g", "0.01235"),
        (0.99999, ".4g", "0.99999"),
        (1.0, ".4g", "1"),
        (float("inf"), ".3f", "inf"),
    ],
)
def test_a_ratio_below_1_never_reads_as_1(ratio: float, form: str, text: str) -> None:
    assert ratio_text(ratio, form) == text


def test_nothing_decided_is_not_checked() -> None:
    assert Tally().evidence("exact", "m", "s", domain="d").verdict == "not checked"
    assert conditional(tally((3, 2)), Tally(), "h", "m", "s", domain="d").verdict == "not checked"


def test_a_proof_says_what_it_ranges_over_and_lists_its_steps_apart() -> None:
    proof = chain([Fact("one", True), Fact("two", True)], "s", "all x")
    points = Evidence("exact", "m", "s", "few x", 1)
    assert (proof.domain, proof.to_json()["steps"]) == ("all x", ("one", "two"))
    found = confirmed(proof, joined(points, Evidence("exact", "m", "s", "other x", 1)))
    assert (found.domain, found.steps) == ("all x; points: few x; other x", ("one", "two"))
    assert "steps" not in points.to_json()
