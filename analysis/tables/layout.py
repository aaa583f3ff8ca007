"""A table with published and measured values side by side; as text, Markdown and CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.files import as_csv
from analysis.measured import Number

NOT_RUN, NOT_PRINTED = "not run", "-"
Value = Number | str | None


@dataclass(frozen=True)
class Cell:
    """What the paper prints, and what was measured; None where there is nothing."""

    published: Value = None
    measured: Value = None


@dataclass(frozen=True)
class Section:
    """A part of a table.

    title     what all its numbers are of
    measured  in words what the measured numbers are of, or why there are none
    rows      name of a row -> name of a column -> cell
    about     the same for the CSV form: scale, data, model, rounds, seeds, run (`analysis.measured.about`)
    """

    title: str
    measured: str
    rows: Mapping[str, Mapping[str, Cell]]
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    source   paper, edition and number of the table
    heads    what the two values of a cell are called
    notes    what a reader must know, a sentence each
    """

    title: str
    source: str
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    heads: tuple[str, str] = ("published", "measured")

    def to_text(self) -> str:
        """Columns side by side, a block for each section."""
        blocks = [f"{self.title}\nPublished: {self.source}"]
        for section in self.sections:
            grid = self.grid(section)
            widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
            lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in grid]
            blocks.append("\n".join([section.title, f"  {section.measured}", *(line.rstrip() for line in lines)]))
        return "\n\n".join([*blocks, *self.notes])

    def to_markdown(self) -> str:
        """A heading, and a table for each section."""
        blocks = [f"## {self.title}", f"Published: {self.source}"]
        for section in self.sections:
            grid = self.grid(section)
            head, *rows = ("| " + " | ".join(map(_plain, row)) + " |" for row in grid)
            rule = "|---" + "|---:" * (len(grid[0]) - 1) + "|"
            blocks += [f"### {section.title}", section.measured, "\n".join([head, rule, *rows])]
        return "\n\n".join([*blocks, *self.notes]) + "\n"

    def to_csv(self) -> str:
        """A line for each cell; one that the paper does not have names no source."""
        first, second = self.heads
        return as_csv(
            [
                {"section": section.title, "row": row, "column": column}
                | _parts(first, cell.published, NOT_PRINTED)
                | _parts(second, cell.measured, NOT_RUN)
                | {"source": None if cell.published is None else self.source, **section.about}
                for section in self.sections
                for row, cells in section.rows.items()
                for column, cell in cells.items()
            ]
        )

    def grid(self, section: Section) -> list[tuple[str, ...]]:
        """Head and rows of a section, each column of it twice."""
        columns = list(dict.fromkeys(column for cells in section.rows.values() for column in cells))
        head = ("", *(f"{column}, {what}" for column in columns for what in self.heads))
        rows = [
            (name, *(text for column in columns for text in _texts(cells.get(column, Cell()))))
            for name, cells in section.rows.items()
        ]
        return [head, *rows]


def printed(mean: str, sd: str = "") -> Number:
    """A number as it stands in a paper, with its decimals."""
    decimals, sd_decimals = (len(number.partition(".")[2]) for number in (mean, sd))
    return Number(float(mean), float(sd) if sd else None, None, decimals, sd_decimals)


def _plain(text: str) -> str:
    """Text whose stars and bars Markdown shows as they are.

    >>> print(_plain("1/(M*K*eps) | 2"))
    1/(M\\*K\\*eps) \\| 2
    """
    return text.replace("*", r"\*").replace("|", r"\|")


def _texts(cell: Cell) -> tuple[str, str]:
    return str(cell.published or NOT_PRINTED), str(cell.measured or NOT_RUN)


def _parts(head: str, value: Value, nothing: str) -> dict[str, object]:
    if not isinstance(value, Number):
        return {head: value or nothing}
    return {head: value.mean, f"{head} sd": value.sd, f"{head} seeds": value.n}
