"""How much memory a training run will need, before it starts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fltheory.errors import InputError
from sims.availability import widest
from sims.rounds import Setup
from sims.selection import largest
from sims.training import room

if TYPE_CHECKING:
    import torch

LASTING = 3  # of a task: its module, the numbers that this is put back to, the start
REHEARSED = 24  # while a task is made, those included (found: 16, with the engine vmap 20; glibc keeps up to 4 freed)
WORKING_COPIES = 4  # a client's start, iterate, gradient and update while it steps
KEPT_TWICE = 2  # a round makes the server's new vectors beside the old ones


@dataclass(frozen=True)
class Memory:
    """Bytes, and where they are needed.

    data       samples on the device
    source     all data that these are taken from, where they are not all
    module     what a task holds of its module as long as it is there
    rehearsal  what trying the module takes, before the first round
    server     model and other vectors of the server, twice: a round makes the new ones beside the old ones
    tables     a row for each client, written in place; where `place` says (`sims.training.tables`)
    cohort     models, gradients and updates of the clients that take part in a round, without the activations
    """

    data: int
    source: int
    module: int
    rehearsal: int
    server: int
    tables: int
    cohort: int
    place: str = "device"

    @property
    def total(self) -> int:
        """On the device: what the rounds take, or the rehearsal before them if that is more."""
        return self.data + self.source + max(self.rehearsal, self._rounds)

    @property
    def _rounds(self) -> int:
        return self.module + self.server + self.cohort + (self.tables if self.place == "device" else 0)

    def at(self, place: str) -> int:
        """Bytes at one of `sims.training.tables.PLACES`."""
        return self.total if place == "device" else self.tables if place == self.place else 0

    def __str__(self) -> str:
        parts, tables = [f"data {room.in_words(self.data)}"], room.in_words(self.tables)
        if self.source:
            parts.append(f"the set they are taken from {room.in_words(self.source)}")
        if self.rehearsal > self._rounds:
            parts.append(f"trying the module {room.in_words(self.rehearsal)}, more than the rounds take")
        else:
            parts.append(f"model {room.in_words(self.module + self.server)}")
            if self.tables and self.place == "device":
                parts.append(f"clients' tables {tables}")
            parts.append(f"a cohort {room.in_words(self.cohort)}")
        elsewhere = (
            f", and {tables} on {self.place} for clients' tables" if self.tables and self.place != "device" else ""
        )
        return f"{room.in_words(self.total)} ({', '.join(parts)}, activations not counted){elsewhere}"


def estimate_memory(setup: Setup, cohort_size: int) -> Memory:
    """The memory of a training run in which `cohort_size` clients take part in a round.

    The problem of the setup is a task or the outline of one (`sims.training.outline`).
    """
    task: Any = setup.problem
    algorithm, vector = setup.algorithm, task.itemsize * task.dimension
    alone = algorithm.server_vectors(0)
    rows = algorithm.server_vectors(task.n_clients) - alone + algorithm.client_vectors * task.n_clients
    at_once = min(task.slots_at_once or cohort_size, cohort_size)
    beside = 2 * algorithm.up * (2 if rows else 1)  # what clients send and a copy; with tables their rows, and copies
    beside += "roles" in algorithm.looks_at  # where work is divided, what each part sends is put together
    return Memory(
        data=task.data_bytes,
        source=task.source_bytes,
        module=LASTING * vector,
        rehearsal=REHEARSED * vector,
        server=KEPT_TWICE * alone * vector,
        tables=rows * vector,
        cohort=(beside * cohort_size + WORKING_COPIES * at_once) * vector,
        place="device" if task.memory == "host" and task.device.type == "cpu" else task.memory,
    )


def require_memory(setup: Setup, label: str, rounds: int) -> Memory:
    """The estimate for the widest cohort of the rounds that `widest` looks at; for all clients if the start is warm.

    Raises InputError if the device has less memory left than that in all, or the place of the tables less room for
    them, or this process may not take so much.
    """
    task, size = setup.problem, setup.problem.n_clients
    if not setup.warm:
        size = largest(setup.selection, size, widest(setup.process, rounds))
    needed, device = estimate_memory(setup, size), task.device  # type: ignore[attr-defined]
    own = (needed.total if device.type == "cpu" else 0) + (needed.tables if needed.place != "device" else 0)
    for what, takes, there in (
        ("are free", needed.total, room.of_device(device)),
        ("a process may take (ulimit -v)", own, room.of_the_process()),
    ):
        if takes > there:
            allowed = f"one that fits into the {room.in_words(there)} that {what}, but it needs {needed}"
            raise InputError("algorithm", label or setup.algorithm.name, allowed)
    if needed.place != "device" and needed.tables > (there := _free(needed.place, device)):
        allowed = (
            f"a place for {room.in_words(needed.tables)} of clients' tables, and this one has {room.in_words(there)}"
        )
        raise InputError("memory", needed.place, allowed)
    return needed


def require_workers(workers: int, needs: Sequence[Memory], device: torch.device) -> None:
    """Raise InputError unless as many runs as there are workers fit in at a time, whichever these are.

    needs   of every run; each has copies of its own of all that, and this process keeps data and a task, too
    """
    for place, where in (("device", ""), ("host", " of the host"), ("disk", " on disk")):
        kept = max(one.data + one.source + one.module for one in needs) if place == "device" else 0
        there = _free(place, device) - kept
        most = list(itertools.accumulate(sorted((one.at(place) for one in needs), reverse=True)))[:workers]
        if most[-1] > there:
            fitting = max(1, sum(takes <= there for takes in most))
            need, left = room.in_words(most[-1]), room.in_words(max(0, there))
            needed = f"{len(most)} runs at a time need {need}{where}, and {left} are free"
            raise InputError("workers", workers, f"at most {fitting}: {needed}")


def _free(place: str, device: torch.device) -> int:
    """Bytes that are left there for all processes."""
    return {"device": lambda: room.of_device(device), "host": room.of_the_machine, "disk": room.of_disk}[place]()
