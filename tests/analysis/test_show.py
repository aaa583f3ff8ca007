"""A claim as text: one alphabet a page, every letter explained, witnesses in an order that can be read."""

from __future__ import annotations

import re

import pytest

from analysis.letters import in_text, letters_of, plain, symbols_of
from analysis.report.claim import claim_page
from analysis.report.facts import Facts
from analysis.show import claim_as_text, short
from fltheory.latex import statement, words
from fltheory.ledger import ledger
from fltheory.verdicts import recorded
from tests.analysis import toy


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\sigma", "sigma"),
        (r"L_\sigma", "L_sigma"),
        (r"\tilde\delta(P)", "delta(P)"),
        (r"\tilde{\delta}", "delta~"),
        (r"(F(\tilde x_0) - F_*)", "(F(x_0) - F_*)"),
        (r"\mathbf{1}_{\{b < n\}}", "1{b<n}"),
        (r"p_{\min}", "p_min"),
        (r"\|\nabla F(\tilde x_t)\|", "|grad F(x_t)|"),
        (r"\bar D", "D_bar"),
        (r"\hat v^2", "v_hat^2"),
        (r"\omega", "w"),
    ],
)
def test_letters_without_commands(latex: str, text: str) -> None:
    assert plain(latex) == text


def test_a_formula_is_no_letter_and_no_letter_serves_two() -> None:
    letters = letters_of(ledger["fedau.thm2"], ["weight_mismatch", "largest_weight_error", "local_lr"])
    assert letters == {
        "weight_mismatch": "weight_mismatch", "largest_weight_error": "largest_weight_error", "local_lr": "gamma",
    }  # fmt: skip
    both = letters_of(ledger["fedlaavg.thm3"], ["example_lr", "local_lr"])
    assert both == {"example_lr": "gamma", "local_lr": "local_lr"}


def test_powers_of_squares_are_told_apart() -> None:
    claim = ledger["amplified.eq15.improved"]
    form = in_text(claim)
    (variance,) = (s for s in claim.bound.rhs.free_symbols if s.name == "weight_variance")  # type: ignore[union-attr]
    assert form(variance) == "v^2"
    assert form(variance**2 + 1) == "(v^2)^2 + 1"


@pytest.mark.parametrize("id_", sorted(ledger))
def test_the_letters_of_a_page_are_those_of_its_formulas(id_: str) -> None:
    claim = ledger[id_]
    repaired = ledger[claim.repaired_by] if claim.repaired_by else None
    form = in_text(claim) if repaired is None else in_text(claim, repaired)
    page = claim_as_text(claim)
    own, _, rest = page.partition("letters (and their code names)\n")
    told = code_names(rest.partition("\n\n")[0])
    assert told == set(symbols_of((*claim.parts, *claim.mentions)))
    for part in claim.parts:
        assert "\\" not in form(part)
    for name, symbol in symbols_of(claim.parts).items():
        shown = own.replace("\n", " ")
        assert form(symbol) in shown, name
    if repaired is not None:
        shown_parts = [*repaired.conditions.values(), *([repaired.bound.rhs] if repaired.bound else [])]
        where = page.partition("\nuse instead ")[2].partition("\n  where\n")[2].partition("\n  verdict")[0]
        assert code_names(where) == set(symbols_of((*shown_parts, *repaired.mentions))) - told


def code_names(lines: str) -> set[str]:
    """Of a legend, whose lines all have a meaning."""
    joined = re.sub(r"\n {6}", " ", lines)
    found = [re.fullmatch(r"  (?:.+ = )?(\w+): \S.*", line) for line in joined.splitlines()]
    assert all(found), lines
    return {line[1] for line in found if line}


# The mean, and the number of an iteration, which are letters of the papers too.
USUAL = {r"\mathbb{E}", "t"}


@pytest.mark.parametrize("id_", sorted(id_ for id_, claim in ledger.items() if claim.bound))
def test_the_letters_of_a_left_side_are_explained(id_: str) -> None:
    claim = ledger[id_]
    assert claim.bound is not None
    bare = re.sub(r"\\(?:text|hat)\{[^{}]*\}|\\mathbb\{E\}", " ", words(claim.bound.lhs))
    used = set(re.findall(r"\\?[A-Za-z]+(?:_\{?\w\}?)?", bare.replace("{", "").replace("}", "")))
    explained = {claim.letters.get(name, name) for name in symbols_of((*claim.parts, *claim.mentions))}
    assert (used & set(claim.letters.values())) - explained <= USUAL


