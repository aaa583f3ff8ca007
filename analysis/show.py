"""One claim as text and as JSON: the statement from the ledger, the evidence from the recorded verdicts."""

from __future__ import annotations

import re
from fractions import Fraction
from textwrap import fill
from typing import Any

import sympy

from fltheory.ledger import Claim, ledger
from fltheory.verdicts import MEANING, recorded

_INDENT: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "  "}


def claim_as_json(claim: Claim) -> dict[str, Any]:
    """Statement and recorded evidence as a plain dictionary."""
    bound = claim.bound
    return {
        "id": claim.id,
        "title": claim.title,
        "kind": claim.kind,
        "where": claim.where,
        "edition": claim.edition,
        "origin": claim.origin,
        "words": claim.words,
        "latex": claim.latex,
        "assumes": [a.id for a in claim.assumes],
        "conditions": {name: str(relation) for name, relation in claim.conditions.items()},
        "formulas": {name: str(formula) for name, formula in claim.formulas.items()},
        "bound": {"lhs": bound.lhs, "rhs": str(bound.rhs), "order": bound.order} if bound else None,
        "uses": list(claim.uses),
        "repaired_by": claim.repaired_by,
        "gap": claim.gap,
        "recorded": recorded().get(claim.id),
    }


def claim_as_text(claim: Claim, latex: bool = False) -> str:
    """A referee's note: statement, assumptions, conditions, bound, evidence, how to rerun."""
    form = claim.to_latex if latex else _in_letters(claim)
    entry = recorded().get(claim.id)
    lines = [
        f"{claim.id}: {claim.title}",
        f"{claim.kind}, {claim.where} ({claim.edition})",
        "",
        fill(claim.words, 100),
    ]
    if claim.latex and latex:
        lines += ["", claim.latex]
    for heading, parts in (("conditions", claim.conditions), ("formulas", claim.formulas)):
        if parts:
            lines += ["", heading, *(f"  {name}: {form(part)}" for name, part in parts.items())]
    if claim.bound:
        lines += ["", "bound", f"  {claim.bound.lhs}", f"  <= {form(claim.bound.rhs)}"]
        if claim.bound.order:
            lines.append(f"  printed as {claim.bound.order}")
    if claim.assumes:
        lines += ["", "assumes", *(f"  {a.id}: {a.title}" for a in claim.assumes)]
    if claim.uses:
        lines += ["", f"rests on {', '.join(claim.uses)}"]
    lines += ["", *_verdict_lines(claim, entry)]
    if claim.gap:
        lines += ["", "where the printed argument needs more", fill(claim.gap, 100, **_INDENT)]
    if claim.repaired_by:
        lines += ["", *_repair_lines(ledger[claim.repaired_by], form)]
    paper = ledger.papers.get(claim.paper)
    if paper is not None:
        lines += ["", fill(f"reference: {paper.title}, {claim.edition}", 100)]
    if claim.unchecked:
        return "\n".join(lines)
    return "\n".join([*lines, "", f"rerun: fltheory verify {claim.id}"])


def _repair_lines(repaired: Claim, form: Any) -> list[str]:
    """The statement to use instead, with its own verdict."""
    lines = [f"use instead {repaired.id}: {repaired.title}", fill(repaired.words, 100, **_INDENT)]
    lines += [f"  condition {name}: {form(part)}" for name, part in repaired.conditions.items()]
    if repaired.bound:
        lines += [f"  {repaired.bound.lhs}", f"  <= {form(repaired.bound.rhs)}"]
    entry = recorded().get(repaired.id)
    if entry is None:
        return [*lines, "  verdict: none recorded"]
    lines.append(f"  verdict: {entry['verdict']} ({MEANING[entry['verdict']]})")
    for evidence in entry["evidence"]:
        needs = f" Needs: {evidence['hypothesis']}." if "hypothesis" in evidence else ""
        said = f"{evidence['verdict']}, by {evidence['method']}: {evidence['summary']}{needs}"
        lines.append(fill(said, 100, **_INDENT))
    return lines


def _in_letters(claim: Claim) -> Any:
    """Plain text in short letters: code names stay where the paper's letter is a LaTeX command."""
    plain = {name: letter for name, letter in claim.letters.items() if letter.isalnum()}

    def form(expression: sympy.Basic) -> str:
        renamed = {s: sympy.Symbol(plain[s.name]) for s in expression.free_symbols if s.name in plain}
        with sympy.evaluate(False):
            return str(expression.xreplace(renamed))

    return form


def _verdict_lines(claim: Claim, entry: dict[str, Any] | None) -> list[str]:
    if entry is None:
        return ["verdict: none recorded"]
    lines = [f"verdict: {entry['verdict']} ({MEANING[entry['verdict']]})"]
    if entry["claim_sha256"] != claim.digest:
        lines.append("  STALE: the claim has changed since this was recorded")
    if "reason" in entry:
        lines.append(f"  {entry['reason']}")
    for evidence in entry["evidence"]:
        lines += ["", fill(f"{evidence['verdict']}, by {evidence['method']}: {evidence['summary']}", 100)]
        if "hypothesis" in evidence:
            lines.append(f"  needs: {evidence['hypothesis']}")
        if "domain" in evidence:
            lines.append(fill(f"over: {evidence['domain']} ({evidence.get('cases', 0)} cases)", 100, **_INDENT))
        if "witness" in evidence:
            lines += ["  witness", *(f"    {k} = {_short(v)}" for k, v in evidence["witness"].items())]
    return lines


def _short(value: Any) -> str:
    """On one line: a long text is cut, a fraction also said in decimals."""
    text = str(value)
    short = text if len(text) <= 100 else f"{text[:60]}... ({len(text)} characters)"
    return f"{short} = {float(Fraction(text)):.6g}" if re.fullmatch(r"-?\d+/\d+", text) else short
