"""The closed-form second moments of FAST with coins, and the constants beside them, against the library's engine."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from analysis.checks.fast.coins import (
    CLIENTS,
    coins_appendix,
    coins_repaired,
    constants_of,
    distance,
    second_moment,
)
from analysis.trials import judge
from fltheory.papers import fast
from sims.algorithms import fedavg
from sims.exact import Engine, Setting
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import average_participating, schedule, snapshots, uniform_subsets, weighted

CURVATURE, SPREAD, START = F(2), F(3), F(1, 2)


def engine_of(problem, start, m, n, q, lr, steps):
    asked = schedule([[i < n for i in range(CLIENTS)]])
    scenario = snapshots(uniform_subsets(CLIENTS, m), asked, probability=q)
    setting = Setting(fedavg.fedavg, problem, fedavg.Hyper(lr, 1, steps), start)
    return Engine(setting, weighted(scenario, average_participating))


@pytest.mark.parametrize(("m", "n", "steps"), [(1, 1, 1), (3, 2, 3), (4, 1, 2)])
def test_second_moments_are_those_of_the_engine(m: int, n: int, steps: int) -> None:
    centres = [SPREAD, SPREAD, -SPREAD, -SPREAD]
    problem = DiagonalQuadratic([CURVATURE] * CLIENTS, centres, Additive(F(3, 2)))
    engine = engine_of(problem, [START], m, n, F(1, 3), F(1, 40), steps)
    for rounds, moments in enumerate(engine.moments(4)):
        if rounds:
            point = {"arbitrary": F(2, 3), "steps": steps, "rounds": rounds, "sampled": m, "asked": n}
            found = second_moment(point, CURVATURE, SPREAD, START, F(9, 4), F(1, 40))
            assert found == moments.second[0, 0]


# sigma_G = 15/2 and sigma = 2 are rational.
POINT = {
    "smoothness": F(3, 2), "flatness": F(2, 3), "spread": F(3), "flat_spread": F(6), "variance": F(2),
    "start": F(-2), "step_share": F(1, 2), "steps": 2, "sampled": 3, "asked": 2, "arbitrary": F(1, 1000), "rounds": 3,
}  # fmt: skip
SIGNS = (1, 1, -1, -1)


def test_both_sides_of_theorem_2_are_those_of_a_run_in_two_directions() -> None:
    constants = constants_of(POINT)
    curvatures = [constants["smoothness"], constants["strong_convexity"]]
    centres = [[sign * POINT["spread"], sign * POINT["flat_spread"]] for sign in SIGNS]
    problem = DiagonalQuadratic([curvatures] * CLIENTS, centres, Additive(constants["noise_std"]))
    for name in ("smoothness", "strong_convexity", "noise_std", "heterogeneity"):
        assert getattr(problem.constants, name) == constants[name]
    assert list(problem.constants.minimiser) == [0, 0]
    engine = engine_of(
        problem, [POINT["start"]] * 2, 3, 2, constants["snapshot_rate"], constants["local_lr"], POINT["steps"]
    )
    form = engine.quadratic(lambda state: (state["x"] ** 2).sum(axis=-1))
    left = [moments.expected(form) for moments in engine.moments(POINT["rounds"])]
    assert left[0] == constants["start_distance_square"]
    assert left[-1] == distance(POINT, constants)
    found = judge(coins_repaired, fast.thm2_repaired, POINT)
    assert found.sides.left == left[-1]
    assert not found.violated


def test_the_condition_on_q_is_that_of_the_claim() -> None:
    found = judge(coins_appendix, fast.thm2_app, POINT)
    lr, steps, steep, flat = found.sides.constants["local_lr"], 2, F(3, 2), F(1)
    share = (flat * steps * lr - 16 * (steep * steps * lr) ** 2) / 4
    assert found.conditions == {"step": True, "snapshots": POINT["arbitrary"] <= share}
