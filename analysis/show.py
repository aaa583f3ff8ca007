"""One claim as text and as JSON: the statement from the ledger, the evidence from the recorded verdicts.

Text is in the letters of the paper, with a legend of their code names, in which witnesses and scenarios speak.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from inspect import getdoc
from itertools import groupby
from textwrap import fill
from typing import Any

import sympy

from analysis.checks import all_trials
from analysis.evidence import ratio_text
from analysis.letters import in_text, legend, meaning, symbols_of
from analysis.wording import counted
from fltheory.latex import statement
from fltheory.latex import words as in_latex
from fltheory.ledger import Claim, ledger
from fltheory.verdicts import MEANING, checks_changed, recorded

Form = Callable[[sympy.Basic], str]
_INDENT: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "  "}


def claim_as_json(claim: Claim) -> dict[str, Any]:
    """Statement and recorded evidence as a plain dictionary, and what has changed since."""
    bound, entry = claim.bound, recorded().get(claim.id)
    return {
        "id": claim.id,
        "title": claim.title,
        "kind": claim.kind,
        "where": claim.where,
        "edition": claim.edition,
        "origin": claim.origin,
        "words": claim.words,
        "latex": statement(claim),
        "assumes": [a.id for a in claim.assumes],
        "conditions": {name: str(relation) for name, relation in claim.conditions.items()},
        "formulas": {name: str(formula) for name, formula in claim.formulas.items()},
        "bound": {"lhs": bound.lhs, "rhs": str(bound.rhs), "order": bound.order} if bound else None,
        "uses": list(claim.uses),
        "repaired_by": claim.repaired_by,
        "gap": claim.gap,
        "recorded": entry,
        "claim_changed": entry is not None and _claim_changed(claim, entry),
        "checks_changed": entry is not None and checks_changed(entry),
    }


def claim_as_text(claim: Claim, latex: bool = False) -> str:
    """A referee's note: statement, letters, assumptions, conditions, bound, evidence, how to rerun."""
    entry = recorded().get(claim.id)
    repaired = ledger[claim.repaired_by] if claim.repaired_by else None
    form = in_text(claim) if repaired is None else in_text(claim, repaired)
    lines = [
        f"{claim.id}: {claim.title}",
        f"{claim.kind}, {claim.where} ({claim.edition})",
        "",
        fill(claim.words, 100),
    ]
    lines += ["", statement(claim)] if latex and statement(claim) else [] if latex else _statement_lines(claim, form)
    if claim.bound and claim.bound.order:
        order = f"{'printed as' if claim.origin == 'paper' else 'of order'} {claim.bound.order}"
        lines.append(in_latex(order) if latex else _formula(order))
    symbols = symbols_of((*claim.parts, *claim.mentions))
    letters = _letters(claim, symbols, form, latex)
    if letters:
        lines += ["", "letters (and their code names)", *letters]
    if claim.assumes:
        lines += ["", "assumes", *(f"  {a.id}: {a.title}" for a in claim.assumes)]
    if claim.uses:
        lines += ["", fill(f"rests on {', '.join(claim.uses)}", 100, subsequent_indent="  ")]
    lines += ["", *_verdict_lines(claim, entry)]
    if claim.gap:
        lines += ["", "where the printed argument needs more", fill(claim.gap, 100, **_INDENT)]
    if repaired is not None:
        lines += ["", *_repair_lines(repaired, form, latex, told=symbols)]
    paper = ledger.papers.get(claim.paper)
    if paper is not None:
        lines += ["", fill(f"reference: {paper.title}, {claim.edition}", 100)]
    if claim.unchecked:
        return "\n".join(lines)
    return "\n".join([*lines, "", f"rerun: fltheory verify {claim.id}"])


def _letters(claim: Claim, symbols: Mapping[str, sympy.Symbol], form: Form, latex: bool) -> list[str]:
    """What the letters stand for, a line each."""
    if not latex:
        return [_formula(line) for line in legend(claim, symbols, form)]
    lines = []
    for name, symbol in sorted(symbols.items()):
        code = rf"\texttt{{{name}}}".replace("_", r"\_")
        lines.append(rf"{claim.to_latex(symbol)}:\quad {code}\text{{: }}{in_latex(meaning(claim, name))}")
    return lines


def _formula(text: str) -> str:
    """An indented line, continued further in."""
    return fill(
        text, 100, initial_indent="  ", subsequent_indent="      ", break_long_words=False, break_on_hyphens=False
    )


def _statement_lines(claim: Claim, form: Form) -> list[str]:
    lines = []
    for heading, parts in (("conditions", claim.conditions), ("formulas", claim.formulas)):
        if parts:
            lines += ["", heading, *(_formula(f"{name}: {form(part)}") for name, part in parts.items())]
    return [*lines, "", "bound", *_bound_lines(claim, form)] if claim.bound else lines


def _bound_lines(claim: Claim, form: Form) -> list[str]:
    assert claim.bound is not None
    return [f"  {claim.bound.lhs}", _formula(f"<= {form(claim.bound.rhs)}")]


