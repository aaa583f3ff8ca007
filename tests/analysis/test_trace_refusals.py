"""Logs that cannot be read: each is refused in one sentence that says where and what is allowed."""

from __future__ import annotations

import datetime
import math
import os
import random
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from analysis.traces import read_log
from fltheory.errors import InputError
from sims.training import room
from tests.analysis.log_files import file, written

START = datetime.datetime(2024, 5, 31, 22, 30)

NOT_PARQUET = b"PAR1" + b"x" * 100
BAD_LOGS: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "empty file": ("", {}, "CSV .* or Parquet file .*empty CSV"),
    "header only": ("client,round\n", {}, "at least one row"),
    "not text": (b"client,round\n\xff\xfe,1\n", {}, "CSV .* or Parquet file .*utf-8"),
    "not parquet": (NOT_PARQUET, {}, "CSV .* or Parquet file"),
    "too many fields": ("client,round\n1,2,3\n", {}, "CSV .* or Parquet file"),
    "wrong columns": ("user,round\n1,2\n", {}, "columns of the log must be client and round .*'user'"),
    "no header": ("1,2\n3,4\n", {}, "columns of the log"),
    "no header of 1.00 and 0.00": (
        "1.00,0.00\n1.00,1.00\n",
        {},
        "first line of the log must be a line of clients",
    ),
    "no header of truth values": ("True,False\nTrue,True\n", {}, "first line of the log must be a line of clients"),
    "no header of a matrix": ("1,0\n1,1\n0,1\n", {}, "first line of the log must be a line of clients .*; got '1,0'"),
    "capital letters": ("Client,ROUND\n1,2\n", {}, "write 'Client' as 'client' and 'ROUND' as 'round'"),
    "timestamp without round_length": ("client,timestamp\n1,2\n", {}, "say --round-length, such as 1h"),
    "round with round_length": ("client,round\n1,2\n", {"round_length": "1h"}, "timestamp, with round_length"),
    "a column twice": ("client,round,round\n1,2,3\n", {}, "there once each; got 'round'"),
    "compact dates": ("client,timestamp\n1,20240131\n", {"round_length": "1d"}, "written as 2024-01-31"),
    **{
        f"compact date {text}": (f"client,timestamp\n1,{text}\n", {"round_length": "1d"}, "written as 2024-01-31")
        for text in (
            *("20240131.0", "2024013114", "202401311430", "20240131143059", "202401311430.0", "202401", "21991231"),
            *("+20240131", "-20240131", "20240131.", "2.0240131e7", "202401311430.5", "19000101", "219912"),
        )
    },
    **{
        f"column {name!r}": (
            f"client,round,{name}\n1,0,0\n1,1,1\n",
            {},
            f"columns of the log must be client and round .*: write '{name}' as 'available', or leave that column out",
        )
        for name in (
            *("Available", " available", "AVAILABLE ", "availble", "avaliable", "availability", "is_available"),
            *("is_avail", "avail_flag", "online", "participated", "active"),
        )
    },
    **{
        f"column {name!r}": (
            f"client,round,{name}\n1,0,0\n1,1,1\n",
            {},
            f"columns of the log must be client and round .*: write the opposite of '{name}' as 'available', or leave",
        )
        for name in ("unavailable", "is_offline", "inactive")
    },
    **{
        f"rounds {dates}": (
            "client,round\n" + "".join(f"1,{date}\n" for date in dates),
            {},
            rf"round on line {line} of the log must be a round that does not look like a date \(of dates written as "
            r"2024-01-31 in a column called timestamp say --round-length\)",
        )
        for line, dates in ((2, (20240131, 20240203)), (3, (0, 202401, 202402)), (2, ("20240131.0",)))
    },
    "dates and a slip": (
        "client,timestamp\n1,20240131\n1,20240100\n1,20240201\n",
        {"round_length": "1h"},
        "timestamp on line 2 of the log must be a date written as 2024-01-31",
    ),
    "a slip and dates": (
        "client,timestamp\n\n1,20240100\n1,20240131\n1,20240201\n",
        {"round_length": "1h"},
        "timestamp on line 4 of the log must be a date written as 2024-01-31, or a number .*'20240131'",
    ),
    "negative round": ("client,round\n1,2\n1,-3\n", {}, "round on line 3 .* at least 0 .*'-3'"),
    "fractional round": ("client,round\n1,2.5\n", {}, "round on line 2 .* whole number .*'2.5'"),
    "NaN round": ("client,round\n1,nan\n", {}, "round on line 2 .*'nan'"),
    "huge round": ("client,round\n1,9223372036854775808\n", {}, r"less than 2\*\*63"),
    **{
        f"float round {text}": (f"client,round\n1,2\n1,{text}\n", {}, r"round on line 3 .* below 2\*\*53 in size")
        for text in ("9007199254740992.0", "9007199254740994.", "123456789012345678.00")
    },
    "float client": ("client,round\n1,2\n9007199254740994.0,3\n", {}, r"client on line 3 .* below 2\*\*53 in size"),
    "no round": ("client,round\n1,2\n\n1,\n", {}, "round on line 4 .*None"),
    "no client": ("client,round\n1,2\n,3\n", {}, "client on line 3 .*None"),
    "blank client": ("client,round\n1,2\n  ,3\n", {}, "client on line 3 .*whole number or a text"),
    "no available": ("client,round,available\n1,2,\n", {}, "available on line 2 .*None"),
    "odd available": ("client,round,available\n1,2,yes\n", {}, "available on line 2 .*'yes'"),
    "round beyond rounds": ("client,round\n1,4\n1,5\n", {"rounds": 5}, "round on line 3 .*first 5 rounds.*'5'"),
    "time beyond rounds": (
        "client,timestamp\n1,0\n1,50\n",
        {"rounds": 5, "round_length": 10},
        "timestamp on line 3 .*first 5 rounds.*'50'",
    ),
    "client beyond clients": ("client,round\n1,0\n12,0\n", {"clients": 10}, "client on line 3 .*clients = 10.*'12'"),
    "client spelt otherwise": ("client,round\n01,0\n", {"clients": "10"}, "client on line 2 .*'01'"),
    "no clients": ("client,round\n1,0\n", {"clients": 0}, "clients must be .*at least 1"),
    "too many clients": ("client,round\n1,0\n", {"clients": 10**12}, "clients must be at most"),
    "missing list": (
        "client,round\n1,0\n",
        {"clients": "nowhere.txt"},
        "clients must be a whole number of at least 1 or a readable",
    ),
    "no rounds": ("client,round\n1,0\n", {"rounds": 0}, "rounds must be .*at least 1"),
    "rounds not whole": ("client,round\n1,0\n", {"rounds": 1.5}, "rounds must be a whole"),
    "cells beyond int64": ("client,round\n1,0\n2,0\n", {"rounds": 2**62}, "rounds must be at most"),
    "bad time": ("client,timestamp\n1,2024-05-31\n1,later\n", {"round_length": 9}, "timestamp on line 3 .*'later'"),
    "bad date": ("client,timestamp\n1,2024-02-30\n", {"round_length": 9}, "timestamp on line 2 .*ISO"),
    "no time": ("client,timestamp\n1,2024-05-31\n1,\n", {"round_length": 9}, "timestamp on line 3 .*None"),
    "NaN time": ("client,timestamp\n1,5\n1,nan\n", {"round_length": 9}, "timestamp on line 3 .*seconds.*'nan'"),
    "infinite time": ("client,timestamp\n1,5\n1,inf\n", {"round_length": 9}, "timestamp on line 3 .*seconds"),
    "seconds and dates": ("client,timestamp\n1,5\n1,2024-05-31\n", {"round_length": 9}, "line 3 .*seconds"),
    "mixed offsets and none": (
        "client,timestamp\n1,2024-05-31T10:00:00\n1,2024-05-31T10:00:00Z\n",
        {"round_length": 9},
        "timestamp on line 3 .*without an offset",
    ),
    **{
        f"round_length {length!r}": ("client,timestamp\n1,5\n", {"round_length": length}, "round_length must be")
        for length in (
            "",
            "h",
            "1y",
            "-1h",
            "0s",
            "1 h 5 m",
            0,
            -5,
            math.nan,
            math.inf,
            "nan",
            True,
            1e300,
            1.5e-6,
            "0.0000015",
        )
    },
}


