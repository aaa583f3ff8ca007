"""The first page, and the page that says how to contest a verdict."""

from __future__ import annotations

from analysis.report.claims import badge, counted
from analysis.report.facts import Facts
from analysis.report.html import element, items, join, page, section, table
from fltheory.ledger import ledger
from fltheory.verdicts import MEANING, VERDICTS


def home_page(facts: Facts) -> str:
    """What the report is about, a line on each paper, and what the verdicts mean."""
    papers = [
        join(
            element("p", element("a", paper.title, href=f"papers/{paper.name}.html"), f", {paper.edition}"),
            counted(facts, paper.claims.values(), "", paper=paper.name),
        )
        for paper in ledger.papers.values()
    ]
    return page(
        "Does federated-learning theory agree with itself?",
        element(
            "p",
            f"{len(ledger)} claims: the numbered statements of {len(ledger.papers)} papers on federated learning "
            "under partial client participation, and, counted as ours, what we put beside them: repairs, improvements "
            "and other readings. Each was checked as far as we could: by algebra, in exact numbers, by search or "
            "simulation. These pages say what was found, and how to find it again.",
        ),
        counted(facts, ledger.values(), ""),
        section("Papers", items(papers, class_="plain")),
        section(
            "How to read a verdict",
            element(
                "p",
                "A claim keeps every piece of evidence with its own word; its verdict is the worst of them, in this "
                "order. The largest ratio of left to right side that was found is called that, never a supremum. A "
                "refuted or conditional claim names the statement to use instead, where one is known.",
            ),
            table(("Verdict", "Means"), [(badge(verdict), MEANING[verdict]) for verdict in VERDICTS]),
        ),
        section(
            "If you see it differently",
            element(
                "p",
                "A verdict is about the edition that was read, in our reading. ",
                element("a", "How to contest one.", href="contest.html"),
            ),
        ),
        at="index.html",
    )


def contest_page() -> str:
    """What an author can hold against a verdict, how to check it alone, and what was not seen."""
    return page(
        "Contest a verdict",
        element(
            "p",
            "A verdict can be wrong: a statement may be misread, a condition overlooked, a check mistaken. Whoever "
            "wrote a statement knows best what it says. We would rather correct a verdict than keep it.",
        ),
        section(
            "Check it without us",
            items(
                [
                    "The claim's page lists the witness: the value of every quantity, whether each stated condition "
                    "holds there, and both sides. It was made as small as we could.",
                    join(
                        "In a checkout, ",
                        element("code", "fltheory verify ID"),
                        " runs the checks of a claim again. Its page says where there is a search: ",
                        element("code", "fltheory falsify ID"),
                        " writes what it finds to a file, which ",
                        element("code", "fltheory replay FILE"),
                        " verifies in exact arithmetic, every condition included.",
                    ),
                    "The code of a check stands in analysis/checks, in a folder named like the paper; the statement "
                    "that it reads stands in fltheory/papers. Each check also fails on falsified copies of its claim.",
                ],
                "ol",
            ),
        ),
        section(
            "What changes a verdict",
            items(
                [
                    "A condition of the statement that the witness does not satisfy, and where it stands.",
                    "Another reading of the statement: then both readings are entered, each with its verdict.",
                    "A later edition: it is entered beside the one that was read, and named.",
                    "A proof of a step that is called conditional or not checked.",
                    "An error in a check: the check is mended, and all that rests on it is run again.",
                ]
            ),
        ),
        section(
            "How to say so",
            element(
                "p",
                "Where this project is kept, open an issue with the id of the claim, the edition you mean and what you "
                "hold against the verdict; or propose the change itself, as CONTRIBUTING.md shows. The verdict then "
                "changes with its evidence, and the log of changes says why.",
            ),
        ),
        section(
            "What was read",
            element(
                "p",
                "Only these editions. What they leave to other documents was not seen: of the paper on amplified "
                "updates the supplement with its proofs was not read, so that nothing is said about those proofs, "
                "and constants that stand only there were derived anew along the printed sketch.",
            ),
            items(join(element("cite", paper.title), f": {paper.edition}") for paper in ledger.papers.values()),
        ),
        at="contest.html",
    )
