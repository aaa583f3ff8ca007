"""The other weight rules: an exponential average of intervals, average participating, average all, known rates.

Every rule gives the weights w of one round for the server update

    x  <-  x + (global_lr / n_clients) * sum over participating clients n of w[n] * update[n],

so what is minimised in the long run counts client n in proportion to its rate times its mean weight in the
rounds in which it participates. Each rule says what that is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fltheory import errors
from fltheory.errors import InputError
from fltheory.weights.inputs import FloatArray, participation, probability, read_array, whole_cutoff


class ExponentialAverageWeights:
    """FedAU weights with an exponentially weighted mean of the intervals: recent ones count more.

    Line 7 of Algorithm 2 becomes w <- w + smoothing (S - w) for every completed interval S but the first, which
    is taken as it is. smoothing is in (0, 1]; with 1 only the last interval counts. The weights follow rates
    that drift, at the price of a variance that does not vanish: smoothing / (2 - smoothing) times that of one
    interval. In the long run clients count as with FedAU.

    Source: FedAU, section 3, "Practical Implementation". Raises InputError for bad arguments.

    >>> average = ExponentialAverageWeights(n_clients=1, cutoff=50, smoothing=0.5)
    >>> [float(average.update([seen])[0]) for seen in (False, True, False, False, False, True)]
    [1.0, 2.0, 2.0, 2.0, 2.0, 3.0]
    """

    def __init__(self, n_clients: int, cutoff: float, smoothing: float) -> None:
        self.n_clients = errors.count("n_clients", n_clients)
        self.cutoff = errors.cutoff("cutoff", cutoff)
        self.smoothing = probability("smoothing", smoothing)
        self._longest = whole_cutoff(cutoff)
        self._started = np.zeros(self.n_clients, dtype=np.bool_)
        self._open = np.zeros(self.n_clients, dtype=np.int64)
        self._weights = np.ones(self.n_clients)

    @property
    def weights(self) -> FloatArray:
        """The weights (n_clients,) of the coming round; all 1 before the first update."""
        return self._weights.copy()

    def update(self, participated: npt.ArrayLike) -> FloatArray:
        """Take in who participated (n_clients,) in this round; return the weights (n_clients,) of the NEXT."""
        seen = participation("participated", participated, (self.n_clients,))
        interval = self._open + 1
        ends = seen | (interval == self._longest)
        step = np.where(self._started, self.smoothing, 1.0) * (interval - self._weights)
        self._weights = self._weights + np.where(ends, step, 0.0)
        self._open = np.where(ends, 0, interval)
        self._started = self._started | ends
        return self.weights

    def state_dict(self) -> dict[str, npt.NDArray[np.generic]]:
        """All that changes over time, as plain arrays of shape (n_clients,)."""
        return {"started": self._started.copy(), "open": self._open.copy(), "weights": self.weights}

    def load_state_dict(self, state: Mapping[str, npt.ArrayLike]) -> None:
        """Continue from a `state_dict` of an estimator with the same clients, cutoff and smoothing."""
        shape = (self.n_clients,)
        started, open_ = read_array(state, "started", shape, "b"), read_array(state, "open", shape)
        weights = read_array(state, "weights", shape, "fiu")
        possible = (open_ >= 0) & (open_ < self._longest) & (weights >= 1) & (weights <= self._longest)
        if not (possible & (started | (weights == 1))).all():
            raise InputError("state", dict(state), "one that this rule reaches with this cutoff")
        self._started, self._open = started.copy(), open_.astype(np.int64)
        self._weights = weights.astype(np.float64)


def average_participating(participated: npt.ArrayLike) -> FloatArray:
    """N / (number of participating clients): the server takes the plain average of the updates it received.

    `participated` (..., n_clients) is the round in which the weights are USED: the size of the cohort is known
    only then, so this rule does not depend on the past alone. The weights have the same shape; those of the
    participating clients add up to n_clients, and in a round without any all are 0, that is, no step is taken.
    Client n counts in proportion to E[1 / size of the cohort; n participates], which is not its rate.

    >>> average_participating([True, False, True, False])
    array([2., 2., 2., 2.])
    """
    seen = participation("participated", participated)
    if seen.ndim == 0:
        raise InputError("participated", participated, "an array of shape (..., n_clients)")
    cohort = np.broadcast_to(seen.sum(axis=-1, keepdims=True), seen.shape)
    weights = np.zeros(seen.shape)
    np.divide(seen.shape[-1], cohort, out=weights, where=cohort > 0)
    return weights


def average_all(n_clients: int) -> FloatArray:
    """Weight 1 for every client (n_clients,): the server averages over all, absent updates counting as zero.

    Client n counts in proportion to its rate (FedAU, Theorem 1 with equal weights).
    """
    return np.ones(errors.count("n_clients", n_clients))


def known_rates(rates: npt.ArrayLike) -> FloatArray:
    """1 / rate for every client, of the shape of `rates`: all clients count the same, as in the objective.

    Raises InputError for a rate outside (0, 1], or so small that 1 / rate is no float.
    """
    checked = errors.probabilities("rates", rates)
    with np.errstate(over="ignore"):
        weights = np.asarray(1 / checked)
    if np.isinf(weights).any():
        raise InputError("rates", float(checked.min()), "so large that 1 / rate is a float, at least 5.6e-309")
    return weights
