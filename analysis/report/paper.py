"""The page of one paper: its edition, its claims and how they rest on each other, its letters."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.report.claims import counted, listed
from analysis.report.facts import Facts
from analysis.report.html import Html, element, items, join, page, scrolled, section, table
from analysis.report.mathematics import inline
from analysis.report.pseudocode import RECIPES
from fltheory.ledger import Paper
from fltheory.symbols import QUANTITIES

ROOT = "../"


def paper_page(facts: Facts, paper: Paper, graph: str | None, exhibits: Iterable[str] = ()) -> str:
    """Edition, verdicts, what rests on what, algorithms, exhibits, claims, letters.

    graph      path of the picture of what rests on what, from the root of the site
    exhibits   names of figures and tables
    """
    own = [name for name, recipe in RECIPES.items() if any(c.partition(".")[0] == paper.name for c in recipe.claims)]
    shown = any(name.partition(".")[0] == paper.name for name in exhibits)
    return page(
        paper.title,
        element(
            "p",
            f"What was read: {paper.edition}. ",
            element("a", "How to contest a verdict.", href=f"{ROOT}contest.html"),
        ),
        counted(facts, paper.claims.values(), ROOT, paper=paper.name),
        section("Algorithms", items(element("a", n, href=f"{ROOT}algorithms/{n}.html") for n in own) if own else ""),
        section(
            "Figures and tables",
            element("p", element("a", "Those of this paper.", href=f"{ROOT}exhibits.html#{paper.name}"))
            if shown
            else "",
        ),
        section("What rests on what", _picture(ROOT + graph) if graph else ""),
        section("Claims", listed(facts, paper.claims.values(), ROOT)),
        section("Letters", _letters(paper)),
        at=f"papers/{paper.name}.html",
    )


def _picture(path: str) -> Html:
    """The graph, which leads to itself in full size."""
    about = "Which claims rest on which; each claim's page lists the same."
    return scrolled(element("a", element("img", src=path, alt=about), href=path), "graph")


def _letters(paper: Paper) -> Html:
    """What the paper's letters stand for."""
    rows = []
    for name, letter in sorted(paper.letters.items()):
        quantity = QUANTITIES.get(name)
        said = paper.meanings.get(name) or (quantity.meaning if quantity else "")
        rows.append((inline(letter), join(said, " ", element("code", name))))
    return table(("Letter", "Meaning and code name"), rows) if rows else Html()
