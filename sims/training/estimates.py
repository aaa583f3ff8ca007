"""What theory asks of a run: estimates of the constants in its bounds, at the recorded rounds.

Each is a metric of `[record] what` and says what it is: "exact" for the run at hand, a "sample" (of a supremum over
all models at the models that are recorded, or of an expectation by a few draws), or a "lower bound" of a supremum. A
supremum may be larger than every sample of it, so a bound that is evaluated at such estimates is no bound.

All gradients are taken at the model x_t of the recorded round, client by client, so that there are never N vectors
at once unless they are small. Random numbers (minibatches, directions) have a stream of their own, keyed by the
round: a run has the same bits whether it is estimated or not. Replicates share its numbers from run to run.

What is said of all rounds so far (`Trace`) is followed in every round, recorded or not, and covers the rounds before
x_t: at the record of round t it is about a run of T = t rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from array_api_compat import device, to_device

from fltheory.streams import stream
from sims.algorithms.protocol import Cohort, Work
from sims.arrays import Array, array_namespace
from sims.problems.base import Problem
from sims.problems.local import looked_after

if TYPE_CHECKING:
    from sims.recorder import Moment

FloatArray = npt.NDArray[np.float64]
Kind = Literal["exact", "sample", "lower bound"]

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
            squares.append(_square(gradient))
        return total / self.problem.n_clients, np.stack(squares, axis=-1)

    @property
    def mean(self) -> Array:
        """grad f, (R, d)."""
        return self._first[0]

    @property
    def mean_square(self) -> FloatArray:
        """||grad f||^2, (R,)."""
        return _square(self.mean)

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
            distances.append(_square(away))
            for name, factor in factors.items():
                sums[name] = sums[name] + factor[:, client, None] * away
        return np.stack(distances, axis=-1), sums

    @property
    def distances(self) -> FloatArray:
        """||grad F_n - grad f||^2, (R, N)."""
        return self._second[0]

    def divergence(self, name: str) -> FloatArray:
        """||sum_n q_n (grad F_n - grad f)||, (R,), for the shares of this name."""
        return np.sqrt(_square(self._second[1][name]))

    def spread(self, name: str) -> FloatArray:
        """(sum_n q_n ||grad F_n - sum_m q_m grad F_m||^2)^(1/2), (R,), for the shares of this name."""
        xp, share, away = array_namespace(self.x), self.shares[name], self._second[1][name]
        total = share.sum(axis=-1)
        # grad F_n - sum q grad F = (grad F_n - grad f) + rest
        rest = xp.asarray(1 - total, dtype=self.x.dtype, device=device(self.x))[:, None] * self.mean - away
        square = (share * self.distances).sum(axis=-1) + 2 * _host(xp.sum(away * rest, axis=-1))
        return np.asarray(np.sqrt(np.maximum(square + total * _square(rest), 0)))

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
                    found[-1] += _square(of_draw - gradient) / DRAWS
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
                    square += _square(xp.reshape(of_draw, change.shape) - change) / DRAWS
            root = np.sqrt(square)
            found.append(np.divide(root, size, out=np.zeros_like(root), where=size > 0))
        return np.stack(found, axis=-1)

    def _moved(self, direction: Array) -> tuple[Array, FloatArray]:
        """x + v with v short along a direction (R, d), and ||v|| (R,) as rounding leaves it."""
        norm = np.sqrt(_square(direction))
        length = REACH * np.maximum(1, np.sqrt(_square(self.x)))
        scale = np.divide(length, norm, out=np.zeros_like(norm), where=norm > 0)
        factor = array_namespace(self.x).asarray(scale, dtype=self.x.dtype, device=device(self.x))
        moved = self.x + factor[:, None] * direction
        return moved, np.sqrt(_square(moved - self.x))

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
                size = np.sqrt(_square(change))
                best = np.maximum(best, np.divide(size, step, out=np.zeros_like(step), where=step > 0))
                direction = change
            found.append(best)
        return np.stack(found, axis=-1)


class Trace:
    """Who took part with which weight in all rounds so far; R replicates of N clients.

    An interval is that of the algorithm, if it counts the rounds of one, else what lies between two records. Weights
    that an algorithm does not have are NaN, and so is what needs rates where they are not known.
    """

    def __init__(self) -> None:
        self._sums: dict[str, npt.NDArray[Any]] = {}

    def begin(self, now: Moment, recorded: bool) -> None:
        """See a round, or the end of the run, before it is recorded."""
        if not self._sums:
            replicates, n_clients = now.participated.shape
            one, all_ = np.zeros(replicates), np.zeros((replicates, n_clients))
            unknown = np.full_like(all_, np.nan)
            names = ("error", "largest_error", "largest_square", "largest_norm", "largest_total_error", "absence")
            self._sums = dict.fromkeys(names, one) | {"current": all_, "finished": unknown}
            self._sums |= {"rounds": np.array(0), "length": np.array(0)}
        clock = now.state.discrete.get("clock")
        if self._sums["length"] and (recorded if clock is None else bool((_host(clock) == 0).all())):
            self._sums["finished"] = self._sums["current"] / self._sums["length"]
            self._sums["current"], self._sums["length"] = np.zeros_like(self._sums["current"]), np.array(0)

    def add(self, now: Moment) -> None:
        """Take in a round."""
        sums, shares = self._sums, participation(now)
        error, square = weight_errors(now), weight_squares(now)
        absence = np.where(now.participated, 0, now.round - now.last).max(axis=-1)
        self._sums = {
            "error": sums["error"] + error,
            "largest_error": np.maximum(sums["largest_error"], error),
            "largest_square": np.maximum(sums["largest_square"], square),
            "largest_norm": np.maximum(sums["largest_norm"], np.sqrt((shares**2).sum(axis=-1))),
            "largest_total_error": np.maximum(sums["largest_total_error"], np.abs(shares.sum(axis=-1) - 1)),
            "absence": np.maximum(sums["absence"], absence),
            "current": sums["current"] + shares,
            "finished": sums["finished"],
            "rounds": sums["rounds"] + 1,
            "length": sums["length"] + 1,
        }

    def over_rounds(self, name: str) -> FloatArray:
        """A sum or a maximum over the rounds so far (R,); NaN before the first."""
        found = np.asarray(self._sums[name], dtype=np.float64)
        return found if self._sums["rounds"] else np.full_like(found, np.nan)

    @property
    def rounds(self) -> int:
        """How many rounds it has seen."""
        return int(self._sums["rounds"])

    @property
    def finished(self) -> FloatArray:
        """Participation weights averaged over the last finished interval (R, N); NaN before there is one."""
        return np.asarray(self._sums["finished"])

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """All that changes over time."""
        return dict(self._sums)

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from there."""
        self._sums = dict(state)


