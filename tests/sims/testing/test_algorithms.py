"""The battery for algorithms: every fault is found by the check that is meant to. What passes: test_backends.py."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.testing import CheckFailed
from sims.algorithms.fedavg import Hyper, fedavg
from sims.algorithms.fedlaavg import fedlaavg
from sims.algorithms.protocol import Algorithm, Cohort, Local, State
from sims.testing import check_algorithm

Apply = Callable[[State, Cohort, Local, Any], State]


def fedavg_with(apply: Apply = fedavg.apply, **changes: Any) -> Algorithm:
    return dataclasses.replace(fedavg, apply=apply, **changes)


def stands_still(state: State, cohort: Cohort, local: Local, hyper: Any) -> State:
    return State(dict(state.linear))


def writes(state: State, cohort: Cohort, local: Local, hyper: Any) -> State:
    local.delta[...] *= 2
    return fedavg.apply(state, cohort, local, hyper)


def rounds_to_floats(state: State, cohort: Cohort, local: Local, hyper: Any) -> State:
    after = fedavg.apply(state, cohort, local, hyper)
    return State({"x": after.linear["x"] * 1.0})


def single_precision(state: State, cohort: Cohort, local: Local, hyper: Any) -> State:
    x = fedavg.apply(state, cohort, local, hyper).linear["x"]
    return State({"x": x.astype(np.float32).astype(np.float64) if getattr(x, "dtype", None) == np.float64 else x})


def counts_padding(state: State, cohort: Cohort, local: Local, hyper: Any) -> State:
    return fedavg.apply(state, dataclasses.replace(cohort, valid=cohort.valid | True), local, hyper)


def favours_client_0(state: State, cohort: Cohort, local: Local, hyper: Any) -> State:
    twice = dataclasses.replace(cohort, weight=cohort.weight + (cohort.clients == 0))
    return fedavg.apply(state, twice, local, hyper)


def clips_far_models(state: State, cohort: Cohort, local: Local, hyper: Any) -> State:
    x = fedavg.apply(state, cohort, local, hyper).linear["x"]
    return State({"x": np.where(x > 5, Fraction(5), x) if x.dtype == object else x})


def squares(state: State, cohort: Cohort, local: Local, hyper: Any) -> State:
    x = fedavg.apply(state, cohort, local, hyper).linear["x"]
    return State({"x": x + x * x / 1024})


def squares_at_first(state: State, cohort: Cohort, local: Local, hyper: Any) -> State:
    after = fedlaavg.apply(state, cohort, local, hyper)
    x, first = after.linear["x"], (state.discrete["age"] == 0).all(-1)[..., None]
    return dataclasses.replace(after, linear={**after.linear, "x": x + x * x * first / 1024})


@dataclasses.dataclass(frozen=True)
class TakesAnything:
    local_lr: Any
    global_lr: Any = 1
    local_steps: int = 1


FAULTS: dict[str, tuple[Algorithm, set[str]]] = {
    "stands still": (fedavg_with(stands_still), {"moves"}),
    "writes": (fedavg_with(writes), {"pure"}),
    "to floats": (fedavg_with(rounds_to_floats), {"rationals", "padding", "affine"}),
    "single precision": (fedavg_with(single_precision), {"floats"}),
    "counts padding": (fedavg_with(counts_padding), {"padding", "floats"}),
    "favours client 0": (fedavg_with(favours_client_0), {"renaming"}),
    "squares": (fedavg_with(squares), {"affine"}),
    "squares at first": (dataclasses.replace(fedlaavg, apply=squares_at_first), {"affine"}),
    "clips far models": (fedavg_with(clips_far_models), {"affine"}),
    "declares too much": (fedavg_with(server_vectors=lambda n: 2), {"declared costs"}),
    "declares too little": (dataclasses.replace(fedlaavg, client_vectors=0), {"declared costs"}),
    "takes anything": (fedavg_with(hyper=TakesAnything), {"bad input"}),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found_by_the_right_checks(fault: tuple[Algorithm, set[str]]) -> None:
    algorithm, fails = fault
    with pytest.raises(CheckFailed) as failed:
        check_algorithm(algorithm)
    assert set(failed.value.failures) - {"torch"} == fails


def test_what_is_told_is_an_example() -> None:
    with pytest.raises(CheckFailed) as failed:
        check_algorithm(fedavg_with(favours_client_0))
    assert "clients 0 to 3 renamed [2, 0, 3, 1], after round " in failed.value.failures["renaming"]
    assert " in place of " in failed.value.failures["renaming"]


def test_parameters_and_reasons() -> None:
    check_algorithm(fedavg, Hyper(local_lr=1, local_steps=1))
    why = {"declared costs": "keeps a copy that is not counted"}
    check_algorithm(fedavg_with(server_vectors=lambda n: 2), expected_failures=why)
    with pytest.raises(InputError, match=r"^algorithm must be one of sims.algorithms.protocol.Algorithm; got 3$"):
        check_algorithm(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"did you mean declared costs\?"):
        check_algorithm(fedavg, expected_failures={"declared cost": "a slip"})
