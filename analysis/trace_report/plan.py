"""Rounds to a target at the rates of a log: a plan file with what the log knows better."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from analysis.plan_command import read_plan
from analysis.trace_report.report import TraceReport
from fltheory.planning import Outcome, Task, plan


def planned(report: TraceReport, path: Path) -> tuple[Task, list[Outcome]]:
    """The task of a plan file and what the theorems promise, one outcome a statement.

    The rates, `n_clients` and, where the log shows one, `window` (the most that it can be) are those of the log; what
    the file says of them gives way. Clients that never took part do not count: no theorem promises anything with
    them. A statement, or one that it rests on, with an assumption that fails on the log promises nothing. Raises
    InputError as `fltheory plan` does.
    """
    task, statements = read_plan(path)
    on = report.log.participations() > 0
    window = report.absences.most[on].max() + 1
    known = {"n_clients": int(on.sum())} | ({"window": int(window)} if window <= report.log.n_rounds else {})
    choices = {name: tried for name, tried in task.choices.items() if name not in known}
    constants = {**task.constants, **known}
    task = replace(task, rates=report.rate[on].tolist(), constants=constants, choices=choices, process=None)
    return task, [_held(outcome, report) for outcome in plan(task, statements)]


def _held(outcome: Outcome, report: TraceReport) -> Outcome:
    """The outcome, or that there is none because an assumption fails on the log."""
    for id_ in (outcome.claim, *outcome.statement.rests_on):
        theorem = report.theorems.get(id_)
        if theorem is not None and theorem.ruling.word == "fails":
            return Outcome(outcome.statement, outcome.claim, why=f"It fails on this log: {theorem.ruling.why}")
    return outcome
