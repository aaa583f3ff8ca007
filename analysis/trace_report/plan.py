"""Rounds to a target at the rates of a log: a plan file with what the log knows better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from analysis.plan_command import plan_content, task_of
from analysis.trace_report.advice import share_of_rounds
from analysis.trace_report.counts import participants_at_most
from analysis.trace_report.hypotheses import telling
from analysis.trace_report.report import TraceReport
from analysis.traces.log import Bools, Ints
from fltheory.ledger import Claim
from fltheory.planning import Outcome, Statement, Task, plan
from fltheory.planning.facts import ROUNDING, Known, of_rates
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
    sure, longest = (int(away[on].max()) + 1 for away in (report.absences.sure, report.absences.most))
    unsaid = longest <= report.log.n_rounds and not {"window", "staleness"} & constants.keys()
    of_window = _of_window(constants.get("window"), unsaid, sure, longest, report.log.n_rounds)
    constants |= {"window": longest} if unsaid else {}
    content |= {"constants": constants, "rates": report.rate[on].tolist()}
    task, statements = task_of(content, known=_known(report, on, most))
    return task, [
        _held(outcome, statement, task, report, most, of_window)
        for statement in statements
        for outcome in plan(task, [_without_law(statement)])
    ]


def _known(report: TraceReport, on: Bools, most: Ints) -> Known:
    """What no constant can contradict, for the clients `on` that took part, `most` of them in each round."""
    window = int(report.absences.sure[on].max()) + 1
    fewest = int(most[report.participants > 0].min())  # of the other rounds nobody knows whether anybody took part
    empty = True if (most == 0).any() else of_rates(report.rate[on], int(on.sum())).empty
    never = int(np.count_nonzero(~on))
    whom = f"the clients that took part (not counted, as never seen on: {never})" if never else "the clients"
    return Known(window, fewest, empty, at_most=int(most.min()), source="the log", whom=whom)


def _without_law(statement: Statement) -> Statement:
    """The statement without the constants that follow from a law of participation only."""

    def derive(values: Values, task: Task, claims: Sequence[Claim]) -> Values:
        found = statement.derive(values, task, claims)
        return {name: value for name, value in found.items() if name not in statement.presumes}

    return replace(statement, derive=derive, presumes={})


def _held(
    outcome: Outcome, statement: Statement, task: Task, report: TraceReport, most: Ints, of_window: str
) -> Outcome:
    """The outcome, with what the log says of it: that an assumption fails, what it does not give, whom it is about.

    most        of the clients that took part, in each round
    of_window   what to say of the E of the plan
    """
    away = report.log.n_clients - int(task.constants["n_clients"])
    why = _too_few(most, task) if statement.somebody else ""
    if why:
        outcome = Outcome(outcome.statement, outcome.claim, why=f"It fails on this log: {why}.")
    else:
        for id_ in (outcome.claim, *statement.rests_on):
            theorem = report.theorems.get(id_)
            if theorem is not None and theorem.ruling.word == "fails":
                return Outcome(outcome.statement, outcome.claim, why=f"It fails on this log: {theorem.ruling.why}")
    if outcome.rounds is None:
        lacking = [_no_law(name, law, report) for name, law in statement.presumes.items() if name in outcome.why]
        whom = [f"Clients that were never seen on ({away}) do not count."] if away else []
        theorem = report.theorems.get(outcome.claim)
        if away and why and theorem and theorem.somebody and theorem.somebody.word == "cannot be told":
            whom.append("With them it cannot be told, as the assumptions of theorems say.")
        if task.who.empty and most.all() and (statement.somebody or statement.participants is not None):
            whom.append("Some rounds are empty at the rates of the observed rounds, which sum to less than 1.")
        return replace(outcome, why=" ".join([outcome.why, *lacking, *whom]))
    notes = list(outcome.verdict_notes)
    if "window" in outcome.names and of_window:
        notes.append(of_window)
    everybody = int(task.constants["n_clients"])
    complete = [float(np.mean(each == everybody)) for each in (report.participants, most)]
    if statement.participants is not None and complete[0] < 1:  # the server asks for clients, which may be away
        who = f"All {everybody} clients that took part" if away else "All clients"
        notes.append(f"{who} were on in {share_of_rounds(*complete)} of the log.")
    if away:
        notes.append(f"f is the mean over the clients that took part; {away} never did.")
    return replace(outcome, verdict_notes=tuple(notes))


def _too_few(most: Ints, task: Task) -> str:
    """In which rounds there is nobody, or nobody for weights of the norm that is given; empty where there is none."""
    nobody, least = np.flatnonzero(most == 0), int(most.min())
    if nobody.size:
        return f"nobody took part in {nobody.size} of {most.size} rounds, first in round {nobody[0]}"
    norm = task.constants.get("participation_norm", 1)
    if norm < (1 - ROUNDING) * least**-0.5:  # whoever takes part in it, if anybody does
        return (
            f"at most {least} took part in round {int(most.argmin())}, for which participation_norm = {norm:g} is too "
            f"small (at least {least**-0.5:g})"
        )
    return ""


def _of_window(given: float | None, unsaid: bool, sure: int, longest: int, rounds: int) -> str:
    """What the E of a plan is, given or that of the log (`longest`), beside what the log shows; empty if no more."""
    if not unsaid:
        less = given is not None and given < longest
        return f"E = {given:g} is given; the log admits {longest}, if clients were off unobserved." if less else ""
    shown = f"it is what the {rounds} rounds of the log show"
    if sure < longest:
        shown = f"the {rounds} rounds of the log show at least {sure}, and this if clients were off unobserved"
    return f"Taken for granted: E = {longest} in all rounds; {shown}."


def _no_law(name: str, law: str, report: TraceReport) -> str:
    rejected = [f"{one.name} (p = {one.p_value:.1g})" for one in telling(report.findings) if one.coins]
    tests = f" Tests on this log reject {', '.join(rejected)}." if rejected else ""
    return f"{name} follows where {law}; a log does not show that.{tests}"
