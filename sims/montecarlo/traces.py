"""FedAU weights from whole traces: slow, but for every availability process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fltheory.participation import ParticipationProcess
from fltheory.weights import fedau_weights

CELLS = 2**20  # rounds, over all replicates, that are held at a time


@dataclass(frozen=True)
class TraceSampling:
    """The task of `size` independent replicates of any process with one client, each a trace with its own seed.

    Fields and result are as in `IntervalSampling`.
    """

    process: ParticipationProcess
    rate: float
    cutoff: int | float
    rounds: int
    size: int

    def __call__(self, chunk: int, rng: np.random.Generator) -> dict[str, npt.NDArray[np.float64]]:
        seeds = rng.integers(2**63, size=self.size).tolist()
        average, sums = np.empty(self.size), np.zeros((3, self.rounds))
        few = max(1, CELLS // self.rounds)
        for start in range(0, self.size, few):
            some = slice(start, start + few)
            history = np.stack([self.process.sample(self.rounds, seed) for seed in seeds[some]])
            weights = fedau_weights(history, self.cutoff)[:, :, 0]
            squares = (self.rate * weights - 1) ** 2
            average[some] = squares.mean(axis=1)
            sums += [values.sum(axis=0) for values in (weights, squares, squares**2)]
        weight, square, fourth = sums
        return {"average": average, "weight": weight, "square": square, "fourth": fourth}
