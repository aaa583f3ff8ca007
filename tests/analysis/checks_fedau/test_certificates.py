"""What a certificate certifies, and what it leaves open."""

from __future__ import annotations

import pytest
import sympy

from analysis.checks import put
from analysis.checks.certificates import Fact, identity, limit_of, nonnegative, proved
from analysis.evidence import Evidence
from fltheory.papers import fedau
from fltheory.papers.fedau import I, L
from fltheory.symbols import local_lr

a, b = sympy.symbols("a b", positive=True)


@pytest.mark.parametrize("expression", [a + b, a / (1 + b), (a + b) ** 2 - a**2, sympy.Integer(0), a / b - a / (b + 1)])
def test_no_minus_sign_is_left(expression: sympy.Expr) -> None:
    assert nonnegative("", expression).holds


@pytest.mark.parametrize("expression", [a - b, -a, (a - b) ** 2, a / (1 - b)])
def test_a_minus_sign_decides_nothing(expression: sympy.Expr) -> None:
    assert not nonnegative("", expression).holds


def test_identities() -> None:
    assert identity("", (a + b) ** 2 - a**2 - 2 * a * b - b**2).holds
    assert not identity("", a - b).holds


def test_the_number_that_a_condition_leaves() -> None:
    step = local_lr * L * I
    assert limit_of(fedau.thm2, "local step", step) == 1 / (4 * sympy.sqrt(15))
    assert limit_of(fedau.thm2, "no such condition", step) == sympy.oo


def test_a_condition_on_something_else_leaves_no_number() -> None:
    wrong = put("local step", local_lr, local_lr**2).apply(fedau.thm2)
    assert limit_of(wrong, "local step", local_lr * L * I) == sympy.oo


def test_a_proof_needs_every_fact_and_no_violation() -> None:
    good, bad = Fact("one", True), Fact("two", False)
    exact, refuted = Evidence("exact", "points", "fine", cases=3), Evidence("refuted", "points", "no")
    assert proved([good], exact, "").verdict == "proved"
    assert proved([good, bad], exact, "").verdict == "not checked"
    assert proved([good], refuted, "").verdict == "refuted"
