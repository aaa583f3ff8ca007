"""The battery for weight estimators: what is right passes, and every fault is found by the check that is meant to."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fltheory.errors import InputError
from fltheory.testing import CheckFailed, check_weight_estimator
from fltheory.weights import ExponentialAverageWeights, FedAUWeights, exact_weight_law, fedau_weights
from tests.fltheory.testing.broken import BROKEN, Broken, Right


@pytest.mark.parametrize("cutoff", [50, math.inf])
def test_fedau_passes(cutoff: float) -> None:
    check_weight_estimator(
        lambda n: FedAUWeights(n, cutoff),
        whole=lambda history: fedau_weights(history, cutoff),
        law=lambda process, rounds: exact_weight_law(process, cutoff, rounds),
        largest=cutoff,
    )


def test_what_estimates_one_over_the_rate_passes_without_a_law() -> None:
    check_weight_estimator(lambda n: FedAUWeights(n, 50))


def test_an_exponential_average_is_too_variable_for_markov_and_may_say_so() -> None:
    def factory(n: int) -> ExponentialAverageWeights:
        return ExponentialAverageWeights(n, 50, smoothing=0.1)

    with pytest.raises(CheckFailed, match="root mean square of p w - 1") as failed:
        check_weight_estimator(factory)
    assert set(failed.value.failures) == {"Markov"}
    check_weight_estimator(factory, expected_failures={"Markov": "its variance does not vanish"})


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_fault_is_found_by_the_right_checks(broken: Broken) -> None:
    with pytest.raises(CheckFailed) as failed:
        check_weight_estimator(broken.factory, **broken.told)
    assert set(failed.value.failures) == broken.fails


@pytest.mark.parametrize(
    ("name", "check", "minimal"),
    [
        ("hands out its own array", "history only", "round 0 changed later, from [1.] to [3.] (client 0: ...)"),
        ("nothing for the unseen", "positive", "weight 0.0 in round 0, not above 0 (client 0: .)"),
        ("normalises", "other clients", "0.5 and 1.0 for client 0 in round 3 (client 0: x...; client 1: ....)"),
        ("looks at the round", "history only", "up to round 2 change when participation from round 2 on does"),
    ],
)
def test_the_example_that_is_told_is_minimal(name: str, check: str, minimal: str) -> None:
    with pytest.raises(CheckFailed) as failed:
        check_weight_estimator(BROKEN[name].factory, **BROKEN[name].told)
    assert minimal in failed.value.failures[check]
    assert failed.value.failures[check] in str(failed.value)


def test_an_exception_of_the_estimator_is_told_with_the_others() -> None:
    class Crashes(Right):
        def update(self, participated: Any) -> Any:
            if participated.all():
                raise ZeroDivisionError("nobody is away")
            return super().update(participated)

    with pytest.raises(CheckFailed) as failed:
        check_weight_estimator(Crashes)
    assert failed.value.failures["always on"] == "raises ZeroDivisionError: nobody is away"


def test_what_makes_no_estimators_is_refused() -> None:
    with pytest.raises(InputError, match=r"^factory must be a function of the number of clients .*; got 3$"):
        check_weight_estimator(3)  # type: ignore[arg-type]


def test_expected_failures_must_fail_have_a_reason_and_be_checks() -> None:
    with pytest.raises(CheckFailed, match=r"memory: passes, although it was said to fail \(it grows\)"):
        check_weight_estimator(lambda n: FedAUWeights(n, 50), expected_failures={"memory": "it grows"})
    with pytest.raises(InputError, match=r"^expected_failures must be one of .*did you mean memory\?"):
        check_weight_estimator(lambda n: FedAUWeights(n, 50), expected_failures={"memroy": "it grows"})
    with pytest.raises(InputError, match="a reason, in words"):
        check_weight_estimator(lambda n: FedAUWeights(n, 50), expected_failures={"memory": " "})
