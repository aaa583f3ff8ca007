"""Laws of the intervals between a client's participations, with the conventions of `scipy.stats`.

One line in `REGISTRY` puts a law under the generic law tests.
"""

import math

from fltheory.distributions.base import IntervalLaw
from fltheory.distributions.intervals import Discrete, TwoStateInterval
from fltheory.distributions.k_cutoff_geometric import KCutoffGeometric

REGISTRY: list[IntervalLaw] = [
    KCutoffGeometric(0.3, 7),
    KCutoffGeometric(0.02, math.inf),
    KCutoffGeometric(1e-9, 20),
    KCutoffGeometric(1.0, 5),
    KCutoffGeometric([[0.1], [0.5]], [1, 4, math.inf]),
    TwoStateInterval(enter=0.05, leave=0.45),
    TwoStateInterval(enter=[0.2, 1.0, 0.3], leave=[1.0, 0.7, 0.0]),
    Discrete([1, 91], [0.9, 0.1]),
    Discrete([[4, 1, 4], [2, 9, 5]], [[0.25, 0.5, 0.25], [0.0, 0.4, 0.6]]),
]

__all__ = ["REGISTRY", "Discrete", "IntervalLaw", "KCutoffGeometric", "TwoStateInterval"]
