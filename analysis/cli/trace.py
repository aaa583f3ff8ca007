"""`fltheory trace`: which guarantees apply to the clients of a log, and logs that are made."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from analysis.cli.shared import JsonFlag, named_by
from analysis.json_text import json_text

DEFAULT = "report"


class _Default(TyperGroup):
    """`trace LOG` is `trace report LOG`: what is no name of a command, nor --help, begins the default one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


HELP = "Which guarantees apply to the clients of a log: `fltheory trace LOG`; logs of any process: `trace simulate`."
commands = typer.Typer(cls=_Default, no_args_is_help=True, help=HELP)


@commands.command(DEFAULT)
def report(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A participation log, as for `fltheory weights`.")],
    clients: Annotated[str | None, typer.Option(help="Number of clients, or a file with one client a line.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Number of rounds of the log.")] = None,
    round_length: Annotated[str | None, typer.Option(help="Length of a round, for timestamps: 1h, 15m, 1d.")] = None,
    labels: Annotated[Path | None, typer.Option(help="CSV with columns client, label.")] = None,
    plan: Annotated[Path | None, typer.Option(help="PLAN.toml: rounds to its target at the rates of the log.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with pictures too.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Hold a log against the assumptions of the theorems; `fltheory trace LOG` for short.

    Rates, gaps, the longest absence, memory, tests, fits; then which assumptions hold, fail, or cannot be told; and
    what follows: cutoff, weights, interval of amplification, ages of updates, room for snapshots.
    """
    from analysis import plan_command
    from analysis.files import require_other, require_writable, write_text
    from analysis.trace_report import planned, read_labels, to_json, to_page, to_text, trace_report
    from analysis.traces import read_log
    from fltheory.errors import printable

    read = [log, *named_by(clients), *(path for path in (labels, plan) if path is not None)]
    if html is not None:
        require_writable(html)
        require_other("--html", html, read)
    found = read_log(log, clients=clients, rounds=rounds, round_length=round_length)
    names = None if labels is None else read_labels(labels, found)
    seen = trace_report(found, day=_day(round_length), labels=names)
    promised = None if plan is None else planned(seen, plan)
    told = "" if promised is None or (as_json and html is None) else plan_command.as_text(*promised)
    if html is not None:
        write_text(html, to_page(seen, log.name, told))
        print(f"page: {html}", file=sys.stderr)
    if as_json:
        shown = to_json(seen) | {"plan": None if promised is None else plan_command.to_json(*promised)}
        print(json_text(shown, ensure_ascii=False))
        return
    print(printable(to_text(seen)))
    if told:
        print(f"\nPlan, at the rates of the log\n\n{told}")


def _day(round_length: str | None) -> int | None:
    """Rounds of a day, where it has a whole number of at least two."""
    from analysis.traces.columns import rounds_of_a_day

    rounds = None if round_length is None else rounds_of_a_day("--round-length", round_length)
    return rounds if rounds and rounds >= 2 else None


@commands.command()
def simulate(
    out: Annotated[Path, typer.Option(help="The log: .csv, .parquet or .jsonl.")],
    clients: Annotated[int, typer.Option(min=1, help="Number of clients.")],
    experiment: Annotated[
        Path | None, typer.Argument(metavar="EXPERIMENT.toml", help="A file with a table [process].")
    ] = None,
    log: Annotated[Path | None, typer.Option("--from", metavar="LOG", help="A log to draw clients from.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds, if the file does not say it; of LOG.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed; 0 unless the file says it.")] = None,
    round_length: Annotated[str | None, typer.Option(help="Length of a round of LOG, for timestamps: 1h, 15m.")] = None,
    day: Annotated[int | None, typer.Option(min=1, help="Rounds of a day, where LOG has rounds and no times.")] = None,
) -> None:
    """Write a log, of a process or with clients drawn from another log.

    Of an experiment file the table [process] is taken, and `rounds` and `seed` unless they are given here
    (docs/experiments.md). With --from each client is one of LOG, drawn at random and moved on by a random number of
    days, round the end of LOG, of which a last part of a day is left out. The log has a row for each run of rounds on
    or off, with columns client, start, end (no longer part of it), available.
    """
    from analysis.files import require_other, require_writable
    from analysis.traces import write_log
    from analysis.traces.made import of_file, of_log
    from analysis.traces.write import require_suffix
    from fltheory.errors import InputError

    require_suffix(out)
    require_writable(out)
    if (experiment is None) == (log is None):
        given = [str(path) for path in (experiment, log) if path is not None]
        raise InputError("EXPERIMENT.toml and --from", given, "one of the two")
    try:
        if experiment is not None:
            if unused := [option for option, value in (("--round-length", round_length), ("--day", day)) if value]:
                raise InputError("--from", None, f"given with {' and '.join(unused)}")
            made = of_file(experiment, clients, rounds, seed)
        else:
            assert log is not None
            require_other("--out", out, [log])
            made = of_log(log, clients, rounds, seed or 0, round_length, day)
        write_log(made, out)
    except MemoryError:
        raise InputError("--clients", clients, "so few that the log fits in memory") from None
    print(f"log: {out} ({made.n_clients} clients, {made.n_rounds} rounds)", file=sys.stderr)
