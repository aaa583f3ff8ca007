"""Figures and tables: what each shows and needs, and how it is found by its name.

    figures: dict[str, Exhibit] = {}

    @enter(figures, "fig2", "Figure 2: different P", "experiments/amplified/interval.toml")
    def fig2(given: Given) -> Picture: ...

A mapping like this stands behind an entry point of the group `fltheory.figures` or `fltheory.tables`, whose name is
that of the paper: this figure is `amplified.fig2`. Figures return an `analysis.figures.style.Picture`, tables an
`analysis.tables.layout.Table`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Literal

from analysis.stored_runs import damage, trains
from analysis.wording import counted
from fltheory import plugins
from fltheory.errors import InputError, one_of
from sims.store import Run

NOT_FOUND = "experiment file not found"


@dataclass(frozen=True)
class Given:
    """What a figure or a table is made of.

    scale   "smoke", "laptop" or "paper"
    runs    file of an experiment -> its run at that scale, of those that the store has
    faulty  file of an experiment -> why it or its stored run cannot be used, so that it is left out
    absent  files of experiments that are not there, so that nobody can tell which runs are theirs
    """

    scale: str
    runs: Mapping[str, Run]
    faulty: Mapping[str, InputError] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()

    @property
    def without(self) -> str:
        """Why something is not there, as far as a figure can tell: not which of its files should have had it."""
        also = ["left out"] if self.faulty else []
        also += [NOT_FOUND] if self.absent else []
        return " or ".join(["not run", *also])


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table: one line about it, the function that makes it, the experiment files whose runs it shows.

    shows   file -> labels of the algorithms that are shown of it; a file that is not there may have any
    claims  ids of the claims that it is about, beside one of its own name
    """

    about: str
    make: Callable[[Given], Any]
    experiments: tuple[str, ...]
    shows: Mapping[str, Container[str]] = field(default_factory=dict)
    claims: tuple[str, ...] = ()

    def filled_by(self, scale: str) -> list[str]:
        """Those of its files of which a run at this scale fills something that is shown."""
        return [file for file in self.experiments if file not in self.shows or trains(file, scale, self.shows[file])]


def enter(
    book: dict[str, Exhibit],
    name: str,
    about: str,
    *experiments: str,
    shows: Mapping[str, Container[str]] | None = None,
    claims: Sequence[str] = (),
) -> Callable[[Callable[[Given], Any]], Callable[[Given], Any]]:
    """Enter the decorated function in a book under this name.

    experiments   paths, those of this project from the root of its checkout. Without any, the function computes
                  all it shows. A figure is made if one of them has been run, a table in any case.
    shows         as `Exhibit` has it, where a scale may train none of what is shown: then no run of it is offered
    claims        as `Exhibit` has it; the report shows one beside the other
    """

    def entered(make: Callable[[Given], Any]) -> Callable[[Given], Any]:
        if name in book:
            raise InputError("name of a figure or table", name, "new: this one is taken")
        book[name] = Exhibit(about, make, experiments, shows or {}, tuple(claims))
        return make

    return entered


def given_of(exhibit: Exhibit, scale: str, runs: Mapping[str, Run], faults: Mapping[str, InputError]) -> Given:
    """What an exhibit is made of, by file of an experiment: all but what has a fault, or data that are damaged."""
    own = {file: runs[file] for file in exhibit.experiments if file in runs}
    found = {file: fault for file, run in own.items() if (fault := damage(run))}
    faulty = {file: fault for file in exhibit.experiments if (fault := faults.get(file) or found.get(file))}
    absent = frozenset(file for file in exhibit.experiments if file not in own and not Path(file).is_file())
    return Given(scale, {file: run for file, run in own.items() if file not in faulty}, faulty, absent)


def elsewhere(files: Sequence[str]) -> str:
    """That these files, one at least, are not there, and what to do."""
    more = f" and {counted(len(files) - 1, 'more experiment file')} are" if len(files) > 1 else " is"
    place = f"the one that has {'them' if len(files) > 1 else 'it'} (of this project: its checkout)"
    return f"{files[0]}{more} not in this folder; type the same in {place}"


def chosen(kind: Literal["figures", "tables"], names: Iterable[str]) -> dict[str, Exhibit]:
    """Those of these names, a paper's name standing for all of its own; without names all there are.

    Those of a paper in the order in which it numbers them, then ours.

    Raises InputError for an unknown name, and names an entry point behind which there is no mapping to exhibits.
    """
    books = {paper: _book(entry) for paper, entry in plugins.entries(f"fltheory.{kind}").items()}
    known = {f"{paper}.{name}": book[name] for paper, book in books.items() for name in _in_order(book)}
    wanted, other = list(names), "tables" if kind == "figures" else "figures"
    for name in wanted:
        if name not in known and name not in books:
            listed = f"`fltheory {kind} --list`"
            allowed = f"one of those that {listed} lists (this one is for `fltheory {other}`)"
            allowed = allowed if _is_there(other, name) else one_of(name, [*known, *books], listed)
            raise InputError(f"name of a {kind[:-1]}", name, allowed)
    return {
        name: exhibit
        for name, exhibit in known.items()
        if not wanted or name in wanted or name.partition(".")[0] in wanted
    }


def _is_there(kind: str, name: str) -> bool:
    """Whether it names a paper or an exhibit of this kind."""
    paper, _, own = name.partition(".")
    entry = plugins.entries(f"fltheory.{kind}").get(paper)
    return entry is not None and (name == paper or own in _book(entry))


def _in_order(book: Mapping[str, Exhibit]) -> list[str]:
    """Names by the number that begins what they are about, such as "Figure 10: ..." or "Table C.4.1: ...".

    >>> _in_order({n: Exhibit(n, print, ()) for n in ("Ours: b", "Figure D.2: x", "Figure 10: x", "Figure 2: x")})
    ['Figure 2: x', 'Figure 10: x', 'Figure D.2: x', 'Ours: b']
    """

    def place(name: str) -> tuple[bool, str, list[int]]:
        number = re.match(r"\w+ ([A-Z]?)([\d.]+):", book[name].about)
        return (False, number[1], [int(part) for part in number[2].split(".") if part]) if number else (True, "", [])

    return sorted(book, key=place)


def _book(entry: EntryPoint) -> Mapping[str, Exhibit]:
    book: Mapping[str, Exhibit] = plugins.load(entry, Mapping)
    for name, exhibit in book.items():
        if not isinstance(exhibit, Exhibit):
            raise InputError(
                f"{name!r} behind {plugins.described(entry)}", exhibit, f"an Exhibit (it is in {entry.value})"
            )
    return book
