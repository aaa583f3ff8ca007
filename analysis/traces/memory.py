"""What a log takes in memory, and whether there is so much."""

from __future__ import annotations

from analysis.traces.log import AT_ONCE
from fltheory.errors import InputError
from sims.training import room

ROW, TEXT = 40, 32  # bytes a row that reading takes at its peak, as measured; for each column of other texts besides
CELL = 12  # bytes a cell of a matrix besides, its number among them; TEXT more where it is a text
COLUMN = 20_000  # bytes that polars keeps for a column of a matrix, however short
ROUND = 128  # bytes that a report takes for each round of the log, with participants or without
BLOCK = 200  # bytes an event of those looked at together
CELLS = 70  # bytes a cell of a matrix of those: in all 1.3 to 2.3 times what was measured


def require_room(things: str, number: int, each: int, together: int = BLOCK, beside: int = 0) -> None:
    """Raise InputError if so many things of a log, of so many bytes each, need more memory than is available.

    together   bytes more for each of those that are looked at together
    beside     bytes that are needed however many there are
    """
    needed = number * each + min(number, AT_ONCE) * together + beside
    there = min(room.of_the_machine(), room.of_the_process())
    if needed > there:
        allowed = (
            f"few enough for the {room.in_words(there)} of memory that are free: these need {room.in_words(needed)}"
        )
        raise InputError(f"{things} of the log", number, allowed)


def require_cells(rows: int, columns: int, texts: int) -> None:
    """Raise InputError if a matrix of so many columns, of which some are texts, is too large to be read."""
    beside = rows * (ROW + texts * TEXT) + columns * COLUMN
    require_room("cells", rows * columns, CELL, CELLS, beside)
