"""Two-state and finite laws against independent constructions."""

import math

import numpy as np
import pytest

from fltheory.distributions import Discrete, KCutoffGeometric, TwoStateInterval


@pytest.mark.parametrize(("enter", "leave"), [(0.05, 0.45), (1.0, 0.3), (0.2, 1.0), (0.6, 0.0)])
def test_two_state_interval_is_the_return_time_of_the_chain(enter, leave):
    """Renewal equation: P(on in n steps) = sum_k P(X = k) P(on in n - k steps)."""
    step = np.array([[1 - enter, enter], [leave, 1 - leave]])
    on = np.array([np.linalg.matrix_power(step, n)[1, 1] for n in range(60)])
    pmf = TwoStateInterval(enter, leave).pmf(np.arange(60))
    for n in range(1, 60):
        assert on[n] == pytest.approx(pmf[1 : n + 1] @ on[n - 1 :: -1][:n], rel=1e-12)


@pytest.mark.parametrize("p", [2**-50, 2**-10, 0.125, 0.5, 1 - 2**-20, 1.0])
def test_bernoulli_participation_is_both_chain_and_geometric(p):  # 1 - p is exact for these p
    chain, geometric = TwoStateInterval(p, 1 - p), KCutoffGeometric(p, math.inf)
    k = np.array([1, 2, 3, 10, 1000])
    for name in ("pmf", "logpmf", "cdf", "sf"):
        np.testing.assert_allclose(getattr(chain, name)(k), getattr(geometric, name)(k), rtol=1e-12)
    for name in ("mean", "var", "std", "entropy"):
        np.testing.assert_allclose(getattr(chain, name)(), getattr(geometric, name)(), rtol=1e-12)


def test_support_holds_exactly_what_is_possible():
    chain = TwoStateInterval([0.3, 0.3, 0.3, 1.0, 1.0], [0.0, 0.5, 1.0, 0.5, 1.0])
    np.testing.assert_array_equal(chain.support(), [[1, 1, 2, 1, 2], [1, math.inf, math.inf, 2, 2]])
    assert Discrete([7, 3, 9], [0.5, 0.5, 0.0]).support() == (3, 7)
    assert KCutoffGeometric(1.0, 50).support() == (1, 1)


def test_equal_values_are_one_atom():
    split, whole = Discrete([5, 2, 5], [0.25, 0.5, 0.25]), Discrete([2, 5], [0.5, 0.5])
    k = np.arange(8)
    for name in ("pmf", "cdf", "sf"):
        np.testing.assert_array_equal(getattr(split, name)(k), getattr(whole, name)(k))
    assert split.entropy() == pytest.approx(math.log(2), rel=1e-15)


def test_an_impossible_atom_is_never_drawn():
    drawn = Discrete([3, 1, 2, 8], [0.0, 0.5, 0.5, 0.0]).rvs(10_000, np.random.default_rng(0))
    assert set(drawn.tolist()) == {1, 2}
