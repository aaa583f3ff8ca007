"""Clients that fail together: a server or network that is down takes everybody with it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError
from fltheory.participation.base import IndependentRounds, per_client
from fltheory.participation.runs import FloatArray, Runs
from fltheory.streams import stream


class Blackout(IndependentRounds):
    """Client n is available with probability p[n], independently, except that with probability `outage` nobody is.

    Each client by itself is a Bernoulli process of rate p (1 - outage); together they are correlated. Raises InputError
    for p outside (0, 1] or outage outside [0, 1).
    """

    def __init__(self, p: npt.ArrayLike, outage: float = 0.1) -> None:
        self._p = per_client("p", p)
        if not 0 <= outage < 1:  # written so that NaN is refused
            raise InputError("outage", outage, "in [0, 1)")
        self.outage, self.n_clients = outage, len(self._p)

    @property
    def rate(self) -> FloatArray:
        return self._p * (1 - self.outage)

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        up = stream(seed, "blackout.outage").random(rounds) >= self.outage
        for client, p in enumerate(self._p):  # a stream for each: a new client changes nobody else's trace
            on = np.flatnonzero(up & (stream(seed, "blackout.client", client).random(rounds) < p))
            yield Runs(np.full(on.size, client), on, on + 1)
