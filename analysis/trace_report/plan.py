"""Rounds to a target at the rates of a log: a plan file with what the log knows better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from analysis.plan_command import plan_content, task_of
from analysis.trace_report.counts import participants_at_most
from analysis.trace_report.report import TraceReport
from analysis.traces.log import Bools, Ints
from fltheory.ledger import Claim
from fltheory.planning import Outcome, Statement, Task, plan
from fltheory.planning.facts import Known, of_rates
from fltheory.planning.statements import Values


def planned(report: TraceReport, path: Path) -> tuple[Task, list[Outcome]]:
    """The task of a plan file and what the theorems promise, one outcome a statement.

    The rates and `n_clients` are those of the log, and so is `window` (the most that it can be) where the log shows
    one and the file gives neither it nor `staleness`; what the file says of rates, clients and a process gives way to
    it. Clients that never took part do not count: no theorem promises anything with them. A statement, or one that it
    rests on, with an assumption that fails on the log promises nothing, nor does one that needs a law of participation:
    a log is no law. Raises InputError as `fltheory plan` does, and for constants that the log contradicts.
    """
    on = report.log.participations() > 0
    most = participants_at_most(report.log, on)
    content = plan_content(path)
    constants = {**content["constants"], "n_clients": int(on.sum())}
    longest = int(report.absences.most[on].max()) + 1
    unsaid = longest <= report.log.n_rounds and not {"window", "staleness"} & constants.keys()
    shown = {"window": longest} if unsaid else {}
    constants |= shown
    content |= {"constants": constants, "rates": report.rate[on].tolist()}
    task, statements = task_of(content, known=_known(report, on, most))
    nobody = np.flatnonzero(most == 0)
    return task, [
        _held(outcome, statement, task, report, nobody, shown.get("window"))
        for statement in statements
        for outcome in plan(task, [_without_law(statement)])
    ]


def _known(report: TraceReport, on: Bools, most: Ints) -> Known:
    """What no constant can contradict, for the clients `on` that took part, `most` of them in each round."""
    window = int(report.absences.sure[on].max()) + 1
    fewest = int(most[report.participants > 0].min())  # of the other rounds nobody knows whether anybody took part
    empty = True if (most == 0).any() else of_rates(report.rate[on], int(on.sum())).empty
    return Known(window, fewest, empty, at_most=int(most.min()), source="the log")


def _without_law(statement: Statement) -> Statement:
    """The statement without the constants that follow from a law of participation only."""

    def derive(values: Values, task: Task, claims: Sequence[Claim]) -> Values:
        found = statement.derive(values, task, claims)
        return {name: value for name, value in found.items() if name not in statement.presumes}

    return replace(statement, derive=derive, presumes={})


def _held(
    outcome: Outcome, statement: Statement, task: Task, report: TraceReport, nobody: Ints, window: int | None
) -> Outcome:
    """The outcome, with what the log says of it: that an assumption fails, what it does not give, whom it is about.

    nobody   the rounds in which nobody took part
    window   that of the log, where the plan has it from there
    """
    for id_ in (outcome.claim, *statement.rests_on):
        theorem = report.theorems.get(id_)
        if theorem is not None and theorem.ruling.word == "fails":
            return Outcome(outcome.statement, outcome.claim, why=f"It fails on this log: {theorem.ruling.why}")
    if statement.somebody and nobody.size:
        why = f"nobody took part in {nobody.size} of {report.log.n_rounds} rounds, first in round {nobody[0]}."
        return Outcome(outcome.statement, outcome.claim, why=f"It fails on this log: {why}")
    if outcome.rounds is None:
        lacking = [_no_law(name, law, report) for name, law in statement.presumes.items() if name in outcome.why]
        return replace(outcome, why=" ".join([outcome.why, *lacking]))
    notes, room = list(outcome.verdict_notes), report.snapshots
    if window is not None and "window" in outcome.names:
        rounds, sure = report.log.n_rounds, report.absences.window[0]
        shown = f"it is what the {rounds} rounds of the log show"
        if sure < window:
            shown = f"the {rounds} rounds of the log show at least {sure}, and no more if clients were off unobserved"
        notes.append(f"Taken for granted: E = {window} in all rounds; {shown}.")
    if statement.participants is not None and room.complete[0] < 1:  # the server asks for clients, which may be away
        notes.append(f"All clients were on in {room.rounds} of the log.")
    if away := report.log.n_clients - int(task.constants["n_clients"]):
        notes.append(f"f is the mean over the clients that took part; {away} never did.")
    return replace(outcome, verdict_notes=tuple(notes))


def _no_law(name: str, law: str, report: TraceReport) -> str:
    rejected = [f"{one.name} (p = {one.p_value:.1g})" for one in report.findings if one.rejected]
    tests = f" Tests on this log reject {', '.join(rejected)}." if rejected else ""
    return f"{name} follows where {law}; a log does not show that.{tests}"
