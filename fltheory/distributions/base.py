"""What every law of an interval shares: masks, quantiles, sums, draws.

A law is a class whose attributes are its parameters, arrays already broadcast against each other, and which
has a few private hooks. Hooks check nothing: they see whole numbers inside the support, as float64.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fltheory.distributions.arguments import Floats, numbers, sample_shape
from fltheory.errors import LARGEST, InputError, probabilities

# np.float64 where all arguments are scalars, else an array: typed as numpy types its own ufuncs.
Values: TypeAlias = Any

TERMS = 10**7  # the longest sum that `expect` is willing to do
NEGLIGIBLE = 1e-300  # probability beyond the last term of such a sum


class IntervalLaw(ABC):
    """A law on the whole numbers from 1 on, with the methods and conventions of a frozen `scipy.stats` law.

    Arguments broadcast against the parameters; a result is a float where all of them are scalars. A bad
    argument, NaN included, raises `InputError` instead of returning NaN.
    """

    @abstractmethod
    def _support(self) -> tuple[Floats, Floats]: ...

    @abstractmethod
    def _pmf(self, k: Floats) -> Floats: ...

    @abstractmethod
    def _cdf(self, k: Floats) -> Floats: ...

    @abstractmethod
    def _sf(self, k: Floats) -> Floats: ...

    @abstractmethod
    def _mean(self) -> Floats: ...

    @abstractmethod
    def _scaled_var(self) -> tuple[Floats, Floats]:
        """Return (v, s) with variance v s**2: the deviation is finite where the variance overflows."""

    @abstractmethod
    def _entropy(self) -> Floats: ...

    @abstractmethod
    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats: ...

    def _logpmf(self, k: Floats) -> Floats:
        return np.log(self._pmf(k))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the broadcast parameters."""
        return self._support()[0].shape

    def support(self) -> tuple[Values, Values]:
        """Return the smallest and the largest interval (may be inf) that has positive probability."""
        low, high = self._support()
        return _result(low), _result(high)

    def pmf(self, k: npt.ArrayLike) -> Values:
        """P(X = k); 0 where k is no whole number or outside the support."""
        return self._mass(self._pmf, k, outside=0.0)

    def logpmf(self, k: npt.ArrayLike) -> Values:
        """log P(X = k); -inf where k is no whole number or outside the support."""
        return self._mass(self._logpmf, k, outside=-math.inf)

    def cdf(self, k: npt.ArrayLike) -> Values:
        """P(X <= k)."""
        return self._cumulated(self._cdf, k, below=0.0)

    def sf(self, k: npt.ArrayLike) -> Values:
        """P(X > k), accurate also where it is tiny."""
        return self._cumulated(self._sf, k, below=1.0)

    def ppf(self, q: npt.ArrayLike) -> Values:
        """Smallest k with P(X <= k) >= q; at q = 0 one less than the smallest interval, as in scipy."""
        level = probabilities("q", q, zero=True)
        return self._quantile(level, lambda k: self.cdf(k) >= level, below=0.0)

    def isf(self, q: npt.ArrayLike) -> Values:
        """Smallest k with P(X > k) <= q: `ppf(1 - q)` without the rounding of 1 - q."""
        level = probabilities("q", q, zero=True)
        return self._quantile(level, lambda k: self.sf(k) <= level, below=1.0)

    def median(self) -> Values:
        """Smallest k with P(X <= k) >= 1/2."""
        return self.ppf(0.5)

    def mean(self) -> Values:
        """E[X], in rounds."""
        with _limits():
            return _result(self._mean())

    def var(self) -> Values:
        """Var[X], in rounds squared; inf where it exceeds the largest float."""
        with _limits():
            value, scale = self._scaled_var()
            return _result(value * scale * scale)

    def std(self) -> Values:
        """Standard deviation of X, in rounds."""
        with _limits():
            value, scale = self._scaled_var()
            return _result(np.sqrt(value) * scale)

    def entropy(self) -> Values:
        """Shannon entropy of X, in nats."""
        with _limits():
            return _result(self._entropy())

    def expect(self, f: Callable[[Floats], npt.ArrayLike]) -> Values:
        """E[f(X)], summed term by term; `f` maps an array of intervals to an array of the same shape.

        An unbounded support is followed until 1e-300 of the probability is left, which is beyond any effect
        unless f grows about as fast as 1 / P(X > k). Raises `InputError` where that takes more than 10**7
        terms, and for an f that is no function to numbers.
        """
        if not callable(f):
            raise InputError("f", f, "a function of an array of intervals")
        first, last = self._support()
        start = np.min(first, initial=math.inf)
        stop = np.max(np.minimum(last, self.isf(NEGLIGIBLE)), initial=0.0)
        if stop - start >= TERMS:
            raise InputError("the number of terms of the sum", float(stop - start + 1), f"at most {TERMS}")
        total = np.zeros(self.shape)
        if total.size == 0:
            return _result(total)
        block = max(1, 2**18 // max(1, total.size))
        for begin in np.arange(start, stop + 1, block):
            k = np.arange(begin, min(begin + block, stop + 1)).reshape(-1, *[1] * total.ndim)
            weight, values = self.pmf(k), np.asarray(f(k))
            if values.dtype.kind not in "biufc":
                raise InputError("f", f, f"a function to numbers, not to {values.dtype}")
            # f may overflow where the probability is 0: that is no term of the sum.
            total = total + np.where(weight > 0, weight * values, 0.0).sum(axis=0)
        return _result(total)

    def rvs(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> Any:
        """Draw intervals as int64 of shape `size` (None: the parameters' shape), at O(1) an interval.

        Raises `InputError` where a drawn interval exceeds 2**53: it is never rounded to a wrong integer.
        """
        if not isinstance(rng, np.random.Generator):
            raise InputError("rng", rng, "a numpy.random.Generator")
        with _limits():
            drawn = self._draw(sample_shape(size, self.shape), rng)
        if (drawn > LARGEST).any():
            allowed = "at most 2**53 to be an exact integer (a finite cutoff or a larger probability keeps it so)"
            raise InputError("a drawn interval", float(drawn.max()), allowed)
        return drawn.astype(np.int64)[()]

    def __repr__(self) -> str:
        shown = (f"{name}={np.array2string(array, threshold=6)}" for name, array in vars(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def _mass(self, hook: Callable[[Floats], Floats], k: npt.ArrayLike, *, outside: float) -> Values:
        at, low, high = self._with_support("k", numbers("k", k))
        inside = (at >= low) & (at <= high) & (at == np.floor(at)) & np.isfinite(at)
        with _limits():
            return _result(np.where(inside, hook(np.where(inside, at, low)), outside))

    def _cumulated(self, hook: Callable[[Floats], Floats], k: npt.ArrayLike, *, below: float) -> Values:
        at, low, high = self._with_support("k", np.floor(numbers("k", k)))
        inside = (at >= low) & (at < high)
        with _limits():
            value = hook(np.where(inside, at, low))
        return _result(np.where(inside, value, np.where(at < low, below, 1.0 - below)))

    def _quantile(self, level: Floats, reached: Callable[[Floats], Any], *, below: float) -> Values:
        """Bisect for the smallest whole number at which `reached`, false then true, is true.

        At level `below` the answer is one less than the support, at 1 - `below` the end of the support.
        """
        level, first, last = self._with_support("q", level)
        low, high = first - 1, np.minimum(last, np.finfo(np.float64).max)
        while True:
            # Where the bracket spans powers of two halve its exponents, then halve the bracket itself.
            wide = high / 2 > low + 1
            middle = np.where(wide, np.sqrt(np.maximum(low, 1)) * np.sqrt(high), low + (high - low) / 2)
            middle = np.floor(middle)
            undecided = (low < middle) & (middle < high)
            if not undecided.any():
                break
            there = reached(middle)
            high = np.where(undecided & there, middle, high)
            low = np.where(undecided & ~there, middle, low)
        high = np.where(reached(high), high, math.inf)  # beyond the largest float
        return _result(np.where(level == below, first - 1, np.where(level == 1 - below, last, high)))

    def _with_support(self, argument: str, value: Floats) -> tuple[Floats, Floats, Floats]:
        low, high = self._support()
        try:
            at, low, high = np.broadcast_arrays(value, low, high)
            return at, low, high
        except ValueError:
            allowed = f"compatible with the parameters' shape {low.shape}"
            raise InputError(f"shape of {argument}", value.shape, allowed) from None


def _limits() -> np.errstate:
    """Let log(0), division by zero and overflow be the limits that they stand for; NaN still warns."""
    return np.errstate(divide="ignore", over="ignore", under="ignore")


def _result(array: Floats) -> Values:
    """A scalar where the array has no axes; -0.0 becomes 0.0."""
    return (array + 0.0)[()]
