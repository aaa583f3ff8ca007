"""Everything that can be added is found through entry points: built-in and foreign alike.

Groups: `fltheory.claims` (a `Paper`), `fltheory.checks` (an `analysis.checks.CheckBook`),
`fltheory.processes` (a process class), `fltheory.algorithms` (a `sims.algorithms.protocol.Algorithm`),
`fltheory.models` (a callable that makes a `torch.nn.Module`), `fltheory.figures` and `fltheory.tables` (a mapping of
name to `analysis.exhibits.Exhibit`).
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from fltheory.errors import InputError


def entries(group: str) -> dict[str, EntryPoint]:
    """Name -> entry point of one group, not yet loaded, by name.

    Of one distribution that is on the path twice the first wins; raises InputError where two of them use one name.
    """
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        first = found.setdefault(entry.name, entry)
        if _distribution(first) != _distribution(entry):
            both = f"the name of one package only, not of both {_distribution(first)} and {_distribution(entry)}"
            raise InputError(f"entry point of {group}", entry.name, both)
    return dict(sorted(found.items()))


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else ""


def load(entry: EntryPoint, kind: type = object) -> Any:
    """The object behind an entry point; raises InputError that names the entry point unless it is of that kind."""
    try:
        found = entry.load()
    except Exception as error:
        raise InputError(described(entry), entry.value, f"loadable ({error})") from error
    if not isinstance(found, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InputError(described(entry), found, f"{article} {kind.__name__} (it is {entry.value})")
    return found


def described(entry: EntryPoint) -> str:
    """An entry point as messages name it, with the package that has it."""
    package = f" in package {_distribution(entry)}" if entry.dist else ""
    return f"entry point {entry.name!r} of {entry.group}{package}"
