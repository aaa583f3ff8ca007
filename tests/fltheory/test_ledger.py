"""Claims, bounds and look-up."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from html import escape
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy

from fltheory.errors import InputError
from fltheory.latex import statement
from fltheory.ledger import Bound, Paper, ledger
from fltheory.symbols import QUANTITIES, Constants, cutoff, noise_std, quantity, rate, round_index, rounds
from fltheory.units import GRADIENT, ONE


def test_bound_at_explicit_values() -> None:
    bound = ledger["fedau.thm3"].bound
    assert bound is not None
    value = (3 * 50 + 2 * 50 * math.log(1000)) / 1000 + 0.9**100
    assert bound.at(rate=0.1, cutoff=50, rounds=1000) == pytest.approx(value, rel=1e-14)
    assert bound.at(rate=0.1, cutoff=math.inf, rounds=1000) == math.inf


def test_constants_feed_every_bound_and_may_know_more_than_one_needs() -> None:
    constants = Constants(rate=0.1, cutoff=5, rounds=10, noise_std=1.0)
    bound = Bound("x", rate * cutoff)
    assert bound.at(constants) == pytest.approx(0.5)
    assert bound.at(constants, rate=0.2) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"rate": 0.1, "cutof": 5}, "did you mean 'cutoff'"),
        ({"rate": 0.1}, "missing: cutoff"),
        ({"rate": 1.5, "cutoff": 5}, r"rate must be probability in \(0, 1\]; got 1.5"),
        ({"rate": math.nan, "cutoff": 5}, "rate must be"),
        ({"rate": 0.1, "cutoff": 2.5}, "cutoff must be whole number"),
        ({"rate": 0.1, "cutoff": 0}, "cutoff must be whole number"),
        ({"rate": "0.1", "cutoff": 5}, r"rate must be probability in \(0, 1\]; got '0.1'"),
        ({"rate": [0.1, 0.2], "cutoff": 5}, r"rate must be probability in \(0, 1\]; got \[0.1, 0.2\]"),
        ({"rate": np.array([0.1, 0.2]), "cutoff": 5}, "rate must be probability"),
        ({"rate": 0.1, "cutoff": True}, "cutoff must be whole number >= 1, or infinity; got True"),
    ],
)
def test_bad_constants_are_one_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Bound("x", rate * cutoff).at(**values)


def test_a_bound_at_the_edge_of_its_domain_has_its_limit() -> None:
    bound = ledger["fedau.lemB71"].bound
    assert bound is not None
    assert bound.at(rounds=1000, min_rate=1) == pytest.approx((2 * math.log(1000) + 4) / 1000, rel=1e-14)
    assert bound.at(rounds=1000, min_rate=1.0) == bound.at(rounds=1000, min_rate=1)
    assert bound.at(rounds=1000, min_rate=1) == pytest.approx(bound.at(rounds=1000, min_rate=1 - 1e-16), rel=0.1)
    assert Bound("x", cutoff * (1 - rate)).at(cutoff=math.inf, rate=1) == 0  # it is 0 for every cutoff
    assert Bound("x", rate * 2.0**1000 * rounds**cutoff).at(rate=1, rounds=10**9, cutoff=200) == math.inf


@pytest.mark.parametrize("p", [9e-5, 1e-8, 1e-12, 1e-15, 3e-16])
def test_small_rates_keep_their_digits(p: float) -> None:
    """1 - p in floats: Lemma B.7.1 came out 10 % too small at p = 1e-15."""
    with mpmath.workdps(50):
        t = mpmath.mpf(100)
        exact = (mpmath.log(t) / (-2 * mpmath.log1p(-mpmath.mpf(p))) + 1) * (2 * mpmath.log(t) + 3) / t + 1 / t
        assert ledger["fedau.lemB71"].bound.at(min_rate=p, rounds=100) == pytest.approx(float(exact), rel=1e-14)
        cutoff, last = round(1 / p), 10**18
        exact = (1 - mpmath.mpf(p)) ** (2 * cutoff) + cutoff * (2 * mpmath.log(last) + 3) / last
        found = ledger["fedau.thm3"].bound.at(rate=p, cutoff=cutoff, rounds=last)
        assert found == pytest.approx(float(exact), rel=1e-14)


def test_harmonic_numbers_of_many_terms_are_not_added_up() -> None:
    """The first line of Theorem 3 has one of as many terms as there are rounds."""
    bound = Bound("x", ledger["fedau.thm3"].formulas["first line"])
    assert bound.at(rate=1e-6, cutoff=10, rounds=10**9) == pytest.approx((1 - 1e-6) ** 20, rel=1e-6)


@pytest.mark.parametrize("p", [5e-324, 1e-320, 1e-20, np.float64(1e-20), Fraction(1, 10**30)])
def test_the_smallest_rates_have_the_limits_of_all_others(p: float) -> None:
    """1 - p is 1 in floats; numpy's warnings of overflow would be errors here."""
    theorem, improved = (ledger[id_].bound for id_ in ("fedau.thm3", "fedau.thm3.improved"))
    assert theorem is not None
    assert improved is not None
    assert theorem.at(rate=p, cutoff=math.inf, rounds=1000) == math.inf
    assert improved.at(rate=p, cutoff=math.inf, rounds=1000, interval_variance=0) == pytest.approx(1 / p / 1000)
    assert Bound("x", (1 - rate) ** cutoff).at(rate=p, cutoff=math.inf) == 0
    assert Bound("x", (1 - rate) ** rounds / cutoff).at(rate=p, cutoff=math.inf, rounds=10**9) == 0
    assert Bound("x", cutoff * sympy.log(1 / rate) / rate).at(rate=p, cutoff=10**300) == math.inf


