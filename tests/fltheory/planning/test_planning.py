"""Plans against brute force on grids, their limits, and statements that may not be used."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy

from fltheory.ledger import ledger
from fltheory.planning import MEASURES, MOST_ROUNDS, STATEMENTS, Outcome, Statement, plan, usable
from fltheory.planning.statements import Values
from fltheory.planning.steps import holds, largest_step, on_steps
from fltheory.verdicts import recorded
from tests.fltheory.planning.tasks import CHOICES, CONSTANTS, TASK, only, task_of

EACH = pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.claim)


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
    nothing = {**CONSTANTS, "initial_gap": 0, "start_distance_square": 0, "noise_std": 0, "heterogeneity": 0}
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
