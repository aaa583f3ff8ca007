"""Every theorem of the ledger is judged, and what is said of an assumption is what the log shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from analysis.trace_report.assumptions import (
    JUDGES,
    Facts,
    ruling,
    rulings,
)
from analysis.trace_report.fits import fits
from analysis.trace_report.gaps import absences
from analysis.trace_report.hypotheses import independent_clients, independent_rounds, steady_rates
from analysis.traces import Log
from fltheory.assumptions import Holding, about_participation, bounded_gaps
from fltheory.ledger import Paper, ledger
from fltheory.participation import Bernoulli, Markov
from tests.analysis.trace_report.logs import dense, sampled


def facts(log: Log) -> Facts:
    return Facts(log, absences(log), [steady_rates(log), independent_rounds(log), independent_clients(log)])


def test_every_theorem_of_the_ledger_appears_with_all_it_assumes() -> None:
    found = rulings(facts(sampled(Bernoulli([0.5, 0.3]), 50, 0)))
    wanted = {id_ for id_, claim in ledger.items() if claim.kind in ("theorem", "proposition", "corollary")}
    assert set(found) == wanted
    assert {ledger[id_].kind for id_ in found} == {"theorem", "proposition", "corollary"}
    for id_, one in found.items():
        assert set(one.assumptions) == {assumption.id for assumption in ledger[id_].assumes}
        assert set(one.objectives) <= set(one.assumptions)


def test_every_assumption_on_participation_has_a_judge() -> None:
    asked = [
        claim
        for claim in ledger.values()
        if claim.kind == "assumption" and claim.asks and about_participation(claim.asks)
    ]
    assert {claim.id for claim in asked} == {"fedau.ass4", "fedlaavg.ass4", "fedlaavg.ass5"}
    assert {claim.asks for claim in asked} == set(JUDGES)


def test_a_window_is_read_off_the_log() -> None:
    log = dense([[1, 0], [0, 1], [0, 0], [1, 0], [0, 1], [1, 1]])
    found = ruling(ledger["fedlaavg.ass4"], facts(log))
    assert (found.word, found.client, found.round, found.constants) == ("holds", "0", 1, {"window": 3})
    assert "E = 3" in found.why
    assert "Client 0 was off longest" in found.why
    theorem = rulings(facts(log))["fedlaavg.thm3"]
    assert theorem.ruling.word == "holds"
    assert theorem.ruling.constants == {"window": 3}
    assert theorem.objectives == ("fedlaavg.ass1", "fedlaavg.ass2", "fedlaavg.ass3")
    assert theorem.assumptions["fedlaavg.ass1"].word == "cannot be told"


def test_a_theorem_that_wants_somebody_in_every_round_is_told_of_rounds_with_nobody() -> None:
    on = np.array([[1, 0], [0, 1], [0, 0], [0, 0]])
    everything, partly, nowhere = (np.array([[1, 1], [1, 1], last, last]) for last in ([1, 1], [1, 0], [0, 0]))
    found = {name: rulings(facts(dense(on, each))) for name, each in {"all": everything, "some": partly}.items()}
    for id_ in ("amplified.thm31.average", "amplified.thm31", "amplified.cor33.repaired"):
        one = found["all"][id_].ruling
        assert (one.word, one.round) == ("fails", 2)
        assert one.why == "somebody in every round: Nobody took part in 2 of 4 rounds, first in round 2."
        assert found["some"][id_].ruling.word == "cannot be told"
    unwatched = rulings(facts(dense(on, nowhere)))["amplified.thm31.average"].ruling
    assert (unwatched.word, unwatched.round) == ("cannot be told", 2)
    assert rulings(facts(dense(on[:2])))["amplified.thm31.average"].ruling.word == "holds"
    assert found["all"]["amplified.prop47.average"].somebody is None


def test_a_client_that_never_came_may_come_after_the_log() -> None:
    on = np.array([[1, 0], [1, 0], [1, 0]])
    found = ruling(ledger["fedlaavg.ass4"], facts(dense(on, np.ones_like(on))))
    assert (found.word, found.client, found.round) == ("cannot be told", "1", 0)
    assert "E is more than the 3 rounds of the log" in found.why
    assert rulings(facts(dense(on, np.ones_like(on))))["fedlaavg.thm4"].ruling.word == "cannot be told"


def test_unobserved_rounds_leave_it_open() -> None:
    on = np.array([[1, 0], [1, 0], [1, 0]])
    half = facts(dense(on, np.array([[1, 1], [1, 0], [1, 1]])))
    found = ruling(ledger["fedlaavg.ass4"], half)
    assert (found.word, found.client) == ("cannot be told", "1")
    gap = np.array([[1], [0], [0], [1]])
    found = ruling(ledger["fedlaavg.ass4"], facts(dense(gap, np.array([[1], [1], [0], [1]]))))
    assert (found.word, found.constants) == ("holds", {"window": 3})
    assert "E is from 2 to 3" in found.why


def test_coins_are_refuted_or_left_open_and_never_proved() -> None:
    ass4 = ledger["fedau.ass4"]
    assert ruling(ass4, facts(sampled(Bernoulli([0.2, 0.5, 0.7]), 300, 0))).word == "cannot be told"
    log = sampled(Markov([0.2, 0.5, 0.7]), 300, 0)
    found = ruling(ass4, facts(log))
    assert found.word == "fails"
    n = int(independent_rounds(log).clients[0])
    assert (found.client, found.round) == (str(n), absences(log).sure_from[n])
    together = np.repeat(np.random.default_rng(0).random((200, 1)) < 0.5, 6, axis=1)
    crowd = ruling(ass4, facts(dense(together)))
    assert (crowd.word, crowd.client) == ("fails", None)
    assert "independent clients" in crowd.why


def test_coins_that_no_test_rejects_though_the_likelihood_does() -> None:
    """Two rounds on, six off: the runs of six clients are no proof against coins, the period is."""
    log = dense(np.stack([(np.arange(64) + start) % 8 < 2 for start in range(6)], axis=1))
    found = ruling(ledger["fedau.ass4"], replace(facts(log), fits=fits(log)))
    assert found.word == "cannot be told"
    assert "No test rejects it, which is no proof; but the likelihood clearly prefers cyclic" in found.why
    coins = sampled(Bernoulli([0.2, 0.5, 0.7]), 300, 0)
    assert ruling(ledger["fedau.ass4"], replace(facts(coins), fits=fits(coins))).why.endswith("is no proof.")


def test_steadiness_is_not_refuted_by_a_test_that_presumes_what_is_rejected() -> None:
    found = facts(sampled(Markov([0.3] * 30, 0.1), 600, 1))
    assert {one.name for one in found.findings if one.rejected} == {"steady rates", "independent rounds"}
    assert ruling(ledger["fedau.ass4"], found).why.startswith("Rejected: independent rounds (p = 2e-79); client")


def test_assumptions_of_others_are_sorted_by_what_they_ask() -> None:
    paper = Paper("mine", "Mine", edition="draft")

    def new(problem: Any) -> Holding:
        return Holding(len(problem.max_gap) > 0, {})

    objective = paper.assumption("a1", "A", where="1", words=".", asks=ledger["fast.ass1"].asks)
    gaps = paper.assumption("a2", "B", where="1", words=".", asks=bounded_gaps)
    nothing = paper.assumption("a3", "C", where="1", words=".")
    assert [about_participation(one.asks) for one in (objective, gaps)] == [False, True]
    log = facts(dense([[1], [0], [1]]))
    assert [ruling(one, log).word for one in (objective, gaps, nothing)] == [
        "cannot be told",
        "holds",
        "cannot be told",
    ]
    other = paper.assumption("a4", "D", where="1", words=".", asks=new)
    assert "No judge" in ruling(other, log).why
