"""How far a mean of independent observations in [0, 1] may be from its expectation: Bernstein's inequality.

P(|mean of n - mu| >= e) <= 2 exp(-n e^2 / (2 v + 2 e / 3)) for variance at most v. `bernstein` is the e that makes the
right-hand side FALSE_ALARM. A battery makes fewer than 10,000 comparisons, so that it raises a false alarm with
probability below 1e-3 for a freely chosen seed. The seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fltheory.participation.runs import FloatArray

FALSE_ALARM = 1e-7


def bernstein(variance: npt.ArrayLike, n: int) -> FloatArray:
    """The deviation of a mean of n observations in [0, 1] that is exceeded with probability FALSE_ALARM at most."""
    third = math.log(2 / FALSE_ALARM) / 3
    return np.asarray((third + np.sqrt(third**2 + 6 * n * third * np.asarray(variance))) / n)
