"""`fltheory figures` and `fltheory tables`: the papers' own, redrawn from the exact laws and from runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from analysis.cli.experiments import Scale
from analysis.cli.shared import DONE, NOTHING_DRAWN, StoreOption

commands = typer.Typer()

Names = Annotated[
    list[str] | None, typer.Argument(metavar="NAME|PAPER", help="Such as fedau.fig1, or fedau; without any, all.")
]
ScaleOption = Annotated[Scale, typer.Option(help="Scale of the runs that are shown.")]
RunOption = Annotated[bool, typer.Option("--run", help="Run what the store lacks; without it, hear how long it takes.")]


@commands.command()
def figures(
    names: Names = None,
    scale: ScaleOption = Scale.laptop,
    format: Annotated[str, typer.Option(help="png, svg, pdf, or several of them: svg,png.")] = "png",
    out: Annotated[Path, typer.Option(help="Folder for the figures and their data; made if need be.")] = Path(
        "figures"
    ),
    store: StoreOption = Path("results"),
    run: RunOption = False,
) -> None:
    """Draw the papers' figures and some of our own, each with its data beside it as CSV; all without names.

    Exit code 1 if nothing could be drawn, for want of runs.
    """
    from analysis import exhibit_command

    setting = exhibit_command.Setting(scale.value, store, run, _tell)
    drawn = 0
    for path in exhibit_command.figures(names or [], format, out, setting):
        print(path)
        drawn += 1
    raise typer.Exit(DONE if drawn else NOTHING_DRAWN)


@commands.command()
def tables(
    names: Names = None,
    scale: ScaleOption = Scale.laptop,
    format: Annotated[str, typer.Option(help="text, markdown or csv.")] = "text",
    store: StoreOption = Path("results"),
    run: RunOption = False,
) -> None:
    """Print the papers' tables, published and measured side by side; all without names."""
    from analysis import exhibit_command

    setting = exhibit_command.Setting(scale.value, store, run, _tell)
    for table in exhibit_command.tables(names or [], format, setting):
        print(table, end="\n" if table.endswith("\n") else "\n\n")


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr)
