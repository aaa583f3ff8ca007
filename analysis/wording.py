"""Numbers of things, and which of them was best, in words."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """So many of something, whose plural ends in s.

    >>> counted(1, "seed"), counted(1200, "case"), counted(0, "claim")
    ('1 seed', '1,200 cases', '0 claims')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def at_edge(chosen: float, tried: Iterable[float]) -> str:
    """Which end of those that were tried the chosen one is, as a better one may lie beyond it; empty if none.

    >>> at_edge(0.1, [0.01, 0.1]), at_edge(0.01, [0.01, 0.1]), at_edge(2, [1, 2, 3]), at_edge(1, [1])
    ('largest', 'smallest', '', '')
    """
    ends = sorted(set(tried))
    if len(ends) < 2:
        return ""
    return "largest" if chosen == ends[-1] else "smallest" if chosen == ends[0] else ""
