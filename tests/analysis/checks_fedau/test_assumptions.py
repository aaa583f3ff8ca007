"""Which problems and processes satisfy FedAU's assumptions, and with which constants."""

from __future__ import annotations

import pytest

from fltheory.errors import InputError
from fltheory.papers import fedau
from fltheory.participation import Bernoulli, Cyclic, Markov, UniformSubset
from sims.problems.quadratic import DiagonalQuadratic, linear


def test_a_quadratic_of_one_curvature() -> None:
    problem = DiagonalQuadratic([2, 2], [-1, 1])
    assert fedau.ass1.holds_for(problem).constants == {"smoothness": 2}
    assert fedau.ass2.holds_for(problem).constants == {"noise_std": 0}
    assert fedau.ass3.holds_for(problem).constants == {"heterogeneity": 2}
    assert fedau.ass3.holds_for(DiagonalQuadratic([1, 2], [-1, 1])).holds is False


def test_either_option_of_assumption_5() -> None:
    assert fedau.ass5.holds_for(linear([1, 3])).constants == {"objective_gradient_bound": 2}
    assert fedau.ass5.holds_for(DiagonalQuadratic([2, 2], [-1, 1])).holds is None  # the weights decide


def test_independent_rounds() -> None:
    found = fedau.ass4.holds_for(Bernoulli([0.2, 0.5]))
    assert found.holds
    assert found.constants == {"min_rate": 0.2}
    assert fedau.ass4.holds_for(Markov([0.2, 0.5])).holds is False
    assert fedau.ass4.holds_for(Markov([0.2], max_enter=0.2)).holds
    assert fedau.ass4.holds_for(Cyclic([0.5, 0.5])).holds is False
    assert fedau.ass4.holds_for(UniformSubset(4, 2)).holds is False
    assert fedau.ass4.holds_for(UniformSubset(4, 4)).holds  # everybody, always
    with pytest.raises(InputError, match="process"):
        fedau.ass4.holds_for(DiagonalQuadratic([2], [0]))
