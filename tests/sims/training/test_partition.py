"""Partitions: disjoint, covering, no client empty, a pure function of their arguments; then what each one promises."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fltheory.errors import InputError
from fltheory.participation.rates import label_correlated_rates
from fltheory.streams import stream
from sims.training import partition
from sims.training.partition.base import counts_from_weights
from sims.training.partition.dirichlet import log_dirichlet

PRESETS = ("as_in_paper", "as_in_code")
ALPHAS = st.sampled_from([1e-300, 1e-8, 1e-3, 0.1, 1.0, 100.0, 1e6])
SEEDS = st.integers(0, 2**32)


@st.composite
def labels_and_clients(draw, least_clients=lambda classes: 1):
    """Labels with some classes rare or absent, and a number of clients up to the number of samples."""
    classes = draw(st.integers(1, 12))
    sizes = draw(st.lists(st.integers(0, 30), min_size=classes, max_size=classes).filter(any))
    labels = np.repeat(np.arange(classes), sizes)
    np.random.default_rng(draw(SEEDS)).shuffle(labels)
    least = least_clients(len(np.unique(labels)))
    return labels, draw(st.integers(min(least, labels.size), labels.size))


def require_partition(made, labels, n_clients):
    assert made.n_clients == n_clients
    assert np.array_equal(np.sort(np.concatenate(made.clients)), np.arange(labels.size))  # disjoint and covering
    assert made.sizes.min() >= 1
    assert made.sizes.sum() == labels.size
    for client, counts in zip(made.clients, made.label_counts, strict=True):
        assert np.array_equal(np.bincount(labels[client], minlength=labels.max() + 1), counts)
    assert np.allclose(made.label_mix.sum(axis=1), 1)


@given(labels_and_clients(), ALPHAS, SEEDS, st.sampled_from(PRESETS))
def test_dirichlet(case, alpha, seed, preset):
    labels, n_clients = case
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    made = partition.dirichlet(labels, n_clients, alpha=alpha, seed=seed, preset=preset)
    require_partition(made, labels, n_clients)
    again = partition.dirichlet(labels.tolist(), n_clients, alpha=alpha, seed=seed, preset=preset)
    assert made.hash == again.hash
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    if preset == "as_in_paper":
        assert np.ptp(made.sizes) <= 1
        assert made.moved == 0


@given(labels_and_clients(), SEEDS)
def test_iid(case, seed):
    labels, n_clients = case
    made = partition.iid(labels, n_clients, seed=seed)
    require_partition(made, labels, n_clients)
    assert np.ptp(made.sizes) <= 1


@given(labels_and_clients(lambda classes: classes), st.floats(0, 1), SEEDS, st.sampled_from(PRESETS))
def test_majority_label(case, similarity, seed, preset):
    labels, n_clients = case
    made = partition.majority_label(labels, n_clients, similarity=similarity, seed=seed, preset=preset)
    require_partition(made, labels, n_clients)


@given(labels_and_clients(), SEEDS)
def test_two_classes(case, seed):
    labels, n_clients = case
    sizes = np.bincount(labels)
    sizes = sizes[sizes > 0]
    if len(sizes) > 2 * n_clients or np.minimum(sizes, n_clients).sum() < 2 * n_clients:
        with pytest.raises(InputError, match=r"n_clients must be such that .* give each client two of them"):
            partition.two_classes(labels, n_clients, seed=seed)
        return
    made = partition.two_classes(labels, n_clients, seed=seed)
    require_partition(made, labels, n_clients)
    assert ((made.label_counts > 0).sum(axis=1) == 2).all()


@given(labels_and_clients(lambda classes: classes), SEEDS, st.sampled_from(PRESETS))
def test_one_label(case, seed, preset):
    labels, n_clients = case
    classes, sizes = np.unique(labels, return_counts=True)
    own = np.arange(n_clients) * len(classes) // n_clients
    if (np.bincount(own) > sizes).any():
        with pytest.raises(InputError, match="no class has more clients than samples"):
            partition.one_label(labels, n_clients, seed=seed, preset=preset)
        return
    made = partition.one_label(labels, n_clients, seed=seed, preset=preset)
    require_partition(made, labels, n_clients)
    for client, k in zip(made.clients, own, strict=True):
        assert set(labels[client]) == {classes[k]}


@given(labels_and_clients(), SEEDS)
def test_natural(case, seed):
    labels, n_clients = case
    groups = 7 * np.random.default_rng(seed).integers(n_clients, size=labels.size)  # some numbers are nobody's
    made = partition.natural(labels, groups)
    require_partition(made, labels, len(np.unique(groups)))
    for client in made.clients:
        assert len(np.unique(groups[client])) == 1
    assert made.moved == 0


@given(st.integers(0, 1000), st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_counts_are_as_near_as_rounding_allows(total, weights):
    weights = np.array(weights)
    counts = counts_from_weights(total, weights)
    assert counts.sum() == total
    assert np.abs(counts - total * weights / weights.sum()).max() < 1 + 1e-9


@given(labels_and_clients(), st.sampled_from(PRESETS))
def test_the_seed_decides(case, preset):
    """Among enough seeds there are two partitions, unless there is only one that the scheme can make."""
    labels, n_clients = case
    made = {partition.dirichlet(labels, n_clients, alpha=1.0, seed=seed, preset=preset).hash for seed in range(30)}
    assert len(made) > 1 or n_clients == 1 or labels.size <= 4


BALANCED = np.tile(np.arange(10), 6000)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
def test_the_law_of_a_mix(alpha):
    """Moments of Dir(alpha): mean 1/C, variance (C - 1) / (C^2 (C alpha + 1)), from 20,000 draws; five errors."""
    draws = np.exp(log_dirichlet(np.random.default_rng(3), alpha, 20_000, 5))
    assert np.allclose(draws.sum(axis=1), 1)
    for moment, truth in ((draws, 1 / 5), ((draws - 1 / 5) ** 2, 4 / (25 * (5 * alpha + 1)))):
        error = moment[:, 0].std() / np.sqrt(len(draws))
        assert abs(moment[:, 0].mean() - truth) < 5 * error


def test_by_classes_each_class_is_cut_in_proportion_to_the_columns():
    made = partition.dirichlet(BALANCED, 25, alpha=0.1, seed=4, preset="as_in_code")
    mix = np.exp(log_dirichlet(stream(4, "partition.dirichlet.as_in_code"), 0.1, 25, 10))
    assert np.abs(made.label_counts - 6000 * mix / mix.sum(axis=0)).max() <= 1 + made.moved


def test_by_clients_who_chooses_first_gets_the_mix_that_was_drawn():
    made = partition.dirichlet(BALANCED, 25, alpha=0.5, seed=4)
    rng = stream(4, "partition.dirichlet.as_in_paper")
    mix, order = np.exp(log_dirichlet(rng, 0.5, 25, 10)), rng.permutation(25)
    for client in order[:3]:
        assert np.abs(made.label_counts[client] - 2400 * mix[client]).max() < 1


def test_extreme_alphas():
    assert np.isfinite(log_dirichlet(np.random.default_rng(0), 1e-300, 50, 10)).all()
    for preset in PRESETS:
        one_each = partition.dirichlet(BALANCED, 10, alpha=1e-8, seed=1, preset=preset)
        assert np.mean((one_each.label_counts > 1).sum(axis=1) <= 2) >= 0.5
        all_alike = partition.dirichlet(BALANCED, 7, alpha=1e9, seed=1, preset=preset)
        assert np.abs(all_alike.label_counts - 6000 / 7).max() < 7  # the last to choose gets the others' roundings


@pytest.mark.parametrize("preset", PRESETS)
def test_similarity(preset):
    """5 %: exactly at every client as in the paper, on average as in the code, where a stray may come home."""
    made = partition.majority_label(BALANCED, 250, similarity=0.05, seed=3, preset=preset)
    own = np.arange(250) * 10 // 250
    share = made.label_mix[np.arange(250), own]
    if preset == "as_in_paper":
        assert np.abs(share - 0.95).max() < 0.005  # one of 240 samples
        assert np.ptp(made.sizes) <= 2
    else:
        assert share.mean() == pytest.approx(0.955, abs=0.003)
        assert np.ptp(made.sizes) <= 12
    assert partition.majority_label(BALANCED, 20, similarity=0, seed=3, preset=preset).label_mix.max(axis=1).min() == 1


def test_the_smallest_client_of_the_label_gets_the_next_sample():
    made = partition.majority_label([0, 0, 0, 1, 0, 1, 0], 4, similarity=0, seed=0, preset="as_in_code")
    assert [client.tolist() for client in made.clients] == [[0, 2, 6], [1, 4], [3], [5]]


def test_two_classes_of_equal_size():
    made = partition.two_classes(BALANCED, 100, seed=1)
    assert set(made.sizes) == {600}
    assert set(made.label_counts.ravel()) == {0, 300}
    assert len(np.unique(made.label_counts > 0, axis=0)) > 20  # of 45 pairs: they are dealt at random


def test_one_label_sizes_are_normal():
    made = partition.one_label(BALANCED, 1000, seed=1)
    assert made.sizes.mean() == 60
    assert made.sizes.std() == pytest.approx(10, abs=1)
    code = partition.one_label(BALANCED, 1000, seed=1, preset="as_in_code").sizes
    assert code.std() / code.mean() == pytest.approx(0.1919, abs=0.015)  # a clipped normal, sd 0.9594, over 5
    for of_class in code.reshape(10, 100):
        assert (of_class.max() - 1) / (of_class.min() + 1) <= 7 / 3


def test_rare_classes_and_many_clients_take_bounded_time():
    labels = np.concatenate([np.zeros(20_000, int), np.arange(100)])
    began = time.perf_counter()
    for preset in PRESETS:
        made = partition.dirichlet(labels, 20_000, alpha=1e-8, seed=0, preset=preset)
        require_partition(made, labels, 20_000)
    assert time.perf_counter() - began < 60


def test_rates_follow_labels():
    made = partition.dirichlet(BALANCED, 250, alpha=0.1, seed=1)
    rates = partition.fedau_rates(made, seed=2)
    expected = label_correlated_rates(made.label_mix, 0.1, 0.1, 0.02, 2)
    assert np.array_equal(rates.rates, expected.rates)
    two = partition.split("natural", [3, 5, 9, 0], groups=[0, 0, 1, 1])
    assert partition.mifa_rates(two, p_min=0.1, preset="two_labels_as_in_code") == pytest.approx([0.4, 0.1])
    most = partition.split("natural", [3, 5, 5, 9, 0, 9], groups=[0, 0, 0, 1, 1, 1])
    assert partition.mifa_rates(most, p_min=0.1, preset="dirichlet_as_in_code") == pytest.approx([0.6, 1.0])


@pytest.mark.parametrize(
    ("scheme", "labels", "parameters", "sentence"),
    [
        ("dirichlt", [0, 1], {}, r"one of dirichlet, .*did you mean dirichlet\?"),
        ("dirichlet", [0, 1], {"n_clients": 3, "alpha": 1.0, "seed": 0}, "at most 2, the number of samples; got 3"),
        (
            "dirichlet",
            [0, 1],
            {"n_clients": 0, "alpha": 1.0, "seed": 0},
            "n_clients must be a whole number of at least",
        ),
        ("dirichlet", [0, 1], {"n_clients": 1, "alpha": 0, "seed": 0}, "alpha must be a positive number; got 0"),
        ("dirichlet", [0, 1], {"n_clients": 1, "alpha": float("nan"), "seed": 0}, "alpha must be a positive number"),
        ("dirichlet", [0, 1], {"n_clients": 1, "alpha": 1, "seed": 0, "preset": "x"}, "preset must be"),
        ("dirichlet", [0, 1], {"n_clients": 1, "seed": 0}, "parameters of dirichlet must be complete; missing: alpha"),
        ("iid", [0, 1], {"n_clients": 1, "seed": 0, "alpha": 1}, "must be one of n_clients, seed; got 'alpha'"),
        ("iid", [0.5], {"n_clients": 1, "seed": 0}, "labels must be whole numbers"),
        ("iid", [], {"n_clients": 1, "seed": 0}, "labels must be whole numbers"),
        ("iid", [-1], {"n_clients": 1, "seed": 0}, "labels must be whole numbers"),
        ("iid", [1], {"n_clients": 1, "seed": -1}, "seed must be a whole number"),
        ("majority-label", [0, 1], {"n_clients": 1, "similarity": 0.1, "seed": 0}, "at least 2, the number of classes"),
        ("majority-label", [0, 1], {"n_clients": 2, "similarity": 2, "seed": 0}, r"similarity must be a number in \[0"),
        ("one-label", [0, 1, 1], {"n_clients": 3, "seed": 0}, "no class has more clients than samples"),
        ("two-classes", [0, 0], {"n_clients": 1, "seed": 0}, "n_clients must be such that 1 classes"),
        ("natural", [0, 1], {}, "partition must be another one: these data have no natural groups; got 'natural'"),
        ("natural", [0, 1], {"groups": [0, 1], "least": 9}, "natural must be left out: it has none; got 'least'"),
        ("natural", [0, 1], {"groups": [0]}, "groups must be 2 whole numbers, one a sample"),
    ],
)
def test_bad_input(scheme, labels, parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        partition.split(scheme, np.array(labels), **parameters)


def test_bad_rates():
    made = partition.iid([0, 1], 1, seed=0)
    with pytest.raises(InputError, match=r"p_min must be a number in \(0, 1\]; got 0"):
        partition.mifa_rates(made, p_min=0, preset="two_labels_as_in_code")
    with pytest.raises(InputError, match="preset must be"):
        partition.mifa_rates(made, p_min=0.1, preset="as_in_paper")
    with pytest.raises(InputError, match="two classes or more"):
        partition.mifa_rates(partition.iid([0], 1, seed=0), p_min=0.1, preset="two_labels_as_in_code")


def test_partitions_need_no_torch():
    code = "import sys, sims.training.partition; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
