"""The local steps of a round, for any problem and any algorithm."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from sims.algorithms.protocol import Cohort, Local, Work
from sims.arrays import Array, array_namespace, device, put_rows, take_rows, zeros
from sims.problems.base import Draws, Problem

Compute = Callable[[Problem, Work, Array, Draws], Array]  # for clients (..., S): (..., S, d)


def local_update(problem: Problem, work: Work, cohort: Cohort, draws: Draws) -> Local:
    """What every client of the cohort returns; padding slots compute too and are ignored by the algorithms.

    A step is y -= step_size * (g(y) + correction + proximal * (y - start)), with g a fresh stochastic gradient or,
    if `work.direction` is given, the recursive estimate g_{k+1} = g_k - g(y_{k-1}; b_k) + g(y_k; b_k), which takes
    both gradients on one sample b_k and starts from the direction at y_{-1} = `work.previous`, or y_0.

    All clients of the cohort step at once, or as many as the problem says (`slots_at_once`), group after group. A
    problem that can `descend` takes all plain steps of all clients itself. Where the work is divided (`steps_by`,
    `gradient_by`) each client computes its part; rows of the other part mean nothing.
    """
    with looked_after(problem, cohort):
        return _work(problem, work, cohort, draws)


def looked_after(problem: Problem, cohort: Cohort) -> AbstractContextManager[Any]:
    """Around what clients compute: a problem may look after it (`working`)."""
    around: Callable[[Cohort], AbstractContextManager[Any]] = getattr(problem, "working", nullcontext)
    return around(cohort)


def _work(problem: Problem, work: Work, cohort: Cohort, draws: Draws) -> Local:
    gradient = None
    if work.gradient_at is not None:
        gradient = _by(work.gradient_by, _gradient, problem, work, cohort.clients, draws)
    if work.steps == 0:
        return Local(_zeros(work, cohort.clients), gradient)
    return Local(_by(work.steps_by, _steps, problem, work, cohort.clients, draws), gradient)


def _gradient(problem: Problem, work: Work, clients: Array, draws: Draws) -> Array:
    """The extra gradient of every client."""
    gradient = problem.stochastic_gradient(_each(work.gradient_at, clients), clients, draws.gradient)
    if work.gradient_since is None:
        return gradient
    return gradient - problem.stochastic_gradient(_each(work.gradient_since, clients), clients, draws.gradient)


def _steps(problem: Problem, work: Work, clients: Array, draws: Draws) -> Array:
    """How far the local steps lead every client."""
    start = _each(work.start, clients)
    if _descends(problem, work, draws):
        return problem.descend(start, clients, draws.steps, work.step_size)  # type: ignore[attr-defined]
    y, previous = start, start if work.previous is None else _each(work.previous, clients)
    estimate = None if work.direction is None else _each(work.direction, clients)
    for k in range(work.steps):
        sample = None if draws.steps is None else draws.steps[k]
        fresh = problem.stochastic_gradient(y, clients, sample)
        if estimate is not None:
            estimate = estimate - problem.stochastic_gradient(previous, clients, sample) + fresh
        step = fresh if estimate is None else estimate
        if work.correction is not None:
            step = step + work.correction
        if work.proximal:
            step = step + work.proximal * (y - start)
        previous, y = y, y - work.step_size * step
    return y - start


def _zeros(work: Work, clients: Array) -> Array:
    return zeros((*clients.shape, work.start.shape[-1]), work.start)


def _by(chosen: Array | None, compute: Compute, problem: Problem, work: Work, clients: Array, draws: Draws) -> Array:
    """`compute` for the chosen slots (..., S), for all without a choice: (..., S, d).

    In a batch as many slots are computed everywhere as there are chosen where most are.
    """
    if chosen is None or (most := int(chosen.sum(-1).max())) == clients.shape[-1]:
        return _in_groups(compute, problem, work, clients, draws)
    result = _zeros(work, clients)
    if not most:
        return result
    xp = array_namespace(clients)
    there = xp.argsort(xp.astype(~chosen, xp.int8), stable=True)[..., :most]

    def take(rows: Array) -> Array:
        of = array_namespace(rows)  # draws may be of numpy for a model of torch, and have batch axes of length 1
        lead = np.broadcast_shapes(rows.shape[:-2], there.shape[:-1])
        index = of.broadcast_to(of.asarray(there, device=device(rows)), (*lead, most))
        return take_rows(of.broadcast_to(rows, (*lead, *rows.shape[-2:])), index)

    rows = _in_groups(compute, problem, *_of_slots(take, work, clients, draws))
    return put_rows(result, there, xp.take_along_axis(chosen, there, axis=-1), rows)


def _in_groups(compute: Compute, problem: Problem, work: Work, clients: Array, draws: Draws) -> Array:
    """`compute` for all slots, as many at once as the problem says."""
    slots, at_once = clients.shape[-1], getattr(problem, "slots_at_once", None)
    if at_once is None or slots <= at_once or (compute is _steps and _descends(problem, work, draws)):
        return compute(problem, work, clients, draws)
    groups = [slice(first, first + at_once) for first in range(0, slots, at_once)]
    takes = [itemgetter((..., group, slice(None))) for group in groups]
    parts = [compute(problem, *_of_slots(take, work, clients, draws)) for take in takes]
    return array_namespace(parts[0]).concat(parts, axis=-2)


def _of_slots(take: Callable[[Array], Array], work: Work, clients: Array, draws: Draws) -> tuple[Work, Array, Draws]:
    """What concerns the slots that `take` takes of an array (..., S, width)."""

    def cut(array: Array | None) -> Any:
        return None if array is None else take(array)

    step_size = take(work.step_size) if getattr(work.step_size, "shape", ()) else work.step_size
    of_slots = replace(work, step_size=step_size, correction=cut(work.correction))
    return of_slots, take(clients[..., None])[..., 0], Draws(cut(draws.steps), cut(draws.gradient))


def _each(model: Array, clients: Array) -> Array:
    """A model (..., d) as the starting point of every slot, (..., S, d)."""
    xp = array_namespace(model)
    return xp.broadcast_to(model[..., None, :], (*clients.shape, model.shape[-1]))


def _descends(problem: Problem, work: Work, draws: Draws) -> bool:
    """Whether the problem takes the steps itself: y -= step_size * g(y) and no more, with one step size for all."""
    if draws.steps is None or getattr(problem, "descend", None) is None:
        return False
    one_size = not getattr(work.step_size, "shape", ())
    return one_size and work.correction is None and work.direction is None and not work.proximal
