"""Bad input: one sentence that names the argument, the value and what is allowed."""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

LARGEST = 2**53  # up to here float64 holds every whole number


class InputError(ValueError):
    """An argument is outside what is allowed. The command line prints it in one line and exits with 2."""

    def __init__(self, argument: str, value: object, allowed: str) -> None:
        self.argument, self.value, self.allowed = argument, value, allowed
        super().__init__(f"{printable(argument.replace(chr(10), ' '))} must be {allowed}; got {_shown(value)}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)  # so that it comes back from a worker as it was


def printable(text: str) -> str:
    """Text with what names out of a file may have for a terminal to obey, such as escapes, written out.

    >>> print(printable("client \\x1b[2J"))
    client \\x1b[2J
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _restored(kind: type[InputError], arguments: tuple[Any, ...], state: dict[str, Any]) -> InputError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error


def _shown(value: object) -> str:
    """A value in one line. A whole Fraction by itself keeps its type, for the type may be what is wrong with it."""
    whole = isinstance(value, Fraction) and value.denominator == 1
    text = re.sub(r"\s*\n\s*", " ", repr(value) if whole else _plain(value))
    return text if len(text) <= 80 else text[:77] + "..."


def _plain(value: object) -> str:
    """`repr`, but with the numbers of numpy and Fractions as one writes them, also inside arrays and lists."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=6, formatter={"object": _plain})
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.number):
        return repr(value.item())
    if type(value) is list:
        return f"[{', '.join(map(_plain, value))}]"
    return repr(value)


def one_of(name: object, known: Iterable[str], listed: str = "") -> str:
    """What is allowed, with the nearest name if there is one; what was given may be no name at all.

    listed   of names that are too many for a sentence, what lists them: only the nearest are named then

    >>> one_of("markow", ["bernoulli", "markov"])
    'one of bernoulli, markov (did you mean markov?)'
    >>> one_of("phone", ["digits", "phone-activity"])
    'one of digits, phone-activity (did you mean phone-activity?)'
    >>> one_of("FIG1", ["fig10", "fig1", "thm1"], "`figures --list`")
    'one of those that `figures --list` lists (did you mean fig1, fig10?)'
    """
    import difflib

    name, names = str(name), sorted(known)
    if listed:
        with_it = sorted((known for known in names if name and name.lower() in known.lower()), key=len)
        near = list(dict.fromkeys([*with_it, *difflib.get_close_matches(name, names)]))[:3]
        return f"one of those that {listed} lists" + (f" (did you mean {', '.join(near)}?)" if near else "")
    begun = [known for known in names if name and known.startswith(name.lower())]
    near = difflib.get_close_matches(name, names, n=1) or (begun if len(begun) == 1 else [])
    return f"one of {', '.join(names)}" + (f" (did you mean {near[0]}?)" if near else "")


def probabilities(argument: str, value: npt.ArrayLike, *, zero: bool = False) -> npt.NDArray[np.float64]:
    """`value` as a float array with every element in (0, 1] (in [0, 1] with `zero`)."""
    allowed = "in [0, 1]" if zero else "in (0, 1]"
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "iufO":  # text and truth values are not probabilities
            raise TypeError
        array = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, value, f"a number or array of numbers {allowed}") from None
    bad = ~((array >= 0 if zero else array > 0) & (array <= 1))  # written so that NaN is bad
    if bad.any():
        raise InputError(argument, float(array[bad].flat[0]), allowed)
    return array


def count(argument: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """`value` as an int of at least `least` (and at most `most`).

    Only an integer will do, numpy's too: 2.0 is refused, since whoever keeps what was given could not count with it.
    """
    allowed = f"a whole number of at least {least}"
    try:
        whole = operator.index(value)
    except TypeError:
        raise InputError(argument, value, allowed) from None
    if isinstance(value, bool) or whole < least:
        raise InputError(argument, value, allowed)
    if most is not None and whole > most:
        raise InputError(argument, value, f"at most {_power(most)}")
    return whole


def _power(number: int) -> str:
    exponent = number.bit_length() - 1
    return f"2**{exponent}" if exponent >= 32 and number == 2**exponent else str(number)


def processes(argument: str, value: Any) -> int:
    """A number of processes: far more than there are cores would bring the machine down."""
    number, most = count(argument, value), max(16, 4 * (os.cpu_count() or 1))
    if number > most:
        raise InputError(argument, value, f"at most {most} on this machine")
    return number


def cutoff(argument: str, value: Any) -> int | float:
    """A cutoff K: a whole number from 1 to 2**53, or `math.inf` for no cutoff; 2.0 will do, as infinity is a float."""
    if isinstance(value, float | np.floating) and value == math.inf:
        return math.inf
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    try:
        checked = count(argument, int(value) if whole else value)
    except InputError:
        raise InputError(argument, value, "a whole number of at least 1, or infinity") from None
    if checked > LARGEST:  # laws compute with it as a float
        raise InputError(argument, value, f"at most {_power(LARGEST)}, or infinity")
    return checked