def participation(now: Moment) -> FloatArray:
    """Participation weights q_n = w_n 1{n takes part} / N of a round (R, N); NaN without weights."""
    weights = np.full(now.participated.shape, np.nan) if now.weights is None else now.weights
    return np.asarray(np.where(now.participated, weights, 0 * weights) / now.participated.shape[-1])


def weight_errors(now: Moment) -> FloatArray:
    """(1/N) sum_n (p_n w_n - 1)^2 of a round, (R,); NaN without weights or rates."""
    if now.weights is None or now.rates is None:
        return np.full(now.participated.shape[0], np.nan)
    return np.asarray(((now.rates * now.weights - 1) ** 2).mean(axis=-1))


def weight_squares(now: Moment) -> FloatArray:
    """(1/N) sum_n p_n w_n^2 of a round, (R,); NaN without weights or rates."""
    if now.weights is None or now.rates is None:
        return np.full(now.participated.shape[0], np.nan)
    return np.asarray((now.rates * now.weights**2).mean(axis=-1))


def survey(now: Moment) -> Survey:
    """The gradients at the model of a moment, and the sums over clients that go with its participation."""
    shares = {"round": participation(now)}
    if now.trace is not None:
        shares["interval"] = now.trace.finished
    return Survey(now.problem, now.state.linear["x"], now.round, shares)


def _largest(squares: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(squares.max(axis=-1)))


def _so_far(name: str) -> Callable[[Moment], FloatArray]:
    def compute(now: Moment) -> FloatArray:
        assert now.trace is not None  # the record follows it
        return now.trace.over_rounds(name)

    return compute


def _mean_weight_error(now: Moment) -> FloatArray:
    assert now.trace is not None
    return now.trace.over_rounds("error") / max(now.trace.rounds, 1)


@dataclass(frozen=True)
class Estimate:
    """One estimate.

    about        in words, with the letters of the paper that has it
    kind         exact, a sample, or a lower bound of a supremum
    compute      of a moment, (R,)
    of_a_round   it describes a round and not just the state, so there is none after the last round
    follows      it needs all rounds so far (`Trace`)
    needs_rates  it needs exact participation rates
    """

    about: str
    kind: Kind
    compute: Callable[[Moment], FloatArray]
    of_a_round: bool = False
    follows: bool = False
    needs_rates: bool = False


