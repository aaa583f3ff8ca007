"""What the columns of a log say: clients, rounds, times, availability."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.traces.log import AT_ONCE
from analysis.traces.table import Table
from fltheory.errors import InputError

ON, OFF = ("true", "1"), ("false", "0")
SECONDS, WITH_OFFSET, WITHOUT_OFFSET = "seconds", "dates with an offset from UTC", "dates without an offset"
Texts = TypeVar("Texts", pl.Series, pl.Expr)
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
MICRO = 10**6
FARTHEST = 10**12  # seconds, so that the microseconds between any two timestamps fit in an int64
COMPACT = (  # dates of 1900 to 2199, such as 202401, 20240131 and 202401311430, which as numbers would be seconds
    r"^(19|20|21)\d\d(0[1-9]|1[0-2])((0[1-9]|[12]\d|3[01])(([01]\d|2[0-3])([0-5]\d){0,2})?)?$"
)
LEAST_DATE = 190001
ISO = r"^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?\s*([Zz]|[+-]\d\d(?::?\d\d)?)?)?$"


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


def first_rows(table: Table) -> Table:
    """The rows in which a value of column `client` stands first."""
    frame = table.frame.select("row", "client").unique("client", keep="first", maintain_order=True)
    return replace(table, frame=frame)


def plain_ids(ids: pl.Series) -> pl.Series:
    """Ids (texts) as they are compared: without space around; 3.0 is 3, for pandas writes 3 so next to a gap."""
    return ids.str.strip_chars().str.replace(r"^(-?\d+)\.0+$", "$1")


def _require_plain(table: Table, column: str) -> None:
    """Refuse lists, durations, bytes and whatever else is neither number nor text."""
    dtype = table.frame[column].dtype
    if not is_plain(dtype):
        raise InputError(f"column {column} of the log", str(dtype), "numbers or text")


def is_plain(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Boolean)


def rounds(table: Table, column: str = "round") -> npt.NDArray[np.int64]:
    """A column of rounds, of any signed integer type."""
    _require_plain(table, column)
    numbers = _whole(table, column)
    table.require(column, numbers >= 0, "a whole number of at least 0 (and less than 2**63)")
    where = " in a column called timestamp" if column == "round" else ""
    allowed = f"a round that does not look like a date (of dates written as 2024-01-31{where} say --round-length)"
    _require_no_dates(table, column, numbers, allowed)
    return numbers.to_numpy()


def timestamps(table: Table) -> tuple[npt.NDArray[np.int64], int, str]:
    """Column `timestamp`, in microseconds after the earliest one; that one; the kind of times (see `instants`)."""
    found, kind = instants(table, "timestamp")
    earliest = int(found.to_numpy().min())
    return found.to_numpy() - earliest, earliest, kind


def instants(table: Table, name: str) -> tuple[pl.Series, str]:
    """A column of times, in microseconds, and their kind: only times of one kind have the same origin.

    Numbers that mostly read as dates are refused.
    """
    column = table.frame[name]
    if column.dtype not in (pl.Datetime, pl.Date):
        _require_plain(table, name)
    text = table.text(name)
    if column.dtype in (pl.Datetime, pl.Date):
        found = column.cast(pl.Datetime("us")).to_physical()
        kind = WITH_OFFSET if getattr(column.dtype, "time_zone", None) else WITHOUT_OFFSET
    elif column.dtype.is_numeric() or text.head(1).cast(pl.Float64, strict=False).is_not_null().all():
        seconds = text.cast(pl.Float64, strict=False)
        allowed = "a date written as 2024-01-31, or a number of seconds that does not look like a date"
        _require_no_dates(table, name, seconds.abs().cast(pl.Int64, strict=False), allowed)
        whole = text.str.extract(r"^([+-]?\d{1,13})(?:\.0*)?$").cast(pl.Int64)  # exact, where floats may be too coarse
        found = (whole * MICRO).fill_null((seconds * MICRO).round().cast(pl.Int64, strict=False))
        kind = SECONDS
    else:
        found, kind = _iso_instants(table, name, text)
    within = found.is_between(-MICRO * FARTHEST, MICRO * FARTHEST)
    table.require(name, within, f"a number of seconds, of at most {FARTHEST:.0e} in size")
    return found, kind


def _require_no_dates(table: Table, column: str, numbers: pl.Series, allowed: str) -> None:
    """Refuse whole numbers (however they were written) if most read as dates: one slip makes no numbers of dates."""
    if numbers.dtype.is_integer() and not (numbers.to_numpy() >= LEAST_DATE).any():
        return
    compact = numbers.cast(pl.String).str.contains(COMPACT).fill_null(False)
    if 2 * compact.sum() > len(numbers):
        table.require(column, ~compact, allowed)


def _iso_instants(table: Table, column: str, text: pl.Series) -> tuple[pl.Series, str]:
    """Microseconds of ISO date-times; a time of day that is left out is midnight, no offset at all is UTC."""
    fields = pl.DataFrame({"text": text}).select(pl.col("text").str.extract_groups(ISO).struct.unnest())
    date, minute, second, zone = (pl.col(name) for name in fields.columns)
    offset = zone.fill_null("Z").str.replace("(?i)z", "+00:00")
    full = pl.concat_str(date, pl.lit("T"), minute.fill_null("00:00"), second.fill_null(":00"), offset)
    instant = full.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", time_unit="us", strict=False)
    parsed = fields.select(instant=instant.to_physical(), zoned=zone.is_not_null())
    form = "an ISO date-time such as 2024-05-31T14:00:00"
    table.require(column, parsed["instant"].is_not_null(), f"{form} (or a number of seconds in every row)")
    zoned = parsed["zoned"][0]
    same = f"{form}, {'with' if zoned else 'without'} an offset from UTC as in the first row"
    table.require(column, parsed["zoned"] == zoned, same)
    return parsed["instant"], WITH_OFFSET if zoned else WITHOUT_OFFSET


def available(table: Table) -> npt.NDArray[np.bool_]:
    """Column `available`."""
    _require_plain(table, "available")
    said = [_truth(part["available"]) for part in table.frame.select("available").iter_slices(AT_ONCE)]
    on, good = (np.concatenate(each) for each in zip(*said, strict=True))
    table.require("available", good, "true or false, or 1 or 0")
    return on


def _truth(values: pl.Series) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which values say on, and which say on or off."""
    text = plain_truth(values.cast(pl.String, strict=False))
    on, off = (text.is_in(words).fill_null(False).to_numpy() for words in (ON, OFF))
    return on, on | off


def plain_truth(text: Texts) -> Texts:
    """Truth values (a column of texts, or an expression for some) as they are compared with `ON` and `OFF`."""
    return text.str.strip_chars().str.to_lowercase().str.replace(r"^([01])\.0+$", "$1")


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


def rounds_of_a_day(argument: str, length: str | float) -> int | None:
    """How many rounds of this length a day has; None if that is no whole number.

    >>> rounds_of_a_day("round_length", "15m"), rounds_of_a_day("round_length", "7h")
    (96, None)
    """
    rounds, rest = divmod(UNITS["d"] * MICRO, microseconds(argument, length))
    return None if rest else rounds


def _whole(table: Table, column: str) -> pl.Series:
    """Whole numbers as Int64, null for anything else. 3.0 is whole: pandas writes 3 so next to a gap."""
    values = table.frame[column]
    if values.dtype in (pl.Int16, pl.Int32):
        return values
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
