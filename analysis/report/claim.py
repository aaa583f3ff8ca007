"""The page of one claim: the referee's note of `fltheory show`, with formulas set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.evidence import ratio_text
from analysis.letters import meaning, symbols_of
from analysis.report.claims import badge, link
from analysis.report.facts import AGAINST, MEANINGS, Facts
from analysis.report.html import Html, element, items, join, page, prose, section, table, terms
from analysis.report.mathematics import block, inline, part
from analysis.show import short, words_of_trial
from analysis.wording import counted
from fltheory.latex import words
from fltheory.ledger import Claim, ledger

ROOT = "../"
ORIGIN = {"paper": "printed in the paper", "ours": "ours: it does not stand in the paper"}


def claim_page(facts: Facts, claim: Claim, exhibits: Sequence[str] = ()) -> str:
    """Statement, letters, evidence and its witnesses, what it rests on and what rests on it, how to rerun.

    exhibits   names of the figures and tables that show it
    """
    paper = ledger.papers[claim.paper]
    return page(
        claim.title,
        element(
            "p",
            element("code", claim.id),
            f": {claim.kind}, {claim.where}, ",
            element("a", paper.title, href=f"{ROOT}papers/{paper.name}.html"),
            f", {claim.edition}; {ORIGIN[claim.origin]}.",
        ),
        _verdict(facts, claim),
        section("Statement", element("p", prose(claim.words)), block(claim.latex), *_formal(claim)),
        section("Letters", _letters(claim)),
        section("Assumes", items(join(link(a, ROOT), f": {a.title}") for a in claim.assumes) if claim.assumes else ""),
        section("Evidence", *(_evidence(claim, evidence) for evidence in facts.evidence(claim))),
        section("Where the printed argument needs more", element("p", prose(claim.gap)) if claim.gap else ""),
        section("Use instead", _repair(facts, claim)),
        section("Rests on", _claims(facts, claim.uses)),
        section("Used by", _claims(facts, facts.used_by[claim.id])),
        section(
            "Figures and tables",
            items(element("a", n, href=f"{ROOT}exhibits.html#{n}") for n in exhibits) if exhibits else "",
        ),
        section("Run it again", *_rerun(facts, claim)),
        at=f"claims/{claim.id}.html",
    )


def _verdict(facts: Facts, claim: Claim) -> Html:
    verdict, entry = facts.verdict(claim), facts.entries.get(claim.id, {})
    why = f"{entry['reason'].removesuffix('.')}." if "reason" in entry else f"{MEANINGS[verdict]}." if entry else ""
    said = [element("p", badge(verdict), " ", prose(why))]
    if claim.id in facts.outdated:
        said.append(element("p", element("strong", f"Out of date: {facts.outdated[claim.id]} since."), class_="note"))
    if verdict in AGAINST:
        whose = "is" if claim.origin == "paper" else "statement is ours; it is"
        said.append(
            element(
                "p",
                f"This {whose} about one edition of the paper, the one that was read: {claim.edition}. It may be a "
                "misreading, or mended elsewhere. ",
                element("a", "How to contest it.", href=f"{ROOT}contest.html"),
                class_="note",
            )
        )
    return element("div", *said, class_="headline")


def _formal(claim: Claim) -> list[Html]:
    """What a machine reads of the claim, a formula each with its name."""
    parts = []
    if claim.bound:
        parts += [element("h3", "Bound"), part(claim, bound=claim.bound)]
        if claim.bound.order:
            parts.append(element("p", "Printed as" if claim.origin == "paper" else "Of order"))
            parts.append(block(words(claim.bound.order)))
    if claim.formulas:
        parts.append(element("h3", "Formulas"))
        parts += [part(claim, formulas={name: formula}) for name, formula in claim.formulas.items()]
    if claim.conditions:
        parts.append(element("h3", "Conditions"))
        parts += [part(claim, conditions={name: condition}) for name, condition in claim.conditions.items()]
    return parts


def _letters(claim: Claim) -> Html:
    symbols = symbols_of((*claim.parts, *claim.mentions))
    rows = [
        (inline(claim.to_latex(symbol)), join(meaning(claim, name), " ", element("code", name)))
        for name, symbol in sorted(symbols.items())
    ]
    return table(("Letter", "Meaning and code name"), rows) if rows else Html()


def _evidence(claim: Claim, evidence: Mapping[str, Any]) -> Html:
    """One piece of evidence, with its witness."""
    pairs: list[tuple[str, str]] = []
    for key, label in (("hypothesis", "Needs"), ("reading", "Read with")):
        if key in evidence:
            pairs.append((label, prose(evidence[key])))
    if "domain" in evidence:
        over = f"{evidence['domain'].removesuffix('.')} ({counted(evidence.get('cases', 0), 'case')})"
        pairs.append(("Over", prose(over)))
    if "largest" in evidence:
        where = ", ".join(f"{name} = {short(value)}" for name, value in evidence.get("largest_at", {}).items())
        ratio = ratio_text(float(evidence["largest"]), ".4g")
        pairs.append(("Largest ratio of left to right side found", f"{ratio} at {where}" if where else ratio))
    if said := words_of_trial(claim, evidence):
        pairs.append(("Tried on", prose(said)))
    parts = [element("p", badge(evidence["verdict"]), f" by {evidence['method']}: ", prose(evidence["summary"]))]
    parts += [terms(pairs)] if pairs else []
    if "steps" in evidence:
        parts += [element("h3", "Certified steps"), items(map(prose, evidence["steps"]), "ol")]
    if "witness" in evidence:
        parts += [element("h3", "Witness"), _witness(evidence["witness"])]
    return element("div", *parts, class_="evidence")


def _witness(witness: Mapping[str, Any]) -> Html:
    """Values first, then conditions and facts, then both sides."""
    held = {name: "holds" if value else "fails" for name, value in witness.items() if isinstance(value, bool)}
    values = {name: short(value) for name, value in witness.items() if name not in held}
    sides = {name: values.pop(name) for name in ("left", "right") if name in values}
    return element(
        "div", table(("Quantity", "Value"), [*values.items(), *held.items(), *sides.items()]), class_="witness"
    )


def _repair(facts: Facts, claim: Claim) -> Html:
    if not claim.repaired_by:
        return Html()
    repaired = ledger[claim.repaired_by]
    return join(
        element("p", link(repaired, ROOT), f": {repaired.title} ", badge(facts.verdict(repaired))),
        element("p", prose(repaired.words)),
        *_formal(repaired),
    )


def _claims(facts: Facts, ids: Iterable[str]) -> Html:
    claims = [ledger[id_] for id_ in ids]
    return items(join(link(c, ROOT), f": {c.title} ", badge(facts.verdict(c))) for c in claims) if claims else Html()


def _rerun(facts: Facts, claim: Claim) -> list[Html]:
    commands = [] if claim.unchecked else [f"fltheory verify {claim.id}"]
    if claim.id in facts.searched:
        commands.append(f"fltheory falsify {claim.id} --budget 60s")
    entry = facts.entries.get(claim.id, {})
    hashes = [("statement", entry.get("claim_sha256", "")), *(("check", sha) for sha in entry.get("check_sha256", []))]
    return [
        *(element("pre", element("code", command)) for command in commands),
        element("p", "SHA-256 of what was recorded:") if entry else Html(),
        items(join(f"{what} ", element("code", sha)) for what, sha in hashes) if entry else Html(),
    ]
