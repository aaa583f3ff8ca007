"""The published data, where they were fetched: counts, class balance and first labels as they are known."""

from __future__ import annotations

import numpy as np
import pytest

from sims import data


def fetched(name):
    if not data.is_fetched(name):
        pytest.skip(f"not fetched: fltheory data fetch {name}")
    assert data.verify(name)
    return data.load(name)


MNIST = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]


@pytest.mark.parametrize(
    ("name", "mean", "std", "train", "test", "first", "first_test"),
    [
        ("fashion-mnist", [0.2860], [0.3530], [6000] * 10, [1000] * 10, "9003027255", "9211614657"),
        ("mnist", [0.1307], [0.3081], MNIST, None, "5041921314", "7210414959"),
        ("cifar-10", [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616], [5000] * 10, [1000] * 10, "6994112783", None),
    ],
)
def test_images(name, mean, std, train, test, first, first_test):
    loaded = fetched(name)
    pixels = loaded.train_inputs[::5] / 255
    assert loaded.train_inputs.dtype == np.uint8
    assert pixels.mean((0, 1, 2)) == pytest.approx(mean, abs=3e-3)  # every fifth image
    assert pixels.std((0, 1, 2)) == pytest.approx(std, abs=3e-3)
    assert np.bincount(loaded.train_labels).tolist() == train
    assert len(loaded.test_inputs) == len(loaded.test_labels) == 10_000
    assert test is None or np.bincount(loaded.test_labels).tolist() == test
    assert "".join(map(str, loaded.train_labels[:10])) == first
    assert first_test is None or "".join(map(str, loaded.test_labels[:10])) == first_test
    assert loaded.n_classes == len(train)


def test_shakespeare():
    loaded = fetched("shakespeare")
    assert len(loaded.group_names) == len(np.unique(loaded.groups)) == 1064
    assert len(loaded.classes) == 80
    assert loaded.train_inputs.shape == (413_008, 80)
    assert loaded.test_inputs.shape == (96_238, 80)
    hamlet = loaded.group_names.index("hamlet/HAMLET")
    text = "".join(loaded.vocabulary[i] for i in loaded.train_inputs[loaded.groups == hamlet][0])
    assert text.startswith("A little more than kin, and less than kind.")


def test_tweets():
    loaded = fetched("tweets")
    labels = np.concatenate([loaded.train_labels, loaded.test_labels])
    assert np.bincount(labels).tolist() == [16186, 15018, 6954]
    assert len(loaded.train_labels) == 34_362
    topics = np.bincount(np.concatenate([loaded.groups, loaded.test_groups]))
    assert len(loaded.group_names) == len(topics) == 12
    assert topics[:6].sum() == 14_638  # six airlines
    assert (loaded.train_inputs[:, 0] > 0).mean() < 0.002  # few fill all 40 words
    assert (loaded.train_inputs == 1).sum() < 0.03 * (loaded.train_inputs > 0).sum()
    rows = {tuple(row) for row in loaded.train_inputs.tolist()} & {tuple(row) for row in loaded.test_inputs.tolist()}
    assert len(rows) < 0.02 * len(loaded.test_labels)  # copies of a text are on one side


def test_glove():
    if not data.is_fetched("glove"):
        pytest.skip("not fetched: fltheory data fetch glove")
    vectors, found = data.word_vectors(["the", "flibbertigibbetish"])
    assert found == 1
    assert vectors[0, :3] == pytest.approx([0.418, 0.24968, -0.41242])
    assert not vectors[1].any()
