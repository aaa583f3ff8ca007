"""All values that a round's gradient noise can take, for noise with finitely many."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from sims.algorithms.protocol import Cohort, Work
from sims.arrays import Array, is_exact
from sims.problems.base import Draws
from sims.problems.noise import Additive, Minibatch, Noise


def all_draws(noise: Noise | Minibatch, cohort: Cohort, work: Work) -> Iterator[tuple[Fraction, Draws]]:
    """(probability, draws with a batch axis of length 1) for a cohort without one; padding slots draw nothing.

    Raises InputError for noise with infinitely many values, such as Gaussian.
    """
    slots = np.flatnonzero(cohort.valid)
    if not slots.size or (isinstance(noise, Additive) and noise.std == 0):
        yield Fraction(1), Draws()
        return
    values, probabilities = noise.outcomes(work.start.shape[-1])
    if is_exact(values) and not is_exact(work.start):
        values = values.astype(np.float64)
    batch = (work.batch or 0) if work.gradient_at is not None else 0  # no batch: all samples, the exact gradient
    for chosen in itertools.product(range(len(values)), repeat=len(slots) * (work.steps + batch)):
        samples = np.zeros_like(values, shape=(work.steps + batch, 1, len(cohort.clients), values.shape[-1]))
        samples[:, 0, slots] = values[np.reshape(chosen, (-1, len(slots))).astype(int)]
        steps, extra = samples[: work.steps], samples[work.steps :]
        probability = math.prod(probabilities[list(chosen)], start=Fraction(1))
        yield probability, Draws(steps if work.steps else None, _pooled(extra) if batch else None)


def _pooled(samples: Array) -> Array:
    """Samples (batch, ...) of one gradient as one draw: their average, or their indices side by side."""
    if np.issubdtype(samples.dtype, np.integer):
        return np.concatenate(samples, axis=-1)
    return samples.sum(axis=0) / len(samples)
