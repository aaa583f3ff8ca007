"""Complaints of the parser of options, in the form of all others."""

from __future__ import annotations

import itertools
import re


def in_our_form(message: str, arguments: list[str]) -> str:
    """A complaint about the value of an option, as `option must be ...; got ...`."""
    found = re.fullmatch(r"Invalid value for '(--[\w-]+)'[^:]*: (.*)", message)
    if not found:
        return message
    option, why = found.groups()
    least = re.fullmatch(r"Input should be greater than or equal to (\d+)|.* is not in the range x>=(\d+)\.?", why)
    choice = re.fullmatch(r".*is not one of (.*?)\.?", why)
    given = [b for a, b in itertools.pairwise(arguments) if a == option]
    given += [a.partition("=")[2] for a in arguments if a.startswith(f"{option}=")]
    if not given or not (least or choice):
        return message
    from fltheory.errors import one_of

    if least:
        allowed = f"a whole number of at least {least[1] or least[2]}"
    else:
        assert choice is not None
        allowed = one_of(given[-1], re.findall(r"'([^']*)'", choice[1]))
    return f"{option} must be {allowed}; got {given[-1]!r}"
