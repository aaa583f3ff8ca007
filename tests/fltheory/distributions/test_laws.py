"""Generic law tests: every instance in REGISTRY passes all of them."""

import doctest
import importlib
import math
import pickle
import pkgutil
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import fltheory.distributions
from fltheory.distributions import REGISTRY, Discrete, IntervalLaw, KCutoffGeometric, TwoStateInterval
from fltheory.errors import InputError
from fltheory.streams import stream

# Powers (1-p)^k carry at most |k log(1-p)| roundings, under 30 where P(X = k) >= 1e-12, and the sums below have
# at most 1,500 terms of 1/2 rounding each: 1e-12 holds all of it, and any wrong formula misses it by far.
ROUNDING = 1e-12


@pytest.fixture(params=REGISTRY, ids=lambda law: " ".join(repr(law).split()))
def law(request: pytest.FixtureRequest) -> IntervalLaw:
    return request.param


def intervals(law: IntervalLaw) -> np.ndarray:
    """All intervals up to the one that leaves 1e-12 of the probability, along a new first axis."""
    end = np.max(np.minimum(law.support()[1], law.isf(1e-12)))
    return np.arange(1, end + 1).reshape(-1, *[1] * len(law.shape))


def scalar_laws(law: IntervalLaw) -> list[tuple[tuple[int, ...], IntervalLaw]]:
    """The law of each element of the broadcast parameters."""
    return [(i, type(law)(**{name: v[i] for name, v in vars(law).items()})) for i in np.ndindex(law.shape)]


def test_sums_to_one(law):
    k = intervals(law)
    np.testing.assert_allclose(law.pmf(k).sum(axis=0) + law.sf(k[-1]), 1, rtol=ROUNDING)


def test_cdf_and_sf_are_sums_of_the_pmf(law):
    k = intervals(law)
    pmf, rest = law.pmf(k), law.sf(k[-1])
    np.testing.assert_allclose(law.cdf(k), np.cumsum(pmf, axis=0), rtol=ROUNDING)
    tail = np.cumsum(pmf[::-1], axis=0)[::-1] - pmf + rest
    np.testing.assert_allclose(law.sf(k), tail, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_array_equal(law.cdf(k + 0.5), law.cdf(k))
    np.testing.assert_array_equal(law.sf(k + 0.5), law.sf(k))


def test_logpmf_is_the_logarithm_of_the_pmf(law):
    pmf, log = law.pmf(intervals(law)), law.logpmf(intervals(law))
    np.testing.assert_array_equal(log == -math.inf, pmf == 0)
    # An error of ROUNDING in the pmf is an absolute error of as much in its logarithm.
    np.testing.assert_allclose(log[pmf > 0], np.log(pmf[pmf > 0]), rtol=ROUNDING, atol=ROUNDING)


def test_nothing_outside_the_support(law):
    low, high = law.support()
    for k in (low - 1, low + 0.5, np.zeros(law.shape) - 3, np.full(law.shape, math.inf), np.minimum(high, 1e300) + 1):
        outside = (k < low) | (k > high) | (k != np.floor(k)) | (k == math.inf)
        assert (law.pmf(k)[outside] == 0).all()
        assert (law.logpmf(k)[outside] == -math.inf).all()
    assert (law.pmf(low) > 0).all()
    assert (law.cdf(low - 1) == 0).all()
    assert (law.sf(low - 1) == 1).all()
    assert (law.cdf(high) == 1).all()
    assert (law.sf(high) == 0).all()


def test_ppf_and_isf_invert_cdf_and_sf(law):
    k = intervals(law)
    # Where P(X = k) is far above the rounding of cdf and sf, neighbours differ and the round trip is exact.
    clear = law.pmf(k) > 1e-10
    k_all = np.broadcast_to(k, clear.shape)
    np.testing.assert_array_equal(law.ppf(law.cdf(k))[clear], k_all[clear])
    np.testing.assert_array_equal(law.isf(law.sf(k))[clear], k_all[clear])


def test_quantiles_are_the_smallest_that_reach_the_level(law):
    q = stream(1, "levels").random(200).reshape(-1, *[1] * len(law.shape))
    assert (law.cdf(law.ppf(q)) >= q).all()
    assert (law.cdf(law.ppf(q) - 1) < q).all()
    assert (law.sf(law.isf(q)) <= q).all()
    assert (law.sf(law.isf(q) - 1) > q).all()
    np.testing.assert_array_equal(law.median(), law.ppf(0.5))
    for start, end in ((law.ppf(0), law.ppf(1)), (law.isf(1), law.isf(0))):
        np.testing.assert_array_equal(start, law.support()[0] - 1)
        np.testing.assert_array_equal(end, law.support()[1])


def test_moments_are_sums_over_the_pmf(law):
    mean = law.mean()
    np.testing.assert_allclose(mean, law.expect(lambda k: k), rtol=ROUNDING)
    np.testing.assert_allclose(law.var(), law.expect(lambda k: (k - mean) ** 2), rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(law.std() ** 2, law.var(), rtol=ROUNDING)
    entropy = law.expect(lambda k: np.where(law.pmf(k) > 0, -law.logpmf(k), 0))
    np.testing.assert_allclose(law.entropy(), entropy, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(law.expect(np.ones_like), 1, rtol=ROUNDING)


def misfit(law: IntervalLaw, drawn: np.ndarray) -> float:
    """P-value of Pearson's chi-square test of the draws against a scalar law, in cells of at least 1%."""
    if (law.pmf(drawn) == 0).any():
        return 0.0
    edges, reached = [0.5], [0.0]
    for k in np.unique(law.ppf(np.arange(1, 25) / 25)):
        if law.cdf(k) - reached[-1] >= 0.01 and law.sf(k) >= 0.01:
            edges.append(k + 0.5)
            reached.append(law.cdf(k))
    observed = np.histogram(drawn, [*edges, math.inf])[0]
    expected = len(drawn) * np.diff(reached, append=1.0)
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), max(1, len(edges) - 1)))


