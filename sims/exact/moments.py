"""First and second moments of the linear state, and expectations of quadratic functions of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fltheory.errors import InputError
from sims.arrays import Array, as_exact, is_exact


@dataclass(frozen=True)
class Layout:
    """Where the arrays of a linear state stand in its flattened vector s (size,)."""

    shapes: dict[str, tuple[int, ...]]

    @property
    def size(self) -> int:
        return sum(int(np.prod(shape)) for shape in self.shapes.values())

    def split(self, vectors: Array) -> dict[str, Array]:
        """Flattened states (batch, size) as named arrays (batch, ...)."""
        return {name: vectors[:, self.place(name)].reshape((-1, *shape)) for name, shape in self.shapes.items()}

    def join(self, linear: Mapping[str, Array]) -> Array:
        """Named arrays (batch, ...) as flattened states (batch, size)."""
        return np.concatenate([linear[name].reshape((linear[name].shape[0], -1)) for name in self.shapes], axis=1)

    def place(self, name: str) -> slice:
        """Where one array stands; InputError if the state has no array of that name."""
        first = 0
        for other, shape in self.shapes.items():
            size = int(np.prod(shape))
            if other == name:
                return slice(first, first + size)
            first += size
        raise InputError("name", name, f"one of {', '.join(self.shapes)}")


JointState = tuple[Any, Hashable]  # of the participation process, and of the algorithm's discrete part


@dataclass(frozen=True)
class Moments:
    """E[(1, s)(1, s)'], split by the joint state of the participation and the algorithm's discrete part.

    tables   joint state -> E[(1, s)(1, s)'; that state], (1 + size, 1 + size)
    """

    layout: Layout
    tables: Mapping[JointState, Array]

    @cached_property
    def table(self) -> Array:
        return sum(self.tables.values())

    @property
    def first(self) -> Array:
        """E[s], (size,)."""
        return self.table[0, 1:]

    @property
    def second(self) -> Array:
        """E[ss'], (size, size)."""
        return self.table[1:, 1:]

    def mean(self, name: str) -> Array:
        """E of one array of the state, in its shape."""
        return self.first[self.layout.place(name)].reshape(self.layout.shapes[name])

    def covariance(self, name: str) -> Array:
        """Covariance matrix of one array of the state, flattened."""
        place = self.layout.place(name)
        return self.second[place, place] - np.multiply.outer(self.first[place], self.first[place])

    def expected(self, form: Array) -> Any:
        """E of a quadratic function of the state, given as `Engine.quadratic` reads it."""
        return (form * self.table).sum()

    def given(self, process: Any) -> Moments:
        """The moments conditional on a state of the participation process; InputError where it does not occur."""
        tables = {key: table for key, table in self.tables.items() if key[0] == process}
        probability = sum(table[0, 0] for table in tables.values())
        if not probability:
            raise InputError("process", process, "a state that the participation process can be in")
        return Moments(self.layout, {key: table / probability for key, table in tables.items()})


def quadratic(layout: Layout, function: Callable[[dict[str, Array]], Array], like: Array) -> Array:
    """The symmetric matrix A with function(s) = (1, s)' A (1, s), read off values at basis states and their sums.

    `function` takes named arrays (batch, ...) to (batch,). Raises InputError if it is not quadratic.
    """
    n = layout.size
    basis = unit_vectors(n, like)
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    trial = basis.sum(axis=0) + 2 * np.cumsum(basis, axis=0).sum(axis=0)  # all entries differ
    points = np.stack([0 * trial, *basis, *(basis[i] + basis[j] for i, j in pairs), -trial])
    constant, *values, at_trial = function(layout.split(points))
    single, double = values[:n], values[n:]
    form = np.zeros_like(points, shape=(n + 1, n + 1))
    form[0, 0] = constant
    for (i, j), value in zip(pairs, double, strict=True):
        form[i + 1, j + 1] = form[j + 1, i + 1] = (value - single[i] - single[j] + constant) / 2
    for i in range(n):
        form[0, i + 1] = form[i + 1, 0] = (single[i] - constant - form[i + 1, i + 1]) / 2
    extended = np.concatenate([1 + 0 * trial[:1], -trial])
    if not close(extended @ form @ extended, at_trial, np.abs(extended) @ np.abs(form) @ np.abs(extended)):
        raise InputError("function", function, "a quadratic function of the state")
    return form


def unit_vectors(n: int, like: Array) -> Array:
    """The identity matrix in the kind of `like`, its ones Fractions where that is exact."""
    identity = np.eye(n, dtype=np.int64)
    return as_exact(identity) if is_exact(like) else identity.astype(like.dtype)


def close(left: Array, right: Array, scale: Array) -> bool:
    """Whether two results are the same: exactly, or in floats within rounding errors of terms of size `scale`."""
    difference = np.abs(left - right)
    return bool(np.all(difference == 0) if is_exact(np.asarray(left)) else np.all(difference <= 1e-10 * (scale + 1)))
