"""Read a participation log: events, intervals, a matrix or a FedScale trace; rows in any order, a million clients."""

from __future__ import annotations

from pathlib import Path

from analysis.traces import columns, events, fedscale, intervals, matrix
from analysis.traces.forms import form_of
from analysis.traces.log import Log
from analysis.traces.names import Asked, known_clients
from analysis.traces.table import open_log
from fltheory.errors import InputError, count

READERS = {"events": events.read, "intervals": intervals.read, "matrix": matrix.read}


def read_log(
    path: str | Path,
    *,
    clients: int | str | Path | None = None,
    rounds: int | None = None,
    round_length: str | float | None = None,
) -> Log:
    """Read the participation log at `path`: CSV, Parquet or JSON lines, told apart by their content.

    The columns say which form it has. Column `available` (true/false or 1/0) may stand in the first two: with it each
    row is an observation, and rounds without a row are unobserved; without it each row is a participation, and in all
    other rounds a client that the log shows was off.

    events      `client` (whole numbers or text) and `round` (whole numbers from 0) or, with `round_length`,
                `timestamp` (ISO date-times, with an offset from UTC in every row or in none; or seconds)
    intervals   `client`, `start` (included) and `end` (excluded): rounds, or with `round_length` timestamps; a client
                takes part in every round that its interval touches
    matrix      CSV or Parquet, a column of true/false or 1/0 for each client, named by it; an empty cell is
                unobserved. A row is a round: that of a first column `round`, where there is one, else row r is round r
    FedScale    a JSON object, client -> {"active": [seconds], "inactive": [seconds], "finish_time": seconds}, with
                `round_length`: a client is available from active[i] to inactive[i] (excluded), over and over with
                period finish_time, and observed all the time (other keys, such as "duration", are not read)

    Blank lines are skipped, other columns ignored: of `round` and `timestamp`, where both stand, the one that is not
    asked for (`Log.ignored`). In a matrix without `round` a row of empty cells is a round, and so is a blank line, but
    not at the end. The columns of JSON lines are the keys of the first 1000. Client 3.0 is client 3, here and in a
    file of clients; all other ids, such as 03 or 3.5, are compared as texts.

    clients       number of clients N, whose ids are 0..N-1 (a text of digits is a number), or a file with one
                  id a line; those that the log never shows are never seen. Default: those it shows
    rounds        number of rounds. Default: up to the last round in the log; of FedScale the longest finish_time
    round_length  seconds, or a text such as "30s", "15m", "1h", "1d", "1w"; round r is the time from r
                  (included) to r+1 (excluded) lengths after the earliest timestamp; of FedScale after time 0

    Raises InputError, naming the line (of Parquet the row, of FedScale the client), for a file that cannot be read,
    a value that is missing or not allowed, and a log that needs more memory than is available.
    """
    path = Path(path)
    length = None if round_length is None else columns.microseconds("round_length", round_length)
    n_rounds = None if rounds is None else count("rounds", rounds)
    asked = Asked(None if clients is None else known_clients(clients), clients, n_rounds, length)
    try:
        if fedscale.is_one(path):
            return fedscale.read(path, asked)
        source = open_log(path)
        return READERS[form_of(source, by_time=length is not None)](source, asked)
    except MemoryError:
        raise InputError("the log", str(path), "one whose participations and observations fit in memory") from None
