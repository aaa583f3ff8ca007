"""What moves a plan, and where algorithms change places, against closed forms and dense grids of targets."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fltheory.planning import SCALES, STATEMENTS, Task, crossovers, plan, rounds_at, sensitivities, table1

CONSTANTS = {
    "n_clients": 100, "initial_gap": 1.0, "smoothness": 1.0, "noise_std": 0.5, "heterogeneity": 0.3, "local_steps": 5,
    "participation_norm": 0.15, "weight_variance": 0.0001, "snapshot_clients": 50, "arbitrary_clients": 50,
    "cohort_size": 50, "window": 3, "gradient_bound": 0.6, "interval": 20, "amplification": 10, "snapshot_rate": 0.9,
}  # fmt: skip
TASK = Task(0.05, CONSTANTS)


def planned(task: Task, *claims: str) -> list:
    return plan(task, [statement for statement in STATEMENTS if statement.claim in claims])


def test_rounds_grow_as_the_gap_where_nothing_else_is_left() -> None:
    """4 gap 11 K L / (K T) <= target, without noise and differences and with snapshots only."""
    quiet = {**CONSTANTS, "noise_std": 0, "heterogeneity": 0, "snapshot_rate": 1, "initial_gap": 1000}
    task = replace(TASK, constants=quiet)
    (outcome,) = planned(task, "fast.thm1")
    moved = sensitivities(task, outcome)
    assert moved == pytest.approx({"initial_gap": 0.1, "smoothness": 0.1, "target": 1 / 1.1 - 1}, abs=1e-4)


def test_what_is_out_of_reach_with_a_tenth_more_is_infinite() -> None:
    """The floor 4 (1 - q) sigma_G^2 passes the target."""
    task = replace(TASK, target=0.0375)
    (outcome,) = planned(task, "fast.thm1")
    moved = sensitivities(task, outcome)
    assert moved["heterogeneity"] == math.inf
    assert moved["noise_std"] > 0
    assert "snapshot_rate" not in moved  # a tenth more of it is no probability
    assert sensitivities(task, planned(replace(task, target=0.03), "fast.thm1")[0]) == {}


def test_a_frequency_that_may_not_grow_is_left_out() -> None:
    task = replace(TASK, constants={**CONSTANTS, "snapshot_rate": 0.95})
    assert "snapshot_rate" not in sensitivities(task, planned(task, "fast.thm1")[0])


def test_algorithms_change_places_where_a_grid_of_targets_says() -> None:
    found = planned(TASK, "amplified.thm31.average", "fast.thm1.q1", "fedlaavg.thm3")
    table = rounds_at(TASK, found)
    assert table["fast"][1] == min(o.rounds for o in found if o.statement.algorithm == "fast")
    told = crossovers(TASK, found, table)
    scales = np.geomspace(SCALES[-1], SCALES[0], 40)[::-1]
    grid = rounds_at(TASK, found, scales)
    names = list(grid)
    seen = []
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            ahead = np.less(grid[one], grid[other])
            for k in np.flatnonzero(ahead[:-1] != ahead[1:]):
                above, below = (one, other) if ahead[k] else (other, one)
                seen.append((scales[k] * TASK.target, scales[k + 1] * TASK.target, above, below))
    assert len(told) == len(seen) == 5
    for crossover, (high, low, above, below) in zip(told, sorted(seen, reverse=True), strict=True):
        assert (crossover.above, crossover.below) == (above, below)
        assert low / 1.02 <= crossover.target <= high * 1.02


def test_table_1_of_fedamd_in_its_units() -> None:
    """By hand, M = 100, A = 50, K = 5, eps = .05, sigma = .5; then gradients and losses that are rescaled."""
    rows = {row.method: row for row in table1(TASK, CONSTANTS)}
    assert rows["Minibatch SGD"].rounds == pytest.approx(1 / (100 * 5 * 0.0025) + 20)
    assert rows["FedAvg"].rounds == pytest.approx(5 / (50 * 0.0025) + 20)
    assert rows["FedAMD"].rounds == pytest.approx(40)
    assert rows["FedAvg"].fedamd_below == pytest.approx(0.1)
    assert rows["Minibatch SGD"].fedamd_below == pytest.approx(1 / 500)
    assert rows["VR-MARINA"].fedamd_below == pytest.approx((0.5 / (100 - 0.25)) ** 2)
    for method, row in rows.items():
        if method != "FedAMD":  # the same number of rounds there
            there = {r.method: r.rounds for r in table1(replace(TASK, target=row.fedamd_below), CONSTANTS)}
            assert there[method] == pytest.approx(there["FedAMD"])
    scaled = {**CONSTANTS, "initial_gap": 8.0, "smoothness": 2.0, "noise_std": 2.0}
    for row in table1(replace(TASK, target=16 * TASK.target), scaled):
        assert row.rounds == pytest.approx(rows[row.method].rounds)
        assert row.fedamd_below == pytest.approx(16 * rows[row.method].fedamd_below, nan_ok=True)


def test_much_noise_makes_fedamd_need_fewer_rounds_than_vr_marina_at_any_target() -> None:
    noisy = {**CONSTANTS, "noise_std": 10.0}  # M / A = 2 is not above 1 + 100 / 100
    rows = {row.method: row for row in table1(TASK, noisy)}
    assert rows["VR-MARINA"].fedamd_below == math.inf
    for target in (1e-3, 1.0, 1e3):
        there = {row.method: row.rounds for row in table1(replace(TASK, target=target), noisy)}
        assert there["FedAMD"] < there["VR-MARINA"]


@pytest.mark.parametrize(
    "changes", [{"cohort_size": 100}, {"initial_gap": 0}, {"measure": "objective_gap"}, {"noise_std": None}]
)
def test_no_table_1_where_it_says_nothing(changes: dict[str, object]) -> None:
    task = replace(TASK, measure=changes.get("measure", TASK.measure))
    constants = {name: value for name, value in {**CONSTANTS, **changes}.items() if value is not None}
    assert table1(task, constants) == []
