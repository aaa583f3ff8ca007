"""The round loop: the clock, weights, common random numbers, what is recorded, schedules and roles."""

import math
from dataclasses import replace

import numpy as np
import pytest

from fltheory.participation import Bernoulli, Cyclic, Markov
from fltheory.weights import average_participating, fedau_weights
from sims import roles, schedules, selection
from sims.algorithms import mifa
from sims.recorder import Moment, Record
from sims.rounds import Setup
from sims.weighting import (
    RULES,
    AverageAll,
    AverageParticipating,
    ExponentialAverage,
    FedAU,
    KnownRates,
)
from tests.sims.round_cases import CENTRE, CURVATURE, EVERYTHING, RATES, Rests, plain, quadratic, run


def by_hand(setup, history, rounds, weights):
    """FedAvg on the deterministic quadratic, one replicate, written down client by client."""
    x, path = np.zeros(1), []
    for t in range(rounds):
        path.append(x.copy())
        total = np.zeros(1)
        for n in np.flatnonzero(history[t]):
            y = x.copy()
            for _ in range(setup.hyper.local_steps):
                y = y - setup.hyper.local_lr * CURVATURE[n] * (y - CENTRE[n])
            total += weights[t, n] * (y - x)
        x = x + total / 3
    return np.array([*path, x])


@pytest.mark.parametrize(
    ("rule", "weights"),
    [
        (FedAU(5), lambda seen: fedau_weights(seen, 5)),
        (AverageParticipating(), average_participating),
        (AverageAll(), lambda seen: np.ones(seen.shape)),
        (KnownRates(), lambda seen: np.broadcast_to(1 / np.array(RATES), seen.shape)),
    ],
)
def test_a_run_is_what_the_rule_says_round_by_round(rule, weights):
    setup = plain(rule=rule, problem=quadratic(noise=0))
    found = run(setup, 40, what=("model", "cohort_size", "weight_error"))
    rng = np.random.default_rng(0).spawn(5)[0]
    seeds = rng.integers(2**63, size=4).tolist()
    values = found.record.arrays()
    for replicate, seed in enumerate(seeds):
        seen = setup.process.sample(40, seed)
        own = weights(seen)
        assert np.allclose(values["model"][replicate], by_hand(setup, seen, 40, own), rtol=1e-12, atol=1e-12)
        assert (values["cohort_size"][replicate, :40] == seen.sum(axis=1)).all()
        error = ((np.array(RATES) * own - 1) ** 2).mean(axis=1)
        assert np.allclose(values["weight_error"][replicate, :40], error, rtol=1e-12)
    assert np.isnan(values["cohort_size"][:, 40]).all()  # there is no round after the last


def test_weights_of_a_round_depend_on_the_past_alone():
    """Whoever takes part in round 3 must not move the weights of round 3."""
    rng = np.random.default_rng(0)
    for name in RULES.keys() - {"average_participating"}:
        made = {"fedau": FedAU(4), "exponential_average": ExponentialAverage(0.3)}.get(name) or RULES[name]()
        weights = made.start(2, 3, RATES)
        for _ in range(3):
            weights.update(rng.random((2, 3)) < 0.5)
        one, other = (weights.weights(np.full((2, 3), value)).copy() for value in (True, False))
        assert (one == other).all(), name


def test_replicates_are_clients_of_the_estimator():
    seen = np.random.default_rng(1).random((50, 6, 3)) < 0.3
    weights = FedAU(7).start(6, 3, None)
    wanted = fedau_weights(np.moveaxis(seen, 1, 0), 7)
    for t in range(50):
        assert (weights.weights(seen[t]) == wanted[:, t]).all()
        weights.update(seen[t])


def test_empty_cohorts_leave_fedavg_where_it_is():
    found = run(plain(Bernoulli([0.02, 0.02, 0.02]), AverageParticipating()), 60, what=("model", "cohort_size"))
    values = found.record.arrays()
    empty = values["cohort_size"][:, :60] == 0
    assert empty.any()
    still = values["model"][:, 1:, 0] == values["model"][:, :-1, 0]
    assert still[empty].all()
    assert not still[~empty].any()


def test_padding_counts_for_nothing():
    """A replicate by itself, without padding from its neighbours, moves as it does among them."""
    many = run(plain(problem=quadratic(noise=0)), 30, replicates=5).record.arrays()["model"]
    assert np.allclose(many[0], run(plain(problem=quadratic(noise=0)), 30, replicates=1).record.arrays()["model"][0])


def test_dropout_comes_after_selection_and_thins_participation():
    rounds, replicates, drop, size = 400, 50, 0.25, 4
    process = Bernoulli(np.full(8, 1.0))
    setup = plain(process, AverageAll(), lr=0.01, selection=selection.uniform(size), dropout=drop)
    sizes = run(setup, rounds, replicates, what=("cohort_size",)).record.arrays()["cohort_size"][:, :rounds]
    n = sizes.size * size
    assert sizes.max() == size
    # Hoeffding for n independent coins: false alarm 2 exp(-2 n e^2) = 1e-9
    assert abs(sizes.sum() / n - (1 - drop)) < math.sqrt(math.log(2e9) / (2 * n))
    assert setup.rates is None
    assert np.allclose(plain(process, dropout=drop).rates, 1 - drop)


