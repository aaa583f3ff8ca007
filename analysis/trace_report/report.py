"""All that is known of a log, in one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.trace_report import advice
from analysis.trace_report.assumptions import Facts, TheoremRuling, rulings
from analysis.trace_report.counts import fitted_rates, observers, participants
from analysis.trace_report.day import Profile, day_profile
from analysis.trace_report.divergence import Divergence
from analysis.trace_report.fits import Fit, fits, fitted_clients
from analysis.trace_report.gaps import Absences, absences
from analysis.trace_report.hypotheses import (
    Finding,
    equal_rates,
    independent_clients,
    independent_rounds,
    lasting_rates,
    steady_rates,
)
from analysis.trace_report.labels import Labelled, rates_by_label
from analysis.trace_report.memory import Memory, memory, own_apart, rounds_apart
from analysis.traces import Log, clopper_pearson, stretches
from analysis.traces.log import Bools, Floats, Ints
from analysis.traces.memory import ROUND, require_room
from analysis.weights_report.report import weights_after
from fltheory.errors import InputError, count

LEVEL = 0.95  # of the intervals of rates
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True, eq=False)
class TraceReport:
    """Arrays (n_clients,) are in the order of `log.clients`, NaN where there is nothing to say.

    rate, rate_low, rate_high  participations per observed round, with its Clopper-Pearson interval of level 0.95
    gaps          (lengths, how many of each): observed rounds from one participation to the next, of all clients
    absences      the longest absences, and the window E
    day           rounds of a day, None where that is not known; `profile` the share of clients on in each of them
    memory        the autocorrelation; `spacing` the rounds apart at which `steady rates` looks besides, or further:
                  those of `rounds_apart`, or else a day; None where there is neither
    findings      what the tests found
    labelled      rates by label, if there are labels
    fits          families by likelihood, on the clients `fitted` (indices, sorted): see `fitted_clients`
    divergences   delta~^2(P) / d^2
    theorems      id -> what the log says of it
    cutoff, weight   the advised cutoff, and FedAU's weights with it for the round after the log
    snapshots     room for FAST's snapshots
    """

    log: Log
    rate: Floats
    rate_low: Floats
    rate_high: Floats
    gaps: tuple[Ints, Ints]
    absences: Absences
    day: int | None
    profile: Profile | None
    memory: Memory
    spacing: int | None
    findings: Sequence[Finding]
    labelled: Labelled | None
    fits: Sequence[Fit]
    fitted: Ints
    divergences: Sequence[Divergence]
    theorems: Mapping[str, TheoremRuling]
    cutoff: advice.Cutoff
    weight: Floats
    snapshots: advice.Snapshots

    @property
    def best_fit(self) -> Fit:
        """The family with the least BIC."""
        return min(self.fits, key=lambda fit: fit.bic)

    @property
    def participants(self) -> Ints:
        """Clients seen on in each round, (n_rounds,)."""
        return participants(self.log)

    @cached_property
    def watched(self) -> Bools:
        """The rounds in which anybody was observed, (n_rounds,)."""
        if self.log.observed is None:
            return np.ones(self.log.n_rounds, dtype=np.bool_)
        return observers(self.log) > 0

    @property
    def participants_observed(self) -> Ints:
        """Clients seen on in each round in which anybody was observed."""
        return self.participants[self.watched]

    @property
    def cohort(self) -> int:
        """The median number of participants, at least 1: a cohort that half of the observed rounds could fill."""
        return max(1, int(np.median(self.participants_observed)))

    def staleness(self, cohort: int) -> tuple[float, float]:
        """Most rounds that an update of FedLaAvg can be old with so many clients a round, for both ends of E."""
        return advice.staleness(self.absences, self.log.n_clients, cohort)


def trace_report(
    log: Log, *, day: int | None = None, labels: tuple[str, ...] | None = None, seed: int = 0
) -> TraceReport:
    """What a log says, which assumptions of the ledger it bears out, and what follows.

    day     rounds of a day, for the profile and the memory; labels: one of each client. `seed` is that of the random
            shifts, permutations and samples. The cost grows with the participations (observations, where they were
            recorded); what does not, such as fits, looks at a sample of the clients.

    Raises InputError for a log of nobody, one of more rounds than memory holds, a day of less than two rounds, another
    number of labels than clients.
    """
    if not log.client.size:
        raise InputError("the log", "no participation", "one with at least one participation")
    require_room("rounds", log.n_rounds, ROUND)
    day = None if day is None else count("day", day, least=2)
    on, observed = log.participations(), log.observed_rounds()
    low, high = clopper_pearson(on, observed, LEVEL)
    away = absences(log)
    reach = memory(log, max(400, 8 * day) if day else 400)
    varying = (on > 0) & (on < observed)
    spacing = rounds_apart(reach, int(np.count_nonzero(varying)), int(observed[varying].sum()))
    spacing = spacing or (day if day and day < log.n_rounds // 2 else None)
    findings = _findings(log, reach, spacing, day, seed)
    labelled = rates_by_label(log, labels, seed) if labels is not None else None
    found = fits(log, seed)
    cutoff = advice.advised_cutoff(log, found)
    return TraceReport(
        log=log,
        rate=fitted_rates(log),
        rate_low=low,
        rate_high=high,
        gaps=_gaps(log),
        absences=away,
        day=day,
        profile=None if day is None else day_profile(log, day),
        memory=reach,
        spacing=spacing,
        findings=findings if labelled is None else [*findings, labelled.test],
        labelled=labelled,
        fits=found,
        fitted=fitted_clients(log, seed),
        divergences=advice.intervals(log, day),
        theorems=rulings(Facts(log, away, findings, found)),
        cutoff=cutoff,
        weight=np.concatenate([_weights(part, cutoff.advised) for _, part in log.blocks()]),
        snapshots=advice.snapshots(log),
    )


def _gaps(log: Log) -> tuple[Ints, Ints]:
    times = np.zeros(log.n_rounds + 1, dtype=np.int64)
    for _, part in log.blocks():
        cut = stretches(part)
        times += np.bincount(cut.length[~cut.initial], minlength=times.size)
    lengths = np.flatnonzero(times)
    return lengths, times[lengths]


def _weights(log: Log, cutoff: int) -> Floats:
    return weights_after(log, stretches(log), cutoff)[1]


def _findings(log: Log, found: Memory, spacing: int | None, day: int | None, seed: int) -> list[Finding]:
    steady, equal = [steady_rates(log)], [equal_rates(log)]
    if spacing is not None:
        if spacing > 1:
            steady.append(steady_rates(log, own_apart(log, found, spacing)))
        on, observed = log.participations(), log.observed_rounds()
        rate = np.full(log.n_clients, on.sum() / observed.sum())  # the one of all, if they have one
        equal.append(lasting_rates(log, own_apart(log, found, spacing, rate), day))
    return [independent_rounds(log), independent_clients(log, seed), *steady, *equal]
