"""Published and hand-derived values, the registry, and what bad input says."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import sympy
from mpmath import iv, mp

from fltheory.errors import InputError
from sims.arrays import Array, as_exact
from sims.problems import make, problems
from sims.problems.base import at_all_clients
from sims.problems.least_squares import LeastSquares
from sims.problems.logistic import Logistic
from sims.problems.matrix_quadratic import MatrixQuadratic
from sims.problems.quadratic import DiagonalQuadratic, example_1, groups, linear, plus_minus_one
from sims.problems.shapes import Sigmoid, log_cosh_shape, pl_sine_shape, pseudo_huber_shape
from sims.problems.shifted import largest, log_cosh, pseudo_huber
from sims.problems.tables import Table
from sims.problems.tilted import cosine, geman_mcclure

from .zoo import CASES, build


def test_fast_family() -> None:
    """FAST: L = mu = sigma_G = 1 exactly, f = x^2/2 + 1/2."""
    for n_clients in (2, 6):
        constants = plus_minus_one(n_clients).constants
        assert constants.smoothness == constants.strong_convexity == constants.heterogeneity == 1
        assert (constants.minimum, constants.minimiser[0]) == (Fraction(1, 2), 0)
        assert plus_minus_one(n_clients).objective(as_exact([3])) == 5


def test_fedlaavg_example_1() -> None:
    """f = (x - x*)^2 + (e1 - e2)^2 / 4 with x* = (e1 + e2) / 2, and L = 2."""
    problem = example_1(["1/3", -2])
    x, middle = as_exact([5]), Fraction(-5, 6)
    assert problem.objective(x) == (5 - middle) ** 2 + Fraction(7, 3) ** 2 / 4
    assert (problem.constants.minimiser[0], problem.constants.smoothness) == (middle, 2)
    assert (groups(["1/3", -2]).centre == problem.centre).all()


def test_fedlaavg_example_1_with_its_data_has_the_variance_of_the_data_in_it() -> None:
    samples = [[0, 4], [1, 1, 4]]
    problem = LeastSquares([[[1]] * len(xi) for xi in samples], samples, batch=1)
    means, variances = [Fraction(2), Fraction(2)], [Fraction(4), Fraction(2)]
    assert problem.objective(as_exact([5])) == sum((5 - e) ** 2 + v for e, v in zip(means, variances, strict=True)) / 2
    constants = problem.constants
    assert (constants.noise_std, constants.noise_smoothness) == (4, 0)  # 2 sqrt(4)
    assert (constants.smoothness, constants.heterogeneity, constants.minimum) == (2, 0, 3)


def test_objective_inconsistency_witness() -> None:
    assert DiagonalQuadratic([1, 2, 4], [-1, "1/2", 2]).constants.minimiser[0] == Fraction(8, 7)


def test_groups_repeat_clients() -> None:
    problem = groups([1, 3], [2, 5], [2, 1])
    assert problem.centre[:, 0].tolist() == [1, 1, 3]
    assert problem.curvature[:, 0].tolist() == [2, 2, 5]


def test_matrix_and_diagonal_quadratics_agree() -> None:
    curvature, centre = as_exact([[1, 3], [2, "1/2"]]), as_exact([[0, 1], [2, -1]])
    diagonal = DiagonalQuadratic(curvature, centre)
    full = MatrixQuadratic([np.diag(row) for row in curvature], centre)
    for name, value in vars(diagonal.constants).items():
        assert np.all(getattr(full.constants, name) == value), name
    x = as_exact([["1/3", 2], [0, -1]])
    assert (full.objective(x) == diagonal.objective(x)).all()


@pytest.mark.parametrize("b", [0.1, 1.0, 7.0])
def test_heterogeneity_of_two_log_coshs(b: float) -> None:
    """|tanh(x - b) - tanh(x + b)| / 2 is largest at 0."""
    constants = log_cosh([-b, b]).constants
    assert constants.heterogeneity == pytest.approx(math.tanh(b), rel=2e-12)
    assert constants.heterogeneity >= math.tanh(b)
    assert constants.minimiser[0] == pytest.approx(0, abs=1e-15)
    assert constants.minimum == pytest.approx(math.log(math.cosh(b)), rel=1e-14)


def test_heterogeneity_of_two_pseudo_hubers() -> None:
    constants = pseudo_huber([-4, 4], width=2).constants
    assert constants.heterogeneity == pytest.approx(4 / math.sqrt(5), rel=2e-12)


def test_heterogeneity_of_many_clients_in_one_dimension_needs_the_outermost_only() -> None:
    centres = np.random.default_rng(41).normal(size=12)
    problem = log_cosh(centres)
    each = [problem._largest_gap(centres, centre) for centre in centres]
    assert problem.constants.heterogeneity == max(each)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("width", [None, 1, 10])
def test_largest_gaps_against_thirty_digits(width: int | None, seed: int) -> None:
    """Also for the client in the middle, whose gap peaks outside the centres where the shape is wide."""
    rng = np.random.default_rng(seed)
    centres = np.sort(rng.uniform(-1, 1, size=3))
    problem = log_cosh(centres) if width is None else pseudo_huber(centres, width)
    mp.dps = 30

    def gap(x: object, centre: float) -> object:
        slopes = [mp.tanh(x - b) if width is None else (x - b) / mp.sqrt(1 + ((x - b) / width) ** 2) for b in centres]
        return abs(slopes[list(centres).index(centre)] - sum(slopes) / 3)

    grid = np.linspace(-30, 30, 60_001)
    slopes = problem.shape.slope(grid[:, None] - centres)
    for n, centre in enumerate(centres):
        peak = mp.mpf(float(grid[np.abs(slopes[:, n] - slopes.mean(axis=1)).argmax()]))
        low, high = peak - mp.mpf("2e-3"), peak + mp.mpf("2e-3")
        for _ in range(60):
            left, right = (2 * low + high) / 3, (low + 2 * high) / 3
            low, high = (left, high) if gap(left, centre) < gap(right, centre) else (low, right)
        exact, found = float(gap(low, centre)), problem._largest_gap(centres, centre)
        assert exact <= found <= exact * (1 + 3e-12) + 3e-15 * float(problem.shape.bound)


def test_unbalanced_log_cosh() -> None:
    """FedLaAvg with weights 3/4 and 1/4: the minimiser of 3 log cosh(x - 1) + log cosh(x + 1) is 0.6785."""
    assert log_cosh([1, 1, 1, -1]).constants.minimiser[0] == pytest.approx(0.6785, abs=5e-5)


@pytest.mark.parametrize("apart", [40, 100, 1000, 1e6, 1e15])
def test_heterogeneity_of_centres_far_apart_costs_no_more(apart: float) -> None:
    """The gaps have plateaus, as long as the centres are apart: half of tanh(x) - tanh(x - apart), largest between."""
    evaluated = 0
    problem = log_cosh([0, apart])
    slope = problem.shape.slope

    def counted(z: Array) -> Array:
        nonlocal evaluated
        evaluated += z.size
        return slope(z)

    problem.shape = replace(problem.shape, slope=counted)
    assert math.tanh(apart / 2) <= problem.constants.heterogeneity <= math.tanh(apart / 2) * (1 + 3e-12)
    assert evaluated < 20_000


def test_heterogeneity_where_floats_are_coarser_than_the_shape() -> None:
    assert pseudo_huber([0, 1e15], width="1/1000").constants.heterogeneity == pytest.approx(1e-3, rel=3e-12)


@pytest.mark.parametrize("apart", [40, 1e4])
def test_heterogeneity_of_pseudo_hubers_far_apart(apart: float) -> None:
    exact = apart / 2 / math.sqrt(1 + apart**2 / 4)
    assert exact <= pseudo_huber([0, apart]).constants.heterogeneity <= exact * (1 + 3e-12)


@pytest.mark.parametrize("apart", [60, 1e6])
def test_heterogeneity_of_plateaus_of_several_heights(apart: float) -> None:
    """Slopes are 1, 1, -1, -1 in the middle, of mean 0, and 1, 1, 1, -1 right of it, where the last is 3 / 2 away."""
    assert log_cosh([0, 0, apart, 2 * apart]).constants.heterogeneity == pytest.approx(1.5, rel=3e-12)
    rows = [[0, 0], [0, 1], [apart, 0], [2 * apart, 1]]
    assert log_cosh(rows).constants.heterogeneity > 1.5


def test_nearly_equal_centres_end() -> None:
    assert log_cosh([1.0, 1.0 + 1e-15]).constants.heterogeneity < 3e-15


def test_largest_value_of_a_known_function() -> None:
    found = largest(lambda x: np.abs(np.sin(3 * x) * x), 0, 2, bend=lambda left, right: 24 + 0 * left, rounding=0)
    mp.dps = 30
    exact = float(abs(mp.sin(3 * (at := mp.findroot(lambda x: mp.sin(3 * x) + 3 * x * mp.cos(3 * x), 1.7))) * at))
    assert exact <= found <= exact * (1 + 3e-12)


def test_bounds_of_gradients() -> None:
    assert geman_mcclure().constants.gradient_bound == pytest.approx(3 * math.sqrt(3) / 8, rel=1e-15)
    assert pseudo_huber([[0, 0, 0, 0]], width="1/2").constants.gradient_bound == 1
    assert cosine(["9/10", "-9/10"]).constants.client_gradient_bound == Fraction(19, 10)


def test_polyak_lojasiewicz_constant_by_interval_arithmetic() -> None:
    """phi'^2 - 2 mu phi >= 0 on the whole line for phi = x^2 + 3 sin^2 x, and not for a mu larger by 1e-12.

    On [0, 9/10] phi is convex of modulus 2 + 6 cos(9/5) > mu. Beyond 20, phi' >= 2x - 3 and phi <= x^2 + 3, whose
    quadratic inequality holds and widens. Between, intervals; around the touching point, where no interval can
    decide, mu (1 - 1e-9) is what is proved.
    """
    mu = pl_sine_shape().polyak_lojasiewicz
    iv.dps = mp.dps = 30
    assert (2 + 6 * iv.cos(iv.mpf(9) / 5)).a > mu
    assert 2 * mu * (20**2 + 3) < (2 * 20 - 3) ** 2
    assert 4 * mu * 20 < 4 * (2 * 20 - 3)
    pending = [(mp.mpf(a), mp.mpf(b)) for a, b in pairwise(np.linspace(0.9, 20, 200))]
    decided = 0
    while pending:
        a, b = pending.pop()
        x, middle = iv.mpf([a, b]), (a + b) / 2
        slope, bend = 2 * x + 3 * iv.sin(2 * x), 2 + 6 * iv.cos(2 * x)
        at = iv.mpf(middle)
        # mean value form of phi'^2 - 2 mu phi, whose derivative is 2 phi' (phi'' - mu)
        centre = (2 * at + 3 * iv.sin(2 * at)) ** 2 - 2 * iv.mpf(mu * (1 - 1e-9)) * (at**2 + 3 * iv.sin(at) ** 2)
        if (centre + 2 * slope * (bend - mu) * (x - at)).a > 0:
            decided += 1
        else:
            assert b - a > 1e-7, (a, b)
            pending += [(a, middle), (middle, b)]
    assert decided >= 199
    touch = mp.mpf("2.20170917643584852315804710582")
    ratio = (2 * touch + 3 * mp.sin(2 * touch)) ** 2 / (2 * (touch**2 + 3 * mp.sin(touch) ** 2))
    assert mu <= ratio < mu * (1 + 1e-12)


@pytest.mark.parametrize("name", ["log-cosh", "pseudo-huber", "geman-mcclure", "pl-sine", "cosine", "logistic"])
def test_far_away_nothing_overflows(name: str) -> None:
    problem = build(name) if name == "logistic" else problems[name]()
    x = np.array([[-1e9], [1e9]]) * np.ones(problem.dimension)
    assert np.isfinite(problem.objective(x)).all()
    assert np.isfinite(problem.gradient(x[:, None], np.zeros((2, 1), dtype=int))).all()


def test_log_cosh_is_accurate_near_zero() -> None:
    z = 10.0 ** -np.arange(1, 8)
    mp.dps = 40
    exact = [float(mp.log(mp.cosh(mp.mpf(float(v))))) for v in z]
    np.testing.assert_allclose(log_cosh().value(z[:, None, None], np.zeros((7, 1), dtype=int))[:, 0], exact, atol=1e-17)


@pytest.mark.parametrize("shape", [log_cosh_shape(), pseudo_huber_shape(2)])
def test_higher_derivatives_of_sigmoids(shape: Sigmoid) -> None:
    z = sympy.Symbol("z", real=True)
    phi = sympy.log(sympy.cosh(z)) if shape.bound == 1 else 4 * (sympy.sqrt(1 + (z / 2) ** 2) - 1)
    grid = np.linspace(0, 8, 8001)
    derivatives = [np.abs(sympy.lambdify(z, phi.diff(z, order), "numpy")(grid)) for order in (2, 3, 4)]
    assert float(shape.third(np.array(0.0))) == pytest.approx(derivatives[1].max(), rel=1e-6)
    assert (shape.third(grid) >= derivatives[1] * (1 - 1e-9)).all()
    assert (np.diff(shape.third(grid)) <= 0).all()
    assert float(shape.third(np.array(50.0))) < 1e-5
    assert shape.fourth == pytest.approx(derivatives[2].max(), rel=1e-6)
    assert all(shape.tail(r) >= here * (1 - 1e-9) for r, here in zip(grid, derivatives[0], strict=True))
    assert shape.tail(50) < 1e-3 * shape.tail(1)


def test_logistic_minimum_is_certified() -> None:
    for name in ("logistic", "logistic, minibatch"):
        problem = build(name)
        assert isinstance(problem, Logistic)
        assert problem.minimum_error < 1e-30
    separable = Logistic([[[1.0]], [[2.0]]], [[1], [1]], 1e-4)
    assert separable.minimum_error < 1e-26
    # Here full Newton steps overshoot and never settle.
    steep = Logistic([[[0.05, -0.03], [94, -212], [-2.3, -11.7]]], [[1, 1, -1]], 1e-5)
    assert steep.minimum_error < 1e-24


def test_logistic_constants_of_equal_clients_and_equal_samples_are_zero() -> None:
    constants = Logistic([[[1.0, 2.0]]] * 3, [[1]] * 3, 1, batch=1).constants
    assert (constants.heterogeneity, constants.noise_std, constants.noise_smoothness) == (0, 0, 0)
    assert constants.upper == set()


@pytest.mark.parametrize("seed", range(5))
def test_logistic_bounds_hold_on_skewed_data(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=3)
    features = [rng.standard_t(2, size=(size, 2)) for size in sizes]
    problem = Logistic(features, [rng.choice([-1, 1], size=size) for size in sizes], 0.1, batch=3)
    x = rng.normal(size=(3000, 2)) * 10 ** rng.uniform(-2, 2, size=(3000, 1))
    assert problem.heterogeneity_along(x) <= problem.constants.heterogeneity
    y, clients = at_all_clients(problem, x)
    assert math.sqrt(problem.noise_variance(y, clients).max()) <= problem.constants.noise_std * (1 + 1e-12)


def test_noise_variance_of_a_minibatch_is_that_of_its_outcomes() -> None:
    problem = LeastSquares([[[1], [2]], [[0], [4]]], [[1, 1], [3, 0]], batch=2)
    y, clients = as_exact([[1], [2]]), np.array([0, 1])
    # client 0 at 1: gradients 0 and 4; client 1 at 2: gradients 0 and 64; two samples halve the variance
    assert problem.noise_variance(y, clients).tolist() == [2, 512]


def test_registry_builds_from_plain_numbers() -> None:
    assert {kind for kind, _ in CASES.values()} == set(problems) - {"training"}
    built = make("quadratic", curvature=[1.0, 2.0], centre=[0, 1], noise={"kind": "multiplicative", "smoothness": 0.5})
    assert built.constants.noise_smoothness == 0.5
    assert make("logistic", features=[[[1.0]]], labels=[[1]], l2=0.1).n_clients == 1


def test_a_common_entry_is_not_gathered() -> None:
    shared, own = Table("h", as_exact([[2], [2]])), Table("h", as_exact([[2], [3]]))
    clients, y = np.array([[0, 1]]), np.zeros((1, 2, 1))
    assert shared.rows(clients, y).shape == (1,)
    assert own.rows(clients, y).tolist() == [[[2.0], [3.0]]]


@pytest.mark.parametrize(
    ("build_it", "message"),
    [
        (lambda: make("quadratics"), r"problem must be one of cosine, .* \(did you mean quadratic\?\)"),
        (lambda: make("cosine", slope=1), "problem cosine must be given by slopes, noise"),
        (lambda: make("cosine", noise={"std": 1}), "noise.kind must be given, one of gaussian, "),
        (lambda: make("cosine", noise={"kind": "gauss", "std": 1}), r"noise must be .* \(did you mean gaussian\?\)"),
        (lambda: make("cosine", noise={"kind": "gaussian"}), "noise gaussian must be given by std"),
        (lambda: DiagonalQuadratic([1, math.nan]), "curvature must be a finite number; got nan"),
        (lambda: DiagonalQuadratic(np.array([1, math.inf])), "curvature must be finite"),
        (lambda: DiagonalQuadratic([[1, 2], [3]]), "curvature must be a rectangular array"),
        (lambda: DiagonalQuadratic([1, 2], [1, 2, 3]), "must be of one shape"),
        (lambda: DiagonalQuadratic([]), "at least one client"),
        (lambda: DiagonalQuadratic([[[1]]]), "a number, a list with"),
        (lambda: DiagonalQuadratic(["a"]), "curvature must be a finite number; got 'a'"),
        (lambda: MatrixQuadratic([[1, 2], [3, 4]], [[0, 0]]), "curvature must be symmetric"),
        (lambda: MatrixQuadratic([[1]], [[0, 0]]), r"curvature must be of shape \(2, 2\)"),
        (lambda: MatrixQuadratic([[1, 0], [0, 0]], [[0, 0]]).constants, "positive definite"),
        (lambda: MatrixQuadratic([[1, 1], [1, 1]], [[0, 0]]).constants, "positive definite"),
        (lambda: make("linear", slopes=[1], noise="gaussian"), "noise must be a table"),
        (lambda: make("groups", centres=[1, 2], sizes=1.5), "sizes must be a whole number"),
        (lambda: make("fedlaavg-example-1", centres=1), "centres must be two numbers"),
        (lambda: make("least-squares", features=1, labels=[[1]]), "features must be a list"),
        (lambda: plus_minus_one(3), "n_clients must be even; got 3"),
        (lambda: plus_minus_one(10**7), "n_clients must be at most 100,000, over which .*; got 10000000"),
        (lambda: groups([1, 2], sizes=10**7), "sizes must be of at most 100,000 clients in all, .*; got 10000000"),
        (lambda: groups([1, 2], sizes=[1, 100_000]), "sizes must be of at most 100,000 clients in all, "),
        (lambda: example_1([1, 2, 3]), "centres must be two numbers"),
        (lambda: groups([1, 2], sizes=[1]), "one for each of the 2 groups"),
        (lambda: groups([1, 2], sizes=0), "sizes must be a whole number of at least 1"),
        (lambda: cosine([0.1, 0.2, -0.3]), "slopes must be of sum exactly 0"),
        (lambda: cosine(1), "slopes must be of sum exactly 0"),
        (lambda: pseudo_huber([0], width=0), "width must be greater than 0"),
        (lambda: Logistic([[[1]]], [[0]], 1), "labels must be 1 or -1"),
        (lambda: Logistic([[[1]]], [[1]], 0), "l2 must be greater than 0"),
        (lambda: LeastSquares([[[1]]], [[1], [2]]), "labels must be given for each of the 1 clients"),
        (lambda: LeastSquares([[[1]], []], [[1], []]), "at least one sample"),
        (lambda: LeastSquares([[[1]], [[1, 2]]], [[1], [1]]), "of the same dimension"),
        (lambda: LeastSquares([[[1]]], [[1, 2]]), "one number for each sample"),
        (lambda: LeastSquares([[[1]]], [[1]], batch=0), "batch must be a whole number of at least 1"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(build_it: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_it()  # type: ignore[operator]


def test_floats_are_no_exact_problem() -> None:
    with pytest.raises(InputError, match="must be exact"):
        DiagonalQuadratic([1], [0.5]).gradient(as_exact([[1]]), np.array([0]))


def test_lines_without_a_minimum() -> None:
    assert linear([1, 1]).constants.minimum == -math.inf
    assert linear([1, -1]).constants.polyak_lojasiewicz == math.inf  # f = 0
