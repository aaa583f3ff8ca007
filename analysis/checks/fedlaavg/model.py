"""FedLaAvg from its pseudo-code on scalar problems with bounded gradients, along every path of the gradient noise.

Algorithm 2 with the virtual iterates of Algorithm 3 (factor 1/N); with C = 1 it is Algorithm 1. Works in Fractions and
in floats. Availability is given in advance. Clients have f_i' = sign * clip(x - centre, -cap, cap): L = 1, and
G^2 = cap^2 + noise^2, so that Assumptions 1 to 3 hold with known constants; the scales of loss and parameter are free.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from analysis.trials import root
from sims.adversary import repaired

MOST_DRAWS = 6  # noise paths are enumerated: two to the power of the number of stochastic gradients

INDEPENDENT_NOISE = "noise independent over clients (as the proof of Lemma 3 has it)"


@dataclass(frozen=True)
class Clients:
    """Scalar objectives, one entry a client."""

    centres: Sequence[Any]
    caps: Sequence[Any]
    signs: Sequence[int]

    def __len__(self) -> int:
        return len(self.centres)

    def slope(self, i: int, x: Any) -> Any:
        """f_i'(x)."""
        cap = self.caps[i]
        return self.signs[i] * max(-cap, min(cap, x - self.centres[i]))

    def value(self, i: int, x: Any) -> Any:
        """f_i(x), which is 0 at its centre."""
        cap, away = self.caps[i], abs(x - self.centres[i])
        return self.signs[i] * (away * away / 2 if away <= cap else cap * away - cap * cap / 2)

    def gradient(self, x: Any) -> Any:
        """f'(x), the plain mean."""
        return sum(self.slope(i, x) for i in range(len(self))) / len(self)

    def objective(self, x: Any) -> Any:
        """f(x), the plain mean."""
        return sum(self.value(i, x) for i in range(len(self))) / len(self)

    @cached_property
    def minimum(self) -> Any:
        """Least value of f, None if there is none: f is quadratic between break points."""
        breaks = sorted({b + side * w for b, w in zip(self.centres, self.caps, strict=True) for side in (-1, 1)})
        low, high = self.gradient(breaks[0] - 1), self.gradient(breaks[-1] + 1)
        if low > 0 or high < 0:
            return None
        points = list(breaks)
        for left, right in itertools.pairwise(breaks):
            at_left, at_right = self.gradient(left), self.gradient(right)
            if at_left < 0 < at_right:
                points.append(left - at_left * (right - left) / (at_right - at_left))
        return min(self.objective(x) for x in points)


@dataclass(frozen=True)
class Participation:
    """Who takes part in each round, and who was available."""

    available: Any
    chosen: list[list[int]]

    def within(self, window: int) -> bool:
        """Whether every client is available at least once in any `window` successive rounds."""
        rounds = len(self.available)
        return all(bool(self.available[r : r + window].any(axis=0).all()) for r in range(rounds - window + 1))

    @property
    def latest(self) -> list[list[int]]:
        """R_i after each round, rounds from 1."""
        now = [0] * self.available.shape[1]
        rows = []
        for r, who in enumerate(self.chosen, start=1):
            for i in who:
                now[i] = r
            rows.append(list(now))
        return rows

    @property
    def largest_age(self) -> int:
        """Largest r - R_i."""
        return max(r - min(row) for r, row in enumerate(self.latest, start=1))


def take_part(
    wish: Sequence[int],
    rounds: int,
    n_clients: int,
    cohort_size: int,
    window: int,
    *,
    least: int = 0,
    skip: bool = False,
) -> Participation:
    """Least-recently-used selection under an availability that is as near to a wish as Assumption 4 allows.

    wish    bit masks, round after round and over again; clients are added as late as the window allows, and the first
            ones where fewer than `least` are left
    skip    select nobody where fewer than `cohort_size` are available, instead of all of them
    """
    rows = [[bool(wish[r % len(wish)] >> i & 1) for i in range(n_clients)] for r in range(rounds)]
    for row in rows:
        for i in range(n_clients):
            if sum(row) < min(least, n_clients):
                row[i] = True
    available = repaired(np.array(rows, dtype=np.bool_), window)
    latest, chosen = [0] * n_clients, []
    for r, here in enumerate(available, start=1):
        candidates = sorted((i for i in range(n_clients) if here[i]), key=lambda i: (latest[i], i))
        picked = [] if skip and len(candidates) < cohort_size else sorted(candidates[:cohort_size])
        for i in picked:
            latest[i] = r
        chosen.append(picked)
    return Participation(available, chosen)


