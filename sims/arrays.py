"""The few array operations that differ between numpy floats, numpy objects (exact rationals) and torch.

Everything else in `sims` is written in the array API, through `array_api_compat`, and therefore runs on all
three. Leading axes are batch axes (replicates); the last axis of a model is its parameters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array, is_torch_array, to_device

Array = Any  # a numpy or torch array; the array API has no common type to name

_overwrites: ContextVar[bool] = ContextVar("overwrites", default=False)
_maker: ContextVar[Callable[[tuple[int, ...]], Array] | None] = ContextVar("maker", default=None)

__all__ = [
    "Array",
    "array_namespace",
    "as_exact",
    "beside",
    "cleared",
    "client_rows",
    "counters",
    "device",
    "is_exact",
    "marked",
    "on_host",
    "overwriting",
    "put_rows",
    "require_exact",
    "sum_rows",
    "tables_from",
    "take_rows",
    "widened",
    "zeros",
]


def client_rows(n_clients: int, model: Array) -> Array:
    """A table (..., N, d) of zeros: for each client a row like the model (..., d), kept where `tables_from` says."""
    shape, make = (*model.shape[:-1], n_clients, model.shape[-1]), _maker.get()
    return zeros(shape, model) if make is None else make(shape)


@contextmanager
def tables_from(make: Callable[[tuple[int, ...]], Array] | None) -> Iterator[None]:
    """Within it, `client_rows` are the zeros that `make` gives for a shape; beside the model if it is None.

    They may be on another device than the model. `take_rows` brings rows to where the clients' numbers are, and
    `put_rows` takes rows to where the table is, so that only those of a cohort travel.
    """
    before = _maker.set(make)
    try:
        yield
    finally:
        _maker.reset(before)


def take_rows(table: Array, clients: Array) -> Array:
    """Rows of a per-client table: table (..., N, d), clients (..., S) -> (..., S, d), on the device of `clients`."""
    xp, there, here = array_namespace(table), device(table), device(clients)
    if there != here:
        rows = take_rows(table, to_device(clients, there))
        return to_device(rows.pin_memory() if table.is_pinned() else rows, here)  # a card reads pinned memory faster
    *lead, n, d = table.shape
    if not is_numpy_array(table) and tuple(lead) == tuple(clients.shape[:-1]):  # row by row, 8 times faster in torch
        first = n * xp.reshape(xp.arange(math.prod(lead), device=there), (*lead, 1))
        rows = xp.take(xp.reshape(table, (-1, d)), xp.reshape(clients + first, (-1,)), axis=0)
        return xp.reshape(rows, (*clients.shape, d))
    index = xp.broadcast_to(clients[..., None], (*clients.shape, d))
    return xp.take_along_axis(table, index, axis=-2)


def put_rows(table: Array, clients: Array, valid: Array, rows: Array) -> Array:
    """A copy of `table` with the rows of the valid clients replaced; each client at most once in a cohort."""
    there = device(table)
    if device(rows) != there:
        clients, valid, rows = (to_device(array, there) for array in (clients, valid, rows))
    where, changed = array_namespace(table).nonzero(valid), _to_change(table)
    changed[(*where[:-1], clients[where])] = rows[where]
    return changed


def on_host(array: Array) -> np.ndarray[Any, Any]:
    """A numpy array with the values of any array, or of a number; bfloat16, which numpy lacks, as float32."""
    if not is_array_api_obj(array):
        return np.asarray(array)
    here = to_device(array, "cpu")
    return np.asarray(widened(here) if str(here.dtype) == "torch.bfloat16" else here)


def widened(array: Array) -> Array:
    """A torch array of half precision as float32, which holds sums and squares of its numbers; any other as it is."""
    if not is_torch_array(array) or not array.is_floating_point() or array.itemsize >= 4:
        return array
    return array.float()


def beside(array: Array, other: Array) -> Array:
    """The array on the device of the other: what is made of a whole table, to where the model is."""
    return to_device(array, device(other))


def cleared(table: Array) -> Array:
    """Zeros like `table` (..., N, d)."""
    changed = _to_change(table)
    changed[...] = Fraction(0) if is_exact(table) else 0
    return changed


def _to_change(table: Array) -> Array:
    """A copy, or while `overwriting` a torch table itself."""
    if _overwrites.get() and not is_numpy_array(table):
        return table
    return array_namespace(table).asarray(table, copy=True)


@contextmanager
def overwriting() -> Iterator[None]:
    """Within it, `put_rows` and `cleared` write into torch tables: for a caller who has no use for the old ones.

    A table (N, d) is the largest thing in a training run by far, and copying it costs more than all else the server
    does. What an algorithm needs of the old rows it takes before it puts the new ones.
    """
    before = _overwrites.set(True)
    try:
        yield
    finally:
        _overwrites.reset(before)


def sum_rows(rows: Array, weights: Array | None = None) -> Array:
    """Sum of rows (..., S, d), each times its weight (..., S) if there are any: (..., d).

    On torch a matrix product, which reads the rows once and writes nothing of their size; in numpy, where rows may be
    exact, product by product.
    """
    xp = array_namespace(rows)
    if is_numpy_array(rows):
        return xp.sum(rows if weights is None else weights[..., None] * rows, axis=-2)
    if weights is None:
        weights = xp.ones(rows.shape[:-1], dtype=rows.dtype, device=device(rows))
    return (weights[..., None, :] @ rows)[..., 0, :]


def zeros(shape: tuple[int, ...], like: Array) -> Array:
    """Zeros of the kind of `like`: exact zeros for exact arrays, on its device for torch."""
    xp = array_namespace(like)
    if is_exact(like):
        return np.full(shape, Fraction(0), dtype=object)  # not ints: 0 / 1 would be a float
    if is_numpy_array(like):
        return xp.zeros(shape, dtype=like.dtype)
    return xp.zeros(shape, dtype=like.dtype, device=like.device)


def counters(shape: tuple[int, ...], like: Array) -> Array:
    """Integers, all 0, on the device of `like`: the start of a discrete state."""
    xp = array_namespace(like)
    return xp.zeros(shape, dtype=xp.int64, device=device(like))


def marked(clients: Array, valid: Array, n_clients: int) -> Array:
    """Which clients stand in a valid slot: clients and valid (..., S) -> bool (..., n_clients)."""
    xp = array_namespace(clients)
    nobody = xp.zeros((*clients.shape[:-1], n_clients), dtype=xp.bool, device=device(clients))
    return put_rows(nobody, clients, valid, valid)


def is_exact(array: Array) -> bool:
    """Whether an array holds exact rationals (numpy objects)."""
    return is_numpy_array(array) and array.dtype == object


def as_exact(values: Any) -> np.ndarray[Any, np.dtype[np.object_]]:
    """An object array of Fractions from nested lists of ints, Fractions or strings such as "1/3".

    A float is refused: its rational value is seldom the one that was meant.
    """
    array = np.array(values, dtype=object)
    flat = [_fraction(v) for v in array.flat]
    exact = np.empty(array.shape, dtype=object)
    exact.reshape(-1)[:] = flat
    return exact


def _fraction(value: Any) -> Fraction:
    if isinstance(value, float):
        raise TypeError(f"{value!r} is a float; give a Fraction, an int or a string such as '1/3'")
    return as_fraction(value)


def as_fraction(value: Any) -> Fraction:
    """A number, or the text of one, exactly. Raises ValueError for powers of ten that take longer than they are worth.

    >>> as_fraction("1/3"), as_fraction("1e-3")
    (Fraction(1, 3), Fraction(1, 1000))
    """
    if isinstance(value, str) and re.search(r"[eE][+-]?\d{4}", value.replace("_", "")):
        raise ValueError(f"{value!r} has a power of ten of more than three digits")
    return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)


def require_exact(state: dict[str, Array]) -> None:
    """Raise TypeError if anything in an exact state became a float."""
    for name, array in state.items():
        for value in np.asarray(array, dtype=object).flat:
            if not isinstance(value, Fraction | int | np.integer):
                raise TypeError(f"{name} holds {value!r}, which is not a rational: the run is not exact")
