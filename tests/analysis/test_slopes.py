"""Slopes and exponents against known ones, and the recursions behind the rates against the library's algorithms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sympy import Rational, Symbol, ceiling, log, sqrt

from analysis.checks.amplified.rates import AT, _starts
from analysis.checks.fedamd.alike import counted, squares, with_chance
from analysis.checks.fedamd.moments import Quadratics
from analysis.checks.fedau.rates import known_rates
from analysis.checks.fedlaavg.rates import averaged
from analysis.checks.points import value_of
from analysis.checks.slopes import Estimated, Rate, Run, Slope, average_square, exponent, floor, rates
from analysis.evidence import Tally
from fltheory.papers import amplified as paper
from fltheory.papers import fedamd
from sims.algorithms import fedavg, fedlaavg
from sims.algorithms.amplified import Hyper, amplified
from sims.exact import Engine, Setting
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import bernoulli, schedule, weighted

x, y = Symbol("x", positive=True), Symbol("y", positive=True)
GRID = [4**k for k in range(4, 12)]


@pytest.mark.parametrize("power", [-1, -0.5, 0, 1])
def test_a_slope_with_a_term_of_lower_order(power: float) -> None:
    slope = Slope.of(GRID, [3 * n**power + n ** (power - 0.5) for n in GRID])
    assert slope.tends_to(power)
    assert not slope.tends_to(power + 0.5)
    assert not slope.tends_to(power - 0.5)
    assert slope.is_at_most(power + 0.5)
    assert not slope.is_at_most(power - 0.5)


def test_a_slope_that_is_not_settled_tends_to_nothing() -> None:
    slope = Slope((-0.2, -0.4, -0.9))
    assert not any(slope.tends_to(k / 4) for k in range(-8, 9))


@pytest.mark.parametrize("values", [[1.0, 0.0, 1.0, 1.0], [1.0, math.inf, math.inf, 1.0], [1.0, math.nan, 1.0, 1.0]])
def test_values_without_a_slope_fit_no_exponent(values: list[float]) -> None:
    slope = Slope.of(GRID[:4], values)
    assert not slope.tends_to(0)
    assert not slope.is_at_most(0)


@pytest.mark.parametrize(
    ("expression", "power"),
    [
        (sqrt(x) + 10**6 + log(x), "1/2"),
        (log(x) ** 2 / x, "-1"),
        (ceiling(log(x)) / x + y / x**2, "-1"),
        (x ** (-sqrt(2) / 4) + 1 / x, None),
        (y, "0"),
        (y - x, None),
    ],
)
def test_exponents_of_formulas(expression: object, power: str | None) -> None:
    found = exponent(expression, x, {"y": 3})
    assert (found if found is None else str(found)) == power


def test_a_floor_is_told_from_half_of_it() -> None:
    values = [0.25 + n**-0.5 for n in GRID]
    for least, seen in ((0.25, True), (0.125, False), (0.5, False)):
        tally = Tally()
        floor(tally, GRID, values, least)
        assert bool(tally.witness) is not seen


@pytest.mark.parametrize("loss", [0.01, 0.5, 1.0])
def test_the_average_of_a_recursion(loss: float) -> None:
    values = [2.0]
    for _ in range(6):
        values.append((1 - loss) * values[-1] + 0.3)
    assert average_square(loss, 0.3, 2.0, 7) == pytest.approx(float(np.mean(values)), rel=1e-12)


def test_a_recursion_that_grows_beyond_the_floats_is_infinite() -> None:
    assert average_square(-1.0, 0.1, 1.0, 10**6) == math.inf


@pytest.mark.parametrize(("size", "steps", "interval", "noise"), [(1, 1, 1, 1.0), (2, 3, 2, 0.5), (3, 2, 4, 0.0)])
def test_amplified_runs_are_those_of_the_library(size: int, steps: int, interval: int, noise: float) -> None:
    rounds = 8 * interval
    run = _starts(paper.cor32, rounds=rounds, size=size, steps=steps, interval=interval, noise=noise)
    formulas = {name: paper.cor32.formulas[name].subs(paper.sigma, noise or 1e-300) for name in paper.cor32.formulas}
    constants = {**{k: float(v) for k, v in AT.items()}, **run.constants}
    sizes = {name: value_of(formula, constants) for name, formula in formulas.items()}
    hyper = Hyper(sizes["local_lr"], sizes["amplification"], interval, steps)
    problem = DiagonalQuadratic([1.0] * size, [0.0] * size, Additive(noise))
    engine = Engine(Setting(amplified, problem, hyper, [1.0]), weighted(schedule([[True] * size]), [1] * size))
    squares = [float(m.second[0, 0]) for m in engine.moments(rounds - 1)][::interval]
    assert run.error == pytest.approx(np.mean(squares), rel=1e-9)


def test_two_clients_stand_for_two_groups() -> None:
    rows = [[True, False], [False, True], [False, False]]
    problem = DiagonalQuadratic([1.0] * 6, [1.0] * 3 + [-1.0] * 3)
    setting = Setting(fedlaavg.fedlaavg, problem, fedlaavg.Hyper(0.05, 2), [1.0])
    engine = Engine(setting, schedule([[a, a, a, b, b, b] for a, b in rows]), ignore=("age",))
    squares = [float(m.second[0, 0]) for m in engine.moments(39)]
    assert averaged(rows, 0.05, 40, steps=2) == pytest.approx(np.mean(squares), rel=1e-10)


@pytest.mark.parametrize(("clients", "size", "probability"), [(1, 1, 0.5), (3, 2, 0.3), (4, 3, 0.8), (4, 4, 1.0)])
def test_four_moments_are_enough_for_clients_that_are_alike(clients: int, size: int, probability: float) -> None:
    quadratics = Quadratics([1.0] * clients, size, 0.1, 1, 0.2, anchor_variance=0.7)
    units = [quadratics.vector(model=1), quadratics.vector(caches=1)]
    rows = [quadratics.form(units[0]), quadratics.form(units[0] + units[1]), quadratics.form(units[1])]
    each = sum(quadratics.form(np.eye(2 + clients)[2 + client]) for client in range(clients)) / clients
    one, long, total = with_chance(clients, size, probability, 0.2, 0.7), quadratics.start(1.5)[1], 0.0
    short = np.array([1.0, 1.5**2, 1.5**2, 1.5**2 + 0.7 / clients, 1.5**2 + 0.7, 0.0])
    for rounds in range(1, 10):
        square, both, cached = (row @ long for row in rows)
        assert short[1:5] == pytest.approx([square, (both - square - cached) / 2, cached, each @ long], rel=1e-12)
        long, short, total = quadratics.round(probability)[1] @ long, one @ short, total + square
        found = squares([(counted(one), 1)], 1.5, clients, 0.7, rounds)
        assert found == pytest.approx((total / rounds, rows[0] @ long), rel=1e-12)


def test_runs_with_known_rates_are_those_of_the_library() -> None:
    steps = {"local step": Rational(1, 10), "product of steps": Rational(3, 20)}
    found = known_rates(steps, n_clients=2, cohort_size=1, local_steps=3, heterogeneity=2, rounds=12)
    problem = DiagonalQuadratic([1.0] * 2, [2.0, -2.0], Additive(1.0))
    setting = Setting(fedavg.fedavg, problem, fedavg.Hyper(0.1, 1.5, 3), [1.0])
    moments = Engine(setting, weighted(bernoulli([0.5, 0.5]), [2, 2])).moments(11)
    assert found == pytest.approx(np.mean([float(m.second[0, 0]) for m in moments]), rel=1e-10)


def test_an_interval_of_simulated_means_covers_the_slope_and_tells_it_from_others() -> None:
    rng = np.random.default_rng(1)
    samples = [rng.gamma(20, n**-0.5 / 20, 50).tolist() for n in GRID]
    slope = Estimated.of(GRID, samples, 1 - 1e-4)
    assert slope.low < -0.5 < slope.high
    assert slope.allows(-0.5)
    assert slope.tells(-0.5)
    assert not slope.allows(-1)
    assert not slope.tells(-1)


def test_simulated_means_that_may_be_zero_tell_nothing() -> None:
    slope = Estimated.of([1, 4], [[0.0, 1.0], [0.0, 1.0]], 0.99)
    assert (slope.low, slope.high) == (-math.inf, math.inf)


def test_published_exponents_are_told_apart_from_ours_in_plain_letters() -> None:
    tau, order = fedamd.tau, 1 / (fedamd.tau * fedamd.T)
    lines = [
        Rate(fedamd.T, -1, order, {"anchor_period": 2}, GRID, lambda n: Run(1 / n)),
        Rate(tau, -1, order, {"rounds": 2}, GRID, lambda n: Run(1 / n), ours=True),
        Rate(tau, -1, order, {"rounds": 2}),
    ]
    summary = rates(fedamd.tau2, lines, domain="d").summary
    assert summary == (
        "Exponents, published and measured: T: -1, measured -1.000 (-1.000 to -1.000). "
        "Exponents of ours and measured: tau: -1, measured -1.000 (-1.000 to -1.000). "
        "Exponents of the formula: tau: -1."
    )
