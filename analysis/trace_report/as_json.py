"""The report on a log as numbers and lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.json_text import with_null
from analysis.trace_report.advice import advised_interval
from analysis.trace_report.assumptions import Ruling
from analysis.trace_report.day import begin_of
from analysis.trace_report.report import LEVEL, QUANTILES, TraceReport


def to_json(report: TraceReport) -> dict[str, Any]:
    """Everything as numbers and lists; null is "nothing to say" and "not bounded"."""
    log, away = report.log, report.absences
    per_client = {
        "participations": log.participations(), "observed": log.observed_rounds(), "rate": report.rate,
        "rate_low": report.rate_low, "rate_high": report.rate_high, "weight": report.weight,
        "longest_absence": away.most, "longest_absence_from": away.most_from,
        "longest_absence_seen": away.sure, "longest_absence_seen_from": away.sure_from,
    }  # fmt: skip
    cut, room, best = report.cutoff, report.snapshots, advised_interval(report.divergences)
    found: dict[str, Any] = with_null({
        "summary": {
            "clients": log.n_clients, "rounds": log.n_rounds, "participations": log.client.size,
            "never_seen": int(np.count_nonzero(log.never_seen())), **log.reading(), "rate_level": LEVEL,
            "begins": None if log.start is None else begin_of(log),
            "rate_quantiles": {f"{q:g}": float(np.nanquantile(report.rate, q)) for q in QUANTILES},
            "window": {"least": away.window[0], "most": away.window[1]},
        },
        "clients": {"client": list(log.clients), **{name: values.tolist() for name, values in per_client.items()}},
        "participants": np.where(report.watched, report.participants, np.nan).tolist(),
        "gaps": {"length": report.gaps[0].tolist(), "count": report.gaps[1].tolist()},
        "day": None if report.profile is None else {
            "rounds": report.day, "share_on": report.profile.share.tolist(), "clock": report.profile.clock or None,
            "begins": report.profile.begins if report.profile.clock else None,
        },
        "memory": {
            "correlation": report.memory.correlation.tolist(), "reach": report.memory.reach,
            "relaxation": report.memory.relaxation,
        },
        "labels": None if report.labelled is None else {
            "label": list(report.labelled.names), "clients": report.labelled.clients.tolist(),
            "rate": report.labelled.rates.tolist(),
        },
        "tests": [
            {
                "name": one.name, "null": one.null, "statistic": one.statistic, "value": one.value,
                "p_value": one.p_value, "level": one.level, "correction": one.correction,
                "rejected": one.rejected, "tested": one.tested, "left_out": one.left_out,
                "clients": [log.clients[n] for n in one.clients],
            }
            for one in report.findings
        ],
        "fitted": {
            "clients": [log.clients[n] for n in report.fitted],
            "of": int(np.count_nonzero(log.participations())),
        },
        "fits": [
            {
                "family": fit.family, "parameters": fit.parameters, "log_likelihood": fit.log_likelihood,
                "aic": fit.aic, "bic": fit.bic, "observations": fit.observations,
                "shared": None if fit.common is None else {
                    "name": fit.common[0], "value": fit.common[1].value, "low": fit.common[1].low,
                    "high": fit.common[1].high, "level": fit.common[1].level,
                },
            }
            for fit in report.fits
        ],
        "interval_divergence": [
            {"interval": one.interval, "largest": one.largest, "mean": one.mean, "intervals": one.intervals,
             "first": one.first, "left_out": one.left_out}
            for one in report.divergences
        ],
        "theorems": {
            id_: {
                **_ruling(one.ruling),
                "assumptions": {name: _ruling(ruling) for name, ruling in one.assumptions.items()},
                "objectives": list(one.objectives),
                "somebody": None if one.somebody is None else one.somebody.word,
            }
            for id_, one in report.theorems.items()
        },
        "advice": {
            "cutoff": {
                "advised": cut.advised, "rate": cut.rate, "rounds": cut.rounds, "independent": cut.independent,
                "independent_error": cut.error, "chain": cut.chain, "chain_error": cut.chain_error,
            },
            "interval": best.interval,
            "staleness": [
                {"cohort": size, "least": least, "most": most}
                for size in sorted({log.n_clients, report.cohort})
                for least, most in [report.staleness(size)]
            ],
            "snapshots": {
                "complete": {"least": room.complete[0], "most": room.complete[1]}, "most_on": room.most_on,
                "least_rate": room.least_rate, "possible": room.possible,
            },
        },
    })  # fmt: skip
    return found


def _ruling(one: Ruling) -> dict[str, Any]:
    return {
        "word": one.word,
        "why": one.why,
        "client": one.client,
        "round": one.round,
        "constants": dict(one.constants),
    }
