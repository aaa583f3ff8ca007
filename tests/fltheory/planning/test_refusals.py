"""Bad tasks: each is refused in one sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fltheory.errors import InputError
from fltheory.participation import (
    Bernoulli,
    Cyclic,
    Markov,
    Periodic,
    Permutation,
    Recorded,
    UniformSubset,
)
from fltheory.planning import MEASURES, plan
from tests.fltheory.planning.tasks import CONSTANTS, TASK, only

BAD = {
    "unknown measure": ({"measure": "objective_gab"}, "did you mean objective_gap?"),
    "a list of measures": ({"measure": ["objective_gap"]}, "measure must be one of"),
    "no target": ({"target": 0}, "target must be a number above 0; got 0"),
    "unknown name": ({"constants": {"smoothnes": 1}}, "did you mean 'smoothness'?"),
    "outside its domain": ({"constants": {"smoothness": -1}}, "smoothness must be > 0; got -1"),
    "a choice that is no list": ({"choices": {"interval": 2}}, "choices interval must be a list of values; got 2"),
    "a choice of no name": ({"choices": {"intervall": [2]}}, "did you mean 'interval'?"),
    "constant and choice": ({"choices": {"n_clients": [3]}}, "names that do not stand under constants, too"),
    "what the plan seeks": ({"choices": {"local_lr": [0.1]}}, "which is what the plan seeks"),
    "more than all clients": (
        {"constants": {**CONSTANTS, "cohort_size": 21}},
        "cohort_size must be at most n_clients = 20",
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
    "a lower start than its distance allows": (
        {"constants": {**CONSTANTS, "initial_gap": 0.74}},
        "initial_gap must be at least strong_convexity * start_distance_square / 2 = 0.75, as it is for every",
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


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("interval", [2.5], "interval must be whole number >= 1; got 2.5."),
        ("interval", ["4"], "interval must be whole number >= 1; got '4'."),
        ("snapshot_rate", [1.5], "snapshot_rate must be a probability in [0, 1]; got 1.5."),
        ("cutoff", [float("inf")], "cutoff must be finite, for in a plan it bounds the weights; got inf."),
        ("cutoff", [10**400], "cutoff must be finite, for in a plan it bounds the weights; got 1000"),
        ("cohort_size", [21], "cohort_size must be at most n_clients = 20; got 21."),
    ],
)
def test_a_wrong_choice_is_told_where_it_is_needed_and_hides_no_other_plan(
    name: str, values: list[Any], said: str
) -> None:
    given = {key: value for key, value in CONSTANTS.items() if key != name}
    for measure in MEASURES:
        task = replace(TASK, constants=given, measure=measure, rates=[0.6])
        right, wrong = (
            plan(replace(task, choices={name: [5], **task.choices, **changed})) for changed in ({}, {name: values})
        )
        for one, other in zip(right, wrong, strict=True):
            assert one.rounds
            assert other.why.startswith(said) if name in one.names else other == one


def test_the_other_values_of_a_choice_are_tried() -> None:
    base = replace(TASK, constants={k: v for k, v in CONSTANTS.items() if k != "interval"}, rates=[0.6])
    fewer, more = (plan(replace(base, choices={**base.choices, "interval": some})) for some in ([5], [0, 5]))
    for one, other in zip(fewer, more, strict=True):
        assert one.rounds
        assert (other.rounds, other.choice) == (one.rounds, one.choice)
        left_out = ["Not tried: interval must be whole number >= 1; got 0."] if "interval" in one.names else []
        assert [note for note in other.verdict_notes if note not in one.verdict_notes] == left_out


@pytest.mark.parametrize("value", [0.5, 7])
def test_an_indicator_is_0_or_1(value: float) -> None:
    with pytest.raises(InputError, match=rf"^subsampled must be 0 or 1; got {value}"):
        replace(TASK, constants={**TASK.constants, "subsampled": value})


def test_too_many_choices_are_refused() -> None:
    with pytest.raises(InputError, match="at most 2000 combinations"):
        only("fedamd.thm46", choices={"anchor_period": list(range(2, 60)), "global_lr": list(range(1, 60))})
