"""The registry: one line puts a process under every generic test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fltheory.participation import (
    Bernoulli,
    Cyclic,
    Markov,
    Periodic,
    Permutation,
    Recorded,
    UniformSubset,
    WeightedDraws,
)
from fltheory.participation.base import ParticipationProcess

LOG = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1], [1, 1, 1]], dtype=bool)


@dataclass(frozen=True)
class Family:
    """A process and what the generic tests need to know of it.

    start, window   the mean of a function of the trace over rounds start .. start + window - 1 has its long-run
                    value as expectation (any window where the process is stationary, whole cycles where not)
    fixed           in such a window every trace attains the long-run value, not only on average
    of              of(p) makes the same process of independent clients; None if clients are coupled
    seeded          whether the seed matters
    """

    name: str
    process: ParticipationProcess
    start: int = 0
    window: int = 30
    fixed: bool = False
    of: Callable[[Any], ParticipationProcess] | None = None
    seeded: bool = True


RATES = [0.02, 0.3, 0.5, 0.9, 1.0]


def stable(p: Any) -> Markov:
    return Markov.from_stability(p, 0.7)


def cyclic(p: Any) -> Cyclic:
    return Cyclic(p, period=20)


def cyclic_as_in_code(p: Any) -> Cyclic:
    return Cyclic(p, period=20, preset="as_in_code")


FAMILIES = [
    Family("bernoulli", Bernoulli(RATES), of=Bernoulli),
    Family("markov", Markov(RATES), of=Markov),
    Family("markov-stable", stable(RATES), of=stable),
    Family("cyclic", cyclic(RATES), window=20, fixed=True, of=cyclic),
    Family("cyclic-code", cyclic_as_in_code(RATES[:-1]), start=20, window=20, fixed=True, of=cyclic_as_in_code),
    Family("cyclic-code-on", cyclic_as_in_code([1.0, 0.99]), start=20, window=21, fixed=True, seeded=False),
    Family("block-cyclic", Periodic.block_cyclic(7, 3, 4), window=12, fixed=True),
    Family("block-first-turn", Periodic.block_cyclic(6, 3, 4, offset="first_turn"), window=12, fixed=True),
    Family("diurnal", Periodic.diurnal(2, 5, 3), window=8, fixed=True),
    Family("two-groups", Periodic([0, 1, 1], on=3, period=7, offset=16), window=7, fixed=True, seeded=False),
    Family("uniform-subset", UniformSubset(5, 2), window=6),
    Family("permutation", Permutation(6, 2), window=3),
    Family("weighted-index", WeightedDraws("beta", 6, 2), window=6),
    Family("weighted-weights", WeightedDraws("gamma", 5, 2, interpretation="weights", law_seed=3), window=6),
    Family("recorded", Recorded.from_matrix(LOG, end="repeat"), window=7, fixed=True, seeded=False),
]
