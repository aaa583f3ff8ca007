"""FedAU's aggregation weights (Algorithm 2): the average length of a client's participation intervals so far.

An interval ends with a round in which the client participates, or when it has lasted `cutoff` rounds. The
completed intervals partition time, so the weight of round t is (t - open interval) / completed intervals, and 1
before any is completed. Both implementations count in whole numbers and divide once; the running mean of
Algorithm 2, line 7, is the same number with rounding errors added.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fltheory import errors
from fltheory.errors import InputError
from fltheory.weights.inputs import FloatArray, IntArray, participation, read_array, whole_cutoff


def fedau_weights(history: npt.ArrayLike, cutoff: float) -> FloatArray:
    """The FedAU weights of every round of a whole participation history.

    `history` (..., rounds, clients), true where the client participates, gives weights of the same shape.
    weights[..., t, :] is used in round t and depends on the rounds before t alone; it is 1 for t = 0.

    Source: FedAU, Algorithm 2. Raises InputError for a history that is not of zeros and ones, or a bad cutoff.

    >>> fedau_weights([[False], [True], [False], [True]], cutoff=50).T
    array([[1., 1., 2., 2.]])
    """
    seen = participation("history", history)
    if seen.ndim < 2:
        raise InputError("history", seen.shape, "an array of shape (..., rounds, clients)")
    longest = whole_cutoff(cutoff)
    elapsed = np.arange(seen.shape[-2], dtype=np.int64)[:, None]
    last = np.zeros(seen.shape, dtype=np.int64)  # rounds up to and with the last participation before round t
    np.maximum.accumulate(np.where(seen[..., :-1, :], elapsed[1:], 0), axis=-2, out=last[..., 1:, :])
    since = elapsed - last
    ended = np.where(seen, -(-(since + 1) // longest), 0)  # a long gap ends several intervals
    completed = since // longest
    completed[..., 1:, :] += np.cumsum(ended[..., :-1, :], axis=-2)
    return _mean_interval(elapsed - since % longest, completed)


class FedAUWeights:
    """Streaming FedAU weights, a few numbers a client: call `update` once a round.

    With `groups` (an integer label for each client) the clients of a group run Algorithm 2 one after another,
    in client order, on shared state, as section 3 suggests for clients that participate too rarely to have
    intervals of their own. A group of G clients is so treated as one client that is observed G times a round:
    intervals and the cutoff count member-rounds, and the common weight estimates 1 / (average rate of the
    members), also if each participates only once. (To count the rounds in which any member participates would
    give the inverse rate of the group as a whole, near 1 for a large one, and leave every member's update too
    small.) The bounds on the weights become 1 <= w <= min(cutoff, G t).

    Source: FedAU, Algorithm 2 and section 3. Raises InputError for bad arguments.

    >>> fedau = FedAUWeights(n_clients=2, cutoff=50)
    >>> fedau.update([False, True])
    array([1., 1.])
    >>> fedau.update([True, False])
    array([2., 1.])
    """

    def __init__(self, n_clients: int, cutoff: float, groups: npt.ArrayLike | None = None) -> None:
        self.n_clients = errors.count("n_clients", n_clients)
        self.cutoff = errors.cutoff("cutoff", cutoff)
        self._longest = whole_cutoff(cutoff)
        labels = np.arange(self.n_clients) if groups is None else np.asarray(groups)
        if labels.shape != (self.n_clients,) or not np.issubdtype(labels.dtype, np.integer):
            raise InputError("groups", labels, f"one integer label for each of the {self.n_clients} clients")
        _, self._group, self._size = np.unique(labels, return_inverse=True, return_counts=True)
        self._order = np.argsort(self._group, kind="stable")
        starts = np.cumsum(self._size) - self._size
        self._place = np.arange(1, self.n_clients + 1) - starts[self._group[self._order]]
        self.rounds = 0
        self._completed = np.zeros(self._size.size, dtype=np.int64)
        self._open = np.zeros(self._size.size, dtype=np.int64)

    @property
    def weights(self) -> FloatArray:
        """The weights (n_clients,) of the coming round; all 1 before the first update."""
        return _mean_interval(self.rounds * self._size - self._open, self._completed)[self._group]

    def update(self, participated: npt.ArrayLike) -> FloatArray:
        """Take in who participated (n_clients,) in this round; return the weights (n_clients,) of the NEXT."""
        seen = participation("participated", participated, (self.n_clients,))[self._order]
        group, place = self._group[self._order][seen], self._place[seen]
        before = -self._open[group]  # the place of the group's previous participation, in or before this round
        again = group[1:] == group[:-1]
        before[1:][again] = place[:-1][again]
        np.add.at(self._completed, group, -(-(place - before) // self._longest))
        last = -self._open
        last[group] = place  # of several participations of one group the last one stands
        self._completed += (self._size - last) // self._longest
        self._open = (self._size - last) % self._longest
        self.rounds += 1
        return self.weights

    def state_dict(self) -> dict[str, IntArray]:
        """All that changes over time, as plain arrays: rounds (), completed and open intervals (groups,)."""
        rounds = np.array(self.rounds, dtype=np.int64)
        return {"rounds": rounds, "completed": self._completed.copy(), "open": self._open.copy()}

    def load_state_dict(self, state: Mapping[str, npt.ArrayLike]) -> None:
        """Continue from a `state_dict` of an estimator with the same clients, cutoff and groups."""
        rounds = errors.count("rounds", read_array(state, "rounds", ()), least=0)
        completed = read_array(state, "completed", self._size.shape).astype(np.int64)
        open_ = read_array(state, "open", self._size.shape).astype(np.int64)
        total = rounds * self._size - open_  # of `completed` intervals of 1 .. longest rounds
        possible = (completed <= total) & (completed >= -(-total // self._longest))
        if not (possible & (open_ >= 0) & (open_ < self._longest)).all():
            raise InputError("state", dict(state), "one that Algorithm 2 reaches with this cutoff and groups")
        self.rounds, self._completed, self._open = rounds, completed, open_


def _mean_interval(total: IntArray, completed: IntArray) -> FloatArray:
    weights = np.ones(completed.shape)
    np.divide(total, completed, out=weights, where=completed > 0)
    return weights
