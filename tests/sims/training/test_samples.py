"""Minibatches: own samples only, evenly drawn, every one before any again where they are drawn without replacement."""

import numpy as np
import pytest

from fltheory.errors import InputError
from sims.training.samples import Sampler

PARTS = [np.array([7]), np.array([3, 9, 4]), np.array([0, 1, 2, 5, 6])]
CLIENTS = np.array([[2, 0, 1], [1, 1, 2]])


@pytest.mark.parametrize("replacement", [True, False])
def test_batches_hold_own_samples(replacement):
    drawn = Sampler(PARTS, 10, 4, replacement).draw(np.random.default_rng(0), CLIENTS, 50, 4)
    assert drawn.shape == (50, 2, 3, 4)
    for place, client in np.ndenumerate(CLIENTS):
        assert set(drawn[(slice(None), *place)].ravel()) == set(PARTS[client])


def test_a_pass_without_replacement_takes_each_sample_once():
    sampler = Sampler(PARTS, 10, 1, False)
    drawn = sampler.draw(np.random.default_rng(0), np.array([2]), 15, 1)[:, 0, 0]
    for passing in drawn.reshape(3, 5):
        assert sorted(passing) == [0, 1, 2, 5, 6]
    assert len({tuple(p) for p in drawn.reshape(3, 5)}) == 3


@pytest.mark.parametrize("replacement", [True, False])
def test_every_sample_is_drawn_equally_often(replacement):
    """Chi-square over 5 samples, 4 degrees of freedom: above 23.5 with probability 1e-4; the seed is fixed."""
    drawn = Sampler(PARTS, 10, 2, replacement).draw(np.random.default_rng(1), np.full(4000, 2), 1, 2)
    counts = np.bincount(np.searchsorted(PARTS[2], drawn.ravel()), minlength=5)
    assert ((counts - 1600) ** 2 / 1600).sum() < 23.5


def test_weights_make_the_plain_mean_of_the_clients():
    weights = Sampler(PARTS, 10, 1, True).weights
    assert weights[8] == 0
    for part in PARTS:
        assert weights[part].sum() == pytest.approx(1 / 3)


def test_nobody_is_asked():
    for replacement in (True, False):
        assert Sampler(PARTS, 10, 1, replacement).draw(np.random.default_rng(0), np.zeros((1, 0), int), 2, 3).shape == (
            2,
            1,
            0,
            3,
        )


def test_very_uneven_clients_are_shuffled_one_by_one():
    """Together they would draw 50 * 16 * 60,000 numbers, for a client with one sample and one with 60,000."""
    sampler = Sampler([np.array([60_000]), np.arange(60_000)], 60_001, 16, False)
    drawn = sampler.draw(np.random.default_rng(0), np.array([[0, 1]]), 50, 16)
    assert (drawn[:, 0, 0] == 60_000).all()
    assert len(np.unique(drawn[:, 0, 1])) == 800
    few = Sampler(PARTS, 10, 1, False)
    order = np.concatenate([few._shuffled(np.random.default_rng(1), np.array([3, 10_000]), 9)[:1]])
    assert [sorted(part) for part in order.reshape(3, 3)] == [[0, 1, 2]] * 3


def test_indices_must_be_whole_numbers():
    for kind in (float, bool):
        with pytest.raises(InputError, match="parts must be whole numbers"):
            Sampler([np.zeros(2, dtype=kind)], 10, 1, True)
