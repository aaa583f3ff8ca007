"""Small logs for the tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analysis.traces import Log
from fltheory.participation import ParticipationProcess


def dense(on: npt.ArrayLike, observed: npt.ArrayLike | None = None) -> Log:
    """A log of boolean matrices (rounds, clients); everything was observed where the second is left out."""
    here = np.asarray(on, dtype=np.bool_)
    names = tuple(str(client) for client in range(here.shape[1]))
    if observed is None:
        return Log(names, here.shape[0], *_events(here))
    seen = np.asarray(observed, dtype=np.bool_)
    return Log(names, here.shape[0], *_events(here & seen), _events(seen))


def sampled(process: ParticipationProcess, rounds: int, seed: int) -> Log:
    """A log of everything that a process does in so many rounds."""
    names = tuple(str(client) for client in range(process.n_clients))
    return Log(names, rounds, *process.sample_events(rounds, seed))


def _events(matrix: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    client, when = np.nonzero(matrix.T)
    return client.astype(np.int64), when.astype(np.int64)
