"""What is found out about a problem without believing its constants: extremes over many points, near and far.

Points have distances from 1e-3 to 1e6 from 0, or fill a cube around it; the best are polished by a local search.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import stats
from scipy.optimize import minimize

from sims.algorithms.protocol import Cohort, Work
from sims.arrays import Array
from sims.problems.analytic import Analytic
from sims.problems.base import at_all_clients, full_gradient
from sims.problems.finite_data import FiniteData
from sims.problems.noise import Additive

from .zoo import build

FALSE_ALARM = 1e-8  # of each of the two sides of a statistical statement; the zoo makes fewer than 50 of them
DRAWS = 200_000


@dataclass(frozen=True)
class Findings:
    """Extremes found; each is attained, so it bounds the true constant from one side.

    steepest, flattest    extremes of ||grad F_n(u) - grad F_n(v)|| and <grad F_n(u) - grad F_n(v), u - v>, relative
    gap                   largest ||grad F_n - grad f||
    slope, client_slope   largest ||grad f||, ||grad F_n||
    squares, values       ||grad f||^2 and f at many points
    lowest                least f that was found
    variance              an interval that holds sup E||noise||^2
    noise_steepness       largest (E||noise(u) - noise(v)||^2)^(1/2) / ||u - v||
    """

    steepest: float
    flattest: float
    gap: float
    slope: float
    client_slope: float
    squares: Array
    values: Array
    lowest: float
    variance: tuple[float, float]
    noise_steepness: float


@functools.cache
def findings(name: str) -> Findings:
    problem = build(name)
    points = sample_points(problem.dimension, 1000, seed=1)
    points = np.concatenate([points, np.random.default_rng(6).uniform(-6, 6, size=(500, problem.dimension))])
    steepest, flattest = _curvatures(problem, points)
    polished = np.concatenate([points, *(_polish(problem, measure, points) for measure in MEASURES)])
    gradients = full_gradient(problem, polished)
    return Findings(
        steepest,
        flattest,
        *(measure(problem, polished).max() for measure in MEASURES[:3]),
        squares=(gradients * gradients).sum(axis=-1),
        values=problem.objective(polished),
        lowest=_lowest(problem, points),
        variance=_variance(problem, points[np.argsort(_norm(points))[:: -len(points) // 20]]),
        noise_steepness=_noise_steepness(problem, points),
    )


def sample_points(dimension: int, count: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(count, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * 10 ** rng.uniform(-3, 6, size=(count, 1))


def _norm(vectors: Array) -> Array:
    return np.sqrt((vectors * vectors).sum(axis=-1))


def _gap(problem: Analytic, x: Array) -> Array:
    """Less what the subtraction can have added, for it is to bound the constant from below."""
    gradients = problem.gradient(*at_all_clients(problem, x))
    rounding = 16 * np.finfo(float).eps * _norm(gradients).max(axis=1)
    return _norm(gradients - full_gradient(problem, x)[:, None]).max(axis=1) - rounding


def _slope(problem: Analytic, x: Array) -> Array:
    return _norm(full_gradient(problem, x))


def _client_slope(problem: Analytic, x: Array) -> Array:
    return _norm(problem.gradient(*at_all_clients(problem, x))).max(axis=1)


def _no_growth(problem: Analytic, x: Array) -> Array:
    """Large where ||grad f||^2 is small against f - f*; the stated f* only says where to look."""
    above = problem.objective(x) - float(problem.constants.minimum)
    squares = _slope(problem, x) ** 2
    return np.where(above > 1e-3, above / np.maximum(squares, 1e-300), 0.0) if np.isfinite(above).all() else 0 * squares


MEASURES: tuple[Callable[[Analytic, Array], Array], ...] = (_gap, _slope, _client_slope, _no_growth)


def _polish(problem: Analytic, measure: Callable[[Analytic, Array], Array], points: Array) -> Array:
    """Local maxima of a measure from the best points."""
    starts = points[np.argsort(-measure(problem, points))[:3]]
    return np.array(
        [
            minimize(
                lambda x: -math.log(max(measure(problem, x[None])[0], 1e-300)),
                start,
                method="Nelder-Mead",
                options={"maxiter": 100, "xatol": 1e-9, "fatol": 1e-12},
            ).x
            for start in starts
        ]
    )


def _curvatures(problem: Analytic, points: Array) -> tuple[float, float]:
    """Extremes of the clients' directional curvature, by power iteration at every point."""
    near = np.concatenate([points, np.zeros((1, problem.dimension))])
    y, clients = at_all_clients(problem, near)
    here, t = problem.gradient(y, clients), 1e-3 * (1 + np.linalg.norm(y, axis=-1, keepdims=True))

    def bent(v: Array) -> Array:
        return (problem.gradient(y + t * v, clients) - here) / t

    def iterate(step: Callable[[Array], Array]) -> Array:
        v = np.random.default_rng(2).normal(size=y.shape)
        for _ in range(40 if problem.dimension > 1 else 1):
            v = v / _norm(v)[..., None]
            v = step(v)
            v = np.where(_norm(v)[..., None] > 0, v, 1.0)
        return v / _norm(v)[..., None]

    steepest = _norm(bent(iterate(bent))).max()
    v = iterate(lambda v: steepest * v - bent(v))
    return float(steepest), float((v * bent(v)).sum(axis=-1).min())


