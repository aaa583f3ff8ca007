"""The clients of a log: who is asked for, in which order, and where each id stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.traces import columns
from analysis.traces.log import AT_ONCE
from analysis.traces.table import Table
from fltheory.errors import InputError, count

MOST_CLIENTS = 10**7
MOST_CELLS = 2**62  # clients times rounds: a (client, round) pair is one int64 key


@dataclass(frozen=True)
class Asked:
    """What the caller says of a log: its clients in order, its rounds, the length of a round in microseconds."""

    names: tuple[str, ...] | None
    clients: object  # as it was given
    rounds: int | None
    length: int | None

    def place(self, ids: pl.Series) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
        """The clients, and the position of each id among them: -1 for one that is not asked for."""
        names = natural_order(ids) if self.names is None else self.names
        place = pl.DataFrame({"id": pl.Series(names, dtype=pl.String), "place": np.arange(len(names))})
        rows = pl.DataFrame({"id": ids}).with_row_index("row").join(place, on="id", how="left").sort("row")
        return names, rows["place"].fill_null(-1).to_numpy()

    def place_rows(self, table: Table, first: Table, ids: pl.Series) -> tuple[tuple[str, ...], npt.NDArray[Any]]:
        """The clients, and the position of the client of each row of a table.

        first, ids   `columns.first_rows` of the table, and their ids
        """
        names, position = self.place(ids)
        known, placed = _plain(first.frame["client"]), pl.Series(position, dtype=pl.Int32)
        client, at = np.empty(len(table.frame), dtype=np.int32), 0
        for part in table.frame.select("client").iter_slices(AT_ONCE):
            column = _plain(part["client"])
            client[at : at + len(part)] = column.replace_strict(known, placed, return_dtype=pl.Int32).to_numpy()
            at += len(part)
        return names, client

    @property
    def allowed(self) -> str:
        """Which clients there may be, in a sentence on one that is not among them."""
        return f"one of the {len(self.names or ())} clients that clients = {self.clients} allows"


def _plain(column: pl.Series) -> pl.Series:
    return column.to_physical() if column.dtype == pl.Categorical else column


def require_keys(n_clients: int, n_rounds: int) -> None:
    """Raise InputError unless each (client, round) has a number of 64 bits."""
    if n_clients * n_rounds > MOST_CELLS:
        raise InputError("rounds", n_rounds, f"at most {MOST_CELLS // n_clients} for {n_clients} clients")


def known_clients(clients: int | str | Path) -> tuple[str, ...]:
    """The clients 0..N-1 for a number N, or those of a file with one id a line."""
    if isinstance(clients, str) and re.fullmatch(r"[0-9]+", clients):
        clients = int(clients)
    if not isinstance(clients, str | Path):
        if count("clients", clients) > MOST_CLIENTS:
            raise InputError("clients", clients, f"at most {MOST_CLIENTS}")
        return tuple(map(str, range(int(clients))))
    try:
        lines = Path(clients).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(
            "clients", str(clients), "a whole number of at least 1 or a readable text file, one client id a line"
        ) from None
    names = tuple(columns.plain_ids(pl.Series([line for line in lines if line.strip()], dtype=pl.String)))
    if not names:
        raise InputError("clients", str(clients), "a file with at least one client id")
    if (twice := repeated(names)) is not None:
        raise InputError("clients", twice, f"a file that names each client once ({clients})")
    return names


def repeated(names: Iterable[str]) -> str | None:
    """The first name that is there again, if there is one."""
    return next((name for name, times in Counter(names).items() if times > 1), None)


def natural_order(ids: pl.Series) -> tuple[str, ...]:
    """The distinct ids: whole numbers first and by value (2 before 10), then text."""
    distinct = pl.DataFrame({"id": ids.unique()})
    number = pl.col("id").cast(pl.Int64, strict=False)
    return tuple(distinct.sort(number, "id", nulls_last=True)["id"].to_list())
