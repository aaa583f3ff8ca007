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
    them. Raises InputError as `fltheory plan` does.
    """
    task, statements = read_plan(path)
    on = report.log.participations() > 0
    window = report.absences.most[on].max() + 1
    known = {"n_clients": int(on.sum())} | ({"window": int(window)} if window <= report.log.n_rounds else {})
    choices = {name: tried for name, tried in task.choices.items() if name not in known}
    task = replace(task, rates=report.rate[on].tolist(), constants={**task.constants, **known}, choices=choices)
    return task, plan(task, statements)
