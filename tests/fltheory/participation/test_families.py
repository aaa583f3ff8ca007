"""What every process must do, for each process of the registry."""

from __future__ import annotations

import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fltheory.errors import InputError
from fltheory.participation import Bernoulli, Cyclic, Markov, ParticipationProcess, Phases, TwoStateChain
from tests.fltheory.participation.families import FAMILIES, Family, cyclic_as_in_code, stable
from tests.fltheory.participation.tolerance import assert_mean

each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
INDEPENDENT = [family for family in FAMILIES if family.of is not None]
LAGS = [0, 1, 2, 3, 7, 20]
REACH = 21  # rounds that are looked at beyond the window, for lags and intervals


def replicates(family: Family) -> np.ndarray:
    """Independent traces (n, rounds, clients): copies of the clients where these are independent, and seeds."""
    rounds = family.start + family.window + REACH
    process, clients = family.process, family.process.n_clients
    if family.of is None:
        return np.stack([process.sample(rounds, seed) for seed in range(1500)])
    many = family.of(np.repeat(process.rate, 4000))
    return np.moveaxis(many.sample(rounds, seed=1).reshape(rounds, clients, 4000), 2, 0)


@pytest.fixture(scope="module")
def traces() -> dict[str, np.ndarray]:
    return {family.name: replicates(family) for family in FAMILIES}


@each_family
def test_shapes_and_types(family: Family) -> None:
    process = family.process
    trace = process.sample(50, seed=4)
    assert trace.shape == (50, process.n_clients)
    assert trace.dtype == np.bool_
    for array in (process.rate, process.max_gap, process.autocovariance(1)):
        assert array.shape == (process.n_clients,)
        assert array.dtype == np.float64
    client, when = process.sample_events(50, seed=4)
    assert client.dtype == when.dtype == np.int64
    assert client.shape == when.shape
    with pytest.raises(ValueError, match="read-only"):
        process.rate[0] = 0.5


@each_family
@pytest.mark.parametrize("rounds", [1, 2, 37, 100])
def test_events_describe_the_same_trace(family: Family, rounds: int) -> None:
    client, when = np.nonzero(family.process.sample(rounds, seed=5).T)
    events = family.process.sample_events(rounds, seed=5)
    np.testing.assert_array_equal(events[0], client)
    np.testing.assert_array_equal(events[1], when)


@each_family
def test_a_longer_trace_begins_like_a_shorter_one(family: Family) -> None:
    longest = family.process.sample(500, seed=6)
    for rounds in (1, 2, 3, 20, 21, 137, 499):
        np.testing.assert_array_equal(family.process.sample(rounds, seed=6), longest[:rounds])


@each_family
def test_the_seed_decides_and_nothing_else(family: Family) -> None:
    np.random.seed(1)  # noqa: NPY002 (the global generator must not matter)
    first = family.process.sample(200, seed=7)
    np.random.seed(2)  # noqa: NPY002
    np.testing.assert_array_equal(first, family.process.sample(200, seed=7))
    others = [family.process.sample(200, seed) for seed in range(8, 40)]
    assert any((first != other).any() for other in others) == family.seeded


@pytest.mark.parametrize("family", INDEPENDENT, ids=lambda family: family.name)
def test_adding_clients_changes_nobody_elses_trace(family: Family) -> None:
    assert family.of is not None
    rates = np.resize(family.process.rate[:-1], 131)  # three blocks of clients, the last one not full
    everybody = family.of(rates).sample(150, seed=9)
    for n_clients in (1, 2, 63, 64, 65, 130):
        np.testing.assert_array_equal(family.of(rates[:n_clients]).sample(150, seed=9), everybody[:, :n_clients])
    newcomer = np.append(rates[:70], 0.013)  # a rate of its own, within a block of others
    np.testing.assert_array_equal(family.of(newcomer).sample(150, seed=9)[:, :70], everybody[:, :70])


