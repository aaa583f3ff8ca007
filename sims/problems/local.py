"""The local steps of a round, for any problem and any algorithm."""

from __future__ import annotations

from sims.algorithms.protocol import Cohort, Local, Work
from sims.arrays import Array, array_namespace, zeros
from sims.problems.base import Draws, Problem


def local_update(problem: Problem, work: Work, cohort: Cohort, draws: Draws) -> Local:
    """What every client of the cohort returns; padding slots compute too and are ignored by the algorithms.

    A step is y -= step_size * (g(y) + correction + proximal * (y - start)), with g a fresh stochastic gradient or,
    if `work.direction` is given, the recursive estimate g_{k+1} = g_k - g(y_{k-1}; b_k) + g(y_k; b_k), which takes
    both gradients on one sample b_k and starts from the direction at y_{-1} = `work.previous`, or y_0.
    """
    start = _each(work.start, cohort)
    gradient = None
    if work.gradient_at is not None:
        gradient = problem.stochastic_gradient(_each(work.gradient_at, cohort), cohort.clients, draws.gradient)
        if work.gradient_since is not None:
            since = _each(work.gradient_since, cohort)
            gradient = gradient - problem.stochastic_gradient(since, cohort.clients, draws.gradient)
    if work.steps == 0:
        return Local(zeros(start.shape, start), gradient)
    y, previous = start, start if work.previous is None else _each(work.previous, cohort)
    estimate = None if work.direction is None else _each(work.direction, cohort)
    for k in range(work.steps):
        sample = None if draws.steps is None else draws.steps[k]
        fresh = problem.stochastic_gradient(y, cohort.clients, sample)
        if estimate is not None:
            estimate = estimate - problem.stochastic_gradient(previous, cohort.clients, sample) + fresh
        step = fresh if estimate is None else estimate
        if work.correction is not None:
            step = step + work.correction
        if work.proximal:
            step = step + work.proximal * (y - start)
        previous, y = y, y - work.step_size * step
    return Local(y - start, gradient)


def _each(model: Array, cohort: Cohort) -> Array:
    """A model (..., d) as the starting point of every slot, (..., S, d)."""
    xp = array_namespace(model)
    return xp.broadcast_to(model[..., None, :], (*cohort.clients.shape, model.shape[-1]))
