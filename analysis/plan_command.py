"""What `fltheory plan` reads and prints."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fltheory.assumptions import bounded_gaps
from fltheory.errors import InputError, count, one_of
from fltheory.ledger import ledger
from fltheory.participation import ParticipationProcess
from fltheory.planning import (
    MEASURES,
    SCALES,
    STATEMENTS,
    Order,
    Outcome,
    Statement,
    Task,
    crossovers,
    rounds_at,
    sensitivities,
    table1,
)
from fltheory.verdicts import recorded
from sims import catalogue
from sims.algorithms import algorithms

_KEYS = ("target", "measure", "rates", "process", "algorithms", "constants", "choices")
MOST_NAMED = 5
SEEN = 0.005  # smaller changes of the rounds are not printed
_RUN_AS = {"fedau": "fedavg", "fast": "fedavg"}  # FedAvg with weights or a selection of clients of their own


def read_plan(path: Path) -> tuple[Task, list[Statement]]:
    """The task of a plan file and the statements of the algorithms that it names (of all, if it names none).

    Raises InputError for a file that cannot be read, an unknown key, or a value that is not allowed.
    """
    content = plan_content(path)
    process = None
    if "process" in content:
        if content["rates"]:
            raise InputError("rates", content["rates"], "left out beside [process], which has rates of its own")
        process, content["constants"] = _participation(content["process"], content["constants"])
        content["rates"] = process.rate.tolist()
    return task_of(content, process=process)


def plan_content(path: Path) -> dict[str, Any]:
    """What a plan file says, with tables, lists and numbers where they belong; which numbers is not looked at yet.

    Raises InputError for a file that cannot be read, an unknown key, something of another kind, or no target.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError("PLAN.toml", str(path), f"a file that can be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InputError("PLAN.toml", str(path), f"a TOML file ({error})") from None
    for key in content:
        if key not in _KEYS:
            raise InputError("key of PLAN.toml", key, one_of(key, _KEYS))
    if "target" not in content:
        raise InputError("PLAN.toml", str(path), "a file with a target")
    tables = {key: _table(content, key) for key in ("constants", "choices")}
    if not isinstance(content.get("process", {}), dict | str):
        raise InputError("process", content["process"], "a table, or the name of a process")
    for name, given in [*tables["constants"].items(), *(("rates", rate) for rate in _list(content, "rates"))]:
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise InputError(name, given, "a number" if name != "rates" else "a list of numbers")
    return {**content, **tables, "rates": _list(content, "rates")}


def task_of(content: dict[str, Any], **who: Any) -> tuple[Task, list[Statement]]:
    """The task that `plan_content` describes, with what else a Task says of who takes part, and its statements."""
    measure = content.get("measure", "squared_gradient")
    task = Task(content["target"], content["constants"], content["choices"], content["rates"], measure, **who)
    names = list(dict.fromkeys(statement.algorithm for statement in STATEMENTS))
    wanted = _list(content, "algorithms") if "algorithms" in content else names
    for name in wanted:
        if name not in names:
            raise InputError("algorithms", name, one_of(str(name), names))
    return task, [statement for statement in STATEMENTS if statement.algorithm in wanted]


def _participation(named: Any, constants: dict[str, Any]) -> tuple[ParticipationProcess, dict[str, Any]]:
    """The process, and the constants with its window, if it has one and none is given."""
    if "n_clients" not in constants:
        raise InputError("constants", sorted(constants), "with n_clients, beside [process]")
    found = catalogue.process(named, count("n_clients", constants["n_clients"]))
    if not isinstance(found, ParticipationProcess):
        raise InputError("process", named, "one with known rates, which does not react to the run")
    if (never := np.flatnonzero(found.rate == 0)).size:
        first = ", ".join(map(str, never[:MOST_NAMED].tolist())) + (", ..." if never.size > MOST_NAMED else "")
        allowed = (
            f"one in which each of n_clients = {found.n_clients} clients takes part, as no theorem promises anything "
            "with others: leave them out and number the clients without them (`fltheory trace LOG --plan` does so)"
        )
        raise InputError("process", f"{never.size} that never take part: {first}", allowed)
    return found, {**bounded_gaps(found).constants, **constants}


def _table(content: dict[str, Any], key: str) -> dict[str, Any]:
    table = content.get(key, {})
    if not isinstance(table, dict):
        raise InputError(key, table, "a table")
    return table


def _list(content: dict[str, Any], key: str) -> list[Any]:
    given = content.get(key, [])
    if not isinstance(given, list):
        raise InputError(key, given, "a list, also of one value")
    if key in content and not given:
        raise InputError(key, given, "a list of at least one value, or left out")
    return given


def vectors(outcome: Outcome) -> float | None:
    """Parameter vectors sent to and from clients until the target is reached, in the mean."""
    if outcome.client_rounds is None:
        return None
    algorithm = algorithms()[_RUN_AS.get(outcome.statement.algorithm, outcome.statement.algorithm)]
    return outcome.client_rounds * (algorithm.down + algorithm.up)


def to_json(task: Task, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The target, one entry a statement, and comparisons; what does not apply is left out, out of reach is inf."""
    planned = _planned(outcomes)
    table = rounds_at(task, planned)
    return {
        "target": task.target,
        "measure": task.measure,
        "plans": [_entry(task, outcome) for outcome in outcomes],
        "rounds_at": {
            "targets": [scale * task.target for scale in SCALES],
            "algorithms": table,
        },
        "crossovers": [asdict(crossover) for crossover in crossovers(task, planned, table)],
        "fedamd_table1": [
            {"method": row.method, "rounds": row.rounds, "fedamd_below": row.fedamd_below}
            for row in _table1(task, outcomes)
        ],
    }


def _planned(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return sorted((o for o in outcomes if o.rounds is not None), key=lambda outcome: outcome.rounds or 0)


def _table1(task: Task, outcomes: Sequence[Outcome]) -> list[Order]:
    """Where a plan of FedAMD was asked for: with the participants that it chose, if that was free."""
    fedamd = [outcome for outcome in outcomes if outcome.statement.algorithm == "fedamd"]
    return table1(task, {**task.constants, **fedamd[0].choice}) if fedamd else []


def _entry(task: Task, outcome: Outcome) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "algorithm": outcome.statement.algorithm,
        "claim": outcome.claim,
        "verdict": _verdict(outcome),
        "notes": list(outcome.verdict_notes),
    }
    if outcome.step is None:
        return entry | {"why": outcome.why}
    return entry | {
        "rounds": outcome.rounds,
        "choice": dict(outcome.choice),
        "local_lr": outcome.step.size,
        "largest_local_lr": outcome.step.largest,
        "binding": outcome.step.binding,
        "used": dict(outcome.step.used),
        "gain": outcome.step.gain,
        "bound": outcome.step.bound,
        "terms": dict(outcome.terms),
        "sensitivities": sensitivities(task, outcome),
        "client_rounds": outcome.client_rounds,
        "local_steps": None if outcome.client_rounds is None else outcome.client_rounds * outcome.local_steps,
        "vectors": vectors(outcome),
    }


def as_text(task: Task, outcomes: Sequence[Outcome]) -> str:
    """A table across algorithms, then each plan by itself."""
    planned = _planned(outcomes)
    rows = [
        [o.statement.algorithm, o.claim, _verdict(o), f"{o.rounds:,}", _shown(o.client_rounds), _shown(vectors(o))]
        for o in planned
    ]
    heads = ["algorithm", "statement", "verdict", "rounds", "client-rounds", "vectors"]
    table = _aligned([heads, *rows], [-11, -26, -12, 13, 15, 13])
    first = f"{MEASURES[task.measure].format(f'at most {task.target:g}')}, as the theorems promise it:"
    others = [outcome for outcome in outcomes if outcome.rounds is None]
    details = [line for outcome in (*planned, *others) for line in _details(task, outcome)]
    comparison = [*_comparison(task, planned), *_orders(task, outcomes)]
    return "\n".join([first, "", *(table if rows else ["No statement promises it."]), *comparison, *details])


def _comparison(task: Task, planned: Sequence[Outcome]) -> list[str]:
    """Rounds at other targets, and where two algorithms change places."""
    table = rounds_at(task, planned)
    if len(table) < 2:
        return []
    head = ["", *(f"{scale * task.target:.4g}" for scale in SCALES)]
    rows = [[name, *("out of reach" if r == math.inf else f"{r:,}" for r in rounds)] for name, rounds in table.items()]
    places = [
        f"Below a target of {crossover.target:.3g} {crossover.below} needs fewer rounds than {crossover.above}."
        for crossover in crossovers(task, planned, table)
    ]
    return ["", "Rounds at other targets:", *_aligned([head, *rows], [-11, *[13] * len(SCALES)]), *places]


def _aligned(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    """Lines of a table with columns at least so wide, wider for longer entries; to the left where that is below 0."""
    room = [
        max(abs(width), 1 + max(map(len, column)))
        for width, column in zip(widths, zip(*rows, strict=True), strict=True)
    ]
    return [
        "".join(
            cell.ljust(size) if width < 0 else cell.rjust(size)
            for cell, size, width in zip(row, room, widths, strict=True)
        )
        for row in rows
    ]


def _orders(task: Task, outcomes: Sequence[Outcome]) -> list[str]:
    rows = _table1(task, outcomes)
    if not rows:
        return []
    lines = [
        f"{row.method:<15}{row.rounds:>13,.3g}"
        + ("" if math.isnan(row.fedamd_below) else f"{_below(row.fedamd_below):>24}")
        for row in rows
    ]
    head = f"{'method':<15}{'rounds':>13}{'FedAMD fewer below':>24}"
    said = "Table 1 of FedAMD (orders as printed, constants of proportionality left out; batches of one sample):"
    return ["", said, head, *lines]


def _below(target: float) -> str:
    return "any target" if target == math.inf else f"{target:.3g}"


def _details(task: Task, outcome: Outcome) -> list[str]:
    lines = ["", f"{outcome.statement.algorithm}, {outcome.claim}", *(f"  {note}" for note in outcome.verdict_notes)]
    if outcome.step is None:
        return [*lines, f"  {outcome.why}"]
    step, bound = outcome.step, ledger[outcome.claim].bound
    lines.append(f"  of {bound.lhs if bound else outcome.claim}")
    chosen = "".join(f", {name} = {value:g}" for name, value in outcome.choice.items())
    lines.append(f"  local_lr = {step.size:.4g} of at most {step.largest:.4g} (param^2 / loss){chosen}")
    if step.binding:
        lines.append(f"  binds: {step.binding} (a step 1 % longer would lower the bound by {step.gain:.2g} %)")
    else:
        nearest = max(step.used, key=lambda name: step.used[name])
        lines.append(f"  no condition binds; the nearest, {nearest}, is used to {step.used[nearest]:.2%}")
    total = sum(outcome.terms.values())
    lines.append(f"  bound {step.bound:.6g}, of which")
    lines += [
        f"  {term / total if total else 0:>7.1%}  {name}"
        for name, term in sorted(outcome.terms.items(), key=lambda item: -item[1])
    ]
    moved = sorted(sensitivities(task, outcome).items(), key=lambda item: -item[1])
    moved = [(name, share) for name, share in moved if abs(share) >= SEEN]
    if moved:
        lines.append("  rounds with a tenth more of " + ", ".join(f"{name} {_change(share)}" for name, share in moved))
    return lines


def _change(share: float) -> str:
    return "out of reach" if share == math.inf else f"{share:+.0%}"


def _verdict(outcome: Outcome) -> str:
    return str(recorded().get(outcome.claim, {}).get("verdict", "not checked"))


def _shown(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"
