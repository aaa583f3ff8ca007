"""The report on a log as one page that needs nothing else, pictures included."""

from __future__ import annotations

from importlib.resources import files

from analysis.report.html import Html, breakable, element, items, join, prose, section, table
from analysis.trace_report import text
from analysis.trace_report.pictures import pictures
from analysis.trace_report.report import TraceReport

PICTURES = """
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 1rem }
.pictures figure { margin: 0 }
.pictures svg { width: 100%; height: auto }
figcaption { font-weight: 600; font-size: 0.9rem }
.wide { font-size: 0.9rem }
pre.wide { white-space: pre }
"""


def to_page(report: TraceReport, name: str, plan: str = "") -> str:
    """A whole HTML page about the log `name`; `plan` is the text of a plan, if there is one."""
    drawn = [
        element("figure", element("figcaption", title), Html(svg), role="group", aria_label=title)
        for title, svg in pictures(report).items()
    ]
    body = (
        element("h1", f"Which guarantees apply to the clients of {name}"),
        section("The log", items(map(prose, text.summary(report)))),
        element("div", *drawn, class_="pictures"),
        section("Assumptions of theorems", *_assumptions(report)),
        section("What follows", items(map(prose, text.consequences(report)))),
        section("Plan, at the rates of the log", element("pre", plan, class_="wide")) if plan else Html(),
        section("Tests", items(text.tests(report))),
        section("Fits by likelihood, the least BIC first", _plain(text.fit_table(report))),
        section(
            "Interval divergence of amplified FedAvg, (7), as a multiple of d^2", _plain(text.divergence_table(report))
        ),
    )
    style = files("analysis").joinpath("report", "style.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{name} · fltheory trace"),
        element("style", Html(style + PICTURES)),
    )
    page = element("html", head, element("body", element("main", *body)), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _plain(lines: list[str]) -> Html:
    """A table that stands in columns already, and what is said below it."""
    columns = "\n".join(line.removeprefix("  ") for line in lines if line.startswith("  "))
    below = [element("p", line, class_="note") for line in lines if not line.startswith("  ")]
    return join(element("pre", columns, class_="wide", tabindex="0"), *below)


def _assumptions(report: TraceReport) -> list[Html]:
    judged, rest = text.judged(report)
    head = ("assumption", "on this log", "why", "rest on it")
    rows = [(breakable(name), one.word, one.why, ", ".join(resting)) for name, one, resting in judged]
    return [table(head, rows), element("p", rest, class_="note")]
