"""A section of a table from runs: published numbers, and those of the runs that are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.exhibits import NOT_FOUND, Given
from analysis.measured import Number, about, labels, late_records, number, sentences, window
from analysis.stored_runs import SCALES, trains
from analysis.tables.layout import Cell, Section, Value
from sims.store import Run

Metrics = Mapping[str, tuple[str, float] | None]  # column -> recorded metric and factor; None if nothing records it
NOT_RECORDED, FAULTY = "not recorded", "faulty run"


@dataclass(frozen=True)
class Row:
    """A row of a section.

    name     what the table calls it
    key      what the published data call it
    places   file of an experiment and label of an algorithm in it; the first that was run is shown
    """

    name: str
    key: str
    places: Sequence[tuple[str, str]]

    def found(self, given: Given) -> tuple[Run, str] | None:
        """The run that is shown and the label in it."""
        for file, label in self.places:
            if file in given.runs and label in labels(given.runs[file]):
                return given.runs[file], label
        return None

    def files_at(self, scale: str) -> list[str]:
        """The files of its places that have the algorithm at this scale."""
        return [file for file, label in self.places if trains(file, scale, (label,))]


def section(
    given: Given,
    title: str,
    file: str,
    methods: Mapping[str, str],
    metrics: Metrics,
    published: Mapping[tuple[str, str], Number],
) -> Section:
    """A row for each method, a column for each of `metrics`, all of one run.

    file       of the experiment
    methods    name in the published data -> label in the experiment file
    published  (method, column) -> number; methods without one are left out, unless there are no numbers at all
    """
    shown = {m: label for m, label in methods.items() if not published or any(m == own for own, _ in published)}
    return section_of(given, title, [Row(label, m, [(file, label)]) for m, label in shown.items()], metrics, published)


def section_of(
    given: Given,
    title: str,
    rows: Sequence[Row],
    metrics: Metrics,
    published: Mapping[tuple[str, str], Number],
    records: Mapping[str, int] | None = None,
) -> Section:
    """As `section`, with rows that may be of different runs.

    published  (key of a row, column) -> number
    records    column -> how many of the last records its numbers are means of, at most those of the last fifth of
               the rounds; without it, as `analysis.measured.window` says
    """
    late = records or {}
    cells = {}
    shown: dict[str, Run] = {}
    for row in rows:
        found = row.found(given)
        without = why_empty(given, row.files_at(given.scale))
        cells[row.name] = {
            column: Cell(
                published.get((row.key, column)),
                _measured(*found, given.scale, metric, late.get(column)) if found else without,
            )
            for column, metric in metrics.items()
        }
        if found:
            shown[found[0].key] = found[0]
    files = dict.fromkeys(file for row in rows for file, _ in row.places)
    runs = [run for file in files if (run := given.runs.get(file)) is not None and run.key in shown]
    left = left_out(given, files)
    if not runs:
        missing = not_found(given, files)
        why = "; ".join(filter(None, (left, missing))) or _not_run(given.scale, rows)
        return Section(title, why, cells, {"scale": given.scale})
    ends = dict.fromkeys(_end(given.scale, run, records) for run in runs)
    words = f"measured at {given.scale} scale: {'; '.join(sentences(runs))}; {', '.join(ends)}"
    words += "".join(f"; {why}" for why in (left, not_found(given, files)) if why)
    known = [about(run) for run in runs]
    together = {key: "; ".join(dict.fromkeys(str(one[key]) for one in known)) for key in known[0]}
    return Section(title, words, cells, {"scale": given.scale, **together})


def left_out(given: Given, files: Iterable[str]) -> str:
    """Which of these files are left out, as they or their stored runs are faulty, in words; empty for none."""
    faulty = [file for file in files if file in given.faulty]
    return f"left out, as the file or its stored run is faulty: {', '.join(faulty)}" if faulty else ""


def not_found(given: Given, files: Iterable[str]) -> str:
    """Which of these files are not there, in words; empty for none."""
    absent = [file for file in files if file in given.absent]
    return f"{NOT_FOUND}: {', '.join(absent)}" if absent else ""


def why_empty(given: Given, files: Iterable[str]) -> str | None:
    """What a cell of these files says that has no run; None if it was not run."""
    own = list(files)
    if any(file in given.faulty for file in own):
        return FAULTY
    return NOT_FOUND if any(file in given.absent for file in own) else None


def _not_run(scale: str, rows: Sequence[Row]) -> str:
    """Which files can be run to fill a section, or at which scales there are some, if not at this one."""
    files = dict.fromkeys(file for row in rows for file in row.files_at(scale))
    if files:
        return f"not run at {scale} scale ({', '.join(files)})"
    others = [one for one in SCALES if any(row.files_at(one) for row in rows)]
    return f"no run at {scale} scale fills this" + (f"; runs at {' or '.join(others)} scale do" if others else "")


def _measured(run: Run, label: str, scale: str, metric: tuple[str, float] | None, records: int | None) -> Value:
    if metric is None or metric[0] not in run.experiment["record"]["what"]:
        return NOT_RECORDED
    return number(run, label, metric[0], scale, metric[1], records)


def _end(scale: str, run: Run, records: Mapping[str, int] | None) -> str:
    """What the numbers are means of, in words; short runs have fewer records than the paper's."""
    if records is None:
        late = window(scale, run)
        return f"mean over the last {late} rounds" if late > run.experiment["record"]["every"] else "at the end"
    there = {column: late_records(scale, run, n) for column, n in records.items()}
    return ", ".join(
        f"{column}: mean of the last {n} records" if n > 1 else f"{column}: at the end" for column, n in there.items()
    )
