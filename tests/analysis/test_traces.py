"""Reading participation logs, against a dictionary that does the same row by row."""

from __future__ import annotations

import datetime
import math
import os
import random
import time
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis.traces import Log, clopper_pearson, read_log, stretches
from fltheory.errors import InputError

UTC = datetime.UTC
START = datetime.datetime(2024, 5, 31, 22, 30)


def written(folder: Path, columns: dict[str, list[Any]], kind: str) -> Path:
    path = folder / f"log.{kind}"
    frame = pl.DataFrame(columns, strict=False)
    if kind == "csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return path


def csv(folder: Path, text: str | bytes) -> Path:
    path = folder / "log.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def assert_same(one: Log, other: Log) -> None:
    assert (one.clients, one.n_rounds) == (other.clients, other.n_rounds)
    for name in ("n_rows", "n_unsorted", "n_duplicates", "n_contradictions"):
        assert getattr(one, name) == getattr(other, name)
    assert np.array_equal([one.client, one.round], [other.client, other.round])
    assert (one.observed is None) == (other.observed is None)
    if one.observed is not None and other.observed is not None:
        assert np.array_equal(one.observed, other.observed)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("with_available", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_any_log_reads_as_row_by_row(tmp_path: Path, kind: str, with_available: bool, seed: int) -> None:
    rng = random.Random(seed)
    n_clients, n_rounds = rng.randint(1, 12), rng.randint(1, 15)
    rows = [(rng.randrange(n_clients), rng.randrange(n_rounds), rng.random() < 0.5) for _ in range(rng.randint(1, 80))]
    columns = {"client": [c for c, _, _ in rows], "note": ["x"] * len(rows), "round": [r for _, r, _ in rows]}
    if with_available:
        columns["available"] = [on for _, _, on in rows]
    log = read_log(written(tmp_path, columns, kind), clients=n_clients, rounds=n_rounds)

    said: dict[tuple[int, int], set[bool]] = {}
    latest = dict.fromkeys(range(n_clients), -1)
    late = 0
    for c, r, on in rows:
        said.setdefault((c, r), set()).add(on or not with_available)
        late += r < latest[c]
        latest[c] = max(latest[c], r)
    on = np.zeros((n_rounds, n_clients), dtype=bool)
    seen = np.zeros((n_rounds, n_clients), dtype=bool)
    for (c, r), words in said.items():
        on[r, c], seen[r, c] = True in words, True
    if not with_available:
        seen[:] = seen.any(axis=0)

    assert log.clients == tuple(map(str, range(n_clients)))
    assert (log.n_rounds, log.n_rows, log.n_unsorted) == (n_rounds, len(rows), late)
    assert log.n_duplicates == len(rows) - len(said)
    assert log.n_contradictions == sum(len(words) == 2 for words in said.values())
    assert (log.observed is not None) == with_available
    assert log.participations().tolist() == on.sum(axis=0).tolist()
    assert log.observed_rounds().tolist() == seen.sum(axis=0).tolist()
    assert log.never_seen().tolist() == (~seen.any(axis=0)).tolist()
    events = [(c, r) for c in range(n_clients) for r in range(n_rounds) if on[r, c]]
    assert list(zip(log.client.tolist(), log.round.tolist(), strict=True)) == events
    assert log.observed_clock().tolist() == [int(seen[:r, c].sum()) for c, r in events]
    some = rng.sample(range(n_clients), rng.randint(1, n_clients))
    participated, observed = log.history(some)
    assert np.array_equal(participated, on[:, some])
    assert np.array_equal(observed, seen[:, some])


def test_rows_in_other_orders_give_the_same_log(tmp_path: Path) -> None:
    rows = [(c, r, (c * r) % 3 == 0) for c in range(5) for r in range(9) if (c + r) % 4]
    logs = []
    for order in ([*rows], sorted(rows, key=lambda row: row[1]), [*rows[::-1], *rows[:7]]):
        columns = dict(zip(("client", "round", "available"), map(list, zip(*order, strict=True)), strict=True))
        logs.append(read_log(written(tmp_path, columns, "csv")))
    by_client, by_round, mixed = logs
    assert_same(by_client, by_round)  # both are in order: what counts is the order within a client
    assert by_client.n_unsorted == by_client.n_duplicates == 0
    # Backwards all rows but the first of each client are late; of the 7 copies only that of client 0's last round
    # is not.
    assert (mixed.n_unsorted, mixed.n_duplicates) == (len(rows) - 5 + 6, 7)
    assert np.array_equal([mixed.client, mixed.round], [by_client.client, by_client.round])


def test_csv_and_parquet_are_read_alike(tmp_path: Path) -> None:
    columns = {"client": ["b", "a10", "a9", "b"], "round": [3, 0, 2, 3], "available": [True, False, True, False]}
    assert_same(read_log(written(tmp_path, columns, "csv")), read_log(written(tmp_path, columns, "parquet")))


def test_unobserved_off_and_never_seen_are_three_states(tmp_path: Path) -> None:
    (tmp_path / "clients.txt").write_text("gap\n\n  off \nsilent\n")
    text = "client,round,available\ngap,0,1\ngap,9,1\n" + "".join(f"off,{r},{int(r in (0, 9))}\n" for r in range(10))
    log = read_log(csv(tmp_path, text), clients=tmp_path / "clients.txt")
    assert log.clients == ("gap", "off", "silent")
    assert log.participations().tolist() == [2, 2, 0]
    assert log.observed_rounds().tolist() == [2, 10, 0]  # fails if an unobserved round became off
    assert log.never_seen().tolist() == [False, False, True]
    assert log.observed_clock().tolist() == [0, 1, 0, 9]
    participated, observed = log.history([0, 1, 2])
    assert observed.sum(axis=0).tolist() == [2, 10, 0]
    assert participated[observed[:, 0], 0].tolist() == [True, True]

    without = read_log(csv(tmp_path, "client,round\n0,0\n0,4\n"), clients=2, rounds=6)
    assert without.observed_rounds().tolist() == [6, 0]  # observed off, and never seen
    assert without.never_seen().tolist() == [False, True]
    assert without.history([1])[1].sum() == 0


def test_a_contradiction_counts_as_available_and_is_counted(tmp_path: Path) -> None:
    log = read_log(csv(tmp_path, "client,round,available\n1,0,0\n1,0,1\n1,0,0\n1,1,0\n1,1,0\n"))
    assert (log.n_duplicates, log.n_contradictions) == (3, 1)
    assert log.participations().tolist() == [1]
    assert log.observed_rounds().tolist() == [2]


def test_clients_are_ordered_by_number_then_by_name(tmp_path: Path) -> None:
    log = read_log(csv(tmp_path, "client,round\n10,0\nb,0\n9,0\na,0\n 9 ,1\n"))
    assert log.clients == ("9", "10", "a", "b")
    assert log.participations().tolist() == [2, 1, 1, 1]


@pytest.mark.parametrize("text", ["True", "TRUE", "true", "1", " 1 "])
def test_words_for_available(tmp_path: Path, text: str) -> None:
    assert read_log(csv(tmp_path, f"client,round,available\n1,0,{text}\n")).participations().tolist() == [1]


def test_blank_lines_byte_order_mark_and_whole_floats(tmp_path: Path) -> None:
    log = read_log(csv(tmp_path, b"\xef\xbb\xbfclient,round\r\n1,2.0\r\n\r\n1,4\r\n\r\n"))
    assert (log.n_rows, log.round.tolist()) == (2, [2, 4])
    frame = {"client": [1.0, 2.0], "round": [0.0, 3.0], "available": [1.0, 0.0]}
    assert read_log(written(tmp_path, frame, "parquet")).clients == ("1", "2")


@pytest.mark.parametrize("known", [None, 4, "1.0\n 2\n0\n3.00\n"])
def test_a_whole_float_is_the_client_of_that_number(tmp_path: Path, known: Any) -> None:
    """As pandas writes ids beside a gap, in the log, in the list of clients, or in part of either."""
    (tmp_path / "clients.txt").write_text(str(known))
    clients = tmp_path / "clients.txt" if isinstance(known, str) else known
    log = read_log(csv(tmp_path, "client,round\n1.0,0\n1,0\n 2.0 ,1\n0,0\n3,0\n"), clients=clients)
    assert sorted(log.clients) == ["0", "1", "2", "3"]
    assert (log.n_duplicates, log.participations().tolist()) == (1, [1, 1, 1, 1])
    column = {"client": ["1.0", "1", "2", "0", "3"], "round": [0, 0, 1, 0, 0]}
    assert read_log(written(tmp_path, column, "parquet"), clients=clients).n_duplicates == 1


def test_floats_up_to_the_largest_whole_ones_are_read(tmp_path: Path) -> None:
    largest = 2.0**53 - 1
    log = read_log(written(tmp_path, {"client": [largest, -0.0, 1e15], "round": [0.0, 1.0, largest]}, "parquet"))
    assert log.clients == ("0", "1000000000000000", str(2**53 - 1))
    assert log.n_rounds == 2**53
    for column in ("client", "round"):  # 2^53 may be 2^53 + 1, rounded
        whole = {"client": [1.0], "round": [1.0]} | {column: [2.0**53]}
        with pytest.raises(InputError, match=rf"{column} on row 1 of the log must be below 2\*\*53"):
            read_log(written(tmp_path, whole, "parquet"))
    short = pl.DataFrame({"client": [1, 2], "round": [3.0, 2.0**24 + 2]}, schema_overrides={"round": pl.Float32})
    short.write_parquet(tmp_path / "short.parquet")
    with pytest.raises(InputError, match=r"round on row 2 of the log must be below 2\*\*24"):
        read_log(tmp_path / "short.parquet")


def test_decimals_are_read_as_their_text(tmp_path: Path) -> None:
    """A column of Decimals, as databases give them, and the same in a CSV."""
    columns: dict[str, list[Any]] = {
        "client": [Decimal("3.00"), Decimal("10.00")],
        "round": [Decimal("3.00"), Decimal("0.00")],
        "available": [Decimal("0.00"), Decimal("1.00")],
        "timestamp": [Decimal("0.25"), Decimal("3600.00")],
    }
    for options in ({}, {"round_length": "1h"}):
        logs = [read_log(written(tmp_path, columns, kind), **options) for kind in ("csv", "parquet")]
        assert_same(*logs)
        assert logs[0].clients == ("3", "10")
        assert logs[0].participations().tolist() == [0, 1]
    columns["round"][1] = Decimal("0.50")
    with pytest.raises(InputError, match=r"round on row 2 .* whole number"):
        read_log(written(tmp_path, columns, "parquet"))


def test_whole_numbers_beyond_floats_are_read_from_text(tmp_path: Path) -> None:
    log = read_log(csv(tmp_path, f"client,round\n{2**53 + 1},{2**53 + 1}\n{2**53}.5,{2**53 - 1}.0\n"))
    assert log.clients == (str(2**53 + 1), f"{2**53}.5")
    assert sorted(log.round.tolist()) == [2**53 - 1, 2**53 + 1]


FAR = 600_000_000_003  # seconds whose microseconds float64 no longer tells apart


@pytest.mark.parametrize(
    "start", [0, 190000, 20240000, 1_400_000_000, 1_899_000_000, 1_999_000_000, 200_000_000_000, FAR]
)
@pytest.mark.parametrize("step", [1, 60, 86400, 3600, 1000])
def test_seconds_are_no_dates(tmp_path: Path, start: int, step: int) -> None:
    """Seconds from the start of a study or of an epoch, and milliseconds."""
    times = [start + step * i for i in range(48)]
    log = read_log(written(tmp_path, {"client": times, "timestamp": times}, "csv"), round_length=float(step))
    assert log.round.tolist() == list(range(48))


def test_rounds_that_pass_through_dates_are_rounds(tmp_path: Path) -> None:
    for first in (0, 180_000, 202_000):
        frame = pl.DataFrame({"client": "a", "round": range(first, 225_000)})
        frame.write_csv(tmp_path / "log.csv")
        assert read_log(tmp_path / "log.csv").n_rounds == 225_000


def test_other_columns_are_ignored(tmp_path: Path) -> None:
    text = "client,round,available,Available,valuable,battery\n1,0,1,0,0,x\n"
    assert read_log(csv(tmp_path, text)).participations().tolist() == [1]
    assert read_log(csv(tmp_path, "client,round,label,battery,vacant\n1,0,0,0,0\n")).participations().tolist() == [1]


def test_ids_that_are_no_whole_numbers_stay_as_they_are(tmp_path: Path) -> None:
    texts = ["01", "1.5", "1.50", "a.0", "1.0.0", "1e0", ".0", "1."]
    log = read_log(csv(tmp_path, "client,round\n" + "".join(f"{text},0\n" for text in texts)))
    assert sorted(log.clients) == sorted(texts)


def test_a_name_with_a_star_is_one_file(tmp_path: Path) -> None:
    for name in ("log*.csv", "log1.csv"):
        (tmp_path / name).write_text("client,round\n1,2\n")
    assert read_log(tmp_path / "log*.csv").n_rows == 1


OFFSETS_HOURS = [0.0, 0.5, 0.999, 1.0, 1.5, 25.0, 7.25]


@pytest.mark.parametrize(("length", "hours"), [("1h", 1), ("15m", 0.25), ("1d", 24), (5400, 1.5), ("0.5h", 0.5)])
@pytest.mark.parametrize("form", ["seconds", "iso", "offset", "zulu", "mixed offsets", "naive", "aware", "date"])
def test_timestamps_are_binned_from_the_earliest(tmp_path: Path, length: str | float, hours: float, form: str) -> None:
    shifts = [24.0 * round(x) for x in OFFSETS_HOURS] if form == "date" else OFFSETS_HOURS
    naive = [START + datetime.timedelta(hours=x) for x in shifts]
    zones = [datetime.timezone(datetime.timedelta(hours=i - 3, minutes=30)) for i in range(len(naive))]
    values: list[Any] = {
        "seconds": [1e9 + 3600 * x for x in shifts],
        "iso": [t.isoformat(" ") for t in naive],
        "offset": [t.isoformat() + "-05:00" for t in naive],
        "zulu": [t.isoformat() + "Z" for t in naive],
        "mixed offsets": [
            t.replace(tzinfo=UTC).astimezone(zone).isoformat() for t, zone in zip(naive, zones, strict=True)
        ],
        "naive": naive,
        "aware": [t.replace(tzinfo=UTC) for t in naive],
        "date": [t.date() for t in naive],
    }[form]
    columns = {"client": [0] * len(values), "timestamp": values}
    expected = sorted({math.floor(x / hours) for x in shifts})
    for kind in ("csv", "parquet"):
        log = read_log(written(tmp_path, columns, kind), round_length=length)
        assert log.round.tolist() == expected
        assert log.n_rounds == expected[-1] + 1
        assert log.n_unsorted == 1 or form == "date" or hours == 24


def test_iso_forms(tmp_path: Path) -> None:
    same = ["2024-05-31", "2024-05-31T00:00", "2024-05-31 00:00:00", "2024-05-31T00:00:00.25", "2024-05-31T00:00:00"]
    log = read_log(csv(tmp_path, "client,timestamp\n" + "".join(f"1,{t}\n" for t in same)), round_length="1s")
    assert (log.round.tolist(), log.n_duplicates) == ([0], 4)


NOT_PARQUET = b"PAR1" + b"x" * 100
BAD_LOGS: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "empty file": ("", {}, "CSV .* or Parquet file .*empty CSV"),
    "header only": ("client,round\n", {}, "at least one row"),
    "not text": (b"client,round\n\xff\xfe,1\n", {}, "CSV .* or Parquet file .*utf-8"),
    "not parquet": (NOT_PARQUET, {}, "CSV .* or Parquet file"),
    "too many fields": ("client,round\n1,2,3\n", {}, "CSV .* or Parquet file"),
    "wrong columns": ("user,round\n1,2\n", {}, "columns of the log must be client and round .*'user'"),
    "no header": ("1,2\n3,4\n", {}, "columns of the log"),
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
    "missing list": ("client,round\n1,0\n", {"clients": "nowhere.txt"}, "clients must be a number or a readable"),
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
        read_log(csv(tmp_path, content), **options)
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
        read_log(csv(tmp_path, "client,round\na,0\n"), clients=tmp_path / "clients.txt")


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
        assert read_log(csv(tmp_path, bytes(content))).n_rows >= 1
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


@pytest.mark.parametrize("bad", [[3], [-1], [0.5], [[0]]])
def test_history_of_a_client_that_is_not_there(tmp_path: Path, bad: Any) -> None:
    log = read_log(csv(tmp_path, "client,round\n0,0\n"), clients=3)
    with pytest.raises(InputError, match="from 0 to 2"):
        log.history(bad)


@pytest.mark.slow
def test_a_million_clients_in_event_form(tmp_path: Path) -> None:
    n, rounds = 1_000_000, 100_000  # a boolean matrix of this would take 100 GB
    rng = np.random.default_rng(0)
    client, when = rng.integers(0, n, n), rng.integers(0, rounds, n)
    path = written(tmp_path, {"client": client, "round": when}, "parquet")
    begin = time.perf_counter()
    log = read_log(path, clients=n, rounds=rounds)
    assert time.perf_counter() - begin < 60
    assert np.array_equal(np.unique(client * rounds + when), log.client * rounds + log.round)
    assert log.never_seen().sum() == n - np.unique(client).size


def test_stretches_cut_the_observed_time_at_participations(tmp_path: Path) -> None:
    text = "client,round,available\n" + "".join(f"a,{r},{int(r in (2, 3, 7))}\n" for r in (0, 2, 3, 5, 7, 8, 9))
    cut = stretches(read_log(csv(tmp_path, text + "b,0,0\n")))
    assert cut.length.tolist() == [2, 1, 2]  # observed rounds only: round 4 and 6 are not in the log
    assert cut.initial.tolist() == [True, False, False]
    assert cut.since.tolist() == [2, 1]


def test_clopper_pearson_against_scipy_and_its_coverage() -> None:
    n = 12
    k = np.arange(n + 1)
    low, high = clopper_pearson(k, np.full(n + 1, n), 0.9)
    for i in k:
        reference = stats.binomtest(int(i), n).proportion_ci(0.9, "exact")
        assert low[i] == pytest.approx(reference.low, rel=1e-9, abs=1e-15)
        assert high[i] == pytest.approx(reference.high, rel=1e-9)
    for p in np.linspace(0.001, 0.999, 199):
        assert stats.binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum() >= 0.9