ESTIMATES: Mapping[str, Estimate] = {
    # gradients at x_t
    "heterogeneity": Estimate(
        "delta: max_n ||grad F_n - grad f|| at x_t", "sample", lambda now: _largest(now.survey.distances)
    ),
    "mean_heterogeneity": Estimate(
        "root mean square over clients of ||grad F_n - grad f|| at x_t",
        "exact",
        lambda now: np.sqrt(now.survey.distances.mean(axis=-1)),
    ),
    "client_gradient": Estimate("max_n ||grad F_n|| at x_t", "sample", lambda now: _largest(now.survey.squares)),
    "gradient_moment": Estimate(
        f"G: max_n (E||stochastic gradient||^2)^(1/2) at x_t, its noise from {DRAWS} minibatches a client",
        "sample",
        lambda now: _largest(now.survey.squares + now.survey.noise),
    ),
    "noise_std": Estimate(
        f"sigma: max_n (E||stochastic gradient - grad F_n||^2)^(1/2) at x_t, from {DRAWS} minibatches a client",
        "sample",
        lambda now: _largest(now.survey.noise),
    ),
    "smoothness": Estimate(
        f"L: max_n ||grad F_n(x_t + v) - grad F_n(x_t)|| / ||v||, {STEPS} steps v of a power iteration, "
        f"{REACH:.0%} of the model long",
        "lower bound",
        lambda now: now.survey.smoothness.max(axis=-1),
    ),
    "noise_smoothness": Estimate(
        "L_sigma: max_n (E||noise of a stochastic gradient at x_t + v - its noise at x_t||^2)^(1/2) / ||v||, from "
        f"{DRAWS} minibatches a client at one v along grad f, {REACH:.0%} of the model long",
        "sample",
        lambda now: now.survey.noise_smoothness.max(axis=-1),
    ),
    # a round
    "weight_square": Estimate(
        "(1/N) sum_n p_n w_n^2 of the round", "exact", weight_squares, of_a_round=True, needs_rates=True
    ),
    "participation_norm": Estimate(
        "(sum_n q_n^2)^(1/2) of the round, q_n = w_n / N of those who take part",
        "exact",
        lambda now: np.sqrt((participation(now) ** 2).sum(axis=-1)),
        of_a_round=True,
    ),
    "round_divergence": Estimate(
        "beta: ||sum_n q_n (grad F_n - grad f)|| of the round, at x_t",
        "sample",
        lambda now: now.survey.divergence("round"),
        of_a_round=True,
    ),
    "cohort_divergence": Estimate(
        "nu: (sum_n q_n ||grad F_n - sum_m q_m grad F_m||^2)^(1/2) of the round, at x_t",
        "sample",
        lambda now: now.survey.spread("round"),
        of_a_round=True,
    ),
    # the rounds before x_t
    "interval_divergence": Estimate(
        "delta(P): ||sum_n q_n (grad F_n - grad f)|| at x_t, q averaged over the last finished interval, of the "
        "algorithm or else between records",
        "sample",
        lambda now: now.survey.divergence("interval"),
        follows=True,
    ),
    "mean_weight_error": Estimate(
        "W: (1/N) sum_n (p_n w_n - 1)^2, mean over the rounds before this one",
        "sample",
        _mean_weight_error,
        follows=True,
        needs_rates=True,
    ),
    "largest_weight_error": Estimate(
        "(1/N) sum_n (p_n w_n - 1)^2, largest of the rounds before this one",
        "exact",
        _so_far("largest_error"),
        follows=True,
        needs_rates=True,
    ),
    "largest_weight_square": Estimate(
        "Q: (1/N) sum_n p_n w_n^2, largest of the rounds before this one",
        "exact",
        _so_far("largest_square"),
        follows=True,
        needs_rates=True,
    ),
    "largest_participation_norm": Estimate(
        "rho: (sum_n q_n^2)^(1/2), largest of the rounds before this one",
        "exact",
        _so_far("largest_norm"),
        follows=True,
    ),
    "largest_total_error": Estimate(
        "|sum_n q_n - 1|, largest of the rounds before this one", "exact", _so_far("largest_total_error"), follows=True
    ),
    "longest_absence": Estimate(
        "rounds without a client, the round itself counted where it is absent, largest of the rounds before this one",
        "exact",
        _so_far("absence"),
        follows=True,
    ),
}


def _host(array: Array) -> FloatArray:
    return np.asarray(to_device(array, "cpu"), dtype=np.float64)


def _square(vectors: Array) -> FloatArray:
    """Squared norms of (R, d), (R,)."""
    return _host(array_namespace(vectors).sum(vectors * vectors, axis=-1))
