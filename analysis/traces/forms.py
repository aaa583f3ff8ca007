"""Which form a log has, by the names of its columns; what is most likely amiss where it has none."""

from __future__ import annotations

import difflib
import re
from typing import Literal

from analysis.traces import matrix
from analysis.traces.table import MEANT, Source
from fltheory.errors import InputError

EVENTS = "client and round (or timestamp, with round_length), and available where it was recorded"
INTERVALS = "client, start and end, and available where it was recorded"
MATRIX = "a column of 1 and 0 for each client, after a first one called round if there is one"
THERE, AWAY = ("avail", "online", "participat", "active"), ("unavail", "offline", "inactive")


def form_of(source: Source, *, by_time: bool) -> Literal["events", "intervals", "matrix"]:
    """Raise InputError where the columns are those of no form, or of two, or one is likely meant as `available`.

    by_time   whether timestamps are asked for
    """
    found, when = source.found, "timestamp" if by_time else "round"
    spans = {"client", "start", "end"} <= set(found)
    moments = {"client", "round"} <= set(found) or {"client", "timestamp"} <= set(found)
    if spans and moments:
        raise _wrong(source, f"{EVENTS}, or {INTERVALS}, not both: leave those out that say something else")
    if not spans and not {"client", when} <= set(found):
        if not moments and matrix.is_one(source):
            return "matrix"
        raise _wrong(source, f"{EVENTS}{_likely(found, when) or f'; or {INTERVALS}; or {MATRIX}'}")
    read = {"client", "start", "end"} if spans else {"client", when}
    if "available" not in found and (near := _like_available([name for name in found if name not in read])):
        what = f"the opposite of {near!r}" if any(word in _letters(near) for word in AWAY) else repr(near)
        otherwise = "or leave that column out if it says something else"
        raise _wrong(source, f"{INTERVALS if spans else EVENTS}: write {what} as 'available', {otherwise}")
    return "intervals" if spans else "events"


def _wrong(source: Source, allowed: str) -> InputError:
    return InputError("the columns of the log", list(source.found), allowed)


def _likely(found: tuple[str, ...], when: str) -> str:
    """What is most likely amiss with the names of the columns."""
    if when == "round" and {"client", "timestamp"} <= set(found):
        return ": say --round-length, such as 1h, to read the timestamps"
    if when == "timestamp" and {"client", "round"} <= set(found):
        return ": leave --round-length out to read the rounds"
    alike = {name.strip().lower(): name for name in found}
    if found[:1] == ("",) and not alike.keys() & set(MEANT):  # so pandas writes the index
        return f"; or {MATRIX}: call the first one, which has no name, round"
    spans = not {"round", "timestamp"} & alike.keys() and {"start", "end"} & alike.keys()
    needed = ("client", "start", "end") if spans else ("client", when)
    renamed = [f"{alike[name]!r} as {name!r}" for name in needed if name not in found and name in alike]
    return f"{f'; or {INTERVALS}' if spans else ''}: write {' and '.join(renamed)}" if renamed else ""


def _like_available(found: list[str]) -> str:
    """The column most likely meant as `available`, or "": if ignored, rows that say 0 would count as participations."""
    for name in found:
        plain = _letters(name)
        misspelt = plain.startswith("av") and difflib.get_close_matches("available", [plain], cutoff=0.7)
        if misspelt or any(word in plain for word in (*THERE, *AWAY)):
            return name
    return ""


def _letters(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())
