"""Recorded logs: what is played back, and statistics against their definitions."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Recorded
from tests.fltheory.participation.families import LOG

RNG = np.random.default_rng(5)
LARGE = RNG.random((40, 6)) < RNG.random(6)


@pytest.mark.parametrize("log", [LOG, LARGE], ids=["small", "large"])
def test_matrix_and_events_agree(log: np.ndarray) -> None:
    when, client = np.nonzero(log)
    order = np.random.default_rng(0).permutation(np.tile(np.arange(len(when)), 2))  # unsorted, every event twice
    n_rounds, n_clients = log.shape
    events = Recorded.from_events(client[order], when[order], n_clients=n_clients, n_rounds=n_rounds)
    matrix = Recorded.from_matrix(log.astype(int))
    for rounds in (1, n_rounds - 1, n_rounds):
        np.testing.assert_array_equal(events.sample(rounds, seed=0), log[:rounds])
        np.testing.assert_array_equal(matrix.sample(rounds, seed=1), log[:rounds])
    np.testing.assert_array_equal(events.rate, log.mean(axis=0))
    np.testing.assert_array_equal(events.max_gap, matrix.max_gap)


def test_clients_and_rounds_without_events_count() -> None:
    log = Recorded.from_events([1], [0], n_clients=3, n_rounds=4)
    assert log.rate.tolist() == [0, 0.25, 0]
    empty = Recorded.from_events([], [], n_clients=2, n_rounds=4, end="repeat")
    assert empty.rate.tolist() == [0, 0]
    assert np.isinf(empty.max_gap).all()
    assert empty.interval_law() is None
    assert not empty.sample(9, seed=0).any()
    assert empty.sample_events(9, seed=0)[0].size == 0
    assert empty.autocovariance(1).tolist() == [0, 0]


def test_a_million_clients_and_copies_are_no_work_in_themselves() -> None:
    few = Recorded.from_events([10**12 - 1], [2], n_clients=10**12, n_rounds=3, end="repeat")
    client, when = few.sample_events(10**6, seed=0)
    assert set(client.tolist()) == {10**12 - 1}
    np.testing.assert_array_equal(when, np.arange(2, 10**6, 3))
    empty = Recorded.from_events([], [], n_clients=2, n_rounds=3, end="repeat")
    assert empty.sample_events(2**48, seed=0)[0].size == 0


def test_intervals_of_more_lengths_than_fit_in_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fltheory.participation.recorded.MOST_CLIENTS", 17)
    assert Recorded.from_matrix(LOG).interval_law() is not None
    monkeypatch.setattr("fltheory.participation.recorded.MOST_CLIENTS", 2)
    with pytest.raises(InputError, match=r"^n_clients must be at most 0 where intervals have \d lengths; got 3$"):
        Recorded.from_matrix(LOG).interval_law()


@pytest.mark.parametrize("end", ["raise", "repeat", "hold"])
@pytest.mark.parametrize("rounds", [1, 2, 3, 7, 8, 20, 21, 1000])
def test_the_expected_number_of_participations_is_the_number(end: str, rounds: int) -> None:
    log = Recorded.from_matrix(LOG, end=end)
    if end != "raise" or rounds <= len(LOG):
        assert log._expected_events(rounds) == log.sample_events(rounds, seed=0)[0].size == log.sample(rounds, 0).sum()


def test_end_of_the_log() -> None:
    repeat = Recorded.from_matrix(LOG, end="repeat").sample(20, seed=0)
    np.testing.assert_array_equal(repeat, np.tile(LOG, (3, 1))[:20])
    hold = Recorded.from_matrix(LOG[:-1], end="hold").sample(20, seed=0)
    np.testing.assert_array_equal(hold, np.concatenate([LOG[:-1], np.tile(LOG[-2], (14, 1))]))
    with pytest.raises(InputError, match=r'^rounds must be at most the 7 rounds of the log with end="raise"; got 8$'):
        Recorded.from_matrix(LOG).sample(8, seed=0)


@pytest.mark.parametrize("end", ["raise", "hold", "repeat"])
@pytest.mark.parametrize("lag", [0, 1, 2, 5, 39, 40, 41, 97])
def test_autocovariance_by_definition(end: str, lag: int) -> None:
    log = Recorded.from_matrix(LARGE, end=end)
    centred = LARGE - LARGE.mean(axis=0)
    if end == "repeat":
        later = np.roll(centred, -lag, axis=0)
        np.testing.assert_allclose(log.autocovariance(lag), (centred * later).mean(axis=0), atol=1e-15)
    elif lag < 40:
        expected = (centred[: 40 - lag] * centred[lag:]).mean(axis=0)
        np.testing.assert_allclose(log.autocovariance(lag), expected, atol=1e-15)
    else:
        with pytest.raises(InputError, match=r"^lag must be below the number of rounds of the log, 40; got"):
            log.autocovariance(lag)


def gaps(column: np.ndarray, end: str) -> list[int]:
    on = np.flatnonzero(column).tolist()
    if end == "repeat" and on:
        on.append(on[0] + len(column))
    return [b - a for a, b in pairwise(on)]


@pytest.mark.parametrize("end", ["raise", "hold", "repeat"])
@pytest.mark.parametrize("log", [LOG, LARGE], ids=["small", "large"])
def test_intervals_by_definition(log: np.ndarray, end: str) -> None:
    process = Recorded.from_matrix(log, end=end)
    law = process.interval_law()
    assert law is not None
    for n, column in enumerate(log.T):
        counts = gaps(column, end)
        for k in range(1, len(log) + 1):
            assert law.pmf(k)[n] == pytest.approx(counts.count(k) / len(counts), abs=1e-15)
        longest = math.inf if end == "hold" and not column[-1] else max(counts)
        assert process.max_gap[n] == longest


def test_longest_gap_of_sparse_logs() -> None:
    once = np.array([[1, 0], [0, 0], [0, 1]], dtype=bool)
    assert Recorded.from_matrix(once).max_gap.tolist() == [math.inf, math.inf]
    assert Recorded.from_matrix(once, end="hold").max_gap.tolist() == [math.inf, 1]
    assert Recorded.from_matrix(once, end="repeat").max_gap.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Recorded.from_matrix([True, False]), r"matrix must be of shape \(rounds, clients\)"),
        (lambda: Recorded.from_matrix(np.zeros((0, 3))), r"matrix must be of shape \(rounds, clients\)"),
        (lambda: Recorded.from_matrix([[1, 0], [1]]), r"matrix must be of shape \(rounds, clients\), all rows of one"),
        (lambda: Recorded.from_events([[0], [0, 1]], [1, 1], n_clients=3, n_rounds=2), "clients must be a one-dim"),
        (
            lambda: Recorded.from_events([0, 2**40 - 1], [0, 2**23], n_clients=2**40, n_rounds=2**23 + 1),
            "n_rounds must be at most 8388607 for 1099511627776 clients; got 8388609",
        ),
        (lambda: Recorded.from_matrix([[0.5]]), "matrix must be boolean"),
        (lambda: Recorded.from_matrix([[math.nan, 1]]), "matrix must be boolean"),
        (lambda: Recorded.from_matrix([["yes"]]), "matrix must be boolean"),
        (lambda: Recorded.from_matrix(LOG, end="stop"), 'end must be "raise", "repeat" or "hold"; got \'stop\''),
        (lambda: Recorded.from_events([0, 3], [0, 0], n_clients=3, n_rounds=2), "clients must be from 0 to 2; got 3"),
        (lambda: Recorded.from_events([0], [-1], n_clients=3, n_rounds=2), "rounds must be from 0 to 1; got -1"),
        (
            lambda: Recorded.from_events([0.0], [1], n_clients=3, n_rounds=2),
            "clients must be a one-dimensional array of",
        ),
        (lambda: Recorded.from_events([0], [math.nan], n_clients=3, n_rounds=2), "rounds must be a one-dimensional"),
        (
            lambda: Recorded.from_events([0, 1], [1], n_clients=3, n_rounds=2),
            "rounds must be as many numbers as clients",
        ),
        (
            lambda: Recorded.from_events([], [], n_clients=0, n_rounds=2),
            "n_clients must be a whole number of at least 1",
        ),
        (
            lambda: Recorded.from_events([], [], n_clients=1, n_rounds=0),
            "n_rounds must be a whole number of at least 1",
        ),
    ],
)
def test_bad_logs(build, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build()
