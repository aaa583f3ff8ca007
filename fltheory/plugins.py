"""Everything that can be added is found through entry points: built-in and foreign alike.

Groups: `fltheory.claims` (a `Paper`), `fltheory.checks` (an `analysis.checks.CheckBook`),
`fltheory.processes` (a process class), `fltheory.algorithms` (a `sims.algorithms.protocol.Algorithm`),
`fltheory.figures` and `fltheory.tables` (a mapping of name to `analysis.exhibits.Exhibit`).
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from fltheory.errors import InputError


def entries(group: str) -> dict[str, EntryPoint]:
    """Name -> entry point of one group, not yet loaded, by name; the first distribution on the path wins."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return dict(sorted(found.items()))


def load(entry: EntryPoint) -> Any:
    """The object behind an entry point; raises InputError that names the entry point if it cannot be loaded."""
    try:
        return entry.load()
    except Exception as error:
        raise InputError(f"entry point {entry.name!r} of {entry.group}", entry.value, f"loadable ({error})") from error
