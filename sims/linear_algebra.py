"""Linear systems and spans of vectors, over floats and over exact rationals."""

from __future__ import annotations

import math
import warnings
from bisect import bisect
from fractions import Fraction

import numpy as np
import scipy.linalg

from fltheory.errors import InputError
from sims.arrays import Array, as_exact, is_exact

_ROUNDING = 1e-12  # of the size of the numbers that were combined: what is below is taken for a rounding error


def solve(matrix: Array, right: Array) -> Array:
    """x with matrix @ x = right, for right (n,) or (n, k); exact for exact input.

    Raises InputError if the matrix is singular, in floats also if it is so within rounding errors.
    """
    if matrix.shape[0] == 0:
        return right
    if is_exact(matrix) or is_exact(right):
        return _eliminate(matrix, right)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
            return scipy.linalg.solve(matrix, right)
    except (np.linalg.LinAlgError, scipy.linalg.LinAlgWarning):
        raise _singular() from None


def _singular() -> InputError:
    return InputError("matrix", "singular", "invertible: there is no unique solution")


def _eliminate(matrix: Array, right: Array) -> Array:
    """Bareiss's elimination: whole numbers all the way, every division without remainder, one fraction at the end."""
    n = matrix.shape[0]
    work = as_exact(np.concatenate([matrix, right.reshape((n, -1))], axis=1))
    common = [math.lcm(*(value.denominator for value in row)) for row in work]
    work = np.array(
        [[int(value * scale) for value in row] for row, scale in zip(work, common, strict=True)], dtype=object
    )
    before = 1
    for c in range(n):
        pivot = next((row for row in range(c, n) if work[row, c] != 0), None)
        if pivot is None:
            raise _singular()
        work[[c, pivot]] = work[[pivot, c]]
        crossed = np.multiply.outer(work[c + 1 :, c], work[c, c + 1 :])
        work[c + 1 :, c + 1 :] = (work[c, c] * work[c + 1 :, c + 1 :] - crossed) // before
        before = work[c, c]
    # `before` is now the determinant, and `before` times the solution is whole.
    whole = work[:, n:]
    for c in reversed(range(n)):
        whole[c] = (before * whole[c] - work[c, c + 1 : n] @ whole[c + 1 :]) // work[c, c]
    return as_exact(whole).reshape(right.shape) / Fraction(before)


class Span:
    """The span of vectors that come one by one, with the basis in reduced echelon form.

    Basis vector i has a 1 in coordinate pivots[i], where all others have 0: the coordinates of a vector of the span
    are its entries at the pivots. Pivots increase, and coordinate 0 is one if any vector has it: the coordinates of a
    homogeneous vector (1, s) begin with 1 as well.

    vanish   orthonormal rows (k, size) of functionals that are 0 on all vectors but for rounding errors
    """

    def __init__(self, size: int, vanish: Array | None = None) -> None:
        self.size = size
        self._vanish = vanish
        self.pivots: list[int] = []
        self._basis: list[Array] = []

    @property
    def basis(self) -> Array:
        """The basis as columns, (size, dimension)."""
        return np.stack(self._basis, axis=1)

    def add(self, vector: Array, scale: float = 0) -> Array | None:
        """Take in a vector; return what of it was new, None if nothing was.

        In floats a remainder counts as rounding error if it is 1e12 times smaller than the vector, or than `scale`,
        the size of numbers that cancelled when the vector was made.
        """
        left = self._beyond(vector)
        if self._vanish is not None and len(self._vanish):
            left = self._beyond(left - self._vanish.T @ (self._vanish @ left))
        size = np.abs(left).max(initial=0)
        if size == 0 or (not is_exact(vector) and size <= _ROUNDING * max(np.abs(vector).max(), scale)):
            return None
        pivot = 0 if left[0] != 0 else int(np.argmax(np.abs(left)))
        new = left / left[pivot]
        self._basis = [basis - basis[pivot] * new for basis in self._basis]
        place = bisect(self.pivots, pivot)
        self._basis.insert(place, new)
        self.pivots.insert(place, pivot)
        return left

    def _beyond(self, vector: Array) -> Array:
        """The vector less its part in the span; 0 at the pivots."""
        left = vector
        for pivot, basis in zip(self.pivots, self._basis, strict=True):
            left = left - vector[pivot] * basis
        return left
