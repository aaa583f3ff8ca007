"""`fltheory list`, `show`, `graph`: what is claimed, and with which recorded verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from analysis.cli.shared import JsonFlag
from analysis.json_text import json_text

commands = typer.Typer()


@commands.command("list")
def list_claims(
    paper: Annotated[str | None, typer.Option(help="Only claims of this paper.")] = None,
    verdict: Annotated[str | None, typer.Option(help="Only claims with this recorded verdict.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the claims with their recorded verdicts, and say where the checks have changed since."""
    from fltheory.errors import InputError, one_of
    from fltheory.ledger import ledger
    from fltheory.verdicts import VERDICTS, checks_changed, needs, reading, recorded

    known = recorded()
    entries = {id_: known.get(id_) or {"title": c.title, "verdict": "not recorded"} for id_, c in ledger.items()}
    for option, value, allowed in (("--paper", paper, ledger.papers), ("--verdict", verdict, VERDICTS)):
        if value is not None and value not in allowed:
            raise InputError(option, value, one_of(value, allowed))
    chosen = {
        id_: entry
        for id_, entry in entries.items()
        if paper in (None, id_.partition(".")[0]) and verdict in (None, entry["verdict"])
    }
    if as_json:
        listed = {id_: entry | {"checks_changed": checks_changed(entry)} for id_, entry in chosen.items()}
        print(json_text(listed, ensure_ascii=False))
        return
    width = max((len(id_) for id_ in chosen), default=0)
    for id_, entry in chosen.items():
        named = {"needs": needs(entry), "read with": reading(entry)}
        told = "".join(f" ({label}: {text})" for label, text in named.items() if text)
        told += " (STALE: its checks have changed)" if checks_changed(entry) else ""
        print(f"{id_:<{width}}  {entry['verdict']:<12}  {entry['title']}{told}")
    print(f"{len(chosen)} of {len(entries)} claims; `fltheory show ID` tells the rest.", file=sys.stderr)


@commands.command()
def show(
    claim_id: Annotated[str, typer.Argument(metavar="ID", help="Id of a claim, such as fast.thm1.")],
    latex: Annotated[bool, typer.Option("--latex", help="Print the formulas in LaTeX.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show one claim: statement, evidence, and how to rerun it.

    Says so if the claim, or a source file of its checks, has changed since its verdict was recorded.
    """
    from analysis.show import claim_as_json, claim_as_text
    from fltheory.errors import InputError
    from fltheory.ledger import ledger

    if latex and as_json:
        raise InputError("--latex", True, "left out where --json is given (its key `latex` has the formulas)")
    claim = ledger[claim_id]
    print(json_text(claim_as_json(claim), ensure_ascii=False) if as_json else claim_as_text(claim, latex))


@commands.command()
def graph(
    paper: Annotated[str | None, typer.Argument(metavar="PAPER", help="Such as fast; without it all papers.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where the picture goes (.svg, .png, .pdf); PAPER.svg or claims.svg by default.")
    ] = None,
) -> None:
    """Draw which claims rest on which, coloured by recorded verdict."""
    from analysis.graph import draw

    print(draw(paper, out))
