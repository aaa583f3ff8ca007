"""Malformed logs: CSV and Parquet."""

from __future__ import annotations

import io
from random import Random
from typing import Any

import polars as pl
from hypothesis import strategies as st

from tests.trust.case import Case
from tests.trust.mutate import mutated

ROUNDS = pl.DataFrame(
    {"client": [0, 0, 1, 2, 2, 2, 1], "round": [0, 3, 1, 2, 4, 5, 9], "available": [1, 0, 1, 1, 1, 0, 1]}
)
TIMES = pl.DataFrame(
    {
        "client": ["a", "b", "a", "b"],
        "timestamp": ["2024-01-01T00:10", "2024-01-01 05:00", "2024-01-02", "2024-01-03T01"],
    }
)
INTERVALS = pl.DataFrame({"client": [0, 1, 0], "start": [0, 2, 7], "end": [3, 9, 8]})
CELLS = [
    None, True, False, 0, 1, 2, -1, 3.0, 1.5, 2**53, 2**63 - 1, 2**64, 1e300, float("nan"), float("inf"), "", " ",
    "a", "1 ", "03", "3.0", "yes", "NA", "null", "1e3", "\u00e9", "a,b", 'q"', "two\nlines", "\ufeff", "2024-01-01",
    "2024-01-01T00:00Z", "2024-02-30", "2024-01-01T00:00+99:00", "20240101", "9999-12-31T23:59:59", "-5000-01-01",
]  # fmt: skip
NAMES = ["client", "round", "timestamp", "available", "start", "end", "Client", " round", "online", "offline", "x", ""]
TYPES = [
    pl.Int8, pl.UInt64, pl.Int128, pl.Float32, pl.String, pl.Boolean, pl.Binary, pl.Date, pl.Datetime, pl.Duration,
    pl.Time, pl.Categorical, pl.Null, pl.Decimal(10, 2), pl.List(pl.Int64), pl.Struct({"a": pl.Int64}),
    pl.Datetime("ns", "Asia/Tokyo"),
]  # fmt: skip
PLAIN, ODD = st.sampled_from([0, 1, 1, 0]), st.sampled_from(CELLS)
LOG_OPTIONS = [line.split() for line in ("", "", "--round-length 1h", "--rounds 40", "--clients 3", "--json")]


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _log(content: bytes, options: list[str], ending: str) -> Case:
    return Case(["weights", f"log.{ending}", "--cutoff", "5", *options], {f"log.{ending}": content})


@st.composite
def logs(draw: st.DrawFn) -> Case:
    """CSV or Parquet with columns of odd names, types and values; those that are needed are often there."""
    names = draw(
        st.one_of(st.just(["client", "round"]), st.just(["timestamp", "client"]), st.lists(st.sampled_from(NAMES)))
    )
    names = [*names, *draw(st.lists(st.sampled_from(NAMES), max_size=2))]
    height = draw(st.integers(0, 6))
    columns = [
        draw(st.lists(draw(st.sampled_from([PLAIN, PLAIN, ODD])), min_size=height, max_size=height)) for _ in names
    ]
    options = draw(st.sampled_from(LOG_OPTIONS))
    if draw(st.booleans()):
        series = [
            _series(name, values, draw(st.sampled_from([None, *TYPES])))
            for name, values in zip(names, columns, strict=True)
        ]
        return _log(_parquet(pl.DataFrame({one.name: one for one in series})), options, "parquet")
    separator = draw(st.sampled_from([",", ",", ",", ";", "\t"]))
    rows = [names, *([("" if cell is None else str(cell)) for cell in row] for row in zip(*columns, strict=True))]
    quote = draw(st.sampled_from(["", "", '"']))
    text = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(
        separator.join(f"{quote}{cell}{quote}" for cell in row) for row in rows
    )
    return _log(text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))), options, "csv")


def _series(name: str, values: list[Any], kind: Any) -> pl.Series:
    try:
        return pl.Series(name, values, dtype=kind, strict=False)
    except Exception:  # not of this type
        return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def mutated_log(random: Random) -> Case:
    """Events, intervals and timestamps, as CSV, Parquet and JSON lines."""
    frame = random.choice((ROUNDS, TIMES, INTERVALS))
    options = ["--round-length", "1h"] if frame is TIMES else random.choice(LOG_OPTIONS)
    ending = random.choice(("csv", "parquet", "jsonl"))
    written = {"csv": frame.write_csv, "jsonl": frame.write_ndjson}
    content = _parquet(frame) if ending == "parquet" else written[ending]().encode()
    return _log(mutated(content, random), options, ending)
