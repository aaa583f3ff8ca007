"""`fltheory falsify`, `replay`, `worst-case`: what speaks against a claim, and how far it is from tight."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analysis.cli.shared import DIFFERS, DONE, JsonFlag

commands = typer.Typer()


@commands.command()
def falsify(
    claim_id: Annotated[str, typer.Argument(metavar="ID", help="Id of a claim, such as fast.thm1.")],
    budget: Annotated[str, typer.Option(help="How long to search: 60s, 10m; a late find may take 1/5 longer.")] = "60s",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Where a witness goes; ID.witness.json by default.")] = None,
) -> None:
    """Search for a counterexample to a claim.

    Exit code 1 if there is one; it is saved as a file for `fltheory replay`.
    """
    from analysis.falsify_command import falsify_claim

    text, found = falsify_claim(claim_id, budget=budget, seed=seed, out=out)
    print(text)
    raise typer.Exit(DIFFERS if found else DONE)


@commands.command()
def replay(
    witness: Annotated[Path, typer.Argument(metavar="WITNESS.json", help="File of `fltheory falsify`.")],
) -> None:
    """Verify a counterexample again in exact arithmetic.

    Exit code 1 if it is none (any more), or if the file gives other numbers or conditions than are computed. Words, a
    hash of the statement or what the file needs that differ are named in notes, and leave the exit code at 0: the
    point is verified, not the text about it; so are entries that `constants`, `conditions` or `facts` lack. A file that
    lacks another field, or has one of another name, is refused.
    """
    from analysis.falsify_command import replay_file

    text, good = replay_file(witness)
    print(text)
    raise typer.Exit(DONE if good else DIFFERS)


@commands.command("worst-case")
def worst_case(
    names: Annotated[list[str] | None, typer.Argument(metavar="ID|PAPER", help="Without any, all such lemmas.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compute how far one-step lemmas are from tight.

    By semidefinite programs; needs the extra `pep`. Exit code 1 if a lemma is violated.
    """
    from analysis.worst_case_command import worst_cases

    text, violated = worst_cases(names or [], as_json=as_json)
    print(text)
    raise typer.Exit(DIFFERS if violated else DONE)
