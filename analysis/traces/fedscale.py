"""Traces of FedScale (Lai et al., 2022): a dictionary of clients, exported as JSON.

FedScale takes client c as available at time t where active[i] <= t mod finish_time <= inactive[i] for an i
(`fedscale/cloud/internal/client_metadata.py`). Here the last instant is left out, as in every interval: otherwise a
client that stops as a round begins would be counted in it.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from analysis.traces.columns import FARTHEST, MICRO, SECONDS, plain_ids
from analysis.traces.intervals import from_runs
from analysis.traces.log import Ints, Log
from analysis.traces.names import Asked, repeated, require_keys
from analysis.traces.table import MEANT, head, once
from fltheory.errors import InputError
from fltheory.participation.base import MOST_EVENTS
from fltheory.participation.runs import Runs

FORM = '{"active": [0, 7200], "inactive": [3600, 9000], "finish_time": 86400}'
KEYS = ("active", "inactive", "finish_time")


def is_one(path: Path) -> bool:
    """Whether the file begins with an object whose first value is an object, and its first line is no row."""
    begin = head(path)
    nested = re.match(rb'\{\s*(\}|"(?:[^"\\]|\\.)*"\s*:\s*\{)', begin) is not None
    return nested and not _is_row(begin.partition(b"\n")[0])


def _is_row(line: bytes) -> bool:
    """Whether a line is an object with a column of other forms, such as `client`, that holds a number or a text."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return any(name.strip().lower() in MEANT and not isinstance(value, dict) for name, value in row.items())


def read(path: Path, asked: Asked) -> Log:
    """The clients of the file; each is observed in all rounds."""
    if asked.length is None:
        raise InputError("the log", str(path), "read with --round-length, such as 1h: its times are in seconds")
    content = _loaded(path)
    ids = plain_ids(pl.Series(list(content), dtype=pl.String))
    if (twice := repeated(ids)) is not None:
        raise InputError("clients of the log", twice, "there once each")
    names, client = asked.place(ids)
    if (client < 0).any():
        raise InputError("client of the log", ids[int(np.argmin(client))], asked.allowed)
    found = [_times(name, value) for name, value in content.items()]
    active, inactive = (np.concatenate([times[part] for times in found]) for part in (0, 1))
    of = np.repeat(np.arange(len(found)), [len(times[0]) for times in found])
    period = np.array([times[2] for times in found])
    n_rounds = int(-(-period.max() // asked.length)) if asked.rounds is None else asked.rounds
    if n_rounds * asked.length > 2 * FARTHEST * MICRO:
        raise InputError("rounds", n_rounds, f"at most {2 * FARTHEST * MICRO // asked.length} of this length")
    require_keys(len(names), n_rounds)
    which, start, stop = _repeated(active, np.minimum(inactive, period[of]), period[of], n_rounds * asked.length)
    runs = Runs(client[of[which]], start // asked.length, -(-stop // asked.length))
    seen = np.isin(np.arange(len(names)), client)
    log = from_runs(names, n_rounds, runs, None)
    return replace(log, seen=seen, n_rows=len(found), when="active", start=0, clock=SECONDS)


def _repeated(start: Ints, stop: Ints, period: Ints, horizon: int) -> tuple[Ints, Ints, Ints]:
    """Which interval, start and stop of all repetitions within [0, horizon), without empty ones; microseconds."""
    copies = np.where(start < stop, -(-horizon // period), 0)
    if copies.sum() > MOST_EVENTS:
        allowed = f"at most {MOST_EVENTS:.0e} in the rounds asked for"
        raise InputError("repetitions of the log's intervals", int(copies.sum()), allowed)
    which = np.repeat(np.arange(len(start)), copies)
    copy = np.arange(len(which)) - np.repeat(np.cumsum(copies) - copies, copies)
    begin, end = (times[which] + copy * period[which] for times in (start, stop))
    inside = begin < horizon
    return which[inside], begin[inside], np.minimum(end, horizon)[inside]


def _loaded(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=once)
    except OSError:
        raise InputError("the log", str(path), "a file that can be read") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("the log", str(path), f"JSON, an object for each client ({error})") from None
    if not content:
        raise InputError("the log", str(path), "a file with at least one client")
    return content  # type: ignore[no-any-return]


def _times(client: str, value: Any) -> tuple[Ints, Ints, int]:
    """When a client becomes active and inactive, and its period, in microseconds."""
    if not isinstance(value, dict) or not set(KEYS) <= value.keys():
        raise InputError(f"client {client!r} of the log", value, f"an object such as {FORM}")
    active, inactive = (_seconds(client, key, value[key]) for key in KEYS[:2])
    if len(active) != len(inactive):
        lengths = f"{len(active)} and {len(inactive)} times"
        raise InputError(f"active and inactive of client {client!r} of the log", lengths, "lists of one length")
    if (active > inactive).any():
        at = int(np.argmax(active > inactive))
        allowed = f"at least active, {value['active'][at]}"
        raise InputError(f"inactive of client {client!r} of the log", value["inactive"][at], allowed)
    period = value["finish_time"]
    if isinstance(period, bool) or not isinstance(period, int | float) or not 1 / MICRO <= period <= FARTHEST:
        allowed = f"a number of seconds above 0, of at most {FARTHEST:.0e}"
        raise InputError(f"finish_time of client {client!r} of the log", period, allowed)
    return active, inactive, round(period * MICRO)


def _seconds(client: str, key: str, times: Any) -> Ints:
    try:
        array = np.asarray(times)
    except ValueError:
        array = np.zeros(0, dtype=np.object_)
    numbers = array.dtype.kind in "iuf" and array.ndim == 1 and isinstance(times, list)
    if not numbers or not ((array >= 0) & (array <= FARTHEST)).all():  # written so that NaN is refused
        allowed = f"a list of seconds from 0 to {FARTHEST:.0e}"
        raise InputError(f"{key} of client {client!r} of the log", times, allowed)
    found: Ints = np.rint(array * MICRO).astype(np.int64)
    return found
