"""Each client takes part in consecutive rounds of every cycle, at an offset of its own."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count
from fltheory.participation.base import per_client
from fltheory.participation.runs import FloatArray, IntArray
from fltheory.participation.turns import LONGEST, RegularTurns
from fltheory.streams import CLIENT_BLOCK, client_blocks


class Cyclic(RegularTurns):
    """Cyclic participation with independent random offsets (FedAU, Appendix C.6.1).

    p        wanted rate, a number (one client) or an array (n_clients,), in (0, 1]
    period   rounds of a cycle, at most 2**53
    preset   "as_in_paper": on for max(1, round(period p)) consecutive rounds of `period`, offset uniform over
             the cycle, so the process is stationary; "as_in_code" (the paper's authors): the same number of
             rounds on, then max(1, period - on) off, and every client starts off with a wait uniform on {0,
             ..., off - 1}: the first cycle is not stationary, and p = 1 has a cycle of period + 1 rounds

    Halves are rounded to even, as numpy does. `rate` is on / cycle exactly, which is p only if period p is
    whole; for "as_in_code" it and `autocovariance` describe the long run. Clients are independent: adding one
    changes nobody else's trace. Raises InputError for p outside (0, 1], a period outside 1 .. 2**53, an unknown preset.

    >>> Cyclic([0.1, 0.123, 1.0]).rate
    array([0.1 , 0.12, 1.  ])
    >>> Cyclic(1.0, preset="as_in_code").cycle
    array([101])
    """

    def __init__(
        self,
        p: npt.ArrayLike,
        period: int = 100,
        preset: Literal["as_in_paper", "as_in_code"] = "as_in_paper",
    ) -> None:
        if preset not in ("as_in_paper", "as_in_code"):
            raise InputError("preset", preset, '"as_in_paper" or "as_in_code"')
        period = count("period", period, most=LONGEST)
        on = np.maximum(1, np.rint(period * per_client("p", p))).astype(np.int64)
        off = period - on if preset == "as_in_paper" else np.maximum(1, period - on)
        self.preset, self._step = preset, -1 if preset == "as_in_paper" else 1
        super().__init__(on, on + off, choices=on + off if preset == "as_in_paper" else off)

    def _first(self, choice: IntArray) -> IntArray:
        return -choice if self.preset == "as_in_paper" else choice

    def _uniforms(self, seed: int) -> FloatArray:
        blocks = client_blocks(seed, "participation.cyclic", self.n_clients)
        return np.concatenate([rng.random(CLIENT_BLOCK) for _, rng in blocks])[: self.n_clients]
