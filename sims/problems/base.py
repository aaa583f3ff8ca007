"""What a problem is: objectives of N clients whose constants are known exactly, with stochastic gradients.

A problem owns the randomness: `draw` makes a round's random numbers, `local_update` is then a pure function of
them, so that the same lines serve Monte Carlo, enumeration of draws and the exact engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sims.algorithms.protocol import Cohort, Work
from sims.arrays import Array, array_namespace


class Deferred:
    """A field of a dataclass that may be given as a function without arguments, called when it is first read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(self._name)  # as of a field without a default
        value = vars(instance)[self._name]
        if callable(value):
            value = vars(instance)[self._name] = value()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self._name] = value


@dataclass(frozen=True, kw_only=True, eq=False)
class Constants:
    """Exact constants of a problem; math.inf where there is none, None where it is not known.

    Each supremum is the least such number, except for those named in `upper`, which are valid but need not be attained.

    smoothness              L: every client's gradient is L-Lipschitz
    strong_convexity        mu of every client (0 if merely convex or not convex)
    polyak_lojasiewicz      mu of the global objective in ||grad f||^2 >= 2 mu (f - f*); 0 if there is none
    noise_std               sigma of one stochastic gradient, sup over clients and points
    noise_smoothness        L_sigma: mean-square Lipschitz constant of the gradient noise
    heterogeneity           delta: sup over clients and points of ||grad F_n - grad f||; may be given as a function
    gradient_bound          G: sup over points of ||grad f||
    minimum, minimiser      f*, x* of the global objective; -math.inf and None if it is unbounded below
    client_gradient_bound   sup over clients and points of ||grad F_n||
    upper                   names of the constants that are upper bounds of their suprema
    """

    smoothness: Any
    strong_convexity: Any
    polyak_lojasiewicz: Any
    noise_std: Any
    noise_smoothness: Any
    heterogeneity: Any = Deferred()
    gradient_bound: Any
    minimum: Any
    minimiser: Any
    client_gradient_bound: Any = None
    upper: frozenset[str] = frozenset()

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __eq__(self, other: object) -> bool:
        """Equal values under every name."""
        if not isinstance(other, Constants):
            return NotImplemented
        own, its = self.__getstate__(), other.__getstate__()
        return np.array_equal(own.pop("minimiser"), its.pop("minimiser")) and own == its

    def __getstate__(self) -> dict[str, Any]:
        """Plain values: a function that gives the heterogeneity need not travel."""
        return {name: getattr(self, name) for name in vars(self)}


@dataclass(frozen=True)
class Draws:
    """A round's random numbers: for the local steps (steps, ..., S, width), for the extra gradient (..., S, width).

    The width is that of the problem's noise: d numbers, one sign, or the indices of a minibatch.
    """

    steps: Array | None = None
    gradient: Array | None = None


class Problem(Protocol):
    """Objectives F_n of `n_clients` clients over `dimension` parameters; f is their plain mean.

    A problem may also have:

    samples         how many samples a stochastic gradient and an exact one take, numbers or (N,) each
    slots_at_once   how many clients of a cohort compute together; None for all of them
    train_accuracy  x (R, d) -> accuracies (R,), which selections may adapt to
    table           shape -> zeros, where tables with a row for each client are kept; None for beside the model
    descend         (start, clients, draws, step_size) -> last iterates - start (..., S, d): plain local steps from
                    draws (steps, ..., S, width), if there is a faster way than gradient after gradient
    """

    n_clients: int
    dimension: int

    @property
    def constants(self) -> Constants:
        """The exact constants."""

    def objective(self, x: Array) -> Array:
        """f at models (..., d): (...)."""

    def gradient(self, y: Array, clients: Array) -> Array:
        """Exact gradients of the clients (..., S), each at its own point (..., S, d): (..., S, d)."""

    def stochastic_gradient(self, y: Array, clients: Array, draw: Array | None) -> Array:
        """The gradient one sample gives, for a draw of shape (..., S, width); without a draw the exact gradient."""

    def draw(self, rng: np.random.Generator, cohort: Cohort, work: Work) -> Draws:
        """A round's random numbers for a cohort."""


def full_gradient(problem: Problem, x: Array) -> Array:
    """grad f at models (..., d), as the mean over all clients."""
    gradients = problem.gradient(*at_all_clients(problem, x))
    return array_namespace(x).sum(gradients, axis=-2) / problem.n_clients


def at_all_clients(problem: Problem, x: Array) -> tuple[Array, Array]:
    """Models (..., d) as points of all clients, (..., N, d) and ids (..., N)."""
    xp, shape = array_namespace(x), (*x.shape[:-1], problem.n_clients)
    clients = xp.broadcast_to(xp.arange(problem.n_clients, device=x.device), shape)
    return xp.broadcast_to(x[..., None, :], (*shape, x.shape[-1])), clients