def test_a_legend_is_held_against_what_the_symbols_of_the_paper_mean() -> None:
    page = claim_as_text(ledger["fast.alg2"])
    assert "accuracy: accuracy after the round" in page  # and not FedAMD's accuracy, a target
    latex = claim_as_text(ledger["fedamd.thm44"], latex=True)
    assert r"\tau:\quad \texttt{anchor\_period}\text{: }\text{rounds from one anchor round to the next}" in latex
    assert statement(ledger["fedamd.thm44.repaired"]) in latex
    assert latex.count(r"\texttt{miner\_rounds}") == 1
    assert "miner" not in latex.partition("verdict:")[0]


def test_a_page_speaks_one_alphabet() -> None:
    page = claim_as_text(ledger["fedlaavg.thm3"])
    statement = page[: page.index("letters (and")]
    assert "gamma < 1/(2*L)" in statement
    assert "local_lr" not in statement
    assert "gamma = local_lr: local step size" in page
    assert "local_lr = 1/1024 = 0.000976562" in page  # a witness has code names
    assert r"\frac" in claim_as_text(ledger["fedlaavg.thm3"], latex=True)


def test_a_number_that_is_none_is_shown_as_it_stands() -> None:
    large = "9" * 5000 + "/7"
    assert short("1/4") == "1/4 = 0.25"
    assert short("1/0") == "1/0"
    assert short(f"({'-2.0, ' * 43}{', '.join(['2.0'] * 21)})") == "(-2.0 (43 times), 2.0 (21 times))"
    assert short("1/sqrt(0)") == "1/sqrt(0)"
    assert short(large) == f"{large[:60]}... (5002 characters)"


def test_a_witness_has_values_then_what_holds_then_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    witness = {"left": "1/3 + 2*sqrt(2)", "condition 'step'": True, "x": "1/4", "right": 1, "somebody": False}
    evidence = {"verdict": "refuted", "method": "exact", "summary": "No.", "domain": "One.", "witness": witness}
    evidence |= {"largest": 0.91234, "largest_at": {"x": "1/4", "rounds": 3}}
    entry = {"verdict": "refuted", "claim_sha256": toy.false.digest, "evidence": [{**evidence, "cases": 1}]}
    monkeypatch.setattr("analysis.show.recorded", lambda: {toy.false.id: entry})
    lines = claim_as_text(toy.false).splitlines()
    first = lines.index("  witness")
    assert lines[first - 2] == "  over: One (1 case)"
    assert lines[first - 1] == "  largest ratio found, 0.9123, at x = 1/4 = 0.25, rounds = 3"
    assert lines[first + 1 : first + 6] == [
        "    x = 1/4 = 0.25", "    condition 'step': holds", "    somebody: fails",
        "    left = 1/3 + 2*sqrt(2) = 3.16176", "    right = 1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("id_", "said"),
    [
        ("fedamd.lemE1b", "clients F_m = h_m x^2/2, h_m in `curvatures`, from x_0 = 1"),
        ("fedamd.lemE2", "`local` is eta_l K L, `move` eta_s eta_l K L"),
        ("fedamd.lemE3", "`reading` says what E g_t is"),
        ("fedamd.cor412", "u = `scale`; L = mu `condition`"),
        ("fedlaavg.lem3", "`policy` says who is wanted next: entry number s"),
        ("fedlaavg.eq24", "`wish` has a number for each iteration"),
        ("fedlaavg.eq42", "`wish` has a number for each round"),
    ],
)
def test_the_coordinates_of_a_conditional_witness_are_explained(id_: str, said: str) -> None:
    """Nobody can check by hand a point whose coordinates are not said to be of anything."""
    page = " ".join(claim_as_text(ledger[id_]).split())
    assert said in page.partition(" tried on: ")[2].partition(" witness ")[0]
    assert "Tried on" in claim_page(Facts(recorded(), {}, frozenset(), {id_: []}), ledger[id_])
