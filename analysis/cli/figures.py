"""`fltheory figures` and `fltheory tables`: the papers' own, redrawn from the exact laws and from runs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from analysis.cli.experiments import Scale
from analysis.cli.shared import DONE, NOTHING_DRAWN, PARTLY_MADE, FiguresOption, StoreOption

commands = typer.Typer()

Names = Annotated[
    list[str] | None, typer.Argument(metavar="NAME|PAPER", help="Such as fedau.fig1, or fedau; without any, all.")
]
ScaleOption = Annotated[Scale, typer.Option(help="Scale of the runs that are shown.")]
RunOption = Annotated[bool, typer.Option("--run", help="Run what the store lacks; without it, hear how long it takes.")]
ListOption = Annotated[bool, typer.Option("--list", help="List the names and what each is of, and do no more.")]


@commands.command()
def figures(
    context: typer.Context,
    names: Names = None,
    scale: ScaleOption = Scale.laptop,
    format: Annotated[str, typer.Option(help="png, svg, pdf, or several of them: svg,png.")] = "png",
    out: FiguresOption = Path("figures"),
    store: StoreOption = Path("results"),
    run: RunOption = False,
    only_list: ListOption = False,
) -> None:
    """Draw the papers' figures and some of our own, each with its data beside it as CSV; all without names.

    Exit code 1 if nothing could be drawn, for want of runs, or if some figures lack a run that is damaged, or that
    --run cannot make.
    """
    from analysis import exhibit_command

    if only_list:
        print(exhibit_command.listed("figures", names or []))
        raise typer.Exit(DONE)
    setting = exhibit_command.Setting(scale.value, store, run, tell, _typed(context))
    drawn = 0
    for path in exhibit_command.figures(names or [], format, out, setting):
        print(path)
        drawn += 1
    raise typer.Exit(told_of(setting.broken) or (DONE if drawn else NOTHING_DRAWN))


@commands.command()
def tables(
    context: typer.Context,
    names: Names = None,
    scale: ScaleOption = Scale.laptop,
    format: Annotated[str, typer.Option(help="text, markdown or csv.")] = "text",
    store: StoreOption = Path("results"),
    run: RunOption = False,
    only_list: ListOption = False,
) -> None:
    """Print the papers' tables, published and measured side by side; all without names.

    Exit code 1 if some of them lack a run that is damaged, or that --run cannot make.
    """
    from analysis import exhibit_command

    if only_list:
        print(exhibit_command.listed("tables", names or []))
        raise typer.Exit(DONE)
    setting = exhibit_command.Setting(scale.value, store, run, tell, _typed(context))
    for table in exhibit_command.tables(names or [], format, setting):
        print(table, end="\n" if table.endswith("\n") else "\n\n")
    raise typer.Exit(told_of(setting.broken))


def told_of(broken: list[str]) -> int:
    """Say what could not be made, or not with all its runs; the exit code that this is."""
    for sentence in broken:
        tell(sentence)
    return PARTLY_MADE if broken else DONE


def _typed(context: typer.Context) -> str:
    """The options on files that were typed: where runs, figures and data are, or in which form."""
    given = [name for name in ("format", "out", "store") if _was_typed(context, name)]
    return "".join(f" --{name} {shlex.quote(str(context.params[name]))}" for name in given)


def _was_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def tell(sentence: str) -> None:
    print(sentence, file=sys.stderr)
