"""The differential test: an algorithm against a plain reference, round by round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sims.algorithms.protocol import Algorithm
from sims.arrays import require_exact
from sims.testing.scenarios import Convert, Scenario, exact, numbers, play


def agree(
    algorithm: Algorithm, hyper: Any, given: Scenario, reference: Callable[..., Any], to: Convert, **options: Any
) -> None:
    """Assert that all that the reference yields after each round equals the state: exactly, or to a tolerance.

    Floats: the values are below 100 and come from fewer than 500 operations that lose 1e-16 of that each.
    """
    for r in range(len(given.x0)):
        expected = reference(given.gradient, given.x0[r], given.n_clients, given.of(r), hyper)
        for state, values in zip(play(algorithm, hyper, given, to, **options), expected, strict=True):
            for name, value in values.items():
                ours, theirs = state.linear[name][r], np.array(value, dtype=object)
                if to is exact:
                    require_exact(state.linear)
                    assert (ours == theirs).all(), name
                else:
                    np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=0, atol=1e-11, err_msg=name)
