"""The plans by all statements, made once."""

from __future__ import annotations

import pytest

from fltheory.planning import STATEMENTS, Outcome, plan
from tests.fltheory.planning.tasks import task_of


@pytest.fixture(scope="session")
def outcomes() -> dict[str, Outcome]:
    return {statement.claim: plan(task_of(statement), [statement])[0] for statement in STATEMENTS}
