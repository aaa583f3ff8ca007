"""`fltheory report`: what is claimed, with which evidence, as pages to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analysis.cli.experiments import Scale
from analysis.cli.figures import ScaleOption, tell, told_of
from analysis.cli.shared import StoreOption

commands = typer.Typer()


@commands.command()
def report(
    out: Annotated[Path, typer.Option(help="Folder of the report: new, or only a report.")] = Path("report"),
    scale: ScaleOption = Scale.laptop,
    store: StoreOption = Path("results"),
    figures: Annotated[
        Path | None, typer.Option(help="Folder that `fltheory figures --format svg` wrote; its pictures are copied.")
    ] = None,
) -> None:
    """Write the report as a static site: claims with their evidence, papers, algorithms, figures and tables.

    It needs no network and no server: open its index.html. Needs the extra `docs`. No check is run again, and no figure
    is drawn: `fltheory figures --format svg --out PICTURES`, then `fltheory report --figures PICTURES` shows them.
    Exit code 1 if some tables lack a run that is damaged, or a picture is broken; the report is there, and names it.
    """
    from analysis.report import write

    broken: list[str] = []
    print(write(out, scale.value, store, figures, broken, tell))
    raise typer.Exit(told_of(broken))
