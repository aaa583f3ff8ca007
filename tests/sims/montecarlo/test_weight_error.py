"""Monte Carlo against the exact law, a plain loop over rounds, and single paths worked out by hand.

Statistical checks use `empirical_bernstein` at level 1 - 1e-10 for each round. There are fewer than 10^4 of them, so
the false-alarm rate of this file is below 1e-6; seeds are fixed all the same.
"""

import math

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli, Cyclic, Markov, Periodic, Permutation, Recorded
from fltheory.weights import exact_weight_law, fedau_weights
from sims.montecarlo import empirical_bernstein, traces, weight_error
from sims.montecarlo.intervals import IntervalSampling
from sims.montecarlo.traces import TraceSampling
from sims.montecarlo.weight_error import _highest

SURE = 1 - 1e-10


def radius(n, mean, variance, high):
    estimate = empirical_bernstein(n, mean, variance, low=0, high=high, level=SURE)
    return max(estimate.high - mean, mean - estimate.low)


def radii(found, rate, cutoff):
    """How far the truth may be from `error` and from `mean_weight`, (rounds,) each."""
    n = found.average.n
    error, weight = np.empty_like(found.error), np.empty_like(found.error)
    for t in range(len(error)):
        longest = min(cutoff, max(t, 1))
        highest = max((rate - 1) ** 2, (rate * longest - 1) ** 2) + 1e-12
        error[t] = radius(n, found.error[t], found.standard_error[t] ** 2 * (n - 1), highest)
        spread = max(found.error[t] - (rate * found.mean_weight[t] - 1) ** 2, 0) / rate**2
        weight[t] = radius(n, found.mean_weight[t], spread, longest + 1e-9)
    return error + 1e-12, weight + 1e-12


def agrees(found, law, rate, cutoff):
    error, weight = radii(found, rate, cutoff)
    return bool(
        found.average.covers(law.error.mean())
        and (np.abs(found.error - law.error) <= error).all()
        and (np.abs(found.mean_weight - law.mean) <= weight).all()
    )


CASES = [
    (0.1, 50, 120),
    (0.02, 10, 60),
    (0.5, math.inf, 40),
    (1.0, 7, 20),
    (0.3, 1, 20),
    (Bernoulli(0.3), 5, 40),
    (Markov(0.1), 8, 60),
    (Markov(0.02), 20, 60),
    (Markov(0.6), math.inf, 40),
    (Markov.from_stability(0.3, 0.8), 4, 40),
]


