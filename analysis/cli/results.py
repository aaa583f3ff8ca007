"""`fltheory results`: list, show, export and compare the runs of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analysis.cli.shared import DIFFERS, DONE, JsonFlag, StoreOption

commands = typer.Typer(help="Results of experiments: list, show, export, compare.", no_args_is_help=True)

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Folder of a run, or the beginning of its key.")]


@commands.command("list")
def list_results(
    store: StoreOption = Path("results"),
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only runs with place=value, such as process.name=markov; may be given often."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the runs of a store."""
    from analysis.simulate_command import results_table

    print(results_table(store, where or [], as_json=as_json))


@commands.command("show")
def show_result(run: RunArgument, store: StoreOption = Path("results"), as_json: JsonFlag = False) -> None:
    """Show what each algorithm of a run came to."""
    from analysis.simulate_command import results_show

    print(results_show(run, store, as_json=as_json))


@commands.command("export")
def export_result(
    run: RunArgument,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Name that ends in .csv or .json.")],
    store: StoreOption = Path("results"),
) -> None:
    """Write a run to a .csv or .json file."""
    from analysis.simulate_command import results_export

    print(results_export(run, path, store))


@commands.command("diff")
def diff_results(a: RunArgument, b: RunArgument, store: StoreOption = Path("results")) -> None:
    """Compare two runs: the same bits, or what differs (exit code 1)."""
    from analysis.simulate_command import results_diff

    text, same = results_diff(a, b, store)
    print(text)
    raise typer.Exit(DONE if same else DIFFERS)
