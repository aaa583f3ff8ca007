"""Clients with few labels: one and a few others, two, or one."""

from __future__ import annotations

import heapq
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError
from fltheory.streams import stream
from sims.training.partition.base import IntArray, Partition, assemble, checked, counts_from_weights, deal

Preset = Literal["as_in_paper", "as_in_code"]


def majority_label(
    labels: npt.ArrayLike, n_clients: int, *, similarity: float, seed: int, preset: Preset = "as_in_paper"
) -> Partition:
    """Client n has label floor(n C / N) and a share `similarity` of other labels (amplified FedAvg, Section 6).

    as_in_paper   of each class that share is dealt evenly among the clients of other labels, the rest evenly among
                  its own: with equally many samples a class, the share of others is `similarity` at every client
    as_in_code    each sample goes with probability `similarity` to a uniform client, else to the smallest client
                  of its label, in the order of the data (the authors' public code)

    The paper's similarity is 0.05, with 250 clients. Clients stand in the order of their labels, so that the five
    groups of its availability hold two labels each. Raises InputError for fewer clients than classes, more clients
    than samples, or a similarity outside [0, 1].
    """
    samples, number, n_clients, own = _owners(labels, n_clients)
    if isinstance(similarity, bool) or not isinstance(similarity, Real) or not 0 <= float(similarity) <= 1:
        raise InputError("similarity", similarity, "a number in [0, 1]")
    _preset(preset)
    rng = stream(seed, f"partition.majority-label.{preset}")
    make = _evenly if preset == "as_in_paper" else _to_the_smallest
    owner = make(rng, number, own, float(similarity))
    parameters: dict[str, Any] = {"similarity": float(similarity), "preset": preset, "n_clients": n_clients}
    return assemble("majority-label", {**parameters, "seed": seed}, samples, owner, n_clients)


def _evenly(rng: np.random.Generator, number: IntArray, own: IntArray, similarity: float) -> IntArray:
    owner = np.empty(len(number), np.int64)
    extra = np.zeros(len(own), np.int64)  # samples of other labels so far: who has fewer gets the remainder
    for k in range(int(number.max()) + 1):
        samples = rng.permutation(np.flatnonzero(number == k))
        others = np.flatnonzero(own != k)
        away = int(np.rint(similarity * len(samples))) if others.size else 0
        others = others[np.lexsort((rng.random(others.size), extra[others]))]
        owner[samples[:away]] = np.resize(others, away)
        extra += np.bincount(owner[samples[:away]], minlength=len(own))
        owner[samples[away:]] = np.resize(np.flatnonzero(own == k), len(samples) - away)
    return owner


def _to_the_smallest(rng: np.random.Generator, number: IntArray, own: IntArray, similarity: float) -> IntArray:
    stray = rng.random(len(number)) < similarity
    anyone = rng.integers(len(own), size=len(number))
    sizes = np.zeros(len(own), np.int64)
    queues = [[(0, int(client)) for client in np.flatnonzero(own == k)] for k in range(int(number.max()) + 1)]
    owner = np.empty(len(number), np.int64)
    for i, k in enumerate(number):
        if stray[i]:
            owner[i] = anyone[i]
        else:
            queue = queues[k]
            while queue[0][0] != sizes[queue[0][1]]:  # it got strays since: it stands too far in front
                heapq.heapreplace(queue, (int(sizes[queue[0][1]]), queue[0][1]))
            client = queue[0][1]
            heapq.heapreplace(queue, (int(sizes[client]) + 1, client))
            owner[i] = client
        sizes[owner[i]] += 1
    return owner


def two_classes(labels: npt.ArrayLike, n_clients: int, *, seed: int) -> Partition:
    """Each client holds exactly two classes (FedAMD, Section 5; shards as McMahan et al., 2017).

    2N shards of one class each, as many of a class as its size asks for (highest averages, at least one, at most
    N), evenly cut; two are dealt to each client at random, and a client with twice the same class exchanges one of
    them with a client that has it not at all. Sizes are equal if the classes are and 2N is a multiple of C.

    Raises InputError for more clients than samples, fewer shards than classes, and if no such partition exists.
    """
    samples, n_clients = checked(labels, n_clients)
    _, number = np.unique(samples, return_inverse=True)
    sizes = np.bincount(number)
    most = np.minimum(sizes, n_clients)
    if len(sizes) > 2 * n_clients or most.sum() < 2 * n_clients:
        allowed = (
            f"such that {len(sizes)} classes of {sizes.min()} to {sizes.max()} samples give each client two of them"
        )
        raise InputError("n_clients", n_clients, allowed)
    rng = stream(seed, "partition.two-classes")
    hands = _dealt(rng, np.repeat(np.arange(len(sizes)), _shards(sizes, most, 2 * n_clients)), n_clients)
    owner = np.empty(len(samples), np.int64)
    for k, size in enumerate(sizes):
        owners = rng.permutation(np.flatnonzero((hands == k).any(axis=1)))
        deal(rng, np.flatnonzero(number == k), owners, counts_from_weights(int(size), np.ones(len(owners))), owner)
    return assemble("two-classes", {"n_clients": n_clients, "seed": seed}, samples, owner, n_clients)


