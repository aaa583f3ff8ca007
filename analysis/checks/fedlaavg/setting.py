"""Checks of section 2 and of Algorithm 1: the objective, its scaling, windows, and what the server keeps."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import sympy
from sympy import Symbol

from analysis.checks import CheckBook, Depth, plus, put, times
from analysis.checks.tools import rational_sample
from analysis.evidence import Evidence, Tally, algebra, conditional
from analysis.trials import exact_value
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import setting as paper
from fltheory.papers.fedlaavg.letters import N, data_share, e1, e2
from sims.algorithms import fedlaavg
from sims.exact import Engine, Setting, run
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import schedule

checks = CheckBook()


@checks(paper.def_scaled, mutants=[put("scale", N, N + 1), times("scale", 2)])
def scaled_average(claim: Claim, depth: Depth) -> Evidence:
    """(1/N) f_i has the coefficient w_i on f~_i."""
    steps = [Step("(1/N) times the scale is w_i", claim.formulas["scale"] / N - data_share)]
    return algebra(steps, "proved", "Symbolic identity, client by client.", sample=rational_sample)


def settles_at(shares: tuple[F, ...] | None) -> F:
    """Where the library's FedLaAvg settles on (x - 1)^2/2 and (x + 1)^2/2, with or without scaled gradients."""
    hyper = fedlaavg.Hyper(F(1, 10), weights=shares)
    engine = Engine(
        Setting(fedlaavg.fedlaavg, DiagonalQuadratic([1, 1], [1, -1]), hyper, [0]), schedule([[True, True]])
    )
    value: F = engine.limit_cycle()[0].mean("x")[0]
    return value


@checks(paper.def_grad, mutants=[put("scale", 1, data_share * N)])
def gradient_of_what(claim: Claim, depth: Depth) -> Evidence:
    """The server's average of E[g_i] against grad f = sum w_i grad f~_i, coefficient by coefficient."""
    scale = claim.formulas["scale"]
    wanted = paper.def_scaled.formulas["scale"]
    if sympy.simplify(scale - wanted) == 0:
        return Evidence("proved", "algebra", "The average of the E[g_i] is grad f.", cases=1)
    literal, meant = settles_at(None), settles_at((F(3, 4), F(1, 4)))
    return Evidence(
        "inconsistent", "algebra and exact run",
        "E[g_i] = grad f~_i should read grad f_i (scaled), as the proofs and the authors' programs have it; literally "
        "the plain average of the f~_i would be minimised.",
        witness={"w": "(3/4, 1/4)", "f~_i": "(x -+ 1)^2/2", "stationary point, literal": literal, "of f": meant},
    )  # fmt: skip


@checks(
    paper.ex1, mutants=[times("objective", 2), put("objective", e1, e2), put("objective", paper.noise_variances, 0)]
)
def objective_of_example_1(claim: Claim, depth: Depth) -> Evidence:
    """(1/2) sum E(x - xi_i)^2 with E(x - xi)^2 = (x - e)^2 + Var(xi)."""
    one, two, x = Symbol("variance_1"), Symbol("variance_2"), paper.point
    mean = ((x - e1) ** 2 + one + (x - e2) ** 2 + two) / 2
    form = claim.formulas["objective"].subs(paper.noise_variances, (one + two) / 2)
    steps = [Step("mean of the two losses", mean - form), Step("curvature 2", sympy.diff(form, x, 2) - 2)]
    return algebra(steps, "proved", "Symbolic identity; every f_i has curvature 2.", sample=rational_sample)


def smallest_window(pattern: np.ndarray) -> int:
    """The smallest E of Assumption 4, from the start on, along one pattern (iterations, n_clients) of full windows."""
    gaps = [1]
    for column in pattern.T:
        there = [0, *(np.flatnonzero(column) + 1).tolist()]
        gaps += np.diff(there).tolist()
        gaps.append(len(column) + 1 - there[-1])
    return max(gaps)


