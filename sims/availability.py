"""Who is available in a round, for all replicates of a run: from sampled traces, or from a look at the past."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError
from fltheory.participation import ParticipationProcess

BoolArray = npt.NDArray[np.bool_]

LOOKED_AT = 2 * 10**6  # client-rounds, at most
DRAWS = 5  # traces, as some processes draw when a day begins


class Reactive(Protocol):
    """Availability that may depend on who took part before."""

    n_clients: int

    def step(self, history: BoolArray, rng: np.random.Generator) -> BoolArray:
        """Who is available (R, N) in round t, given who took part in each round before, (t, R, N)."""


class Traces:
    """An oblivious process: a trace for each replicate, sampled with a seed of its own; (rounds, R, N) bools."""

    def __init__(self, process: ParticipationProcess, rounds: int, replicates: int, rng: np.random.Generator) -> None:
        self._traces = np.empty((rounds, replicates, process.n_clients), dtype=np.bool_)
        self._seeds = rng.integers(2**63, size=replicates)
        for replicate, seed in enumerate(self._seeds.tolist()):
            self._traces[:, replicate] = process.sample(rounds, seed)

    def available(self, round: int) -> BoolArray:
        available: BoolArray = self._traces[round]
        return available

    def update(self, round: int, participated: BoolArray) -> None:
        pass

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        return {"seeds": self._seeds}

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        if not np.array_equal(state["seeds"], self._seeds):
            raise InputError("checkpoint", "other traces", "one of a simulation with the same generator")


class Reactions:
    """A reactive process, with the participation it looks at."""

    def __init__(self, process: Reactive, rounds: int, replicates: int, rng: np.random.Generator) -> None:
        self._process, self._rng, self._done = process, rng, 0
        self._history = np.zeros((rounds, replicates, process.n_clients), dtype=np.bool_)

    def available(self, round: int) -> BoolArray:
        past = self._history[:round].view()
        past.setflags(write=False)
        found = np.asarray(self._process.step(past, self._rng))
        if found.shape != self._history.shape[1:] or found.dtype != np.bool_:
            allowed = f"an array of bools of shape {self._history.shape[1:]}"
            raise InputError("what a step of the process returns", found, allowed)
        return found

    def update(self, round: int, participated: BoolArray) -> None:
        self._history[round] = participated
        self._done = round + 1

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        return {"history": self._history[: self._done]}

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        self._done = len(state["history"])
        self._history[: self._done] = state["history"]


def availability(
    process: ParticipationProcess | Reactive, rounds: int, replicates: int, rng: np.random.Generator
) -> Traces | Reactions:
    """Of a new run."""
    if isinstance(process, ParticipationProcess):
        return Traces(process, rounds, replicates, rng)
    return Reactions(process, rounds, replicates, rng)


def widest(process: ParticipationProcess | Reactive, rounds: int) -> int:
    """The most clients available in a round of a few traces of so many rounds, or of as many as are quickly drawn.

    All clients of a process that reacts to the run, or of which there is no trace beforehand.

    >>> from fltheory.participation import Periodic
    >>> widest(Periodic.diurnal(n_clients=10, on=1, off=3, offset=0), 8)
    10
    """
    n_clients = process.n_clients
    if not isinstance(process, ParticipationProcess):
        return n_clients
    try:
        length = max(1, min(rounds, LOOKED_AT // (DRAWS * n_clients)))
        return max(int(process.sample(length, seed).sum(axis=1).max()) for seed in range(DRAWS))
    except Exception:  # what is wrong with it is told where a run begins
        return n_clients
