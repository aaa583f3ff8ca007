"""The page of figures and tables: tables from the recorded runs, pictures that `fltheory figures` has drawn."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from analysis.exhibit_command import stem
from analysis.exhibits import Exhibit, chosen, given_of
from analysis.report.html import Html, element, join, page, prose, section, table
from analysis.stored_runs import damaged, runs_of
from analysis.tables.layout import Table
from fltheory.errors import InputError
from fltheory.ledger import ledger
from sims.store import Run

AT = "exhibits.html"
SHOWN = ("svg", "png")  # the endings that a browser shows; the first that is there


@dataclass(frozen=True)
class Shown:
    """What there is to show at one scale.

    tables     name -> the table
    figures    name -> what it is
    files      name of a figure -> ending ("svg", "png", "csv") -> the file that is copied to the report's `figures`
    runs       the runs behind the tables
    broken     name -> why a table could not be made
    """

    scale: str
    tables: Mapping[str, Table]
    figures: Mapping[str, Exhibit]
    files: Mapping[str, Mapping[str, Path]]
    runs: list[Run]
    broken: Mapping[str, str]

    @property
    def names(self) -> frozenset[str]:
        """Names of all figures and tables."""
        return frozenset((*self.tables, *self.broken, *self.figures))


def find(scale: str, store: Path, folder: Path | None) -> Shown:
    """Tables of the runs in a store, and the pictures in a folder of `fltheory figures`.

    Raises InputError for a folder without any of its pictures at this scale.
    """
    known = chosen("tables", [])
    wanted = dict.fromkeys(file for exhibit in known.values() for file in exhibit.experiments if Path(file).is_file())
    faults: dict[str, InputError] = {}
    runs = runs_of(wanted, scale, store, faults)
    tables: dict[str, Table] = {}
    used: dict[str, Run] = {}
    broken: dict[str, str] = {}
    for name, exhibit in known.items():
        try:
            given = given_of(exhibit, scale, runs, faults)
            tables[name] = exhibit.make(given)
            used.update(given.runs)
        except InputError as error:
            place = "" if store == Path("results") else f" --store {shlex.quote(str(store))}"
            again = f" (to make its run again: fltheory tables {name} --scale {scale}{place} --run)"
            bad = damaged({file: runs[file] for file in exhibit.experiments if file in runs})
            broken[name] = f"{name} is not made: {error}{again if bad else ''}"
    figures = chosen("figures", [])
    files = _files(figures, scale, folder) if folder else {}
    return Shown(scale, tables, figures, files, list(used.values()), broken)


def _files(figures: Mapping[str, Exhibit], scale: str, folder: Path) -> dict[str, dict[str, Path]]:
    """Name of a figure -> ending -> file, of those that the folder has."""
    files: dict[str, dict[str, Path]] = {}
    for name, exhibit in figures.items():
        for kind in (*SHOWN, "csv"):
            path = folder / f"{stem(name, exhibit, scale)}.{kind}"
            if path.is_file():
                files.setdefault(name, {})[kind] = path
    if not files:
        raise InputError("--figures", str(folder), f"a folder of `fltheory figures --scale {scale}`, with its pictures")
    return files


def exhibits_page(shown: Shown) -> str:
    """Everything in the order of the papers, with a list of it first."""
    papers = dict.fromkeys(name.partition(".")[0] for name in (*shown.figures, *shown.tables, *shown.broken))
    parts = []
    for paper in papers:
        title = ledger.papers[paper].title if paper in ledger.papers else paper
        figures = [_figure(shown, name) for name in shown.figures if name.partition(".")[0] == paper]
        tables = [_table(name, made) for name, made in shown.tables.items() if name.partition(".")[0] == paper]
        broken = [_broken(name, why) for name, why in shown.broken.items() if name.partition(".")[0] == paper]
        parts.append(section(title, *figures, *tables, *broken, id=paper))
    return page(
        "Figures and tables",
        element(
            "p",
            f"Runs are shown at {shown.scale} scale. A smaller scale than the paper's is no reproduction of its "
            "numbers. A cell that was not run says so.",
        ),
        _how_to_draw(shown),
        element("p", "Go to: ", join(*(join(element("a", paper, href=f"#{paper}"), " ") for paper in papers))),
        *parts,
        at=AT,
    )


def _how_to_draw(shown: Shown) -> Html:
    """The two commands that bring pictures into the report, if some are not there."""
    missing = [name for name in shown.figures if not shown.files.get(name)]
    if not missing:
        return Html()
    return element(
        "p",
        f"{len(missing)} of {len(shown.figures)} pictures are not in this report. ",
        element("code", f"fltheory figures --format svg --out pictures --scale {shown.scale}"),
        " draws those that need no runs or have them; ",
        element("code", f"fltheory report --scale {shown.scale} --figures pictures"),
        " takes them along.",
    )


def _figure(shown: Shown, name: str) -> Html:
    """A figure with links to its files; without its picture, the command that draws it."""
    about, files = shown.figures[name].about, shown.files.get(name, {})
    paths = {kind: f"figures/{path.name}" for kind, path in files.items()}
    picture = next((paths[kind] for kind in SHOWN if kind in paths), None)
    if picture is None:
        command = element("code", f"fltheory figures {name} --format svg --out pictures --scale {shown.scale}")
        return element("div", element("h3", about), element("p", "Not in this report. Drawn by ", command), id=name)
    links = [join(element("a", kind, href=path), " ") for kind, path in paths.items()]
    image = element("img", src=picture, alt=about, loading="lazy")
    return element("figure", element("h3", about), image, element("figcaption", *links), id=name)


def _broken(name: str, why: str) -> Html:
    return element("div", element("h3", name), element("p", prose(f"{why}.")), id=name)


def _table(name: str, made: Table) -> Html:
    parts = [element("h3", made.title), element("p", f"Published: {made.source}", class_="note")]
    for part in made.sections:
        head, *rows = made.grid(part)
        parts += [element("h4", part.title), element("p", prose(part.measured), class_="note"), table(head, rows)]
    return element("div", *parts, *(element("p", prose(note)) for note in made.notes), id=name)
