"""The page of figures and tables: tables from the recorded runs, pictures that `fltheory figures` has drawn."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis.exhibit_command import faulty, stem
from analysis.exhibits import NOT_FOUND, Exhibit, chosen, elsewhere, given_of
from analysis.figures.style import caption_of, is_whole
from analysis.report.html import Html, element, items, join, page, prose, scrolled, section, table, unbroken
from analysis.stored_runs import asked, damage, lost, runs_of
from analysis.tables.layout import Table
from fltheory.errors import InputError
from fltheory.ledger import ledger
from sims import store as stored
from sims.store import Run

AT = "exhibits.html"
SHOWN = ("svg", "png")  # the endings that a browser shows; the first that is there


@dataclass(frozen=True)
class Shown:
    """What there is to show at one scale.

    store      where the runs are
    tables     name -> the table
    figures    name -> what it is
    files      name of a figure -> ending ("svg", "png", "csv") -> the file that is copied to the report's `figures`
    undrawn    names of figures of whose runs the store has none
    runs       the runs behind the tables, and behind those pictures that name them
    broken     name -> why a table could not be made, or not with all its runs
    absent     experiment files that are not there, so that their runs are not shown
    unseen     name of a figure -> that files of it in the folder are no pictures, or not whole, and are left out
    unbacked   name of a picture that came from a folder and is of runs -> the beginnings of the keys in its caption
               of which the store has no run whose data can be read; none if the caption names no run at all
    """

    scale: str
    store: Path
    tables: Mapping[str, Table]
    figures: Mapping[str, Exhibit]
    files: Mapping[str, Mapping[str, Path]]
    undrawn: frozenset[str]
    runs: list[Run]
    broken: Mapping[str, str]
    absent: Sequence[str] = ()
    unseen: Mapping[str, str] = field(default_factory=dict)
    unbacked: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def command(self, typed: str) -> str:
        """A command that reads the runs that are shown here."""
        here = Path.cwd()
        store = self.store.relative_to(here) if self.store.is_relative_to(here) else self.store
        place = "" if store == Path("results") else f" --store {shlex.quote(str(store))}"
        return f"fltheory {typed} --scale {self.scale}{place}"

    @property
    def names(self) -> frozenset[str]:
        """Names of all figures and tables."""
        return frozenset((*self.tables, *self.broken, *self.figures))

    def about(self, claim: str) -> list[str]:
        """Names of what a claim's page leads to: what has the claim's name, and figures that are entered with it."""
        return [n for n in sorted(self.names) if n == claim or (n in self.figures and claim in self.figures[n].claims)]


def find(scale: str, store: Path, folder: Path | None) -> Shown:
    """Tables of the runs in a store, and the pictures in a folder of `fltheory figures`.

    A file that is no picture, or not a whole one, is left out. Raises InputError for a folder without any file that
    has the name of a picture at this scale.
    """
    known, figures = chosen("tables", []), chosen("figures", [])
    files, unseen = _files(figures, scale, folder) if folder else ({}, {})
    exhibits = (*known.values(), *figures.values())
    every = dict.fromkeys(file for exhibit in exhibits for file in exhibit.experiments)
    faults: dict[str, InputError] = {}
    there = [file for file in every if Path(file).is_file()]
    runs = runs_of(there, scale, store, faults)
    unread = lost([file for file in there if file not in runs and file not in faults], scale, store)
    faults |= unread
    tables: dict[str, Table] = {}
    used: dict[str, Run] = {}
    undrawn, unbacked = set(), {}
    others = {run.key[:12]: run for run in stored.runs(store, tell=False)} if store.is_dir() else {}
    others |= {run.key[:12]: run for run in runs.values()}  # whose data are read once
    for name, figure in figures.items():
        if figure.experiments and not given_of(figure, scale, runs, faults).runs:
            undrawn.add(name)
        if figure.experiments and name in files:
            keys = re.findall(r"\b[0-9a-f]{12}\b", _caption(files[name]))
            behind = {key: others[key] for key in keys if key in others and not damage(others[key])}
            used |= behind
            if not keys or len(behind) < len(set(keys)):
                unbacked[name] = [key for key in dict.fromkeys(keys) if key not in behind]
    broken: dict[str, str] = {}
    absent = [file for file in every if file not in there]
    shown = Shown(scale, store, tables, figures, files, frozenset(undrawn), [], broken, absent, unseen, unbacked)
    for name, exhibit in known.items():
        given = given_of(exhibit, scale, runs, faults)
        try:
            tables[name] = exhibit.make(given)
            used |= {run.key[:12]: run for run in given.runs.values()}
        except InputError as error:
            broken[name] = f"{name} is not made: {error}"
            continue
        if given.faulty:
            damaged = any(file in runs or file in unread for file in given.faulty)
            again = f" (to make its run again: {shown.command(f'tables {name}')} --run)" if damaged else ""
            broken[name] = f"{faulty(name, given, made=True)}{again}"
    shown.runs.extend(used.values())
    return shown


def _files(
    figures: Mapping[str, Exhibit], scale: str, folder: Path
) -> tuple[dict[str, dict[str, Path]], dict[str, str]]:
    """Name of a figure -> ending -> file, of those whose picture the folder has; name -> which of its files is none."""
    files: dict[str, dict[str, Path]] = {}
    unseen: dict[str, str] = {}
    for name, exhibit in figures.items():
        paths = {kind: folder / f"{stem(name, exhibit, scale)}.{kind}" for kind in (*SHOWN, "csv")}
        there = {kind: path for kind, path in paths.items() if path.is_file()}
        bad = [kind for kind in SHOWN if kind in there and not is_whole(there[kind])]
        which = " and ".join(there.pop(kind).name for kind in bad)
        if any(kind in there for kind in SHOWN):
            files[name] = there
        if bad:
            done = f"shown without {which}, which" if name in files else f"not shown: {which}"
            unseen[name] = f"{name} is {done} cannot be read as a whole picture"
    if not files and not unseen:
        raise InputError("--figures", str(folder), f"a folder of `fltheory figures --scale {scale}`, with its pictures")
    return files, unseen


def exhibits_page(shown: Shown) -> str:
    """Everything in the order of the papers, with a list of it first."""
    papers = dict.fromkeys(name.partition(".")[0] for name in (*shown.figures, *shown.tables, *shown.broken))
    parts = []
    for paper in papers:
        title = ledger.papers[paper].title if paper in ledger.papers else paper
        figures = [_figure(shown, name) for name in shown.figures if name.partition(".")[0] == paper]
        tables = [_table(name, shown) for name in shown.tables if name.partition(".")[0] == paper]
        tables += [
            _broken(name, shown)
            for name in shown.broken
            if name not in shown.tables and name.partition(".")[0] == paper
        ]
        parts.append(section(title, *figures, *tables, id=paper))
    return page(
        "Figures and tables",
        element(
            "p",
            f"Runs are shown at {shown.scale} scale. A smaller scale than the paper's is no reproduction of its "
            "numbers. A cell that was not run says so.",
        ),
        element("p", unbroken(f"{not_shown(shown)}.")) if shown.absent else "",
        _how_to_draw(shown),
        items((_contents(shown, paper) for paper in papers), class_="contents"),
        *parts,
        at=AT,
    )


def _contents(shown: Shown, paper: str) -> Html:
    """Links to a paper's part, and to each of its figures and tables: by number, ours by name."""
    titles = {name: exhibit.about for name, exhibit in shown.figures.items()}
    titles |= dict.fromkeys(shown.broken, "") | {name: made.title for name, made in shown.tables.items()}
    links = []
    for name, title in titles.items():
        own, _, short = name.partition(".")
        number = re.search(r"(Figure|Table) [\w.]+(?=:)", title)
        if own == paper:
            links.append(join(" ", element("a", unbroken(number[0] if number else short), href=f"#{name}")))
    return join(element("a", paper, href=f"#{paper}"), ":", *links)


