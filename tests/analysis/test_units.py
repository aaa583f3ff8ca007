"""Every bound and condition has a unit check, and the statements whose units do not match are flagged."""

from __future__ import annotations

import pytest

from analysis.checks import all_checks, mutate, times
from analysis.checks.units import chosen, judged_by_units
from fltheory.ledger import ledger
from fltheory.symbols import initial_gap, smoothness

FLAGGED = {
    "amplified.cor33",
    "amplified.cor48",
    "fast.cor3",
    "fast.thm2.main",
    "fast.thm2.mixed",
    "fedamd.cor45",
    "fedamd.cor412",
    "fedamd.eq78",
    "fedamd.lemE2",
}


def flagged() -> set[str]:
    units = {id_: [c for c in checks if c.name == "homogeneous"] for id_, checks in all_checks().items()}
    found = {id_: {check.function(ledger[id_], "quick").verdict for check in checks} for id_, checks in units.items()}
    return {id_ for id_, verdicts in found.items() if verdicts - {"proved"}}


def test_every_bound_and_condition_has_a_unit_check() -> None:
    checks = all_checks()
    without = [
        id_
        for id_, claim in ledger.items()
        if (claim.bound or claim.conditions) and "homogeneous" not in [c.name for c in checks.get(id_, [])]
    ]
    assert without == []


def test_what_is_not_homogeneous_is_flagged_and_nothing_else() -> None:
    assert flagged() == FLAGGED


@pytest.mark.parametrize("id_", ["fedau.thm2", "fedau.thm3", "amplified.thm31", "fast.thm1", "fedamd.thm48"])
def test_what_is_homogeneous_passes(id_: str) -> None:
    assert judged_by_units(ledger[id_]).verdict == "proved"


def test_the_term_and_the_factor_are_named() -> None:
    claim = mutate("bound", "a term too many", lambda e: e + smoothness).apply(ledger["fedau.thm2"])
    found = judged_by_units(claim)
    assert found.verdict == "inconsistent"
    assert found.witness["bound, off by"] == "loss"
    whole = judged_by_units(times("bound", 2).apply(ledger["fedau.thm2"]))
    assert whole.verdict == "proved"
    wrong = judged_by_units(mutate("bound", "times a smoothness", lambda e: e * smoothness).apply(ledger["fedau.thm2"]))
    assert "its left-hand side" in wrong.summary
    read = judged_by_units(claim, hypothesis="L = 1")
    assert (read.verdict, read.hypothesis) == ("conditional", "L = 1")


def test_what_chooses_a_parameter_has_its_unit() -> None:
    claim = ledger["fedlaavg.cor1"]
    found = judged_by_units(mutate("step", "without L", lambda e: e * smoothness).apply(claim))
    assert (judged_by_units(claim).verdict, found.verdict) == ("proved", "inconsistent")
    assert found.witness == {"step, off by": "loss param^-2"}
    assert "amplification has unit loss param^-1, not 1" in judged_by_units(ledger["amplified.cor33"]).summary
    assert judged_by_units(ledger["fedamd.cor412"]).witness["global step, off by"] == "loss^-1 param^2"
    mended = ledger["fedamd.cor45.repaired"]
    without_gap = mutate("global_lr", "without L gap", lambda e: e.subs({smoothness: 1, initial_gap: 1})).apply(mended)
    assert (judged_by_units(mended).verdict, judged_by_units(without_gap).verdict) == ("proved", "inconsistent")


# Formulas that are called like a parameter and choose none.
NO_CHOICE = {
    "at the step", "average interval", "end of interval", "independent, probability", "interval divergence",
    "mean interval", "mean step", "mixing, probability", "printed step",
    "probability of K", "probability of k < K", "probability of no miner",
    "step of the exponent", "step variance", "times of step k",
}  # fmt: skip


def test_every_formula_that_is_called_like_a_parameter_is_read() -> None:
    words = {"step", "lr", "amplification", "cutoff", "probability", "interval", "epsilon"}
    called = {
        (claim.id, name)
        for claim in ledger.values()
        for name in claim.formulas
        if words & set(name.replace("_", " ").split())
    }
    unread = {name for id_, name in called if name not in chosen(ledger[id_])}
    assert unread == NO_CHOICE


def test_terms_are_named_in_the_letters_of_the_paper() -> None:
    found = judged_by_units(ledger["fast.thm2.main"])
    assert "K*eta*(1 - q)/(2*mu)" in found.summary
    assert "**" not in found.summary
    assert "local_lr" not in found.summary


def test_a_statement_that_fixes_the_unit_is_no_slip() -> None:
    (check,) = [c for c in all_checks()["fast.thm2.mixed_reverse"] if c.name == "homogeneous"]
    assert check.function(ledger["fast.thm2.mixed_reverse"], "quick").verdict == "proved"
    assert all(m.name.startswith(("bound", "step", "snapshots")) for m in check.mutants)
