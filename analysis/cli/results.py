"""`fltheory results`: list, show, export and compare the runs of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analysis.cli.shared import DIFFERS, DONE, JsonFlag, StoreOption

commands = typer.Typer(help="Results of experiments: list, show, export, compare.", no_args_is_help=True)


@commands.command("list")
def list_results(
    store: StoreOption = Path("results"),
    where: Annotated[list[str] | None, typer.Option(help="place=value, such as process.name=markov.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the runs of a store."""
    from analysis.simulate_command import results_table

    print(results_table(store, where or [], as_json=as_json))


@commands.command("show")
def show_result(run: str, store: StoreOption = Path("results"), as_json: JsonFlag = False) -> None:
    """Show one run, by its folder or the beginning of its key."""
    from analysis.simulate_command import results_show

    print(results_show(run, store, as_json=as_json))


@commands.command("export")
def export_result(run: str, path: Path, store: StoreOption = Path("results")) -> None:
    """Write a run to a .csv or .json file."""
    from analysis.simulate_command import results_export

    print(results_export(run, path, store))


@commands.command("diff")
def diff_results(a: str, b: str, store: StoreOption = Path("results")) -> None:
    """Compare two runs: the same bits, or what differs (exit code 1)."""
    from analysis.simulate_command import results_diff

    text, same = results_diff(a, b, store)
    print(text)
    raise typer.Exit(DONE if same else DIFFERS)
