"""The plain runs that FedLaAvg's checks rest on, held against the library's algorithm and against all paths."""

from __future__ import annotations

import itertools
from fractions import Fraction as F

import numpy as np
import pytest

from analysis.checks import all_checks
from analysis.checks.fedlaavg import by_rounds, reactive, seldom, settings
from analysis.checks.fedlaavg.model import Clients, take_part, traces
from analysis.checks.fedlaavg.orbits import orbit
from analysis.trials import judge
from fltheory.ledger import ledger
from fltheory.papers.fedlaavg import iterations
from sims.algorithms import fedlaavg
from sims.exact import Setting, paths, run
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic, example_1
from sims.scenarios import schedule


@pytest.mark.parametrize("local_steps", [1, 2])
def test_plain_runs_are_those_of_the_library(local_steps):
    """Where no slope is at its cap the clients are quadratics; the same paths, in any order."""
    centres, chosen = (F(1), F(-1), F(1, 2)), [[0, 2], [1]]
    clients = Clients(centres, (F(100),) * 3, (1, 1, 1))
    problem = DiagonalQuadratic([1, 1, 1], list(centres), Additive(F(1, 3), "rademacher"))
    setting = Setting(fedlaavg.fedlaavg, problem, fedlaavg.as_in_paper(F(1, 5), local_steps), [F(2)])
    rows = [np.isin(np.arange(3), who) for who in chosen]
    theirs = sorted(
        tuple(state.linear["x"][0] for state in states) for _, states in paths(setting, schedule(rows), len(rows))
    )
    ours = sorted(tuple(t.x[::local_steps]) for t in traces(clients, F(2), F(1, 5), F(1, 3), chosen, local_steps))
    assert ours == theirs


def test_orbits_are_those_of_the_library():
    setting = Setting(fedlaavg.fedlaavg, example_1(), fedlaavg.as_in_paper(F(1, 7)), [F(3)])
    rows = [[True, False]] * 3 + [[False, True]] * 2
    assert orbit(3, 2, F(3), F(1, 7), 13).z == [s.linear["x"][0] for s in run(setting, schedule(rows), 13)]


def test_minimum_of_capped_quadratics():
    convex = Clients((F(-1), F(2), F(0)), (F(1), F(1, 2), F(2)), (1, 1, 1))
    values = [convex.objective(F(k, 1000)) for k in range(-3000, 3001)]
    assert convex.minimum <= min(values) < convex.minimum + F(1, 10**5)
    assert Clients((F(0),), (F(1),), (-1,)).minimum is None


def test_availability_stays_within_the_assumption():
    who = take_part((0, 4), 12, 3, 1, 4, least=1)
    assert all(who.available[t : t + 4].any(axis=0).all() for t in range(9))
    assert (who.available.sum(axis=1) >= 1).all()
    assert who.largest_age <= 3 * 4 - 1


def by_hand(system, start, step, iterations):
    """(1/T) sum of E x^2 over all paths of the noise."""
    total, count = F(0), 0
    for signs in itertools.product((-1, 1), repeat=system.cohort_size * iterations):
        drawn, node, x, stored = iter(signs), system.start, start, [F(0)] * system.n_clients
        for _ in range(iterations):
            total += x * x
            here = system.available(node)
            chosen = sorted(sorted(here, key=lambda i: (-node.ages[i], i))[: system.cohort_size])
            fresh = {i: next(drawn) for i in chosen}
            for i, sign in fresh.items():
                stored[i] = x + sign
            x -= step * sum(stored) / system.n_clients
            node = reactive.Node(
                tuple(fresh.get(i, s) for i, s in enumerate(node.signs)),
                tuple(0 if i in chosen else age + 1 for i, age in enumerate(node.ages)),
                tuple(0 if i in here else missed + 1 for i, missed in enumerate(node.missed)),
            )
        count += 1
    return total / (count * iterations)


