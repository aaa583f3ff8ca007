"""Two runs side by side: the same bits, or what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from sims.store.files import INDEX, Run


def differences(a: Run, b: Run) -> list[str]:
    """What differs, a line each; empty if both are complete, and experiments and data are the same, bit for bit.

    Raises InputError if the data of one of them cannot be read.
    """
    lines = [f"experiment.{place}: {x!r} and {y!r}" for place, x, y in _places(a.experiment, b.experiment)]
    lines += [f"status: {run.key[:12]} is partial ({run.reason})" for run in (a, b) if run.status != "complete"]
    first, second = a.data(), b.data()  # read even where their hashes agree: a file may have been damaged since
    data = list(_in_data(first, second))
    same = a.sha256 == b.sha256 and first.equals(second)  # a hash takes null for NaN, `equals` 0.0 for -0.0
    if not data and not same:
        data = ["data: equal numbers, other bits (such as 0.0 and -0.0, null and NaN, or another order or type)"]
    if lines and same:
        return [*lines, f"data: the same bits, {first.height} rows"]
    # Versions matter only if they may be why the data differ.
    changed = [f"version of {place}: {x} and {y}" for place, x, y in _places(a.versions, b.versions)] if data else []
    return lines + changed + data


def _places(a: Any, b: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two nested mappings differ."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted(a.keys() | b.keys()):
            yield from _places(a.get(key), b.get(key), f"{place}.{key}" if place else key)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _places(x, y, f"{place}[{index}]")
    elif a != b:
        yield place, a, b


def _in_data(a: pl.DataFrame, b: pl.DataFrame) -> Iterator[str]:
    for name in sorted(set(a.columns) ^ set(b.columns)):
        yield f"data: only the {'first' if name in a.columns else 'second'} has {name}"
    if not set(INDEX) <= set(a.columns) & set(b.columns):
        return
    both = a.join(b, on=INDEX, how="inner", suffix="_of_b", maintain_order="left")
    for which, frame in (("first", a), ("second", b)):
        if only := frame.height - both.height:
            yield f"data: {only} rows are in the {which} only"
    for name in a.columns:
        if name in INDEX or name not in b.columns:
            continue
        x, y = (both[column].cast(pl.Float64).to_numpy() for column in (name, f"{name}_of_b"))
        unlike = (x != y) & ~(np.isnan(x) & np.isnan(y))
        if unlike.any():
            algorithm, replicate, at = both.select(INDEX).row(int(unlike.argmax()))
            alone = np.isnan(x) != np.isnan(y)
            how = [f"by up to {np.abs(x - y)[unlike & ~alone].max():.3g}"] if (unlike & ~alone).any() else []
            how += [f"only one of them has a number in {int(alone.sum())}"] if alone.any() else []
            yield (
                f"data: {name} differs in {int(unlike.sum())} of {len(x)} rows, {', '.join(how)}, "
                f"first for {algorithm!r}, replicate {replicate}, round {at}"
            )
