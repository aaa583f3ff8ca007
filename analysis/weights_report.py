"""FedAU's weights after a real participation log, and how far from 1/rate they can be expected to be."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.traces import Log
from fltheory.errors import InputError
from fltheory.errors import cutoff as checked_cutoff
from fltheory.estimate import Estimate
from fltheory.participation import Bernoulli
from fltheory.weights import exact_weight_law, long_run_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Group

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEVEL = 0.95
METHOD = "Clopper-Pearson, rounds taken as independent"
MOST_LISTED = 50  # clients; a larger log is shown by the clients at these quantiles of the fitted rate
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
LONGEST_EXACT = 100_000  # rounds; the exact law costs their square
MOST_POINTS = 5000  # in a plot
BLACK, BLUE, ORANGE, GREEN = "#000000", "#0072B2", "#D55E00", "#009E73"  # Okabe and Ito, colour-blind safe


@dataclass(frozen=True, eq=False)
class WeightsReport:
    """Arrays (n_clients,) in the order of `log.clients`; NaN where there is nothing to say.

    Unobserved rounds are skipped: a client's clock, and with it FedAU's open interval, stands still in them.

    participations  rounds on
    observed        rounds observed; 0 for a client never seen, which has neither a rate nor a weight
    rate            participations / observed; `rate_low` and `rate_high` are its interval of level 0.95
    mean_gap        mean number of observed rounds from one participation to the next
    longest_gap     the longest of them
    intervals       completed intervals of FedAU, ended by a participation or by the cutoff
    weight          FedAU's weight for the round after the log
    exact_error     E[(p w_T - 1)^2] for a client that is on with the fitted rate p, independently in each of
                    T = observed rounds; for the clients `shown`, as far as T <= 100,000
    long_run_scale  the limit of p w_t for such a client (1: unbiased)
    gaps            (lengths, how many of each), over all clients
    shown           the clients to list, as indices: all, or in a large log those at quantiles of the rate
    """

    log: Log
    cutoff: int | float
    participations: Ints
    observed: Ints
    rate: Floats
    rate_low: Floats
    rate_high: Floats
    mean_gap: Floats
    longest_gap: Floats
    intervals: Ints
    weight: Floats
    exact_error: Floats
    long_run_scale: Floats
    gaps: tuple[Ints, Ints]
    shown: Ints

    def rate_estimate(self, client: int) -> Estimate:
        """The fitted rate of one client (an index) with its uncertainty."""
        rate, n = float(self.rate[client]), int(self.observed[client])
        error = math.sqrt(rate * (1 - rate) / n) if n else math.nan
        return Estimate(
            rate, error, float(self.rate_low[client]), float(self.rate_high[client]), LEVEL, n, METHOD
        )

    def summary(self) -> dict[str, int | float]:
        """Counts of the log; `unobserved_share` is over the rounds of the clients that were seen."""
        seen = int(np.count_nonzero(self.observed))
        return {
            "clients": self.log.n_clients,
            "rounds": self.log.n_rounds,
            "rows": self.log.n_rows,
            "unsorted": self.log.n_unsorted,
            "duplicates": self.log.n_duplicates,
            "contradictions": self.log.n_contradictions,
            "never_seen": self.log.n_clients - seen,
            "unobserved_share": 1 - int(self.observed.sum()) / (seen * self.log.n_rounds),
        }

    def to_json(self) -> dict[str, Any]:
        """All of it as lists and numbers; null stands for "nothing to say" and, as cutoff, for none."""
        columns = ["participations", "observed", "rate", "rate_low", "rate_high", "mean_gap", "longest_gap"]
        columns += ["intervals", "weight", "exact_error", "long_run_scale"]
        return {
            "summary": self.summary(),
            "cutoff": None if self.cutoff == math.inf else self.cutoff,
            "rate_level": LEVEL,
            "rate_method": METHOD,
            "clients": {
                "client": list(self.log.clients),
                "never_seen": self.log.never_seen().tolist(),
                **{name: [None if x != x else x for x in getattr(self, name).tolist()] for name in columns},
            },
            "gaps": {"length": self.gaps[0].tolist(), "count": self.gaps[1].tolist()},
        }


def weights_report(log: Log, cutoff: int | float) -> WeightsReport:
    """FedAU's weights (Algorithm 2 with this cutoff) after `log`, and what theory says of their error.

    The weight is (T - open interval) / completed intervals, counted from the events; it equals the last line
    of `fltheory.weights.fedau_weights` on the client's observed rounds. Raises InputError for a cutoff that is
    not a whole number of at least 1 or infinity.

    >>> from fltheory.weights import fedau_weights  # one client, on in rounds 1 and 3 of 6: weight 2 either way
    >>> log = Log(("a",), 6, np.array([0, 0]), np.array([1, 3]))
    >>> float(weights_report(log, 50).weight[0]), float(fedau_weights(log.history([0])[0], 50)[-1, 0])
    (2.0, 2.0)
    """
    cutoff = checked_cutoff("cutoff", cutoff)
    on, observed = log.participations(), log.observed_rounds()
    stretch, first, tail = _stretches(log, observed)
    step = int(min(cutoff, log.n_rounds + 1))  # a longer cutoff never cuts
    gap, owner = stretch[~first], log.client[~first]
    longest = np.zeros(log.n_clients)
    np.maximum.at(longest, owner, gap)
    total = np.bincount(owner, weights=gap, minlength=log.n_clients)
    intervals = np.bincount(log.client, weights=-(-stretch // step), minlength=log.n_clients) + tail // step
    weight = np.divide(observed - tail % step, intervals, out=np.ones(log.n_clients), where=intervals > 0)

    pairs, pair = np.unique(np.stack([on, observed]), axis=1, return_inverse=True)
    rate, low, high = _rates(*pairs)
    shown = _shown(log, rate[pair])
    error = np.full(pairs.shape[1], math.nan)
    for i in np.unique(pair[shown]):
        error[i] = _exact_error(rate[i], cutoff, int(pairs[1, i]))
    exact_error = np.full(log.n_clients, math.nan)
    exact_error[shown] = error[pair[shown]]
    return WeightsReport(
        log=log,
        cutoff=cutoff,
        participations=on,
        observed=observed,
        rate=rate[pair],
        rate_low=low[pair],
        rate_high=high[pair],
        mean_gap=np.where(on > 1, total / np.maximum(on - 1, 1), math.nan),
        longest_gap=np.where(on > 1, longest, math.nan),
        intervals=intervals.astype(np.int64),
        weight=np.where(observed > 0, weight, math.nan),
        exact_error=exact_error,
        long_run_scale=_scale(rate, cutoff)[pair],
        gaps=np.unique(gap, return_counts=True),
        shown=shown,
    )


def _stretches(log: Log, observed: Ints) -> tuple[Ints, npt.NDArray[np.bool_], Ints]:
    """Observed rounds up to each participation from the one before it, or (`first`) from the start; those after
    the last one, (n_clients,)."""
    clock = log.observed_clock()
    first = np.diff(log.client, prepend=-1) != 0
    before = np.where(first, -1, np.roll(clock, 1))
    last = np.full(log.n_clients, -1, dtype=np.int64)
    np.maximum.at(last, log.client, clock)
    return clock - before, first, observed - 1 - last


def _rates(on: Ints, observed: Ints) -> tuple[Floats, Floats, Floats]:
    """Fitted rates and their Clopper-Pearson intervals; NaN for a client never seen."""
    off = observed - on
    tail = (1 - LEVEL) / 2
    rate = np.divide(on, observed, out=np.full(on.shape, math.nan), where=observed > 0)
    low = np.where(on > 0, special.betaincinv(np.maximum(on, 1), off + 1, tail), 0.0)
    high = np.where(off > 0, special.betaincinv(on + 1, np.maximum(off, 1), 1 - tail), 1.0)
    return rate, np.where(observed > 0, low, math.nan), np.where(observed > 0, high, math.nan)


def _shown(log: Log, rate: Floats) -> Ints:
    if log.n_clients <= MOST_LISTED:
        return np.arange(log.n_clients)
    by_rate = np.argsort(rate, kind="stable")[: int(np.count_nonzero(~np.isnan(rate)))]
    return by_rate[np.round(np.array(QUANTILES) * (by_rate.size - 1)).astype(np.int64)]


def _exact_error(rate: float, cutoff: int | float, observed: int) -> float:
    if not rate > 0:
        return 1.0 if rate == 0 else math.nan  # (0 w - 1)^2
    if observed > LONGEST_EXACT:
        return math.nan
    return float(exact_weight_law(float(rate), cutoff, observed + 1).error[observed])


def _scale(rate: Floats, cutoff: int | float) -> Floats:
    scale, on = rate * 1.0, rate > 0  # 0 and NaN stay
    scale[on] = long_run_scale(Bernoulli(rate[on]), cutoff)
    return scale


def render(report: WeightsReport) -> Group:
    """The report as a rich table between a summary and notes."""
    from rich.console import Group
    from rich.table import Table

    s = report.summary()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("client", "rounds", "on", "rate", "95 % interval", "mean gap", "longest", "intervals", "weight"):
        table.add_column(name, justify="left" if name == "client" else "right")
    ...
