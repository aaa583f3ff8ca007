"""How much memory a training run will need, before it starts."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from typing import Any

from fltheory.errors import InputError
from sims.rounds import Setup

WORKING_COPIES = 4  # a client's start, iterate, gradient and update while it steps
KEPT_TWICE = 2  # a round makes the server's new vectors beside the old ones


@dataclass(frozen=True)
class Memory:
    """Bytes, and where they are needed.

    data      samples on the device
    server    model and other vectors of the server, twice: a round makes the new ones beside the old ones
    tables    a row for each client, written in place; where `place` says (`sims.training.tables`)
    cohort    models, gradients and updates of the clients that take part in a round, without the activations
    """

    data: int
    server: int
    tables: int
    cohort: int
    place: str = "device"

    @property
    def total(self) -> int:
        """On the device."""
        return self.data + self.server + self.cohort + (self.tables if self.place == "device" else 0)

    def __str__(self) -> str:
        parts, tables = [f"data {_size(self.data)}", f"model {_size(self.server)}"], _size(self.tables)
        if self.place == "device":
            parts.append(f"clients' tables {tables}")
        parts.append(f"a cohort {_size(self.cohort)}")
        elsewhere = "" if self.place == "device" else f", and {tables} on {self.place} for clients' tables"
        return f"{_size(self.total)} ({', '.join(parts)}, activations not counted){elsewhere}"


def estimate_memory(setup: Setup, cohort_size: int) -> Memory:
    """The memory of a training run in which `cohort_size` clients take part in a round.

    The problem of the setup is a task or the outline of one (`sims.training.outline`).
    """
    task: Any = setup.problem
    algorithm, vector = setup.algorithm, task.itemsize * task.dimension
    alone = algorithm.server_vectors(0)
    rows = algorithm.server_vectors(task.n_clients) - alone + algorithm.client_vectors * task.n_clients
    at_once = min(task.slots_at_once or cohort_size, cohort_size)
    return Memory(
        data=task.data_bytes,
        server=KEPT_TWICE * alone * vector,
        tables=rows * vector,
        cohort=(cohort_size + WORKING_COPIES * at_once) * vector,
        place="device" if task.memory == "host" and task.device.type == "cpu" else task.memory,
    )


def require_memory(setup: Setup, label: str) -> Memory:
    """The estimate for a cohort of the mean size, of all clients if the start is warm.

    Raises InputError if the device has less memory than that in all, or the place of the tables less room for them.
    """
    rates, task = setup.rates, setup.problem
    size = task.n_clients if rates is None or setup.warm else max(1, round(float(rates.sum())))
    needed, there = estimate_memory(setup, size), _memory_of(task.device)  # type: ignore[attr-defined]
    if needed.total > there:
        allowed = f"one that fits into {_size(there)}, but it needs {needed}"
        raise InputError("algorithm", label or setup.algorithm.name, allowed)
    if needed.place != "device" and needed.tables > (room := _room(needed.place)):
        allowed = f"a place for {_size(needed.tables)} of clients' tables, and this one has {_size(room)}"
        raise InputError("memory", needed.place, allowed)
    return needed


def _memory_of(device: object) -> int:
    import torch

    if getattr(device, "type", "cpu") == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)  # type: ignore[arg-type]
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _room(place: str) -> int:
    """Bytes that tables may take on the host or on disk."""
    return shutil.disk_usage(tempfile.gettempdir()).free if place == "disk" else _memory_of(None)


def _size(n: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n / 2**10:.1f} KiB"
