"""Plans against brute force on grids, their limits, and statements that may not be used."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import sympy

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
from fltheory.planning import MEASURES, MOST_ROUNDS, STATEMENTS, Outcome, Statement, Task, plan, usable
from fltheory.planning.statements import Values
from fltheory.planning.steps import holds, largest_step, on_steps
from fltheory.verdicts import recorded

CONSTANTS = {
    "n_clients": 20, "initial_gap": 1.5, "smoothness": 0.7, "noise_std": 0.5, "heterogeneity": 0.2, "local_steps": 4,
    "gradient_bound": 0.6, "objective_gradient_bound": 0.3, "staleness": 6, "selected_share": 0.25,
    "participation_norm": 0.4, "weight_variance": 0.002, "snapshot_clients": 8, "arbitrary_clients": 5,
    "cohort_size": 5, "anchor_batch": 30, "batch_size": 4, "subsampled": 1, "noise_smoothness": 1.1,
    "strong_convexity": 0.3, "polyak_lojasiewicz": 0.4, "start_distance_square": 5.0,
}  # fmt: skip
CHOICES = {
    "global_lr": [1, 5], "cutoff": [6, 12], "interval": [4, 16], "amplification": [2, 8], "snapshot_rate": [0.9, 0.95],
    "anchor_period": [2, 3], "anchor_probability": [0.3, 0.6],
}  # fmt: skip
TASK = Task(0.1, CONSTANTS, CHOICES, [0.5, 0.7] * 10)
EACH = pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.claim)


def task_of(statement: Statement) -> Task:
    """Amplified FedAvg has its interval divergence from Proposition 4.7, which is about equal means."""
    rates = [0.6] if statement.algorithm == "amplified" else TASK.rates
    return replace(TASK, measure=statement.measure, rates=rates)


def numbers(statement: Statement, choice: Values, rounds: int) -> dict[str, float]:
    below = [usable(id_, recorded())[0] for id_ in statement.rests_on]
    given = {**CONSTANTS, **choice, statement.rounds: rounds}
    return {**statement.derive(given, task_of(statement), below), **given}


def smallest_on_a_grid(outcome: Outcome, choice: Values, rounds: int) -> float:
    """The smallest bound over 4,000 steps, of those at which every condition is true; infinite without one."""
    claim, values = ledger[outcome.claim], numbers(outcome.statement, choice, rounds)
    steps = np.geomspace(1e-8, 10, 4000)

    def on_grid(part: sympy.Basic) -> np.ndarray:
        names = sorted(symbol.name for symbol in part.free_symbols)
        by_name = {symbol.name: symbol for symbol in part.free_symbols}
        function = sympy.lambdify([by_name[name] for name in names], part, "numpy")
        # 1 / (1 - 2 L step) or (1 - step)^rounds, where no condition holds
        with np.errstate(divide="ignore", over="ignore"):
            here = function(*(steps if name == "local_lr" else float(values[name]) for name in names))
        return np.broadcast_to(here, steps.shape)

    admitted = np.all([on_grid(condition) for condition in claim.conditions.values()], axis=0)
    return float(np.min(on_grid(claim.bound.rhs), where=admitted, initial=np.inf))


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return {statement.claim: plan(task_of(statement), [statement])[0] for statement in STATEMENTS}


@EACH
def test_fewest_rounds_of_all_steps_and_choices(statement: Statement, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[statement.claim]
    assert outcome.step is not None, outcome.why
    assert 1 < outcome.rounds < MOST_ROUNDS
    claim = ledger[outcome.claim]
    here = {**numbers(statement, outcome.choice, outcome.rounds), "local_lr": outcome.step.size}
    assert claim.bound.at(**here) == outcome.step.bound <= TASK.target
    assert all(holds(condition, here) for condition in claim.conditions.values())
    assert sum(outcome.terms.values()) == pytest.approx(outcome.step.bound, rel=1e-12)
    assert outcome.step.bound <= smallest_on_a_grid(outcome, outcome.choice, outcome.rounds) * (1 + 1e-12)
    for rounds in {outcome.rounds - 1, outcome.rounds // 2}:
        assert smallest_on_a_grid(outcome, outcome.choice, rounds) > TASK.target
    for name, value in outcome.choice.items():  # the other values of one parameter
        (other,) = set(CHOICES[name]) - {value}
        assert smallest_on_a_grid(outcome, {**outcome.choice, name: other}, outcome.rounds - 1) > TASK.target


@EACH
def test_more_rounds_never_raise_the_smallest_bound(statement: Statement, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[statement.claim]
    found = [smallest_on_a_grid(outcome, outcome.choice, rounds) for rounds in (1, 2, 3, 40, 41, 10**4, MOST_ROUNDS)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < TASK.target


@EACH
def test_the_largest_step_is_the_last_one(statement: Statement, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[statement.claim]
    conditions = on_steps(ledger[outcome.claim])
    assert not {"rounds", "iterations"} & {s.name for c in conditions.values() for s in c.free_symbols}
    values = numbers(statement, outcome.choice, outcome.rounds)
    largest = largest_step(conditions, values)
    assert outcome.step.largest == largest

    def admitted(step: float) -> bool:
        return all(holds(condition, {**values, "local_lr": step}) for condition in conditions.values())

    assert all(admitted(step) for step in (largest, *np.geomspace(1e-9 * largest, largest, 20)[:-1].tolist()))
    assert not any(admitted(largest * factor) for factor in (1 + 1e-12, 1.1, 10.0, 1e6))


def only(claim: str, **changes: object) -> Outcome:
    (statement,) = [statement for statement in STATEMENTS if statement.claim == claim]
    return plan(replace(task_of(statement), **changes), [statement])[0]


def test_without_noise_and_differences_the_longest_step_is_best() -> None:
    constants = {**CONSTANTS, "noise_std": 0, "heterogeneity": 0, "smoothness": 1.0, "initial_gap": 1.0}
    outcome = only("fast.thm1", constants=constants, choices={"snapshot_rate": [1]}, target=0.1001)
    assert outcome.rounds == 440  # 4 gap 11 K L / (K T) <= 0.1001
    assert outcome.step.size == outcome.step.largest
    assert outcome.step.binding == "step"
    assert outcome.step.gain == pytest.approx(1, rel=1e-2)


def test_fedau_when_everybody_participates() -> None:
    outcome = only("fedau.thm2", rates=[1.0], choices={"global_lr": [2], "cutoff": [1, 3]})
    values = numbers(outcome.statement, outcome.choice, outcome.rounds)
    assert outcome.choice == {"global_lr": 2, "cutoff": 1}
    assert outcome.client_rounds == 20 * outcome.rounds
    everybody = outcome.statement.derive(values, replace(TASK, rates=[1.0]), [ledger["fedau.thm3"]])
    assert everybody["weight_square"] == 1
    assert everybody["mean_weight_error"] == ledger["fedau.thm3"].bound.at(rate=1, cutoff=1, rounds=outcome.rounds)


def test_costs_count_who_computes(outcomes: dict[str, Outcome]) -> None:
    assert outcomes["fedau.thm2"].participants == pytest.approx(12)
    assert outcomes["fedlaavg.thm4"].participants == 5
    assert outcomes["fast.thm1"].participants == pytest.approx(8 * 0.95 + 5 * 0.05)
    assert only("fedau.thm2", rates=[]).why == "fedau.thm2 also needs mean_weight_error, weight_square."


def test_staleness_follows_from_the_window_of_availability() -> None:
    """Lemma 5: ceil(N / K) E - 1; a given one goes before, and then nothing is said of the lemma."""
    given = {name: value for name, value in CONSTANTS.items() if name not in ("staleness", "selected_share")}
    outcome = only("fedlaavg.thm4", constants={**given, "cohort_size": 6, "window": 3})
    same = only("fedlaavg.thm4", constants={**CONSTANTS, "cohort_size": 6, "selected_share": 0.3, "staleness": 11})
    assert outcome.rounds == same.rounds
    assert outcome.participants == 6
    assert any(note.startswith("fedlaavg.lem5 is conditional") for note in outcome.verdict_notes)
    assert not any("lem5" in note for note in same.verdict_notes)


def test_ages_may_stay_below_a_window() -> None:
    """It is an upper end; in cohorts of 5 of 20 clients ages of 3 are possible."""
    only("fedlaavg.thm4", constants={**CONSTANTS, "window": 20, "staleness": 3})


def test_the_most_that_smooth_objectives_have_is_allowed() -> None:
    quadratic = {"smoothness": 0.7, "strong_convexity": 0.7, "polyak_lojasiewicz": 0.7, "initial_gap": 1.75}
    replace(TASK, constants={**CONSTANTS, **quadratic})


def test_no_more_take_part_than_are_available() -> None:
    """A quarter of 20 clients, or the fewer that are there in the mean."""
    few = {**CONSTANTS, "participation_norm": 1, "staleness": 9, "weight_variance": 0.05}
    assert only("fedlaavg.thm4").participants == 5
    assert only("fedlaavg.thm4", rates=[0.1], constants=few).participants == pytest.approx(2)
    assert only("fedlaavg.thm4", rates=[]).participants == 5


def test_only_statements_about_the_measure_are_asked() -> None:
    found = {measure: [o.statement.claim for o in plan(replace(TASK, measure=measure))] for measure in MEASURES}
    assert found["squared_distance"] == ["fast.thm2.main"]
    assert found["objective_gap"] == ["fedamd.thm411", "fedamd.thm411.improved"]
    assert sorted(claim for claims in found.values() for claim in claims) == sorted(
        statement.claim for statement in STATEMENTS
    )


def test_strongly_convex_rounds_in_closed_form() -> None:
    """Without noise and differences: start exp(-mu K eta R) <= target at the longest step, 1 / (20 K L m)."""
    quiet = {**CONSTANTS, "noise_std": 0, "heterogeneity": 0}
    outcome = only("fast.thm2.main", constants=quiet, choices={"snapshot_rate": [1]})
    step = min(1 / (20 * 4 * 0.7 * 8), 0.3 / (16 * 4 * 0.7**2))
    assert outcome.step.size == pytest.approx(step)
    assert outcome.rounds == math.ceil(math.log(5.0 / 0.1) / (0.3 * 4 * step))


def test_what_is_refuted_is_replaced_and_that_is_said(outcomes: dict[str, Outcome]) -> None:
    verdicts = recorded()
    for outcome in outcomes.values():
        assert verdicts[outcome.claim]["verdict"] in ("supported", "exact", "proved")
    fast = outcomes["fast.thm1"]
    assert fast.claim == "fast.thm1.repaired-A"
    assert fast.verdict_notes[0] == "fast.thm1 is refuted, so its repaired twin fast.thm1.repaired-A is used."
    assert outcomes["amplified.thm31.average"].verdict_notes[0] == (
        "amplified.prop41 is refuted, so its repaired twin amplified.prop41.repaired is used."
    )


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        ("fedau.thm2", "fedau.thm2"),
        ("fedau.thm2", "fedau.thm3"),
        ("fedlaavg.thm3", "fedlaavg.thm3.improved"),
        ("amplified.thm31.average", "amplified.prop41.repaired"),
    ],
)
@pytest.mark.parametrize("verdict", ["refuted", "inconsistent", "not checked"])
def test_no_plan_rests_on_a_statement_that_fell(
    monkeypatch: pytest.MonkeyPatch, claim: str, changed: str, verdict: str
) -> None:
    entries = {**recorded(), changed: {**recorded()[changed], "verdict": verdict}}
    monkeypatch.setattr("fltheory.planning.rounds.recorded", lambda: entries)
    outcome = only(claim)
    assert outcome.rounds is None
    assert outcome.why.endswith(f"{changed} is {verdict} and no repaired twin can be used.")


def test_a_twin_in_place_of_a_conditional_statement_says_what_that_needs(outcomes: dict[str, Outcome]) -> None:
    (note, *_) = outcomes["fedlaavg.thm4"].verdict_notes
    assert note.startswith(
        "fedlaavg.thm4 is conditional (it needs the availability sets do not depend on the sampled data"
    )
    assert note.endswith("), so its repaired twin fedlaavg.thm4.repaired is used.")


def test_a_conditional_statement_says_what_it_needs() -> None:
    evidence = [{"verdict": "conditional", "hypothesis": "coins"}]
    entries = {**recorded(), "fedau.thm2": {"verdict": "conditional", "evidence": evidence}}
    assert usable("fedau.thm2", entries) == (ledger["fedau.thm2"], "fedau.thm2 is conditional: it needs coins.")


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


def test_a_target_out_of_reach_is_explained() -> None:
    outcome = only("fast.thm1", constants={**CONSTANTS, "heterogeneity": 1.0}, choices={"snapshot_rate": [0.5]})
    assert outcome.rounds is None
    assert outcome.why.startswith("No step size brings fast.thm1.repaired-A to 0.1 within 2^40 rounds")
    assert "heterogeneity**2*(4 - 4*snapshot_rate) alone is still 2 with heterogeneity = 1" in outcome.why


def test_a_condition_that_no_step_can_mend_is_named() -> None:
    why = only("fedamd.thm46", choices={"anchor_period": [1], "global_lr": [1]}).why
    assert why.startswith("The condition fedamd.thm46, period does not hold: anchor_period >= 2 with anchor_period = 1")


@pytest.mark.filterwarnings("error")
def test_a_bound_beyond_floats_is_out_of_reach() -> None:
    far = {**CONSTANTS, "initial_gap": 1e308}
    del far["start_distance_square"]
    assert "initial_gap" in only("fast.thm1", constants=far).why


def test_a_bound_of_zero_takes_one_round() -> None:
    nothing = {**CONSTANTS, "initial_gap": 0, "noise_std": 0, "heterogeneity": 0}
    outcome = only("fast.thm1", constants=nothing, choices={"snapshot_rate": [1]})
    assert (outcome.rounds, outcome.step and outcome.step.bound) == (1, 0)


def test_a_bound_that_is_undefined_is_no_plan() -> None:
    alone = {**CONSTANTS, **dict.fromkeys(("n_clients", "snapshot_clients", "arbitrary_clients", "cohort_size"), 1)}
    alone |= {"participation_norm": 1, "selected_share": 1}
    outcome = only("fast.thm1", constants=alone, choices={"snapshot_rate": [1]}, rates=[])
    assert outcome.rounds is None
    assert outcome.why == "fast.thm1.repaired-A divides by n_clients - 1, which is 0 with n_clients = 1."
    beyond = {**CONSTANTS, "heterogeneity": 1e150, "weight_variance": 1e150}
    assert only("amplified.thm31.average", constants=beyond).why.endswith("is not defined for these constants.")


def test_a_cutoff_whose_square_is_beyond_floats_is_none() -> None:
    assert only("fedau.thm2", choices={"global_lr": [1], "cutoff": [10**200]}).rounds is None


def test_missing_constants_are_named() -> None:
    few = {name: CONSTANTS[name] for name in ("smoothness", "initial_gap", "n_clients")}
    assert only("fedlaavg.thm3", constants=few, choices={}).why == (
        "fedlaavg.thm3.improved also needs gradient_bound, noise_std, selected_share, staleness."
    )


BAD = {
    "unknown measure": ({"measure": "objective_gab"}, "did you mean objective_gap?"),
    "no target": ({"target": 0}, "target must be a number above 0; got 0"),
    "unknown name": ({"constants": {"smoothnes": 1}}, "did you mean 'smoothness'?"),
    "outside its domain": ({"constants": {"smoothness": -1}}, "smoothness must be > 0; got -1"),
    "a choice outside its domain": ({"choices": {"interval": [2.5]}}, "interval must be whole number >= 1; got 2.5"),
    "a choice that is no list": ({"choices": {"interval": 2}}, "choices interval must be a list of values; got 2"),
    "constant and choice": ({"choices": {"n_clients": [3]}}, "no constant too"),
    "what the plan seeks": ({"choices": {"local_lr": [0.1]}}, "which is what the plan seeks"),
    "no probability": ({"choices": {"snapshot_rate": [1.5]}}, "snapshot_rate must be a probability in [0, 1]"),
    "no cutoff at all": ({"choices": {"cutoff": [5, float("inf")]}}, "cutoff must be finite; got inf"),
    "a cutoff beyond floats": ({"choices": {"cutoff": [10**400]}}, "cutoff must be finite; got 1000"),
    "more than all clients": (
        {"constants": {**CONSTANTS, "cohort_size": 21}},
        "cohort_size must be at most n_clients = 20",
    ),
    "a choice of more than all": (
        {"constants": {"n_clients": 3}, "choices": {"arbitrary_clients": [2, 4]}, "rates": []},
        "got 4",
    ),
    "a rate too many": ({"rates": [0.5] * 3}, "one rate, or one for each of n_clients = 20"),
    "a choice of facts": (
        {"constants": {}, "choices": {"n_clients": [3, 40], "cohort_size": [10]}, "rates": []},
        "choices must be without n_clients",
    ),
    "a window to choose": ({"choices": {"window": [1, 50]}}, "choices must be without window"),
    "ages below an absence": (
        {"constants": {"n_clients": 20, "staleness": 3, "window": 30}, "rates": [0.2], "choices": {}},
        "staleness must be at least 4, as a rate of 0.2 has clients away for 4 rounds in a row; got 3",
    ),
    "more convex than smooth": (
        {"constants": {**CONSTANTS, "strong_convexity": 0.71}},
        "strong_convexity must be at most smoothness = 0.7, as it is for every objective; got 0.71",
    ),
    "a larger gradient than that of smooth objectives": (
        {"constants": {**CONSTANTS, "polyak_lojasiewicz": 0.71}},
        "polyak_lojasiewicz must be at most smoothness = 0.7, as it is for every objective; got 0.71",
    ),
    "a higher start than its distance allows": (
        {"constants": {**CONSTANTS, "initial_gap": 1.76}},
        "initial_gap must be at most smoothness * start_distance_square / 2 = 1.75, as it is for every objective",
    ),
    "ages below those of turns": (
        {"constants": {"n_clients": 20, "cohort_size": 5, "staleness": 2}},
        "staleness must be at least 3, as 20 clients take turns in cohorts of 5; got 2",
    ),
    "ages below those of chosen turns": (
        {"constants": {"n_clients": 20, "staleness": 3}, "choices": {"cohort_size": [5, 4]}},
        "staleness must be at least 4, as 20 clients take turns in cohorts of 4",
    ),
    "ages below those of shares": (
        {"constants": {"n_clients": 20, "selected_share": 0.1, "staleness": 8}},
        "staleness must be at least 9",
    ),
    "weights that do not sum to one": (
        {"constants": {**CONSTANTS, "participation_norm": 0.2}, "rates": []},
        "participation_norm must be at least 0.2236067977, as some rounds have at most 20 of the clients; got 0.2",
    ),
    "a window that turns do not keep": (
        {"process": Cyclic([0.25] * 20, period=8), "constants": {**CONSTANTS, "window": 6}},
        "window must be at least 7, as this process has clients away for 6 rounds in a row; got 6",
    ),
    "ages that turns do not keep": (
        {"process": Permutation(20, 5), "constants": {**CONSTANTS, "weight_variance": 0.01, "staleness": 5}},
        "staleness must be at least 6, as this process has clients away for 6 rounds in a row",
    ),
    "the norm of more than take part": (
        {"process": UniformSubset(20, 5), "constants": {**CONSTANTS, "weight_variance": 0.01}},
        "participation_norm must be at least 0.4472135955, as some rounds have at most 5 of the clients; got 0.4",
    ),
    "the norm of more coins than may fall": (
        {"process": Markov.from_stability([0.5] * 20, 0.5)},
        "participation_norm must be at least 1, as some rounds have at most 1 of the clients",
    ),
    "the variance of more than take part": (
        {"process": UniformSubset(20, 10)},
        "weight_variance must be at least 0.0025, as weights that sum to one vary that much",
    ),
    "a process of fewer clients": (
        {"process": Bernoulli(0.5)},
        "n_clients must be 1, as many as the process has; got 20",
    ),
    "a process with other rates": ({"process": Bernoulli([0.5] * 20), "rates": [0.5]}, "rates must be those of"),
    "a log that ends": (
        {"process": Recorded.from_matrix([[1, 0], [0, 1], [0, 1]]), "constants": {"n_clients": 2}, "choices": {}},
        "end of a recorded process must be repeat, as a plan is about rounds after the log too; got 'raise'",
    ),
    "the norm of turns of fewer": (
        {"process": Periodic([0] * 16 + [1] * 4, 3, 6)},
        "participation_norm must be at least 0.5, as some rounds have at most 4 of the clients",
    ),
    "the norm of fewer than a log has": (
        {"process": Recorded.from_matrix([[1] * 20, [1] * 5 + [0] * 15], end="repeat")},
        "participation_norm must be at least 0.4472135955, as some rounds have at most 5 of the clients",
    ),
    "the norm of starts of their own": (
        {"process": Cyclic([0.25] * 20, period=8), "constants": {**CONSTANTS, "weight_variance": 0.05}},
        "participation_norm must be at least 1, as some rounds have at most 1 of the clients",
    ),
    "a share that is not that of the cohort": (
        {"constants": {"n_clients": 20, "selected_share": 0.5, "cohort_size": 5}},
        "selected_share must be 0.25, as cohort_size = 5 of n_clients = 20 is that share; got 0.5",
    ),
    "an error of longer weights than the cutoff": (
        {"constants": {"cutoff": 1, "mean_weight_error": 0.1}, "choices": {}, "rates": [0.25]},
        "mean_weight_error must be at least 0.5625, as weights of at most cutoff = 1 are that far from one over",
    ),
    "an error of longer weights than the cutoff to try": (
        {"constants": {"mean_weight_error": 0.1}, "choices": {"cutoff": [1, 1]}, "rates": [0.25]},
        "mean_weight_error must be at least 0.5625, as weights of at most cutoff = 1 are",
    ),
    "one error for several cutoffs": (
        {"constants": {"mean_weight_error": 0.1}, "choices": {"cutoff": [50, 6]}, "rates": [0.25]},
        "mean_weight_error must be left out where several values of cutoff are tried, as it is that of one of them",
    ),
    "one square for several cutoffs": (
        {"constants": {"weight_square": 4}, "choices": {"cutoff": [50, 6]}, "rates": [0.25]},
        "weight_square must be left out where several values of cutoff are tried, as it is that of one of them; got 4",
    ),
    "one divergence for several intervals": (
        {"constants": {"interval_divergence": 0.01}, "choices": {"interval": [1, 20]}, "rates": []},
        "interval_divergence must be left out where several values of interval are tried, as it is that of one",
    ),
    "squares below those of weights with that error": (
        {"constants": {"weight_square": 1.9, "mean_weight_error": 0}, "choices": {}, "rates": [0.5]},
        "weight_square must be at least 2, as weights with a mean_weight_error of 0 are so large at these rates",
    ),
    "a rate of 0": ({"rates": [0.0]}, "rates must be in (0, 1]; got 0.0"),
}


@pytest.mark.parametrize(("changes", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(changes: dict[str, object], said: str) -> None:
    process = changes.get("process")
    own = {} if process is None else {"rates": process.rate.tolist()}
    with pytest.raises(InputError) as error:
        replace(TASK, **{**own, **changes})
    assert said in str(error.value)


def test_too_many_choices_are_refused() -> None:
    with pytest.raises(InputError, match="at most 2000 combinations"):
        only("fedamd.thm46", choices={"anchor_period": list(range(2, 60)), "global_lr": list(range(1, 60))})
