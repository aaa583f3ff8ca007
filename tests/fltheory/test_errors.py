"""Bad input: one sentence, which survives the way back from a worker process."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fltheory.errors import InputError, count, cutoff, probabilities
from fltheory.ledger import unknown_claim


@pytest.mark.parametrize("error", [InputError("p", 1.5, "in (0, 1]"), unknown_claim("fedau.thm33", ["fedau.thm3"])])
def test_errors_survive_pickling(error: InputError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert (copy.argument, copy.value, copy.allowed) == (error.argument, error.value, error.allowed)


@pytest.mark.parametrize("value", [0, -0.1, 1.1, math.nan, math.inf, "0.5", True, None, [0.5, math.nan], [[0.1], [2]]])
def test_what_is_no_probability(value: Any) -> None:
    with pytest.raises(InputError, match=r"^p must be .*\(0, 1\]"):
        probabilities("p", value)


@pytest.mark.parametrize(
    "value", [0, -1, 1.5, 3.0, np.float64(3), Fraction(3), math.nan, math.inf, "3", True, np.True_, None]
)
def test_what_is_no_count(value: Any) -> None:
    with pytest.raises(InputError, match=r"^rounds must be a whole number of at least 1"):
        count("rounds", value)
    if value not in (math.inf, 3):
        with pytest.raises(InputError, match="or infinity"):
            cutoff("cutoff", value)


@pytest.mark.parametrize("value", [2**53 + 1, 10**400, 1e300, np.float64(2**54)])
def test_a_cutoff_that_floats_do_not_hold_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"^cutoff must be at most 2\*\*53, or infinity; got "):
        cutoff("cutoff", value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.array([[Fraction(1), Fraction(0)], [Fraction(0), Fraction(-1, 2)]]), "[[1 0] [0 -1/2]]"),
        (np.array([[0.5, 1.0], [2.0, -1.0]]), "[[ 0.5  1. ] [ 2.  -1. ]]"),
        ([np.float64(0.5), [Fraction(1, 3), 2]], "[0.5, [1/3, 2]]"),
        (np.float64(0.5), "0.5"),
        (Fraction(1, 3), "1/3"),
        (Fraction(3), "Fraction(3, 1)"),  # where 3 itself would have done
        ("two\nlines", r"'two\nlines'"),
    ],
)
def test_values_are_shown_as_plain_numbers_in_one_line(value: Any, shown: str) -> None:
    assert str(InputError("x", value, "good")) == f"x must be good; got {shown}"


def test_what_passes() -> None:
    assert count("rounds", np.int64(3)) == 3
    assert type(count("rounds", np.int64(3))) is int
    assert cutoff("cutoff", math.inf) == math.inf
    assert cutoff("cutoff", 2**53) == 2**53
    assert type(cutoff("cutoff", np.float64(3))) is int
    assert probabilities("p", [1, 0.5]).tolist() == [1, 0.5]


def test_names_out_of_a_file_are_nothing_that_a_terminal_obeys() -> None:
    assert str(InputError("column \x1b[2J", "\u202e", "good")) == r"column \x1b[2J must be good; got '\u202e'"
