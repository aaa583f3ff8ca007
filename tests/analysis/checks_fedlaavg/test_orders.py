"""The orders (34) and (53) hold for short steps: what is said where a claim's conditions admit longer ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sympy import Rational

from analysis.checks.fedlaavg.theorem3 import order_of_33
from analysis.checks.fedlaavg.theorem4 import order_of_52
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg.by_rounds import eq53
from fltheory.papers.fedlaavg.iterations import eq34
from fltheory.papers.fedlaavg.letters import L, T, gamma

LONGEST = {
    "1/(2L)": (gamma < 1 / (2 * L), "conditional"),
    "1/(4L)": (gamma <= 1 / (4 * L), "conditional"),
    "3/(5L)": (gamma <= Rational(3, 5) / L, "not checked"),  # also false, but not at the witness
    "1/L": (gamma <= 1 / L, "refuted"),
    "any, T >= 2": (T >= 2, "not checked"),
}


@pytest.mark.parametrize("longest", LONGEST)
@pytest.mark.parametrize(("check", "claim"), [(order_of_33, eq34), (order_of_52, eq53)], ids=["(34)", "(53)"])
def test_a_longer_step_is_never_passed_over(check: object, claim: Claim, longest: str) -> None:
    condition, verdict = LONGEST[longest]
    assert check(replace(claim, conditions={"step": condition}), "quick").verdict == verdict  # type: ignore[operator]
    assert check(replace(claim, conditions={}), "quick").verdict == "refuted"  # type: ignore[operator]
