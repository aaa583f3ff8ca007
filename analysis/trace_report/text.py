"""The report on a log as text, the most important first."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import numpy as np

from analysis.trace_report.advice import advised_interval
from analysis.trace_report.assumptions import SOMEBODY, Ruling, Word
from analysis.trace_report.counts import counts, participants_at_most
from analysis.trace_report.day import begin_of
from analysis.trace_report.hypotheses import CLIENTS, EQUAL, LASTING, ROUNDS, Finding, presumes_what_fails
from analysis.trace_report.memory import WEAK, Memory, harmless, reach_of
from analysis.trace_report.report import TraceReport
from analysis.traces.log import Floats, Ints, Log

WIDTH = 100
WORDS: tuple[Word, ...] = ("fails", "holds", "cannot be told")
MOST_NAMED = 5


def to_text(report: TraceReport) -> str:
    """What was read, what holds of it, what follows, and the evidence."""
    parts = {
        "The log": summary(report),
        "Assumptions of theorems": assumptions(report),
        "What follows": consequences(report),
        "Tests": tests(report),
        "Fits by likelihood, the least BIC first": fit_table(report),
        "Interval divergence of amplified FedAvg, (7), as a multiple of d^2": divergence_table(report),
    }
    return "\n\n".join("\n".join([title, *map(_wrapped, lines)]) for title, lines in parts.items())


def summary(report: TraceReport) -> list[str]:
    """Counts, rates, gaps, memory and the day."""
    log, away = report.log, report.absences
    never = int(np.count_nonzero(log.never_seen()))
    on = log.participations()
    unobserved = "not recorded (every round without a row counts as off)"
    if log.records_observation:
        unobserved = f"{1 - log.observed_rounds().sum() / max((log.n_clients - never) * log.n_rounds, 1):.1%}"
    rates = ", ".join(f"{value:.3g}" for value in np.nanquantile(report.rate, (0, 0.25, 0.5, 0.75, 1)))
    lengths, times = report.gaps
    seen = report.participants_observed
    least, most = away.window
    n = int(away.most.argmax())
    span = f"client {log.clients[n]}, rounds {away.most_from[n]} to {away.most_from[n] + away.most[n] - 1}"
    window = f"{_window(most, log.n_rounds)}" + (
        "" if least == most else f" (at least {least}: some rounds were not seen)"
    )
    lines = [
        f"clients {log.n_clients} (never seen {never}, seen but never on {np.count_nonzero(on == 0) - never}); "
        f"rounds {log.n_rounds}; participations {log.client.size}; unobserved {unobserved}",
        *_reading(report),
        f"rates: {rates} (least, quartiles, largest); intervals of each client, {_of_rates(report)}: --json",
        f"clients seen on in a round: {seen.min()} to {seen.max()}, median {report.cohort}"
        + ("" if seen.size == log.n_rounds else f" (of the {seen.size} rounds in which anybody was observed)")
        + _halves(report),
        f"gaps (observed rounds): {_quantiles(lengths, times)}",
        f"longest absence: {int(away.most.max())} rounds ({span}), so E = {window}"
        if away.most.max()
        else "nobody was ever off",
        _memory(report),
    ]
    if report.profile is not None:
        share, when = report.profile.share, report.profile.when
        top, bottom = int(np.nanargmax(share)), int(np.nanargmin(share))
        lines.append(
            f"day of {report.day} rounds, {report.profile.of_what()}: share on from {share[bottom]:.2f} "
            f"({when(bottom)}) to {share[top]:.2f} ({when(top)})"
        )
    if report.labelled is not None:
        each = zip(report.labelled.names, report.labelled.clients, report.labelled.rates, strict=True)
        shown = [f"{name} {rate:.3g} ({size} clients)" for name, size, rate in each][: 4 * MOST_NAMED]
        lines.append(f"mean rate by label: {', '.join(shown)}")
    return lines


def _halves(report: TraceReport) -> str:
    """The share of clients on in both halves: what all clients do together, no test of single ones may show."""
    log, half = report.log, report.log.n_rounds // 2
    parts = [[int(each.sum()) for each in counts(log, *ends)] for ends in ((0, half), (half, log.n_rounds))]
    if not all(observed for _, observed in parts):
        return ""
    early, late = (on / observed for on, observed in parts)
    return f"; of the observed clients {early:.3g} in the first half, {late:.3g} in the second"


def _of_rates(report: TraceReport) -> str:
    """What the intervals of rates presume."""
    said = "which presume independent rounds"
    dependent = any(one.name == ROUNDS and one.rejected for one in report.findings)
    return f"{said} (rejected below, so they may cover far fewer rates)" if dependent else said


def _reading(report: TraceReport) -> list[str]:
    """What was mended in the file, if anything was, and when its first round begins."""
    found = report.log.reading()
    mended = [
        f"{what}: {found[name]} ({how})"
        for name, what, how in (
            ("unsorted", "rows out of order", "sorted"),
            ("duplicates", "duplicate rows", "merged"),
            ("contradictions", "rounds given as both available and not", "taken as available"),
        )
        if found[name]
    ]
    lines = [f"of {found['rows']} rows, {'; '.join(mended)}"] if mended else []
    if report.log.start is not None:
        lines.append(f"round 0 begins at {begin_of(report.log)}: rounds are counted from there, not from full hours")
    if found["ignored_column"]:
        lines.append(f"time: column {found['time_column']} (column {found['ignored_column']} is not used)")
    return lines


def _window(window: int, n_rounds: int) -> str:
    return str(window) if window <= n_rounds else f"more than the {n_rounds} rounds of the log"


def _memory(report: TraceReport) -> str:
    found = report.memory
    if not np.isfinite(found.correlation).any():
        return "autocorrelation: unknown, for nobody was both on and off in rounds that were observed"
    lags = found.correlation.size
    daily = f", {_known(found.correlation[report.day - 1])} a day apart" if report.day and report.day <= lags else ""
    chain = (
        ""
        if not found.relaxation > 0  # also NaN: no chain without memory, or one that alternates, has such a number
        else (f"; in two-state chains it would fall e-fold in {found.relaxation:.2g} rounds")
    )
    return (
        f"autocorrelation: {_known(found.correlation[0])} at lag 1{daily}; "
        f"{_stays(found, _varying(report.log))} (lags up to {lags}){chain}. "
        "This is of the second order: no log bounds mixing coefficients"
    )


def _known(correlation: float) -> str:
    return "unknown" if np.isnan(correlation) else f"{correlation:.2f}"


def _varying(log: Log) -> int:
    """Observations of clients that were on in some rounds and off in others."""
    on, observed = log.participations(), log.observed_rounds()
    return int(observed[(on > 0) & (on < observed)].sum())


def _stays(found: Memory, observations: int) -> str:
    if found.reach:
        return f"it stays below {WEAK} from lag {found.reach} on"
    unknown = int(np.isnan(found.correlation).sum())
    if unknown and reach_of(np.nan_to_num(found.correlation)):
        return f"whether it stays below {WEAK} cannot be told, as {unknown} lags were never observed"
    noise = 4 / np.sqrt(observations / 2)  # four deviations of a correlation of coins, at the largest lag
    chance = np.nanmax(np.abs(found.correlation)) < noise
    return f"it does not stay below {WEAK}{', which so few observations may do by chance' if chance else ''}"


def _quantiles(lengths: Ints, times: Ints) -> str:
    if not lengths.size:
        return "none, as no client took part twice"
    share = np.cumsum(times) / times.sum()
    values = [int(lengths[np.searchsorted(share, q)]) for q in (0.5, 0.9, 0.99)]
    return f"median {values[0]}, 90 % up to {values[1]}, 99 % up to {values[2]}, longest {lengths[-1]}"


def assumptions(report: TraceReport) -> list[str]:
    """Assumption by assumption, with the theorems that rest on it; those about objectives in a line."""
    found, rest = judged(report)
    return [*(f"{name} {one.word}. {one.why} Rest on it: {', '.join(ids)}." for name, one, ids in found), rest]


def judged(report: TraceReport) -> tuple[list[tuple[str, Ruling, list[str]]], str]:
    """(id of an assumption, what the log says of it, ids that rest on it), what fails first; a sentence on the rest."""
    rulings: dict[str, Ruling] = {}
    resting: dict[str, list[str]] = {}
    objectives: set[str] = set()
    for id_, theorem in report.theorems.items():
        objectives |= set(theorem.objectives)
        for name, ruling in theorem.assumptions.items():
            rulings[name] = ruling
            resting.setdefault(name, []).append(id_)
        if theorem.somebody is not None:
            rulings[SOMEBODY] = theorem.somebody
            resting.setdefault(SOMEBODY, []).append(id_)
    asked = sorted(rulings.keys() - objectives, key=lambda name: (WORDS.index(rulings[name].word), name))
    silent = [
        id_
        for id_, one in report.theorems.items()
        if one.somebody is None and set(one.assumptions) <= set(one.objectives)
    ]
    papers = sorted({id_.partition(".")[0] for id_ in silent})
    rest = (
        f"About objectives, of which a log says nothing: {', '.join(sorted(objectives))}. {len(silent)} statements "
        f"({', '.join(papers)}) state no other assumption: how their algorithms ask clients decides (see below)."
    )
    return [(name, rulings[name], resting[name]) for name in asked], rest


def consequences(report: TraceReport) -> list[str]:
    """Cutoff and weights, P, staleness, snapshots."""
    cut, best, n = report.cutoff, advised_interval(report.divergences), report.log.n_clients
    chain = "" if cut.chain is None else (
        f"; K = {cut.chain} ({cut.chain_error:.3g}) for the chain fitted below, whose rounds are not independent"
    )  # fmt: skip
    room = report.snapshots
    unseen = ", where who was not observed counts as off" if _unobserved(report) else ""
    left_out = f" {said}" if (said := _left_out(report)) else ""
    ages = ", ".join(
        f"{size} clients a round: {_ages(report.staleness(size))}" for size in sorted({n, report.cohort}, reverse=True)
    )
    enough = {
        True: "which these rounds do not rule out",
        False: "for which they are too few",
        None: "for which they may be too few",
    }[room.possible]
    return [
        f"FedAU: K = {cut.independent} has the least mean error, {cut.error:.3g}, over {cut.rounds} independent rounds "
        f"at the median rate {cut.rate:.3g} (exact){chain}. Its weights with K = {cut.advised}: "
        f"{_span(report.weight)}; of each client: --json, `fltheory weights LOG --cutoff {cut.advised}`.",
        f"Amplified FedAvg: P = {best.interval} has the least interval divergence of the intervals listed below, "
        f"delta~^2(P) <= {best.largest:.3g} d^2 whatever the objectives (mean over intervals {best.mean:.3g}; "
        f"P = 1: {report.divergences[0].largest:.3g}){unseen}.{left_out}",
        f"FedLaAvg: an update is at most so many rounds old (Lemma 1), if all available clients are taken where they "
        f"are fewer than the clients a round, with {ages}.",
        f"FAST: all clients were on in {room.rounds}. Theorem 2 in the version of the "
        f"appendix (fast.thm2.app) needs snapshots, uniform over all clients, in at least {room.least_rate:.2%} of "
        f"them whatever the constants, {enough}; "
        "fast.thm2.repaired and fast.thm1.repaired-A admit any rate of snapshots.",
    ]


def _left_out(report: TraceReport) -> str:
    """Which rounds the divergences pass over, beside what the theorem wants of them; empty where there are none."""
    log, watched = report.log, report.watched
    nobody = participants_at_most(log) == 0
    unseen = (report.participants == 0) & watched & ~nobody
    kinds = {
        "in which nobody took part": nobody,
        "in which nobody was seen on, but not all clients were observed": unseen,
        "in which nobody was observed": ~watched,
    }
    rounds = [f"{each.sum()} of the {log.n_rounds} rounds, {which}" for which, each in kinds.items() if each.any()]
    if not rounds:
        return ""
    wants = "The theorem (amplified.thm31.average) wants somebody in every round"
    return f"Left out of delta~^2(P): {'; '.join(rounds)}. {wants}."


def _unobserved(report: TraceReport) -> bool:
    """Whether some rounds of a client were not observed, as far as the log records it."""
    return bool((report.log.observed_rounds() < report.log.n_rounds).any())


def _ages(ages: tuple[float, float]) -> str:
    least, most = ("unknown" if math.isinf(age) else f"{age:.0f}" for age in ages)
    return most if least == most else f"{least} to {most}"


def _span(values: Floats) -> str:
    low, middle, high = np.nanquantile(values, (0, 0.5, 1))
    return f"{low:.3g} to {high:.3g}, median {middle:.3g}"


def tests(report: TraceReport) -> list[str]:
    """Each test with null, statistic, level and correction."""
    lines = []
    for one in report.findings:
        p_value = f"p = {one.p_value:.2g}" if one.p_value > 0 else "p below 1e-300"
        said = f"{'REJECTED' if one.rejected else 'not rejected'}, {p_value}"
        if math.isnan(one.p_value):
            said = "nothing that could tell in rounds so far apart" if (one.spacing or 1) > 1 else "nothing to test"
            if one.name == LASTING and 0.5**one.tested > one.level:
                said = "too few clients to tell, of those that a third of the log is long enough for"
        value = "" if math.isnan(one.value) else f" = {one.value:.3g}"
        who = f" ({one.tested} clients)"
        if one.clients.size:
            named = ", ".join(report.log.clients[n] for n in one.clients[:MOST_NAMED])
            who = f"; {one.clients.size} of {one.tested} clients, first of all {named}"
        lines.append(
            f"{one.name}: {said}{who}. Null: {one.null}. Statistic: {one.statistic}{value}. Level {one.level:g}, "
            f"{one.correction}.{_presumed(one, report)}"
        )
    return lines


def _presumed(one: Finding, report: TraceReport) -> str:
    """What the level of a test presumes, where that is doubtful."""
    if presumes_what_fails(one, report.findings):
        return " It presumes that successive rounds are independent, which is rejected, and so tells nothing of rates."
    lags, said = report.memory.correlation, ""
    if one.name == EQUAL:
        return (
            " It rejects equal rates too where rounds depend on each other: it presumes a correlation at lag 1 below "
            f"{harmless(one.tested):.2g} (estimated: {'unknown' if math.isnan(lags[0]) else f'{lags[0]:.2g}'})."
        )
    if one.spacing is not None and one.spacing > 1:
        there = _known(lags[one.spacing - 1]) if one.spacing <= lags.size else "unknown"
        said = (
            f" It looks at rounds 0, {one.spacing}, {2 * one.spacing}, ... alone, and tests clients that are on in "
            "some of these and off in others: of other hours of a day, or other clients, it tells nothing."
            f" The level presumes no correlation of rounds so far apart (estimated, of all clients together: {there}); "
            "clients that change clearly less often are looked at further apart."
        )
    if one.name == LASTING and any(other.name == CLIENTS and other.rejected for other in report.findings):
        said = " It presumes that clients are independent of each other, which is rejected."
    if one.left_out:
        said += f" Left out, as the log is too short for how seldom they, or days, change: {one.left_out} clients; of "
        said += "their rates nothing is said."
    return said


def fit_table(report: TraceReport) -> list[str]:
    """Families by BIC."""
    rows: list[Sequence[str]] = [("family", "numbers", "log-likelihood", "AIC", "BIC", "shared (nominal 95 %)")]
    for fit in sorted(report.fits, key=lambda fit: fit.bic):
        shared = ""
        if fit.common:
            name, found = fit.common
            shared = f"{name} {found.value:.4g} [{found.low:.4g}, {found.high:.4g}]"
        numbers = [f"{value:.1f}" if math.isfinite(value) else "-" for value in (fit.log_likelihood, fit.aic, fit.bic)]
        rows.append((fit.family, str(fit.parameters), *numbers, shared))
    note = (
        f"on {_fitted(report)} (others are left out, which favours one rate for all); -: the "
        "log shows no period that the family could have. Across unobserved rounds chains take their m-step transition. "
        "Shared parameters come out too small, and their intervals too narrow, where clients have few rounds. The best "
        "of these need not be right: see the tests."
    )
    return [*_table(rows), note]


def _fitted(report: TraceReport) -> str:
    took_part = int(np.count_nonzero(report.log.participations()))
    if report.fitted.size == took_part:
        return f"all {took_part} clients that took part"
    return (
        f"{report.fitted.size} of the {took_part} clients that took part, drawn at random whatever they did, the same "
        "in each run (which: --json): these numbers are theirs"
    )


def divergence_table(report: TraceReport) -> list[str]:
    """One row an interval."""
    rows = [("P", "largest", "mean", "intervals", "largest from round")]
    for one in report.divergences:
        rows.append((str(one.interval), f"{one.largest:.4g}", f"{one.mean:.4g}", str(one.intervals), str(one.first)))
    return [*_table(rows), *filter(None, [_left_out(report)])]


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _wrapped(line: str) -> str:
    return line if line.startswith("  ") else textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="    ")