def _repair_lines(repaired: Claim, form: Form, latex: bool, told: Mapping[str, sympy.Symbol]) -> list[str]:
    """The statement to use instead, with the letters that were not told before, and with its own verdict."""
    lines = [f"use instead {repaired.id}: {repaired.title}", fill(repaired.words, 100, **_INDENT)]
    if latex:
        shown, stated = repaired.parts, [statement(repaired)] if statement(repaired) else []
    else:
        shown = (*repaired.conditions.values(), *([repaired.bound.rhs] if repaired.bound else []))
        stated = [_formula(f"condition {name}: {form(part)}") for name, part in repaired.conditions.items()]
        stated += _bound_lines(repaired, form) if repaired.bound else []
    symbols = symbols_of((*shown, *repaired.mentions))
    letters = _letters(repaired, {k: v for k, v in symbols.items() if k not in told}, form, latex)
    lines += [*stated, *(["  where", *letters] if letters else [])]
    entry = recorded().get(repaired.id)
    if entry is None:
        return [*lines, "  verdict: none recorded"]
    lines.append(f"  verdict: {entry['verdict']} ({MEANING[entry['verdict']]})")
    for evidence in entry["evidence"]:
        said = f"{evidence['verdict']}, by {evidence['method']}: {evidence['summary']}"
        said = " ".join([said, *(f"{line}." for line in _rests_on(evidence))])
        lines.append(fill(said, 100, **_INDENT))
    return lines


def _verdict_lines(claim: Claim, entry: dict[str, Any] | None) -> list[str]:
    if entry is None:
        return ["verdict: none recorded"]
    lines = [f"verdict: {entry['verdict']} ({MEANING[entry['verdict']]})"]
    if _claim_changed(claim, entry):
        lines.append("  STALE: the claim has changed since this was recorded")
    if checks_changed(entry):
        lines.append("  STALE: its checks have changed since this was recorded")
    if "reason" in entry:
        lines.append(f"  {entry['reason']}")
    for evidence in entry["evidence"]:
        lines += ["", fill(f"{evidence['verdict']}, by {evidence['method']}: {evidence['summary']}", 100)]
        lines += (fill(line, 100, **_INDENT) for line in _rests_on(evidence))
        if "domain" in evidence:
            cases = counted(evidence.get("cases", 0), "case")
            lines.append(fill(f"over: {evidence['domain'].removesuffix('.')} ({cases})", 100, **_INDENT))
        if "steps" in evidence:
            lines += ["  certified steps", *(f"    {step}" for step in evidence["steps"])]
        if "largest_at" in evidence and "largest" in evidence:
            where = ", ".join(f"{name} = {short(value)}" for name, value in evidence["largest_at"].items())
            ratio = ratio_text(float(evidence["largest"]), ".4g")
            lines.append(fill(f"largest ratio found, {ratio}, at {where}", 100, **_INDENT))
        if said := words_of_trial(claim, evidence):
            lines.append(fill(f"tried on: {said}", 100, **_INDENT))
        if "witness" in evidence:
            lines += ["  witness", *_witness_lines(evidence["witness"])]
    return lines


def words_of_trial(claim: Claim, evidence: Mapping[str, Any]) -> str:
    """What the trial whose point the witness of a conditional finding is says of itself; "" if there is none.

    Other findings have the words of their trial as their domain.
    """
    witness = evidence.get("witness", {})
    if evidence["verdict"] != "conditional" or not witness:
        return ""
    found = (trial for trial in all_trials().get(claim.id, []) if witness.keys() >= trial.space.keys())
    return next((" ".join((getdoc(trial.evaluate) or "").split()) for trial in found), "")


def _claim_changed(claim: Claim, entry: Mapping[str, Any]) -> bool:
    return bool(entry["claim_sha256"] != claim.digest)


def _rests_on(evidence: Mapping[str, Any]) -> list[str]:
    """What a conditional finding needs, and how a finding reads the assumptions."""
    labels = {"hypothesis": "needs", "reading": "read with"}
    return [f"{label}: {evidence[key].removesuffix('.')}" for key, label in labels.items() if key in evidence]


def _witness_lines(witness: Mapping[str, Any]) -> list[str]:
    """A line each: values first, then conditions, assumptions and facts, then both sides."""
    told = {k: v for k, v in witness.items() if not isinstance(v, bool)}
    sides = {k: told.pop(k) for k in ("left", "right") if k in told}
    held = [f"    {k}: {'holds' if v else 'fails'}" for k, v in witness.items() if isinstance(v, bool)]
    values, ends = ([f"    {k} = {short(v)}" for k, v in part.items()] for part in (told, sides))
    return [*values, *held, *ends]


def _counted_parts(text: str) -> str:
    """A long text of a tuple with equal parts in a row, which are counted."""
    if len(text) <= 100 or not re.fullmatch(r"\([^()]*\)", text):
        return text
    runs = [(part, len(list(run))) for part, run in groupby(text[1:-1].split(", "))]
    return f"({', '.join(f'{part} ({times} times)' if times > 1 else part for part, times in runs)})"


_ROOTS = re.compile(r"[\d\s()*/+-]*(sqrt\([\d/]+\)[\d\s()*/+-]*)+")


def short(value: Any) -> str:
    """On one line: a long text is cut, an exact number that is no whole one also said in decimals."""
    text = _counted_parts(str(value))
    cut = text if len(text) <= 100 else f"{text[:60]}... ({len(text)} characters)"
    try:
        return f"{cut} = {decimals}" if (decimals := _decimals(text)) else cut
    except (ArithmeticError, TypeError, ValueError):  # of no such size, or no number at all
        return cut


def _decimals(text: str) -> str:
    if re.fullmatch(r"-?\d+/\d+", text):
        return f"{float(Fraction(text)):.6g}"
    return f"{float(sympy.sympify(text)):.6g}" if _ROOTS.fullmatch(text) else ""