@dataclass(frozen=True)
class Trace:
    """One path: x[t], t = 0..RC; for each t = 1..RC and client the iteration in use, its gradient and its local point.

    The iteration is at most 0, and the gradient 0, while the client has not taken part.
    """

    x: list[Any]
    used: list[list[int]]
    gradients: list[list[Any]]
    points: list[list[Any]]


def traces(
    clients: Clients, start: Any, step: Any, noise: Any, chosen: Sequence[Sequence[int]], local_steps: int
) -> Iterator[Trace]:
    """All equally likely paths of the noise +-`noise` in each stochastic gradient."""
    draws = sum(map(len, chosen)) * local_steps if noise else 0
    for signs in itertools.product((-1, 1), repeat=draws):
        yield _trace(clients, start, step, noise, chosen, local_steps, iter(signs))


def _trace(
    clients: Clients, start: Any, step: Any, noise: Any, chosen: Sequence[Sequence[int]], local_steps: int, signs: Any
) -> Trace:
    size = len(clients)
    stored: list[list[tuple[int, Any, Any]] | None] = [None] * size  # per local step: (iteration, gradient, point)
    trace = Trace([start], [], [], [])
    for r, who in enumerate(chosen):
        for i in who:
            local, memory = trace.x[-1], []
            for k in range(local_steps):
                gradient = clients.slope(i, local) + (next(signs) * noise if noise else 0)
                memory.append((r * local_steps + k + 1, gradient, local))
                local = local - step * gradient
            stored[i] = memory
        for k in range(local_steps):
            in_use = [memory[k] if memory else (0, 0 * start, None) for memory in stored]
            trace.used.append([t for t, _, _ in in_use])
            trace.gradients.append([g for _, g, _ in in_use])
            trace.points.append([p for _, _, p in in_use])
            trace.x.append(trace.x[-1] - step * sum(trace.gradients[-1]) / size)
    return trace


@dataclass(frozen=True)
class Terms:
    """Expectations that the proofs speak of, at one iteration t, the names as in (21) to (32)."""

    step_square: Any
    first: Any
    second: Any
    third: Any
    inner: Any
    stale_mean_square: Any
    stale_square: Any
    mismatch: Any
    descent: Any
    current: Any


def terms(clients: Clients, paths: Sequence[Trace], t: int, step: Any, *, zero: bool = False) -> Terms:
    """The terms at iteration t. What refers to x^(-1) is read at x^0, or, if `zero`, as a gradient that is 0."""
    size, weight = len(clients), Fraction(1, len(paths))
    sums = [0] * 10
    for path in paths:
        used, gradients, points = path.used[t - 1], path.gradients[t - 1], path.points[t - 1]
        missing = [0 if zero else clients.slope(i, path.x[0]) for i in range(size)]
        stale = [clients.slope(i, p) if p is not None else missing[i] for i, p in enumerate(points)]
        oldest = min(used)
        now = clients.gradient(path.x[t - 1])
        old = clients.gradient(path.x[oldest - 1]) if oldest else _mean(missing)
        mean, latest = _mean(stale), _mean(gradients)
        change = clients.objective(path.x[t]) - clients.objective(path.x[t - 1])
        row = (
            (step * latest) ** 2, -step * (now - old) * (latest - mean), -step * (now - old) * mean, old * latest,
            -step * now * latest, mean**2, old**2, (old - mean) ** 2, change, now**2,
        )  # fmt: skip
        sums = [total + value for total, value in zip(sums, row, strict=True)]
    return Terms(*(_times(weight, total) for total in sums))


def _mean(values: Sequence[Any]) -> Any:
    return sum(values, Fraction(0)) / len(values)  # integers alone would become a float


def _times(weight: Fraction, total: Any) -> Any:
    return float(weight) * total if isinstance(total, float) else weight * total


def constants(clients: Clients, noise: Any, step: Any, cohort_size: int, window: int, start: Any) -> dict[str, Any]:
    """Code names of a setting; gradient_bound exact where the rest is. Without a minimum there is no initial_gap."""
    square = max(clients.caps) ** 2 + noise**2
    least = clients.minimum
    exact = not isinstance(square, float)
    return {
        "smoothness": 1,
        "n_clients": len(clients),
        "cohort_size": cohort_size,
        "window": window,
        "local_lr": step,
        "noise_std": noise,
        "gradient_bound": root(Fraction(square)) if exact else math.sqrt(square),
        "staleness": math.ceil(len(clients) / cohort_size) * window - 1,
        **({} if least is None else {"initial_gap": max(clients.objective(start) - least, 0)}),
    }