@pytest.mark.parametrize(("process", "cutoff", "rounds"), CASES)
def test_interval_sampling_agrees_with_the_exact_law(process, cutoff, rounds):
    found = weight_error(process, cutoff, rounds, 40_000, seed=3, level=SURE)
    assert found.average.n == 40_960
    law = exact_weight_law(process, cutoff, rounds)
    assert agrees(found, law, float(law.rate), cutoff)
    assert found.average.value == pytest.approx(found.error.mean(), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("process", [Cyclic(0.1, 10**7), Periodic([0], 1000, 10**7)])
def test_a_long_cycle_is_no_hindrance(process):
    found = weight_error(process, 50, 100, 256, level=SURE)
    assert agrees(found, exact_weight_law(process, 50, 100), float(process.rate[0]), 50)


@pytest.mark.parametrize("p", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("cutoff", [1, 2, 4, math.inf])
@pytest.mark.parametrize("rounds", [1, 2, 10])
def test_no_history_exceeds_the_range_of_the_interval(p, cutoff, rounds):
    histories = (np.arange(2**rounds)[:, None] >> np.arange(rounds)) & 1
    average = ((p * fedau_weights(histories[:, :, None], cutoff)[..., 0] - 1) ** 2).mean(axis=1)
    assert average.max() <= _highest(IntervalSampling(p, 1 - p, p, cutoff, rounds, 1))


def test_traces_held_a_few_at_a_time_are_the_same(monkeypatch):
    task = TraceSampling(Cyclic(0.3, period=10), 0.3, 4, 30, 50)
    whole = task(0, np.random.default_rng(0))
    monkeypatch.setattr(traces, "CELLS", 30 * 7)
    parts = task(0, np.random.default_rng(0))
    for name in whole:
        assert parts[name] == pytest.approx(whole[name], rel=1e-13)


@pytest.mark.parametrize(
    ("process", "cutoff"),
    [
        (Cyclic(0.3, period=10), 4),
        (Cyclic(0.2, period=5, preset="as_in_code"), math.inf),
        (Recorded.from_matrix([[0], [1], [1]], "repeat"), 2),
    ],
)
def test_traces_agree_with_the_exact_law(process, cutoff):
    found = weight_error(process, cutoff, 30, 2000, seed=5, level=SURE)
    assert found.average.n == 2048
    assert agrees(found, exact_weight_law(process, cutoff, 30), float(process.rate[0]), cutoff)


def test_a_process_without_an_exact_law():
    found = weight_error(Permutation(1, 1), 5, 10, 1)
    assert found.average.n == 256
    assert (found.error == 0).all()


@pytest.mark.parametrize("wrong", [{"p": 0.27}, {"p": 0.33}, {"cutoff": 5}, {"cutoff": 7}])
def test_a_wrong_rate_or_cutoff_is_noticed(wrong):
    right = {"p": 0.3, "cutoff": 6}
    found = weight_error(right["p"], right["cutoff"], 60, 80_000, seed=4, level=SURE)
    assert agrees(found, exact_weight_law(0.3, 6, 60), 0.3, 6)
    given = {**right, **wrong}
    law = exact_weight_law(given["p"], given["cutoff"], 60)
    assert not found.average.covers(law.error.mean())


def test_a_shift_by_one_round_is_noticed():
    found, law = weight_error(0.3, 6, 60, 80_000, seed=4, level=SURE), exact_weight_law(0.3, 6, 61)
    error, weight = radii(found, 0.3, 6)
    assert (np.abs(found.error - law.error[1:]) > error).any()
    assert (np.abs(found.mean_weight - law.mean[1:]) > weight).any()


def round_by_round(enter, leave, cutoff, rounds, replicates, rng):
    """Algorithm 2 as printed, for all replicates at once: E[(p w_t - 1)^2] and what its variance needs."""
    rate = enter / (enter + leave)
    weight, completed, open_ = np.ones(replicates), np.zeros(replicates), np.zeros(replicates)
    on = rng.random(replicates) < rate
    error, variance = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        if t > 0:
            open_ += 1
            ended = on | (open_ == cutoff)  # `on` is still the participation in round t - 1
            weight[ended] = ((completed * weight * (completed > 0) + open_) / (completed + 1))[ended]
            completed += ended
            open_[ended] = 0
            on = rng.random(replicates) < np.where(on, 1 - leave, enter)
        square = (rate * weight - 1) ** 2
        error[t], variance[t] = square.mean(), square.var()
    return error, variance


@pytest.mark.parametrize(("enter", "leave", "cutoff"), [(0.2, 0.8, 6), (0.1, 0.3, 12), (0.9, 1.0, 3)])
def test_interval_sampling_agrees_with_the_loop_over_rounds(enter, leave, cutoff):
    rounds, n, rate = 50, 32_768, enter / (enter + leave)
    task = IntervalSampling(enter, leave, rate, cutoff, rounds, n)
    result = task(0, np.random.default_rng(1))
    fast = result["square"] / n
    slow, slow_variance = round_by_round(enter, leave, cutoff, rounds, n, np.random.default_rng(2))
    for t in range(rounds):
        highest = max((rate - 1) ** 2, (rate * min(cutoff, max(t, 1)) - 1) ** 2) + 1e-12
        fast_variance = max(result["fourth"][t] / n - fast[t] ** 2, 0)
        allowed = radius(n, fast[t], fast_variance, highest) + radius(n, slow[t], slow_variance[t], highest)
        assert abs(fast[t] - slow[t]) <= allowed


class Recording:
    """A generator that keeps its draws."""

    def __init__(self, seed):
        self.rng, self.draws = np.random.default_rng(seed), []

    def standard_exponential(self, out):
        self.rng.standard_exponential(out=out)
        self.draws.extend(out.tolist())


@pytest.mark.parametrize(("enter", "leave"), [(0.3, 0.7), (0.2, 0.4), (0.8, 1.0), (1.0, 0.5), (0.6, 0.0), (0.05, 0.95)])
@pytest.mark.parametrize("cutoff", [1, 4, math.inf])
def test_single_paths(enter, leave, cutoff):
    """The draws of one replicate, turned into a participation history one round after the other."""
    rounds, rate = 40, enter / (enter + leave)
    for seed in range(10):
        rng = Recording(seed)
        result = IntervalSampling(enter, leave, rate, cutoff, rounds, 1)(0, rng)
        history: list[bool] = []
        longer_than_one = leave / (enter + leave)
        for draw in rng.draws:
            gap, longer = 1, longer_than_one  # P(gap > 1) is a draw's chance to exceed -log of it, and so on
            while gap <= cutoff and gap <= rounds and longer > 0 and draw > -math.log(longer):
                gap, longer = gap + 1, longer * (1 - enter)
            cut = gap > cutoff
            history += [False] * (min(gap, cutoff) - 1) + [not cut]
            longer_than_one = 1 - enter if cut else leave
        assert len(history) >= rounds
        weights = fedau_weights(np.array(history[:rounds])[:, None], cutoff)[:, 0]
        squares = (rate * weights - 1) ** 2
        for name, exact in (("weight", weights), ("square", squares), ("fourth", squares**2)):
            assert result[name] == pytest.approx(exact, rel=1e-12, abs=1e-12)
        assert result["average"] == pytest.approx([squares.mean()], rel=1e-12, abs=1e-12)


def test_extreme_rates():
    for p in (1e-300, 1e-12):
        found = weight_error(p, math.inf, 30, 1)
        assert found.error == pytest.approx((p * found.mean_weight - 1) ** 2, abs=1e-9)
        assert found.mean_weight == pytest.approx(np.ones(30))
    almost = weight_error(1 - 2**-53, 3, 30, 1)
    assert almost.average.covers(0.0)
    never = weight_error(Recorded.from_matrix([[0]], "hold"), 3, 10, 1)
    assert (never.error == 1).all()
    assert never.mean_weight.tolist() == [1, 1, 1, 3, 3, 3, 3, 3, 3, 3]


@pytest.mark.parametrize("process", [0.2, Markov(0.3), Cyclic(0.3, period=10)])
def test_bits_do_not_depend_on_workers_and_more_replicates_continue(process, tmp_path):
    one = weight_error(process, 5, 20, 20_000 if process == 0.2 else 500, seed=9, store=tmp_path)
    files = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*/*.npz")}
    for options in ({"workers": 2}, {"store": tmp_path}):
        other = weight_error(process, 5, 20, one.average.n, seed=9, **options)
        assert other.average == one.average
        for name in ("error", "standard_error", "mean_weight"):
            assert np.array_equal(getattr(other, name), getattr(one, name))
    more = weight_error(process, 5, 20, one.average.n + 1, seed=9, store=tmp_path)
    assert more.average.n > one.average.n
    assert len(list(tmp_path.glob("*/*.npz"))) == len(files) + 1
    assert {file: file.stat().st_mtime_ns for file in files} == files
    chunk = next(iter(files)).parent / f"{len(files)}.npz"
    with np.load(chunk) as new:
        assert more.error * more.average.n == pytest.approx(one.error * one.average.n + new["square"], rel=1e-13)


def test_standard_errors(tmp_path):
    found = weight_error(0.3, 5, 20, 1, store=tmp_path)
    (file,) = tmp_path.glob("*/*.npz")
    with np.load(file) as chunk:
        n, average, square, fourth = found.average.n, chunk["average"], chunk["square"], chunk["fourth"]
    assert found.average.standard_error == pytest.approx(average.std(ddof=1) / math.sqrt(n), rel=1e-12)
    variance = (fourth - square**2 / n) / (n - 1)
    assert found.standard_error == pytest.approx(np.sqrt(np.maximum(variance, 0) / n), rel=1e-9, abs=1e-9)


def test_a_float_and_its_bernoulli_process_are_the_same():
    assert weight_error(0.3, 5, 20, 1).average == weight_error(Bernoulli(0.3), 5, 20, 1).average


@pytest.mark.parametrize("workers", [1, 2])
def test_bad_input_that_only_the_task_notices(workers):
    with pytest.raises(InputError, match=r"^rounds must be at most the 2 rounds of the log"):
        weight_error(Recorded.from_matrix([[0], [1]], "raise"), 5, 10, 600, workers=workers)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"process_or_p": 0.0}, r"process_or_p must be a rate in \(0, 1\], or a participation process; got 0.0"),
        ({"process_or_p": math.nan}, r"process_or_p must be a rate in \(0, 1\], or a participation process; got nan"),
        (
            {"process_or_p": [0.1, 0.2]},
            r"process_or_p must be a rate in \(0, 1\], or a participation process; got \[0.1, 0.2\]",
        ),
        (
            {"process_or_p": "often"},
            r"process_or_p must be a rate in \(0, 1\], or a participation process; got 'often'",
        ),
        (
            {"process_or_p": Bernoulli([0.1, 0.2])},
            r"process_or_p must be a process with one client \(estimate them one by one\); got .*",
        ),
        ({"cutoff": 0}, "cutoff must be a whole number of at least 1, or infinity; got 0"),
        ({"cutoff": math.nan}, "cutoff must be a whole number of at least 1, or infinity; got nan"),
        ({"process_or_p": Bernoulli}, r"process_or_p must be a rate or a process, such as Bernoulli\(0.1\), .*"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1; got 0"),
        ({"rounds": 10**12}, r"rounds must be at most 1000000; got 1000000000000"),
        ({"rounds": 10**400}, r"rounds must be at most 1000000; got 1000.*"),
        ({"replicates": 0}, "replicates must be a whole number of at least 1; got 0"),
        ({"replicates": 1.5}, "replicates must be a whole number of at least 1; got 1.5"),
        ({"level": 0}, "level must be a number between 0 and 1; got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0; got -1"),
        ({"workers": 0}, "workers must be a whole number of at least 1; got 0"),
    ],
)
def test_bad_input(changed, sentence):
    good = {"process_or_p": 0.1, "cutoff": 5, "rounds": 10, "replicates": 1}
    with pytest.raises(InputError, match=f"^{sentence}$"):
        weight_error(**{**good, **changed})
