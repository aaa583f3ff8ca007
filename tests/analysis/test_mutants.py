"""A check that cannot fail is worthless: each must judge falsified copies of its claim differently.

Runs one mutant a check at quick depth, and the plain falsifications (`tests.analysis.survivors`) of a few claims;
`make mutants` (`--mutants=all`) runs all.
"""

from __future__ import annotations

import pytest

from analysis.checks import Check, CheckBook, Mutant, all_checks, put, times
from analysis.verify import caught
from fltheory.errors import InputError
from fltheory.ledger import ledger
from tests.analysis.survivors import HARMLESS, cases, noticed

# Whose checks once lay within a condition, or read a formula in part only.
PLAIN = ("amplified.cor48.repaired", "fast.alg2.I1", "fedau.lemB71.improved")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "plain" in metafunc.fixturenames:
        every = metafunc.config.getoption("--mutants") == "all"
        metafunc.parametrize("plain", [id_ for id_ in ledger if all_checks().get(id_)] if every else PLAIN)
    if "mutant" not in metafunc.fixturenames:
        return
    wanted = None if metafunc.config.getoption("--mutants") == "all" else 1
    cases = [
        pytest.param(check, mutant, id=f"{check.name}: {mutant.name}")
        for checks in all_checks().values()
        for check in checks
        for mutant in check.mutants[:wanted]
    ]
    metafunc.parametrize(("check", "mutant"), cases)


def test_a_falsified_claim_is_caught(check: Check, mutant: Mutant) -> None:
    before, after = caught(check, mutant)
    assert after != before


def test_plain_falsifications_are_noticed_or_harmless(plain: str) -> None:
    missed = {mutant.name for claim, mutant in cases([ledger[plain]]) if not noticed(claim, mutant)}
    assert missed == {name for id_, name in HARMLESS if id_ == plain}


def test_a_check_without_mutants_is_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        CheckBook()(ledger["fedau.thm3"], mutants=[])


def test_a_mutant_that_changes_nothing_is_refused() -> None:
    claim = ledger["fedau.thm3"]
    assert times("bound", 2).apply(claim).bound != claim.bound
    with pytest.raises(InputError, match="a part of"):
        put("bound", "no_such_symbol", 1).apply(claim)
