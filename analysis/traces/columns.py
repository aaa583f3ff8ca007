"""The columns of a log as they stand in the file; a value that is not allowed is named with its line."""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from polars.exceptions import PanicException, PolarsError

from fltheory.errors import InputError

COLUMNS = "client and round (or timestamp, with round_length), and available where it was recorded"
THERE, AWAY = ("avail", "online", "participat", "active"), ("unavail", "offline", "inactive")
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
MICRO = 10**6
FARTHEST = 10**12  # seconds, so that the microseconds between any two timestamps fit in an int64
COMPACT = (  # dates of 1900 to 2199, such as 202401, 20240131 and 202401311430, which as numbers would be seconds
    r"^(19|20|21)\d\d(0[1-9]|1[0-2])((0[1-9]|[12]\d|3[01])(([01]\d|2[0-3])([0-5]\d){0,2})?)?$"
)
ISO = r"^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?\s*([Zz]|[+-]\d\d(?::?\d\d)?)?)?$"


@dataclass(frozen=True)
class Table:
    """The wanted columns, and in column `row` the place of each row in the file; the other column of times, if any."""

    frame: pl.DataFrame
    is_csv: bool
    ignored: str = ""

    def text(self, column: str) -> pl.Series:
        return self.frame[column].cast(pl.String, strict=False).str.strip_chars()

    def require(self, column: str, good: pl.Series | npt.NDArray[np.bool_], allowed: str) -> None:
        """Raise InputError at the first row that is not good; null is not good."""
        bad = np.flatnonzero(~pl.Series(good).fill_null(False).to_numpy())
        if bad.size:
            at = int(bad[0])
            row = self.frame["row"][at]
            place = f"line {row + 2}" if self.is_csv else f"row {row + 1}"
            raise InputError(f"{column} on {place} of the log", self.frame[column][at], allowed)


def open_log(path: Path, when: str) -> Table:
    """Read columns `client`, `when` and, where it stands, `available`; blank lines of a CSV are dropped."""
    try:
        with path.open("rb") as file:
            is_csv = file.read(4) != b"PAR1"
        lazy = pl.scan_csv(path, infer_schema_length=0, glob=False) if is_csv else pl.scan_parquet(path, glob=False)
        found = lazy.collect_schema().names()
        wanted = ["client", when, *(["available"] if "available" in found else [])]
        if not {"client", when} <= set(found):
            raise InputError("the columns of the log", found, _needed(found, when))
        if "available" not in found and (near := _like_available([name for name in found if name not in wanted])):
            what = f"the opposite of {near!r}" if any(word in _letters(near) for word in AWAY) else repr(near)
            otherwise = "or leave that column out if it says something else"
            raise InputError("the columns of the log", found, f"{COLUMNS}: write {what} as 'available', {otherwise}")
        if twice := [name for name in wanted if f"{name}_duplicated_0" in found]:  # so polars renames them
            raise InputError("the columns of the log", twice[0], "there once each")
        frame = lazy.select(wanted).with_row_index("row").collect()
    except FileNotFoundError:
        raise InputError("the log", str(path), "a file that exists") from None
    except OSError:
        raise InputError("the log", str(path), "a file that can be read") from None
    except (PolarsError, PanicException) as error:  # a damaged Parquet file can panic inside polars
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError("the log", str(path), f"a CSV (UTF-8) or Parquet file ({reason})") from None
    if is_csv:
        frame = frame.filter(~pl.all_horizontal(pl.col(wanted).is_null()))
    if frame.is_empty():
        raise InputError("the log", str(path), "a file with at least one row")
    other = "timestamp" if when == "round" else "round"
    return Table(frame, is_csv, other if other in found else "")


def _needed(found: list[str], when: str) -> str:
    """What the columns must be, with what is most likely amiss."""
    if when == "round" and {"client", "timestamp"} <= set(found):
        return f"{COLUMNS}: say --round-length, such as 1h, to read the timestamps"
    alike = {name.strip().lower(): name for name in found}
    renamed = [f"{alike[name]!r} as {name!r}" for name in ("client", when) if name not in found and name in alike]
    return COLUMNS + (f": write {' and '.join(renamed)}" if renamed else "")


def _like_available(found: list[str]) -> str:
    """The column most likely meant as `available`, or "": if ignored, rows that say 0 would count as participations."""
    for name in found:
        plain = _letters(name)
        misspelt = plain.startswith("av") and difflib.get_close_matches("available", [plain], cutoff=0.7)
        if misspelt or any(word in plain for word in (*THERE, *AWAY)):
            return name
    return ""


def _letters(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())


def client_ids(table: Table) -> pl.Series:
    """Column `client` as text, see `plain_ids`."""
    dtype, allowed = table.frame["client"].dtype, "a whole number or a text"
    if dtype.is_float():
        ids = _whole(table, "client").cast(pl.String)
    elif dtype.is_numeric() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        ids = plain_ids(_exact_text(table, "client"))
    else:
        raise InputError("column client of the log", str(dtype), allowed)
    table.require("client", ids.is_not_null() & (ids != ""), allowed)
    return ids


def plain_ids(ids: pl.Series) -> pl.Series:
    """Ids (texts) as they are compared: without space around; 3.0 is 3, for pandas writes 3 so next to a gap."""
    return ids.str.strip_chars().str.replace(r"^(-?\d+)\.0+$", "$1")


def _require_plain(table: Table, column: str) -> None:
    """Refuse lists, durations, bytes and whatever else is neither number nor text."""
    dtype = table.frame[column].dtype
    if not (dtype.is_numeric() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Boolean)):
        raise InputError(f"column {column} of the log", str(dtype), "numbers or text")