@pytest.mark.parametrize("family", INDEPENDENT, ids=lambda family: family.name)
def test_clients_with_equal_rates_differ(family: Family) -> None:
    assert family.of is not None
    trace = family.of(np.full(300, 0.5)).sample(200, seed=10)
    if family.name.startswith("cyclic"):  # 20 or 10 offsets: all of them occur among 300 clients
        assert len(np.unique(trace, axis=1).T) == (20 if family.name == "cyclic" else 10)
    else:
        assert len(np.unique(trace, axis=1).T) == 300


@each_family
def test_no_gap_is_longer_than_the_longest(family: Family) -> None:
    process = family.process
    assert (process.max_gap >= 1).all()
    longest = np.zeros(process.n_clients)
    for seed in range(40):
        client, when = process.sample_events(300, seed)
        same = client[1:] == client[:-1]
        np.maximum.at(longest, client[1:][same], np.diff(when)[same])
    assert (longest <= process.max_gap).all()
    bounded = np.isfinite(process.max_gap)
    np.testing.assert_array_equal(longest[bounded], process.max_gap[bounded])  # 40 seeds attain every bound


@each_family
def test_rate(family: Family, traces: dict[str, np.ndarray]) -> None:
    """The mean of W rounds of a stationary process has variance sum of (W - |lag|) c(lag) / W^2 over |lag| < W."""
    rate, window = family.process.rate, family.window
    inside = traces[family.name][:, family.start : family.start + window]
    means = inside.mean(axis=1)
    if family.fixed or family.name == "permutation":
        np.testing.assert_allclose(means, np.broadcast_to(rate, means.shape), rtol=0, atol=1e-14)
        return
    covariance = [family.process.autocovariance(lag) for lag in range(window)]
    weight = [window] + [2 * (window - lag) for lag in range(1, window)]
    variance = sum(w * c for w, c in zip(weight, covariance, strict=True)) / window**2
    assert_mean(means.mean(axis=0), rate, len(means), variance)
    for t in range(window):
        assert_mean(inside[:, t].mean(axis=0), rate, len(inside))


@each_family
@pytest.mark.parametrize("lag", LAGS)
def test_autocovariance(family: Family, traces: dict[str, np.ndarray], lag: int) -> None:
    """E[I_t I_{t+lag}] = c(lag) + rate^2, averaged over a window."""
    trace, start, stop = traces[family.name], family.start, family.start + family.window
    both = (trace[:, start:stop] & trace[:, start + lag : stop + lag]).mean(axis=1)
    expected = family.process.autocovariance(lag) + family.process.rate**2
    if family.fixed:
        np.testing.assert_allclose(both, np.broadcast_to(expected, both.shape), rtol=0, atol=1e-14)
    else:
        assert_mean(both.mean(axis=0), np.clip(expected, 0, 1), len(both))


@each_family
def test_interval_law(family: Family, traces: dict[str, np.ndarray]) -> None:
    """P(on in round t and next on in round t + k) = rate P(X = k), averaged over a window."""
    law, trace = family.process.interval_law(), traces[family.name]
    assert law is not None
    rate = family.process.rate
    assert law.mean() * rate == pytest.approx(np.ones(family.process.n_clients), rel=1e-12)  # Kac's formula
    for k in range(1, REACH):
        seen = np.zeros(trace.shape[::2])
        for t in range(family.start, family.start + family.window):
            seen += trace[:, t] & trace[:, t + k] & ~trace[:, t + 1 : t + k].any(axis=1)
        seen /= family.window
        expected = rate * law.pmf(k)
        if family.fixed:
            np.testing.assert_allclose(seen, np.broadcast_to(expected, seen.shape), rtol=0, atol=1e-14)
        else:
            assert_mean(seen.mean(axis=0), expected, len(seen))


