"""The assumptions of a claim are those that its formulas need: they give the constants that stand there."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from analysis.checks import Mutant
from analysis.letters import symbols_of
from fltheory.ledger import Claim, ledger
from fltheory.verdicts import recorded
from tests.analysis.survivors import noticed


class _Ones:
    """Constants of a problem, all of them 1."""

    def __getattr__(self, name: str) -> float:
        return 1.0


ANY = SimpleNamespace(constants=_Ones(), max_gap=(1,), rate=(1.0,))  # a problem and a process of which all holds
# Letters that an assumption brings in, beside the constants that a problem can be asked for.
BRINGS = {
    **dict.fromkeys(("fedlaavg.ass4", "fedlaavg.ass5"), frozenset({"staleness"})),  # by Lemmas 1 and 5
}
ASKED = {claim.id: frozenset(claim.holds_for(ANY).constants) for claim in ledger.values() if claim.asks is not None}
GIVEN = ASKED | {id_: ASKED.get(id_, frozenset()) | letters for id_, letters in BRINGS.items()}

# What a statement names without an assumption that gives it.
WITHOUT = {
    "amplified.law.cyclic": "an exact law: the curvature of its quadratics",
    "fast.karim4": "a lemma from elsewhere; it is Assumption 2 in the letters of Lemma 4",
    "fast.law.floor": "its condition is that of Theorem 1, which it puts to the test",
    "fast.law.lower_bounds": "an exact law: the curvature of its quadratics",
    "fast.thm1.f": "algebra of the proof: any numbers",
    "fast.thm1.g": "algebra of the proof: any numbers",
    "fedamd.eq75": "its conditions are those of Theorem 4.4; its own step needs no more than Assumption 4.1",
    "fedamd.eq110": "algebra of the proof: any numbers",
    "fedamd.eq158": "algebra of the proof: any numbers",
    "fedamd.eq170": "algebra of the proof: any numbers",
    "fedau.law.stationary_variance": "an exact law: the standard deviation of its noise",
}
# What statements take from an assumption whose constant does not stand in them.
SAYS_MORE = {
    "fedamd.A42": "noise is independent over clients and samples",
    "fedau.ass4": "participation is independent over rounds, with these rates",
    "fedlaavg.ass2": "noise of different clients is independent",
}
IDLE = {
    ("amplified.eq11", "amplified.ass3"): "its d^2 is in the words; the formulas are the shares of two terms",
    ("fast.A8_A10", "fast.ass4"): "the objective is convex",
    ("fedamd.eq71", "fedamd.A41"): "made throughout the proof",
    ("fedamd.eq78", "fedamd.A43"): "made throughout the proof",
    ("fedamd.eq96", "fedamd.A41"): "made throughout the proof",
    ("fedamd.lemE1a", "fedamd.A41"): "made by the lemma as printed",
    ("fedau.eqB39", "fedau.ass3"): "bounds the divergence from f~, by Lemma B.3.1",
    ("fedau.lemB32", "fedau.ass3"): "bounds the divergence from f~, by Lemma B.3.1",
    ("fedau.lemB32.improved", "fedau.ass3"): "bounds the divergence from f~, by Lemma B.3.1",
    ("fedau.lemB33", "fedau.ass3"): "bounds the divergence from f~, by Lemma B.3.1",
    ("fedau.thm1", "fedau.ass1"): "made by Theorem B.4.1, on which it rests",
    ("fedau.thm1", "fedau.ass2"): "made by Theorem B.4.1, on which it rests",
    ("fedau.thm1", "fedau.ass3"): "made by Theorem B.4.1, on which it rests",
    ("fedau.thm2.option1", "fedau.ass5"): "its first option, which has no constant",
    ("fedlaavg.cor1.speedup", "fedlaavg.ass1"): "made by Corollary 1, on which it rests",
    ("fedlaavg.eq22", "fedlaavg.ass1"): "made throughout the proof",
    ("fedlaavg.eq22", "fedlaavg.ass3"): "made throughout the proof",
    ("fedlaavg.eq26", "fedlaavg.ass1"): "made throughout the proof",
    ("fedlaavg.eq26", "fedlaavg.ass3"): "made throughout the proof",
    ("fedlaavg.eq42", "fedlaavg.ass1"): "made throughout the proof",
    ("fedlaavg.eq42", "fedlaavg.ass3"): "made throughout the proof",
    **{(f"fedlaavg.{id_}", f"fedlaavg.ass{number}"): "once every client has taken part, which it makes sure of"
       for id_, number in (("eq22", 4), ("eq26", 4), ("eq42", 5), ("lem3", 4), ("lem7", 5))},
}  # fmt: skip
# What states no assumption and has those of what it rests on.
INHERITS = (
    "amplified.ass2.independent", "amplified.linspeed", "amplified.linspeed.attained", "amplified.remark_scaling",
    "amplified.tab1", "amplified.waitall", "fast.cor3", "fast.eq39", "fast.lem1", "fast.rem2", "fast.thm1.a",
    "fast.thm1.c", "fast.thm1.d", "fast.thm2.feasibility", "fedamd.ERR-15", "fedamd.cor45", "fedlaavg.eq34",
    "fedlaavg.eq35", "fedlaavg.eq53", "fedlaavg.eq55", "fedlaavg.exp.E",
    "fedlaavg.thm3.vacuous",
)  # fmt: skip
# Stated, as it is printed, and not needed: what is left without it is true, too.
NOT_NEEDED = {("fedamd.lemE1a", "fedamd.A41")}
STATED = [
    ledger[id_] for id_, entry in recorded().items()
    if entry["verdict"] in ("proved", "exact", "supported") and ledger[id_].assumes
]  # fmt: skip


def named(claim: Claim) -> frozenset[str]:
    """The constants in the formulas of a claim that some assumption of its paper gives."""
    known = frozenset().union(*(names for id_, names in GIVEN.items() if ledger[id_].paper == claim.paper))
    return known & symbols_of(claim.parts).keys()


def given(claim: Claim) -> frozenset[str]:
    """The constants that its assumptions give; of what inherits, those of what it rests on."""
    by_itself = claim.id not in INHERITS
    sources, open_ = set(), [*claim.assumes] if by_itself else [ledger[id_] for id_ in claim.uses]
    while open_:
        source = open_.pop()
        if source.id not in sources:
            sources.add(source.id)
            open_ += [] if by_itself else [*source.assumes, *(ledger[id_] for id_ in source.uses)]
    return frozenset().union(*(GIVEN.get(id_, frozenset()) for id_ in sources))


def test_every_constant_is_given_by_an_assumption() -> None:
    lacking = {claim.id for claim in ledger.values() if claim.kind != "assumption" and named(claim) - given(claim)}
    assert sorted(lacking) == sorted(WITHOUT)


def test_what_inherits_states_no_assumption_and_needs_one() -> None:
    assert all(named(ledger[id_]) and not ledger[id_].assumes for id_ in INHERITS)


def test_every_assumption_gives_a_constant_or_has_a_reason() -> None:
    pairs = [(claim, of) for claim in ledger.values() for of in claim.assumes if of.id in GIVEN]
    idle = {(claim.id, of.id) for claim, of in pairs if not GIVEN[of.id] & named(claim)}
    assert {of for _, of in idle} >= set(SAYS_MORE)
    assert sorted(pair for pair in idle if pair[1] not in SAYS_MORE) == sorted(IDLE)


def without(left_out: Claim) -> Mutant:
    """A claim that does not make this assumption."""

    def apply(claim: Claim) -> Claim:
        return replace(claim, assumes=tuple(of for of in claim.assumes if of is not left_out))

    return Mutant(f"without {left_out.id}", apply)


@pytest.mark.parametrize("claim", STATED, ids=lambda claim: claim.id)
def test_an_assumption_that_is_left_out_is_noticed(claim: Claim) -> None:
    """A letter has lost what gives it, or a check names a step that uses the assumption (`made_with`)."""
    missed = set()
    for left_out in claim.assumes:
        rest = without(left_out).apply(claim)
        if given(claim) & named(claim) == given(rest) & named(claim) and not noticed(claim, without(left_out)):
            missed.add((claim.id, left_out.id))
    assert missed == {pair for pair in NOT_NEEDED if pair[0] == claim.id}


@pytest.mark.parametrize(
    ("id_", "left_out"),
    [
        ("fast.A8_A10", "fast.ass2"),
        ("fast.A8_A10", "fast.ass1"),
        ("fast.thm1.repaired-A", "fast.ass3"),
        ("fedamd.thm411", "fedamd.A410"),
        ("fedau.lemB31", "fedau.ass3"),
    ],
)
def test_what_a_formula_needs_is_noticed_whatever_the_statement_rests_on(id_: str, left_out: str) -> None:
    claim = ledger[id_]
    assert left_out in [of.id for of in claim.assumes]
    rest = replace(claim, assumes=tuple(of for of in claim.assumes if of.id != left_out))
    assert named(rest) - given(rest) == GIVEN[left_out]