def _lowest(problem: Analytic, points: Array) -> float:
    """The lowest value that BFGS finds from several starts, or that a point has."""
    lowest = problem.objective(points).min()
    for start in points[_norm(points) < 10][:5]:
        if lowest < -1e4:
            return float(lowest)
        found = minimize(
            lambda x: float(problem.objective(x)),
            start,
            jac=lambda x: full_gradient(problem, x),
            options={"gtol": 1e-9},
        )
        lowest = min(lowest, found.fun)
    return float(lowest)


# ---- noise -----------------------------------------------------------------------------------------------


def outcomes(problem: Analytic, client: int) -> tuple[Array, Array]:
    """All draws of one client and their probabilities."""
    if isinstance(problem, FiniteData):
        if problem.minibatch is None:
            return np.zeros((1, 0), dtype=int), np.ones(1)
        indices = range(problem.sizes[client])
        draws = np.array(list(itertools.product(indices, repeat=problem.minibatch.batch)))
        return draws, np.full(len(draws), Fraction(1, len(draws)))
    return problem.noise.outcomes(problem.dimension)


def stochastic_gradients(problem: Analytic, y: Array, client: int) -> tuple[Array, Array]:
    """Stochastic gradients at y (d,) of all draws, (outcomes, d), and their probabilities."""
    draws, probabilities = outcomes(problem, client)
    many = np.broadcast_to(y, (len(draws), 1, len(y)))
    clients = np.full((len(draws), 1), client)
    if draws.shape[-1] == 0:
        return problem.gradient(many, clients)[:, 0], probabilities
    return problem.stochastic_gradient(many, clients, draws[:, None])[:, 0], probabilities


def _sampled(problem: Analytic) -> bool:
    noise = problem.noise
    return isinstance(noise, Additive) and noise.std > 0 and noise.kind != "rademacher"


def drawn(problem: Analytic, batch: int = 1, seed: int = 3) -> Array:
    """Noise in DRAWS extra gradients at 0, (DRAWS, d)."""
    cohort = Cohort(np.zeros((DRAWS, 1), dtype=int), np.ones((DRAWS, 1), dtype=bool), problem.n_clients)
    work = Work(
        np.zeros((DRAWS, problem.dimension)), 0, 0, gradient_at=np.zeros((DRAWS, problem.dimension)), batch=batch
    )
    draws = problem.draw(np.random.default_rng(seed), cohort, work).gradient
    y = np.zeros((DRAWS, 1, problem.dimension))
    noise = problem.stochastic_gradient(y, cohort.clients, draws) - problem.gradient(y, cohort.clients)
    return noise[:, 0]


def _variance(problem: Analytic, points: Array) -> tuple[float, float]:
    if _sampled(problem):
        return variance_interval(drawn(problem), problem.noise.kind)
    largest = 0.0
    for y, client in itertools.product(points, range(problem.n_clients)):
        gradients, probabilities = stochastic_gradients(problem, y, client)
        away = gradients - problem.gradient(y[None], np.array([client]))
        largest = max(largest, float(((away * away).sum(axis=-1) * probabilities).sum()))
    return largest, largest


def variance_interval(noise: Array, kind: str, peak: float = 3) -> tuple[float, float]:
    """An interval for E||noise||^2 of independent coordinates with a common variance, from (n, d) samples.

    peak: the largest square of a coordinate over its variance, 3 for a uniform one; Gaussian ones need none.
    """
    n, d = noise.shape
    total = float((noise * noise).sum())
    if kind == "gaussian":  # the sum over the variance of a coordinate is chi-squared
        return d * total / stats.chi2.isf(FALSE_ALARM, n * d), d * total / stats.chi2.ppf(FALSE_ALARM, n * d)
    width = peak * math.sqrt(math.log(1 / FALSE_ALARM) / (2 * n * d))  # Hoeffding
    return total / n / (1 + width), total / n / (1 - width)


def _noise_steepness(problem: Analytic, points: Array) -> float:
    """Largest (E||noise(u) - noise(v)||^2)^(1/2) / ||u - v||, with both noises from one draw."""
    if _sampled(problem):
        draw = np.random.default_rng(4).normal(size=(len(points), 1, problem.dimension))
        clients = np.zeros((len(points), 1), dtype=int)
        u, v = points[:, None], points[::-1, None]
        noise_u, noise_v = (
            problem.stochastic_gradient(y, clients, draw) - problem.gradient(y, clients) for y in (u, v)
        )
        return float((_norm(noise_u - noise_v) / _norm(u - v)).max())
    largest = 0.0
    directions = sample_points(problem.dimension, 60, seed=5)
    for client in range(problem.n_clients):
        for v in directions / _norm(directions)[:, None] * np.resize([1, 1e-2], (60, 1)):
            ends = [stochastic_gradients(problem, y, client) for y in (v, -v)]
            exact = [problem.gradient(y[None], np.array([client])) for y in (v, -v)]
            away = ends[0][0] - exact[0] - ends[1][0] + exact[1]
            largest = max(largest, float(((away * away).sum(axis=-1) * ends[0][1]).sum()) / (4 * float(v @ v)))
    return math.sqrt(largest)
