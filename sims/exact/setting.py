"""What is run: an algorithm, the problem it is run on, its parameters and where it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fltheory.errors import InputError
from sims.algorithms.arguments import of_one_kind
from sims.algorithms.protocol import Algorithm, Cohort, State, Work
from sims.arrays import Array, as_exact, is_exact, require_exact
from sims.problems.base import Draws, Problem
from sims.problems.local import local_update
from sims.problems.noise import Additive
from sims.problems.tables import array


@dataclass(frozen=True)
class Setting:
    """An algorithm on a problem from the model `x0` (d,).

    Everything is exact if x0 is given in ints, Fractions or strings such as "1/3" (then so must be the problem, the
    parameters, probabilities and weights), and float64 if it is given in floats. Raises InputError for a parameter of
    the other kind.
    """

    algorithm: Algorithm
    problem: Problem
    hyper: Any
    x0: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "x0", array("x0", self.x0))
        if self.x0.shape != (self.problem.dimension,):
            raise InputError("x0", self.x0, f"{self.problem.dimension} numbers, as many as the problem has parameters")
        of_one_kind(self.hyper, self.x0)

    def like_x0(self, values: Any) -> Array:
        """Numbers as an array of the kind of x0; TypeError for a float in an exact setting."""
        if is_exact(self.x0):
            return as_exact(values)
        try:
            return np.asarray(values).astype(np.float64)
        except (TypeError, ValueError):  # texts such as "1/3"
            return array("weights", values).astype(np.float64)

    @property
    def noise(self) -> Any:
        """What disturbs gradients: a kind of `sims.problems.noise`."""
        minibatch = getattr(self.problem, "minibatch", None)
        return minibatch or getattr(self.problem, "noise", Additive(0))

    def initial(self) -> State:
        """The state before round 0, with a batch axis of length 1."""
        return self.algorithm.init(self.hyper, self.x0[None, :], self.problem.n_clients)

    def work(self, state: State, cohort: Cohort) -> Work:
        """What the clients of a cohort (without batch axes) are to do."""
        return self.algorithm.work(state, self._batched(cohort, state), self.hyper)

    def round(self, state: State, cohort: Cohort, draws: Draws) -> State:
        """The state after a round, for states and draws with one batch axis and a cohort with none.

        Raises TypeError if an exact state has become a float, InputError if a float state has become anything else.
        """
        batched = self._batched(cohort, state)
        local = local_update(self.problem, self.algorithm.work(state, batched, self.hyper), batched, draws)
        after = self.algorithm.apply(state, batched, local, self.hyper)
        if is_exact(self.x0):
            require_exact(after.linear)
        elif any(values.dtype != np.float64 for values in after.linear.values()):
            raise InputError("hyper", self.hyper, "in floats or ints if x0 is in floats")
        return after

    def _batched(self, cohort: Cohort, state: State) -> Cohort:
        if cohort.n_clients != self.problem.n_clients:
            allowed = f"for {self.problem.n_clients} clients, as many as the problem has"
            raise InputError("scenario", f"one for {cohort.n_clients} clients", allowed)
        batch = state.linear["x"].shape[0]
        weight = None if cohort.weight is None else self.like_x0(cohort.weight)
        parts = (cohort.clients, cohort.valid, weight, cohort.role)
        clients, valid, weight, role = (None if part is None else repeated(part, batch) for part in parts)
        return Cohort(clients, valid, cohort.n_clients, weight, role)


def repeated(value: Array, batch: int) -> Array:
    """A copy of an array for each of a batch, along a new first axis."""
    return np.repeat(np.asarray(value)[None], batch, axis=0)
