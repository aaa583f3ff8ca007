"""The statement in LaTeX says the bound with both sides, every formula and every condition, and can be typeset."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from typing import Any

import pytest
import sympy
from matplotlib.mathtext import MathTextParser

from fltheory import latex as module
from fltheory.latex import formula, inequality, statement, words
from fltheory.ledger import Claim, ledger


@pytest.mark.parametrize(
    ("said", "latex"),
    [
        ("left side of (7)", r"\text{left side of }(7)"),
        ("E||x_{r+1} - x*||^2", r"\mathbb{E}\|x_{r+1} - x^{*}\|^{2}"),
        ("Pr{v^2 >= level}", r"\Pr\{v^{2} \geq\text{ level}\}"),
        ("|x^(T_i - 1)|, F_*", r"|x^{T_{i} - 1}|, F_{*}"),
        ("f~(x) at 5%", r"\tilde{f}(x)\text{ at }5\%"),
        ("E[w | M >= 1] of a client", r"\mathbb{E}[w | M \geq 1]\text{ of a client}"),
        ("E^(1/2) in a cycle's start", r"E^{1/2}\text{ in a cycle's start}"),
        ("1{b<n} sigma_G/(Mb)", r"\mathbf{1}_{\{b<n\}} \sigma_{G}/(M b)"),
        ("sum_n q_n xi_n, |sum|", r"\sum_{n} q_{n} \xi_{n}, |\text{sum}|"),
        ("(1/T) sum of D", r"\frac{1}{T} \sum D"),
        ("sqrt((q n + m)/n) after .25", r"\sqrt{(q n + m)/n}\text{ after }.25"),
        ("2 start_distance, p_min", r"2\text{ start distance, }p_{\min}"),
        ("1/floor(T/tau)", r"1/\lfloor T/\tau \rfloor"),
    ],
)
def test_letters_and_names_are_mathematics_and_other_words_are_text(said: str, latex: str) -> None:
    assert words(said) == latex


@pytest.mark.parametrize(
    ("said", "latex"),
    [
        ("E||y_i||^2, i <= I", r"\mathbb{E}\|y_{i}\|^{2} \leq R \quad \text{for }i \leq I"),
        ("E[w^2] in round t < K", r"\mathbb{E}[w^{2}] \leq R \quad \text{in round }t < K"),
        ("E[w_t] for t >= K", r"\mathbb{E}[w_{t}] \leq R \quad \text{for }t \geq K"),
        ("sum over I < t <= T of x", r"\sum_{I < t \leq T} x \leq R"),
        ("min over t < T of x", r"\min_{t < T} x \leq R"),
        ("sum over t <= T, t odd, of x", r"\sum_{t \leq T, t\text{ odd}} x \leq R"),
        ("x where y > 0 holds", r"x\text{ where }y\text{ above }0\text{ holds} \leq R"),
        ("y - <grad g, z - y>", r"y - \langle \nabla g, z - y\rangle \leq R"),
    ],
)
def test_the_range_of_an_index_is_no_part_of_the_inequality(said: str, latex: str) -> None:
    assert inequality(said, "R") == latex


@pytest.mark.parametrize("id_", sorted(id_ for id_, claim in ledger.items() if claim.bound and not claim.latex))
def test_an_inequality_has_one_relation_beside_those_in_brackets_and_indices(id_: str) -> None:
    bound = ledger[id_].bound
    assert bound is not None
    line = inequality(bound.lhs, "R").partition(r" \quad ")[0]
    bare = re.sub(r"\\text\{([^{}]*)\}", r"\1", line.replace(r"\{", "(").replace(r"\}", ")"))
    while (inner := re.sub(r"\{[^{}]*\}|\([^()]*\)|\[[^][]*\]", "", bare)) != bare:
        bare = inner
    assert len(re.findall(r"<|>|\\leq|\\geq", bare)) == 1


def test_names_that_latex_would_confuse() -> None:
    letters = ledger["fedau.thm3"].letters
    first_line = statement(ledger["fedau.thm3"])
    assert r"\psi\left(T\right) + \gamma_{E}" in first_line
    assert r"\psi^{(1)}\left(T\right)" in formula(sympy.polygamma(1, sympy.Symbol("rounds")), letters)
    assert formula(sympy.Symbol("positive_distance") + 1, letters) == r"\text{positive distance} + 1"


def test_a_formula_for_a_quantity_of_the_paper_equals_its_letter() -> None:
    latex = statement(ledger["amplified.cor48"])
    assert r"& P = \sqrt{I} N^{\frac{5}{2}} \sqrt{T} v^2 \\" in latex
    assert r"& \gamma = \frac{1}{12 P I \sqrt{T} L} \\" in latex
    assert statement(ledger["fedlaavg.eq39"]) == r"\text{updated:}\quad \text{any client}"


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


# ---- every claim: commands that LaTeX knows, in balanced groups, with no word among the mathematics -------

COMMANDS = """
alpha approx backslash bar begin beta Big cdot check delta Delta diamond end epsilon eta exp frac gamma Gamma geq
ge hat in infty kappa lambda langle ldots left leftarrow le leq lceil lfloor log mathbb mathbf mathcal mathrm max
mid min mu nabla neg nu omega overline phi Pr psi Psi qquad quad rangle rceil rfloor rho right sigma sim sqrt sum
tau text textstyle tfrac tilde to varphi vee wedge xi zeta
"""
KNOWN = set(COMMANDS.split())
ENVIRONMENTS = {"aligned", "cases"}


def commands(latex: str) -> Iterator[str]:
    return (found[1] for found in re.finditer(r"\\([A-Za-z]+)", latex))


def mathematics(latex: str) -> str:
    """What stands outside texts and names of functions, environments and alphabets, without commands."""
    bare = re.sub(r"\\(?:text|mathrm|mathcal|mathbb|begin|end)\{[^{}]*\}", " ", latex)
    return re.sub(r"\\[A-Za-z]+|\\.", " ", bare)


def require_balanced(latex: str) -> None:
    closing = {"{": "}", r"\left": r"\right"}
    open_ = []
    for token in re.finditer(r"\\left(?![a-z])|\\right(?![a-z])|\\[A-Za-z]+|\\.|[{}]", latex):
        if token[0] in closing:
            open_.append(closing[token[0]])
        elif token[0] in closing.values():
            assert [token[0]] == open_[-1:], latex
            open_.pop()
    assert not open_, latex


@pytest.mark.parametrize("id_", sorted(ledger))
def test_every_claim_has_latex_that_can_be_typeset(id_: str) -> None:
    claim = ledger[id_]
    latex = statement(claim)
    assert bool(latex) == bool(claim.parts or claim.latex)
    require_balanced(latex)
    assert set(commands(latex)) <= KNOWN
    assert set(re.findall(r"\\begin\{(\w+)\}", latex)) <= ENVIRONMENTS
    assert re.findall(r"\\begin\{(\w+)\}", latex) == re.findall(r"\\end\{(\w+)\}", latex)[::-1]
    assert not re.search(r"[A-Za-z]{2}", mathematics(latex)), mathematics(latex)
    for text in re.findall(r"\\text\{([^{}]*)\}", latex):
        assert not re.search(r"[_^$&%#<>|\\]", text), text
    if not claim.latex:
        require_all_lines(claim, latex)


def require_all_lines(claim: Claim, latex: str) -> None:
    assert (r" \leq " in latex) or claim.bound is None
    lines = re.sub(r"\\(begin|end)\{aligned\}", "", latex).split(r" \\ & ") if "aligned" in latex else [latex]
    assert len(lines) == max(1, len(claim.parts)) or not latex or "cases" in latex
    for line in lines:
        if line and "begin" not in line and r"\frac1" not in line:  # which LaTeX knows and this parser does not
            MathTextParser("path").parse(f"${line.removeprefix('& ')}$")


def test_a_check_of_latex_can_fail() -> None:
    with pytest.raises(AssertionError):
        require_balanced(r"\frac{1}{2")
    with pytest.raises(AssertionError):
        require_balanced(r"\left( x")
    assert re.search(r"[A-Za-z]{2}", mathematics(r"\text{a word} local_lr"))


def test_what_is_said_by_data_or_in_words_alone() -> None:
    kinds: dict[str, Any] = {id_: claim.kind for id_, claim in ledger.items() if not statement(claim)}
    assert sorted(id_ for id_, kind in kinds.items() if kind != "table") == [
        "fast.sampler", "fast.settings", "fedau.C6.cyclic", "fedau.E15", "fedau.eqB64_as_printed", "fedlaavg.E25",
        "fedlaavg.alg2", "fedlaavg.exp.conv2000",
    ]  # fmt: skip


def test_a_letter_that_is_a_formula_is_bracketed_in_a_product() -> None:
    assert statement(ledger["fedlaavg.cor2"]).endswith(r"\leq G^{2} \gamma^{2} L^{2} \left(t - t_0\right)^{2}")
    assert r"N \left(\sum_n (\overline{q^n} - \mu)^2\right)" in statement(ledger["amplified.eq15"])
    assert r"\left(|x^{t-1} - x^*|\right)" not in statement(ledger["fedlaavg.thm2.eq9"])


def test_theorem_3_of_fedau() -> None:
    latex = statement(ledger["fedau.thm3"])
    average = r"\frac{1}{T} \sum_{t < T} \mathbb{E}[(p w_{t} - 1)^{2}] \leq "
    assert average + r"\left(1 - p\right)^{2 K} + \frac{2 K \log{\left(T \right)} + 3 K}{T}" in latex
    assert r"\text{condition, rounds:}\quad T \geq 2" in latex
    assert r"h(\mathbf{x})" in statement(ledger["fedau.thm1"])  # what a claim gives itself stands
