"""The day of a log is that of its clock, or says that it is counted from the first round."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from analysis.trace_report import to_json, to_text, trace_report
from analysis.trace_report.day import day_profile
from analysis.traces import read_log

NIGHTS = range(4)  # client a from 22:00 to 02:00, client b from 22:00 to 23:00 too: 22 is when most are on


def hours(zone: str) -> str:
    """One event an hour, in the time of a zone so many hours ahead of UTC, or in UTC without saying so."""
    ahead = int(zone or 0)
    rows = []
    for client, length in (("a", 4), ("b", 1)):
        for night in NIGHTS:
            for hour in range(22, 22 + length):
                day, clock = divmod(hour + ahead + 24 * night, 24)
                rows.append(f"{client},2024-03-{day + 1:02}T{clock:02}:10:00{zone and f'{ahead:+03}:00'}")
    return "\n".join(["client,timestamp", *rows])


def intervals() -> str:
    rows = [f"{who},2024-03-{n + 1:02}T22:10Z,2024-03-{n + 1 + day:02}T{end}Z" for n in NIGHTS
            for who, day, end in (("a", 1, "02:10"), ("b", 0, "23:10"))]  # fmt: skip
    return "\n".join(["client,start,end", *rows])


def seconds() -> str:
    """As FedScale has them: from second 0 on."""
    ten = 600
    night = {"active": [0, 79200 + ten], "inactive": [7200 + ten, 86400], "finish_time": 86400}
    return json.dumps({"a": night, "b": {"active": [79200 + ten], "inactive": [82800], "finish_time": 86400}})


@pytest.mark.parametrize(
    ("text", "clock", "begins", "said"),
    [
        (hours("+2"), "UTC", 600, "(from 22:10 on)"),
        (hours("-5"), "UTC", 600, "(from 22:10 on)"),
        (hours(""), "the clock of the log, whose dates have no offset", 600, "(from 22:10 on)"),
        (intervals(), "UTC", 600, "(from 22:10 on)"),
        (
            seconds(),
            "the seconds of the log, 86,400 a day from 0 on (UTC, if they are Unix time)",
            0,
            "(from 22:00 on)",
        ),
    ],
)
def test_the_day_is_that_of_the_clock(tmp_path: Path, text: str, clock: str, begins: float, said: str) -> None:
    file = tmp_path / "log"
    file.write_text(text)
    report = trace_report(read_log(file, round_length="1h"), day=24)
    assert report.profile is not None
    assert int(np.argmax(report.profile.share)) == 22
    assert report.profile.begins == begins
    told = " ".join(to_text(report).split())
    assert f"day of 24 rounds, by {clock}: share on from 0.00 (" in told
    assert f"to 1.00 {said}" in told
    assert to_json(report)["day"]["begins"] == begins


def test_rounds_have_no_clock(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("client,round\na,0\nb,3\na,6\na,7\n")
    report = trace_report(read_log(file), day=6)
    told = " ".join(to_text(report).split())
    assert "day of 6 rounds, in rounds since the first of the log: share on from 0.00 (round 2 of the day)" in told
    assert (to_json(report)["day"]["clock"], to_json(report)["day"]["begins"]) == (None, None)


@pytest.mark.parametrize("length", ["15m", "1h", "8h"])
def test_every_event_falls_in_the_round_of_the_day_that_holds_its_time(tmp_path: Path, length: str) -> None:
    """Alone in the log at 13:05:30, a day after another event: the round that begins last before it."""
    file = tmp_path / "log.csv"
    file.write_text("client,timestamp\na,2024-03-01T01:20:30Z\na,2024-03-02T13:05:30Z\na,2024-03-03T13:05:30Z\n")
    day = {"15m": 96, "1h": 24, "8h": 3}[length]
    profile = day_profile(read_log(file, round_length=length), day)
    begin = profile.hours[int(np.argmax(profile.share))]
    assert begin <= 13 + 5.5 / 60 < begin + 24 / day
    assert 0 <= profile.hours[0] < 24 / day
