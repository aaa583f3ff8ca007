"""The unit of work of a simulated experiment: a chunk of replicates of one algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError
from sims import preflight
from sims.divergence import Diverged
from sims.experiment import Experiment, from_canonical
from sims.rounds import Simulation

LARGEST = 512  # replicates in a chunk
CELLS = 12_800  # replicates times clients: enough to make numpy's overhead small, few enough to stay in the cache
BYTES = 2**26  # of traces, and of per-client memories, in a chunk


@dataclass(frozen=True)
class Replicates:
    """The task of `size` replicates of one algorithm of an experiment, given in its canonical form."""

    experiment: str
    algorithm: int
    size: int

    def __call__(self, chunk: int, rng: np.random.Generator) -> dict[str, npt.NDArray[Any]]:
        experiment = from_canonical(self.experiment)
        setup = preflight.setup(self.experiment, self.algorithm)
        replicates = min(self.size, experiment.replicates - chunk * self.size)
        start = preflight.start(experiment, replicates, setup.problem)
        record = preflight.record(experiment)
        stopped, diverged = "", False
        try:
            simulation = Simulation(setup, start, experiment.rounds, rng, record)
        except MemoryError:
            raise _too_large(experiment) from None
        try:
            simulation.advance()
        except MemoryError:
            raise _too_large(experiment) from None
        except Diverged as error:
            stopped, diverged = str(error), True
        except InputError as error:  # the rounds before it are kept all the same
            stopped = f"round {simulation.round}: {error}"
        told = {"rounds": record.rounds, "stopped": np.array(stopped), "diverged": np.array(diverged)}
        return {**told, **record.arrays()}


def _too_large(experiment: Experiment) -> InputError:
    return InputError("rounds", experiment.rounds, "fewer, or recorded less often: the memory does not hold the run")


def chunk_size(experiment: Experiment, algorithm: int) -> int:
    """Replicates in a chunk; it depends on the experiment alone."""
    problem = preflight.setup(experiment.canonical, algorithm).problem
    each = problem.n_clients * max(experiment.rounds, 8 * problem.dimension)
    return min(LARGEST, max(8, CELLS // problem.n_clients), max(1, BYTES // each), experiment.replicates)
