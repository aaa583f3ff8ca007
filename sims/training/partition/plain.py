"""Partitions that look at no label: natural clients, and samples at random."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError
from fltheory.streams import stream
from sims.training.partition.base import Partition, assemble, checked, counts_from_weights, deal


def iid(labels: npt.ArrayLike, n_clients: int, *, seed: int) -> Partition:
    """Samples at random, equally many for each client to within one. InputError for more clients than samples."""
    samples, n_clients = checked(labels, n_clients)
    owner = np.empty(len(samples), np.int64)
    sizes = counts_from_weights(len(samples), np.ones(n_clients))
    deal(stream(seed, "partition.iid"), np.arange(len(samples)), np.arange(n_clients), sizes, owner)
    return assemble("iid", {"n_clients": n_clients, "seed": seed}, samples, owner, n_clients)


def natural(labels: npt.ArrayLike, groups: npt.ArrayLike) -> Partition:
    """One client for each group that has samples, in order of the groups: speaking role, topic, user, writer.

    As in FAST (Shakespeare by role) and FedLaAvg (Sentiment140 by account). Raises InputError for groups that are
    not one whole number a sample.
    """
    samples, _ = checked(labels, 1)
    given = np.asarray(groups)
    if given.shape != samples.shape or given.dtype.kind not in "iu":
        raise InputError("groups", given, f"{samples.size} whole numbers, one a sample")
    present, owner = np.unique(given, return_inverse=True)
    return assemble("natural", {"n_clients": len(present)}, samples, owner, len(present))
