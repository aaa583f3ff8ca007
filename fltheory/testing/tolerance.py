"""How far a mean of independent observations may be from its expectation.

In [0, 1], Bernstein's inequality:

P(|mean of n - mu| >= e) <= 2 exp(-n e^2 / (2 v + 2 e / 3)) for variance at most v. `bernstein` is the e that makes the
right-hand side FALSE_ALARM. A battery makes fewer than 10,000 comparisons, so that it raises a false alarm with
probability below 1e-3 for a freely chosen seed. The seeds are fixed.

As likely as their negatives, Hoeffding's inequality for their signs, given how large they are: P(|sum of d| >= e) <=
2 exp(-e^2 / (2 sum of d^2)). Nothing need be known of them. `symmetric` shares what 100 comparisons have between all of
them.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fltheory.participation.runs import FloatArray

FALSE_ALARM = 1e-7


def symmetric(squares: npt.ArrayLike, comparisons: int) -> FloatArray:
    """The size of a sum of symmetric observations that any of so many exceeds with probability 100 FALSE_ALARM at most.

    squares   the sum of the squares of the observations
    """
    return np.asarray(np.sqrt(2 * math.log(2 * comparisons / (100 * FALSE_ALARM)) * np.asarray(squares)))


def bernstein(variance: npt.ArrayLike, n: int) -> FloatArray:
    """The deviation of a mean of n observations in [0, 1] that is exceeded with probability FALSE_ALARM at most."""
    third = math.log(2 / FALSE_ALARM) / 3
    return np.asarray((third + np.sqrt(third**2 + 6 * n * third * np.asarray(variance))) / n)
