"""FedAU's weights after a participation log, and how far from 1/rate they can be expected to be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.traces import Log, Stretches, clopper_pearson, stretches
from analysis.traces.log import Floats, Ints
from fltheory.errors import cutoff as checked_cutoff
from fltheory.estimate import Estimate
from fltheory.participation import Bernoulli
from fltheory.weights import exact_weight_law, long_run_scale

LEVEL = 0.95
METHOD = "Clopper-Pearson, rounds taken as independent"
MOST_LISTED = 50  # clients; a larger log is shown by the clients at these quantiles of the fitted rate
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
LONGEST_EXACT = 20_000  # rounds, under a second of exact computation a client
PER_CLIENT = (
    "participations",
    "observed",
    "rate",
    "rate_low",
    "rate_high",
    "mean_gap",
    "longest_gap",
    "intervals",
    "weight",
    "exact_error",
    "long_run_scale",
)


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
                    T = observed rounds; for the clients `shown`, as far as T <= 20,000
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
        low, high = float(self.rate_low[client]), float(self.rate_high[client])
        return Estimate(rate, error, low, high, LEVEL, n, METHOD)

    def summary(self) -> dict[str, int | float | str | None]:
        """Counts of the log, and which columns said when.

        `unobserved_share` is that of the rounds of the clients that were seen; None where the log has no column
        `available` (and is no matrix or FedScale trace), so that nothing is known of what was observed and every
        other round counts as off.
        """
        seen = int(np.count_nonzero(self.observed))
        return {
            "clients": self.log.n_clients,
            "rounds": self.log.n_rounds,
            **self.log.reading(),
            "never_seen": self.log.n_clients - seen,
            "unobserved_share": self._unobserved(seen) if self.log.records_observation else None,
        }

    def _unobserved(self, seen: int) -> float:
        return 1 - int(self.observed.sum()) / (seen * self.log.n_rounds)

    def to_text(self) -> str:
        """The summary, a table of the clients `shown`, and what its columns mean."""
        from analysis.weights_report.render import to_text

        return to_text(self)

    def summary_text(self) -> str:
        """What was read and mended, and the range of rates and weights, in a few lines."""
        from analysis.weights_report.render import summary_text

        return summary_text(self)

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers and lists; null is "nothing to say" and, for the cutoff, "none"."""
        arrays = {name: getattr(self, name).tolist() for name in PER_CLIENT}
        return {
            "summary": self.summary(),
            "cutoff": None if self.cutoff == math.inf else self.cutoff,
            "rate_level": LEVEL,
            "rate_method": METHOD,
            "clients": {
                "client": list(self.log.clients),
                "never_seen": self.log.never_seen().tolist(),
                **{name: [None if math.isnan(x) else x for x in values] for name, values in arrays.items()},
            },
            "gaps": {"length": self.gaps[0].tolist(), "count": self.gaps[1].tolist()},
        }


def weights_report(log: Log, cutoff: int | float) -> WeightsReport:
    """FedAU's weights (Algorithm 2 with this cutoff) after `log`, and what theory says of their error.

    The weight is (T - open interval) / completed intervals, counted from events, so that a million clients
    take seconds; it is what `fltheory.weights.FedAUWeights` holds after a client's observed rounds. Raises
    InputError for a cutoff that is not a whole number from 1 to 2**53 or infinity.

    >>> log = Log(("a",), 6, np.array([0, 0]), np.array([1, 3]))  # on in rounds 1 and 3 of 6
    >>> float(weights_report(log, cutoff=50).weight[0])
    2.0
    """
    cutoff = checked_cutoff("cutoff", cutoff)
    n, on, observed = log.n_clients, log.participations(), log.observed_rounds()
    cut = stretches(log)
    completed, weight = weights_after(log, cut, cutoff)

    gap, owner = cut.length[~cut.initial], log.client[~cut.initial]
    total = np.bincount(owner, weights=gap, minlength=n)
    longest = np.full(n, math.nan)
    np.fmax.at(longest, owner, gap)

    alike, kind = kinds(on, observed)  # clients with the same counts share everything that follows
    trials = observed[alike]
    rate = np.divide(on[alike], trials, out=np.full(alike.size, math.nan), where=trials > 0)
    low, high = clopper_pearson(on[alike], trials, LEVEL)
    shown = _shown(rate[kind])
    error = np.full(alike.size, math.nan)
    for i in np.unique(kind[shown]):
        error[i] = _exact_error(rate[i], cutoff, int(trials[i]))
    exact_error = np.full(n, math.nan)
    exact_error[shown] = error[kind[shown]]
    return WeightsReport(
        log=log,
        cutoff=cutoff,
        participations=on,
        observed=observed,
        rate=rate[kind],
        rate_low=low[kind],
        rate_high=high[kind],
        mean_gap=np.divide(total, on - 1, out=np.full(n, math.nan), where=on > 1),
        longest_gap=longest,
        intervals=completed,
        weight=weight,
        exact_error=exact_error,
        long_run_scale=_scale(rate, cutoff)[kind],
        gaps=np.unique(gap, return_counts=True),
        shown=shown,
    )


def weights_after(log: Log, cut: Stretches, cutoff: int | float) -> tuple[Ints, Floats]:
    """Completed intervals and FedAU's weight of each client, (n_clients,); the weight is NaN for one never seen.

    cut   the stretches of the log
    """
    n, observed = log.n_clients, log.observed_rounds()
    step = int(min(cutoff, log.n_rounds + 1))  # a longer cutoff never cuts
    completed = np.bincount(log.client, weights=-(-cut.length // step), minlength=n) + cut.since // step
    weight = np.divide(observed - cut.since % step, completed, out=np.ones(n), where=completed > 0)
    return completed.astype(np.int64), np.where(observed > 0, weight, math.nan)


def kinds(on: Ints, observed: Ints) -> tuple[Ints, Ints]:
    """One client of each kind (the same two counts), and the kind of each client."""
    values, place = np.unique(observed, return_inverse=True)
    _, first, kind = np.unique(on * values.size + place, return_index=True, return_inverse=True)
    return first, kind


def _shown(rate: Floats) -> Ints:
    if rate.size <= MOST_LISTED:
        return np.arange(rate.size)
    by_rate = np.argsort(rate, kind="stable")[: np.count_nonzero(~np.isnan(rate))]
    return by_rate[np.round(np.array(QUANTILES) * (by_rate.size - 1)).astype(np.int64)]


def _exact_error(rate: float, cutoff: int | float, observed: int) -> float:
    if not rate > 0:
        return 1.0 if rate == 0 else math.nan  # (0 w - 1)^2; never seen
    if observed > LONGEST_EXACT:
        return math.nan
    return float(exact_weight_law(float(rate), cutoff, observed + 1).error[observed])


def _scale(rate: Floats, cutoff: int | float) -> Floats:
    scale, on = rate.copy(), rate > 0  # 0 stays 0, never seen stays NaN
    if on.any():
        scale[on] = long_run_scale(Bernoulli(rate[on]), cutoff)
    return scale
