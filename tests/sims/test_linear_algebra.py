"""Systems and spans, exactly and in floats."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fltheory.errors import InputError
from sims.arrays import as_exact
from sims.linear_algebra import Span, solve

RATIONALS = st.fractions(min_value=-3, max_value=3, max_denominator=7)


def matrices(rows, columns):
    return st.lists(st.lists(RATIONALS, min_size=columns, max_size=columns), min_size=rows, max_size=rows).map(as_exact)


@given(matrices(4, 4), matrices(4, 2))
def test_solution_or_refusal(matrix, right):
    """Exactly one of: it solves the system, or some combination of rows vanishes (by floats' rank)."""
    try:
        solution = solve(matrix, right)
    except InputError:
        assert np.linalg.matrix_rank(matrix.astype(float)) < 4
        return
    assert (matrix @ solution == right).all()
    assert all(isinstance(value, F) for value in solution.flat)


def test_floats_agree_and_refuse_what_is_singular_within_rounding():
    hilbert = as_exact([[F(1, i + j + 1) for j in range(4)] for i in range(4)])
    one = as_exact([1, 1, 1, 1])
    np.testing.assert_allclose(
        solve(hilbert.astype(float), one.astype(float)), solve(hilbert, one).astype(float), rtol=1e-9
    )
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-17]])
    for matrix in (nearly, as_exact([[1, 2], [2, 4]]), np.array([[0.1, 0.3], [0.3, 0.9]])):
        with pytest.raises(InputError, match="no unique solution"):
            solve(matrix, matrix[0])


def test_pivots_may_have_to_be_exchanged_and_nothing_may_be_left():
    assert solve(as_exact([[0, 2], [3, 0]]), as_exact([1, 1])).tolist() == [F(1, 3), F(1, 2)]
    assert solve(as_exact(np.zeros((0, 0), dtype=int)), as_exact([])).size == 0


def test_floats_among_exact_numbers_are_refused():
    with pytest.raises(TypeError, match="is a float"):
        solve(as_exact([[1]]), np.array([0.5]))


@given(matrices(5, 4))
def test_span_has_the_dimension_and_all_the_vectors(vectors):
    span = Span(4)
    new = [span.add(vector) is not None for vector in vectors]
    assert sum(new) == len(span.pivots) == np.linalg.matrix_rank(vectors.astype(float))
    assert span.pivots == sorted(span.pivots)
    if span.pivots:
        assert (span.basis[span.pivots] == np.eye(len(span.pivots), dtype=int)).all()
        assert all((span.basis @ vector[span.pivots] == vector).all() for vector in vectors)


def test_span_in_floats_takes_rounding_errors_for_what_they_are():
    span = Span(3)
    assert span.add(np.array([1.0, 1 / 3, 0.1])) is not None
    assert span.add(np.array([3.0, 1.0, 0.3])) is None  # 3 times it, but for rounding
    assert span.add(np.array([0.0, 1e-15, 0.0]), scale=1.0) is None  # left over from numbers of size 1
    assert span.add(np.array([0.0, 1e-9, 0.0]), scale=1.0) is not None
    assert span.pivots == [0, 1]


def test_span_keeps_out_what_breaks_a_law():
    """(1, -1, 0) is 0 on all vectors: what rounding adds along it is not new, however large beside what is left."""
    law = np.array([[1.0, -1.0, 0.0]]) / np.sqrt(2)
    span = Span(3, law)
    assert span.add(np.array([1.0, 1.0, 0.0])) is not None
    assert span.add(np.array([1.0, 1.0 + 1e-9, 0.0])) is None
    assert span.add(np.array([1.0, 1.0, 1e-9])) is not None
    assert len(span.pivots) == 2
    np.testing.assert_allclose(law @ span.basis, 0, atol=1e-15)