def _how_to_draw(shown: Shown) -> Html:
    """The two commands that bring pictures into the report, if some are not there."""
    missing = [name for name in shown.figures if not shown.files.get(name)]
    if not missing:
        return Html()
    return element(
        "p",
        f"{len(missing)} of {len(shown.figures)} pictures are not in this report. ",
        element("code", unbroken(shown.command("figures --format svg --out pictures"))),
        " draws those that need no runs or have them; ",
        element("code", unbroken(shown.command("report --figures pictures"))),
        " takes them along.",
    )


def _figure(shown: Shown, name: str) -> Html:
    """A figure with links to its files; without its picture, the command that draws it."""
    about, files = shown.figures[name].about, shown.files.get(name, {})
    paths = {kind: f"figures/{path.name}" for kind, path in files.items()}
    picture = next((paths[kind] for kind in SHOWN if kind in paths), None)
    faults = [element("p", prose(f"{shown.unseen[name]}."), class_="note")] if name in shown.unseen else []
    if picture is None:
        return element("div", element("h3", unbroken(about)), *faults, _how_to_draw_one(shown, name), id=name)
    links = [join(element("a", kind, href=path), " ") for kind, path in paths.items()]
    image = scrolled(element("a", element("img", src=picture, alt=about, loading="lazy"), href=picture))
    above = _caption(files)  # it stands in the picture too, which may be wider than a phone
    text = [element("p", unbroken(above), class_="above note")] if above else []
    text += [element("p", f"{unbacked_in_words(shown, name)}.", class_="note")] if name in shown.unbacked else []
    return element(
        "figure", element("h3", unbroken(about)), image, element("figcaption", *text, *faults, *links), id=name
    )