@pytest.mark.parametrize("name", BAD_LOGS)
def test_bad_log_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    content, options, sentence = BAD_LOGS[name]
    with pytest.raises(InputError, match=sentence) as caught:
        read_log(file(tmp_path, content), **options)
    assert "\n" not in str(caught.value)


BAD_COLUMNS: dict[str, tuple[dict[str, list[Any]], dict[str, Any], str]] = {
    "negative round": ({"client": [1, 1], "round": [0, -1]}, {}, "round on row 2 .*-1"),
    "NaN round": ({"client": [1, 1], "round": [0.0, math.nan]}, {}, "round on row 2 .*nan"),
    "fraction": ({"client": [1], "round": [0.5]}, {}, "round on row 1"),
    "boolean round": ({"client": [1], "round": [True]}, {}, "round on row 1"),
    "round too large for a float": (
        {"client": [1], "round": [1e16]},
        {},
        r"round on row 1 .*2\*\*53 .*Float64.*1e\+16",
    ),
    "client too large for a float": ({"client": [1e17], "round": [0]}, {}, r"client on row 1 .*below 2\*\*53"),
    **{
        f"compact dates {times[0]!r}": (
            {"client": [1] * len(times), "timestamp": times},
            {"round_length": "1d"},
            "timestamp on row 1 of the log must be a date written as 2024-01-31",
        )
        for times in ([202401311430.0], [20240131, 20240201, 0], [202401], [Decimal("20240131.00")])
    },
    "null round": ({"client": [1, 1], "round": [0, None]}, {}, "round on row 2 .*None"),
    "null client": ({"client": ["a", None], "round": [0, 1]}, {}, "client on row 2 .*None"),
    "client with a fraction": ({"client": [1.5], "round": [0]}, {}, "client on row 1"),
    "boolean client": ({"client": [True], "round": [0]}, {}, "column client .*Boolean"),
    "available 2": ({"client": [1], "round": [0], "available": [2]}, {}, "available on row 1 .*2"),
    "null time": ({"client": [1, 1], "timestamp": [START, None]}, {"round_length": "1h"}, "timestamp on row 2"),
    "no rows": ({"client": [], "round": []}, {}, "at least one row"),
    "list of rounds": ({"client": [1], "round": [[1]]}, {}, "column round .*numbers or text"),
    "bytes": ({"client": [1], "round": [b"\xff"]}, {}, "column round .*numbers or text"),
    "list of truth": ({"client": [1], "round": [1], "available": [[True]]}, {}, "column available .*numbers or text"),
    "duration": (
        {"client": [1], "timestamp": [datetime.timedelta(1)]},
        {"round_length": 9},
        "column timestamp .*Duration",
    ),
}


