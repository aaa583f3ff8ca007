"""Rounds to a target: one outcome a statement, and what moves it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from typing import Any

from fltheory.assumptions import about_participation
from fltheory.errors import InputError
from fltheory.ledger import Claim
from fltheory.planning.facts import FACTS
from fltheory.planning.promise import Outcome, Promise
from fltheory.planning.statements import STATEMENTS, Statement, Unusable, usable
from fltheory.planning.task import Task
from fltheory.symbols import QUANTITIES
from fltheory.verdicts import recorded

MORE = 1.1  # a constant that is a tenth larger shows what it is worth


def plan(task: Task, statements: Sequence[Statement] = STATEMENTS) -> list[Outcome]:
    """One outcome for each statement about the measure of the task, in the order of `statements`."""
    entries = recorded()
    return [_outcome(task, statement, entries) for statement in statements if statement.measure == task.measure]


def _outcome(task: Task, statement: Statement, entries: Mapping[str, Mapping[str, Any]]) -> Outcome:
    try:
        claim, said = usable(statement.claim, entries)
        below = [usable(id_, entries) for id_ in statement.rests_on]
    except Unusable as refused:
        return Outcome(statement, statement.claim, why=str(refused))
    promise = Promise(task, statement, claim, [claim for claim, _ in below])
    wrong = {name: list(task.wrong[name].values()) for name in sorted(promise.names() & task.wrong.keys())}
    if none := [why[0] for name, why in wrong.items() if not task.allowed[name]]:
        return Outcome(statement, claim.id, why=none[0])
    left_out = [f"Not tried: {sentence}" for why in wrong.values() for sentence in why]
    derived = promise.derived()
    used = [(claim, said), *(below if derived else [])]
    try:
        granted = _granted(task, statement, [one for one, _ in used], derived)
    except Unusable as refused:
        return Outcome(statement, claim.id, why=str(refused))
    notes = tuple(note.strip() for note in (*(note for _, note in used), *granted, *left_out) if note)
    missing = promise.missing()
    if missing:
        return Outcome(statement, claim.id, notes, f"{claim.id} also needs {', '.join(missing)}.")
    reached: list[tuple[int, float, Mapping[str, float]]] = []
    failed: list[tuple[float, str]] = []
    for choice in promise.choices():
        try:
            rounds, why, least = promise.rounds(choice)
        except InputError:
            rounds, why, least = None, promise.undefined(choice), math.inf
        if rounds is None:
            failed.append((least, why))
        else:
            reached.append((rounds, promise.participants(choice, rounds) or 0.0, choice))
    if not reached:
        return Outcome(statement, claim.id, notes, min(failed)[1])
    fewest, _, best = min(reached, key=lambda found: found[:2])
    return promise.outcome(best, fewest, (*notes, *promise.seldom_short(best, fewest)))


def _granted(task: Task, statement: Statement, claims: Sequence[Claim], derived: Set[str]) -> list[str]:
    """What is taken for granted of who takes part; raises Unusable where the process of the task does not give it.

    The first of the claims is the statement itself; `derived` are the constants that the others give.
    """
    assumed = {one.id: one for claim in claims for one in _about_who(claim)}
    presumed = [statement.asks] if statement.asks else []
    if statement.somebody:
        if task.who.empty:
            raise Unusable(f"{claims[0].id} wants somebody in every round, and {task.who.source} leaves rounds empty.")
        presumed += ["somebody takes part in every round"] if task.who.empty is None else []
    if not assumed:  # otherwise they say it
        presumed += [law for name, law in statement.presumes.items() if name in derived]
    notes = [f"Taken for granted: {said}." for said in presumed]
    symbols = {symbol.name for part in claims[0].parts for symbol in part.free_symbols}
    given = [name for name in FACTS if name in symbols and name in task.constants]
    if given:
        notes.append(f"Taken for granted: the given {', '.join(given)}.")
    for assumption in assumed.values():
        assert assumption.asks is not None
        holds = None if task.process is None else assumption.asks(task.process).holds
        if holds is False:
            raise Unusable(f"{assumption.id} does not hold for this process: {assumption.title}.")
        if holds is None:
            notes.append(f"Taken for granted: {assumption.id}, {assumption.title}.")
    return notes


def _about_who(claim: Claim) -> list[Claim]:
    """Its assumptions on who takes part."""
    return [one for one in claim.assumes if one.asks is not None and about_participation(one.asks)]


def sensitivities(task: Task, outcome: Outcome) -> dict[str, float]:
    """By which share the rounds of a plan grow where one constant, or the target, is a tenth larger.

    Free parameters stay as they were chosen, the step is the best one anew; infinite where the target is then out of
    reach. Constants that are counts or shares, are 0 or play no part are left out.
    """
    if outcome.rounds is None:
        return {}
    fixed = replace(task, choices={name: [value] for name, value in outcome.choice.items()})
    changed = {"target": replace(fixed, target=MORE * task.target)}
    for name, value in task.constants.items():
        domain = QUANTITIES[name].domain
        if domain in ("> 0", ">= 0") and value and name in outcome.names:
            with suppress(InputError):  # such as a frequency of snapshots above 1
                changed[name] = replace(fixed, constants={**task.constants, name: MORE * value})
    found, entries = {}, recorded()
    for name, other in changed.items():
        rounds = _outcome(other, outcome.statement, entries).rounds
        found[name] = math.inf if rounds is None else rounds / outcome.rounds - 1
    return found
