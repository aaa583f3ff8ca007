"""FedAvg: where it settles when clients take turns, and faults that its reference must catch."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import Phase, find, settings
from hypothesis import strategies as st

from fltheory.errors import InputError
from sims.algorithms.fedavg import Hyper, fedavg
from tests.sims.algorithms.cases_one import FEDAVG, catches, faulty, trials
from tests.sims.algorithms.scenario_one import example_1, limit, models, padded, run

F = Fraction


@pytest.mark.parametrize(
    ("times", "centres", "local_lr", "settles_at"),
    [
        ((3, 1), (1, -1), F(1, 10), F(119, 369)),
        ((2, 5), (4, -3), F(1, 4), F(-360, 127)),
        ((1, 9), (0, 1), F(1, 20), F(6125795110, 6513215599)),
        ((4, 4), (1, -1), F(1, 10), F(-369, 881)),
    ],
)
def test_settles_at_the_limit_of_theorem_1(times: Any, centres: Any, local_lr: F, settles_at: F) -> None:
    """FedLaAvg, Theorem 1: X, which is neither the optimum nor the printed limit unless the step size vanishes."""
    assert limit(fedavg, Hyper(local_lr), times, centres) == settles_at


def test_comes_close_to_its_limit() -> None:
    """The error shrinks by (1 - 2/10)^4 a period: after 10 periods from x0 = 1 exactly to (1 - X) 0.8^40."""
    scenario = example_1((3, 1), (1, -1), x0=1, periods=10)
    x = models(run(fedavg, Hyper(F(1, 10)), scenario))[-1][0]
    limit_x = F(119, 369)
    assert x - limit_x == (1 - limit_x) * F(4, 5) ** 40


def test_local_steps_move_the_limit() -> None:
    """t = (50, 150), e = (0, 10), step size 1e-4, 10 local steps: 7.861652541989 (one step: 7.537377792959)."""
    for steps, settles_at in ((1, 7.537377792959), (10, 7.861652541989)):
        shrink = [(1 - F(2, 10_000)) ** (steps * rounds) for rounds in (50, 150)]
        assert float((1 - shrink[1]) * 10 / (1 - shrink[0] * shrink[1])) == pytest.approx(settles_at, abs=5e-13)
    # Three steps a round and short turns, the same formula against the algorithm itself.
    q = (1 - F(2, 10)) ** 3
    expected = (1 - q**2) * 10 / (1 - q**3)
    assert limit(fedavg, Hyper(F(1, 10), local_steps=3), (1, 2), (0, 10)) == expected


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("/ cohort.n_clients", "/ max(1, int(cohort.valid.sum()))"),
        ("hyper.global_lr * update", "update"),
        ("cohort.valid, cohort.weight)", "cohort.valid)"),
        ("hyper.local_steps, hyper.local_lr)", "1, hyper.local_lr)"),
    ],
)
def test_faults_are_caught(right: str, wrong: str) -> None:
    assert catches(FEDAVG, right, wrong)


def test_padding_that_counts_is_caught() -> None:
    """Only padded slots tell whether an algorithm looks at `valid`."""
    careless = faulty(FEDAVG, "cohort.valid, ", "cohort.valid | True, ")

    def differs(trial: Any) -> bool:
        (scenario, hyper), slots = trial
        right, wrong = run(fedavg, hyper, scenario), run(careless, hyper, scenario, slots=slots)
        return any((a != b).any() for a, b in zip(models(right), models(wrong), strict=True))

    padded_trials = trials(FEDAVG).flatmap(lambda trial: st.tuples(st.just(trial), padded(trial[0])))
    find(padded_trials, differs, settings=settings(phases=[Phase.generate], database=None))


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "fast"])
def test_bad_step_sizes_are_named(value: Any) -> None:
    for name in ("local_lr", "global_lr"):
        with pytest.raises(InputError, match=f"{name} must be a finite number above 0"):
            replace(Hyper(1), **{name: value})


@pytest.mark.parametrize("value", [0, -1, 1.5, True, math.nan])
def test_bad_numbers_of_steps_are_named(value: Any) -> None:
    with pytest.raises(InputError, match="local_steps must be a whole number of at least 1"):
        Hyper(1, local_steps=value)
