"""The share of clients on over a day, by the clock of the log where its times say one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.trace_report.counts import by_phase
from analysis.traces import Log
from analysis.traces.columns import MICRO, SECONDS, UNITS, WITH_OFFSET, WITHOUT_OFFSET
from analysis.traces.log import Floats

CLOCKS = {
    WITH_OFFSET: "UTC",
    WITHOUT_OFFSET: "the clock of the log, whose dates have no offset",
    SECONDS: "the seconds of the log, 86,400 a day from 0 on (UTC, if they are Unix time)",
}
DAY = UNITS["d"] * MICRO


@dataclass(frozen=True, eq=False)
class Profile:
    """The share of clients on over the rounds of a day.

    share    among those observed, (rounds of a day,); NaN where nobody was. The first is the round that begins first
             after midnight or, where the log has rounds only, its first
    clock    whose midnight, a key of CLOCKS; empty where the log has rounds only
    begins   seconds from midnight to the begin of the first of these rounds; 0 where the log has rounds only
    """

    share: Floats
    clock: str
    begins: float

    @property
    def hours(self) -> Floats:
        """When each of the rounds begins, in hours after midnight."""
        return (self.begins + UNITS["d"] * np.arange(self.share.size) / self.share.size) / UNITS["h"]

    def when(self, which: int) -> str:
        """A round of the day in words."""
        if not self.clock:
            return f"round {which} of the day"
        minutes, seconds = divmod(int(self.hours[which] * UNITS["h"] + 1e-6), UNITS["m"])
        return f"from {minutes // 60:02}:{minutes % 60:02}{f':{seconds:02}' if seconds else ''} on"

    def of_what(self) -> str:
        """What the rounds of the day are counted from, in words."""
        return f"by {CLOCKS[self.clock]}" if self.clock else "in rounds since the first of the log"


def begin_of(log: Log) -> str:
    """When round 0 of a log with times begins, by the clock of these, in words."""
    assert log.start is not None
    if log.clock == SECONDS:
        return f"{log.start / MICRO:.15g} s"
    unit: Literal["us", "s"] = "us" if log.start % MICRO else "s"
    zone = " UTC" if log.clock == WITH_OFFSET else ""
    return f"{np.datetime_as_string(np.datetime64(log.start, 'us'), unit=unit)}{zone}"


def day_profile(log: Log, day: int) -> Profile:
    """With `day` rounds of a day."""
    on, observed = by_phase(log, day)
    share = np.asarray(np.divide(on, observed, out=np.full(day, np.nan), where=observed > 0))
    if log.start is None:
        return Profile(share, "", 0.0)
    # Rounds begin between whole ones after midnight, unless the log begins in one of them.
    ahead, rest = divmod(log.start % DAY * day, DAY)
    return Profile(np.roll(share, ahead), log.clock, rest / day / MICRO)
