"""Logs as a matrix: a column for each client, a row for each round, and cells that say whether it was available."""

from __future__ import annotations

import numpy as np
import polars as pl

from analysis.traces import columns
from analysis.traces.log import AT_ONCE, Bools, Ints, Log
from analysis.traces.memory import require_room
from analysis.traces.names import Asked, repeated, require_keys
from analysis.traces.table import MEANT, Source, Table
from fltheory.errors import InputError

UNOBSERVED = ("", "nan")
FIRST_ROWS = 1  # that tell a matrix from other tables
EVENT = 32  # bytes that are taken to list such a cell
MOST_COLUMNS = 1000  # read together: what polars keeps for a column is more than a short one holds


def is_one(source: Source) -> bool:
    """Whether no column but a first one, `round`, has a name of other forms, and the first cells are those of one."""
    clients = _clients(source)
    plain = {name.strip().lower() for name in clients}
    if source.kind == "JSON lines" or not clients or plain & {*MEANT, ""}:
        return False
    first = source.first(FIRST_ROWS).select(clients)
    if not all(map(columns.is_plain, first.dtypes)):
        return False
    if len(clients) < len(source.found):
        return True
    words = [*columns.ON, *columns.OFF, *UNOBSERVED]
    return bool(_cells(first, clients).select(pl.all().is_in(words)).to_numpy().all())


def read(source: Source, asked: Asked) -> Log:
    """All columns. A row of empty cells is a round in which nobody was observed, as is a blank line but at the end."""
    if asked.length is not None:
        raise InputError("round_length", asked.length / columns.MICRO, "left out for a matrix, whose rows are rounds")
    clients = _clients(source)
    if source.kind == "CSV" and clients == list(source.found) and all(map(_is_cell, clients)):
        allowed = "a line of clients (of clients called 0 and 1 only with a first column round): it looks like a round"
        raise InputError("the first line of the log", ",".join(clients), allowed)
    table = source.table(source.found, matrix=True, empty_rows=clients == list(source.found))
    _require_whole(table)
    ids = columns.plain_ids(pl.Series(clients))
    if (twice := repeated(ids)) is not None:
        raise InputError("the columns of the log", twice, "there once each")
    names, client = asked.place(ids)
    if (client < 0).any():
        raise InputError("a column of the log", ids[int(np.argmin(client))], asked.allowed)
    round_ = _rounds(table, len(clients) < len(source.found))
    n_rounds = int(round_.max()) + 1 if asked.rounds is None else asked.rounds
    if round_.max() >= n_rounds:
        allowed = f"a matrix of the first {n_rounds} rounds (rounds = {n_rounds})"
        raise InputError("the log", f"a row for round {round_.max()}", allowed)
    require_keys(len(names), n_rounds)
    on, known = _truths(table, clients)
    if not known.any():
        raise InputError("the log", "a matrix of empty cells", "one in which somebody was observed")
    rows, order = np.argsort(round_), np.argsort(client)
    at, who = round_[rows], client[order]
    on, known = on[np.ix_(order, rows)], known[np.ix_(order, rows)]
    del table  # each cell is held once
    whole = len(round_) == n_rounds and bool((known.all(axis=1) == known.any(axis=1)).all())
    events = int(np.count_nonzero(on)) + (0 if whole else int(np.count_nonzero(known)))
    require_room("cells on, or observed,", events, EVENT, 0)
    return Log(
        names,
        n_rounds,
        *_events(on, who, at),
        None if whole else _events(known, who, at),
        _among(len(names), who[known.any(axis=1)]) if whole else None,
        n_rows=len(round_),
        n_unsorted=int(np.count_nonzero(round_ < np.maximum.accumulate(round_))),
        when="round" if len(clients) < len(source.found) else "",
    )


def _require_whole(table: Table) -> None:
    """Refuse a row of fewer cells than the header has, as in a file that was cut: those were not left empty."""
    source, wide = table.source, len(table.source.found)
    ends = table.frame.filter(pl.col(source.found[-1]).is_null())["row"]  # such a row has nothing in the last column
    if source.kind != "CSV" or ends.is_empty():
        return
    cells = source.cells()[ends]
    short = np.flatnonzero(((cells > 0) & (cells < wide)).to_numpy())
    if short.size:
        place, at = source.place(ends[int(short[0])]), int(short[0])
        allowed = f"a row of {wide} cells, as many as the first line has (empty where nothing was observed)"
        raise InputError(f"{place} of the log", f"{cells[at]} cells", allowed)


def _is_cell(name: str) -> bool:
    """Whether a name is what stands in the rounds of a matrix."""
    try:
        return float(name) in (0, 1)
    except ValueError:
        return name.strip().lower() in {*columns.ON, *columns.OFF}


def _clients(source: Source) -> list[str]:
    return list(source.found[1:] if source.found[:1] == ("round",) else source.found)


def _rounds(table: Table, given: bool) -> Ints:
    if not given:
        return table.frame["row"].cast(pl.Int64).to_numpy()
    round_ = columns.rounds(table).astype(np.int64)
    table.require("round", table.frame.select(pl.Series(round_).is_first_distinct()).to_series(), "there once")
    return round_


def _cells(frame: pl.DataFrame, clients: list[str]) -> pl.DataFrame:
    return frame.select(columns.plain_truth(pl.col(clients).cast(pl.String, strict=False).fill_null("")))


def _truths(table: Table, clients: list[str]) -> tuple[Bools, Bools]:
    """Which cells say that the client was available, and which say something, (clients, rows)."""
    on, known = (np.empty((len(clients), len(table.frame)), dtype=np.bool_) for _ in range(2))
    at_once = max(1, min(MOST_COLUMNS, AT_ONCE // len(table.frame)))
    bad = []
    for first in range(0, len(clients), at_once):
        some = slice(first, first + at_once)
        cells = _cells(table.frame.select(clients[some]), clients[some])
        on[some], off, blank = (
            cells.select(pl.all().is_in(words)).to_numpy().T for words in (columns.ON, columns.OFF, UNOBSERVED)
        )
        known[some] = on[some] | off
        bad += [(row, first + column) for row, column in np.argwhere(~(known[some] | blank).T)[:1].tolist()]
    if bad:
        row, column = min(bad)
        place = f"client {clients[column]!r} on {table.source.place(table.frame['row'][row])} of the log"
        allowed = "1 or 0, or true or false, or empty where nothing was observed"
        raise InputError(place, table.frame[clients[column]][row], f"{allowed} (no column is called client)")
    return on, known


def _events(cells: Bools, clients: Ints, rounds: Ints) -> tuple[Ints, Ints]:
    """The true cells (clients, rounds) as events."""
    client, round_ = np.nonzero(cells)
    return clients[client], rounds[round_]


def _among(n: int, positions: Ints) -> Bools:
    found = np.zeros(n, dtype=np.bool_)
    found[positions] = True
    return found
