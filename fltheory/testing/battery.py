"""A battery: named checks, each of which tells in a sentence what is wrong, at the smallest example it finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import hypothesis
import numpy as np
from hypothesis import HealthCheck
from hypothesis.errors import Flaky, NoSuchExample
from hypothesis.strategies import SearchStrategy

from fltheory.errors import InputError, one_of

Example = TypeVar("Example")
Check = Callable[[], str | None]

MOST_DRAWN = 200  # rounds
SEARCH = hypothesis.settings(
    max_examples=150, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


class CheckFailed(AssertionError):
    """Something that must hold does not. `failures` maps the name of each failed check to what is wrong."""

    def __init__(self, subject: str, failures: Mapping[str, str]) -> None:
        self.failures = dict(failures)
        told = "\n".join(f"- {name}: {text}" for name, text in failures.items())
        super().__init__(f"{subject} fails {len(failures)} of its checks\n{told}")


def run(subject: str, checks: Mapping[str, Check], expected_failures: Mapping[str, str]) -> None:
    """Run all checks, raise CheckFailed if any fails.

    A check in `expected_failures` (name -> reason) must fail, so that no reason outlives its fault. Raises
    InputError for a name that is no check, or a reason that is empty.
    """
    for name, reason in expected_failures.items():
        if name not in checks:
            raise InputError("expected_failures", name, one_of(name, checks))
        if not (isinstance(reason, str) and reason.strip()):
            raise InputError("expected_failures", {name: reason}, "a reason, in words, for each check")
    failures = {}
    for name, check in checks.items():
        wrong = outcome(check)
        if name in expected_failures:
            wrong = None if wrong else f"passes, although it was said to fail ({expected_failures[name]})"
        if wrong:
            failures[name] = wrong
    if failures:
        raise CheckFailed(subject, failures)


def outcome(check: Check) -> str | None:
    """What a check tells; an exception is told as what is wrong."""
    try:
        return check()
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"


def examples_of(strategy: SearchStrategy[Example]) -> list[Example]:
    """The examples that `smallest` begins with: drawing them takes longer than most checks do."""
    examples: list[Example] = []

    def keep(example: Example) -> bool:
        examples.append(example)
        return False

    with suppress(NoSuchExample):
        hypothesis.find(strategy, keep, settings=SEARCH)
    return examples


def smallest(
    strategy: SearchStrategy[Example], examples: list[Example], wrong: Callable[[Example], str | None]
) -> str | None:
    """What is wrong at the smallest example of the strategy for which anything is; None if none of `examples` is."""

    def fails(example: Example) -> bool:
        return outcome(lambda: wrong(example)) is not None

    if not any(map(fails, examples)):
        return None
    try:
        found = hypothesis.find(strategy, fails, settings=SEARCH)
    except (Flaky, NoSuchExample):
        return "not the same when asked twice"
    return outcome(lambda: wrong(found)) or "not the same when asked twice"


def drawn(history: Any) -> str:
    """A participation history (rounds, clients) as text: a line a client, x for a round with it and . without."""
    array = np.asarray(history)
    if array.size == 0:
        return f"no participation: {array.shape[0]} rounds, {array.shape[1]} clients"
    if array.shape[0] > MOST_DRAWN:
        return f"{array.shape[0]} rounds of {array.shape[1]} clients"
    lines = ["".join("x" if seen else "." for seen in column) for column in array.T]
    return "; ".join(f"client {n}: {line}" for n, line in enumerate(lines))
