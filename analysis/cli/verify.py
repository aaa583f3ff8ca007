"""`fltheory verify`: check claims and hold the verdicts against the recorded ones."""

from __future__ import annotations

import os
import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analysis.cli.shared import DIFFERS, DONE
from analysis.wording import counted

if TYPE_CHECKING:
    from analysis.checks import Depth as CheckDepth
    from analysis.verify import Result

commands = typer.Typer()

FEW_CLAIMS = 10
STALE_SHOWN = 5  # lines on claims that are not recorded as they are


class Depth(StrEnum):
    """How far the checks go."""

    quick = "quick"
    default = "default"
    deep = "deep"


@commands.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="ID|PAPER", help="Without any, all claims.")] = None,
    depth: Annotated[Depth, typer.Option(help="How far the checks go; deep may take hours.")] = Depth.default,
    record: Annotated[bool, typer.Option("--record", help="Record the verdicts in this source checkout.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the results to this file.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one a core by default.")] = None,
) -> None:
    """Check claims against their recorded verdicts.

    Exit code 1 if a check crashed, or the verdict of a claim or of one of its findings is not the recorded one.
    A deep run that was interrupted goes on where it was.
    """
    from analysis import verify as v
    from analysis.files import require_writable, write_text
    from fltheory.errors import processes
    from fltheory.verdicts import recorded

    recorded()  # a damaged file is told before the work, not after it
    claims = v.select(names or [])
    if workers is None:  # starting processes takes longer than a few checks
        workers = 1 if len(claims) < FEW_CLAIMS else os.cpu_count() or 1
    workers = processes("--workers", workers)
    if record:
        v.require_checkout(Path.cwd())
    if json_file is not None:
        require_writable(json_file)
    how_far: CheckDepth = depth.value
    if how_far == "deep":
        from analysis.resume import resumed
        from sims.data import cache_dir

        earlier, found = resumed(claims, how_far, workers, cache_dir() / "verify-deep.jsonl")
        if earlier:
            print(f"of an earlier run: {earlier} of {len(claims)} claims, which are not checked again", file=sys.stderr)
    else:
        found = v.run(claims, how_far, workers)
    results = _with_progress(found, len(claims))
    if json_file is not None:  # before anything is printed, which may fail
        write_text(json_file, v.to_json(results))
    _print_results(results)
    crashed = [r for r in results if r.crash]
    for result in crashed:
        print(f"\n{result.claim.id}: a check crashed\n{result.crash}", file=sys.stderr)
    if record:
        v.record(results, Path.cwd())
        print("recorded in fltheory/data/verdicts.json and docs/verdicts.md")
    different = v.differences(results)
    lines = different or v.stale(claims)
    shown = lines if different else lines[:STALE_SHOWN]
    rest = [f"and {len(lines) - len(shown)} more"] if len(lines) > len(shown) else []
    for line in (*shown, *rest):
        print(line, file=sys.stderr)
    if not names:
        _show_phone_activity()
    raise typer.Exit(DIFFERS if crashed or different else DONE)


def _with_progress(results: object, total: int) -> list[Result]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    done: list[Result] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("checking", total=total)
        for result in results:  # type: ignore[attr-defined]
            done.append(result)
            progress.update(task, advance=1, description=result.claim.id)
    return done


def _print_results(results: list[Result]) -> None:
    from rich.console import Console
    from rich.table import Table

    from analysis.evidence import ratio_text
    from fltheory.verdicts import because

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, how in (
        ("claim", "left"),
        ("verdict", "left"),
        ("largest ratio", "right"),
        ("seconds", "right"),
    ):
        table.add_column(heading, justify=how, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("finding", overflow="fold")
    for result in results:
        evidence = result.key_evidence
        ratio = ratio_text(evidence.largest) if evidence and evidence.largest is not None else ""
        finding = "a check crashed" if result.crash else because(result.to_json()) or result.claim.unchecked
        table.add_row(result.claim.id, result.verdict, ratio, f"{result.seconds:.2f}", finding)
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table, markup=False)
    counts = Counter(result.verdict for result in results)
    print(f"{counted(len(results), 'claim')}: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))


def _show_phone_activity() -> None:
    """The real log, apart from the verdicts and only when it was fetched."""
    from sims.data import is_fetched, path
    from sims.data import verify as verify_data

    if not is_fetched("phone-activity"):
        return
    if not verify_data("phone-activity"):
        print("phone-activity is damaged: run `fltheory data fetch phone-activity`", file=sys.stderr)
        return
    from analysis.traces import read_log
    from analysis.weights_report import weights_report

    log = read_log(path("phone-activity"), round_length="1h")
    print("\nA real log, no verdict: phone-activity (stationary phones stand for available clients)")
    print(weights_report(log, 50).summary_text())
