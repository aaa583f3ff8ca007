"""Which samples a client's minibatches hold, for all clients of a cohort at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, one_of

CLIENT_WEIGHTS = ("uniform", "data_size")
UNEVEN = 64  # all clients are shuffled at once unless that takes so many times as many numbers as are wanted
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def loss_scales(client_weights: str, sizes: IntArray) -> FloatArray | None:
    """What the losses of clients with so many samples (N,) are multiplied by, (N,); None for "uniform", nothing.

    With "data_size" it is N n_i / n, n_i of n samples: the plain mean of the losses is then that over all samples, and
    a rule that averages clients alike minimises it. Source: FedLaAvg, section 2, f_i = w_i N f_i~. Raises InputError
    for another name.
    """
    if client_weights not in CLIENT_WEIGHTS:
        raise InputError("client_weights", client_weights, one_of(str(client_weights), CLIENT_WEIGHTS))
    return None if client_weights == "uniform" else len(sizes) * sizes / sizes.sum()


class Sampler:
    """Minibatches of `batch` samples from the clients' own samples.

    parts            for each client the indices of its samples among `n_samples`
    replacement      independent samples; otherwise in random order within a round, over again when they are used up
    client_weights   what clients count in f, one of CLIENT_WEIGHTS; `scales` are their `loss_scales`

    Raises InputError for parts that are no rows, a client without samples, and an index that is no sample's.
    """

    def __init__(
        self,
        parts: Sequence[IntArray],
        n_samples: int,
        batch: int,
        replacement: bool,
        client_weights: str = "uniform",
    ) -> None:
        given = _rows(parts)
        self.sizes = np.array([part.size for part in given], dtype=np.int64)
        if not given or not self.sizes.all():
            empty = int(np.argmin(self.sizes)) if given else "no client"
            raise InputError("parts", empty, "samples for every client (this one has none)")
        if any(part.dtype.kind not in "iu" for part in given):
            raise InputError("parts", [part.dtype.name for part in given][:3], "whole numbers")
        self.order = np.concatenate(given).astype(np.int64)
        wrong = self.order[(self.order < 0) | (self.order >= n_samples)]
        if wrong.size:
            raise InputError("parts", int(wrong[0]), f"indices of the {n_samples} samples, counted from 0")
        self.first = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.n_samples, self.batch, self.replacement = n_samples, batch, replacement
        self.scales = loss_scales(client_weights, self.sizes)

    def of(self, client: int) -> IntArray:
        """The samples of a client."""
        return self.order[self.first[client] : self.first[client] + self.sizes[client]]

    @property
    def weights(self) -> FloatArray:
        """What each sample counts in f, (n_samples,): 1/(N n_i) for those of client i, times its scale; else 0."""
        weights, scales = np.zeros(self.n_samples), 1 if self.scales is None else self.scales
        np.add.at(weights, self.order, np.repeat(scales / (len(self.sizes) * self.sizes), self.sizes))
        return weights

    @property
    def owner(self) -> IntArray:
        """The client who holds each entry of `order`."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def draw(self, rng: np.random.Generator, clients: IntArray, steps: int, size: int) -> IntArray:
        """Samples of `steps` batches of each client (..., S): indices (steps, ..., S, size)."""
        sizes = self.sizes[clients]
        if self.replacement:
            own = (rng.random((steps, *clients.shape, size)) * sizes[..., None]).astype(np.int64)
        else:
            own = self._shuffled(rng, sizes, steps * size)
            own = np.moveaxis(own.reshape(*clients.shape, steps, size), -2, 0)
        return self.order[self.first[clients][..., None] + own]

    @staticmethod
    def _shuffled(rng: np.random.Generator, sizes: IntArray, wanted: int) -> IntArray:
        """For sizes (...,), `wanted` numbers below each, in random order, every pass anew: (..., wanted)."""
        if not sizes.size:
            return np.zeros((*sizes.shape, wanted), dtype=np.int64)
        passes, longest = -(-wanted // int(sizes.min())), int(sizes.max())
        if passes * longest > UNEVEN * wanted:
            each = [_passes(rng, size, wanted) for size in sizes.ravel().tolist()]
            return np.stack(each).reshape(*sizes.shape, wanted)
        keys = rng.random((passes, *sizes.shape, longest))
        keys[np.broadcast_to(np.arange(longest) >= sizes[..., None], keys.shape)] = np.inf
        permutations = np.moveaxis(np.argsort(keys, axis=-1), 0, -2)  # (..., passes, longest)
        round_trip, place = np.divmod(np.arange(wanted), sizes[..., None])
        flat = permutations.reshape(*sizes.shape, -1)
        return np.take_along_axis(flat, round_trip * longest + place, axis=-1)


def _rows(parts: Any) -> list[npt.NDArray[Any]]:
    """The parts as arrays (n_i,). Raises InputError for what is no row of numbers for each client."""
    allowed = "for each client one row of the indices of its samples"
    try:
        rows = [np.asarray(part) for part in parts]
    except (TypeError, ValueError):  # one number, rows in a row that differ in length
        raise InputError("parts", parts, allowed) from None
    for client, row in enumerate(rows):
        if row.ndim != 1:
            raise InputError(f"shape of parts[{client}]", row.shape, f"(n,): {allowed}")
    return rows


def _passes(rng: np.random.Generator, size: int, wanted: int) -> IntArray:
    """Permutations of the numbers below `size`, one after the other, as far as wanted."""
    passes = np.tile(np.arange(size), (-(-wanted // size), 1))
    return rng.permuted(passes, axis=1).ravel()[:wanted]
