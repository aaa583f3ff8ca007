"""Interval laws beside the geometric one: a two-state Markov chain, and any finite law."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log1p, xlog1py, xlogy

from fltheory.distributions.arguments import Floats, broadcast, whole_numbers
from fltheory.distributions.base import IntervalLaw
from fltheory.errors import InputError, probabilities


class TwoStateInterval(IntervalLaw):
    """Rounds from a participation to the next one, for a client that is a two-state Markov chain.

    P(X = 1) = 1 - leave and P(X = k) = leave (1 - enter)^(k-2) enter for k >= 2, where enter = P(off -> on)
    and leave = P(on -> off). Bernoulli participation is enter = p, leave = 1 - p.

    Parameters
    ----------
    enter : in (0, 1]; array-like.
    leave : in [0, 1]; array-like, broadcasts with enter.

    Raises `InputError` for any other value, or where the shapes do not fit.

    >>> float(TwoStateInterval(enter=0.05, leave=0.45).mean())
    10.0
    """

    def __init__(self, enter: npt.ArrayLike, leave: npt.ArrayLike) -> None:
        self.enter, self.leave = broadcast(
            enter=probabilities("enter", enter), leave=probabilities("leave", leave, zero=True)
        )

    def _support(self) -> tuple[Floats, Floats]:
        longest = np.where(self.enter == 1, 2.0, math.inf)
        return np.where(self.leave == 1, 2.0, 1.0), np.where(self.leave == 0, 1.0, longest)

    def _pmf(self, k: Floats) -> Floats:
        away = self.leave * self.enter * np.exp(xlog1py(np.maximum(k - 2, 0), -self.enter))
        return np.where(k == 1, 1 - self.leave, away)

    def _logpmf(self, k: Floats) -> Floats:
        away = np.log(self.leave) + np.log(self.enter) + xlog1py(np.maximum(k - 2, 0), -self.enter)
        return np.where(k == 1, log1p(-self.leave), away)

    def _cdf(self, k: Floats) -> Floats:
        return (1 - self.leave) - self.leave * np.expm1(xlog1py(k - 1, -self.enter))

    def _sf(self, k: Floats) -> Floats:
        return self.leave * np.exp(xlog1py(k - 1, -self.enter))

    def _mean(self) -> Floats:
        return 1 + self.leave / self.enter

    def _scaled_var(self) -> tuple[Floats, Floats]:
        return self.leave * ((1 - self.enter) + (1 - self.leave)), 1 / self.enter

    def _entropy(self) -> Floats:
        stay = -xlogy(self.leave, self.leave) - xlog1py(1 - self.leave, -self.leave)
        away = -np.log(self.enter) - xlog1py(1 - self.enter, -self.enter) / self.enter
        return stay + self.leave * away

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        # One exponential E serves both steps: the client leaves if E >= -log(leave), and what is left of E
        # then is again exponential.
        left = rng.standard_exponential(shape) + np.log(self.leave)
        return np.where(left >= 0, 2 + np.floor(np.maximum(left, 0) / -log1p(-self.enter)), 1.0)


class Discrete(IntervalLaw):
    """A finite law: interval `values[..., j]` with probability `probabilities[..., j]`.

    Parameters
    ----------
    values : whole numbers from 1 to 2**53, atoms along the last axis; array-like. A value may occur twice.
    probabilities : in [0, 1], summing to 1 (up to 1e-9, then rescaled) along the last axis; array-like,
        broadcasts with values.

    Raises `InputError` for any other value, or where the shapes do not fit. Costs O(atoms) a number.

    >>> cyclic = Discrete([1, 91], [0.9, 0.1])  # 10 rounds on, 90 off
    >>> float(cyclic.mean()), float(cyclic.sf(1))
    (10.0, 0.1)
    """

    def __init__(self, values: npt.ArrayLike, probabilities: npt.ArrayLike) -> None:
        atoms, weights = whole_numbers("values", values), _distribution(probabilities)
        if atoms.shape[-1:] != weights.shape[-1:]:
            raise InputError("values", values, f"as many as there are probabilities, {weights.shape[-1]}")
        self.values, self.probabilities = broadcast(values=atoms, probabilities=weights)

    def _support(self) -> tuple[Floats, Floats]:
        possible = self.probabilities > 0
        low = np.where(possible, self.values, math.inf).min(axis=-1)
        return low, np.where(possible, self.values, 0.0).max(axis=-1)

    def _sum_where(self, chosen: Callable[[Floats], Any]) -> Any:
        """Add the probabilities of the chosen atoms, in one order: choosing more never rounds to less."""
        atoms = zip(np.moveaxis(self.values, -1, 0), np.moveaxis(self.probabilities, -1, 0), strict=True)
        return np.minimum(sum(probability * chosen(value) for value, probability in atoms), 1.0)

    def _pmf(self, k: Floats) -> Floats:
        return np.asarray(self._sum_where(lambda value: value == k))

    def _cdf(self, k: Floats) -> Floats:
        return np.asarray(self._sum_where(lambda value: value <= k))

    def _sf(self, k: Floats) -> Floats:
        return np.asarray(self._sum_where(lambda value: value > k))

    def _mean(self) -> Floats:
        return np.asarray((self.probabilities * self.values).sum(axis=-1))

    def _scaled_var(self) -> tuple[Floats, Floats]:
        deviation = self.values - self._mean()[..., np.newaxis]
        return np.asarray((self.probabilities * deviation**2).sum(axis=-1)), np.ones(self.shape)

    def _entropy(self) -> Floats:
        # Each atom with the probability of its value, which other atoms may share.
        pmf = [self._pmf(value) for value in np.moveaxis(self.values, -1, 0)]
        return np.asarray(-xlogy(self.probabilities, np.stack(pmf, axis=-1)).sum(axis=-1))

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        passed = np.cumsum(self.probabilities, axis=-1)
        passed = np.moveaxis(passed / passed[..., -1:], -1, 0)
        uniform = rng.random(shape)
        atom = sum((uniform >= bound).astype(np.intp) for bound in passed)
        values = np.broadcast_to(self.values, (*shape, self.values.shape[-1]))
        return np.asarray(np.take_along_axis(values, np.asarray(atom)[..., np.newaxis], axis=-1)[..., 0])


def _distribution(value: npt.ArrayLike) -> Floats:
    array = np.atleast_1d(probabilities("probabilities", value, zero=True))
    total: Floats = array.sum(axis=-1, keepdims=True)
    if array.size == 0 or (np.abs(total - 1) > 1e-9).any():
        raise InputError("probabilities", value, "at least one probability, summing to 1 along the last axis")
    return array / total