@pytest.mark.parametrize("arguments", [(2, 1, 3, (3, 2, 1, 0)), (2, 1, 5, (1, 2)), (3, 2, 2, (7, 6, 5, 4, 3, 2, 1, 0))])
def test_moments_on_the_chain_are_those_of_all_paths(arguments):
    system, step, start = reactive.Chain(*arguments), F(1, 8), F(1, 2)
    iterations = 9 if system.cohort_size == 1 else 5
    wanted = by_hand(system, start, step, iterations)
    certified = reactive.mean_square(system, start, step, iterations)
    assert 0 <= wanted - certified <= F(1, 10**12)
    assert reactive.mean_square(system, float(start), float(step), iterations) == pytest.approx(float(wanted))


def test_long_horizons_agree_whichever_way_they_are_computed(monkeypatch):
    system = reactive.Chain(2, 1, 4, (3, 2, 1, 0))
    usual = reactive.mean_square(system, 0.0, 2.0**-8, 700)
    for way in (0.0, 1e9):
        monkeypatch.setattr(reactive, "SQUARING", way)
        assert reactive.mean_square(system, 0.0, 2.0**-8, 700) == pytest.approx(usual, rel=1e-9)


def test_iterates_stay_within_their_reach():
    """The extreme paths of a policy that looks at the noise."""
    system, step = reactive.Chain(2, 1, 3, (3, 2, 1, 0)), 1 / 16
    far = reactive.reach(1.5, step, 5)
    rng = np.random.default_rng(0)
    for trial in range(200):
        node, x, stored = system.start, 1.5, [0.0, 0.0]
        for _ in range(200):
            assert abs(x) <= far
            here = system.available(node)
            i = min(here, key=lambda n: (-node.ages[n], n))
            sign = 1 if trial == 0 else -1 if trial == 1 else int(rng.choice([-1, 1]))
            stored[i] = x + sign
            x -= step * sum(stored) / 2
            node = next(after for who, after in system.moves(node) if after.signs[i] == sign and who == (i,))


def test_exact_and_float_runs_are_not_confused():
    """1/2 and 0.5 are equal keys of a cache."""
    point = next(settings.grid("quick")) | {"rounds": 2, "noise": 0}
    half = point | {"local_lr": 0.25}
    exact = {k: tuple(map(F, v)) if k in ("centres", "caps") else v for k, v in point.items()}
    exact |= {"local_lr": F(1, 4), "start": F(point["start"])}
    assert isinstance(settings.run(half).paths[0].x[-1], float)
    assert isinstance(settings.run(exact).paths[0].x[-1], F)


def test_an_objective_without_a_minimum_has_no_gap():
    """Its left-over gap of 0 was once printed among a witness's constants."""
    found = settings.run(by_rounds.DRIFTING)
    assert found.clients.minimum is None
    assert "initial_gap" not in found.constants
    assert not found.bounded


def test_witnesses_against_46_are_of_an_objective_with_a_minimum():
    (check, *_) = all_checks()["fedlaavg.eq46"]
    witness = check.function(ledger["fedlaavg.eq46"], "quick").witness
    assert settings.run(by_rounds.SINGLE).facts["f has a minimum"]
    assert (witness["staleness"], witness["local_steps"], witness["right"]) == (0, 2, 0)
    assert witness["left"] > 0
    assert witness["initial_gap"] == 0  # it starts at the minimum


@pytest.mark.parametrize(("window", "after"), [(1, 0), (3, 0), (3, 2)])
def test_one_client_in_every_window(window, after):
    """The recursion against all paths of the noise, with the rounds of `traces`."""
    blocks, step, start = 3, F(1, 5), F(1, 2)
    chosen = [[0] if t % window == 0 else [] for t in range(window * blocks)]
    clients = Clients((F(0),), (F(1),), (1,))
    squares = [[x * x for x in path.x[after:-1]] for path in traces(clients, start, step, F(1), chosen, 1)]
    wanted = sum(map(sum, squares)) / sum(map(len, squares))
    assert seldom.mean_square(window, step, blocks, start, after=after) == wanted


@pytest.mark.parametrize("point", seldom.LONG)
def test_long_runs_meet_what_33_asks(point):
    found = judge(seldom.eq33_repaired, iterations.eq33_repaired, point)
    assert found.admitted
    assert not found.violated