@checks(paper.ass4_full, mutants=[plus("window", 1), times("window", "13/10")])
def window_of_everybody(claim: Claim, depth: Depth) -> Evidence:
    """All patterns of two clients: the window suffices exactly if everybody is always available."""
    window, tally = claim.formulas["window"], Tally()
    tally.holds(bool(window.is_integer), window=window)
    for cells in product((False, True), repeat=8):
        pattern = np.reshape(cells, (4, 2))
        tally.equal(bool(smallest_window(pattern) <= window) + 0, int(pattern.all()), pattern=str(cells))
    return tally.evidence("exact", "enumeration", "Exactly then.", domain="two clients, four iterations, all patterns")


@checks(paper.ass4_day, mutants=[times("window", 2), plus("window", -1)])
def nights(claim: Claim, depth: Depth) -> Evidence:
    """A fixed hour every night; any hours, one a night."""
    stated, fixed = Tally(sides=("iterations from one free hour to the next", "the window")), Tally()
    for day in (2, 5, 24):
        window = exact_value(claim.formulas["window"], {"day_length": day})
        for hour in range(day):
            gap = _gap([hour + 1 + day * k for k in range(5)])
            fixed.at_most(gap, window, day=day, hour=hour)
        for first, second in product(range(1, day + 1), repeat=2):
            stated.at_most(_gap([first, day + second]), window, day=day, hours=f"{first} and {day + second}")
    return conditional(
        stated, fixed, "the free hours are strictly periodic", "enumeration",
        "True of a fixed hour; free once a night at any hour the gap reaches 2 day - 1 (47 for 24 iterations a day).",
        domain="days of 2, 5 and 24 iterations",
    )  # fmt: skip


def _gap(hours: list[int]) -> int:
    return max(b - a for a, b in zip([0, *hours[:-1]], hours, strict=True))


def _patterns(depth: Depth) -> Iterator[tuple[tuple[bool, ...], ...]]:
    """Who takes part, all patterns of two clients."""
    return product(product((False, True), repeat=2), repeat={"quick": 3, "default": 4, "deep": 6}[depth])


@checks(paper.eq3, mutants=[times("share", 2), put("share", N, N + 1)])
def server_keeps_the_average(claim: Claim, depth: Depth) -> Evidence:
    """The library's server state against its clients' latest updates, all patterns of two clients."""
    tally, problem = Tally(), DiagonalQuadratic([1, 3], [-1, 2])
    share = exact_value(claim.formulas["share"], {"n_clients": 2})
    for rows in _patterns(depth):
        setting = Setting(fedlaavg.fedlaavg, problem, fedlaavg.as_in_paper(F(1, 10)), [1])
        states = run(setting, schedule(rows), len(rows))
        for t, state in enumerate(states):
            latest = share * sum(state.linear["latest"][:, 0])
            tally.equal(state.linear["average"][0], latest, rows=rows, t=t)
            if t:
                tally.equal(state.linear["x"][0] - states[t - 1].linear["x"][0], latest, rows=rows, t=t)
    return tally.evidence(
        "exact", "enumeration", "After every iteration; the model moves along it.",
        domain=f"all patterns of two clients over {len(rows)} iterations, exact rationals",
    )  # fmt: skip


@checks(paper.alg1_full, mutants=[times("share", 2), put("share", N, N + 1)])
def gradient_descent(claim: Claim, depth: Depth) -> Evidence:
    """The library with everybody in every iteration against gradient descent."""
    tally = Tally()
    cases: tuple[tuple[Any, Any], ...] = (((1, 3), (-1, 2)), ((2, 1, 1), (0, 5, -1)))
    for (curvatures, centres), step in product(cases, (F(1, 10), F(1, 3))):
        n = len(curvatures)
        setting = Setting(
            fedlaavg.fedlaavg, DiagonalQuadratic(list(curvatures), list(centres)), fedlaavg.as_in_paper(step), [1]
        )
        share, x = exact_value(claim.formulas["share"], {"n_clients": n}), F(1)
        for t, state in enumerate(run(setting, schedule([[True] * n]), 6)):
            tally.equal(state.linear["x"][0], x, N=n, step=step, t=t)
            x -= step * share * sum(a * (x - b) for a, b in zip(curvatures, centres, strict=True))
    return tally.evidence("exact", "exact runs", "The same iterates.", domain="2 and 3 clients, six iterations")
