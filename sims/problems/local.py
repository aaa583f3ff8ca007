"""The local steps of a round, for any problem and any algorithm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sims.algorithms.protocol import Cohort, Local, Work
from sims.arrays import Array, array_namespace, zeros
from sims.problems.base import Draws, Problem


def local_update(problem: Problem, work: Work, cohort: Cohort, draws: Draws) -> Local:
    """What every client of the cohort returns; padding slots compute too and are ignored by the algorithms.

    A step is y -= step_size * (g(y) + correction + proximal * (y - start)), with g a fresh stochastic gradient or,
    if `work.direction` is given, the recursive estimate g_{k+1} = g_k - g(y_{k-1}; b_k) + g(y_k; b_k), which takes
    both gradients on one sample b_k and starts from the direction at y_{-1} = `work.previous`, or y_0.

    All clients of the cohort step at once, or as many as the problem says (`slots_at_once`), group after group. A
    problem that can `descend` takes all plain steps of all clients itself.
    """
    slots, at_once = cohort.clients.shape[-1], getattr(problem, "slots_at_once", None)
    if at_once is None or slots <= at_once or _descends(problem, work, draws):
        return _local_update(problem, work, cohort, draws)
    groups = [slice(first, first + at_once) for first in range(0, slots, at_once)]
    parts = [_local_update(problem, *_of_slots(group, work, cohort, draws)) for group in groups]
    concat = array_namespace(parts[0].delta).concat
    gradients = [part.gradient for part in parts if part.gradient is not None]
    delta = concat([part.delta for part in parts], axis=-2)
    return Local(delta, concat(gradients, axis=-2) if gradients else None)


def _local_update(problem: Problem, work: Work, cohort: Cohort, draws: Draws) -> Local:
    start = _each(work.start, cohort)
    gradient = None
    if work.gradient_at is not None:
        gradient = problem.stochastic_gradient(_each(work.gradient_at, cohort), cohort.clients, draws.gradient)
        if work.gradient_since is not None:
            since = _each(work.gradient_since, cohort)
            gradient = gradient - problem.stochastic_gradient(since, cohort.clients, draws.gradient)
    if work.steps == 0:
        return Local(zeros(start.shape, start), gradient)
    if _descends(problem, work, draws):
        delta = problem.descend(start, cohort.clients, draws.steps, work.step_size)  # type: ignore[attr-defined]
        delta -= start  # in place: these are the largest arrays of a round
        return Local(delta, gradient)
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


def _descends(problem: Problem, work: Work, draws: Draws) -> bool:
    """Whether the problem takes the steps itself: y -= step_size * g(y) and no more, with one step size for all."""
    if not work.steps or draws.steps is None or getattr(problem, "descend", None) is None:
        return False
    one_size = not getattr(work.step_size, "shape", ())
    return one_size and work.correction is None and work.direction is None and not work.proximal


def _of_slots(group: slice, work: Work, cohort: Cohort, draws: Draws) -> tuple[Work, Cohort, Draws]:
    """What concerns these slots."""

    def cut(array: Array | None, axis: int) -> Any:
        return None if array is None else array[(..., group, *[slice(None)] * (-axis - 1))]

    own_size = getattr(work.step_size, "shape", ())
    step_size = cut(work.step_size, -2) if own_size else work.step_size
    clients, valid, weight, role = (cut(getattr(cohort, n), -1) for n in ("clients", "valid", "weight", "role"))
    return (
        replace(work, step_size=step_size, correction=cut(work.correction, -2)),
        replace(cohort, clients=clients, valid=valid, weight=weight, role=role),
        Draws(cut(draws.steps, -2), cut(draws.gradient, -2)),
    )
