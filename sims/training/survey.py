"""The gradients of all clients at one model, and what theory asks about them.

They are taken client by client, so that there are never N vectors at once unless they are small. Random numbers
(minibatches, directions) have a stream of their own, keyed by the round: a run has the same bits whether it is
estimated or not. Replicates share its numbers from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import device

from fltheory.streams import stream
from sims.algorithms.protocol import Cohort, Work
from sims.arrays import Array, array_namespace, on_host, widened
from sims.problems.base import Problem
from sims.problems.local import looked_after

FloatArray = npt.NDArray[np.float64]

DRAWS = 8  # stochastic gradients of a client, for their noise
STEPS = 3  # of the power iteration, for smoothness
REACH = 0.01  # length of these steps, in lengths of the model if that is above 1
KEPT = 2**27  # bytes of clients' gradients at one model that are kept rather than computed again


class Survey:
    """The gradients of all clients at models (R, d), and what theory asks about them; R replicates of N clients.

    shares    name -> weights (R, N): the sums over clients that are wanted
    """

    def __init__(self, problem: Problem, x: Array, round: int, shares: Mapping[str, FloatArray] | None = None) -> None:
        self.problem, self.x, self.round = problem, x, round
        self.shares = dict(shares or {})
        self._bytes = problem.n_clients * x.shape[0] * x.shape[1] * np.dtype(np.float64).itemsize
        self._kept: list[Array] | None = None

    def _clients(self, client: int) -> Array:
        xp = array_namespace(self.x)
        return xp.full((self.x.shape[0], 1), client, dtype=xp.int64, device=device(self.x))

    def _gradient(self, client: int, at: Array) -> Array:
        return self.problem.gradient(at[:, None, :], self._clients(client))[:, 0, :]

    def gradients(self) -> Iterator[Array]:
        """The gradient (R, d) of every client, in order."""
        if self._kept is not None:
            yield from self._kept
            return
        found: list[Array] | None = [] if self._bytes <= KEPT else None
        for client in range(self.problem.n_clients):
            gradient = self._gradient(client, self.x)
            if found is not None:
                found.append(gradient)
            yield gradient
        self._kept = found

    @cached_property
    def _first(self) -> tuple[Array, FloatArray]:
        """grad f (R, d), and the squared norms of all gradients (R, N)."""
        total: Any = 0
        squares = []
        for gradient in self.gradients():
            total = total + gradient
            squares.append(squared_norms(gradient))
        return total / self.problem.n_clients, np.stack(squares, axis=-1)

    @property
    def mean(self) -> Array:
        """grad f, (R, d)."""
        return self._first[0]

    @property
    def mean_square(self) -> FloatArray:
        """||grad f||^2, (R,)."""
        return squared_norms(self.mean)

    @property
    def squares(self) -> FloatArray:
        """||grad F_n||^2, (R, N)."""
        return self._first[1]

    @cached_property
    def _second(self) -> tuple[FloatArray, dict[str, Array]]:
        """||grad F_n - grad f||^2 (R, N), and for each of the shares the sum of q_n (grad F_n - grad f), (R, d)."""
        xp, distances = array_namespace(self.x), []
        factors = {
            name: xp.asarray(share, dtype=self.x.dtype, device=device(self.x)) for name, share in self.shares.items()
        }
        sums: dict[str, Any] = dict.fromkeys(factors, 0)
        for client, gradient in enumerate(self.gradients()):
            away = gradient - self.mean
            distances.append(squared_norms(away))
            for name, factor in factors.items():
                sums[name] = sums[name] + factor[:, client, None] * away
        return np.stack(distances, axis=-1), sums

    @property
    def distances(self) -> FloatArray:
        """||grad F_n - grad f||^2, (R, N)."""
        return self._second[0]

    def divergence(self, name: str) -> FloatArray:
        """||sum_n q_n (grad F_n - grad f)||, (R,), for the shares of this name."""
        return np.sqrt(squared_norms(self._second[1][name]))

    def spread(self, name: str) -> FloatArray:
        """(sum_n q_n ||grad F_n - sum_m q_m grad F_m||^2)^(1/2), (R,), for the shares of this name."""
        xp, share, away = array_namespace(self.x), self.shares[name], self._second[1][name]
        total = share.sum(axis=-1)
        # grad F_n - sum q grad F = (grad F_n - grad f) + rest
        rest = xp.asarray(1 - total, dtype=self.x.dtype, device=device(self.x))[:, None] * self.mean - away
        square = (share * self.distances).sum(axis=-1) + 2 * host(xp.sum(away * rest, axis=-1))
        return np.asarray(np.sqrt(np.maximum(square + total * squared_norms(rest), 0)))

    @cached_property
    def noise(self) -> FloatArray:
        """Mean of ||g_n - grad F_n||^2 over a few stochastic gradients g_n of each client, (R, N)."""
        rng, found = stream(0, "estimates.noise", self.round), []
        work, point = Work(self.x, DRAWS, 0), self.x[:, None, :]
        for client, gradient in enumerate(self.gradients()):
            clients = self._clients(client)
            cohort = Cohort(clients, clients >= 0, self.problem.n_clients)
            draws = self.problem.draw(rng, cohort, work).steps
            found.append(np.zeros(self.x.shape[0]))
            with looked_after(self.problem, cohort):
                for draw in () if draws is None else draws:
                    of_draw = self.problem.stochastic_gradient(point, clients, draw)[:, 0, :]
                    found[-1] += squared_norms(of_draw - gradient) / DRAWS
        return np.stack(found, axis=-1)

    @cached_property
    def noise_smoothness(self) -> FloatArray:
        """(mean of ||(g_n - grad F_n)(x + v) - (g_n - grad F_n)(x)||^2)^(1/2) / ||v||, v short along grad f; (R, N).

        The mean is over a few stochastic gradients g_n of each client, both points with the same samples.
        """
        xp, rng, found = array_namespace(self.x), stream(0, "estimates.noise_smoothness", self.round), []
        moved, size = self._moved(self.mean)
        work, point, away = Work(self.x, DRAWS, 0), self.x[:, None, :], moved[:, None, :]
        for client, gradient in enumerate(self.gradients()):
            clients, change = self._clients(client), self._gradient(client, moved) - gradient
            cohort = Cohort(clients, clients >= 0, self.problem.n_clients)
            draws, square = self.problem.draw(rng, cohort, work).steps, np.zeros(self.x.shape[0])
            with looked_after(self.problem, cohort):
                for draw in () if draws is None else draws:
                    of_draw = self.problem.stochastic_gradient(away, clients, draw)
                    of_draw = of_draw - self.problem.stochastic_gradient(point, clients, draw)
                    square += squared_norms(xp.reshape(of_draw, change.shape) - change) / DRAWS
            root = np.sqrt(square)
            found.append(np.divide(root, size, out=np.zeros_like(root), where=size > 0))
        return np.stack(found, axis=-1)

    def _moved(self, direction: Array) -> tuple[Array, FloatArray]:
        """x + v with v short along a direction (R, d), and ||v|| (R,) as rounding leaves it."""
        norm = np.sqrt(squared_norms(direction))
        length = REACH * np.maximum(1, np.sqrt(squared_norms(self.x)))
        scale = np.divide(length, norm, out=np.zeros_like(norm), where=norm > 0)
        factor = array_namespace(self.x).asarray(scale, dtype=self.x.dtype, device=device(self.x))
        moved = self.x + factor[:, None] * direction
        return moved, np.sqrt(squared_norms(moved - self.x))

    @cached_property
    def smoothness(self) -> FloatArray:
        """Largest ||grad F_n(x + v) - grad F_n(x)|| / ||v|| of a few short v for each client, (R, N).

        Each v goes where the last one changed the gradient, so that v nears the direction of the largest curvature.
        Where gradients jump, as those of networks with ReLU do, L is infinite, and this is the slope on the scale of v.
        """
        xp, found = array_namespace(self.x), []
        normal = stream(0, "estimates.smoothness", self.round).standard_normal(tuple(self.x.shape))
        start = xp.asarray(normal, dtype=self.x.dtype, device=device(self.x))
        for client, gradient in enumerate(self.gradients()):
            best, direction = np.zeros(self.x.shape[0]), start
            for _ in range(STEPS):
                moved, step = self._moved(direction)
                change = self._gradient(client, moved) - gradient
                size = np.sqrt(squared_norms(change))
                best = np.maximum(best, np.divide(size, step, out=np.zeros_like(step), where=step > 0))
                direction = change
            found.append(best)
        return np.stack(found, axis=-1)


def host(array: Array) -> FloatArray:
    return np.asarray(on_host(array), dtype=np.float64)


def squared_norms(vectors: Array) -> FloatArray:
    """Squared norms of (R, d), (R,)."""
    wide = widened(vectors)
    return host(array_namespace(wide).sum(wide * wide, axis=-1))
