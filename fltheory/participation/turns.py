"""Regular turns, on for a fixed number of rounds of every cycle: what cyclic and periodic share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fltheory.errors import InputError, count
from fltheory.participation.base import ParticipationProcess, read_only
from fltheory.participation.marginals import Phases
from fltheory.participation.runs import BoolArray, FloatArray, IntArray, Runs, regular_runs

if TYPE_CHECKING:
    from fltheory.distributions import Discrete

LONGEST = 2**53  # rounds of a cycle; up to here float64 holds every whole number
MOST_PHASES = 10**6
FEW_PHASES = 10**4  # up to here all phases are kept apart, however few rounds are asked for


class RegularTurns(ParticipationProcess):
    """Client n is on in the rounds t with (t - first) mod cycle[n] < on[n].

    on, cycle   int64 arrays (n_clients,), 1 <= on <= cycle
    choices     int64 array (n_clients,): number of equally likely first rounds; `_first` maps a choice to the
                round, one round earlier (modulo the cycle) from each choice to the next, or later with `_step` = 1
    """

    _step = -1

    def __init__(self, on: IntArray, cycle: IntArray, choices: IntArray) -> None:
        self.n_clients = len(on)
        self.on, self.cycle, self._choices = read_only(on), read_only(cycle), choices

    @cached_property
    def rate(self) -> FloatArray:
        return read_only(self.on / self.cycle)

    @property
    def stationary(self) -> bool:
        """Whether first rounds are uniform over the cycle, so that a client is on in each round with its rate."""
        return bool((self._choices == self.cycle).all())

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
        """One phase for every part of [0, 1) in which a uniform number leaves all choices as they are.

        Raises InputError for more than a million choices: `marginal_within(rounds)` costs by the rounds.
        """
        total = int(np.unique(self._choices).sum())
        if total > MOST_PHASES:
            allowed = f"at most {MOST_PHASES} (marginal_within(rounds) has fewer phases)"
            raise InputError("number of possible first rounds", total, allowed)
        parts = sorted({Fraction(j, int(m)) for m in np.unique(self._choices) for j in range(int(m))})
        probability = np.array([float(high - low) for low, high in zip(parts, [*parts[1:], Fraction(1)], strict=True)])
        top, bottom = (np.array([[getattr(part, name)] for part in parts]) for name in ("numerator", "denominator"))
        first = self._first(top * self._choices // bottom)
        return Phases(probability, self._histories(first))

    def marginal_within(self, rounds: int) -> Phases:
        """With many choices, one phase for each history of `rounds` rounds, about two a round, client by client."""
        rounds = count("rounds", rounds, most=LONGEST)
        if np.unique(self._choices).sum() <= FEW_PHASES:
            return self.marginal()
        clients = np.stack([self.on, self.cycle, self._choices, self._first(np.zeros_like(self.on))])
        distinct, kind = np.unique(clients, axis=1, return_inverse=True)
        starts = [self._new_histories(client, rounds) for client in distinct.T]
        most = max(map(len, starts))
        choice = np.stack([np.append(np.zeros(most - len(s), dtype=np.int64), s) for s in starts], axis=1)  # share 0
        ends = np.concatenate([choice[1:], distinct[None, 2]])
        share = (ends - choice) / distinct[2]
        kind = kind.reshape(-1)
        return Phases(share[:, kind], self._histories(self._first(choice[:, kind])))

    def _new_histories(self, client: IntArray, rounds: int) -> IntArray:
        """The choices, 0 first, whose history of so many rounds is not that of the choice before."""
        on, cycle, choices, first = client.tolist()
        when = np.arange(min(rounds, cycle), dtype=np.int64)
        turning = np.concatenate([when, when - on])  # from this first round to the next the history changes
        choice = self._step * (turning - first) % cycle + (self._step > 0)
        new: IntArray = np.unique(np.append(choice, 0))
        return np.asarray(new[new < choices])

    def _histories(self, first: IntArray) -> Callable[..., BoolArray]:
        """Of clients whose first rounds are `first`, (n_phases, n_clients)."""

        def history(rounds: int, clients: slice | IntArray = slice(None)) -> BoolArray:
            since = np.arange(rounds)[:, None] - first[:, None, clients]
            on: BoolArray = since % self.cycle[clients] < self.on[clients]
            return on

        return history

    def _autocovariance(self, lag: int) -> FloatArray:
        shift = np.remainder(lag, self.cycle, dtype=object).astype(
            np.int64
        )  # a turn and its shifted copy on the circle overlap at either end
        overlap = np.maximum(self.on - shift, 0) + np.maximum(self.on - (self.cycle - shift), 0)
        covariance: FloatArray = overlap / self.cycle - self.rate**2
        return covariance

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        choice = (self._uniforms(seed) * self._choices).astype(np.int64)
        return regular_runs(self._first(choice), self.on, self.cycle, rounds)