@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_bad_parquet_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    columns, options, sentence = BAD_COLUMNS[name]
    with pytest.raises(InputError, match=sentence) as caught:
        read_log(written(tmp_path, columns, "parquet"), **options)
    assert "\n" not in str(caught.value)


def test_file_that_is_not_there_or_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="log must be a file that exists"):
        read_log(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="log must be a file that can be read"):
        read_log(tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a\nb\na\n", "each client once .*'a'"),
        (b"1\n1.0\n", "each client once .*'1'"),
        (b" \n", "at least one"),
        (b"\xff", "text file"),
    ],
)
def test_bad_list_of_clients(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "clients.txt").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_log(file(tmp_path, "client,round\na,0\n"), clients=tmp_path / "clients.txt")


@pytest.mark.parametrize("seed", range(100))
def test_damaged_files_never_give_a_traceback(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    columns = {"client": ["a", "b", "c"] * 9, "round": list(range(27)), "available": [True, False, True] * 9}
    content = bytearray(written(tmp_path, columns, rng.choice(["csv", "parquet"])).read_bytes())
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(content))
        content[place : place + rng.choice([0, 1, 40])] = rng.randbytes(rng.choice([0, 1, 3]))
    message = ""
    try:
        assert read_log(file(tmp_path, bytes(content))).n_rows >= 1
    except InputError as error:
        message = str(error)
    assert "\n" not in message


def test_threads_of_polars_that_panic_are_not_heard(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Some of these bytes make them print a traceback of theirs before the sentence; stderr is there again after it."""
    path = written(tmp_path, {"client": [0, 0, 1, 2, 2, 2, 1], "round": [0, 3, 1, 2, 4, 5, 9]}, "parquet")
    whole = path.read_bytes()
    for place in range(40, 120):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
        with suppress(InputError):
            read_log(path)
    os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"


def test_a_log_is_refused_that_needs_more_memory_than_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its rows before they are read, by the rounds of its intervals before they are counted out."""
    rows = file(tmp_path, "client,round\n" + "a,1\n" * 100)
    monkeypatch.setattr(room, "of_the_machine", lambda: 20_000)
    with pytest.raises(InputError, match=r"rows of the log must be few enough for the 19.5 KiB .* need .*; got 100"):
        read_log(rows)
    span = file(tmp_path, "client,start,end\na,0,10000\n")
    with pytest.raises(InputError, match=r"rounds in intervals of the log must be few enough .*; got 10000"):
        read_log(span)
    monkeypatch.setattr(room, "of_the_machine", lambda: 3_000_000)
    assert read_log(span).client.size == 10_000


@pytest.mark.parametrize("value", [True, 1, "1"])
def test_a_matrix_is_refused_by_its_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: Any) -> None:
    """Those of truths and whole numbers too, which have no text; then by the events that it is listed as."""
    path = written(tmp_path, {f"c{n}": [value] * 1000 for n in range(50)}, "parquet")
    monkeypatch.setattr(room, "of_the_machine", lambda: 4_000_000)
    with pytest.raises(InputError, match=r"cells of the log must be few enough for the 3.8 MiB .*; got 50000"):
        read_log(path)
    monkeypatch.setattr("analysis.traces.matrix.EVENT", 10**4)
    monkeypatch.setattr(room, "of_the_machine", lambda: 10**8)
    with pytest.raises(InputError, match=r"cells on, or observed, of the log must be few enough .*; got 50000"):
        read_log(path)
