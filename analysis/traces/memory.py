"""What a log takes in memory, and whether there is so much."""

from __future__ import annotations

from analysis.traces.log import AT_ONCE
from fltheory.errors import InputError
from sims.training import room

ROW, TEXT = 40, 32  # bytes a row that reading takes at its peak, as measured; for each column of other texts besides
ROUND = 128  # bytes that a report takes for each round of the log, with participants or without
BLOCK = 200  # bytes an event of those looked at together


def require_room(things: str, number: int, each: int) -> None:
    """Raise InputError if so many things of a log, of so many bytes each, need more memory than is available."""
    needed = number * each + min(number, AT_ONCE) * BLOCK
    there = min(room.of_the_machine(), room.of_the_process())
    if needed > there:
        allowed = (
            f"few enough for the {room.in_words(there)} of memory that are free: these need {room.in_words(needed)}"
        )
        raise InputError(f"{things} of the log", number, allowed)
