"""The statement in LaTeX says the bound with both sides, every formula and every condition, and can be typeset."""

from __future__ import annotations

import doctest
import re
from typing import Any

import pytest
import sympy
from matplotlib.mathtext import MathTextParser

from analysis import latex as module
from analysis.latex import statement, text
from analysis.show import claim_as_json, claim_as_text
from fltheory.ledger import ledger


@pytest.mark.parametrize(
    ("words", "latex"),
    [
        ("left side of (7)", r"\text{left side of (7)}"),
        ("E||x_{r+1} - x*||^2", r"\text{E||x}_{r+1}\text{ - x*||}^{2}"),
        ("Pr{v^2 >= level}", r"\text{Pr}\{\text{v}^{2}\text{ }\geq \text{ level}\}"),
        ("|x^(T_i - 1)|, F_*", r"\text{|x}^{(T_{i} - 1)}\text{|, F}_{*}"),
        ("f~(x) at 5%", r"\text{f}{}^{\sim}\text{(x) at 5}\%"),
    ],
)
def test_words_become_text_with_indices_powers_and_signs(words: str, latex: str) -> None:
    assert text(words) == latex


@pytest.mark.parametrize(
    ("words", "latex"),
    [
        ("E||y_i||^2, i <= I", r"\text{E||y}_{i}\text{||}^{2} \leq R \quad \text{for }i \leq I"),
        ("E[w^2] in round t < K", r"\text{E[w}^{2}\text{]} \leq R \quad \text{in round }t < K"),
        ("E[w_t] for t >= K", r"\text{E[w}_{t}\text{]} \leq R \quad \text{for }t \geq K"),
        ("sum over I < t <= T of x", r"\text{sum}_{I < t \leq T}\text{ x} \leq R"),
        ("sum over t <= T, t odd, of x", r"\text{sum}_{t \leq T\text{, t odd}}\text{ x} \leq R"),
        ("x where y > 0 holds", r"\text{x where y above 0 holds} \leq R"),
        ("y - <grad g, z - y>", r"\text{y - }\langle \text{grad g, z - y}\rangle  \leq R"),
    ],
)
def test_the_range_of_an_index_is_no_part_of_the_inequality(words: str, latex: str) -> None:
    assert module._inequality(words, "R") == latex


@pytest.mark.parametrize("id_", sorted(id_ for id_, claim in ledger.items() if claim.bound and not claim.latex))
def test_an_inequality_has_one_relation_beside_those_in_brackets_and_indices(id_: str) -> None:
    bound = ledger[id_].bound
    assert bound is not None
    line = module._inequality(bound.lhs, "R").partition(r" \quad ")[0]
    bare = re.sub(r"\\text\{([^{}]*)\}", r"\1", line.replace(r"\{", "(").replace(r"\}", ")"))
    while (inner := re.sub(r"\{[^{}]*\}|\([^()]*\)|\[[^][]*\]", "", bare)) != bare:
        bare = inner
    assert len(re.findall(r"<|>|\\leq|\\geq", bare)) == 1


def test_names_that_latex_would_confuse() -> None:
    first_line = statement(ledger["fedau.thm3"])
    assert r"\psi\left(T\right) + \gamma_{E}" in first_line
    assert r"\psi^{(1)}\left(T\right)" in module._formula(
        ledger["fedau.thm3"], sympy.polygamma(1, sympy.Symbol("rounds"))
    )
    word = sympy.Symbol("positive_distance")
    assert module._formula(ledger["fedau.thm3"], word + 1) == r"\text{positive distance} + 1"
    assert all("mathrm{" not in s or r"\_" not in s for s in map(statement, ledger.values()))


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


def parts_of(claim: Any) -> list[Any]:
    return [*claim.formulas.values(), *claim.conditions.values(), *([claim.bound.rhs] if claim.bound else [])]


@pytest.mark.parametrize("id_", sorted(ledger))
def test_every_claim_with_formulas_has_latex_that_can_be_typeset(id_: str) -> None:
    claim = ledger[id_]
    latex = claim_as_json(claim)["latex"]
    assert bool(latex) == bool(parts_of(claim) or claim.latex)
    if not latex or claim.latex:
        return
    assert (r" \leq " in latex) or claim.bound is None
    lines = re.sub(r"\\(begin|end)\{aligned\}", "", latex).split(r" \\ & ") if "aligned" in latex else [latex]
    assert len(lines) == len(parts_of(claim)) or "cases" in latex
    bare = re.sub(r"\\[{}]", "", latex)
    assert bare.count("{") == bare.count("}")
    for line in lines:
        if "begin" not in line and r"\frac1" not in line:  # which LaTeX knows and this parser does not
            MathTextParser("path").parse(f"${line.removeprefix('& ')}$")


def test_a_letter_that_is_a_formula_is_bracketed_in_a_product() -> None:
    assert statement(ledger["fedlaavg.cor2"]).endswith(r"\leq G^{2} \gamma^{2} L^{2} \left(t - t_0\right)^{2}")
    assert r"N \left(\sum_n (\overline{q^n} - \mu)^2\right)" in statement(ledger["amplified.eq15"])
    assert r"\left(|x^{t-1} - x^*|\right)" not in statement(ledger["fedlaavg.thm2.eq9"])


def test_theorem_3_of_fedau() -> None:
    latex = statement(ledger["fedau.thm3"])
    average = r"\text{(1/T) sum}_{t < T}\text{ E[(p w}_{t}\text{ - 1)}^{2}\text{]} \leq "
    assert average + r"\left(1 - p\right)^{2 K} + \frac{2 K \log{\left(T \right)} + 3 K}{T}" in latex
    assert r"\text{condition, rounds:}\quad T \geq 2" in latex
    page = claim_as_text(ledger["fedau.thm3"], latex=True)
    assert page.count(latex) == 1
    assert r"h(\mathbf{x})" in claim_as_json(ledger["fedau.thm1"])["latex"]  # what a claim gives itself stands
