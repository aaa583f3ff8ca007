"""Logs of intervals, matrices, JSON lines and FedScale traces, against one cell after the other."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.traces import Log, read_log
from analysis.weights_report import weights_report
from fltheory.errors import InputError
from tests.analysis.log_files import file, require_whole_in_blocks, written

HOUR = 3600


def cells(log: Log) -> tuple[dict[tuple[str, int], bool], set[str]]:
    """What is known, by client and round, and who was never seen."""
    on, seen = log.history(range(log.n_clients))
    known = {(log.clients[n], int(t)): bool(on[t, n]) for t, n in np.argwhere(seen)}
    assert sum(known.values()) == len(log.client)
    assert log.observed_rounds().tolist() == seen.sum(axis=0).tolist()
    require_whole_in_blocks(log)
    return known, {log.clients[n] for n in np.flatnonzero(log.never_seen())}


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("with_available", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_intervals_are_read_round_by_round(tmp_path: Path, kind: str, with_available: bool, seed: int) -> None:
    rng = random.Random(seed)
    n, rounds = rng.randint(1, 5), rng.randint(4, 15)
    rows = []
    for _ in range(rng.randint(1, 30)):
        start = rng.randrange(rounds)
        rows.append((rng.randrange(n), start, rng.randint(start + 1, rounds), rng.random() < 0.5 or not with_available))
    if seed % 4 == 0:  # everything observed of everyone but the last client
        rows += [(client, 0, rounds, False) for client in range(n - 1)] if with_available else []
        rows = [row for row in rows if row[0] < n - 1 or n == 1] or rows
    names = [f"c{client}" if seed % 2 else str(client) for client in range(n)]
    columns: dict[str, list[Any]] = {"end": [r[2] for r in rows], "client": [names[r[0]] for r in rows]}
    if seed % 4 == 2:
        columns["client"] = [r[0] for r in rows]
    columns |= {"battery": ["x"] * len(rows), "start": [r[1] for r in rows]}
    if with_available:
        columns["available"] = [int(on) for *_, on in rows]
    (tmp_path / "clients").write_text("\n".join(names))
    log = read_log(written(tmp_path, columns, kind), clients=tmp_path / "clients", rounds=rounds)

    said: dict[tuple[str, int], set[bool]] = {}
    latest, late, total = dict.fromkeys(range(n), -1), 0, 0
    for client, start, end, on in rows:
        late += start < latest[client]
        latest[client] = max(latest[client], start)
        for t in range(start, end):
            said.setdefault((names[client], t), set()).add(on)
            total += 1
    silent = set(names) - {client for client, _ in said}
    known, never = cells(log)
    if with_available:
        assert known == {cell: True in words for cell, words in said.items()}
    else:
        shown = [name for name in names if name not in silent]
        assert known == {(client, t): (client, t) in said for client in shown for t in range(rounds)}
    assert never == silent
    assert (log.n_rows, log.n_unsorted, log.when) == (len(rows), late, "start")
    assert log.n_duplicates == total - len(said)
    assert log.n_contradictions == sum(len(words) == 2 for words in said.values())


def test_intervals_observed_throughout_take_no_memory_for_rounds_off(tmp_path: Path) -> None:
    log = read_log(file(tmp_path, "client,start,end,available\na,0,1000000000000,0\nb,3,1000000000000,0\nb,0,3,1\n"))
    assert (log.n_rounds, log.observed, log.participations().tolist()) == (10**12, None, [0, 3])
    assert log.observed_rounds().tolist() == [10**12, 10**12]
    assert weights_report(log, 50).summary()["unobserved_share"] == 0
    with pytest.raises(InputError, match=r"rounds of the log's intervals must be at most 1e\+09 in all"):
        read_log(file(tmp_path, "client,start,end\na,0,1000000000000\n"))


@pytest.mark.parametrize("form", ["seconds", "iso", "offset", "parquet"])
def test_an_interval_takes_every_round_that_it_touches(tmp_path: Path, form: str) -> None:
    spans = [("a", 0.0, 1.0), ("a", 1.5, 1.75), ("b", 2.999, 4.001), ("b", 5.0, 6.0)]  # hours; ends are not included
    start, end = (
        np.datetime64("2024-05-31T22:30", "ms") + np.array([int(s[i] * 3_600_000) for s in spans]) for i in (1, 2)
    )
    if form == "parquet":
        columns = {"client": [s[0] for s in spans], "start": start.tolist(), "end": end.tolist()}
        path = written(tmp_path, columns, "parquet")
    else:
        times = [(start + i * (end - start)) for i in (0, 1)]
        shown = {
            "seconds": lambda t: str(t.astype(np.int64) / 1000),
            "iso": str,
            "offset": lambda t: f"{t}+02:00",
        }[form]
        rows = [f"{s[0]},{shown(a)},{shown(b)}" for s, a, b in zip(spans, *times, strict=True)]
        path = file(tmp_path, "client,start,end\n" + "\n".join(rows))
    log = read_log(path, round_length="1h")
    assert list(zip(log.client.tolist(), log.round.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 2),
        (1, 3),
        (1, 4),
        (1, 5),
    ]
    assert log.n_rounds == 6


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("seed", range(8))
def test_a_matrix_is_read_cell_by_cell(tmp_path: Path, kind: str, seed: int) -> None:
    rng = random.Random(seed)
    names = rng.sample(["10", "9", "b", "a", " 7", "x y"], rng.randint(1, 6))
    rounds = rng.sample(range(12), rng.randint(1, 12)) if seed % 2 else range(rng.randint(1, 12))
    blank = 0.3 if seed % 4 > 1 else 0
    body = {name: [None if rng.random() < blank else rng.random() < 0.5 for _ in rounds] for name in names}
    if seed % 2:
        columns: dict[str, list[Any]] = {"round": [*rounds], **body}
    else:
        if names[1:] == [] and kind == "csv":
            body[names[0]][-1] = True  # an empty cell without a comma would be a blank line at the end
        columns = body
    as_numbers = {
        name: [value if value is None else int(value) for value in column] for name, column in columns.items()
    }
    log = read_log(written(tmp_path, as_numbers if seed % 3 else columns, kind), rounds=12 if seed == 7 else None)
    known, never = cells(log)
    assert known == {
        (name.strip(), t): value
        for name in names
        for t, value in zip(rounds, body[name], strict=True)
        if value is not None
    }
    assert never == {name.strip() for name in names if set(body[name]) == {None}}
    assert log.n_rounds == (12 if seed == 7 else max(rounds) + 1)
    assert log.clients == tuple(
        name for name in ("7", "9", "10", "a", "b", "x y") if name in {n.strip() for n in names}
    )
    assert log.n_rows == len(rounds)
    assert log.n_unsorted == sum(t < max(rounds[: i + 1]) for i, t in enumerate(rounds))


@pytest.mark.usefixtures("at_once")
def test_of_several_bad_cells_of_a_matrix_the_first_row_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"client 'c' on line 3 of the log must be 1 or 0.*'7'"):
        read_log(file(tmp_path, "a,b,c,d\n1,0,1,0\n1,0,7,8\n1,6,1,0\n"))


def test_blank_lines_and_names_of_a_matrix(tmp_path: Path) -> None:
    log = read_log(file(tmp_path, "3.0,1\n1,0\n\n0,NaN\nTRUE,False\n\n\n"), clients=4)
    assert cells(log)[0] == {("1", 0): False, ("1", 3): False, ("3", 0): True, ("3", 2): False, ("3", 3): True}
    assert cells(log)[1] == {"0", "2"}
    assert log.n_rounds == 4  # a blank line within is a round that nobody observed


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_matrix_may_end_in_rounds_that_nobody_observed(tmp_path: Path, newline: str) -> None:
    lines = newline.join(["a,b", "1,0", "0,1", ",", ","])
    table = {"a": [1, 0, None, None], "b": [0, 1, None, None]}
    logs = [read_log(file(tmp_path, lines + end)) for end in ("", newline, 3 * newline)]
    for log in (*logs, read_log(written(tmp_path, table, "parquet"))):
        assert (log.n_rounds, log.n_rows, log.observed_rounds().tolist()) == (4, 4, [2, 2])
    log = read_log(file(tmp_path, newline.join(["round,a", "0,1", ",", ""])))  # of no round
    assert (log.n_rounds, log.n_rows) == (1, 1)


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n  \n", "\n\t\n\n"])
def test_rows_of_empty_cells_and_blank_lines_are_whole(tmp_path: Path, end: str) -> None:
    log = read_log(file(tmp_path, f'"a,1",b,c\n1,0,1\n"0",,\n,,\n\n0,1,{end}'))
    assert (log.n_clients, log.client.tolist(), log.round.tolist()) == (3, [0, 1, 2], [0, 4, 0])
    assert log.observed_rounds().tolist() == [3, 2, 1]


def is_active(trace: dict[str, Any], time: float) -> bool:
    """As FedScale says it, but for the last instant of an interval."""
    return any(a <= time % trace["finish_time"] < b for a, b in zip(trace["active"], trace["inactive"], strict=True))


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("seed", range(6))
def test_fedscale_traces_go_round(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    traces = {}
    for name in rng.sample(["0", "1", "2", "7"], rng.randint(1, 4)):
        times = sorted(rng.choices(range(0, 5000, 100), k=2 * rng.randint(0, 3)))
        finish = rng.choice([4000, 6000, 10_000])
        traces[name] = {
            "duration": 1,
            "active": times[::2],
            "inactive": times[1::2],
            "finish_time": finish,
            "model": "m",
        }
    rounds = rng.choice([None, 30])
    text = json.dumps(traces, indent=rng.choice([None, 1]))
    log = read_log(file(tmp_path, text), clients=8, rounds=rounds, round_length=500)
    last = rounds or max(trace["finish_time"] for trace in traces.values()) // 500
    expected = {
        (name, t): any(is_active(trace, s) for s in range(500 * t, 500 * (t + 1), 100))
        for name, trace in traces.items()
        for t in range(last)
    }
    known, never = cells(log)
    assert known == expected
    assert never == {str(n) for n in range(8)} - traces.keys()
    assert (log.n_rounds, log.n_rows, log.when) == (last, len(traces), "active")


def test_the_snapshot_on_fedscales_pages(tmp_path: Path) -> None:
    """Clients of docs/ in FedScale: of zero length, of a second, of six days and of three."""
    text = """{
 "107740": {"duration": 1, "inactive": [88494, 93284], "finish_time": 518400, "active": [88494, 93283], "model": "a"},
 "107743": {"duration": 1, "inactive": [1], "finish_time": 259200, "active": [0], "model": "b"}
}"""
    log = read_log(file(tmp_path, text), round_length="1h")
    assert (log.clients, log.n_rounds) == (("107740", "107743"), 144)
    assert list(zip(log.client.tolist(), log.round.tolist(), strict=True)) == [(0, 25), (1, 0), (1, 72)]


def test_json_lines_may_differ_in_keys_types_and_blank_lines(tmp_path: Path) -> None:
    text = '\n{"client": 1.0, "round": 0, "note": [1]}\n\n{"round": "3", "client": "b", "available": false}\n'
    with pytest.raises(InputError, match="available on line 2 of the log must be true or false"):
        read_log(file(tmp_path, text))
    log = read_log(file(tmp_path, text.replace('"note"', '"available": 1, "note"')))
    assert cells(log)[0] == {("1", 0): True, ("b", 3): False}
    marked = b"\xef\xbb\xbf" + text.replace('"note"', '"available": 1, "note"').encode()
    assert cells(read_log(file(tmp_path, marked))) == cells(log)
    many = '{"client": 1, "round": 0}\n' * 1500
    with pytest.raises(InputError, match="available on line 1 of the log"):  # not read as a participation
        read_log(file(tmp_path, many + '{"client": 1, "round": 2, "available": 0}\n'))


@pytest.mark.parametrize("rest", ["", "\n", '\n{"client": "a", "round": 1, "run": 5}\n'])
def test_rows_that_begin_with_an_object_are_rows(tmp_path: Path, rest: str) -> None:
    log = read_log(file(tmp_path, '{"run": {"id": 7}, "client": "a", "round": 1}' + rest))
    assert cells(log)[0] == {("a", 0): False, ("a", 1): True}
    assert read_log(file(tmp_path, '{"run": {}, "client": "a", "start": 1, "end": 2}' + rest[:1])).n_rounds == 2


FORMS = "must be client and round .*; or client, start and end.*; or a column of 1 and 0 for each client"
BAD: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "two forms": ("client,round,start,end\n1,2,3,4\n", {}, "client and round .*, or client, start and end.*, not both"),
    "no end": ("client,start\n1,2\n", {}, FORMS),
    "capitals": ("Client,start,END\n1,2,3\n", {}, "write 'Client' as 'client' and 'END' as 'end'"),
    "online": ("client,start,end,online\n1,2,3,0\n", {}, "write 'online' as 'available'"),
    "end not above": ("client,start,end\n1,0,2\n1,2,2\n", {}, "end on line 3 of the log must be above start.*'2'"),
    "end before": (
        "client,start,end\n1,5,2\n",
        {"round_length": 1},
        "end on line 2 of the log must be later than start",
    ),
    "no start": ("client,start,end\n1,,2\n", {}, "start on line 2 .*None"),
    "seconds": ("client,start,end\n1,1700000000,1700003600\n", {}, "earliest start .*say --round-length"),
    "seconds and dates": (
        "client,start,end\n1,2024-01-01,7\n",
        {"round_length": 1},
        "of one kind; got .'dates without",
    ),
    "mixed zones": (
        "client,start,end\n1,2024-01-01T00:00,2024-01-01T00:00Z\n",
        {"round_length": 1},
        "start and end of the log must be times of one kind",
    ),
    "compact dates": ("client,start,end\n1,20240131,20240201\n", {"round_length": 1}, "start on line 2 .*2024-01-31"),
    "beyond rounds": ("client,start,end\n1,0,6\n", {"rounds": 5}, "end on line 2 .*within the first 5 rounds"),
    "beyond clients": ("client,start,end\n7,0,6\n", {"clients": 5}, "client on line 2 .*clients = 5"),
    "matrix cell": ("a,b\n1,0\n1,2\n", {}, "client 'b' on line 3 of the log must be 1 or 0.*'2'"),
    "matrix cut": ("a,b,c\n1,0,1\n0,1\n", {}, "line 3 of the log must be a row of 3 cells, .*; got '2 cells'"),
    "matrix cut within": ("round,a,b\n0,,\n\n2\n3,1,1\n", {}, "line 4 of the log must be a row of 3 .*got '1 cells'"),
    "matrix first cell": ("a,b\n1,no\n", {}, FORMS),
    "matrix cell and rounds": ("round,a\n0,yes\n", {}, "client 'a' on line 2 .*no column is called client.*'yes'"),
    "matrix round twice": ("round,a\n0,1\n0,1\n", {}, "round on line 3 .*there once"),
    "matrix no round": ("round,a\n0,1\n,1\n", {}, "round on line 3 .*None"),
    "matrix round elsewhere": ("a,round\n1,0\n", {}, FORMS),
    "matrix client twice": ("a,a\n1,0\n", {}, "columns of the log must be there once each; got 'a'"),
    "matrix client twice as number": ("3,3.0\n1,0\n", {}, "there once each; got '3'"),
    "matrix of pandas": (",0,1\n0,1,0\n1,0,1\n", {}, "a column of 1 and 0 .*: call the first .* no name, round; got"),
    "matrix unnamed within": ("a,,b\n0,1,1\n", {}, FORMS),
    "dates as rounds": (
        "client,start,end\n1,0,1\n1,20240131,20240202\n1,20240203,20240204\n",
        {},
        "start on line 3 of the log must be a round that does not look like a date .*2024-01-31 say --round-length",
    ),
    "dates as ends": ("client,start,end\n1,0,20240202\n1,1,20240204\n1,2,9\n", {}, "end on line 2 .* like a date"),
    "dates as rounds of a matrix": ("round,a\n20240131,1\n20240203,0\n", {}, "round on line 2 .* like a date"),
    "matrix no rows": ("a,b\n", {}, "at least one row"),
    "matrix beyond clients": ("0,5\n1,1\n", {"clients": 5}, "column of the log must be one of the 5 clients.*'5'"),
    "matrix beyond rounds": ("a\n1\n1\n", {"rounds": 1}, "matrix of the first 1 rounds"),
    "matrix by time": ("a\n1\n", {"round_length": 1}, "round_length must be left out for a matrix"),
    "list": ('[{"client": 1, "round": 2}]', {}, "JSON lines, an object for each row and no list"),
    "line no object": ('{"client": 1, "round": 2}\n\n[1]\n', {}, r"line 3 of the log must be a JSON object .*'\[1\]'"),
    "line cut off": ('{"client": 1, "round": 2}\n{"client"', {}, "line 2 of the log must be a JSON object"),
    "line not UTF-8": (b'{"client": "\xff", "round": 2}\n', {}, "line 1 of the log must be a JSON object"),
    "lines of a matrix": ('{"a": 1, "b": 0}\n', {}, FORMS),
    "lines of clients": ('{"client": 1, "round": 2}\n\n{"client": null, "round": 2}\n', {}, "client on line 3 .*None"),
    "line with NaN": (
        '{"client": 1, "round": 2}\n\n{"client": 1, "round": 3, "loss": NaN}\n',
        {},
        r"a number of the log on line 3 must be one that JSON has, or null \(it has no NaN .*'NaN'",
    ),
    "late line with NaN": (
        '{"client": 1, "round": 2}\n' * 1000 + '{"client": 1, "round": 3, "loss": -Infinity}\n',
        {},
        "a number of the log on line 1001 must be .* or null .*'-Infinity'",
    ),
    "line with a key twice": (
        '{"client": 1, "round": 2}\n{"client": 1, "round": 1, "round": 2}\n',
        {},
        "keys of the log on line 2 must be there once in each object; got 'round'",
    ),
    "line with NaN first and an object": ('{"note": {"a": 1}, "client": 1, "round": NaN}', {}, "on line 1 .*'NaN'"),
    "nested round": ('{"client": 1, "round": [2]}\n', {}, "round on line 1 .*whole number"),
    "no length": ('{"a": {}}', {}, "read with --round-length"),
    "no clients": ("{}", {"round_length": 1}, "at least one client"),
    "cut off": ('{"a": {"active": []', {"round_length": 1}, "JSON, an object for each client"),
    "a client twice": ('{"a": {}, "a": {}}', {"round_length": 1}, "there once in each object; got 'a'"),
    "a client twice as number": (
        '{"3": {}, "3.0": {}}',
        {"round_length": 1},
        "clients of the log must be there once.*'3'",
    ),
    "a client not asked for": (
        '{"9": {}}',
        {"round_length": 1, "clients": 3},
        "client of the log must be one of the 3",
    ),
    "no object": ('{"a": {}, "b": 1}', {"round_length": 1}, "client 'a' of the log must be an object such as"),
}


def trace(**changed: Any) -> str:
    return json.dumps({"a": {"active": [0], "inactive": [5], "finish_time": 9} | changed})


for name, content, sentence in (
    ("times no list", trace(active=3), "active of client 'a' .* list of seconds"),
    ("times of text", trace(active=["x"]), "active of client 'a' .* list of seconds"),
    ("times of lists", trace(active=[[1], [2, 3]]), "active of client 'a' .* list of seconds"),
    ("NaN", trace(inactive=[float("nan")]), "inactive of client 'a' .* list of seconds"),
    ("negative", trace(active=[-1]), "active of client 'a' .* from 0"),
    ("lengths differ", trace(active=[0, 1]), "of one length; got '2 and 1 times'"),
    ("inactive first", trace(active=[6]), "inactive of client 'a' of the log must be at least active, 6; got 5"),
    ("no period", trace(finish_time=0), "finish_time of client 'a' .* above 0.*got 0"),
    ("period true", trace(finish_time=True), "finish_time of client 'a' .*True"),
    ("too often", trace(finish_time=1e-6, inactive=[1]), r"repetitions of the log's intervals must be at most 1e\+09"),
):
    BAD[f"FedScale {name}"] = (content, {"round_length": 9, "rounds": 10**6}, sentence)
BAD["FedScale too long"] = (
    trace(),
    {"round_length": "1d", "rounds": 10**15},
    "rounds must be at most .* of this length",
)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_log_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    content, options, sentence = BAD[name]
    with pytest.raises(InputError, match=sentence) as caught:
        read_log(file(tmp_path, content), **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("first", ["a", "round"])
def test_lists_are_no_matrix(tmp_path: Path, first: str) -> None:
    with pytest.raises(InputError, match=FORMS):
        read_log(written(tmp_path, {first: [1, 0], "b": [[1], [2]]}, "parquet"))


def test_a_log_too_large_for_memory_is_one_sentence(tmp_path: Path, monkeypatch: Any) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("analysis.traces.read.open_log", full)
    with pytest.raises(InputError, match="the log must be one whose participations and observations fit in memory"):
        read_log(file(tmp_path, "a\n1\n"))


@pytest.mark.parametrize("seed", range(60))
def test_damaged_files_never_give_a_traceback(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rows = [{"client": f"c{i % 3}", "start": i, "end": i + 2, "available": i % 2} for i in range(20)]
    times = {"active": [*range(0, 90, 10)], "inactive": [*range(5, 95, 10)], "finish_time": 100}
    content = bytearray(
        [
            "\n".join(map(json.dumps, rows)).encode(),
            json.dumps(dict.fromkeys("abc", times)).encode(),
            ("a,b,c\n" + "1,0,\n" * 20).encode(),
            ("client,start,end\n" + "".join(f"a,{i},{i + 2}\n" for i in range(20))).encode(),
        ][seed % 4]
    )
    for _ in range(rng.randint(1, 5)):
        place = rng.randrange(len(content))
        content[place : place + rng.choice([0, 1, 40])] = rng.randbytes(rng.choice([0, 1, 3]))
    message = ""
    try:
        assert read_log(file(tmp_path, bytes(content)), round_length=rng.choice([None, 10])).n_rows >= 1
    except InputError as error:
        message = str(error)
    assert "\n" not in message


@pytest.mark.parametrize("text", ["a,b\n,\n,\n", "round,a\n0,\n3,\n"])
def test_a_matrix_in_which_nobody_was_observed_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(
        InputError, match=r"^the log must be one in which somebody was observed; got 'a matrix of empty"
    ):
        read_log(tmp_path / "log.csv")


def test_quotes_within_a_quoted_name_are_single(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('"a""b",c\n1,0\n0,1\n')
    assert read_log(path).clients == ('a"b', "c")
