"""The longest absences, against a plain search over all windows."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.trace_report.gaps import absences
from tests.analysis.trace_report.logs import dense


def shortest_window(on: np.ndarray) -> int:
    """The smallest E for which each E successive rounds have a round on; one more than the log where there is none."""
    rounds = on.size
    every = (E for E in range(1, rounds + 1) if all(on[t : t + E].any() for t in range(rounds - E + 1)))
    return next(every, rounds + 1)


@pytest.mark.parametrize("seed", range(20))
def test_absences_are_those_of_a_plain_search(seed: int) -> None:
    draw = np.random.default_rng(seed)
    on, observed = draw.random((12, 4)) < 0.4, draw.random((12, 4)) < 0.7
    away = absences(dense(on, observed))
    for n in range(4):
        assert away.sure[n] + 1 == shortest_window(on[:, n] | ~observed[:, n])
        assert away.most[n] + 1 == shortest_window(on[:, n] & observed[:, n])
        for longest, first in ((away.sure[n], away.sure_from[n]), (away.most[n], away.most_from[n])):
            assert (first >= 0) == (longest > 0)
            assert not (on & observed)[first : first + longest, n].any() or not longest
    assert away.window == (away.sure.max() + 1, away.most.max() + 1)


def test_the_first_of_equal_absences_is_named() -> None:
    away = absences(dense([[0], [0], [1], [0], [0]]))
    assert (away.sure_from.tolist(), away.most_from.tolist(), away.window) == ([0], [0], (3, 3))


def test_a_client_that_nobody_saw_may_have_been_on_or_off_throughout() -> None:
    log = dense([[1, 0], [1, 0]])
    assert absences(log).window == (1, 3)
    assert absences(dense([[1, 0], [1, 0]], [[1, 1], [1, 1]])).window == (3, 3)
