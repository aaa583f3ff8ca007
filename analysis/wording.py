"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """So many of something, whose plural ends in s.

    >>> counted(1, "seed"), counted(1200, "case"), counted(0, "claim")
    ('1 seed', '1,200 cases', '0 claims')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"
