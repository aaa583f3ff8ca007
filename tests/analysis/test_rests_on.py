"""What evidence rests on must be given by the claim; and the falsifications that anybody would try."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sympy import Max, Rational

from analysis.checks import all_checks, summands, systematic, without, without_term
from analysis.checks.tools import INDEPENDENT_NOISE, gives, made_with, reading, rests_on
from analysis.evidence import Evidence
from fltheory.errors import InputError
from fltheory.ledger import Bound, ledger
from fltheory.papers import fast
from fltheory.papers.fast import K, L, eta, m, mu, q, s
from fltheory.verdicts import Verdict

CLAIM = replace(fast.thm1, conditions={"step": eta <= 1 / (8 * L * K), "share": q >= Rational(1, 2)})


@pytest.mark.parametrize(
    ("relation", "given"),
    [
        (eta <= 1 / (8 * L * K), True),
        (eta <= 1 / (7 * L * K), True),
        (eta <= 1 / (9 * L * K), False),
        (eta < 1 / (8 * L * K), False),
        (eta >= 1 / (8 * L * K), False),
        (q >= Rational(1, 3), True),
        (q >= Rational(2, 3), False),
        (mu <= L, False),
    ],
)
def test_what_a_claim_gives(relation: object, given: bool) -> None:
    assert gives(CLAIM, relation) is given


def test_a_tighter_step_says_more() -> None:
    claim = replace(CLAIM, conditions={"step": eta <= 1 / (20 * Max(m, fast.n) * L * K)})
    assert gives(claim, eta <= 1 / (20 * Max(m, fast.n) * L * K))
    assert gives(claim, eta < 1 / (19 * Max(m, fast.n) * L * K))
    assert not gives(claim, eta < 1 / (20 * Max(m, fast.n) * L * K))
    assert not gives(claim, eta <= s / (5 * L * K))


def judged(verdict: Verdict, claim: object = CLAIM) -> Evidence:
    @rests_on({"step": eta <= 1 / (8 * L * K)})
    def check(claim: object, depth: object) -> Evidence:
        return Evidence(verdict, "m", "s", cases=3)

    return check(claim, "quick")  # type: ignore[arg-type]


@pytest.mark.parametrize("verdict", ["proved", "exact", "supported"])
def test_evidence_for_a_claim_without_it_is_conditional(verdict: Verdict) -> None:
    assert judged(verdict).verdict == verdict
    found = judged(verdict, without("step").apply(CLAIM))
    assert found.verdict == "conditional"
    assert found.hypothesis == "step: eta <= 1/(8*K*L)"
    assert "which" not in found.hypothesis


@pytest.mark.parametrize("verdict", ["refuted", "inconsistent", "conditional", "not checked"])
def test_what_speaks_against_it_stays(verdict: Verdict) -> None:
    assert judged(verdict, without("step").apply(CLAIM)).verdict == verdict


def test_evidence_for_a_claim_without_its_assumption_is_conditional() -> None:
    @made_with({"fast.ass3": "the drift of a client"})
    def check(claim: object, depth: object) -> Evidence:
        return Evidence("proved", "m", "s")

    assert check(CLAIM, "quick").verdict == "proved"  # type: ignore[arg-type]
    found = check(replace(CLAIM, assumes=(fast.ass1,)), "quick")  # type: ignore[arg-type]
    assert (found.verdict, found.hypothesis) == ("conditional", "fast.ass3: the drift of a client")
    assert found.summary == "The proof needs an assumption that the statement does not make."


def test_a_reading_keeps_its_word_and_is_said() -> None:
    @reading("noise independent over clients")
    def check(claim: object, depth: object) -> Evidence:
        return Evidence("proved", "m", "s")

    found = check(CLAIM, "quick")  # type: ignore[arg-type]
    assert (found.verdict, found.hypothesis, found.reading) == ("proved", "", "noise independent over clients")


def test_what_needs_a_hypothesis_says_its_reading_besides() -> None:
    @reading("noise independent over clients")
    def check(claim: object, depth: object) -> Evidence:
        return Evidence("conditional" if depth == "quick" else "refuted", "m", "s", hypothesis="coins")

    found = check(CLAIM, "quick")  # type: ignore[arg-type]
    assert (found.verdict, found.hypothesis, found.reading) == (
        "conditional",
        "coins",
        "noise independent over clients",
    )
    assert check(CLAIM, "deep").reading == ""  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "claim_id", ["thm31", "thm31.average", "cor32", "cor33", "cor33.repaired", "cor43", "cor48", "cor48.repaired"]
)
def test_the_bounds_with_rho_rest_on_independent_noise(claim_id: str) -> None:
    assert "amplified.ass2.independent" in ledger[f"amplified.{claim_id}"].uses


def test_a_bound_with_rho_says_that_it_uses_independent_noise() -> None:
    (check,) = [check for check in all_checks()["amplified.cor43"] if check.name == "regularised_rate"]
    found = check.function(ledger["amplified.cor43"], "quick")
    assert (found.verdict, found.reading) == ("proved", INDEPENDENT_NOISE)


def test_summands_are_dropped_one_by_one() -> None:
    names = [mutant.name for mutant in systematic(CLAIM)]
    assert "without condition step" in names
    assert sum(name.startswith("bound: without") for name in names) == 3
    claim = replace(CLAIM, bound=Bound("", (1 - q) * (eta + mu)), formulas={"a": K})
    assert summands(claim) == {eta: (1 - q) * mu, mu: (1 - q) * eta}
    assert "a: times 13/10" in [mutant.name for mutant in systematic(claim)]
    with pytest.raises(InputError, match="a summand of the bound"):
        without_term(L).apply(claim)
