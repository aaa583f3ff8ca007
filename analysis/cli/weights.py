"""`fltheory weights`: a participation log, its rates, and FedAU's weights for it."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from analysis.cli.shared import JsonFlag, named_by
from analysis.json_text import json_text

commands = typer.Typer()


@commands.command()
def weights(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="CSV, Parquet or JSON: client and round, for instance.")],
    cutoff: Annotated[str, typer.Option(help="Cutoff K of the intervals, or inf.")],
    clients: Annotated[str | None, typer.Option(help="Number of clients, or a file with one client a line.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Number of rounds of the log.")] = None,
    round_length: Annotated[str | None, typer.Option(help="Length of a round, for timestamps: 1h, 15m, 1d.")] = None,
    out: Annotated[Path, typer.Option(help="Where the plot goes.")] = Path("weights.png"),
    as_json: JsonFlag = False,
) -> None:
    """Give rates and FedAU's weights for a participation log.

    The weights come with their exact error at the fitted rates.

    LOG has columns `client` and `round` or `timestamp`; or `client`, `start` and `end` (no longer part of the
    interval); or one for each client, with 1, 0 or nothing in each round; or it is FedScale's JSON. With a column
    `available` (1 or 0) each row is an observation, and rounds without a row are skipped. Without it each row is a
    participation, and all other rounds of the clients in the log count as off. Times are read with --round-length.
    Clients 3 and 3.0 are the same, in LOG and in a file of --clients.
    """
    from analysis.files import require_other, require_writable
    from analysis.traces import read_log
    from analysis.weights_report import plot, weights_report
    from fltheory.errors import InputError
    from fltheory.errors import cutoff as valid_cutoff

    if out.suffix not in (".png", ".svg", ".pdf"):
        raise InputError("--out", str(out), "a name that ends in .png, .svg or .pdf")
    require_writable(out)
    require_other("--out", out, [log, *named_by(clients)])
    limit = valid_cutoff("--cutoff", _number(cutoff))
    found = read_log(log, clients=clients, rounds=rounds, round_length=round_length)
    report = weights_report(found, limit)
    print(json_text(report.to_json(), ensure_ascii=False) if as_json else report.to_text())
    plot(report, out)
    print(f"plot: {out}", file=sys.stderr)


def _number(text: str) -> int | float | str:
    for kind in (int, float):  # a large whole number is no float
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
