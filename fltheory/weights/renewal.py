"""The law of the FedAU weight of one client whose participation is a stationary two-state chain.

An interval ends "on" (the client participates) or "off" (it has lasted `cutoff` rounds). Let on_m(u), off_m(u)
be the probabilities that interval m ends after exactly u rounds, on or off. The law of the next interval takes
them from m to m + 1; with m completed intervals, after u = t - s rounds, and an open one of s rounds the weight
of round t is u / m. Every step adds and multiplies numbers that are not negative, so nothing cancels, and the
work is the number of intervals times the band of u that interval m can reach. The law of a single round needs it;
for moments in all rounds `moments` is faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fltheory.weights.inputs import FloatArray

# Left out: probabilities below NEGLIGIBLE * P(off) at the ends of a band, and absences so long that their
# probability is below exp(-LONG). Together they are far below 1e-12 of any weight error, whatever the rate.
NEGLIGIBLE = 1e-30
LONG = 100.0


@dataclass(frozen=True)
class Chain:
    """One client: P(off -> on) = enter, P(on -> off) = leave, stationary from the first round on."""

    enter: float
    leave: float

    @property
    def rate(self) -> float:
        """P(on)."""
        return self.enter / (self.enter + self.leave)

    @property
    def miss(self) -> float:
        """P(off)."""
        return self.leave / (self.enter + self.leave)

    def stays_off(self, rounds: Any) -> Any:
        """P(off in each of so many rounds | off before), (1 - enter)^rounds without the rounding of 1 - enter."""
        if self.enter == 1:
            return np.where(np.asarray(rounds) == 0, 1.0, 0.0)
        return np.exp(rounds * np.log1p(-self.enter))

    def absence(self, cutoff: float, rounds: int) -> int:
        """The most rounds, at most cutoff - 1, that an open interval is off for."""
        if self.enter == 0:
            return int(min(cutoff - 1, rounds))
        likely = LONG / -math.log1p(-self.enter) if self.enter < 1 else 1
        return math.ceil(min(cutoff - 1, rounds, max(1, likely)))


def fading_sum(x: FloatArray, chain: Chain, length: int, size: int) -> FloatArray:
    """y[i] = sum over k < length of (1 - enter)^k x[i - k], for i < size.

    Two sums of n terms make one of 2 n, so the rounding error grows with log(length) only.
    """
    terms = np.zeros(size)
    if length == 0:
        return terms
    terms[: x.size] = x[:size]
    sums, n = terms.copy(), 1
    for digit in f"{length:b}"[1:]:
        sums[n:] += chain.stays_off(n) * sums[:-n]
        n *= 2
        if digit == "1":
            sums[1:] = terms[1:] + (1 - chain.enter) * sums[:-1]
            n += 1
    return sums


def intervals(chain: Chain, cutoff: float, rounds: int) -> Iterator[tuple[int, int, FloatArray]]:
    """Yield (m, first, mass) for m = 0, 1, ... as long as interval m can end before round `rounds`.

    mass[0, i] is the probability that interval m ends after first + i rounds, mass[1, i] that in addition the
    client is off in the round after. "Interval 0" ends before the first round.
    """
    longest, fade = chain.absence(cutoff, rounds), 1 - chain.enter
    cut = float(chain.stays_off(longest)) if longest == cutoff - 1 else 0.0
    on, off, first, m = np.array([chain.rate]), np.array([chain.miss]), 0, 0
    while True:
        missed = chain.leave * on + fade * off
        yield m, first, np.stack([on + off, missed])
        size = min(on.size + longest, rounds - first - 1)
        if size <= 0:
            return
        next_on, next_off = np.zeros(size), np.zeros(size)
        here = min(on.size, size)
        next_on[:here] = (1 - chain.leave) * on[:here] + chain.enter * off[:here]
        next_on[1:] += chain.enter * fading_sum(missed, chain, longest, size - 1)
        here = min(on.size, size - longest)
        if cut > 0 and here > 0:
            next_off[longest : longest + here] = cut * missed[:here]
        on, off, first, m = next_on, next_off, first + 1, m + 1
        if m % 4 == 0:  # often enough for the ends never to become subnormal numbers, which are slow
            kept = np.flatnonzero(np.maximum(on, off) > NEGLIGIBLE * chain.miss)
            if kept.size == 0:
                return
            band = slice(kept[0], kept[-1] + 1)
            on, off, first = on[band], off[band], first + int(kept[0])


def weight_pmf(chain: Chain, cutoff: float, t: int) -> tuple[FloatArray, FloatArray]:
    """The values that w_t takes, ascending, and their probabilities."""
    longest = chain.absence(cutoff, t + 1)
    fades = chain.stays_off(np.arange(longest))
    values, probabilities = [], []
    for m, first, mass in intervals(chain, cutoff, t + 1):
        low, high = max(first, t - longest), min(first + mass.shape[1], t)  # open for 1 .. longest rounds
        ended = np.arange(low, max(low, high))
        values.append(ended / m if m else np.ones(ended.size))
        probabilities.append(mass[1, ended - first] * fades[t - 1 - ended])
        if first <= t < first + mass.shape[1]:
            values.append(np.array([t / m if m else 1.0]))
            probabilities.append(mass[0, [t - first]])
    # Equal quotients round to equal floats, and up to t = 6e7 different ones to different floats.
    support, which = np.unique(np.concatenate(values), return_inverse=True)
    masses = np.bincount(which, np.concatenate(probabilities), minlength=support.size)
    possible = masses > 0
    return support[possible], masses[possible] / masses.sum()
