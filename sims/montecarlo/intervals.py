"""FedAU weights drawn interval by interval: between two ends of intervals the weight is constant.

A round-by-round simulation spends a draw on every round; here a draw gives a whole interval, and what a round
sums over the replicates is the running total of the changes up to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class IntervalSampling:
    """The task of `size` independent replicates of a client that is a stationary two-state Markov chain.

    enter, leave   P(off -> on), P(on -> off)
    rate           the p of p w_t - 1
    cutoff         K, or math.inf
    rounds, size   of a chunk, which takes memory proportional to rounds + size

    The result holds `average` (size,), each replicate's mean over the rounds of (p w_t - 1)^2, and (rounds,) the
    sums over the replicates of w_t, (p w_t - 1)^2 and (p w_t - 1)^4: `weight`, `square`, `fourth`.
    """

    enter: float
    leave: float
    rate: float
    cutoff: int | float
    rounds: int
    size: int

    def __call__(self, chunk: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        alive = np.arange(self.size)  # replicates with rounds left; the arrays below are theirs, and written in place
        wait = np.full(self.size, self._wait(self.leave / (self.enter + self.leave)))
        time, interval, completed = np.zeros(self.size), np.empty(self.size), 0
        values = np.ones((3, self.size))  # w, (p w - 1)^2 and (p w - 1)^4
        self._powers(*values)
        total, average = self.rounds * values[1], np.empty(self.size)
        changes = np.zeros((3, self.rounds + 1))
        changes[:, 0] = values.sum(axis=1)
        at, after = np.empty_like(alive), np.empty_like(values)
        while alive.size:
            rng.standard_exponential(out=interval)
            wait = self._invert(interval, wait)
            time += interval
            completed += 1
            if ended := bool(time.max() >= self.rounds):
                np.minimum(time, self.rounds, out=time)
            np.divide(time, completed, out=after[0])
            self._powers(*after)
            np.subtract(after, values, out=values)
            at[:] = time
            for sums, change in zip(changes, values, strict=True):
                np.add.at(sums, at, change)
            total += np.multiply(values[1], np.subtract(self.rounds, time, out=interval), out=interval)
            values, after = after, values
            if ended and (running := time < self.rounds).sum() <= 0.9 * alive.size:
                average[alive] = total / self.rounds
                alive, time, total, wait = alive[running], time[running], total[running], wait[running]
                values = values[:, running]
                interval, at, after = np.empty_like(time), np.empty_like(alive), np.empty_like(values)
        weight, square, fourth = np.cumsum(changes[:, :-1], axis=1)
        return {"average": average, "weight": weight, "square": square, "fourth": fourth}

    def _invert(self, draws: FloatArray, wait: FloatArray) -> FloatArray:
        """Turn Exp(1) draws, in place, into cut-off intervals; return the wait of the intervals that come next.

        P(the next participation is more than k >= 1 rounds away) = exp(-step (wait + k + 1)), where wait depends
        on how the interval before ended: so Exp(1) / step - wait, rounded down and at least 1, is the gap.
        """
        draws *= 1 / self._step
        draws -= wait
        if self.enter + self.leave != 1:  # in independent rounds the wait is always the same
            wait = np.where(draws >= self.cutoff + 1, self._wait(1 - self.enter), self._wait(self.leave))
        np.floor(draws, out=draws)
        np.clip(draws, 1, self.cutoff, out=draws)
        return wait

    @property
    def _step(self) -> float:
        step = -math.log1p(-self.enter) if self.enter < 1 else math.inf
        return min(max(step, 1e-300), 1e3)  # finite and above 0; what is beyond makes no difference to a draw

    def _wait(self, more_than_one: float) -> float:
        """The wait with which a gap is longer than one round with this probability."""
        return -math.log(more_than_one) / self._step - 2 if more_than_one > 0 else math.inf

    def _powers(self, weight: FloatArray, square: FloatArray, fourth: FloatArray) -> None:
        np.multiply(weight, self.rate, out=square)
        square -= 1
        square *= square
        np.multiply(square, square, out=fourth)