@each_family
def test_marginal_describes_the_process(family: Family, traces: dict[str, np.ndarray]) -> None:
    process, marginal, trace = family.process, family.process.marginal(), traces[family.name]
    if marginal is None:
        assert family.name == "permutation"
        return
    if isinstance(marginal, TwoStateChain):
        np.testing.assert_allclose(marginal.rate, process.rate, rtol=1e-15)
        for lag in LAGS:
            np.testing.assert_allclose(
                marginal.autocovariance(lag), process.autocovariance(lag), rtol=1e-13, atol=1e-18
            )
        return
    history = marginal.history(trace.shape[1])
    assert history.shape == (len(marginal.probability), *trace.shape[1:])
    assert history.dtype == np.bool_
    assert marginal.probability.sum() == pytest.approx(1, abs=1e-15)
    start, stop = family.start, family.start + family.window
    mean = np.tensordot(marginal.probability, history, axes=1)
    np.testing.assert_allclose(mean[start:stop].mean(axis=0), process.rate, rtol=1e-14)
    for lag in LAGS:
        both = history[:, start:stop] & history[:, start + lag : stop + lag]
        covariance = np.tensordot(marginal.probability, both.mean(axis=1), axes=1) - process.rate**2
        np.testing.assert_allclose(covariance, process.autocovariance(lag), rtol=0, atol=1e-14)
    assert_mean(trace.mean(axis=0), mean, len(trace))  # every round, the first ones included
    for n in range(process.n_clients):  # and every single trace is one of the histories
        possible = {row.tobytes() for row in history[:, :, n]}
        assert {row.tobytes() for row in trace[:, :, n]} == possible


@each_family
def test_processes_travel_to_other_workers(family: Family) -> None:
    copy = pickle.loads(pickle.dumps(family.process))
    np.testing.assert_array_equal(copy.sample(30, seed=2), family.process.sample(30, seed=2))


@each_family
@pytest.mark.parametrize(
    ("rounds", "seed", "message"),
    [
        (0, 1, "rounds must be a whole number of at least 1; got 0"),
        (2.5, 1, "rounds must be a whole number of at least 1; got 2.5"),
        (math.nan, 1, "rounds must be a whole number of at least 1; got nan"),
        (5, -1, "seed must be a whole number of at least 0; got -1"),
        (5, None, "seed must be a whole number of at least 0; got None"),
    ],
)
def test_bad_rounds_and_seeds(family: Family, rounds: int, seed: int, message: str) -> None:
    for draw in (family.process.sample, family.process.sample_events):
        with pytest.raises(InputError, match=f"^{message}$"):
            draw(rounds, seed)


@each_family
def test_bad_lags(family: Family) -> None:
    with pytest.raises(InputError, match=r"^lag must be a whole number of at least 0; got -1$"):
        family.process.autocovariance(-1)


rates = st.lists(st.floats(1e-300, 1.0, exclude_min=True), min_size=1, max_size=70)
makers = st.sampled_from([Bernoulli, Markov, stable, Cyclic, cyclic_as_in_code])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(make=makers, p=rates, rounds=st.integers(1, 120), more=st.integers(1, 90), seed=st.integers(0, 2**64))
def test_any_rates(make: type[Bernoulli], p: list[float], rounds: int, more: int, seed: int) -> None:
    """Prefix, events and independence of the other clients for rates from 1e-300 to 1."""
    process: ParticipationProcess = make(p)
    trace = process.sample(rounds + more, seed)
    np.testing.assert_array_equal(process.sample(rounds, seed), trace[:rounds])
    np.testing.assert_array_equal(np.stack(process.sample_events(rounds + more, seed)), np.stack(np.nonzero(trace.T)))
    np.testing.assert_array_equal(make(p[:1]).sample(rounds, seed), trace[:rounds, :1])
    assert (np.asarray(process.rate) > 0).all()
    assert np.isfinite(process.autocovariance(3)).all()
    marginal = process.marginal()
    assert isinstance(marginal, TwoStateChain | Phases)


def test_a_million_clients_take_memory_for_their_events_only() -> None:
    """100,000 clients at 0.01 over 1000 rounds: a million events, against 100 MB for the matrix."""
    process = Bernoulli(np.full(100_000, 0.01))
    process.sample_events(1, seed=0)
    tracemalloc.start()
    client, when = process.sample_events(1000, seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * (client.nbytes + when.nbytes)
    # mean 1e6, standard deviation sqrt(1e8 * 0.01 * 0.99) < 1000: five of them, false alarm 6e-7
    assert abs(len(client) - 1_000_000) < 5000
