"""Regular turns, on for a fixed number of rounds of every cycle: what cyclic and periodic share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fltheory.participation.base import ParticipationProcess, read_only
from fltheory.participation.marginals import Phases
from fltheory.participation.runs import BoolArray, FloatArray, IntArray, Runs, regular_runs

if TYPE_CHECKING:
    from fltheory.distributions import Discrete


class RegularTurns(ParticipationProcess):
    """Client n is on in the rounds t with (t - first) mod cycle[n] < on[n].

    on, cycle   int64 arrays (n_clients,), 1 <= on <= cycle
    choices     int64 array (n_clients,): number of equally likely first rounds; `_first` maps a choice to the
                round
    """

    def __init__(self, on: IntArray, cycle: IntArray, choices: IntArray) -> None:
        self.n_clients = len(on)
        self.on, self.cycle, self._choices = read_only(on), read_only(cycle), choices

    @cached_property
    def rate(self) -> FloatArray:
        return read_only(self.on / self.cycle)

    @cached_property
    def max_gap(self) -> FloatArray:
        return read_only((self.cycle - self.on + 1).astype(np.float64))

    @abstractmethod
    def _first(self, choice: IntArray) -> IntArray:
        """First round of a turn of each client, above -cycle and at most cycle - on; arrays (..., n_clients)."""

    @abstractmethod
    def _uniforms(self, seed: int) -> FloatArray:
        """The draws in [0, 1) that select each client's choice, shape (n_clients,)."""

    def interval_law(self) -> Discrete:
        """P(X = 1) = (on - 1) / on, else X = cycle - on + 1."""
        from fltheory.distributions import Discrete

        values = np.stack([np.ones_like(self.on), self.cycle - self.on + 1], axis=-1)
        return Discrete(values, np.stack([(self.on - 1) / self.on, 1 / self.on], axis=-1))

    def marginal(self) -> Phases:
        """One phase for every part of [0, 1) in which a uniform number leaves all choices as they are."""
        parts = sorted({Fraction(j, int(m)) for m in np.unique(self._choices) for j in range(int(m))})
        probability = np.array([float(high - low) for low, high in zip(parts, [*parts[1:], Fraction(1)], strict=True)])
        top, bottom = (np.array([[getattr(part, name)] for part in parts]) for name in ("numerator", "denominator"))
        first = self._first(top * self._choices // bottom)

        def history(rounds: int, clients: slice | IntArray = slice(None)) -> BoolArray:
            since = np.arange(rounds)[:, None] - first[:, None, clients]
            on: BoolArray = since % self.cycle[clients] < self.on[clients]
            return on

        return Phases(probability, history)

    def _autocovariance(self, lag: int) -> FloatArray:
        shift = lag % self.cycle  # a turn and its shifted copy on the circle overlap at either end
        overlap = np.maximum(self.on - shift, 0) + np.maximum(self.on - (self.cycle - shift), 0)
        covariance: FloatArray = overlap / self.cycle - self.rate**2
        return covariance

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        choice = (self._uniforms(seed) * self._choices).astype(np.int64)
        return regular_runs(self._first(choice), self.on, self.cycle, rounds)
