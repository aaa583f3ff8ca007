"""A partition: which client holds which sample; and what every scheme needs to make one.

A scheme is a pure function of (labels, number of clients, parameters, seed). It says for each sample who its owner
is, so clients never share a sample and none is lost. Nothing is drawn again until it fits: work is bounded.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count

MOST_CLASSES = 10**6
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Partition:
    """Who holds which sample.

    scheme        name of the scheme
    parameters    what it was given, the seed included
    clients       for each client the indices of its samples, in order; at least one
    label_counts  (n_clients, classes), samples of each class; classes from 0 to the largest label
    moved         samples that were moved so that no client is empty
    """

    scheme: str
    parameters: Mapping[str, Any]
    clients: tuple[IntArray, ...]
    label_counts: IntArray
    moved: int

    @property
    def n_clients(self) -> int:
        """Number of clients."""
        return len(self.clients)

    @property
    def sizes(self) -> IntArray:
        """Samples of each client, (n_clients,)."""
        return np.array([len(client) for client in self.clients], np.int64)

    @property
    def label_mix(self) -> FloatArray:
        """Share of each class in each client's data, (n_clients, classes); rows sum to 1."""
        return np.asarray(self.label_counts / self.label_counts.sum(axis=1, keepdims=True))

    @property
    def hash(self) -> str:
        """SHA-256 of who holds what, however it came about."""
        digest = hashlib.sha256()
        for client in self.clients:
            digest.update(f"{len(client)}\n".encode())
            digest.update(client.astype("<i8").tobytes())
        return digest.hexdigest()


def checked(labels: npt.ArrayLike, n_clients: int) -> tuple[IntArray, int]:
    """Labels as an array and the number of clients as an int; InputError for what no scheme can use."""
    array = np.asarray(labels)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu" or array.min() < 0:
        raise InputError("labels", array, "whole numbers of at least 0, one a sample")
    if array.max() >= MOST_CLASSES:
        raise InputError("labels", int(array.max()), f"below {MOST_CLASSES:,}")
    n_clients = count("n_clients", n_clients)
    if n_clients > array.size:
        raise InputError("n_clients", n_clients, f"at most {array.size}, the number of samples")
    return array.astype(np.int64), n_clients


def assemble(
    scheme: str, parameters: Mapping[str, Any], labels: IntArray, owner: IntArray, n_clients: int
) -> Partition:
    """The partition in which sample i belongs to client owner[i]; who would be empty gets a sample of the largest.

    An empty client takes the last sample of the client that holds most at that moment (the first such client).
    """
    owner = owner.astype(np.int64)
    moved = _fill_empty(owner, n_clients)
    order = np.argsort(owner, kind="stable")
    clients = tuple(np.split(order, np.cumsum(np.bincount(owner, minlength=n_clients))[:-1]))
    counts = np.zeros((n_clients, int(labels.max()) + 1), np.int64)
    np.add.at(counts, (owner, labels), 1)
    for array in (*clients, counts):
        array.flags.writeable = False
    return Partition(scheme, dict(parameters), clients, counts, moved)


def _fill_empty(owner: IntArray, n_clients: int) -> int:
    """Change `owner` so that no client is empty; how many were. There are at least as many samples as clients."""
    sizes = np.bincount(owner, minlength=n_clients)
    empty = np.flatnonzero(sizes == 0)
    if empty.size:
        order, ends = np.argsort(owner, kind="stable"), np.cumsum(sizes)
        largest = [(-int(size), int(client)) for client, size in enumerate(sizes) if size > 1]
        heapq.heapify(largest)
        for client in empty:
            size, donor = largest[0]
            ends[donor] -= 1
            owner[order[ends[donor]]] = client
            if size < -2:
                heapq.heapreplace(largest, (size + 1, donor))
            else:
                heapq.heappop(largest)
    return int(empty.size)


def counts_from_weights(total: int, weights: FloatArray, least: int = 0) -> IntArray:
    """Whole numbers, at least `least`, that sum to `total` and are as near to proportional as rounding allows.

    Largest remainders, the first of equal ones; then who has less than `least` takes from those who have most.
    """
    exact = total * (weights / weights.sum())
    counts: IntArray = np.floor(exact).astype(np.int64)
    missing = total - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    for i in np.flatnonzero(counts < least):
        while counts[i] < least:
            counts[np.argmax(counts)] -= 1
            counts[i] += 1
    return counts


def deal(rng: np.random.Generator, samples: IntArray, owners: IntArray, counts: IntArray, owner: IntArray) -> None:
    """Give counts[j] of the samples to owners[j], which ones at random; counts sum to their number."""
    owner[rng.permutation(samples)] = np.repeat(owners, counts)
