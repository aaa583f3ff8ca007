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
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import Any, Literal

from analysis.stored_runs import damage, trains
from fltheory import plugins
from fltheory.errors import InputError, one_of
from sims.store import Run


@dataclass(frozen=True)
class Given:
    """What a figure or a table is made of.

    scale   "smoke", "laptop" or "paper"
    runs    file of an experiment -> its run at that scale, of those that the store has
    faulty  file of an experiment -> why it or its stored run cannot be used, so that it is left out
    """

    scale: str
    runs: Mapping[str, Run]
    faulty: Mapping[str, InputError] = field(default_factory=dict)

    @property
    def without(self) -> str:
        """Why something is not there, as far as a figure can tell: not which of its files should have had it."""
        return "not run or left out" if self.faulty else "not run"


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table: one line about it, the function that makes it, the experiment files whose runs it shows.

    shows   file -> labels of the algorithms that are shown of it; a file that is not there may have any
    """

    about: str
    make: Callable[[Given], Any]
    experiments: tuple[str, ...]
    shows: Mapping[str, Container[str]] = field(default_factory=dict)

    def filled_by(self, scale: str) -> list[str]:
        """Those of its files of which a run at this scale fills something that is shown."""
        return [file for file in self.experiments if file not in self.shows or trains(file, scale, self.shows[file])]


def enter(
    book: dict[str, Exhibit],
    name: str,
    about: str,
    *experiments: str,
    shows: Mapping[str, Container[str]] | None = None,
) -> Callable[[Callable[[Given], Any]], Callable[[Given], Any]]:
    """Enter the decorated function in a book under this name.

    experiments   paths, those of this project from the root of its checkout. Without any, the function computes
                  all it shows. A figure is made if one of them has been run, a table in any case.
    shows         as `Exhibit` has it, where a scale may train none of what is shown: then no run of it is offered
    """

    def entered(make: Callable[[Given], Any]) -> Callable[[Given], Any]:
        if name in book:
            raise InputError("name of a figure or table", name, "new: this one is taken")
        book[name] = Exhibit(about, make, experiments, shows or {})
        return make

    return entered


def given_of(exhibit: Exhibit, scale: str, runs: Mapping[str, Run], faults: Mapping[str, InputError]) -> Given:
    """What an exhibit is made of, by file of an experiment: all but what has a fault, or data that are damaged."""
    own = {file: runs[file] for file in exhibit.experiments if file in runs}
    found = {file: fault for file, run in own.items() if (fault := damage(run))}
    faulty = {file: fault for file in exhibit.experiments if (fault := faults.get(file) or found.get(file))}
    return Given(scale, {file: run for file, run in own.items() if file not in faulty}, faulty)


def chosen(kind: Literal["figures", "tables"], names: Iterable[str]) -> dict[str, Exhibit]:
    """Those of these names, a paper's name standing for all of its own; without names all there are.

    Those of a paper in the order in which it numbers them, then ours.

    Raises InputError for an unknown name, and names an entry point behind which there is no mapping to exhibits.
    """
    books = {paper: _book(entry) for paper, entry in plugins.entries(f"fltheory.{kind}").items()}
    known = {f"{paper}.{name}": book[name] for paper, book in books.items() for name in _in_order(book)}
    wanted = list(names)
    for name in wanted:
        if name not in known and name not in books:
            allowed = one_of(name, [*known, *books], f"`fltheory {kind} --list`")
            raise InputError(f"name of a {kind[:-1]}", name, allowed)
    return {
        name: exhibit
        for name, exhibit in known.items()
        if not wanted or name in wanted or name.partition(".")[0] in wanted
    }


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
