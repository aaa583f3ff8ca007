"""What `fltheory plan` reads and prints."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fltheory.errors import InputError, one_of
from fltheory.ledger import ledger
from fltheory.planning import STATEMENTS, Outcome, Statement, Task
from fltheory.verdicts import recorded
from sims.algorithms import algorithms

_KEYS = ("target", "rates", "algorithms", "constants", "choices")
_RUN_AS = {"fedau": "fedavg", "fast": "fedavg"}  # FedAvg with weights or a selection of clients of their own


def read_plan(path: Path) -> tuple[Task, list[Statement]]:
    """The task of a plan file and the statements of the algorithms that it names (of all, if it names none).

    Raises InputError for a file that cannot be read, an unknown key, or a value that is not allowed.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("PLAN.toml", str(path), f"a file that can be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InputError("PLAN.toml", str(path), f"a TOML file ({error})") from None
    for key in content:
        if key not in _KEYS:
            raise InputError("key of PLAN.toml", key, one_of(key, _KEYS))
    if "target" not in content:
        raise InputError("PLAN.toml", str(path), "a file with a target")
    task = Task(content["target"], _table(content, "constants"), _table(content, "choices"), _list(content, "rates"))
    names = list(dict.fromkeys(statement.algorithm for statement in STATEMENTS))
    wanted = _list(content, "algorithms") if "algorithms" in content else names
    for name in wanted:
        if name not in names:
            raise InputError("algorithms", name, one_of(str(name), names))
    return task, [statement for statement in STATEMENTS if statement.algorithm in wanted]


def _table(content: dict[str, Any], key: str) -> dict[str, Any]:
    table = content.get(key, {})
    if not isinstance(table, dict):
        raise InputError(key, table, "a table")
    return table


def _list(content: dict[str, Any], key: str) -> list[Any]:
    given = content.get(key, [])
    if not isinstance(given, list):
        raise InputError(key, given, "a list")
    return given


def vectors(outcome: Outcome) -> float | None:
    """Parameter vectors sent to and from clients until the target is reached, in the mean."""
    if outcome.client_rounds is None:
        return None
    algorithm = algorithms()[_RUN_AS.get(outcome.statement.algorithm, outcome.statement.algorithm)]
    return outcome.client_rounds * (algorithm.down + algorithm.up)


def to_json(task: Task, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The target and one entry a statement; what does not apply is left out."""
    return {"target": task.target, "plans": [_entry(outcome) for outcome in outcomes]}


def _entry(outcome: Outcome) -> dict[str, Any]:
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
        "client_rounds": outcome.client_rounds,
        "local_steps": None if outcome.client_rounds is None else outcome.client_rounds * outcome.local_steps,
        "vectors": vectors(outcome),
    }


def as_text(task: Task, outcomes: Sequence[Outcome]) -> str:
    """A table across algorithms, then each plan by itself."""
    head = f"{'algorithm':<11}{'statement':<26}{'verdict':<12}{'rounds':>13}{'client-rounds':>15}{'vectors':>13}"
    planned = sorted((o for o in outcomes if o.rounds is not None), key=lambda outcome: outcome.rounds or 0)
    rows = [
        f"{o.statement.algorithm:<11}{o.claim:<26}{_verdict(o):<12}{o.rounds:>13,}"
        f"{_shown(o.client_rounds):>15}{_shown(vectors(o)):>13}"
        for o in planned
    ]
    first = f"Mean squared gradient norm at most {task.target:g} (loss^2 / param^2), as the theorems promise it:"
    details = [line for outcome in (*planned, *(o for o in outcomes if o.rounds is None)) for line in _details(outcome)]
    return "\n".join([first, "", *([head, *rows] if rows else ["No statement promises it."]), *details])


def _details(outcome: Outcome) -> list[str]:
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
    return lines


def _verdict(outcome: Outcome) -> str:
    return str(recorded().get(outcome.claim, {}).get("verdict", "not checked"))


def _shown(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"
