"""What plans need of who takes part, what they know of it, and what they take for granted."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.ledger import ledger
from fltheory.participation import (
    Bernoulli,
    Cyclic,
    Markov,
    ParticipationProcess,
    Periodic,
    Permutation,
    Recorded,
    UniformSubset,
)
from fltheory.planning import Outcome
from tests.fltheory.planning.tasks import CONSTANTS, only

OF_ONE_INTERVAL = {"interval": [4], "amplification": [2, 8]}
# Few coins may fall together, so that one participant has all the weight.
OF_COINS = {**CONSTANTS, "participation_norm": 1}
OF_TURNS = {**CONSTANTS, "participation_norm": 0.5, "weight_variance": 0.0075}  # five of 20 clients


def granted(outcome: Outcome) -> list[str]:
    return [note.removeprefix("Taken for granted: ") for note in outcome.verdict_notes if "granted" in note]


def test_what_is_taken_for_granted_of_who_takes_part_is_said(outcomes: dict[str, Outcome]) -> None:
    """With rates alone every theorem says what more it needs of participation; a process that has it ends the note."""
    assert all(granted(outcome) for outcome in outcomes.values())
    assert granted(outcomes["fedau.thm2"]) == [f"fedau.ass4, {ledger['fedau.ass4'].title}."]
    assert granted(only("fedau.thm2", process=Bernoulli([0.5, 0.7] * 10), constants=OF_COINS)) == []
    assert "snapshot" in granted(outcomes["fast.thm1"])[0]
    law = "weights have equal means and are independent over rounds, with the given weight_variance."
    somebody = "somebody takes part in every round."
    assert granted(outcomes["amplified.thm31.average"]) == [somebody, law, "the given participation_norm."]
    known = {**CONSTANTS, "interval_divergence": 0.01}
    given = "the given interval_divergence, participation_norm."
    assert granted(only("amplified.thm31.average", constants=known, choices=OF_ONE_INTERVAL)) == [somebody, given]
    assert "the given staleness." in granted(outcomes["fedlaavg.thm4"])


def test_a_process_without_what_a_theorem_assumes_has_no_plan() -> None:
    turns, coins = Periodic.block_cyclic(20, 4, 2), Bernoulli([0.25] * 20)
    rates = [0.25] * 20
    assert only("fedau.thm2", process=turns, rates=rates, constants=OF_TURNS).why.startswith(
        "fedau.ass4 does not hold for this process"
    )
    late = {**OF_COINS, "weight_variance": 0.01}
    why = only("fedlaavg.thm4", process=coins, rates=rates, constants=late).why
    assert why.startswith("fedlaavg.ass5 does not hold for this")
    assert only("fedau.thm2", process=coins, rates=rates, constants=late).rounds
    assert only("fedlaavg.thm4", process=turns, rates=rates, constants=OF_TURNS).rounds


VARIED = {**CONSTANTS, "weight_variance": 0.0025}  # of 10 of 20 clients: (1 / 10 - 1 / 20) / 20


def test_the_interval_divergence_of_unequal_or_dependent_rounds_is_not_that_of_proposition_47() -> None:
    """Its weights have equal means and are independent over rounds; a given constant is taken as it is."""
    needed = "amplified.thm31.average also needs interval_divergence."
    assert only("amplified.thm31.average", rates=[0.2, 0.9] * 10).why == needed
    turns = Periodic.block_cyclic(20, 4, 2)
    assert only("amplified.thm31.average", rates=[0.25] * 20, process=turns, constants=OF_TURNS).why == needed
    assert only("amplified.thm31.average", rates=[0.5] * 20, process=UniformSubset(20, 10), constants=VARIED).rounds
    known = {**CONSTANTS, "interval_divergence": 0.01}
    given = only("amplified.thm31.average", rates=[0.2, 0.9] * 10, constants=known, choices=OF_ONE_INTERVAL)
    assert given.rounds
    assert given.choice["interval"] == 4


@pytest.mark.parametrize(
    "process",
    [
        Periodic.block_cyclic(20, 4, 2, offset=0),
        Periodic.block_cyclic(20, 4, 2, offset="first_turn"),
        Recorded.from_matrix(np.repeat(np.eye(4), 5, axis=1), end="repeat"),
    ],
)
def test_a_schedule_may_have_no_variance(process: Periodic | Recorded) -> None:
    """Four groups of five take turns: who takes part when is no matter of chance, or of the first turn alone."""
    fixed = {**OF_TURNS, "weight_variance": 0, "interval_divergence": 0.01}
    changes = {"process": process, "rates": process.rate.tolist(), "constants": fixed, "choices": OF_ONE_INTERVAL}
    assert only("amplified.thm31.average", **changes).rounds


def test_all_clients_may_come_together() -> None:
    """Rates alone do not say that a round has few: only that, if none is empty, some have ten of the 20 at most."""
    common = {**CONSTANTS, "weight_variance": 0.0025}
    with pytest.raises(
        InputError, match=r"0\.3162277\d*, as some rounds have at most 10 of the clients, if none is empty"
    ):
        only("amplified.thm31.average", rates=[0.5], constants={**common, "participation_norm": 0.3})
    assert only("amplified.thm31.average", rates=[0.5], constants={**common, "participation_norm": 0.317}).rounds


OF_ONE_CUTOFF = {"global_lr": [1], "cutoff": [6]}


def test_a_given_square_of_weights_is_held_against_the_derived_error() -> None:
    """Of weights w = (1 - root W) / p the error is W, and no others with that error have a smaller p w^2."""
    below = only("fedau.thm2", rates=[0.5], constants={**VARIED, "weight_square": 0.1}, choices=OF_ONE_CUTOFF)
    assert below.rounds is None
    why = "weight_square must be at least (.*), as weights with a mean_weight_error of (.*) are so large at these rates"
    said = re.fullmatch(rf"{why}; got 0\.1\.", below.why)
    assert said
    least, error = map(float, said.groups())
    assert least == pytest.approx((1 - error**0.5) ** 2 / 0.5, rel=1e-5)
    exact = {**VARIED, "weight_square": 2}  # of weights 1 / p
    assert only("fedau.thm2", rates=[0.5], constants=exact, choices=OF_ONE_CUTOFF).rounds


TURNS_OF_TEN, PAIRS = Periodic.diurnal(20, on=4, off=20), UniformSubset(20, 2)
FIVES = Recorded.from_matrix([[1] * 20, [1] * 5 + [0] * 15], end="repeat")


@pytest.mark.parametrize(
    ("claim", "process", "sizes", "said"),
    [
        ("fedamd.thm46", PAIRS, {"cohort_size": 3}, "needs cohort_size = 3 clients in a round, and some rounds"),
        ("fedamd.thm46", PAIRS, {"cohort_size": 2}, ""),
        ("fedamd.thm46", Permutation(20, 2), {"cohort_size": 10}, "some rounds have at most 2."),
        ("fedamd.thm46", TURNS_OF_TEN, {"cohort_size": 1}, "and some rounds have none."),
        ("fedamd.thm46", FIVES, {"cohort_size": 6}, "some rounds have at most 5."),
        ("fast.thm1", FIVES, {"snapshot_clients": 6, "arbitrary_clients": 5}, "snapshot_clients = 6 clients"),
        ("fast.thm1", FIVES, {"snapshot_clients": 5, "arbitrary_clients": 6}, "arbitrary_clients = 6 clients"),
        ("fast.thm1", FIVES, {"snapshot_clients": 5, "arbitrary_clients": 5}, ""),
        ("fedlaavg.thm4", Permutation(20, 2), {"cohort_size": 5}, ""),  # fewer are taken where fewer are there
        ("fedamd.thm46", Bernoulli([0.9] * 20), {"cohort_size": 10}, ""),  # where fewer come they are seldom
        ("fedamd.thm46", Bernoulli([0.4] * 20), {"cohort_size": 10}, "some rounds have at most 8."),
        ("fedamd.thm46", Cyclic([0.5] * 20, 2), {"cohort_size": 10}, ""),
        ("fedamd.thm46", [0.45], {"cohort_size": 10}, "some rounds have at most 9."),
        ("fedamd.thm46", [0.5], {"cohort_size": 10}, ""),
        ("fedamd.thm46", [0.04], {"cohort_size": 10}, "some rounds have none."),
        ("fedamd.thm46", [], {"cohort_size": 20}, ""),
    ],
)  # fmt: skip
def test_no_more_clients_are_asked_than_rounds_have(
    claim: str, process: ParticipationProcess | list[float], sizes: dict[str, int], said: str
) -> None:
    rates = process if isinstance(process, list) else process.rate.tolist()
    known = {} if isinstance(process, list) else {"process": process}
    few = {**CONSTANTS, "participation_norm": 1, "weight_variance": 1, "staleness": 30, **sizes}
    few["selected_share"] = few["cohort_size"] / 20
    outcome = only(claim, constants=few, rates=rates, **known)
    assert bool(outcome.rounds) == (not said), outcome.why
    assert said in outcome.why


def test_the_share_of_rounds_that_fall_short_is_that_of_a_sum_of_coins() -> None:
    few = {**CONSTANTS, "participation_norm": 1, "weight_variance": 1, "staleness": 30}
    rates = np.linspace(0.2, 0.9, 20)
    for process in (Bernoulli(rates), Markov.from_stability(rates, 0.5), Cyclic(np.full(20, 0.5), 2)):
        told = only("fedamd.thm46", constants=few, rates=process.rate.tolist(), process=process).verdict_notes[-1]
        share = re.fullmatch(r"A share of (.*) of the rounds has fewer than cohort_size = 5 clients\.", told)
        assert share
        law = np.ones(1)
        for p in process.rate:
            law = np.convolve(law, [1 - p, p])
        assert float(share[1]) == pytest.approx(law[:5].sum(), rel=0.05)
    assert "share" not in only("fedamd.thm46", constants=few, rates=[0.5]).verdict_notes[-1]  # may come together


def test_a_kind_of_rounds_that_never_comes_asks_for_nobody() -> None:
    few = {**CONSTANTS, "participation_norm": 1, "weight_variance": 1, "snapshot_clients": 5, "arbitrary_clients": 9}
    rates = {"process": FIVES, "rates": FIVES.rate.tolist()}
    assert only("fast.thm1", constants=few, choices={"snapshot_rate": [1]}, **rates).rounds
    # Of the sizes to try those that fit are left.
    few.pop("arbitrary_clients")
    chosen = {"snapshot_rate": [0.95], "arbitrary_clients": [3, 9]}
    assert only("fast.thm1", constants=few, choices=chosen, **rates).choice["arbitrary_clients"] == 3


def test_amplified_updates_have_no_plan_where_a_round_may_be_empty() -> None:
    """No weights sum to one over nobody: with rates of 1e-6 next to all rounds do nothing."""
    few = {**VARIED, "participation_norm": 1, "weight_variance": 0.05}
    coins = Bernoulli([1e-6] * 20)
    why = only("amplified.thm31.average", rates=[1e-6] * 20, process=coins, constants=few, target=10).why
    assert why.endswith("wants somebody in every round, and this process leaves rounds empty.")
    assert only("amplified.thm31.average", rates=[1.0] * 20, process=Bernoulli([1.0] * 20), target=10).rounds
