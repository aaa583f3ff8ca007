"""The simpler weight rules: their sums, their limits, their state."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fltheory.errors import InputError
from fltheory.weights import (
    ExponentialAverageWeights,
    FedAUWeights,
    average_all,
    average_participating,
    known_rates,
)

random_histories = arrays(np.bool_, st.tuples(st.integers(1, 40), st.integers(1, 4)))
cutoffs = st.one_of(st.integers(1, 8), st.just(math.inf))


def one_client(history: list[bool], cutoff: float, smoothing: float) -> list[float]:
    """The tweak of section 3, one client, one interval at a time."""
    weights, open_, mean = [1.0], 0, None
    for seen in history:
        open_ += 1
        if seen or open_ == cutoff:
            mean = float(open_) if mean is None else (1 - smoothing) * mean + smoothing * open_
            open_ = 0
        weights.append(1.0 if mean is None else mean)
    return weights


@given(random_histories, cutoffs, st.floats(0.01, 1))
def test_exponential_average(history: np.ndarray, cutoff: float, smoothing: float) -> None:
    average = ExponentialAverageWeights(history.shape[1], cutoff, smoothing)
    for t, seen in enumerate(history):
        weights = average.update(seen)
        wanted = [one_client(column, cutoff, smoothing)[t + 1] for column in history.T.tolist()]
        assert weights == pytest.approx(wanted, rel=1e-13)  # 40 averages of rounding error 2^-52 each
        assert ((weights >= 1) & (weights <= min(cutoff, t + 1))).all()


def test_smoothing_one_is_the_last_interval_and_no_cutoff_of_one_changes_anything() -> None:
    history = np.random.default_rng(1).random((50, 3)) < 0.3
    last, ones = ExponentialAverageWeights(3, math.inf, 1.0), ExponentialAverageWeights(3, 1, 0.5)
    for t, seen in enumerate(history):
        weights = last.update(seen)
        assert (ones.update(seen) == 1).all()
        for client in range(3):
            times = np.flatnonzero(history[: t + 1, client])
            gaps = np.diff(np.concatenate([[-1], times]))
            assert weights[client] == (gaps[-1] if gaps.size else 1)


def test_the_first_interval_is_taken_whole_as_in_fedau() -> None:
    fedau, average = FedAUWeights(1, 9), ExponentialAverageWeights(1, 9, 0.2)
    for seen in ([False], [False], [True]):
        assert np.array_equal(fedau.update(seen), average.update(seen))


def test_exponential_state_continues_bit_for_bit() -> None:
    history = np.random.default_rng(2).random((40, 3)) < 0.2
    whole, first = ExponentialAverageWeights(3, 6, 0.3), ExponentialAverageWeights(3, 6, 0.3)
    wanted = [whole.update(seen) for seen in history]
    for seen in history[:15]:
        first.update(seen)
    second = ExponentialAverageWeights(3, 6, 0.3)
    second.load_state_dict({name: np.array(array.tolist()) for name, array in first.state_dict().items()})
    assert np.array_equal(second.weights, wanted[14])
    assert all(np.array_equal(second.update(seen), w) for seen, w in zip(history[15:], wanted[15:], strict=True))
    for name, value in (
        ("open", [6, 0, 0]),
        ("weights", [0.5, 1, 1]),
        ("weights", [math.nan] * 3),
        ("started", [False] * 3),
    ):
        with pytest.raises(InputError):
            second.load_state_dict({**first.state_dict(), name: np.array(value)})


@given(arrays(np.bool_, st.tuples(st.integers(1, 6), st.integers(1, 9))))
def test_average_participating_is_the_mean_of_the_updates(participated: np.ndarray) -> None:
    updates = np.arange(1.0, participated.shape[1] + 1)
    weights = average_participating(participated)
    step = (weights * participated * updates).sum(axis=1) / participated.shape[1]
    for row, seen in zip(step, participated, strict=True):
        assert row == pytest.approx(updates[seen].mean() if seen.any() else 0.0, rel=1e-14)
    assert (weights[~participated.any(axis=1)] == 0).all()


def test_average_participating_counts_clients_as_said() -> None:
    """E[1/|S|; n participates] for rates (1/10, 1/2, 9/10) is (9, 53, 129)/200, not in proportion to the rates."""
    rates, implied = np.array([0.1, 0.5, 0.9]), np.zeros(3)
    for history in np.ndindex(2, 2, 2):
        seen = np.array(history, dtype=bool)
        chance = np.where(seen, rates, 1 - rates).prod()
        implied += chance * average_participating(seen) * seen / 3
    assert implied == pytest.approx(np.array([9, 53, 129]) / 200, rel=1e-14)


def test_average_all_and_known_rates() -> None:
    assert np.array_equal(average_all(3), [1, 1, 1])
    rates = np.array([[0.1, 0.5], [1.0, 1e-300]])
    assert known_rates(rates) * rates == pytest.approx(np.ones((2, 2)), rel=1e-15)
    assert known_rates(0.25) == 4


@pytest.mark.parametrize(
    "call",
    [
        lambda: ExponentialAverageWeights(2, 5, 0.0),
        lambda: ExponentialAverageWeights(2, 5, 1.5),
        lambda: ExponentialAverageWeights(2, 5, [0.5, 0.5]),  # type: ignore[arg-type]
        lambda: ExponentialAverageWeights(2, 5, 0.5).update([1, 2]),
        lambda: average_participating(True),
        lambda: average_participating([0.3]),
        lambda: average_all(0),
        lambda: known_rates([0.5, 0.0]),
        lambda: known_rates(math.nan),
        lambda: known_rates([0.5, 1e-320]),
        lambda: average_participating([[1, 0], [1]]),
        lambda: ExponentialAverageWeights(2, 5, 0.5).load_state_dict(5),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_one_sentence(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=r"^\w+ must be .*; got "):
        call()