def test_everything_compared_sees_the_same_availability():
    process = Markov(RATES)
    others = [
        plain(process, FedAU(5)),
        plain(process, AverageAll(), dropout=0.4),
        plain(process, AverageAll(), selection=selection.uniform(1)),
        Setup(quadratic(), mifa.mifa, mifa.Hyper(0.05), process),
    ]
    seen = []
    for setup in others:
        simulation = run(setup, 30, until=0)
        seen.append(np.stack([simulation._availability.available(t) for t in range(30)]))
    assert all((trace == seen[0]).all() for trace in seen)
    assert len({seen[0][:, r].tobytes() for r in range(4)}) == 4  # and replicates differ
    dropped = [
        run(replace(others[1], rule=rule), 30, what=("cohort_size",)).record.arrays()["cohort_size"]
        for rule in (AverageAll(), FedAU(3))
    ]
    assert np.array_equal(*dropped, equal_nan=True)


def test_more_replicates_or_rounds_leave_the_traces_alone():
    small, large = run(plain(), 10, 2, until=0), run(plain(), 25, 5, until=0)
    for t in range(10):
        assert (small._availability.available(t) == large._availability.available(t)[:2]).all()


def test_reactive_availability_sees_who_took_part():
    simulation = run(plain(Rests(3), AverageAll(), dropout=0.3), 50, what=("cohort_size",))
    history = simulation._availability.state_dict()["history"]
    assert not (history[1:] & history[:-1]).any()  # whoever took part rests
    assert history.any()
    assert simulation.setup.rates is None


def test_records_at_the_rounds_asked_for():
    record = run(plain(), 10, what=EVERYTHING, every=4).record
    assert record.rounds.tolist() == [0, 4, 8, 10]
    shapes = {name: values.shape for name, values in record.arrays().items()}
    assert shapes.pop("model") == (4, 4, 1)
    assert set(shapes.values()) == {(4, 4)}
    values = record.arrays()
    assert np.allclose(values["objective_gap"], values["objective"] - float(quadratic().constants.minimum))
    x = values["model"][..., 0]
    mean_curvature = sum(CURVATURE) / 3
    minimiser = float(quadratic().constants.minimiser[0])
    assert np.allclose(values["squared_distance"], (x - minimiser) ** 2)
    assert np.allclose(values["squared_gradient"], (mean_curvature * (x - minimiser)) ** 2)


def test_staleness_counts_rounds_since_the_last_participation():
    setup = plain(Cyclic([0.5, 0.5, 0.5], 4), AverageAll())
    record = run(setup, 20, what=("staleness", "largest_staleness")).record.arrays()
    rng = np.random.default_rng(0).spawn(5)[0]
    for replicate, seed in enumerate(rng.integers(2**63, size=4).tolist()):
        seen, last = setup.process.sample(20, seed), np.full(3, -1)
        for t in range(21):
            assert record["staleness"][replicate, t] == (t - last).mean()
            assert record["largest_staleness"][replicate, t] == (t - last).max()
            if t < 20:
                last[seen[t]] = t


def test_schedules_scale_the_local_step():
    lr = 0.2
    constant = run(plain(lr=lr / 10, problem=quadratic(noise=0)), 100).record.arrays()["model"]
    scaled = run(plain(lr=lr, problem=quadratic(noise=0), schedule=schedules.inverse_sqrt()), 100)
    assert np.allclose(scaled.record.arrays()["model"], constant, rtol=1e-12)
    halved = run(plain(lr=lr, problem=quadratic(noise=0), schedule=schedules.decay([1], 0.1)), 100)
    model = halved.record.arrays()["model"]
    assert np.array_equal(
        model[:, 1], run(plain(lr=lr, problem=quadratic(noise=0)), 100).record.arrays()["model"][:, 1]
    )
    assert not np.allclose(model[:, 2], constant[:, 2])


def test_roles():
    from sims.algorithms.protocol import Cohort

    rng = np.random.default_rng(0)
    valid = rng.random((500, 4)) < 0.7
    cohort = Cohort(np.zeros((500, 4), dtype=int), valid, 4)
    one = roles.one()(3, cohort, rng)
    assert (one.sum(axis=-1) == 1).all()
    assert valid[one.astype(bool)].sum() == valid.any(axis=-1).sum()
    assert roles.sequential(3)(3, cohort, rng).all()
    assert not roles.sequential(3)(4, cohort, rng).any()
    full = roles.full_rounds(0.5)
    assert full(0, cohort, rng).all()
    later = full(1, cohort, rng)
    assert (later == later[:, :1]).all()
    assert 0 < later.mean() < 1


def test_a_record_needs_no_list_of_its_rounds():
    for rounds, every in ((1, 1), (7, 3), (6, 3), (2, 5)):
        record = Record((), every, rounds)
        due = [round for round in range(rounds + 1) if record.due(round) and _taken(record)]
        assert due == record.rounds.tolist() == [*range(0, rounds, every), rounds]
        assert record.size == len(due)
    assert Record((), 1, 10**30).size == 10**30 + 1


def _taken(record):
    record.take(Moment(None, int(record.taken), *[None] * 6))
    return True
