"""Checks of sections 1 and 2: the objective, absorbed data weights, and what constant weights minimise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction as F
from itertools import product

import numpy as np
import sympy
from sympy import Symbol

from analysis.checks import CheckBook, Depth, mutate, put, times
from analysis.checks.fedau.limits import PROBLEMS, rules, settled, weighted_mean
from analysis.checks.fedau.no_minimum import HYPOTHESIS, NEEDS, WHERE, gradients_that_stay, squared_gradient, what_holds
from analysis.checks.tools import SLACK, admitted, at, rational_sample
from analysis.evidence import Evidence, Tally, algebra, conditional
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import T, p
from fltheory.symbols import UNITS, Constants, global_lr, initial_gap, local_lr
from fltheory.units import UnitError, unit_of
from sims.algorithms.fedavg import Hyper, fedavg
from sims.algorithms.protocol import Cohort
from sims.arrays import as_exact
from sims.exact import Engine, Setting
from sims.problems.base import Draws
from sims.problems.local import local_update
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import bernoulli, weighted

checks = CheckBook()


@checks(fedau.eq1, mutants=[times("coefficient", 2), put("coefficient", fedau.N, fedau.N**2)])
def coefficients_average(claim: Claim, depth: Depth) -> Evidence:
    """N equal coefficients of an average sum to one."""
    steps = [Step("N coefficients sum to 1", fedau.N * claim.formulas["coefficient"] - 1)]
    return algebra(steps, "proved", "The coefficients are equal and sum to one.", sample=rational_sample)


@checks(fedau.A1, mutants=[put("absorbed", fedau.N, fedau.N**2), times("absorbed", 2)])
def weights_are_absorbed(claim: Claim, depth: Depth) -> Evidence:
    """(1/N) F_n has the coefficient q_n/Gamma on client n's own objective."""
    wanted = fedau.data_weight / fedau.total_data_weight
    steps = [Step("(1/N) times the absorbed weight is q_n/Gamma", claim.formulas["absorbed"] / fedau.N - wanted)]
    return algebra(steps, "proved", "Symbolic identity, for every n and N.", sample=rational_sample)


def _iterates(rounds: Sequence[tuple[bool, ...]], multiplier: Callable[[bool, F], F], *, everyone: bool) -> list[F]:
    """Iterates of the library's FedAvg on two clients; `everyone` computes, or only who participates."""
    hyper = Hyper(local_lr=F(1, 10), global_lr=F(3, 2), local_steps=2)
    problem = DiagonalQuadratic(as_exact([[1], [3]]), as_exact([[-1], [2]]))
    state = fedavg.init(hyper, as_exact([1]), 2)
    iterates = []
    for t, on in enumerate(rounds):
        weights = as_exact([multiplier(took_part, F(n + 2, t + 1)) for n, took_part in enumerate(on)])
        cohort = Cohort(np.arange(2), np.array([everyone or took_part for took_part in on]), 2, weights)
        local = local_update(problem, fedavg.work(state, cohort, hyper), cohort, Draws())
        state = fedavg.apply(state, cohort, local, hyper)
        iterates.append(state.linear["x"][0])
    return iterates


def _two_client_histories(depth: Depth) -> Iterator[tuple[tuple[bool, ...], ...]]:
    return product(product((False, True), repeat=2), repeat={"quick": 2, "default": 4, "deep": 6}[depth])


@checks(fedau.alg1, mutants=[put("multiplier", fedau.N, fedau.N + 1), times("multiplier", 2)])
def server_step_by_hand(claim: Claim, depth: Depth) -> Evidence:
    """The library's FedAvg against the server step written out: x + (eta/N) sum w_n Delta_n, absent clients zero."""
    tally = Tally()
    multiplier = at(claim.formulas["multiplier"], global_lr=F(3, 2), n_clients=2)
    for rounds in _two_client_histories(depth):
        x, expected = F(1), []
        for t, on in enumerate(rounds):
            step = F(0)
            for n, (curvature, centre) in enumerate(((1, -1), (3, 2))):
                y = x
                for _ in range(2):
                    y -= F(1, 10) * curvature * (y - centre)
                step += F(n + 2, t + 1) * (y - x) if on[n] else 0
            x += multiplier * step
            expected.append(x)
        for t, value in enumerate(_iterates(rounds, lambda _, w: w, everyone=False)):
            tally.equal(value, expected[t], rounds=rounds, t=t)
    return tally.evidence(
        "exact",
        "enumeration",
        "The library's algorithm takes exactly this step, whoever participates.",
        domain=f"all histories of two clients over {len(rounds)} rounds, two local steps, exact rationals",
    )