def rounds(table: Table) -> npt.NDArray[np.int64]:
    """Column `round`."""
    _require_plain(table, "round")
    numbers = _whole(table, "round")
    table.require("round", numbers >= 0, "a whole number of at least 0 (and less than 2**63)")
    return numbers.to_numpy()


def timestamps(table: Table) -> npt.NDArray[np.int64]:
    """Column `timestamp`, in microseconds after the earliest one. Numbers that mostly read as dates are refused."""
    column = table.frame["timestamp"]
    if column.dtype not in (pl.Datetime, pl.Date):
        _require_plain(table, "timestamp")
    text = table.text("timestamp")
    if column.dtype in (pl.Datetime, pl.Date):
        instants = column.cast(pl.Datetime("us")).to_physical()
    elif column.dtype.is_numeric() or text.head(1).cast(pl.Float64, strict=False).is_not_null().all():
        seconds = text.cast(pl.Float64, strict=False)
        digits = seconds.abs().cast(pl.Int64, strict=False).cast(pl.String)  # of the value, however it is written
        compact = digits.str.contains(COMPACT).fill_null(False)
        if 2 * compact.sum() > len(text):  # one slip does not make seconds of dates
            allowed = "a date written as 2024-01-31, or a number of seconds that does not look like a date"
            table.require("timestamp", ~compact, allowed)
        instants = (seconds * MICRO).round().cast(pl.Int64, strict=False)
    else:
        instants = _iso_instants(table, text)
    within = instants.is_between(-MICRO * FARTHEST, MICRO * FARTHEST)
    table.require("timestamp", within, f"a number of seconds, of at most {FARTHEST:.0e} in size")
    return (instants - instants.min()).to_numpy()


def _iso_instants(table: Table, text: pl.Series) -> pl.Series:
    """Microseconds of ISO date-times; a time of day that is left out is midnight, no offset at all is UTC."""
    fields = pl.DataFrame({"text": text}).select(pl.col("text").str.extract_groups(ISO).struct.unnest())
    date, minute, second, zone = (pl.col(name) for name in fields.columns)
    offset = zone.fill_null("Z").str.replace("(?i)z", "+00:00")
    full = pl.concat_str(date, pl.lit("T"), minute.fill_null("00:00"), second.fill_null(":00"), offset)
    instant = full.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", time_unit="us", strict=False)
    parsed = fields.select(instant=instant.to_physical(), zoned=zone.is_not_null())
    form = "an ISO date-time such as 2024-05-31T14:00:00"
    table.require("timestamp", parsed["instant"].is_not_null(), f"{form} (or a number of seconds in every row)")
    zoned = parsed["zoned"][0]
    same = f"{form}, {'with' if zoned else 'without'} an offset from UTC as in the first row"
    table.require("timestamp", parsed["zoned"] == zoned, same)
    return parsed["instant"]


def available(table: Table) -> npt.NDArray[np.bool_]:
    """Column `available`."""
    _require_plain(table, "available")
    text = table.text("available").str.to_lowercase().str.replace(r"^([01])\.0+$", "$1")
    on, off = text.is_in(["true", "1"]), text.is_in(["false", "0"])
    table.require("available", on | off, "true or false, or 1 or 0")
    return on.to_numpy()


def microseconds(argument: str, length: str | float) -> int:
    """A length of time, in seconds or as a text such as "15m", in microseconds.

    >>> microseconds("round_length", "15m")
    900000000
    """
    parsed = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([smhdw]?)\s*", length) if isinstance(length, str) else None
    if parsed:
        seconds = float(parsed[1]) * UNITS[parsed[2]]
    else:
        seconds = math.nan if isinstance(length, str | bool) else float(length)
    micro = seconds * MICRO
    # Written so that NaN is refused. A whole number counts as whole in spite of the rounding of seconds.
    if not 1 <= micro <= FARTHEST * MICRO or not math.isclose(micro, round(micro), rel_tol=1e-15):
        size = f"a whole number of microseconds from 1e-6 to {FARTHEST:.0e} seconds"
        raise InputError(argument, length, f'{size}, in seconds or as "30s", "15m", "1h", "1d", "1w"')
    return round(micro)


def _whole(table: Table, column: str) -> pl.Series:
    """Whole numbers as Int64, null for anything else. 3.0 is whole: pandas writes 3 so next to a gap."""
    values = table.frame[column]
    if values.dtype.is_integer():
        return values.cast(pl.Int64, strict=False)
    if values.dtype.is_float():
        _require_exact(table, column, values, str(values.dtype), 24 if values.dtype == pl.Float32 else 53)
        return values.set(values != values.round(), None).cast(pl.Int64, strict=False)
    return _exact_text(table, column).str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)


def _exact_text(table: Table, column: str) -> pl.Series:
    """A column as text. A whole number with a point, such as 3.0, was a float before it was written."""
    text = table.text(column)
    floats = text.str.extract(r"^([+-]?\d+\.0*)$").cast(pl.Float64)
    _require_exact(table, column, floats, "number with a decimal point", 53)
    return text


def _require_exact(table: Table, column: str, floats: pl.Series, kind: str, digits: int) -> None:
    """Refuse floats that are too large to tell each whole number from the next."""
    within = floats.is_null() | floats.is_nan() | floats.is_infinite() | (floats.abs() < 2**digits)
    allowed = f"below 2**{digits} in size: a larger {kind} need not be the whole number that was meant"
    table.require(column, within, allowed)
