"""The report on a log's weights as text."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.traces.log import Floats
from analysis.weights_report.report import LEVEL, LONGEST_EXACT, QUANTILES, WeightsReport

WIDTH = 80
COLUMNS = (
    "client",
    "seen",
    "on",
    "rate",
    f"{100 * LEVEL:g} %\ninterval",
    "mean\ngap",
    "longest\ngap",
    "inter-\nvals",
    "weight",
    "exact\nerror",
    "limit\nof p w",
)


def to_text(report: WeightsReport) -> str:
    """Summary, one row a client (in a large log those at quantiles of the rate), and notes."""
    notes = (textwrap.fill(note, WIDTH, subsequent_indent="  ") for note in _notes(report))
    return "\n".join([summary_text(report), "", _table(report), "", *notes])


def summary_text(report: WeightsReport) -> str:
    """What was read and mended, and the range of rates and weights."""
    s = report.summary()
    lines = [
        f"clients: {s['clients']}; rounds: {s['rounds']}; rows: {s['rows']}",
        f"rows out of order: {s['unsorted']} (sorted); duplicate rows: {s['duplicates']} (merged)",
        f"rounds given as both available and not: {s['contradictions']} (taken as available)",
        f"clients never seen: {s['never_seen']} (no rate, no weight)",
        *_unobserved(s["unobserved_share"]),
        f"rate: {_range(report.rate)}",
        f"weight: {_range(report.weight)}",
        f"rate x weight: {_range(report.rate * report.weight)}",
    ]
    if report.log.ignored:
        how = "; --round-length makes rounds of the timestamps" if report.log.when == "round" else ""
        lines.insert(1, f"time: column {report.log.when} (column {report.log.ignored} is not used{how})")
    return "\n".join(lines)


def _unobserved(share: Any) -> list[str]:
    if share is not None:
        return [f"unobserved: {share:.1%} of the rounds of clients seen (skipped, not taken as off)"]
    return [
        "unobserved: not recorded (no column `available`): each row is a participation,",
        "  and all other rounds of the clients seen count as off",
    ]


def _range(values: Floats) -> str:
    low, middle, high = np.nanquantile(values, (0, 0.5, 1))
    return f"{low:.3g} to {high:.3g} (median {middle:.3g})"


def _table(report: WeightsReport) -> str:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == "client" else "right", max_width=40, overflow="fold")
    for client in report.shown:
        table.add_row(*map(Text, _row(report, int(client))))  # Text: a name is never read as markup
    console = Console(file=io.StringIO(), width=500)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _row(report: WeightsReport, i: int) -> list[str]:
    name = report.log.clients[i]
    cells = [name if name.isprintable() else ascii(name), str(report.observed[i])]
    if report.observed[i] == 0:
        return [*cells, "-", "-", "never seen", *["-"] * 6]
    cells += [str(report.participations[i]), f"{report.rate[i]:.3g}"]
    cells += [f"{report.rate_low[i]:.3g}-{report.rate_high[i]:.3g}"]
    cells += [_number(report.mean_gap[i]), _number(report.longest_gap[i]), str(report.intervals[i])]
    return cells + [_number(x) for x in (report.weight[i], report.exact_error[i], report.long_run_scale[i])]


def _number(x: float) -> str:
    return "-" if math.isnan(x) else f"{x:.4g}"


def _notes(report: WeightsReport) -> Iterator[str]:
    cutoff = "no cutoff" if report.cutoff == math.inf else f"cutoff {report.cutoff}"
    yield (
        "seen, on: rounds in which the client was observed, and took part. Gaps (from one participation to "
        "the next) and intervals count observed rounds only."
    )
    yield (
        f"{100 * LEVEL:g} % interval: of the rate, if rounds are independent; it covers the rate less often where a "
        "client tends to stay as it is."
    )
    yield f"weight: FedAU's, {cutoff}, for the round after the log; an estimate of 1/rate."
    yield (
        "exact error: E[(p w - 1)^2] for a client that takes part with the fitted rate p, independently in "
        "each round. limit: of the mean of p w for such a client; 1 is unbiased. Rounds of real clients are "
        "seldom independent."
    )
    if report.shown.size < report.log.n_clients:
        shares = ", ".join(f"{q:g}" for q in QUANTILES)
        yield f"Listed, and given an exact error, are the clients at the quantiles {shares} of the rate."
    if np.any(report.observed[report.shown] > LONGEST_EXACT):
        yield (
            f"No exact error (-) is computed beyond {LONGEST_EXACT} observed rounds, where it takes seconds or more a "
            "client."
        )
