"""Table 1 of amplified FedAvg (NeurIPS 2022): orders, which nobody can measure, beside our verdicts on them."""

from __future__ import annotations

from analysis.checks.published import published
from analysis.exhibits import Exhibit, Given, enter
from analysis.tables.layout import Cell, Section, Table
from fltheory.papers.amplified import paper
from fltheory.verdicts import recorded

STATEMENTS = {  # what a row of the paper's own rests on
    "regularized": ("cor43",),
    "ergodic": ("prop44",),
    "mixing": ("prop46", "cor48"),
    "independent": ("prop47", "cor48"),
}

tables: dict[str, Exhibit] = {}


@enter(tables, "tab1", "Table 1: orders of the error by participation pattern, and our verdicts on them")
def tab1(given: Given) -> Table:
    verdicts = recorded()
    rows = {}
    for row in published("amplified_tab1"):
        ours = [f"{paper.name}.{name}" for name in STATEMENTS.get(row["participation"], ())]
        judged = "; ".join(f"{id_}: {verdicts.get(id_, {}).get('verdict', 'not recorded')}" for id_ in ours)
        remark = f"({row['remark']})" if row["order"] else row["remark"]
        name = f"{row['method']}, {row['participation']}, {row['form']}"
        order = f"{row['order']} {remark}" if not ours or not row["order"] else row["order"]
        rows[name] = {"order of the error": Cell(order.strip(), judged or "of another paper")}
    return Table(
        "Amplified FedAvg, Table 1: upper bounds on the error",
        f"{paper.title}, {paper.edition}, Table 1",
        [Section("Leading terms for large T", "verdicts of `fltheory verify`, one for each statement", rows)],
        [
            '"Ours" is the paper\'s word for its own results.',
            "The verdict on the rows as they are printed is that of amplified.tab1: `fltheory show amplified.tab1`.",
        ],
        ("published", "verdict"),
    )