def test_an_infinity_of_floats_alone_is_no_value() -> None:
    small = np.float64(1e-200)
    assert Bound("x", noise_std**2 * rate**2 * cutoff).at(noise_std=1e200, rate=small, cutoff=3) == pytest.approx(3)
    with pytest.raises(InputError, match="is defined"):
        Bound("x", rate / round_index).at(rate=np.float64(0.5), round_index=np.int64(0))


@pytest.mark.parametrize(
    ("id_", "values"),
    [
        ("fedau.eqB68c", {"cutoff": math.inf, "round_index": 0, "rate": 0.1}),
        ("fedau.eqB68c", {"cutoff": 5, "round_index": 0, "rate": 0.1}),
        ("fedau.eqB68c", {"cutoff": 5, "round_index": 0, "rate": 1}),  # 0/0
        ("fedamd.thm48", {"anchor_probability": 1}),
    ],
)
def test_a_bound_that_is_undefined_says_so_in_one_sentence(id_: str, values: dict[str, Any]) -> None:
    bound = ledger[id_].bound
    assert bound is not None
    rest = {symbol.name: 1 for symbol in bound.rhs.free_symbols} | values
    with pytest.raises(InputError, match=r"constants must be ones at which .* is defined; got \{") as caught:
        bound.at(**rest)
    assert "\n" not in str(caught.value)


def test_no_bound_at_the_edges_of_its_domain_raises_anything_else() -> None:
    edges = {
        "probability in (0, 1]": (0.01, 1),
        "whole number >= 1, or infinity": (1, math.inf),
        "whole number >= 1": (1, 40),
        "whole number >= 0": (0, 40),
        "> 0": (0.5, 2),
        ">= 0": (0, 2),
        "a probability in [0, 1]": (0, 1),
        "0 or 1": (0, 1),
    }
    for claim in ledger.values():
        names = sorted(symbol.name for symbol in claim.bound.rhs.free_symbols) if claim.bound else []
        for choice in ((0, 0), (1, 1), (0, 1), (1, 0)):
            values = {name: edges[QUANTITIES[name].domain][choice[i % 2]] for i, name in enumerate(names)}
            with suppress(InputError):
                assert claim.bound is None or not math.isnan(claim.bound.at(**values))


def test_a_bound_is_an_expression_or_a_number() -> None:
    paper = Paper("numbers", "A constant", edition="draft")
    claim = paper.claim("c", "c", kind="theorem", where="c", words="c", bound=Bound("E", 5))  # type: ignore[arg-type]
    assert claim.bound is not None
    assert (claim.bound.rhs, claim.bound.at()) == (sympy.Integer(5), 5.0)
    assert statement(claim)
    claim.bound.check_units()
    for bad in ("5", "rate", None, True, rate < 1, [rate], sympy.zoo, sympy.nan, sympy.Matrix([1])):
        with pytest.raises(InputError, match="right-hand side of a bound must be a sympy expression or a number"):
            Bound("E", bad)  # type: ignore[arg-type]


