"""`fltheory plan`: step sizes, rounds and costs that the theorems promise for given constants."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analysis.cli.shared import JsonFlag
from analysis.json_text import json_text

commands = typer.Typer()


@commands.command()
def plan(
    file: Annotated[Path, typer.Argument(metavar="PLAN.toml", help="Target, constants, choices, rates.")],
    as_json: JsonFlag = False,
) -> None:
    """Give rounds, step sizes and costs to a target.

    For each algorithm of the five papers: the rounds after which its theorem promises the target, the step size for
    it, what binds, the share of each term of the bound, client-rounds and vectors sent. Refuted statements are not
    used; their repaired twins are. docs/planning.md describes PLAN.toml.
    """
    from analysis.plan_command import as_text, read_plan, to_json
    from fltheory.planning import plan as outcomes

    task, statements = read_plan(file)
    found = outcomes(task, statements)
    print(json_text(to_json(task, found)) if as_json else as_text(task, found))
