"""Read a participation log, CSV or Parquet: rows in any order, copies of rows, a million clients."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.traces import columns
from analysis.traces.log import Log
from fltheory.errors import InputError, count

MOST_CLIENTS = 10**7
MOST_CELLS = 2**62  # clients times rounds: a (client, round) pair is one int64 key


def read_log(
    path: str | Path,
    *,
    clients: int | str | Path | None = None,
    rounds: int | None = None,
    round_length: str | float | None = None,
) -> Log:
    """Read the participation log at `path`.

    Columns: `client` (whole numbers or text), `round` (whole numbers from 0) or, with `round_length`,
    `timestamp` (ISO date-times, with an offset from UTC in every row or in none; or seconds), and optionally
    `available` (true/false or 1/0). With `available` each row is an observation, and a (client, round)
    without a row is unobserved; without it each row is a participation, and in all other rounds a client
    that the log shows was off. Blank lines are skipped, other columns ignored: of `round` and `timestamp`, where
    both stand, the one that is not asked for (`Log.ignored`). Client 3.0 is client 3, here and in a file of clients;
    all other ids, such as 03 or 3.5, are compared as texts.

    clients       number of clients N, whose ids are 0..N-1 (a text of digits is a number), or a file with one
                  id a line; those that the log never shows are never seen. Default: those it shows
    rounds        number of rounds. Default: up to the last round in the log
    round_length  seconds, or a text such as "30s", "15m", "1h", "1d", "1w"; round r is the time from r
                  (included) to r+1 (excluded) lengths after the earliest timestamp

    Raises InputError, naming the line (CSV) or row (Parquet), for a file that cannot be read or a value that
    is missing or not allowed.
    """
    length = None if round_length is None else columns.microseconds("round_length", round_length)
    n_rounds = None if rounds is None else count("rounds", rounds)
    known = None if clients is None else _known_clients(clients)
    when = "round" if length is None else "timestamp"
    table = columns.open_log(Path(path), when)

    ids = columns.client_ids(table)
    round_ = columns.rounds(table) if length is None else columns.timestamps(table) // length
    on = columns.available(table) if "available" in table.frame.columns else None
    if n_rounds is None:
        n_rounds = int(round_.max()) + 1
    table.require(when, round_ < n_rounds, f"in the first {n_rounds} rounds (rounds = {n_rounds})")
    names = _natural_order(ids) if known is None else known
    if len(names) * n_rounds > MOST_CELLS:
        raise InputError("rounds", n_rounds, f"at most {MOST_CELLS // len(names)} for {len(names)} clients")
    client = _positions(ids, names)
    table.require("client", client >= 0, f"one of the {len(names)} clients that clients = {clients} allows")
    return replace(_log(names, n_rounds, client, round_, on), when=when, ignored=table.ignored)


def _log(
    names: tuple[str, ...],
    n_rounds: int,
    client: npt.NDArray[np.int64],
    round_: npt.NDArray[np.int64],
    on: npt.NDArray[np.bool_] | None,
) -> Log:
    """Sort by client, then round; merge the rows of one client and round; count what had to be mended."""
    by_client = np.argsort(client, kind="stable")
    key = (client * n_rounds + round_)[by_client]
    n_unsorted = int(np.count_nonzero(key < np.maximum.accumulate(key)))
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    pair = key[first]
    observations = (pair // n_rounds, pair % n_rounds)
    participations, observed, n_contradictions = observations, None, 0
    if on is not None:
        on = on[by_client][order]
        some, every = np.logical_or.reduceat(on, first), np.logical_and.reduceat(on, first)
        participations, observed = (observations[0][some], observations[1][some]), observations
        n_contradictions = int(np.count_nonzero(some & ~every))
    return Log(
        names,
        n_rounds,
        *participations,
        observed,
        n_rows=key.size,
        n_unsorted=n_unsorted,
        n_duplicates=key.size - pair.size,
        n_contradictions=n_contradictions,
    )


def _known_clients(clients: int | str | Path) -> tuple[str, ...]:
    if isinstance(clients, str) and re.fullmatch(r"[0-9]+", clients):
        clients = int(clients)
    if not isinstance(clients, str | Path):
        if count("clients", clients) > MOST_CLIENTS:
            raise InputError("clients", clients, f"at most {MOST_CLIENTS}")
        return tuple(map(str, range(int(clients))))
    try:
        lines = Path(clients).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError("clients", str(clients), "a number or a readable text file, one client id a line") from None
    names = tuple(columns.plain_ids(pl.Series([line for line in lines if line.strip()], dtype=pl.String)))
    if not names:
        raise InputError("clients", str(clients), "a file with at least one client id")
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise InputError("clients", twice, f"a file that names each client once ({clients})")
    return names


def _natural_order(ids: pl.Series) -> tuple[str, ...]:
    """The distinct ids: whole numbers first and by value (2 before 10), then text."""
    distinct = pl.DataFrame({"id": ids.unique()})
    number = pl.col("id").cast(pl.Int64, strict=False)
    return tuple(distinct.sort(number, "id", nulls_last=True)["id"].to_list())


def _positions(ids: pl.Series, names: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """The position of each id in `names`, -1 where it is not there."""
    place = pl.DataFrame({"id": pl.Series(names, dtype=pl.String), "place": np.arange(len(names))})
    rows = pl.DataFrame({"id": ids}).with_row_index("row").join(place, on="id", how="left").sort("row")
    return rows["place"].fill_null(-1).to_numpy()
