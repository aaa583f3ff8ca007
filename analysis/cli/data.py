"""`fltheory data`: what there is, fetching it, and holding it against its hash."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from analysis.cli.shared import DIFFERS, JsonFlag
from analysis.json_text import json_text

commands = typer.Typer(help="Data sets that are loaded, never shipped.", no_args_is_help=True)


@commands.command("list")
def list_data(as_json: JsonFlag = False) -> None:
    """List the data sets: where each comes from, and whether it is in the cache."""
    from sims.data import cache_dir, describe

    found = describe()
    if as_json:
        print(json_text(found, ensure_ascii=False))
        return
    for entry in found:
        print(f"{entry['name']:<15} {entry['state']:<11} {entry['source']}\n    {entry['about']} {entry['licence']}")
    print(f"The cache is {cache_dir()}. digits come with scikit-learn; docs/data.md tells the rest.", file=sys.stderr)


@commands.command()
def fetch(
    name: Annotated[str, typer.Argument(help="Name of the data set, e.g. phone-activity.")],
    file: Annotated[
        list[Path] | None, typer.Option(help="IDX, .npz, CSV or LEAF JSON of yours; may be given several times.")
    ] = None,
    artefact: Annotated[Path | None, typer.Option(help="The published package, if it is there already.")] = None,
    hold_out: Annotated[int | None, typer.Option(min=2, help="Every n-th sample tests, where no file does.")] = None,
    shape: Annotated[str | None, typer.Option(help="Of an image, where files hold flat rows: 28,28,1.")] = None,
    columns: Annotated[str | None, typer.Option(help="Names of a CSV file's columns: label,text.")] = None,
    licence: Annotated[str | None, typer.Option(help="Terms of the files, kept beside them.")] = None,
) -> None:
    """Fetch a data set, check its SHA-256, convert it once and keep it in the cache; or take files for it."""
    from fltheory.errors import InputError
    from sims.data import add
    from sims.data import fetch as fetch_data

    given = {"hold_out": hold_out, "shape": shape, "columns": columns, "licence": licence}
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if not file:
        if options:
            raise InputError("--file", None, f"given with {', '.join('--' + key.replace('_', '-') for key in options)}")
        print(fetch_data(name, artefact=artefact))
        return
    if artefact is not None:
        raise InputError("--artefact", str(artefact), "left out where --file is given")
    if shape is not None:
        if not all(part.isdecimal() for part in shape.split(",")):
            raise InputError("--shape", shape, "height,width,channels, such as 28,28,1")
        options["shape"] = tuple(int(part) for part in shape.split(","))
    if columns is not None:
        options["columns"] = columns.split(",")
    print(add(name, file, **options))


@commands.command("verify")
def verify_data_set(name: Annotated[str, typer.Argument(help="Name of the data set.")]) -> None:
    """Hold a data set in the cache against its SHA-256; exit code 1 if it is damaged."""
    from sims.data import how_to_fetch, manifest
    from sims.data import verify as verify_data

    if not verify_data(name):
        print(f"{name} is damaged: run `{how_to_fetch(name)}`")
        raise typer.Exit(DIFFERS)
    found = manifest(name)
    print(f"{name} is what was fetched: {found['source']}, SHA-256 {found['sha256']}")
