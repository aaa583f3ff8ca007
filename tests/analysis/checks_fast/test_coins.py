"""The closed-form second moments of FAST with coins against the library's engine."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from analysis.checks.fast.convex import CLIENTS, second_moment
from sims.algorithms import fedavg
from sims.exact import Engine, Setting
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import average_participating, schedule, snapshots, uniform_subsets, weighted

CURVATURE, SPREAD, START = F(2), F(3), F(1, 2)


@pytest.mark.parametrize(("m", "n", "steps"), [(1, 1, 1), (3, 2, 3), (4, 1, 2)])
def test_second_moments_are_those_of_the_engine(m: int, n: int, steps: int) -> None:
    centres = [SPREAD, SPREAD, -SPREAD, -SPREAD]
    problem = DiagonalQuadratic([CURVATURE] * CLIENTS, centres, Additive(F(3, 2)))
    asked = schedule([[i < n for i in range(CLIENTS)]])
    scenario = snapshots(uniform_subsets(CLIENTS, m), asked, probability=F(1, 3))
    setting = Setting(fedavg.fedavg, problem, fedavg.Hyper(F(1, 40), 1, steps), [START])
    engine = Engine(setting, weighted(scenario, average_participating))
    for rounds, moments in enumerate(engine.moments(4)):
        if rounds:
            point = {"arbitrary": F(2, 3), "steps": steps, "rounds": rounds, "sampled": m, "asked": n}
            found = second_moment(point, CURVATURE, SPREAD, START, F(9, 4), F(1, 40))
            assert found == moments.second[0, 0]
