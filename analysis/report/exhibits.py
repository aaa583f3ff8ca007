"""The page of figures and tables: tables from the recorded runs, pictures that `fltheory figures` has drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from analysis.exhibit_command import FORMATS, stem
from analysis.exhibits import Exhibit, Given, chosen
from analysis.report.html import Html, element, join, page, section, table
from analysis.stored_runs import runs_of
from analysis.tables.layout import Table
from fltheory.errors import InputError
from fltheory.ledger import ledger
from sims.store import Run

AT = "exhibits.html"
SHOWN = ("svg", "png")  # what a browser shows; the first that is there
assert set(SHOWN) <= set(FORMATS)


@dataclass(frozen=True)
class Shown:
    """What there is to show at one scale.

    tables     name -> the table
    figures    name -> what it is
    files      path within the report -> the file to copy there: pictures and their data
    pictures   name of a figure -> path of its picture within the report
    runs       the runs behind the tables
    """

    scale: str
    tables: Mapping[str, Table]
    figures: Mapping[str, Exhibit]
    files: Mapping[str, Path]
    pictures: Mapping[str, str]
    runs: list[Run]

    @property
    def names(self) -> frozenset[str]:
        """Names of all figures and tables."""
        return frozenset((*self.tables, *self.figures))


def find(scale: str, store: Path, folder: Path | None) -> Shown:
    """Tables of the runs in a store, and the pictures in a folder of `fltheory figures`.

    Raises InputError for a folder without any of its pictures at this scale.
    """
    known = chosen("tables", [])
    wanted = dict.fromkeys(file for exhibit in known.values() for file in exhibit.experiments if Path(file).is_file())
    runs = runs_of(wanted, scale, store)
    tables = {
        name: exhibit.make(Given(scale, {file: runs[file] for file in exhibit.experiments if file in runs}))
        for name, exhibit in known.items()
    }
    figures, files, pictures = chosen("figures", []), {}, {}
    for name, exhibit in figures.items() if folder else ():
        assert folder is not None
        own = [f"{stem(name, exhibit, scale)}.{kind}" for kind in (*SHOWN, "csv")]
        there = [file for file in own if (folder / file).is_file()]
        files.update({f"figures/{file}": folder / file for file in there})
        if there and not there[0].endswith(".csv"):
            pictures[name] = f"figures/{there[0]}"
    if folder and not pictures:
        raise InputError("--figures", str(folder), f"a folder of `fltheory figures --scale {scale}`, with its pictures")
    return Shown(scale, tables, figures, files, pictures, list(runs.values()))


def exhibits_page(shown: Shown) -> str:
    """Everything in the order of the papers, with a list of it first."""
    papers = dict.fromkeys(name.partition(".")[0] for name in (*shown.figures, *shown.tables))
    parts = []
    for paper in papers:
        title = ledger.papers[paper].title if paper in ledger.papers else paper
        figures = [_figure(shown, name) for name in shown.figures if name.partition(".")[0] == paper]
        tables = [_table(name, made) for name, made in shown.tables.items() if name.partition(".")[0] == paper]
        parts.append(section(title, *figures, *tables, id=paper))
    return page(
        "Figures and tables",
        element(
            "p",
            f"Runs are shown at {shown.scale} scale. A smaller scale than the paper's is no reproduction of its "
            "numbers. A cell that was not run says so.",
        ),
        element("p", "Go to: ", join(*(join(element("a", paper, href=f"#{paper}"), " ") for paper in papers))),
        *parts,
        at=AT,
    )


def _figure(shown: Shown, name: str) -> Html:
    about, picture = shown.figures[name].about, shown.pictures.get(name)
    if picture is None:
        command = element("code", f"fltheory figures {name} --scale {shown.scale}")
        return element("div", element("h3", about), element("p", "Not in this report. Drawn by ", command), id=name)
    data = f"{picture.rpartition('.')[0]}.csv"
    links = [element("a", "picture", href=picture)]
    if data in shown.files:
        links.append(element("a", "data", href=data))
    caption = element("figcaption", join(*(join(link, " ") for link in links)))
    return element(
        "figure", element("h3", about), element("img", src=picture, alt=about, loading="lazy"), caption, id=name
    )


def _table(name: str, made: Table) -> Html:
    parts = [element("h3", made.title), element("p", f"Published: {made.source}", class_="note")]
    for part in made.sections:
        head, *rows = made.grid(part)
        parts += [element("h4", part.title), element("p", part.measured, class_="note"), table(head, rows)]
    return element("div", *parts, *(element("p", note) for note in made.notes), id=name)
