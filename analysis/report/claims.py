"""The list of claims with its search and filters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import urlencode

from analysis.report.facts import MEANINGS, Facts
from analysis.report.html import Html, breakable, element, page
from fltheory.latex import statement
from fltheory.ledger import Claim, ledger
from fltheory.verdicts import because

AT = "claims.html"

# Kind of check -> what tells it from the method of a recorded evidence; a method may be of several kinds.
KINDS = {
    "algebra": r"algebra|integral|\blimit$",
    "exact numbers": r"exact|enumeration|rational|arithmetic|table|count|closed moments|limit cycle|witness",
    "search or simulation": r"search|simulation|^run$",
    "units": r"units",
}
NO_CHECK = "none"
LAYOUT = {  # of LaTeX, what is no letter, number or sign that a reader sees -> what the search has in its place
    r"\\(?:begin|end)\{[^}]*\}": " ",
    r"\\[dt]?frac(\w)(\w)": r"\1/\2",
    r"\\(?:left|right|[bB]ig+|q?quad|text|textstyle|math\w+|[dt]?frac)(?![a-z])|\\[\\,;! ]|[&$]": " ",
    r"\\([lg])e(?![a-z])": r"\\\1eq",
    r"\}\{": "/",
    r"\\sqrt\{([^{}]*)\}": r"sqrt(\1)",
}


def kinds_of_check(method: str) -> list[str]:
    """What kinds of check a method is of.

    >>> kinds_of_check("algebra and exact points"), kinds_of_check("limit cycle")
    (['algebra', 'exact numbers'], ['exact numbers'])
    """
    return [kind for kind, pattern in KINDS.items() if re.search(pattern, method)]


def badge(verdict: str) -> Html:
    """A verdict; its colour says no more than the word."""
    return element("span", verdict, class_=f"verdict {slug(verdict)}", title=MEANINGS.get(verdict))


def slug(text: str) -> str:
    return text.replace(" ", "-")


def link(claim: Claim, root: str) -> Html:
    """A claim's id, as a link to its page, from a page at this distance from the root of the site."""
    return element("a", breakable(claim.id), href=f"{root}claims/{claim.id}.html")


def counted(facts: Facts, claims: Iterable[Claim], root: str, **chosen: str) -> Html:
    """How many claims have each verdict, and are none of a paper's; each a link to the list with filters set."""
    claims, entries = list(claims), []
    ours = facts.counts(claim for claim in claims if claim.origin == "ours")
    for verdict, number in facts.counts(claims).items():
        href = f"{root}{AT}?{urlencode({**chosen, 'verdict': verdict})}"
        said = f" {number}, {ours[verdict]} of them ours" if verdict in ours else f" {number}"
        entries.append(element("li", element("a", badge(verdict), said, href=href)))
    return element("ul", *entries, class_="counts")


def listed(facts: Facts, claims: Iterable[Claim], root: str) -> Html:
    """A table of claims, a row each, with what the filters ask for in its attributes."""
    head = element("tr", *(element("th", name, scope="col") for name in ("Claim", "Statement", "Where", "Verdict")))
    rows = [_row(facts, claim, root) for claim in claims]
    return element("table", element("thead", head), element("tbody", *rows), class_="claims")


def _row(facts: Facts, claim: Claim, root: str) -> Html:
    verdict = facts.verdict(claim)
    kinds = [kind for evidence in facts.evidence(claim) for kind in kinds_of_check(evidence["method"])]
    entry = facts.entries.get(claim.id, {"verdict": "", "evidence": []})
    shown = "witness, counterexample" if any(evidence.get("witness") for evidence in facts.evidence(claim)) else ""
    return element(
        "tr",
        element("th", link(claim, root), scope="row"),
        element("td", claim.title),
        element("td", f"{claim.kind}, {claim.where}"),
        element("td", badge(verdict)),
        data_paper=claim.paper,
        data_verdict=verdict,
        data_check=" ".join(slug(kind) for kind in dict.fromkeys(kinds or [NO_CHECK])),
        data_words=" ".join([claim.words, because(entry), *formulas(claim), shown]),
    )


def formulas(claim: Claim) -> list[str]:
    r"""The formulas on a claim's page, in LaTeX without what only sets them: text for the search.

    >>> formulas(ledger["fedlaavg.thm3"])[0][-58:]
    ' \\sigma^{2} )/sqrt(N)} {condition, step:} \\gamma < {1/2 L}'
    """
    shown = [claim.latex, statement(replace(claim, latex="")), claim.bound.order if claim.bound else ""]
    return [" ".join(_unset(latex).split()) for latex in shown if latex]


def _unset(latex: str) -> str:
    for pattern, plain in LAYOUT.items():
        latex = re.sub(pattern, plain, latex)
    return latex


def claims_page(facts: Facts) -> str:
    """All claims; without scripts all of them are shown, and the form, which would do nothing, is not."""
    found = list(ledger.values())
    form = element(
        "form",
        element(
            "label",
            "Search ",
            element("input", type="search", name="q", placeholder='words, "a phrase", σ², an id'),
        ),
        _choice("Paper", "paper", {paper.name: paper.name for paper in ledger.papers.values()}),
        _choice("Verdict", "verdict", {verdict: verdict for verdict in facts.counts(found)}),
        _choice("Kind of check", "check", {slug(kind): kind for kind in (*KINDS, NO_CHECK)}),
        element("button", "All claims", type="reset"),
        id="filter",
        hidden="hidden",
        role="search",
    )
    number = element("p", f"{len(found)} claims", id="number", role="status")
    return page("Claims", form, number, listed(facts, found, ""), at=AT)


def _choice(label: str, name: str, options: dict[str, str]) -> Html:
    chosen = [element("option", "any", value=""), *(element("option", text, value=v) for v, text in options.items())]
    return element("label", f"{label} ", element("select", *chosen, name=name))