@checks(fedau.algB21, mutants=[put("multiplier", fedau.participated, 1), put("multiplier", fedau.weight, 1)])
def both_forms_agree(claim: Claim, depth: Depth) -> Evidence:
    """Only participants compute, or everybody does with the indicator in front: the same iterates."""
    tally = Tally()

    def indicator(took_part: bool, weight: F) -> F:
        return at(claim.formulas["multiplier"], participated=int(took_part), weight=weight)

    for rounds in _two_client_histories(depth):
        pair = zip(
            _iterates(rounds, lambda _, w: w, everyone=False),
            _iterates(rounds, indicator, everyone=True),
            strict=True,
        )
        for t, (one, other) in enumerate(pair):
            tally.equal(other, one, rounds=rounds, t=t)
    return tally.evidence(
        "exact",
        "enumeration",
        "The same iterates, whoever participates.",
        domain=f"all histories of two clients over {len(rounds)} rounds, two local steps, exact rationals",
    )


@checks(fedau.thm1, mutants=[put("coefficient", p, p**2), put("coefficient", fedau.weight, 1)])
def expected_step_descends_h(claim: Claim, depth: Depth) -> Evidence:
    """One local step moves, in expectation, along -grad h; but h must have a minimum to be minimised."""
    # Expected update of client n with one local step: -(gamma eta/N) w_n p_n grad F_n = -(gamma eta P/N) c_n grad F_n.
    lr = local_lr * global_lr / fedau.N
    residual = lr * fedau.weight * p - lr * fedau.total_weight * claim.formulas["coefficient"]
    found = algebra(
        [Step("expected step = -(gamma eta P/N) grad h, client by client", residual)],
        "proved",
        "",
        sample=rational_sample,
    )
    if found.verdict != "proved":
        return found
    least, stays = Tally(), Tally(sides=("|grad h|^2, at every x", "epsilon^2"))
    for problem in PROBLEMS:
        curvatures, centres, rates = problem
        for name, weights in rules(rates):
            total = sum(w * r for w, r in zip(weights, rates, strict=True))
            parts = [
                at(claim.formulas["coefficient"], weight=w, rate=r, total_weight=total) * a
                for w, r, a in zip(weights, rates, curvatures, strict=True)
            ]
            minimum = weighted_mean(parts, centres)
            least.equal(settled(problem, weights, F(1, 50), 1), minimum, rates=rates, weights=name)
    stays.at_most(squared_gradient(claim), F(1, 10) ** 2, **WHERE, epsilon=F(1, 10), **what_holds(claim))
    return conditional(
        stays,
        least,
        HYPOTHESIS,
        "algebra and exact rationals",
        f"With one local step FedAvg settles at the minimum of h; the statement {NEEDS}.",
        domain=f"one local step: {len(PROBLEMS)} quadratic problems, three rules; the general case is Theorem B.4.1",
    )


@checks(
    fedau.thmB41,
    mutants=[
        put("bound", fedau.sigma**2, fedau.sigma),
        mutate("bound", "first term without T", lambda e: e.subs(T, 1)),
        mutate("bound", "a constant floor", lambda e: e + fedau.sigma**2),
    ],
)
def bound_vanishes_in_one_unit(claim: Claim, depth: Depth) -> Evidence:
    """The bound is homogeneous and tends to 0 with the stated step sizes."""
    assert claim.bound is not None
    try:
        unit = unit_of(claim.bound.rhs, UNITS)
    except UnitError as error:
        return Evidence("inconsistent", "units", f"not homogeneous: {error}")
    if unit != claim.bound.unit:
        return Evidence("inconsistent", "units", f"the bound has unit {unit}, its left-hand side {claim.bound.unit}")
    c1, c2 = Symbol("c1", positive=True), Symbol("c2", positive=True)
    x = Symbol("x", positive=True)
    local = c1 / sympy.sqrt(x)
    schedule = {local_lr: local, global_lr: c2 / c1, T: x}
    limit = sympy.limit(claim.bound.rhs.subs(schedule, simultaneous=True), x, sympy.oo)
    vanishes = Tally()
    vanishes.equal(limit, 0, quantity="limit of the bound")
    return conditional(
        gradients_that_stay(claim),
        vanishes,
        HYPOTHESIS,
        "units and limit",
        f"Homogeneous, and vanishes with the stated step sizes; {NEEDS}.",
        domain="all positive constants",
    )


