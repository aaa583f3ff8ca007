"""What an algorithm is: three pure functions and what they cost. Written once, run on floats, rationals and torch.

A round, for any algorithm: `work(state, cohort, hyper)` says what the participating clients compute,
`sims.problems.local.local_update` computes it, `apply(state, cohort, local, hyper)` moves the server. None of
them draws random numbers. For a fixed discrete state and cohort all of it is affine in the linear state wherever
gradients are, which is what the exact engine reads off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sims.arrays import Array, array_namespace, sum_rows, zeros


@dataclass(frozen=True)
class State:
    """linear: name -> array; "x" is the model (..., d), memories are (..., N, d) or (..., d).

    discrete: name -> integer array (..., ): counters, clocks, roles. It evolves independently of the linear part.
    """

    linear: dict[str, Array]
    discrete: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Cohort:
    """Who takes part in a round: batch axes, then one slot a client.

    clients     ids, integer (..., S); a client stands in at most one valid slot
    valid       bool (..., S); other slots are padding and must not count
    n_clients   number of all clients
    weight      aggregation weight of each slot for this round, (..., S)
    role        integer (..., S), for algorithms with several roles
    """

    clients: Array
    valid: Array
    n_clients: int
    weight: Array | None = None
    role: Array | None = None


@dataclass(frozen=True)
class Work:
    """What each client of the cohort computes.

    start         where local steps begin, (..., d)
    steps         number of local steps; 0 for none
    step_size     local step size, a number, or (..., S, 1) for one of each slot
    correction    added to every stochastic gradient, (..., S, d)
    proximal      adds proximal * (y - start) to every stochastic gradient
    direction     (..., d): steps follow a recursive gradient estimate that starts here instead of fresh gradients
    previous      (..., d): the point at which `direction` was an estimate; without it, the start
    gradient_at   also return one stochastic gradient at this point, (..., d)
    gradient_since  (..., d): less the gradient at this point, on the same samples
    batch         stochastic gradients averaged in that gradient (a step uses one), in training each of a minibatch;
                  None for the exact gradient
    steps_by      bool (..., S): who makes the steps; without it, everybody
    gradient_by   bool (..., S): who returns that gradient; without it, everybody
    """

    start: Array
    steps: int
    step_size: Any
    correction: Array | None = None
    proximal: Any = 0
    direction: Array | None = None
    previous: Array | None = None
    gradient_at: Array | None = None
    gradient_since: Array | None = None
    batch: int | None = 1
    steps_by: Array | None = None
    gradient_by: Array | None = None


@dataclass(frozen=True)
class Local:
    """What the clients return: delta = last local iterate - start, and the gradient asked for; (..., S, d) each.

    Rows of clients who were not to compute it mean nothing.
    """

    delta: Array
    gradient: Array | None = None


@dataclass(frozen=True)
class Algorithm:
    """One algorithm: its functions, and what it costs.

    name             code name
    source           paper and number of its pseudo-code
    hyper            frozen dataclass of its parameters, step sizes first
    server_vectors   parameter vectors that the server keeps, as a function of n_clients, the model included
    client_vectors   parameter vectors that each client keeps between rounds
    server_counters  integers that the server keeps, as a function of n_clients
    client_counters  integers that each client keeps between rounds
    down, up         parameter vectors sent to and from a participating client in a round
    looks_at         what of a cohort it needs: "weighting", "roles"
    warm_role        the role of all clients in a round that fills what the server remembers of them and leaves the
                     model where it is; None if there is no such round
    """

    name: str
    source: str
    hyper: type
    init: Callable[[Any, Array, int], State]
    work: Callable[[State, Cohort, Any], Work]
    apply: Callable[[State, Cohort, Local, Any], State]
    server_vectors: Callable[[int], int]
    client_vectors: int = 0
    down: int = 1
    up: int = 1
    looks_at: tuple[str, ...] = ()
    warm_role: int | None = None
    server_counters: Callable[[int], int] = lambda n_clients: 0
    client_counters: int = 0


def total(values: Array, valid: Array, weights: Array | None = None) -> Array:
    """Sum over the valid slots of (..., S, d), each times its weight (..., S) if there are any: (..., d)."""
    xp = array_namespace(values)
    zero = zeros((1,) * values.ndim, values)
    if not bool(xp.all(valid)):
        values = xp.where(valid[..., None], values, zero)
    return sum_rows(values, weights) + zero[..., 0, :]  # no slots: still exact


def mean(values: Array, valid: Array) -> Array:
    """Mean over the valid slots of (..., S, d), zero where there is none: (..., d)."""
    xp = array_namespace(values)
    count = xp.sum(valid, axis=-1)
    return total(values, valid) / xp.where(count > 0, count, 1)[..., None]
