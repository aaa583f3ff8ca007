"""Algorithm 2: the streaming and the whole-history form against the printed algorithm in exact fractions."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fltheory.errors import InputError
from fltheory.weights import ExponentialAverageWeights, FedAUWeights, fedau_weights
from tests.fltheory.weights.reference import algorithm2, histories

CUTOFFS = (1, 2, 3, 5, 9, 10, 11, 50, math.inf)
EVERY_HISTORY = np.array(list(histories(10)), dtype=bool).T  # all histories of 10 rounds, side by side

random_histories = st.tuples(st.integers(1, 40), st.integers(1, 5)).flatmap(lambda shape: arrays(np.bool_, shape))
cutoffs = st.one_of(st.integers(1, 12), st.just(math.inf))

Estimator = Callable[[np.ndarray], np.ndarray]


def streamed(history: np.ndarray, cutoff: float, groups: np.ndarray | None = None) -> np.ndarray:
    """The weights of every round by the streaming form."""
    fedau = FedAUWeights(history.shape[1], cutoff, groups)
    return np.stack([fedau.weights] + [fedau.update(seen) for seen in history[:-1]])


def exponential(history: np.ndarray) -> np.ndarray:
    average = ExponentialAverageWeights(history.shape[1], cutoff=4, smoothing=0.3)
    return np.stack([average.weights] + [average.update(seen) for seen in history[:-1]])


def looks_ahead(estimator: Estimator, history: np.ndarray) -> bool:
    """Whether some weights[t] changes when the participation from round t on does."""
    weights = estimator(history)
    for t in range(history.shape[0]):
        changed = history.copy()
        changed[t:] = ~changed[t:]
        if not np.array_equal(estimator(changed)[: t + 1], weights[: t + 1]):
            return True
    return False


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_every_history_of_ten_rounds(cutoff: float) -> None:
    literal = np.array([algorithm2(history, cutoff) for history in EVERY_HISTORY.T.tolist()])
    exact = literal.astype(float).T  # a fraction of small numbers rounds once, as a division does
    assert np.array_equal(fedau_weights(EVERY_HISTORY, cutoff), exact)
    assert np.array_equal(streamed(EVERY_HISTORY, cutoff), exact)


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_invariants(cutoff: float) -> None:
    weights = fedau_weights(EVERY_HISTORY, cutoff)
    most = np.minimum(cutoff, np.maximum(np.arange(10), 1))[:, None]
    assert (weights >= 1).all()
    assert (weights <= most).all()
    assert np.array_equal(weights.max(axis=1), most[:, 0])  # every bound is attained by some history
    fedau = FedAUWeights(EVERY_HISTORY.shape[1], cutoff)
    for t, seen in enumerate(EVERY_HISTORY):
        fedau.update(seen)
        state = fedau.state_dict()
        assert ((state["open"] >= 0) & (state["open"] < cutoff)).all()
        assert (state["completed"] >= (t + 1) // cutoff).all()
        nothing_yet = ~EVERY_HISTORY[: t + 1].any(axis=0) & (t + 1 < cutoff)
        assert np.array_equal(state["completed"] == 0, nothing_yet)


@given(random_histories, cutoffs)
def test_streaming_is_the_whole_history(history: np.ndarray, cutoff: float) -> None:
    assert np.array_equal(streamed(history, cutoff), fedau_weights(history, cutoff))


@given(random_histories)
def test_extreme_cutoffs(history: np.ndarray) -> None:
    rounds = history.shape[0]
    unlimited = fedau_weights(history, math.inf)
    for cutoff in (rounds, rounds + 1, 10**6, 2**53):
        assert np.array_equal(fedau_weights(history, cutoff), unlimited)
        assert np.array_equal(streamed(history, cutoff), unlimited)
    assert (fedau_weights(history, 1) == 1).all()


def test_a_cutoff_just_below_the_rounds_matters() -> None:
    nobody = np.zeros((6, 1), dtype=bool)
    assert fedau_weights(nobody, 5)[5, 0] == 5
    assert fedau_weights(nobody, 6)[5, 0] == 1


def cheating(history: np.ndarray) -> np.ndarray:
    """Algorithm 2 with line 5 looking at the current round: I_t in place of I_{t-1}."""
    return fedau_weights(np.roll(history, -1, axis=0), 4)


@given(random_histories)
def test_weights_depend_on_the_past_alone(history: np.ndarray) -> None:
    assert not looks_ahead(lambda h: fedau_weights(h, 4), history)
    assert not looks_ahead(lambda h: streamed(h, 4), history)
    assert not looks_ahead(lambda h: streamed(h, 4, np.arange(h.shape[1]) // 2), history)
    assert not looks_ahead(exponential, history)


def test_an_estimator_that_looks_at_the_current_round_is_caught() -> None:
    history = np.array([[False, True, False, False, True, False]]).T
    assert looks_ahead(cheating, history)
    assert looks_ahead(lambda h: np.maximum(h, 1 / h.mean(axis=0)), history)


@given(random_histories, cutoffs, st.randoms(use_true_random=False))
def test_clients_do_not_touch_each_other(history: np.ndarray, cutoff: float, random: object) -> None:
    order = list(range(history.shape[1]))
    random.shuffle(order)  # type: ignore[attr-defined]
    weights = fedau_weights(history, cutoff)
    assert np.array_equal(fedau_weights(history[:, order], cutoff), weights[:, order])
    assert np.array_equal(streamed(history[:, order], cutoff), weights[:, order])
    more = np.concatenate([history, ~history[:, :1]], axis=1)
    assert np.array_equal(streamed(more, cutoff)[:, :-1], weights)


def test_leading_axes_are_replicates() -> None:
    batch = np.stack([EVERY_HISTORY, ~EVERY_HISTORY])
    assert np.array_equal(
        fedau_weights(batch, 3), np.stack([fedau_weights(EVERY_HISTORY, 3), fedau_weights(~EVERY_HISTORY, 3)])
    )
    assert fedau_weights(np.zeros((2, 0, 3), dtype=bool), 3).shape == (2, 0, 3)


@given(
    arrays(np.bool_, st.tuples(st.integers(1, 25), st.just(6))),
    cutoffs,
    arrays(np.int64, 6, elements=st.integers(-1, 2)),
)
def test_a_group_is_one_client_observed_once_a_member(history: np.ndarray, cutoff: float, groups: np.ndarray) -> None:
    weights = streamed(history, cutoff, groups)
    for group in np.unique(groups):
        members = groups == group
        one_client = history[:, members].reshape(-1, 1)  # round by round, the members in client order
        per_round = fedau_weights(one_client, cutoff)[:: members.sum()]
        assert np.array_equal(weights[:, members], np.broadcast_to(per_round, weights[:, members].shape))


def test_a_group_whose_members_participate_once_each() -> None:
    history = np.eye(100, dtype=bool)  # each of 100 clients takes part in one of 100 rounds: rate 1 / 100
    shared = streamed(history, math.inf, np.zeros(100, dtype=int))
    alone = streamed(history, math.inf)
    assert shared[-1, 0] == pytest.approx(100, rel=0.03)
    assert alone[-1].max() == 99  # a client's own first interval tells little
    assert alone[-1].mean() < 60


def test_state_continues_bit_for_bit_and_survives_serialisation() -> None:
    groups = np.array([0, 1, 0, 2])
    history = np.random.default_rng(0).random((30, 4)) < 0.2
    whole = streamed(history, 5, groups)
    first = FedAUWeights(4, 5, groups)
    for seen in history[:12]:
        first.update(seen)
    saved = json.loads(json.dumps({name: array.tolist() for name, array in first.state_dict().items()}))
    second = FedAUWeights(4, 5, groups)
    second.load_state_dict({name: np.array(value) for name, value in saved.items()})
    assert np.array_equal(second.weights, whole[12])
    for t, seen in enumerate(history[12:-1], start=13):
        assert np.array_equal(second.update(seen), whole[t])


@pytest.mark.parametrize(
    "estimator", [FedAUWeights(3, 4), ExponentialAverageWeights(3, 4, smoothing=0.5)], ids=lambda e: type(e).__name__
)
def test_what_is_handed_out_or_taken_in_is_a_copy(estimator: FedAUWeights | ExponentialAverageWeights) -> None:
    for seen in ([True, False, False], [False, True, False], [True, True, False]):
        estimator.update(seen)
    state = estimator.state_dict()
    kept = {name: array.copy() for name, array in state.items()}
    weights = estimator.weights
    estimator.weights[:] = 99
    estimator.update([True, True, True])
    assert all(np.array_equal(state[name], kept[name]) for name in kept)  # an update does not reach into it
    estimator.load_state_dict(state)
    for array in state.values():
        array[...] = 1
    assert np.array_equal(estimator.weights, weights)


def test_impossible_states_are_refused() -> None:
    fedau = FedAUWeights(2, 5)
    good = {"rounds": np.array(7), "completed": np.array([2, 7]), "open": np.array([0, 0])}
    fedau.load_state_dict(good)
    for name, value in (
        ("rounds", np.array(-1)),
        ("rounds", np.array(6)),
        ("completed", np.array([1, 7])),
        ("completed", np.array([2])),
        ("completed", np.array([2.0, 7.5])),
        ("open", np.array([5, 0])),
        ("open", np.array([-1, 0])),
    ):
        with pytest.raises(InputError):
            fedau.load_state_dict({**good, name: value})
    with pytest.raises(InputError, match="'open'"):
        fedau.load_state_dict({"rounds": np.array(7), "completed": np.array([2, 7])})
    assert np.array_equal(fedau.weights, [3.5, 1.0])  # a refused state changes nothing


@pytest.mark.parametrize(
    "call",
    [
        lambda: fedau_weights([True, False], 5),
        lambda: fedau_weights([[0.0, math.nan]], 5),
        lambda: fedau_weights([[1, 0], [1]], 5),
        lambda: FedAUWeights(2, 5).load_state_dict(None),  # type: ignore[arg-type]
        lambda: fedau_weights([[2, 0]], 5),
        lambda: fedau_weights([["on", "off"]], 5),
        lambda: fedau_weights([[True]], 0),
        lambda: fedau_weights([[True]], 2.5),
        lambda: fedau_weights([[True]], math.nan),
        lambda: FedAUWeights(0, 5),
        lambda: FedAUWeights(2, -1),
        lambda: FedAUWeights(2, 5, groups=[0]),
        lambda: FedAUWeights(2, 5, groups=[0.0, 1.0]),
        lambda: FedAUWeights(2, 5).update([True]),
        lambda: FedAUWeights(2, 5).update([True, math.nan]),
    ],
)
def test_bad_input_is_one_sentence(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=r"^\w+ must be .*; got "):
        call()


def test_the_reference_is_algorithm_2() -> None:
    """The paper's running mean, by hand: intervals 3, 2 (cut off), 1 with K = 3."""
    assert algorithm2([False, False, True, False, True, True, False], 3) == [
        1, 1, 1, 3, 3, Fraction(5, 2), 2,
    ]  # fmt: skip
    assert algorithm2([False] * 7, 3) == [1, 1, 1, 3, 3, 3, 3]
    assert len(list(itertools.islice(histories(3), 9))) == 8