# 17 tests at 1e-6 each: right samplers fail with probability at most 2e-5 (the seed is fixed: not by chance).
def test_draws_follow_the_law(law):
    drawn = law.rvs((20_000, *law.shape), stream(2, "draws"))
    assert drawn.dtype == np.int64
    for index, one in scalar_laws(law):
        assert misfit(one, drawn[(slice(None), *index)]) > 1e-6


def test_the_test_of_draws_sees_wrong_draws():
    law = KCutoffGeometric(0.3, 7)
    drawn = law.rvs(20_000, stream(2, "draws"))
    assert misfit(law, np.minimum(drawn + 1, 7)) < 1e-6
    assert misfit(law, np.minimum(drawn, 6)) < 1e-6
    assert misfit(law, KCutoffGeometric(0.32, 7).rvs(20_000, stream(2, "draws"))) < 1e-6
    assert misfit(law, KCutoffGeometric(0.3, 8).rvs(20_000, stream(2, "draws"))) < 1e-6


def test_draws_depend_on_the_generator_alone(law):
    np.testing.assert_array_equal(law.rvs(None, stream(3, "same")), law.rvs(None, stream(3, "same")))
    assert np.shape(law.rvs(None, stream(3, "same"))) == law.shape


def test_broadcasting_is_element_by_element(law):
    k = intervals(law)[:50]
    q = np.array([0.0, 0.3, 1.0]).reshape(-1, *[1] * len(law.shape))
    for index, one in scalar_laws(law):
        at = (slice(None), *index)
        for name in ("pmf", "logpmf", "cdf", "sf"):
            np.testing.assert_array_equal(getattr(law, name)(k)[at], getattr(one, name)(k.ravel()))
        for name in ("ppf", "isf"):
            np.testing.assert_array_equal(getattr(law, name)(q)[at], getattr(one, name)(q.ravel()))
        for name in ("mean", "var", "std", "entropy", "median"):
            value = getattr(one, name)()
            assert isinstance(value, float)
            assert value == pytest.approx(np.asarray(getattr(law, name)())[index], rel=ROUNDING)


def test_scalars_give_floats(law):
    for _, one in scalar_laws(law):
        assert all(isinstance(getattr(one, name)(1), float) for name in ("pmf", "logpmf", "cdf", "sf", "ppf", "isf"))
        assert all(isinstance(end, float) for end in one.support())
        assert isinstance(one.expect(np.sqrt), float)
        assert isinstance(one.rvs(None, stream(0, "one")), np.int64)


def test_lists_do_as_well_as_arrays(law):
    listed = type(law)(**{name: v.tolist() for name, v in vars(law).items()})
    k = intervals(law)[:5]
    np.testing.assert_array_equal(listed.pmf(k.tolist()), law.pmf(k))
    np.testing.assert_array_equal(listed.ppf(np.full(law.shape, 0.4).tolist()), law.ppf(0.4))


