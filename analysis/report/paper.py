"""The page of one paper: its edition, its claims and how they rest on each other, its letters."""

from __future__ import annotations

from analysis.report.claims import counted, listed
from analysis.report.facts import Facts
from analysis.report.html import Html, element, join, page, scrolled, section, table
from analysis.report.mathematics import inline
from fltheory.ledger import Paper
from fltheory.symbols import QUANTITIES

ROOT = "../"


def paper_page(facts: Facts, paper: Paper, graph: str | None) -> str:
    """Edition, verdicts, the picture of what rests on what (a path from the root of the site), claims, letters."""
    picture = element(
        "a",
        element("img", src=f"{ROOT}{graph}", alt="Which claims rest on which; the list below has the same links."),
        href=f"{ROOT}{graph}",
    )
    return page(
        paper.title,
        element(
            "p",
            f"What was read: {paper.edition}. ",
            element("a", "How to contest a verdict.", href=f"{ROOT}contest.html"),
        ),
        counted(facts, paper.claims.values(), ROOT, paper=paper.name),
        section("What rests on what", scrolled(picture, "graph") if graph else ""),
        section("Claims", listed(facts, paper.claims.values(), ROOT)),
        section("Letters", _letters(paper)),
        at=f"papers/{paper.name}.html",
    )


def _letters(paper: Paper) -> Html:
    """What the paper's letters stand for."""
    rows = []
    for name, letter in sorted(paper.letters.items()):
        quantity = QUANTITIES.get(name)
        said = paper.meanings.get(name) or (quantity.meaning if quantity else "")
        rows.append((inline(letter), join(said, " ", element("code", name))))
    return table(("Letter", "Meaning and code name"), rows) if rows else Html()
