"""`fltheory figures`: every figure by name, each with its plotted data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer()


@commands.command()
def figures(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Such as fedau.weight_error_over_time; without any, all.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figures and their data; made if need be.")] = Path(
        "figures"
    ),
) -> None:
    """Draw figures, each with its plotted data as CSV."""
    from analysis.files import make_folder
    from fltheory import plugins
    from fltheory.errors import InputError, one_of

    known = {
        f"{entry.name}.{name}": draw
        for entry in plugins.entries("fltheory.figures").values()
        for name, draw in plugins.load(entry).items()
    }
    for name in names or []:
        if name not in known:
            raise InputError("name of a figure", name, one_of(name, known))
    make_folder(out)
    for name in names or known:
        for path in known[name](out):
            print(path)
