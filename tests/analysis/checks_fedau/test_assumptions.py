"""Which problems and processes satisfy FedAU's assumptions, and with which constants."""

from __future__ import annotations

import pytest

from fltheory.errors import InputError
from fltheory.papers import fedau
from fltheory.participation import Bernoulli, Cyclic, Markov, Recorded, UniformSubset
from fltheory.weights import exact_weight_law
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
    log = [[1, 0], [0, 1]]
    assert fedau.ass4.holds_for(Recorded.from_matrix(log)).holds is None  # it may be what coins did
    assert fedau.ass4.holds_for(Recorded.from_matrix(log, end="repeat")).holds is False
    assert fedau.ass4.holds_for(type("Mine", (Bernoulli,), {})([0.2])).holds is None
    with pytest.raises(InputError, match="process"):
        fedau.ass4.holds_for(DiagonalQuadratic([2], [0]))


def test_what_needs_independent_rounds_fails_in_a_sticky_chain_of_the_same_rate() -> None:
    at = {"rate": 0.5, "cutoff": 5, "rounds": 1000, "round_index": 500}
    at["interval_variance"] = fedau.lemB61.formulas["variance"].subs({fedau.p: at["rate"], fedau.K: at["cutoff"]})
    error = exact_weight_law(Markov([0.5], max_enter=0.001), 5, 1000).error
    averages = (fedau.thm3, fedau.thm3_improved)
    for claim in (*averages, fedau.thm3_repaired, fedau.eqB68b_unconditional, fedau.eqB68c):
        assert fedau.ass4 in claim.assumes
        bound = claim.bound.at(**{symbol.name: float(at[symbol.name]) for symbol in claim.bound.rhs.free_symbols})
        assert (error.mean() if claim in averages else error[500]) > 10 * bound