def test_survives_pickling(law):
    copy = pickle.loads(pickle.dumps(law))
    assert repr(copy) == repr(law)
    np.testing.assert_array_equal(copy.pmf(intervals(law)), law.pmf(intervals(law)))


def test_parameters_are_copied_and_fixed(law):
    given = {name: v.copy() for name, v in vars(law).items()}
    copy = type(law)(**given)
    for name, array in given.items():
        array[...] = 1
        np.testing.assert_array_equal(getattr(copy, name), getattr(law, name))
        with pytest.raises(ValueError, match="read-only"):
            getattr(copy, name)[...] = 1


@pytest.mark.parametrize("bad", [math.nan, -1, -math.inf, "many", None, [[1, 2], [3]], 1j])
def test_bad_parameters_are_refused(law, bad):
    for name in vars(law):
        with pytest.raises(InputError):
            type(law)(**(vars(law) | {name: bad}))


def test_bad_arguments_are_refused(law):
    rng = stream(0, "unused")
    for call in (law.pmf, law.logpmf, law.cdf, law.sf, law.ppf, law.isf):
        with pytest.raises(InputError):
            call(math.nan)
        if law.shape:
            with pytest.raises(InputError, match=r"^shape of [kq] must be compatible"):
                call(np.ones((7, 5)))
    with pytest.raises(InputError, match=r"^k must be a number"):
        law.pmf("1")
    for level in (-0.1, 1.1):
        for call in (law.ppf, law.isf):
            with pytest.raises(InputError, match=r"^q must be in \[0, 1\]; got"):
                call(level)
    for size in (-1, 1.5, (2, -1), True, (9, 9) if law.shape else "2"):
        with pytest.raises(InputError, match=r"^size must be"):
            law.rvs(size, rng)
    with pytest.raises(InputError, match=r"^rng must be a numpy"):
        law.rvs(None, 7)
    with pytest.raises(InputError, match=r"^f must be a function of an array of intervals; got 5"):
        law.expect(5)


def test_the_mean_of_no_law_is_empty():
    assert KCutoffGeometric([], 3).expect(lambda k: k).shape == (0,)
    with pytest.raises(InputError, match=r"^f must be a function to numbers"):
        KCutoffGeometric(0.5, 3).expect(lambda k: "much")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KCutoffGeometric(0, 5), r"^p must be in \(0, 1\]; got 0.0$"),
        (lambda: KCutoffGeometric(1.0000001, 5), r"^p must be in \(0, 1\]; got 1.0000001$"),
        (lambda: KCutoffGeometric(0.5, 0), "^K must be a whole number from 1 to .*, or infinity; got 0$"),
        (lambda: KCutoffGeometric(0.5, [3, 2.5]), "^K must be .*; got 2.5$"),
        (lambda: KCutoffGeometric(0.5, 2**53 + 2), "^K must be"),
        (lambda: KCutoffGeometric(0.5, 2**53 + 1), r"^K must be .* 2\*\*53, or infinity; got 9007199254740993$"),
        (lambda: KCutoffGeometric(0.5, np.array([3, 2**53 + 1])), "^K must be .*; got 9007199254740993$"),
        (lambda: KCutoffGeometric(0.5, [math.inf, 2**53 + 1]), "^K must be .*; got 9007199254740993$"),
        (lambda: KCutoffGeometric(0.5, True), "^K must be a number"),
        (lambda: KCutoffGeometric([0.1, 0.2], [1, 2, 3]), "^shapes of p and K must be compatible"),
        (lambda: TwoStateInterval(0, 0.5), r"^enter must be in \(0, 1\]; got 0.0$"),
        (lambda: TwoStateInterval(0.5, 1.5), r"^leave must be in \[0, 1\]; got 1.5$"),
        (lambda: Discrete([1, 2], [0.5, 0.4]), "^probabilities must be .*summing to 1"),
        (lambda: Discrete([], []), "^probabilities must be at least one"),
        (lambda: Discrete([1, math.inf], [0.5, 0.5]), "^values must be a whole number from 1 to 2"),
        (lambda: Discrete([1, 2], [1.0]), "^values must be as many as there are probabilities, 1;"),
    ],
)
def test_messages_name_argument_value_and_what_is_allowed(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_every_example_runs():
    package: Any = fltheory.distributions
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        assert doctest.testmod(importlib.import_module(module.name)).failed == 0
