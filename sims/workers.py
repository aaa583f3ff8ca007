"""Calls on several processes, through joblib."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, Literal

import joblib
from joblib.parallel import BACKENDS, get_active_backend

from fltheory.errors import InputError


def in_order(
    calls: Iterable[Any],
    workers: int,
    *,
    first: Callable[[], None] | None = None,
    batch_size: int | Literal["auto"] = "auto",
) -> Iterator[Any]:
    """The results of joblib's delayed calls on `workers` processes, as they come, in the order of the calls.

    Processes of loky, which are those where no other backend is set, call `first`, and end where this process does,
    even if it is killed. Raises InputError where one of them was killed, as by a system that has no memory left.
    """
    own: dict[str, Any] = {}
    if isinstance(get_active_backend()[0], BACKENDS["loky"]):
        own = {"backend": "loky", "initializer": _begin, "initargs": (os.getpid(), first)}
    found: Any = None
    try:
        try:
            with _uninterrupted():  # the processes begin here
                found = joblib.Parallel(n_jobs=workers, return_as="generator", batch_size=batch_size, **own)(calls)
        except KeyboardInterrupt as interrupt:
            if found is None:
                raise
            found.throw(interrupt)  # dropped, it would warn of the calls that were not finished
        yield from found
    except BrokenProcessPool:
        allowed = "fewer: one of the processes was killed, perhaps for want of memory"
        raise InputError("workers", workers, allowed) from None


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits, and never reaches a process that begins within: it is for this one to say what it means."""
    resource_tracker.ensure_running()  # beginning it would end the wait
    mask, came = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}), threading.Event()
    mine = threading.current_thread() is threading.main_thread()  # no other one is ever interrupted
    # threads of numpy do not block it
    handler = signal.signal(signal.SIGINT, lambda *_: came.set()) if mine else None
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if came.is_set():
            signal.raise_signal(signal.SIGINT)


def _begin(parent: int, first: Callable[[], None] | None) -> None:
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    if first is not None:
        first()


def _end_with(parent: int) -> None:
    """By itself loky waits for tasks for minutes, and so does whoever reads the output that it has in common."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
