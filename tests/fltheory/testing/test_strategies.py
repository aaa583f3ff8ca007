"""What the strategies draw: everything they promise, and only that."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from fltheory.errors import InputError
from fltheory.participation import ParticipationProcess, Recorded, families
from fltheory.testing import (
    participation_histories,
    participation_logs,
    participation_processes,
    participation_rates,
)

# What Hypothesis draws depends on the modules that are loaded: enough examples for any.
MANY = settings(database=None, derandomize=True, max_examples=1000, phases=[Phase.generate])


@given(participation_histories(max_clients=3, max_rounds=9, min_clients=2, min_rounds=0))
def test_histories(history: np.ndarray) -> None:
    assert history.dtype == np.bool_
    assert history.shape[0] <= 9
    assert history.shape[1] in (2, 3)


@pytest.mark.parametrize(
    "wanted",
    [
        lambda h: h.all() and len(h) > 20,
        lambda h: not h.any() and len(h) > 20,
        lambda h: h.shape[1] > 2 and len(h) > 10 and (h.sum(axis=1) == 1).all() and h.any(axis=0).all(),
        lambda h: (h.sum(axis=0) == 1).any() and len(h) > 20,
        lambda h: len(h) == 0,
    ],
)
def test_histories_that_break_estimators_are_among_them(wanted: object) -> None:
    find(participation_histories(min_rounds=0), wanted, settings=MANY)  # type: ignore[arg-type]


def test_histories_shrink_to_the_smallest() -> None:
    once = find(participation_histories(), lambda h: h.any(), settings=settings(database=None, derandomize=True))
    assert once.tolist() == [[True]]


@given(participation_rates(3))
def test_rates(rates: np.ndarray) -> None:
    assert rates.shape == (3,)
    assert ((rates >= 1e-300) & (rates <= 1)).all()


@given(participation_processes(3), st.integers(0, 5))
def test_processes(process: ParticipationProcess, seed: int) -> None:
    assert process.n_clients == 3
    assert process.sample(7, seed).shape == (7, 3)


def test_every_family_is_drawn() -> None:
    for family in families().values():
        find(participation_processes(4), lambda process, family=family: type(process) is family, settings=MANY)  # type: ignore[misc]


@given(participation_logs())
def test_logs(log: tuple[np.ndarray, np.ndarray, int, int]) -> None:
    client, when, n_clients, rounds = log
    assert client.shape == when.shape
    trace = Recorded.from_events(client, when, n_clients=n_clients, n_rounds=rounds).sample(rounds, 0)
    assert trace.sum() <= len(client)
    assert trace[when, client].all()


def test_logs_are_unsorted_and_have_duplicates() -> None:
    find(participation_logs(), lambda log: len(log[0]) > len(set(zip(log[0], log[1], strict=True))), settings=MANY)
    find(participation_logs(), lambda log: bool((np.diff(log[1]) < 0).any()), settings=MANY)


def test_bad_arguments() -> None:
    with pytest.raises(InputError, match=r"^n_clients must be"):
        participation_rates(0)
    with pytest.raises(InputError, match=r"^max_rounds must be"):
        find(participation_histories(max_rounds=0), lambda h: True)