def test_conditions_and_formulas_may_be_plain_numbers() -> None:
    paper = Paper("plain", "Numbers", edition="draft")
    formulas = {"two": 2, "half": 0.5, "third": Fraction(1, 3), "rate": rate}
    claim = paper.claim("c", "c", kind="lemma", where="c", words="c", formulas=formulas, conditions={"yes": True})
    assert claim.formulas == {"two": sympy.Integer(2), "half": 0.5, "third": sympy.Rational(1, 3), "rate": rate}
    assert claim.conditions == {"yes": sympy.true}
    assert r"\frac{1}{3}" in statement(claim)
    assert claim.digest == replace(claim, formulas=claim.formulas | {"two": sympy.Integer(2)}).digest
    for bad in ("2", None, [rate]):
        with pytest.raises(InputError, match=r"^formula 'x' of plain\.d must be a sympy expression or a number; got "):
            paper.claim("d", "d", kind="lemma", where="d", words="d", formulas={"x": bad})
    for bad in ("rate < 1", None, 0.5, rate, [rate < 1]):
        with pytest.raises(InputError, match=r"^condition 'x' of plain\.d must be a sympy relation or a truth value; "):
            paper.claim("d", "d", kind="lemma", where="d", words="d", conditions={"x": bad})


def test_a_code_name_has_one_meaning() -> None:
    assert quantity("rate", ONE, "probability in (0, 1]", "participation rate of a client") == rate
    with pytest.raises(InputError, match="not yet taken"):
        quantity("rate", GRADIENT, "> 0", "something else")


def test_units_of_a_bound_are_checked_against_its_left_hand_side() -> None:
    Bound("squared gradient", noise_std**2, unit=GRADIENT**2).check_units()
    with pytest.raises(InputError, match="unit of the bound"):
        Bound("squared gradient", noise_std, unit=GRADIENT**2).check_units()


def test_lookup_suggests_what_exists() -> None:
    with pytest.raises(KeyError, match=r"did you mean .*fedau\.thm3"):
        ledger["fedau.thm33"]
    assert "fedau.thm33" not in ledger
    with pytest.raises(InputError, match=r"^claim id must be .*; got 3$"):
        ledger[3]  # type: ignore[index]


def test_ids_are_unique_and_references_exist() -> None:
    paper = Paper("mine", "t", edition="e")
    paper.claim("a", "t", kind="remark", where="w", words="x")
    with pytest.raises(InputError, match="taken"):
        paper.claim("a", "t", kind="remark", where="w", words="x")
    for claim in ledger.values():
        for other in (*claim.uses, *([claim.repaired_by] if claim.repaired_by else [])):
            assert other in ledger, f"{claim.id} refers to {other}"


def test_the_digest_changes_with_every_part_of_the_statement() -> None:
    claim = ledger["fedau.thm3"]
    assert claim.bound is not None
    changed = [
        replace(claim, words=claim.words + "!"),
        replace(claim, conditions={}),
        replace(claim, formulas={}),
        replace(claim, bound=replace(claim.bound, rhs=claim.bound.rhs * 2)),
    ]
    assert len({claim.digest, *(c.digest for c in changed)}) == 5
    assert replace(claim).digest == claim.digest


def test_claims_render_in_a_notebook() -> None:
    claim = ledger["fedau.lemB61"]
    assert "fedau.lemB61" in claim._repr_html_()
    assert r"\frac" in claim._repr_latex_()
    assert claim.to_latex(rounds / cutoff) == r"\frac{T}{K}"
    assert claim.to_latex(sympy.Symbol("unnamed")) == r"\text{unnamed}"
    bound = ledger["fedau.thm3"]  # the same statement everywhere
    assert bound._repr_latex_() == f"$${statement(bound)}$$"
    assert escape(statement(bound)) in bound._repr_html_()
    assert ledger["fedau.E15"]._repr_latex_() == ledger["fedau.E15"].words