def _caption(files: Mapping[str, Path]) -> str:
    """What stands above the picture of these files that is shown."""
    return next((caption_of(files[kind]) for kind in SHOWN if kind in files), "")


def not_shown(shown: Shown) -> str:
    """What is not shown, as there is no telling whether the store has it; if there is any."""
    return f"Runs are not shown whose experiment file was not found: {elsewhere(shown.absent)}"


def unbacked_in_words(shown: Shown, name: str) -> str:
    """What is not known of the runs of a picture."""
    keys = shown.unbacked[name]
    if not keys:
        return "It was taken as it was, and does not say of which runs it is"
    return f"It was taken as it was; the store here does not have what it names: {', '.join(keys)}"


def _how_to_draw_one(shown: Shown, name: str) -> Html:
    """The command that draws a figure; with --run, and what it trains on, where the store has nothing to draw."""
    typed = shown.command(f"figures {name} --format svg --out pictures")
    gone = [file for file in shown.figures[name].experiments if file in shown.absent]
    if name in shown.undrawn and gone:
        return element("p", unbroken(f"Not in this report, {NOT_FOUND}: {', '.join(gone)}"))
    if name not in shown.undrawn:
        return element("p", "Not in this report. Drawn by ", element("code", unbroken(typed)))
    data = ", ".join(
        dict.fromkeys(filter(None, (_data(file, shown.scale) for file in shown.figures[name].experiments)))
    )
    return element(
        "p",
        "Not in this report: none of its runs is stored. ",
        element("code", unbroken(f"{typed} --run")),
        " makes them and draws it; without ",
        element("code", unbroken("--run")),
        " it says how long that takes.",
        *(
            [f" It needs the data {data}: ", element("code", "fltheory data list"), " says where they are."]
            if data
            else []
        ),
    )


def _data(file: str, scale: str) -> str:
    """The name of the data that an experiment file trains on; empty if there are none, or there is no such file."""
    try:
        data = asked(file, scale)["problem"].get("data", "")
    except InputError:
        return ""
    return str(data["name"] if isinstance(data, Mapping) else data)


def _broken(name: str, shown: Shown) -> Html:
    return element("div", element("h3", name), element("p", prose(f"{shown.broken[name]}.")), id=name)


def _table(name: str, shown: Shown) -> Html:
    made = shown.tables[name]
    parts = [element("h3", unbroken(made.title)), element("p", f"Published: {made.source}", class_="note")]
    parts += [element("p", prose(f"{shown.broken[name]}."))] if name in shown.broken else []
    for part in made.sections:
        head, *rows = made.grid(part)
        parts += [
            element("h4", unbroken(part.title)),
            element("p", prose(part.measured), class_="note"),
            table(head, rows),
        ]
    return element("div", *parts, *(element("p", prose(note)) for note in made.notes), id=name)
