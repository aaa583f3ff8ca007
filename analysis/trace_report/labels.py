"""Does who takes part go with what the clients hold? Rates of clients against a label of theirs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from analysis.trace_report.counts import fitted_rates
from analysis.trace_report.hypotheses import LEVEL, Finding
from analysis.traces import Log
from analysis.traces.columns import plain_ids
from analysis.traces.log import Floats, Ints
from fltheory.errors import InputError
from fltheory.streams import stream

PERMUTATIONS = 999
PERMUTED = 10**8  # labels dealt out in all, at most, unless that were fewer than 199 permutations


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rates by label: names of the labels, and clients, mean rate of each; `test` says whether they differ."""

    names: tuple[str, ...]
    clients: Ints
    rates: Floats
    test: Finding


def read_labels(path: str | Path, log: Log) -> tuple[str, ...]:
    """The label of each client of the log, from a CSV file with the columns `client` and `label`.

    Raises InputError for a file that cannot be read, a client named twice, or a client of the log without a label.
    """
    try:
        frame = pl.read_csv(path, infer_schema_length=0, glob=False).select("client", "label")
    except OSError:
        raise InputError("--labels", str(path), "a file that can be read") from None
    except PolarsError as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError("--labels", str(path), f"a CSV file with the columns client and label ({reason})") from None
    ids, labels = plain_ids(frame["client"].fill_null("")).to_list(), frame["label"].to_list()
    found = dict(zip(ids, labels, strict=True))
    if len(found) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise InputError("client in --labels", twice, "there once")
    without = next((name for name in log.clients if found.get(name) is None), None)
    if without is not None:
        raise InputError("--labels", str(path), f"a file with a label for every client of the log, such as {without}")
    return tuple(found[name] for name in log.clients)


def rates_by_label(log: Log, labels: tuple[str, ...], seed: int = 0, level: float = LEVEL) -> Labelled:
    """Rates against labels, one for each client of the log; clients that were never seen are left out.

    The statistic is the share of the variance of rates that the labels explain (the correlation ratio, eta^2); by
    chance it is as large as with the labels dealt out anew among the clients, 999 times (199 in a large log). Nothing
    is assumed of how the rounds of a client depend on each other.

    Raises InputError for another number of labels than clients.
    """
    if len(labels) != log.n_clients:
        raise InputError("labels", f"{len(labels)} labels", f"as many as clients, {log.n_clients}")
    rates = fitted_rates(log)
    seen = ~np.isnan(rates)
    names, group = np.unique(np.asarray(labels)[seen], return_inverse=True)
    rate, size = rates[seen], np.bincount(group, minlength=names.size)

    def explained(of: Ints) -> float:
        totals = np.bincount(of, weights=rate - rate.mean(), minlength=names.size)
        return float((totals**2 / size).sum() / variance)

    variance = float(((rate - rate.mean()) ** 2).sum()) if rate.size else 0.0
    permutations = min(PERMUTATIONS, max(199, PERMUTED // max(rate.size, 1)))
    value = p_value = math.nan
    if names.size > 1 and variance > 0:
        draw, value = stream(seed, "trace.labels"), explained(group)
        larger = sum(explained(draw.permutation(group)) >= value * (1 - 1e-9) for _ in range(permutations))
        p_value = (1 + larger) / (permutations + 1)
    test = Finding(
        "rates by label", "labels say nothing about rates", "share of the variance of rates explained (eta^2)",
        f"one test, by {permutations} permutations of the labels", value, p_value, level, int(rate.size),
    )  # fmt: skip
    return Labelled(tuple(map(str, names)), size, np.bincount(group, weights=rate, minlength=names.size) / size, test)
