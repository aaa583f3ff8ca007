"""How much memory a training run will need, before it starts."""

from __future__ import annotations

import os
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
    server    model and memories, twice: a round makes the new ones beside the old ones
    cohort    models, gradients and updates of the clients that take part in a round, without the activations
    """

    data: int
    server: int
    cohort: int

    @property
    def total(self) -> int:
        return self.data + self.server + self.cohort

    def __str__(self) -> str:
        parts = f"data {_size(self.data)}, model and memories {_size(self.server)}, a cohort {_size(self.cohort)}"
        return f"{_size(self.total)} ({parts}, activations not counted)"


def estimate_memory(setup: Setup, cohort_size: int) -> Memory:
    """The memory of a training run in which `cohort_size` clients take part in a round.

    The problem of the setup is a task or the outline of one (`sims.training.outline`).
    """
    task: Any = setup.problem
    algorithm, vector = setup.algorithm, task.itemsize * task.dimension
    vectors = algorithm.server_vectors(task.n_clients) + algorithm.client_vectors * task.n_clients
    at_once = min(task.slots_at_once or cohort_size, cohort_size)
    return Memory(
        data=task.data_bytes,
        server=KEPT_TWICE * vectors * vector,
        cohort=(cohort_size + WORKING_COPIES * at_once) * vector,
    )


def require_memory(setup: Setup, label: str) -> Memory:
    """The estimate for a cohort of the mean size, of all clients if the start is warm.

    Raises InputError if the device has less memory than that in all.
    """
    rates = setup.rates
    size = setup.problem.n_clients if rates is None or setup.warm else max(1, round(float(rates.sum())))
    needed, there = estimate_memory(setup, size), _memory_of(setup.problem.device)  # type: ignore[attr-defined]
    if needed.total > there:
        allowed = f"one that fits into {_size(there)}, but it needs {needed}"
        raise InputError("algorithm", label or setup.algorithm.name, allowed)
    return needed


def _memory_of(device: object) -> int:
    import torch

    if getattr(device, "type", "cpu") == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)  # type: ignore[arg-type]
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _size(n: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n / 2**10:.1f} KiB"
