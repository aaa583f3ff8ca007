"""`fltheory figures`: every figure by name, each with its plotted data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer()


@commands.command()
def figures(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figures and their data.")] = Path("figures"),
) -> None:
    """Draw figures: one PNG and one CSV with the plotted data each. Without names, all of them."""
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
    for name in names or known:
        for path in known[name](out):
            print(path)
