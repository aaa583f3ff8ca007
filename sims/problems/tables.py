"""Per-client parameters of a problem: read once, looked up as floats, exact rationals or torch tensors."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array, is_torch_array

from fltheory.errors import InputError
from sims.arrays import Array, array_namespace, is_exact, on_host
from sims.problems.rational import number


class Table:
    """Parameters of all clients, (N, ...), which problems look up for the clients of a cohort."""

    def __init__(self, argument: str, values: Array) -> None:
        self.argument, self.values = argument, values
        self._floats = values.astype(np.float64, copy=False)
        self._shared = bool((values == values[:1]).all())

    def like(self, model: Array) -> Array:
        """The whole table in the kind of `model`; InputError if that is exact and the table is not."""
        if is_exact(model):
            if not is_exact(self.values):
                raise InputError(self.argument, self.values, "exact (ints, Fractions, strings) for an exact model")
            return self.values
        return array_namespace(model).asarray(self._floats, dtype=model.dtype, device=model.device)

    def rows(self, clients: Array, model: Array) -> Array:
        """Entries (..., S, ...) of the clients (..., S); one to broadcast where all clients have the same."""
        table = self.like(model)
        if self._shared:
            return table[0]
        return np.take(table, clients, axis=0) if is_numpy_array(table) else table[clients]


def array(argument: str, values: Any) -> Array:
    """Numbers as an array of Fractions, or of float64 as soon as one of them is a float.

    Raises InputError for ragged lists and for anything that is not a finite number.
    """
    if is_torch_array(values):
        values = on_host(values.detach())
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise InputError(argument, values, "finite")
        return values.astype(np.float64)
    try:
        given = np.array(values, dtype=None if isinstance(values, np.ndarray) else object)
    except ValueError:
        raise InputError(argument, values, "a rectangular array of numbers") from None
    if any(isinstance(value, list | tuple | np.ndarray) for value in given.flat):
        raise InputError(argument, values, "a rectangular array of numbers")
    return common([number(argument, value) for value in given.flat], given.shape)


def common(values: list[Any], shape: tuple[int, ...]) -> Array:
    """Numbers as one array: exact if all of them are."""
    exact = all(isinstance(value, Fraction) for value in values)
    return np.array(values, dtype=object if exact else np.float64).reshape(shape)


def rational(values: Array) -> Array:
    """Floats as the Fractions that they are, exactly: for computing with them, not for what was meant by them."""
    return common([Fraction(value) for value in values.flat], values.shape)


def alike(*arrays: Array) -> list[Array]:
    """The arrays, as floats unless all of them are exact."""
    return list(arrays) if all(map(is_exact, arrays)) else [values.astype(np.float64) for values in arrays]


def per_client(**given: Any) -> list[Array]:
    """Parameters as arrays (N, d) of one shape and kind: a number, N numbers (d = 1) or N lists of d each.

    Raises InputError for shapes that do not fit together.
    """
    tables = []
    for argument, values in given.items():
        table = array(argument, values)
        if table.ndim > 2:
            raise InputError(argument, values, "a number, a list with a number a client or one with a list a client")
        tables.append(table.reshape((-1, 1)) if table.ndim < 2 else table)
    try:
        tables = [np.array(table) for table in np.broadcast_arrays(*tables)]
    except ValueError:
        shapes = [table.shape for table in tables]
        raise InputError(" and ".join(given), shapes, "of one shape, clients by parameters") from None
    if tables[0].size == 0:
        raise InputError(" and ".join(given), tables[0].shape, "given for at least one client and one parameter")
    return alike(*tables)
