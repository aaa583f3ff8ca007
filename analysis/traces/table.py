"""A log as it stands in its file, CSV, Parquet or JSON lines; a value that is not allowed is named with its place."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from polars.exceptions import PanicException, PolarsError

from analysis.traces.memory import ROW, TEXT, require_cells, require_room
from fltheory.errors import InputError
from sims.panics import panics_untold

MEANT = ("client", "round", "timestamp", "start", "end", "available")  # columns that say what a form of log says
ROUNDS = ("round", "start", "end")
FIRST_LINES = 1000  # of JSON lines, whose keys are the columns
HEAD = 2**16  # bytes that tell what a file is
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Source:
    """A file that was recognised, and the names of its columns."""

    path: Path
    kind: Literal["CSV", "Parquet", "JSON lines"]
    lazy: pl.LazyFrame
    found: tuple[str, ...]

    def table(self, wanted: Sequence[str], *, matrix: bool = False, empty_rows: bool = False) -> Table:
        """Read the wanted columns; raises InputError unless there is a row.

        Of a CSV, lines that are blank or empty in these columns are dropped; with `empty_rows` only those that are
        blank and at its end.

        matrix   whether the columns are those of a matrix, which is read cell by cell
        """
        if twice := [name for name in wanted if f"{name}_duplicated_0" in self.found]:  # so polars renames them
            raise InputError("the columns of the log", twice[0], "there once each")
        with _reading(self.path, self.kind):
            schema = self._small(wanted)
            texts = sum(dtype == pl.String for dtype in schema.values())
            number = self.lazy.select(pl.len()).collect().item()
            if matrix:
                require_cells(number, len(wanted), texts)
            else:
                require_room("rows", number, ROW + TEXT * texts)
            frame = self.lazy.select(wanted).cast(schema).with_row_index("row").collect(engine="streaming")
            rows = len(frame) - _blank_at_end(self.path) if empty_rows and self.kind == "CSV" else 0
        if self.kind == "CSV":
            frame = frame.filter((pl.col("row") < rows) | ~pl.all_horizontal(pl.col(wanted).is_null()))
        if frame.is_empty():
            raise InputError("the log", str(self.path), "a file with at least one row")
        return Table(frame, self)

    def _small(self, wanted: Sequence[str]) -> pl.Schema:
        """Types that hold clients and rounds in less memory: a large log has many rows of few values."""
        schema = self.lazy.select(wanted).collect_schema()
        if schema.get("client") == pl.String:
            schema["client"] = pl.Categorical()
        if integers := [name for name in ROUNDS if name in schema and schema[name].is_integer()]:
            ends = self.lazy.select(
                *(pl.col(name).min().alias(f"least {name}") for name in integers),
                *(pl.col(name).max() for name in integers),
            ).collect(engine="streaming")
            for name in integers:
                least, most = ends[f"least {name}"][0], ends[name][0]
                for bits, dtype in ((15, pl.Int16()), (31, pl.Int32())):
                    if most is not None and -(2**bits) <= least and most < 2**bits:
                        schema[name] = dtype
                        break
        return schema

    def observations(self, wanted: Sequence[str]) -> Table:
        """The wanted columns, and `available` where it stands; of JSON lines it may come after the first ones."""
        if "available" in self.found or self.kind != "JSON lines":
            return self.table([*wanted, *{"available"}.intersection(self.found)])
        table = self.table([*wanted, "available"])
        unsaid = table.frame["available"].is_null().all()
        return replace(table, frame=table.frame.drop("available")) if unsaid else table

    def cells(self) -> pl.Series:
        """How many cells each row of a CSV has, by its commas: none hides one where cells say 1 or 0; 0 if blank."""
        broken = sum(name.count("\n") for name in self.found)  # lines of the header after its first
        with _reading(self.path, self.kind):
            lines = pl.scan_csv(
                self.path, separator="\x01", quote_char=None, infer_schema_length=0, glob=False,
                skip_rows_after_header=broken,
            )  # fmt: skip
            line = pl.nth(0).fill_null("")
            commas = line.str.count_matches(",", literal=True) + 1
            blank = line.str.strip_chars() == ""
            return lines.select(pl.when(blank).then(0).otherwise(commas)).collect(engine="streaming").to_series()

    def first(self, rows: int) -> pl.DataFrame:
        with _reading(self.path, self.kind):
            return self.lazy.head(rows).collect()

    def place(self, row: int) -> str:
        """Where a row (from 0) stands, such as "line 2" or, in a Parquet file, "row 1"."""
        if self.kind == "Parquet":
            return f"row {row + 1}"
        if self.kind == "CSV":
            return f"line {row + 2}"
        line, _ = next(islice(_lines(self.path), row, None))
        return f"line {line}"


@dataclass(frozen=True)
class Table:
    """Some columns, and in column `row` the place of each row in the file."""

    frame: pl.DataFrame
    source: Source

    def text(self, column: str) -> pl.Series:
        return self.frame[column].cast(pl.String, strict=False).str.strip_chars()

    def require(self, column: str, good: pl.Series | npt.NDArray[np.bool_], allowed: str) -> None:
        """Raise InputError at the first row that is not good; null is not good."""
        bad = np.flatnonzero(~pl.Series(good).fill_null(False).to_numpy())
        if bad.size:
            at = int(bad[0])
            place = self.source.place(self.frame["row"][at])
            raise InputError(f"{column} on {place} of the log", self.frame[column][at], allowed)


def head(path: Path) -> bytes:
    """The beginning of a log, after a byte order mark and blanks; raises InputError for a file that cannot be read."""
    with _reading(path), path.open("rb") as file:
        return file.read(HEAD).removeprefix(BYTE_ORDER_MARK).lstrip()


def open_log(path: Path) -> Source:
    """What the file is, by its first bytes."""
    begin = head(path)
    if begin.startswith(b"["):
        raise InputError("the log", str(path), "JSON lines, an object for each row and no list around them")
    if begin.startswith(b"{"):
        keys = _keys(path)
        lazy = pl.scan_ndjson(_unmarked(path), schema=dict.fromkeys((*MEANT, *keys), pl.String))
        return Source(path, "JSON lines", lazy, tuple(keys))
    with _reading(path):
        if begin.startswith(b"PAR1"):
            lazy = pl.scan_parquet(path, glob=False)
            return Source(path, "Parquet", lazy, tuple(lazy.collect_schema().names()))
        lazy = _unquoted(pl.scan_csv(path, infer_schema_length=0, glob=False), path)
        return Source(path, "CSV", lazy, tuple(lazy.collect_schema().names()))


def _unquoted(lazy: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    """With quotes within the quoted names of columns, which polars leaves doubled, as they are meant."""
    names = [name for name in lazy.collect_schema().names() if '""' in name]
    if not names:
        return lazy
    with path.open(encoding="utf-8", errors="replace") as file:
        header = file.readline()
    return lazy.rename({name: name.replace('""', '"') for name in names if f'"{name}"' in header})


@contextmanager
def _reading(path: Path, kind: str = "") -> Iterator[None]:
    try:
        with panics_untold():
            yield
    except FileNotFoundError:
        raise InputError("the log", str(path), "a file that exists") from None
    except OSError:
        raise InputError("the log", str(path), "a file that can be read") from None
    except (PolarsError, PanicException) as error:  # a damaged Parquet file can panic inside polars
        if kind == "JSON lines":
            _keys(path, most=None)
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError("the log", str(path), f"a CSV (UTF-8) or Parquet file or JSON lines ({reason})") from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these keys and values; raises InputError for a key that is there again."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise InputError("keys of the log", twice, "there once in each object")
    return found


def _unmarked(path: Path) -> Path | io.BytesIO:
    """JSON lines as polars reads them: without a byte order mark."""
    with path.open("rb") as file:
        return io.BytesIO(file.read()) if file.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK else path


def _blank_at_end(path: Path) -> int:
    blank = 0
    with path.open("rb") as file:
        for line in file:
            blank = 0 if line.strip() else blank + 1
    return blank


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1."""
    with path.open("rb") as file:
        yield from ((number, line) for number, line in enumerate(file, 1) if line.removeprefix(BYTE_ORDER_MARK).strip())


def _keys(path: Path, most: int | None = FIRST_LINES) -> list[str]:
    """The keys of the first JSON lines; raises InputError at a line that is no object, or has a key twice or NaN."""
    keys: dict[str, None] = {}
    for number, line in islice(_lines(path), most):
        try:
            row = json.loads(line, object_pairs_hook=once, parse_constant=_no_constant)
        except InputError as error:
            raise InputError(f"{error.argument} on line {number}", error.value, error.allowed) from None
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            shown = line.strip().decode(errors="replace")
            raise InputError(f"line {number} of the log", shown, 'a JSON object such as {"client": 1, "round": 0}')
        keys |= dict.fromkeys(row)
    return list(keys)


def _no_constant(name: str) -> None:
    raise InputError("a number of the log", name, "one that JSON has, or null (it has no NaN and no Infinity)")
