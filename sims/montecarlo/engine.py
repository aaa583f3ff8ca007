"""Chunked Monte Carlo: keyed streams, parallel, resumable, extendable.

A chunk's result depends on its key (task, purpose, seed, chunk) alone. So results are bit-identical for any
number of workers, a killed run that is started again goes on where it was, and asking for more chunks later
keeps those that are there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt

import fltheory
from fltheory.errors import InputError, count, processes
from fltheory.streams import stream
from sims.whole import whole
from sims.workers import in_order

Result = dict[str, npt.NDArray[Any]]
Task = Callable[[int, np.random.Generator], Mapping[str, npt.ArrayLike]]


def run(
    task: Task,
    chunks: int,
    *,
    purpose: str,
    seed: int,
    workers: int = 1,
    store: str | os.PathLike[str] | None = None,
    resume: bool = True,
    progress: bool = False,
) -> Iterator[Result]:
    """Call task(chunk, stream(seed, purpose, chunk)) for chunk = 0, ..., chunks - 1; yield results in this order.

    task       gives a chunk's result as a mapping from names to arrays or numbers; it must depend on its two
               arguments and on its own fields only (a frozen dataclass with `__call__` is the usual form), and
               can be pickled if there is a store or more than one worker
    workers    processes, through joblib
    store      folder in which every finished chunk is kept, in a subfolder for each (task, purpose, seed,
               version of fltheory and numpy): nothing else is ever taken from it. Files that are cut short,
               damaged or misplaced are computed again; a kill may leave a .tmp file, which is never read. After
               changing the code of a task of your own use another folder.
    resume     take chunks that are kept; otherwise compute all of them, and keep these
    progress   a bar on stderr

    Results arrive one by one, so that a caller that sums them holds a few at a time. Raises InputError for bad
    numbers, a store that cannot be written, and a process that was killed.

    >>> def task(chunk, rng):
    ...     return {"mean": rng.random(1000).mean()}
    >>> [round(float(result["mean"]), 3) for result in run(task, 2, purpose="example", seed=0)]
    [0.489, 0.486]
    """
    chunks, seed, workers = count("chunks", chunks), count("seed", seed, least=0), processes("workers", workers)
    folder = None
    if store is not None:
        if not isinstance(store, str | os.PathLike):
            raise InputError("store", store, "the path of a folder")
        folder = Path(store) / str(joblib.hash((task, purpose, seed, fltheory.__version__, np.__version__)))
        _create(folder)
    calls = (joblib.delayed(_chunk)(task, purpose, seed, chunk, folder, resume) for chunk in range(chunks))
    results = in_order(calls, workers)
    return _with_bar(results, chunks, purpose) if progress else results


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        allowed = f"a folder that can be written ({error.strerror})"
        raise InputError("store", str(folder.parent), allowed) from None


def _chunk(task: Task, purpose: str, seed: int, chunk: int, folder: Path | None, resume: bool) -> Result:
    if folder is None:
        return _compute(task, purpose, seed, chunk)
    result = _load(folder, chunk) if resume else None
    if result is None:
        result = _compute(task, purpose, seed, chunk)
        _save(folder, chunk, result)
    return result


def _compute(task: Task, purpose: str, seed: int, chunk: int) -> Result:
    result = {name: np.asarray(value) for name, value in task(chunk, stream(seed, purpose, chunk)).items()}
    for name, array in result.items():
        if array.dtype.hasobject:
            raise InputError(f"result {name!r} of the task", array, "an array of numbers")
    return result


def _save(folder: Path, chunk: int, result: Result) -> None:
    try:
        with whole(_file(folder, chunk)) as unfinished, unfinished.open("wb") as file:
            np.savez(file, **result, sha256=_digest(folder, chunk, result))  # type: ignore[arg-type]
    except OSError as error:
        raise InputError("store", str(folder), f"a folder that can be written ({error.strerror})") from None


def _load(folder: Path, chunk: int) -> Result | None:
    """The stored result; None unless it is whole and of this very chunk."""
    try:
        with _file(folder, chunk).open("rb") as stored, np.load(stored, allow_pickle=False) as arrays:
            result = dict(arrays)
        sound = np.array_equal(result.pop("sha256"), _digest(folder, chunk, result))
    except Exception:  # a damaged file fails in a dozen ways; whichever it is, the chunk is computed again
        return None
    return result if sound else None


def _file(folder: Path, chunk: int) -> Path:
    return folder / f"{chunk}.npz"


def _digest(folder: Path, chunk: int, result: Result) -> npt.NDArray[np.uint8]:
    digest = hashlib.sha256(f"{folder.name} {chunk}".encode())
    for name in sorted(result):
        digest.update(f"\n{name} {result[name].dtype.str} {result[name].shape}\n".encode())
        digest.update(result[name].tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def _with_bar(results: Iterable[Result], chunks: int, purpose: str) -> Iterator[Result]:
    from rich.console import Console
    from rich.progress import track

    return iter(track(results, description=purpose, total=chunks, console=Console(stderr=True)))
