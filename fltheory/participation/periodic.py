"""Groups of clients that take turns: block-cyclic and diurnal availability."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count
from fltheory.participation.base import read_only, require_few_clients
from fltheory.participation.runs import FloatArray, IntArray
from fltheory.participation.turns import LONGEST, RegularTurns
from fltheory.streams import stream


class Periodic(RegularTurns):
    """Group g is on in the rounds t with (t + offset - g on) mod period < on; all clients share one offset.

    groups   whole numbers (n_clients,), the group of each client, from 0
    on       rounds of a turn
    period   rounds from one turn of a group to its next, at least on times the number of groups, at most 2**53
    offset   "random": uniform over the period, so the process is stationary; "first_turn": uniform on
             {0, ..., on - 1}, which shortens the first turn of group 0 (the authors' code of amplified
             FedAvg, NeurIPS 2022, section 6, whose text says "random offset" only); or a fixed whole number
             from 0

    With an offset that is not uniform over the period, `rate` and `autocovariance` are averages over time.
    Raises InputError for negative groups, turns that do not fit into the period, an unknown offset.

    >>> blocks = Periodic.block_cyclic(n_clients=250, n_groups=5, rounds_each=100)
    >>> blocks.sample(700, seed=0).sum(axis=1).tolist() == [50] * 700
    True
    >>> Periodic.diurnal(n_clients=1, on=2, off=1, offset=0).sample(6, seed=0)[:, 0].astype(int)
    array([1, 1, 0, 1, 1, 0])
    """

    def __init__(
        self,
        groups: npt.ArrayLike,
        on: int,
        period: int,
        offset: int | Literal["random", "first_turn"] = "random",
    ) -> None:
        try:
            group = np.asarray(groups)
        except ValueError:
            raise InputError("groups", groups, "a one-dimensional array of whole numbers from 0") from None
        if group.ndim != 1 or group.size == 0 or group.dtype.kind not in "iu" or group.min() < 0:
            raise InputError("groups", groups, "a one-dimensional array of whole numbers from 0, one a client")
        on = count("on", on)
        period, turns = count("period", period, most=LONGEST), on * (int(group.max()) + 1)
        if period < turns:
            raise InputError("period", period, f"at least on times the number of groups = {turns}")
        if offset in ("random", "first_turn"):
            self._least_offset, choices = 0, period if offset == "random" else on
        elif isinstance(offset, str):
            raise InputError("offset", offset, '"random", "first_turn" or a whole number of at least 0')
        else:
            self._least_offset, choices = count("offset", offset, least=0) % period, 1
        self._group_start = group.astype(np.int64) * on
        super().__init__(*(np.full(len(group), rounds, dtype=np.int64) for rounds in (on, period, choices)))

    @cached_property
    def group_sizes(self) -> IntArray:
        """Clients of each group that has some, in the order of their turns, (groups with clients,)."""
        return read_only(np.unique(self._group_start, return_counts=True)[1])

    @classmethod
    def block_cyclic(
        cls,
        n_clients: int,
        n_groups: int,
        rounds_each: int,
        offset: int | Literal["random", "first_turn"] = "random",
    ) -> Periodic:
        """Groups of neighbouring clients take turns of `rounds_each` rounds; exactly one group is on at any time.

        Group sizes differ by one at most. Raises InputError for more groups than clients.
        """
        n_clients, n_groups = count("n_clients", n_clients), count("n_groups", n_groups)
        if n_groups > n_clients:
            raise InputError("n_groups", n_groups, f"at most the number of clients, {n_clients}")
        groups = np.arange(require_few_clients(n_clients)) * n_groups // n_clients
        return cls(groups, rounds_each, n_groups * count("rounds_each", rounds_each), offset)

    @classmethod
    def diurnal(
        cls, n_clients: int, on: int, off: int, offset: int | Literal["random", "first_turn"] = "random"
    ) -> Periodic:
        """All clients together: `on` rounds on, then `off` >= 0 rounds off."""
        groups = np.zeros(require_few_clients(count("n_clients", n_clients)), dtype=np.int64)
        return cls(groups, on, count("on", on) + count("off", off, least=0), offset)

    def _first(self, choice: IntArray) -> IntArray:
        return -((choice + self._least_offset - self._group_start) % self.cycle)

    def _uniforms(self, seed: int) -> FloatArray:
        return np.full(self.n_clients, stream(seed, "participation.periodic").random())
