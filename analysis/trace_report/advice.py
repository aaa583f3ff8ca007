"""What follows from a log: cutoff and weights, an interval for amplification, ages of updates, room for snapshots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.trace_report.counts import fitted_rates, participants, participants_at_most
from analysis.trace_report.divergence import Divergence, divergences
from analysis.trace_report.fits import Fit
from analysis.trace_report.gaps import Absences
from analysis.traces import Log
from fltheory.ledger import ledger
from fltheory.participation import Markov
from fltheory.planning.statements import value
from fltheory.weights import best_cutoff, exact_weight_law

MOST_ROUNDS = 2000  # the cutoff is sought for logs of at most so many rounds: some seconds
CUTOFFS = 24


@dataclass(frozen=True)
class Cutoff:
    """The cutoff with the least mean error E[(p w_t - 1)^2] over so many rounds, exact, for a client of this rate.

    independent, error   if its rounds are independent
    chain, chain_error   if it is the chain of `Markov.from_stability` that was fitted; None where independent rounds
                         are in the interval of that fit
    """

    rate: float
    rounds: int
    independent: int
    error: float
    chain: int | None
    chain_error: float | None

    @property
    def advised(self) -> int:
        """The one for the chain, where there is one."""
        return self.independent if self.chain is None else self.chain


def advised_cutoff(log: Log, found: Sequence[Fit]) -> Cutoff:
    """For the median client of those that took part, over the rounds observed of it.

    For the chain the best of some two dozen cutoffs is taken, from 1 to the number of rounds.
    """
    rates, on = fitted_rates(log), log.participations() > 0
    rate, rounds = float(np.median(rates[on])), min(int(np.median(log.observed_rounds()[on])), MOST_ROUNDS)
    independent = best_cutoff(rate, rounds)
    error = float(exact_weight_law(rate, independent, rounds).error.mean())
    stability = next((fit.common[1] for fit in found if fit.common and fit.common[0] == "stability"), None)
    if stability is None or stability.low == 0 or rate == 1:
        return Cutoff(rate, rounds, independent, error, None, None)
    process = Markov.from_stability(rate, stability.value)
    tried = np.unique(np.geomspace(1, rounds, CUTOFFS).round().astype(np.int64)).tolist()
    errors = {cutoff: float(exact_weight_law(process, cutoff, rounds).error.mean()) for cutoff in tried}
    chain = min(errors, key=lambda cutoff: errors[cutoff])
    return Cutoff(rate, rounds, independent, error, chain, errors[chain])


def intervals(log: Log, day: int | None) -> list[Divergence]:
    """delta~^2(P) / d^2 for P = 1, 2, 4, ... up to half of the rounds with participants, a day and a week."""
    held = int(np.count_nonzero(participants(log)))
    longest = max(held // 2, 1)
    tried = {2**j for j in range(longest.bit_length())} | ({day, 7 * day} if day else set())
    return divergences(log, sorted(interval for interval in tried if interval <= longest))


def advised_interval(found: Sequence[Divergence]) -> Divergence:
    """The interval whose largest delta~^2(P) is least, the shortest of equal ones."""
    return min(found, key=lambda one: (one.largest, one.interval))


def staleness(away: Absences, n_clients: int, cohort: int) -> tuple[float, float]:
    """Most rounds that an update of FedLaAvg can be old (Lemma 1) with the (least, most) window of the log.

    Infinite where the log has no such window.
    """
    bound = ledger["fedlaavg.lem1"].bound
    assert bound is not None
    least, most = (
        bound.at(window=window, n_clients=n_clients, cohort_size=cohort) if window <= away.n_rounds else math.inf
        for window in away.window
    )
    return least, most


@dataclass(frozen=True)
class Snapshots:
    """Room for FAST's snapshots, which draw clients uniformly from ALL clients.

    complete     share of rounds in which all clients were on, in all others some clients cannot be drawn: if clients
                 were off, and if they were on, wherever they were not observed
    most_on      the largest share of clients seen on in one round
    least_rate   the smallest rate of snapshots with which the condition of Theorem 2 (`fast.thm2.app`) can hold,
                 whatever the constants; `complete` at least that large is necessary for it
    """

    complete: tuple[float, float]
    most_on: float
    least_rate: float

    @property
    def possible(self) -> bool | None:
        """Whether there are rounds enough in which a snapshot can be what it is meant to be; None if nobody knows."""
        least, most = (share >= self.least_rate for share in self.complete)
        return least if least == most else None

    @property
    def rounds(self) -> str:
        """`complete` in words."""
        return share_of_rounds(*self.complete)


def share_of_rounds(least: float, most: float) -> str:
    """A share of the rounds, at least and at most, in words."""
    if least == most:
        return f"{least:.2%} of the rounds"
    return f"{least:.2%} to {most:.2%} of the rounds (not all clients were observed)"


def snapshots(log: Log) -> Snapshots:
    """How often all clients are there at once, against what Theorem 2 of FAST asks."""
    on, most = participants(log), participants_at_most(log)
    least_share, most_share = (float(np.mean(each == log.n_clients)) for each in (on, most))
    return Snapshots((least_share, most_share), float(on.max() / log.n_clients), least_snapshot_rate())


def least_snapshot_rate() -> float:
    """One less the largest share of arbitrary rounds that Theorem 2 of FAST allows (`fast.thm2.feasibility`)."""
    share = ledger["fast.thm2.feasibility"].formulas["largest"]
    return 1 - value(share, {"smoothness": 1.0, "strong_convexity": 1.0})  # it is largest for equal ones