# (rates, weights, curvature, centres, start, noise variance, local steps): shared curvature, so that delta is exact.
_PROBLEMS = (
    ((0.5, 0.5), (1.0, 1.0), 1.0, (0.0, 0.0), 1.0, 0.0, 1),  # the initial gap alone
    ((0.9, 0.1), (1.0, 1.0), 2.0, (-1.0, 1.0), -0.8, 0.0, 1),  # heterogeneity, from the minimum of h
    ((0.3, 0.8), (2.0, 1.0), 1.0, (0.0, 0.0), 0.0, 1.0, 1),  # noise alone
    ((0.2, 0.5, 1.0), (3.0, 1.0, 0.5), 0.5, (-1.0, 0.0, 4.0), 2.0, 0.25, 5),
    ((0.05, 1.0), (10.0, 1.0), 1.0, (-2.0, 2.0), 0.0, 0.0, 3),
)


@checks(
    fedau.thmB41,
    mutants=[
        put("bound", 8 * initial_gap, initial_gap / 100),
        put("bound", 17 * fedau.sigma**2 / 16, fedau.sigma**2 / 1000),
        put("bound", 27 * fedau.I * fedau.delta**2 / 2, fedau.I * fedau.delta**2 / 1000),
        mutate("bound", "divided by 100", lambda e: e / 100),
    ],
)
def bound_on_quadratics(claim: Claim, depth: Depth) -> Evidence:
    """Exact second moments of the library's FedAvg on quadratics, wherever the claim's conditions admit the steps."""
    assert claim.bound is not None
    tally = Tally(slack=SLACK)
    horizons = {"quick": (1, 20), "default": (1, 5, 50), "deep": (1, 5, 50, 1000)}[depth]
    for rates, weights, curvature, centres, start, variance, steps in _PROBLEMS:
        p, w, b = (np.array(v) for v in (rates, weights, centres))
        share = w * p / (w * p).sum()
        minimum = float(share @ b)
        for local, part in ((1.0, 1.0), (1.0, 0.1), (1e-3, 1.0)):  # parts of the largest steps the paper allows
            square = float((p * (w * p.size / (w * p).sum()) ** 2).mean())
            lr = local / (4 * math.sqrt(15) * curvature * steps) * (1 - 1e-12)
            both = part * min(1 / 4, p.size / (54 * square)) / (curvature * steps) * (1 - 1e-12)
            constants = {
                "smoothness": curvature,
                "local_steps": steps,
                "n_clients": p.size,
                "local_lr": lr,
                "global_lr": both / lr,
                "noise_std": math.sqrt(variance),
                "heterogeneity": curvature * float(np.abs(b - b.mean()).max()),
                "initial_gap": curvature * (start - minimum) ** 2 / 2,
                "weight_square": square,
            }
            if not admitted(claim, **constants):
                continue
            # eta of the claim is eta P/N: the same products eta w_n with weights that make p.w sum to N.
            hyper = Hyper(local_lr=lr, global_lr=constants["global_lr"], local_steps=steps)
            problem = DiagonalQuadratic([curvature] * p.size, centres, Additive(math.sqrt(variance)))
            setting = Setting(fedavg, problem, hyper, [float(start)])
            engine = Engine(setting, weighted(bernoulli(rates), w * p.size / (w * p).sum()))
            moments = np.array([(m.second[0, 0], m.mean("x")[0]) for m in engine.moments(max(horizons))], np.float64)
            gradients = curvature**2 * (moments[:, 0] - 2 * minimum * moments[:, 1] + minimum**2)
            for horizon in horizons:
                right = claim.bound.at(Constants(**constants, rounds=horizon))
                left = float(gradients[:horizon].mean()) - 1e-14  # the second moment cancels to its rounding
                tally.at_most(left, right, rates=rates, weights=weights, steps=steps, T=horizon, local_lr=lr)
    return tally.evidence(
        "exact",
        "exact moments",
        f"No violation on quadratics, with steps that the conditions admit; largest ratio found {tally.largest:.3f}.",
        domain=f"{len(_PROBLEMS)} quadratic problems of shared curvature, three pairs of steps, T in {horizons}",
        ratio=True,
    )
