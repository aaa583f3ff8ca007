"""The round loop: the clock, checkpoints, common random numbers, and agreement with closed forms."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli, Cyclic, Markov, Permutation, UniformSubset
from fltheory.weights import average_participating, exact_weight_law, fedau_weights
from sims import roles, schedules, selection
from sims.algorithms import amplified, bvr_l_sgd, fedamd, fedavg, fedlaavg, fedpage, mifa, scaffold
from sims.algorithms.protocol import State
from sims.arrays import as_exact, require_exact
from sims.checkpoints import restore, save
from sims.divergence import Diverged, stable_step
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.recorder import METRICS, Moment, Record, check_metrics
from sims.rounds import Setup, Simulation
from sims.weighting import (
    RULES,
    AverageAll,
    AverageParticipating,
    ExponentialAverage,
    FedAU,
    KnownRates,
)

CURVATURE, CENTRE, RATES = [1.0, 2.0, 4.0], [-1.0, 0.5, 2.0], [0.1, 0.5, 0.9]
EVERYTHING = tuple(METRICS)


@dataclass(frozen=True)
class Rests:
    """Whoever took part rests in the next round; otherwise a coin decides."""

    n_clients: int

    def step(self, history, rng):
        coin = rng.random(history.shape[1:]) < 0.7
        return coin & ~history[-1] if len(history) else coin


def quadratic(n=3, noise=0.5):
    rng = np.random.default_rng(5)
    if n == 3:
        return DiagonalQuadratic(CURVATURE, CENTRE, Additive(noise))
    return DiagonalQuadratic(rng.uniform(1, 2, (n, 2)), rng.normal(size=(n, 2)), Additive(noise))


def plain(process=None, rule=None, lr=0.05, steps=5, **options):
    process = process or Bernoulli(RATES)
    hyper = fedavg.Hyper(lr, 1, steps)
    problem = options.pop("problem", None) or quadratic(process.n_clients)
    return Setup(problem, fedavg.fedavg, hyper, process, rule or FedAU(5), **options)


def run(setup, rounds, replicates=4, seed=0, what=("model",), every=1, until=None):
    record = Record(what, every, rounds)
    start = np.zeros((replicates, setup.problem.dimension))
    simulation = Simulation(setup, start, rounds, np.random.default_rng(seed), record)
    simulation.advance(until)
    return simulation


def same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].dtype == other[name].dtype, name
        assert one[name].tobytes() == other[name].tobytes(), name


# ---- one round after the other -------------------------------------------------------------------------------


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


# ---- checkpoints ---------------------------------------------------------------------------------------------


def anchors():
    hyper = fedamd.Hyper(0.05, 1, 3, 2)
    return Setup(quadratic(6), fedamd.fedamd, hyper, Markov(np.full(6, 0.5)), roles=roles.constant(0.3))


SETUPS = {
    "fedau": plain,
    "exponential average": lambda: plain(rule=ExponentialAverage(0.2, 9)),
    "known rates, dropout": lambda: plain(Cyclic(RATES, 10), KnownRates(), dropout=0.3),
    "uniform": lambda: plain(Bernoulli(np.full(6, 0.6)), FedAU(math.inf), selection=selection.uniform(2)),
    "permutation": lambda: plain(Bernoulli(np.full(6, 0.6)), FedAU(4), selection=selection.permutation(2)),
    "snapshot": lambda: plain(
        Markov(np.full(6, 0.3)), selection=selection.snapshot(3, selection.all_available(), probability=0.2)
    ),
    "snapshots at intervals": lambda: plain(
        Markov(np.full(6, 0.3)), selection=selection.snapshot(3, selection.uniform(2), interval=4)
    ),
    "reactive": lambda: plain(Rests(3), FedAU(6)),
    "decay": lambda: plain(schedule=schedules.decay([10, 20], 0.5)),
    "mifa": lambda: Setup(quadratic(6), mifa.mifa, mifa.Hyper(0.05), Permutation(6, 2)),
    "scaffold": lambda: Setup(
        quadratic(6), scaffold.scaffold, scaffold.Hyper(0.05, 1, 3, option=1), UniformSubset(6, 3)
    ),
    "fedlaavg": lambda: Setup(
        quadratic(6),
        fedlaavg.fedlaavg,
        fedlaavg.Hyper(0.05),
        Bernoulli(np.full(6, 0.5)),
        selection=selection.least_recently_used(2),
    ),
    "fedamd": anchors,
    "fedpage": lambda: Setup(
        quadratic(6), fedpage.fedpage, fedpage.Hyper(0.05, 0.1), UniformSubset(6, 3), roles=roles.full_rounds(0.2)
    ),
    "bvr_l_sgd": lambda: Setup(
        quadratic(6), bvr_l_sgd.bvr_l_sgd, bvr_l_sgd.Hyper(0.05, 2, 3), UniformSubset(6, 3), roles=roles.one()
    ),
}


@pytest.mark.parametrize("name", SETUPS)
def test_a_split_run_equals_an_unbroken_one_bit_for_bit(name, tmp_path):
    what = tuple(w for w in EVERYTHING if w != "weight_error" or SETUPS[name]().rates is not None)
    whole = run(SETUPS[name](), 40, what=what, every=3)
    first = run(SETUPS[name](), 40, what=what, every=3, until=17)
    save(first, tmp_path / "checkpoint.npz")
    second = run(SETUPS[name](), 40, what=what, every=3, until=0)
    restore(second, tmp_path / "checkpoint.npz")
    assert second.round == 17
    second.advance()
    same(whole.state_dict(), second.state_dict())
    same(whole.record.arrays(), second.record.arrays())
    assert whole.state.linear["x"].dtype == np.float64
    first.advance()  # whoever was saved is not disturbed
    same(whole.state_dict(), first.state_dict())
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.npz"]
    again = run(SETUPS[name](), 40, what=what, every=3, seed=1)
    assert again.state_dict()["linear.x"].tobytes() != whole.state_dict()["linear.x"].tobytes()


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    file = tmp_path / "checkpoint.npz"
    save(run(plain(), 10, until=4), file)
    with pytest.raises(InputError, match="checkpoint must be one with the linear state"):
        restore(run(plain(), 10, replicates=2, until=0), file)
    with pytest.raises(InputError, match=r"checkpoint must be one of fedavg .* for 11 rounds; got 'fedavg .* for 10"):
        restore(run(plain(), 11, until=0), file)
    with pytest.raises(InputError, match=r"local_lr=0\.04"):
        restore(run(plain(lr=0.04), 10, until=0), file)
    with pytest.raises(InputError, match="one of a simulation with the same generator"):
        restore(run(plain(), 10, seed=1, until=0), file)
    with pytest.raises(InputError, match="checkpoint"):
        restore(run(plain(), 10, until=0), tmp_path / "none.npz")
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(InputError, match="checkpoint must be a file that `save` wrote"):
        restore(run(plain(), 10, until=0), file)


# ---- common random numbers -----------------------------------------------------------------------------------


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


# ---- agreement with closed forms -----------------------------------------------------------------------------


def poisson_binomial_shares():
    """E[I_n / |S|] for the three clients, by enumeration."""
    shares = [Fraction(0)] * 3
    chance = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]
    for who in range(1, 8):
        members = [n for n in range(3) if who >> n & 1]
        probability = math.prod(chance[n] if n in members else 1 - chance[n] for n in range(3))
        for n in members:
            shares[n] += probability / len(members)
    return shares


CHANCES = np.array(RATES)
LIMITS = [
    # rule, long-run weights phi, the limit as it is printed (gamma = .05, 5 local steps)
    ("average_all", AverageAll(), CHANCES, 1.549533),
    (
        "average_participating",
        AverageParticipating(),
        np.array([float(s) for s in poisson_binomial_shares()]),
        1.650003,
    ),
    ("known_rates", KnownRates(), np.ones(3), 1.011564),
    ("fedau", FedAU(5), 1 - (1 - CHANCES) ** 5, 1.248504),
]


@pytest.mark.parametrize(("name", "rule", "phi", "printed"), LIMITS, ids=[limit[0] for limit in LIMITS])
def test_long_run_means_are_those_of_the_closed_forms(name, rule, phi, printed):
    """E x_t -> sum phi_n A_n b_n / sum phi_n A_n, A_n = 1 - (1 - gamma a_n)^I.

    For fixed weights the limit is exact. FedAU's w_t are random, of mean phi_n / p_n and relative deviation r_n, and
    correlated with x_t. As both are independent of round t, E sum_n phi_n (1 + r_n) A_n (b_n - x_t) = 0 in the long
    run, so by Cauchy and Schwarz the limit moves by at most the phi A-weighted mean of sd(r_n) rms(b_n - x_t).
    Replicates are independent: (mean - limit) / standard error is within 6 with a false alarm of about 2e-9 each.
    """
    lr, steps, rounds, replicates = 0.05, 5, 400 if name == "fedau" else 80, 2000
    effect = 1 - (1 - lr * np.array(CURVATURE)) ** steps
    limit = float((phi * effect * CENTRE).sum() / (phi * effect).sum())
    assert round(limit, 6) == printed
    setup = plain(rule=rule, lr=lr, steps=steps, problem=quadratic(noise=0.1))
    final = run(setup, rounds, replicates, what=("model",), every=rounds).record.arrays()["model"][:, -1, 0]
    error = final.std(ddof=1) / math.sqrt(replicates)
    # what is left of the start: (1 - mean of phi A / N)^rounds of a distance of at most 2
    transient = 2 * (1 - float((phi * effect).mean())) ** rounds
    correlation = 0.0
    if name == "fedau":
        laws = [exact_weight_law(p, 5, rounds) for p in RATES]
        relative = np.array([math.sqrt(law.second_moment[-1] / law.mean[-1] ** 2 - 1) for law in laws])
        away = np.sqrt(((np.array(CENTRE) - final[:, None]) ** 2).mean(axis=0))
        correlation = float((phi * effect * relative * away).sum() / (phi * effect).sum())
    tolerance = 6 * error + transient + correlation
    assert tolerance < 0.12  # half of what is between neighbouring limits
    assert abs(final.mean() - limit) < tolerance


@pytest.mark.parametrize(("rule", "weight"), [(AverageAll(), np.ones(3)), (KnownRates(), 1 / CHANCES)])
def test_stationary_variance(rule, weight):
    """Var of claims 2.6 for independent participation and fixed weights: .0200195 and .3584346 without noise.

    The variance of a sample variance comes from the sample's own fourth moment; 6 standard errors, as above.
    """
    lr, steps, rounds, replicates = 0.05, 5, 60, 3000
    a, b, p = np.array(CURVATURE), np.array(CENTRE), CHANCES
    effect = 1 - (1 - lr * a) ** steps
    mean = (p * weight * effect * b).sum() / (p * weight * effect).sum()
    pull = (p * weight * effect).sum() / 3
    spread = (p * (1 - p) * weight**2 * effect**2).sum() / 9
    variance = (p * (1 - p) * weight**2 * effect**2 * (b - mean) ** 2).sum() / 9 / (1 - (1 - pull) ** 2 - spread)
    assert round(float(variance), 7) == {1.0: 0.0200195, 10.0: 0.3584346}[float(weight[0])]
    setup = plain(rule=rule, lr=lr, steps=steps, problem=quadratic(noise=0))
    final = run(setup, rounds, replicates, every=rounds).record.arrays()["model"][:, -1, 0]
    squares = (final - final.mean()) ** 2
    error = squares.std(ddof=1) / math.sqrt(replicates)
    assert error < 0.05 * variance
    assert abs(squares.mean() - variance) < 6 * error + 2 * (1 - pull) ** rounds


# ---- what is recorded ----------------------------------------------------------------------------------------


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


def test_a_divergence_stops_at_the_first_bad_number_and_keeps_the_record():
    setup = plain(lr=0.6, problem=quadratic(noise=0.0), steps=20)
    record = Record(("model",), 1, 500)
    simulation = Simulation(setup, np.ones((3, 1)), 500, np.random.default_rng(0), record)
    with pytest.raises(
        Diverged, match=r"round \d+: the update of client 2 is no longer finite with local_lr 0.6 .* 0.5$"
    ):
        simulation.advance()
    stopped = simulation.round
    assert 0 < stopped < 500
    assert record.rounds.tolist() == list(range(stopped + 1))
    assert np.isfinite(record.arrays()["model"]).all()
    assert stable_step(setup.problem) == 0.5
    for steps, says in (
        (1, r"stable up to local_lr times global_lr = 0\.5$"),
        (2, r"local steps on this problem are stable up to 0\.5, so that global_lr is what is too large$"),
    ):
        with pytest.raises(Diverged, match=f"the model is no longer finite .* {says}"):
            run(replace(setup, hyper=fedavg.Hyper(0.1, 1e200, steps)), 50)
    with pytest.raises(Diverged, match=r"stable up to 0\.5, and global_lr enlarges them$"):
        run(replace(setup, hyper=fedavg.Hyper(0.6, 1e200, 2)), 50)


def test_a_cached_gradient_that_is_not_finite_stops_the_run():
    """Anchors send gradients and no updates: the model would look fine while the caches overflow."""
    everybody = Bernoulli([1.0] * 3)
    setup = Setup(quadratic(noise=0.0), fedamd.fedamd, fedamd.Hyper(1e-3), everybody, None, roles=roles.constant(1))
    simulation = Simulation(setup, np.full((1, 1), 5e153), 3, np.random.default_rng(0), Record(("model",), 1, 3))
    with pytest.raises(Diverged, match="round 0: the update of client 2"):
        simulation.advance()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            lambda: plain(Bernoulli([0.5, 0.5]), problem=quadratic(3)),
            "number of clients of the process must be 3, as many as the problem has; got 2$",
        ),
        (lambda: plain(dropout=1.0), "dropout must be a probability"),
        (lambda: plain(dropout=math.nan), "dropout must be a probability"),
        (lambda: plain(dropout="x"), "dropout must be a probability"),
        (lambda: run(plain(), 0), "rounds must be a whole number of at least 1"),
        (lambda: run(plain(), 3, until=4), "until must be at most the number of rounds, 3"),
        (lambda: run(plain(), 3, every=0), "every must be a whole number"),
        (lambda: run(plain(selection=selection.uniform(4)), 3), "size must be at most the number of clients, 3"),
        (
            lambda: run(plain(rule=KnownRates(), selection=selection.uniform(2)), 3),
            "rates of participation are not known",
        ),
        (lambda: run(plain(Bernoulli(np.full(4, 0.5)), problem=quadratic(4)), 2, what=()).advance(9), "until"),
        (lambda: Simulation(plain(), np.zeros((2, 2)), 3, np.random.default_rng(0)), "start must be of shape"),
        (lambda: Simulation(plain(), [[0.0]], 3, np.random.default_rng(0)), "start must be a numpy or torch array"),
        (lambda: check_metrics(("gap",), quadratic(), None), "record.what must be one of"),
        (lambda: check_metrics(("weight_error",), quadratic(), None), "participation rates are not known"),
        (lambda: check_metrics(("objective_gap",), DiagonalQuadratic([0, 0], slope=[1, 1]), None), "no known minimum"),
        (lambda: FedAU(0), "cutoff must be a whole number"),
        (lambda: ExponentialAverage(0.0), "smoothing must be"),
        (lambda: schedules.decay([-1], 0.5), "at must be a whole number"),
        (lambda: schedules.decay([1], math.nan), "factor must be"),
        (
            lambda: Setup(
                quadratic(),
                amplified.wait_full,
                amplified.WaitHyper(0.1, 2),
                Bernoulli(RATES),
                schedule=schedules.inverse_sqrt(),
            ),
            "schedule must be constant, .*; got 'inverse_sqrt'$",
        ),
        (lambda: roles.constant(1.5), "probability must be in"),
        (lambda: roles.constant([1]), "probability must be one number"),
        (lambda: roles.full_rounds([]), "probability must be one number"),
        (lambda: roles.sequential(1), "period must be"),
        (lambda: schedules.decay(3, 0.5), "at must be a list of rounds"),
        (lambda: schedules.decay([3], True), "factor must be a finite number"),
        (lambda: mifa.Hyper(0.1, wait="no"), "wait must be true or false; got 'no'"),
        (lambda: fedlaavg.Hyper(0.1, gradient_memory="no"), "gradient_memory must be true or false"),
        (lambda: fedlaavg.Hyper(0.1, weights=1), "weights must be a list"),
        (lambda: fedavg.Hyper(True), "local_lr must be a finite number"),
        (lambda: scaffold.Hyper(0.1, global_lr=False), "global_lr must be a finite number"),
        (lambda: scaffold.Hyper(0.1, option=True), "option must be 1 or 2"),
        (lambda: Additive(1e308), "std must be a number whose square is finite"),
        (lambda: Additive(10**400), "std must be a finite number"),
    ],
)
def test_bad_input_is_one_sentence(wrong, says):
    with pytest.raises(InputError, match=says) as caught:
        wrong()
    assert "\n" not in str(caught.value)


EXACT = {"problem": DiagonalQuadratic([1, 2, 4], [-1, "1/2", 2]), "algorithm": scaffold.scaffold}


def exact(hyper, start=((0,), (1,)), **options):
    setup = Setup(hyper=hyper, process=Bernoulli(RATES), **(EXACT | options))
    simulation = Simulation(setup, start, 5, np.random.default_rng(0))
    simulation.advance()
    return simulation.state.linear


def test_an_exact_start_stays_exact():
    step = Fraction(1, 10)
    linear = exact(scaffold.Hyper(step, local_steps=2), as_exact([[0], [1]]))
    require_exact(linear)
    floats = exact(scaffold.Hyper(0.1, local_steps=2), np.array([[0.0], [1.0]]))
    assert np.allclose(linear["x"].astype(float), floats["x"], rtol=1e-13)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda x: exact(scaffold.Hyper(0.1), x), "local_lr must be an int or a Fraction, .* exact; got 0.1"),
        (
            lambda x: exact(fedlaavg.Hyper(Fraction(1, 9), weights=(0.5, 0.25, 0.25)), x, algorithm=fedlaavg.fedlaavg),
            "weights must be an int or a Fraction",
        ),
        (
            lambda x: exact(fedavg.Hyper(Fraction(1, 9)), x, algorithm=fedavg.fedavg, rule=AverageAll()),
            "weighting must be left out for an exact start: its weights are floats; got 'AverageAll'",
        ),
        (
            lambda x: exact(scaffold.Hyper(Fraction(1, 9)), x, schedule=schedules.inverse_sqrt()),
            "schedule must be constant for an exact start: its factors are floats; got 'inverse_sqrt'",
        ),
        (
            lambda x: exact(scaffold.Hyper(Fraction(1, 9)), x.astype(float)),
            "local_lr must be a float or an int, as the model is in floats; got Fraction",
        ),
    ],
)
def test_exact_and_float_do_not_mix(wrong, says):
    with pytest.raises(InputError, match=says):
        wrong(as_exact([[0], [1]]))


def test_a_float_that_slips_into_an_exact_run_is_seen():
    leaking = replace(
        scaffold.scaffold, apply=lambda *args: State({**scaffold.apply(*args).linear, "x": args[0].linear["x"] * 1.0})
    )
    with pytest.raises(TypeError, match="not exact"):
        exact(scaffold.Hyper(Fraction(1, 10)), as_exact([[0], [1]]), algorithm=leaking)
    turned = replace(leaking, apply=lambda *args: State({"x": args[0].linear["x"].astype(object)}))
    with pytest.raises(InputError, match="without Fractions"):
        exact(scaffold.Hyper(0.1), np.zeros((2, 1)), algorithm=turned)


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


@pytest.mark.torch
@pytest.mark.parametrize("name", ["fedau", "permutation", "scaffold", "fedamd", "mifa"])
def test_the_loop_runs_on_torch_and_gives_the_same_numbers(name, tmp_path):
    torch = pytest.importorskip("torch")
    setup = SETUPS[name]()
    wanted = run(setup, 25)

    def on_torch(until):
        start = torch.zeros((4, setup.problem.dimension), dtype=torch.float64)
        simulation = Simulation(SETUPS[name](), start, 25, np.random.default_rng(0), Record(("model",), 1, 25))
        simulation.advance(until)
        return simulation

    found = on_torch(25)
    assert np.allclose(found.record.arrays()["model"], wanted.record.arrays()["model"], rtol=1e-11, atol=1e-12)
    save(on_torch(11), tmp_path / "checkpoint.npz")
    resumed = on_torch(0)
    restore(resumed, tmp_path / "checkpoint.npz")
    resumed.advance()
    same(found.state_dict(), resumed.state_dict())


@pytest.mark.parametrize("algorithm", [fedlaavg.fedlaavg, mifa.mifa, scaffold.scaffold], ids=lambda a: a.name)
def test_a_start_in_whole_numbers_is_one_in_floats(algorithm):
    setup = Setup(quadratic(), algorithm, algorithm.hyper(local_lr=0.05), Bernoulli(RATES))
    ends = []
    for start in (np.zeros((2, 1)), np.zeros((2, 1), dtype=np.int64)):
        simulation = Simulation(setup, start, 20, np.random.default_rng(0))
        simulation.advance()
        ends.append(simulation.state.linear["x"])
    assert np.array_equal(*ends)


@pytest.mark.parametrize("start", [np.array([[1j]]), np.array([[True]]), np.array([["x"]]), np.array([[math.nan]])])
def test_a_start_that_is_no_model(start):
    with pytest.raises(InputError, match="start must be"):
        Simulation(plain(), start, 3, np.random.default_rng(0))


def test_a_record_needs_no_list_of_its_rounds():
    for rounds, every in ((1, 1), (7, 3), (6, 3), (2, 5)):
        record = Record((), every, rounds)
        due = [round for round in range(rounds + 1) if record.due(round) and _taken(record)]
        assert due == record.rounds.tolist() == [*range(0, rounds, every), rounds]
        assert record.size == len(due)
    assert Record((), 1, 10**30).size == 10**30 + 1


def _taken(record):
    record.take(Moment(None, int(record.taken), None, None, None, None, None))
    return True
