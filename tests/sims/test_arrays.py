"""Sums over clients: in rationals exactly, in floats as numpy adds them, on torch as a matrix product."""

from fractions import Fraction

import numpy as np
import pytest

from sims.algorithms.protocol import total
from sims.arrays import as_exact, require_exact, sum_rows


def test_sums_of_rationals_are_exact():
    rows, weights = as_exact([["1/3", 1], [2, "1/7"], [0, -1]]), as_exact([3, "1/2", 9])
    assert sum_rows(rows).tolist() == [Fraction(7, 3), Fraction(1, 7)]
    assert sum_rows(rows, weights).tolist() == [2, Fraction(-83, 14)]
    nobody = total(rows[:0], np.array([], dtype=bool), weights[:0])
    require_exact({"nobody": nobody})
    assert nobody.tolist() == [0, 0]


def test_slots_that_are_not_valid_do_not_count_whatever_stands_in_them():
    rows, valid = np.array([[1.0, 2.0], [np.nan, np.inf], [3.0, 4.0]]), np.array([True, False, True])
    assert total(rows, valid).tolist() == [4, 6]
    assert total(rows, valid, np.array([10.0, 10.0, 1.0])).tolist() == [13, 24]


@pytest.mark.torch
def test_torch_sums_as_numpy_does():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    table, weights, valid = rng.standard_normal((2, 5, 3)), rng.random((2, 5)), rng.random((2, 5)) < 0.5
    there = [torch.from_numpy(array) for array in (table, weights)]
    table_with_gaps = table.copy()
    table_with_gaps[~valid] = np.nan
    gaps = torch.from_numpy(table_with_gaps)
    for number in (1, 2):
        np.testing.assert_allclose(sum_rows(*there[:number]), sum_rows(*(table, weights)[:number]), rtol=1e-13)
        found = total(gaps, torch.from_numpy(valid), *there[1:number])
        np.testing.assert_allclose(found, total(table_with_gaps, valid, *(weights,)[: number - 1]), rtol=1e-13)