def _shards(sizes: IntArray, most: IntArray, total: int) -> IntArray:
    """How many shards each class is cut into: the next one always goes to the class whose shards are largest."""
    shards = np.ones(len(sizes), np.int64)
    queue = [(-float(size), k) for k, size in enumerate(sizes)]
    heapq.heapify(queue)
    missing = total - len(sizes)
    while missing:
        _, k = heapq.heappop(queue)
        if shards[k] < most[k]:
            shards[k] += 1
            missing -= 1
            heapq.heappush(queue, (-sizes[k] / shards[k], k))
    return shards


def _dealt(rng: np.random.Generator, shards: IntArray, n_clients: int) -> IntArray:
    """Classes of the two shards of each client (n_clients, 2), different ones.

    No class has more than N shards: while a client holds two of class a, another holds none of it.
    """
    hands = rng.permutation(shards).reshape(n_clients, 2)
    for client in np.flatnonzero(hands[:, 0] == hands[:, 1]):
        if hands[client, 0] == hands[client, 1]:  # an earlier exchange may have helped this one too
            without = np.flatnonzero((hands != hands[client, 0]).all(axis=1))
            other = without[rng.integers(without.size)]
            hands[client, 1], hands[other, 0] = hands[other, 0], hands[client, 1]
    return hands


def one_label(labels: npt.ArrayLike, n_clients: int, *, seed: int, preset: Preset = "as_in_paper") -> Partition:
    """Client n has label floor(n C / N) only, sizes are normal (FedLaAvg, Section 6: N/10 clients a digit).

    as_in_paper   sizes in proportion to max(z, 0), z ~ N(1, 1/36): for n samples in all the mean is n/N and the
                  standard deviation n/(6N), the paper's 60000/N and 10000/N
    as_in_code    sizes in proportion to 5 + min(max(z, -2), 2), z ~ N(0, 1) (the authors' public code)

    Sizes are scaled within each class to its number of samples and rounded, at least 1. Raises InputError for fewer
    clients than classes, and for a class with fewer samples than clients.
    """
    samples, number, n_clients, own = _owners(labels, n_clients)
    _preset(preset)
    rng = stream(seed, f"partition.one-label.{preset}")
    normal = rng.standard_normal(n_clients)
    weights = np.maximum(1 + normal / 6, 0) if preset == "as_in_paper" else 5 + np.clip(normal, -2, 2)
    owner = np.empty(len(samples), np.int64)
    for k in range(int(number.max()) + 1):
        of_class, owners = np.flatnonzero(number == k), np.flatnonzero(own == k)
        if len(of_class) < len(owners):
            at_most = f"such that no class has more clients than samples ({len(owners)} and {len(of_class)})"
            raise InputError("n_clients", n_clients, at_most)
        weight = weights[owners] if weights[owners].any() else np.ones(len(owners))
        deal(rng, of_class, owners, counts_from_weights(len(of_class), weight, least=1), owner)
    parameters: dict[str, Any] = {"preset": preset, "n_clients": n_clients, "seed": seed}
    return assemble("one-label", parameters, samples, owner, n_clients)


def _owners(labels: npt.ArrayLike, n_clients: int) -> tuple[IntArray, IntArray, int, IntArray]:
    """Labels, the numbers of their classes, the number of clients, and the class of each client."""
    samples, n_clients = checked(labels, n_clients)
    classes, number = np.unique(samples, return_inverse=True)
    if n_clients < len(classes):
        raise InputError("n_clients", n_clients, f"at least {len(classes)}, the number of classes")
    return samples, number.astype(np.int64), n_clients, np.arange(n_clients) * len(classes) // n_clients


def _preset(preset: str) -> None:
    if preset not in ("as_in_paper", "as_in_code"):
        raise InputError("preset", preset, '"as_in_paper" or "as_in_code"')
