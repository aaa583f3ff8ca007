"""`fltheory trace`: participation logs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer(help="Participation logs.", no_args_is_help=True)


@commands.command()
def simulate(
    out: Annotated[Path, typer.Option(help="The log: .csv, .parquet or .jsonl.")],
    clients: Annotated[int, typer.Option(min=1, help="Number of clients.")],
    experiment: Annotated[
        Path | None, typer.Argument(metavar="EXPERIMENT.toml", help="A file with a table [process].")
    ] = None,
    log: Annotated[Path | None, typer.Option("--from", metavar="LOG", help="A log to draw clients from.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Number of rounds, unless the file says it.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed; 0 unless the file says it.")] = None,
    round_length: Annotated[str | None, typer.Option(help="Length of a round of LOG, for timestamps: 1h, 15m.")] = None,
    day: Annotated[int | None, typer.Option(min=1, help="Rounds of a day, where LOG has rounds and no times.")] = None,
) -> None:
    """Write a log, of a process or with clients drawn from another log.

    Of an experiment file the table [process] is taken, and `rounds` and `seed` unless they are given here
    (docs/experiments.md). With --from each client is one of LOG, drawn at random and moved on by a random number of
    days, round the end of LOG. The log has a row for each run of rounds on or off, with columns client, start, end
    (no longer part of it), available.
    """
    from analysis.files import require_writable
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
            if out.exists() and log.exists() and out.samefile(log):
                raise InputError("--out", str(out), "another file than what is read")
            made = of_log(log, clients, rounds, seed or 0, round_length, day)
        write_log(made, out)
    except MemoryError:
        raise InputError("--clients", clients, "so few that the log fits in memory") from None
    print(f"log: {out} ({made.n_clients} clients, {made.n_rounds} rounds)", file=sys.stderr)
