"""Write a log as intervals: exact, and as short as its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import ComputeError
from polars.io.plugins import register_io_source

from analysis.files import whole_file
from analysis.traces.log import Ints, Log
from fltheory.errors import InputError
from fltheory.participation.runs import Runs

WRITERS: dict[str, Callable[[pl.LazyFrame, Path], object]] = {
    ".csv": pl.LazyFrame.sink_csv,
    ".parquet": pl.LazyFrame.sink_parquet,
    ".jsonl": pl.LazyFrame.sink_ndjson,
}
SCHEMA = {"client": pl.String, "start": pl.Int64, "end": pl.Int64, "available": pl.UInt8}
WRITTEN = 5 * 10**5  # events written together: what is made of them takes some tens of MB


def write_log(log: Log, path: Path) -> None:
    """Write a log for `read_log`, as CSV, Parquet or JSON lines by the suffix; under another name first.

    Columns `client`, `start`, `end`, `available`: a row for each run of rounds on, and each run of observed rounds
    off. What is read back is the same log but for clients never seen and rounds at the end in which nobody was
    observed, of which a file can say nothing: give their numbers to `read_log`. Raises InputError for another suffix,
    and where no file can be written.
    """
    require_suffix(path)
    with whole_file(path) as partial:
        try:
            WRITERS[path.suffix](_in_blocks(log), partial)
        except ComputeError as error:  # so polars tells of a disk that is full while it writes Parquet
            raise OSError(str(error)) from None


def require_suffix(path: Path) -> None:
    """Raise InputError for a name that says none of the forms."""
    if path.suffix not in WRITERS:
        raise InputError("output file", str(path), f"a name that ends in {', '.join(WRITERS)}")


def _in_blocks(log: Log) -> pl.LazyFrame:
    """`as_intervals` of some clients after the others, made as it is written."""

    def parts(*_: object) -> Iterator[pl.DataFrame]:
        yield from (as_intervals(part) for _, part in log.blocks(WRITTEN))

    return register_io_source(parts, schema=SCHEMA, validate_schema=True)


def as_intervals(log: Log) -> pl.DataFrame:
    """One row a run, sorted by client, then start.

    >>> as_intervals(Log(("a",), 5, np.array([0, 0]), np.array([1, 2]))).rows()
    [('a', 0, 1, 0), ('a', 1, 3, 1), ('a', 3, 5, 0)]
    """
    on = _runs(log.client, log.round)
    off = _between(log, on) if log.observed is None else _runs(*_observed_off(log))
    client, start, stop = (np.concatenate(parts) for parts in zip(on, off, strict=True))
    available = np.repeat([1, 0], [len(on.client), len(off.client)]).astype(np.uint8)
    order = np.lexsort((start, client))
    return pl.DataFrame(
        {
            "client": pl.Series(log.clients, dtype=pl.String).gather(client[order]),
            "start": start[order],
            "end": stop[order],
            "available": available[order],
        }
    )


def _runs(client: Ints, round_: Ints) -> Runs:
    """The runs of consecutive rounds of events that are sorted by client, then round."""
    goes_on = (np.diff(client) == 0) & (np.diff(round_) == 1)
    first = np.flatnonzero(np.append(True, ~goes_on)[: len(client)])
    last = np.flatnonzero(np.append(~goes_on, True)[: len(client)])
    return Runs(client[first], round_[first], round_[last] + 1)


def _between(log: Log, on: Runs) -> Runs:
    """The runs off of clients that were observed in every round: from one end of a run on to the next start."""
    seen = np.flatnonzero(~log.never_seen())
    begin = np.append(on.client, seen), np.append(on.stop, np.zeros_like(seen))
    end = np.append(on.client, seen), np.append(on.start, np.full_like(seen, log.n_rounds))
    starts, stops = (edges[1][np.lexsort(edges[::-1])] for edges in (begin, end))
    there = starts < stops
    return Runs(np.sort(begin[0])[there], starts[there], stops[there])


def _observed_off(log: Log) -> tuple[Ints, Ints]:
    assert log.observed is not None
    client, round_ = log.observed
    off = ~log.observed_on()
    return client[off], round_[off]
