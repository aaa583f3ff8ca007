"""What to say about a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def one_of(name: str, known: Iterable[str]) -> str:
    """What is allowed, with the nearest name if there is one.

    >>> one_of("markow", ["bernoulli", "markov"])
    'one of bernoulli, markov (did you mean markov?)'
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"one of {', '.join(names)}" + (f" (did you mean {near[0]}?)" if near else "")
