"""What the modules of the command line share: exit codes and options."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

DONE, DIFFERS, BAD_INPUT, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 130, 141
UNWRITABLE = 1  # standard output
NOTHING_DRAWN = PARTLY_MADE = 1

# Newer versions of typer carry click inside: ask typer for the base of its usage errors.
UsageError: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _folder(option: str) -> Callable[[str | Path], Path]:
    """A folder that was named; "" is none, as of a variable that is not set, where a path would be the current one."""

    def parse(text: str | Path) -> Path:
        if not str(text).strip():
            raise UsageError(f"{option} must be a folder; got {str(text)!r}")
        if os.path.lexists(text) and not Path(text).is_dir():
            raise UsageError(f"{option} must be a folder, which this is not; got {str(text)!r}")
        return Path(text)

    return parse


def named_by(clients: str | None) -> list[Path]:
    """The file that --clients names, if it names one."""
    from fltheory.errors import InputError

    if clients is not None and not clients.strip():
        raise InputError("--clients", clients, "a number or a file")
    return [] if clients is None or clients.isdecimal() else [Path(clients)]


JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]
StoreOption = Annotated[Path, typer.Option(parser=_folder("--store"), metavar="<path>", help="Folder of the results.")]
FiguresOption = Annotated[
    Path,
    typer.Option(
        parser=_folder("--out"), metavar="<path>", help="Folder for the figures and their data; made if need be."
    ),
]
