"""Noise has mean 0 and the stated variance, averages over a batch, and does not depend on hidden state.

Statistical tests are at a fixed seed; each side of each interval has a false-alarm rate of 1e-8.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from fltheory.errors import InputError
from sims.algorithms.protocol import Cohort, Work
from sims.arrays import as_exact, is_exact, require_exact
from sims.problems import noises
from sims.problems.noise import KINDS, Additive, Minibatch, Multiplicative, as_draw
from sims.problems.quadratic import DiagonalQuadratic, plus_minus_one

from .search import DRAWS, FALSE_ALARM, drawn, sample_points, stochastic_gradients, variance_interval
from .zoo import CASES, DATA, build

ENUMERATED = [
    name for name in CASES if getattr(build(name).noise, "kind", "rademacher") == "rademacher" or name in DATA
]


@pytest.mark.parametrize("name", ENUMERATED)
def test_the_mean_over_all_outcomes_is_the_exact_gradient(name: str) -> None:
    problem = build(name)
    for y in sample_points(problem.dimension, 20, seed=21):
        for client in range(problem.n_clients):
            gradients, probabilities = stochastic_gradients(problem, y, client)
            assert probabilities.sum() == pytest.approx(1, abs=1e-15)
            exact = problem.gradient(y[None], np.array([client]))[0]
            scale = 1e-14 * (1 + np.abs(gradients).max())
            assert (np.abs((gradients * probabilities[:, None]).sum(axis=0) - exact) <= scale).all()


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_mean_zero_and_uncorrelated_coordinates(kind: str, dimension: int) -> None:
    noise = drawn(DiagonalQuadratic([[1] * dimension], noise=Additive(2, kind))) * math.sqrt(dimension) / 2
    pairs = [(noise[:, i], noise[:, j]) for i in range(dimension) for j in range(i)]
    if kind == "gaussian":
        assert (np.abs(noise.mean(axis=0)) < stats.norm.isf(FALSE_ALARM) / math.sqrt(DRAWS)).all()
        for x, y in pairs:  # independent if and only if the sum has twice the variance
            low, high = variance_interval((x + y)[:, None], kind)
            assert low <= 2 <= high
        return
    bound = {"rademacher": 1, "uniform": math.sqrt(3)}[kind]
    assert np.abs(noise).max() <= bound * (1 + 1e-15)
    hoeffding = math.sqrt(2 * math.log(1 / FALSE_ALARM) / DRAWS)
    assert (np.abs(noise.mean(axis=0)) < bound * hoeffding).all()
    assert all(abs((x * y).mean()) < bound**2 * hoeffding for x, y in pairs)


@pytest.mark.parametrize(("kind", "peak"), [("gaussian", math.inf), ("uniform", 15)])
def test_the_extra_gradient_averages_a_batch(kind: str, peak: float) -> None:
    """Of 5 samples: a fifth of the variance. The square of a mean of 5 uniforms is at most 15 times its variance."""
    noise = drawn(DiagonalQuadratic([[1, 1]], noise=Additive(3, kind)), batch=5)
    low, high = variance_interval(noise, kind, peak)
    assert low <= 9 / 5 <= high < 9 / 4


@pytest.mark.parametrize("batch", [1, 4])
def test_rademacher_batches_are_binomial(batch: int) -> None:
    noise = drawn(DiagonalQuadratic([1], noise=Additive(1, "rademacher")), batch)[:, 0]
    plus = np.rint((noise * batch + batch) / 2).astype(int)
    assert np.abs(noise * batch + batch - 2 * plus).max() < 1e-12
    expected = stats.binom.pmf(np.arange(batch + 1), batch, 0.5) * DRAWS
    assert stats.chisquare(np.bincount(plus, minlength=batch + 1), expected).pvalue > FALSE_ALARM


def test_indices_of_a_minibatch_are_uniform_for_every_size() -> None:
    cohort = Cohort(np.array([[0, 1, 2]] * 20_000), np.ones((20_000, 3), dtype=bool), 3)
    work = Work(np.zeros((20_000, 2)), 2, 1, gradient_at=np.zeros((20_000, 2)), batch=3)
    sizes = np.array([1, 5, 2])
    draws = Minibatch(sizes, 2).draw(np.random.default_rng(1), cohort, work)
    assert draws.steps.shape == (2, 20_000, 3, 2)
    assert draws.gradient.shape == (20_000, 3, 6)
    for client, size in enumerate(sizes):
        for indices in (draws.steps[:, :, client], draws.gradient[:, client]):
            counts = np.bincount(indices.ravel(), minlength=size)
            assert counts.size == size
            assert stats.chisquare(counts).pvalue > FALSE_ALARM or size == 1


def test_what_is_not_asked_for_is_not_drawn() -> None:
    cohort, x = Cohort(np.zeros((1, 1), dtype=int), np.ones((1, 1), dtype=bool), 2), np.zeros((1, 1))
    rng = np.random.default_rng(0)
    for noise in (Additive(1), Multiplicative(1), Minibatch(np.array([3, 3]))):
        assert noise.draw(rng, cohort, Work(x, 0, 1, gradient_at=x)).steps is None
        assert noise.draw(rng, cohort, Work(x, 3, 1)).gradient is None
        assert noise.draw(rng, cohort, Work(x, 3, 1, gradient_at=x, batch=None)).gradient is None
    assert Additive(0).draw(rng, cohort, Work(x, 3, 1)).steps is None


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_outcomes_have_the_stated_variance(dimension: int) -> None:
    noise = Additive("3/2", "rademacher")
    values, probabilities = noise.outcomes(dimension)
    assert noise.variance(dimension) == Fraction(9, 4 * dimension)
    assert is_exact(values) == (dimension in (1, 4))  # sqrt(2) is not rational
    for j in range(dimension):
        assert (values[:, j] * probabilities).sum() == 0
        assert (values[:, j] ** 2 * probabilities).sum() == pytest.approx(noise.variance(dimension), rel=1e-15)


def test_exact_models_get_exact_draws() -> None:
    problem = plus_minus_one(noise=Additive("1/3", "rademacher"))
    cohort = Cohort(np.array([[0, 1]]), np.ones((1, 2), dtype=bool), 2)
    x = as_exact([[1]])
    draws = problem.draw(np.random.default_rng(0), cohort, Work(x, 2, 1, gradient_at=x, batch=3))
    require_exact({"steps": draws.steps, "gradient": draws.gradient})
    assert {abs(v) for v in draws.steps.flat} == {Fraction(1, 3)}
    signs = Multiplicative(1).draw(np.random.default_rng(0), cohort, Work(x, 2, 1))
    require_exact({"steps": signs.steps})
    for inexact in (Additive(1), Additive(0.3, "rademacher"), Additive(1, "uniform")):
        with pytest.raises(InputError, match="noise must be Rademacher"):
            inexact.draw(np.random.default_rng(0), cohort, Work(x, 1, 1))


def test_draws_take_the_kind_of_the_model() -> None:
    cohort, x = Cohort(np.zeros((1, 1), dtype=int), np.ones((1, 1), dtype=bool), 2), np.zeros((1, 1))
    for noise in (*(Additive("1/2", kind) for kind in KINDS), Multiplicative("1/2")):
        draws = noise.draw(np.random.default_rng(0), cohort, Work(x, 2, 1, gradient_at=x, batch=3))
        assert draws.steps.dtype == draws.gradient.dtype == np.float64  # not objects, which are slow
    single = np.zeros(3, dtype=np.float32)
    assert as_draw(np.ones(3), single).dtype == np.float32
    assert as_draw(as_exact([1, "1/2"]), np.zeros(2)).dtype == np.float64
    require_exact({"draw": as_draw(np.array([1, -1]), as_exact([0, 0]))})
    with pytest.raises(InputError, match="exact rationals"):
        as_draw(np.ones(2), as_exact([0, 0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Additive(-1), "std must be a finite number of at least 0; got -1"),
        (lambda: Additive(math.nan), "std must be a finite number"),
        (lambda: Additive(True), "std must be a finite number"),
        (lambda: Additive(1, "laplace"), "kind must be one of gaussian, rademacher, uniform; got 'laplace'"),
        (lambda: Multiplicative("x"), "smoothness must be a finite number"),
        (lambda: Additive(1).outcomes(1), "finitely many"),
        (lambda: Minibatch(np.array([1, 2])).outcomes(1), "the same for all clients"),
    ],
)
def test_bad_noise_is_refused(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


def test_every_named_noise_has_its_constants() -> None:
    assert set(noises) == {"gaussian", "rademacher", "uniform", "multiplicative"}
    assert noises["uniform"](std=2) == Additive(2, "uniform")
    assert (noises["multiplicative"](smoothness=2).std, Multiplicative(0).std) == (math.inf, 0)
