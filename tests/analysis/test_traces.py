"""Reading participation logs, against a dictionary that does the same row by row."""

from __future__ import annotations

import datetime
import math
import random
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis.traces import Log, clopper_pearson, read_log, stretches
from analysis.traces.log import AT_ONCE, types_of
from fltheory.errors import InputError
from tests.analysis.log_files import file, require_whole_in_blocks, written

UTC = datetime.UTC
START = datetime.datetime(2024, 5, 31, 22, 30)


def assert_same(one: Log, other: Log) -> None:
    assert (one.clients, one.n_rounds) == (other.clients, other.n_rounds)
    for name in ("n_rows", "n_unsorted", "n_duplicates", "n_contradictions"):
        assert getattr(one, name) == getattr(other, name)
    assert np.array_equal([one.client, one.round], [other.client, other.round])
    assert (one.observed is None) == (other.observed is None)
    if one.observed is not None and other.observed is not None:
        assert np.array_equal(one.observed, other.observed)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("with_available", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_any_log_reads_as_row_by_row(tmp_path: Path, kind: str, with_available: bool, seed: int) -> None:
    rng = random.Random(seed)
    n_clients, n_rounds = rng.randint(1, 12), rng.randint(1, 15)
    rows = [(rng.randrange(n_clients), rng.randrange(n_rounds), rng.random() < 0.5) for _ in range(rng.randint(1, 80))]
    if seed == 2:
        rows.sort(key=lambda row: row[0])  # each client's rows together, as they need no sorting
    names = [f"c{n}" if seed % 2 else str(n) for n in range(n_clients)]
    columns = {"client": [names[c] for c, _, _ in rows], "note": ["x"] * len(rows), "round": [r for _, r, _ in rows]}
    if not seed % 2:
        columns["client"] = [c for c, _, _ in rows]
    if with_available:
        columns["available"] = [on for _, _, on in rows]
    (tmp_path / "clients").write_text("\n".join(names))
    clients = tmp_path / "clients" if seed % 2 else n_clients
    log = read_log(written(tmp_path, columns, kind), clients=clients, rounds=n_rounds)

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

    assert log.clients == tuple(names)
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
    require_whole_in_blocks(log)


@pytest.mark.parametrize(("most", "kind"), [(2**14 - 1, np.int16), (2**14, np.int32), (2**30, np.int64)])
def test_types_of_many_events_are_the_smallest_that_hold_sums_of_two(most: int, kind: Any) -> None:
    assert types_of(most, 5, AT_ONCE + 1) == (kind, np.int16)
    assert types_of(5, most, AT_ONCE + 1) == (np.int16, kind)
    assert types_of(most, most, AT_ONCE) == (np.int64, np.int64)


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
    log = read_log(file(tmp_path, text), clients=tmp_path / "clients.txt")
    assert log.clients == ("gap", "off", "silent")
    assert log.participations().tolist() == [2, 2, 0]
    assert log.observed_rounds().tolist() == [2, 10, 0]  # fails if an unobserved round became off
    assert log.never_seen().tolist() == [False, False, True]
    assert log.observed_clock().tolist() == [0, 1, 0, 9]
    participated, observed = log.history([0, 1, 2])
    assert observed.sum(axis=0).tolist() == [2, 10, 0]
    assert participated[observed[:, 0], 0].tolist() == [True, True]

    without = read_log(file(tmp_path, "client,round\n0,0\n0,4\n"), clients=2, rounds=6)
    assert without.observed_rounds().tolist() == [6, 0]  # observed off, and never seen
    assert without.never_seen().tolist() == [False, True]
    assert without.history([1])[1].sum() == 0


def test_a_contradiction_counts_as_available_and_is_counted(tmp_path: Path) -> None:
    log = read_log(file(tmp_path, "client,round,available\n1,0,0\n1,0,1\n1,0,0\n1,1,0\n1,1,0\n"))
    assert (log.n_duplicates, log.n_contradictions) == (3, 1)
    assert log.participations().tolist() == [1]
    assert log.observed_rounds().tolist() == [2]


def test_clients_are_ordered_by_number_then_by_name(tmp_path: Path) -> None:
    log = read_log(file(tmp_path, "client,round\n10,0\nb,0\n9,0\na,0\n 9 ,1\n"))
    assert log.clients == ("9", "10", "a", "b")
    assert log.participations().tolist() == [2, 1, 1, 1]


@pytest.mark.parametrize("text", ["True", "TRUE", "true", "1", " 1 "])
def test_words_for_available(tmp_path: Path, text: str) -> None:
    assert read_log(file(tmp_path, f"client,round,available\n1,0,{text}\n")).participations().tolist() == [1]


def test_blank_lines_byte_order_mark_and_whole_floats(tmp_path: Path) -> None:
    log = read_log(file(tmp_path, b"\xef\xbb\xbfclient,round\r\n1,2.0\r\n\r\n1,4\r\n\r\n"))
    assert (log.n_rows, log.round.tolist()) == (2, [2, 4])
    frame = {"client": [1.0, 2.0], "round": [0.0, 3.0], "available": [1.0, 0.0]}
    assert read_log(written(tmp_path, frame, "parquet")).clients == ("1", "2")


@pytest.mark.parametrize("known", [None, 4, "1.0\n 2\n0\n3.00\n"])
def test_a_whole_float_is_the_client_of_that_number(tmp_path: Path, known: Any) -> None:
    """As pandas writes ids beside a gap, in the log, in the list of clients, or in part of either."""
    (tmp_path / "clients.txt").write_text(str(known))
    clients = tmp_path / "clients.txt" if isinstance(known, str) else known
    log = read_log(file(tmp_path, "client,round\n1.0,0\n1,0\n 2.0 ,1\n0,0\n3,0\n"), clients=clients)
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
    log = read_log(file(tmp_path, f"client,round\n{2**53 + 1},{2**53 + 1}\n{2**53}.5,{2**53 - 1}.0\n"))
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
    assert read_log(file(tmp_path, text)).participations().tolist() == [1]
    assert read_log(file(tmp_path, "client,round,label,battery,vacant\n1,0,0,0,0\n")).participations().tolist() == [1]


def test_ids_that_are_no_whole_numbers_stay_as_they_are(tmp_path: Path) -> None:
    texts = ["01", "1.5", "1.50", "a.0", "1.0.0", "1e0", ".0", "1."]
    log = read_log(file(tmp_path, "client,round\n" + "".join(f"{text},0\n" for text in texts)))
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
    log = read_log(file(tmp_path, "client,timestamp\n" + "".join(f"1,{t}\n" for t in same)), round_length="1s")
    assert (log.round.tolist(), log.n_duplicates) == ([0], 4)


@pytest.mark.parametrize("bad", [[3], [-1], [0.5], [[0]]])
def test_history_of_a_client_that_is_not_there(tmp_path: Path, bad: Any) -> None:
    log = read_log(file(tmp_path, "client,round\n0,0\n"), clients=3)
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
    cut = stretches(read_log(file(tmp_path, text + "b,0,0\n")))
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
