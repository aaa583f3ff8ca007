"""The best cutoff against full scans and printed values, the long-run scale against the law and its formulas."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli, Cyclic, Markov, Permutation, Recorded
from fltheory.weights import (
    best_cutoff,
    corollary4_cutoff,
    exact_weight_law,
    long_run_scale,
    weight_error_bound,
)
from fltheory.weights.cutoffs import FULL_SCAN, TIE, mean_error


def reference_rows() -> list[list[str]]:
    text = Path(__file__).with_name("data").joinpath("best_cutoff.csv").read_text()
    return list(csv.reader(line for line in text.splitlines() if line[0] not in "#p"))


@pytest.mark.parametrize("row", reference_rows(), ids=lambda row: "-".join(row[:2]))
def test_reference_values(row: list[str]) -> None:
    p, rounds, best, cor4 = float(row[0]), int(row[1]), int(row[2]), int(row[4])
    assert best_cutoff(p, rounds) == best
    assert corollary4_cutoff(p, rounds) == cor4
    for cutoff, printed in zip((best, cor4, 50, math.inf), (row[3], *row[5:8]), strict=True):
        assert is_printed_as(exact_weight_law(p, cutoff, rounds).error.mean(), printed)
    assert is_printed_as(weight_error_bound(p, cor4, rounds, "theorem3"), row[8])


def is_printed_as(value: float, printed: str) -> bool:
    """Within half a unit of the last printed digit."""
    return abs(value - float(printed)) <= 0.5001 * 10.0 ** -len(printed.partition(".")[2])


@pytest.mark.parametrize(
    ("p", "rounds"),
    [(p, FULL_SCAN + 1) for p in (1e-12, 1e-3, 0.02, 0.1, 0.3, 0.7, 0.95, 1 - 1e-9)] + [(0.01, 150), (0.2, 150)],
)
def test_the_first_local_minimum_is_the_least_of_all(p: float, rounds: int) -> None:
    """What the search relies on, by trying every cutoff."""
    errors = np.array([mean_error(p, cutoff, rounds) for cutoff in range(1, rounds + 1)])
    least = int(np.flatnonzero(errors <= errors.min() + TIE * abs(errors.min()))[0])
    assert (np.diff(errors[: least + 1]) < 0).all()
    assert best_cutoff(p, rounds) == least + 1


def test_the_error_is_not_unimodal() -> None:
    """As the cutoff nears the number of rounds the error falls again, though never below its minimum."""
    errors = [mean_error(0.2, cutoff, 18) for cutoff in range(1, 19)]
    assert int(np.argmin(errors)) == 4
    assert max(errors[5:]) == errors[14] == pytest.approx(0.39071367, abs=5e-9)
    assert errors[17] == pytest.approx(0.37976794, abs=5e-9)


def test_ties_go_to_the_smallest_cutoff() -> None:
    assert best_cutoff(0.3, 1) == 1
    assert best_cutoff(0.3, 2) == 1  # the weight is 1 in both rounds whatever the cutoff
    assert best_cutoff(1.0, 50) == 1
    assert best_cutoff(1.0, 500) == 1


def test_rare_participation_wants_half_of_the_rounds() -> None:
    """For p T << 1 the error is 1 - 2 p E[w]: with K of T rounds E[w] is about K (1 - K / T) on average."""
    for p in (1e-300, 1e-12, 1e-9):
        assert best_cutoff(p, 20) == 10
        assert best_cutoff(p, 400) == 200


def test_mean_error_ranks_by_the_error() -> None:
    for p, rounds in ((0.001, 60), (0.2, 60)):
        for cutoff in (1, 7, 60):
            error = exact_weight_law(p, cutoff, rounds).error.mean()
            assert mean_error(p, cutoff, rounds) + (p * rounds < 1) == pytest.approx(error, rel=1e-13)


LONG_RUN = [  # p, K, Bernoulli, Markov (at most 0.05 from off to on), cyclic (period 100)
    (0.02, 50, 0.635830, 0.638592, 0.666667),
    (0.1, 50, 0.994846, 0.962014, 0.909091),
    (0.5, 10, 0.999023, 0.927185, 0.909091),
    (0.02, 10, 0.182927, 0.183218, 0.181818),
]


@pytest.mark.parametrize(("p", "cutoff", "bernoulli", "markov", "cyclic"), LONG_RUN)
def test_long_run_reference_values(p: float, cutoff: int, bernoulli: float, markov: float, cyclic: float) -> None:
    assert long_run_scale(p, cutoff) == pytest.approx(bernoulli, abs=5e-7)
    assert long_run_scale(Bernoulli(p), cutoff) == pytest.approx([bernoulli], abs=5e-7)
    assert long_run_scale(Markov(p, max_enter=0.05), cutoff) == pytest.approx([markov], abs=5e-7)
    assert long_run_scale(Cyclic(p, period=100), cutoff) == pytest.approx([cyclic], abs=5e-7)


def test_the_weight_goes_where_it_should() -> None:
    """Bernoulli: from round K on, exactly. Others: up to the ends of the observation, which count as 1 / t."""
    law = exact_weight_law(0.05, 20, 100)
    assert 0.05 * law.mean[20:] == pytest.approx(np.full(80, long_run_scale(0.05, 20)), rel=1e-13)
    for process in (Markov([0.1, 0.3]), Cyclic([0.1, 0.37])):
        for cutoff in (7, 50):
            mean = exact_weight_law(process, cutoff, 2001).mean
            gap = np.abs(process.rate * mean[[1000, 2000]] - long_run_scale(process, cutoff))
            assert (gap[1] < 0.6 * gap[0] + 1e-9).all()
            assert (gap[1] < 1e-2).all()


def test_long_run_limits() -> None:
    for process in (Bernoulli([1e-12, 0.3, 1.0]), Markov([0.02, 0.3, 1.0]), Cyclic([0.02, 0.3, 1.0])):
        assert np.array_equal(long_run_scale(process, math.inf), np.ones(3))
        assert long_run_scale(process, 1) == pytest.approx(process.rate, rel=1e-14)  # every round is an interval
    assert long_run_scale(1.0, 1) == 1
    assert long_run_scale(1e-12, 50) == pytest.approx(50e-12, rel=1e-10)  # without a digit lost: K p (1 - K p / 2)


def test_long_run_of_a_permutation() -> None:
    """Three turns of two of six clients: the gap is 1 .. 5 with probabilities 1, 2, 3, 2, 1 of 9."""
    pieces = {1: 3.0, 2: 1 * 3 / 9 + 2 * 5 / 9 + 3 * 1 / 9, 3: 1 + 3 / 9, 5: 1.0}
    for cutoff, expected in pieces.items():
        assert long_run_scale(Permutation(6, 2), cutoff) == pytest.approx(np.full(6, 1 / expected), rel=1e-14)


@pytest.mark.parametrize(
    "call",
    [
        lambda: best_cutoff(0.0, 10),
        lambda: best_cutoff(math.nan, 10),
        lambda: best_cutoff(0.5, 0),
        lambda: best_cutoff(0.5, 10**5 + 1),
        lambda: long_run_scale(0.0, 5),
        lambda: long_run_scale(0.5, 0),
        lambda: long_run_scale(Recorded.from_matrix(np.array([[True, False], [True, False]])), 5),
    ],
)
def test_bad_input_is_one_sentence(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=r"^\w+ must be .*; got "):
        call()
