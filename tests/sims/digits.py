"""Comparison with numbers that are given as decimals."""

from __future__ import annotations


def digits(value, given):
    """Whether a number rounds to a decimal that is given as text, such as "0.31", ".5" or "1.2e-5"."""
    mantissa, _, power = given.partition("e")
    unit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    return abs(float(value) - float(given)) <= 0.5000001 * unit
