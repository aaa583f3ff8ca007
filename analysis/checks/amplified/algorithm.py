"""Checks of Algorithm 1, of its limit under cyclic participation, and of what averaging does to noise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import sympy

from analysis.checks import CheckBook, Depth, mutate, plus, put, times, without
from analysis.checks.amplified.weighting import EMPHASIS, MASKS, one, schedule
from analysis.checks.points import drawn, held_at, value_of
from analysis.checks.tools import at, rests_on
from analysis.domains import Real, Several, Whole
from analysis.evidence import Evidence, Tally, conditional
from analysis.trials import Point, Sides, right_side, root
from fltheory.ledger import Claim
from fltheory.papers import amplified
from fltheory.papers.amplified import accumulated, eta, rho
from sims import scenarios
from sims.algorithms.amplified import Hyper
from sims.algorithms.amplified import amplified as algorithm
from sims.algorithms.fedavg import Hyper as FedAvgHyper
from sims.algorithms.fedavg import fedavg
from sims.exact import Engine, Setting, run
from sims.problems.quadratic import DiagonalQuadratic

checks = CheckBook()

CURVATURES, CENTRES, STEPS, LR = (F(1), F(3)), (F(-1), F(2)), 2, F(1, 10)


def weighted_schedule(rows: Sequence[Sequence[Any]]) -> scenarios.Scenario:
    """Participation with these weights, row by row, over and over: q_n N is the library's weight."""
    n = len(rows[0])
    cohorts = [
        replace(scenarios.cohort([q > 0 for q in row]), weight=np.array([q * n for q in row], dtype=object))
        for row in rows
    ]
    return scenarios.Scenario({0: 1}, lambda t, discrete: [(1, cohorts[t], (t + 1) % len(cohorts))])


def _by_hand(claim: Claim, rows: Sequence[Sequence[Any]], factor: F, interval: int) -> Iterator[F]:
    """Algorithm 1 written out: x, the accumulator u, and the claim's own line at the end of an interval."""
    x = begin = F(1)
    u = F(0)
    for t, row in enumerate(rows):
        step = F(0)
        for q, curvature, centre in zip(row, CURVATURES, CENTRES, strict=True):
            y = x
            for _ in range(STEPS):
                y -= LR * curvature * (y - centre)
            step += q * (y - x)
        x, u = x + step, u + step
        if (t + 1) % interval == 0:
            x = begin = at(claim.formulas["end of interval"], anchor=begin, accumulated=u, amplification=factor)
            u = F(0)
        yield x


def _iterates(of: Any, hyper: Any, rows: Sequence[Sequence[Any]]) -> list[F]:
    setting = Setting(of, DiagonalQuadratic(CURVATURES, CENTRES), hyper, [1])
    return [state.linear["x"][0] for state in run(setting, weighted_schedule(rows), len(rows))[1:]]


@checks(
    amplified.alg1_repaired,
    mutants=[
        put("end of interval", eta, eta + 1), put("end of interval", accumulated, 2 * accumulated),
        plus("end of interval", 1),
    ],
)  # fmt: skip
def library_against_the_box(claim: Claim, depth: Depth) -> Evidence:
    """All schedules of three weight vectors: the library's iterates, Algorithm 1 by hand, and its special cases."""
    rounds = {"quick": 4, "default": 5, "deep": 7}[depth]
    choices = ((F(1), F(0)), (F(0), F(1)), (F(1, 3), F(2, 3)))
    tally = Tally()
    for rows in itertools.product(choices, repeat=rounds):
        for factor, interval in ((F(3), 2), (F(1, 2), 3), (F(2), 1)):
            found = _iterates(algorithm, Hyper(LR, factor, interval, STEPS), rows)
            for t, (x, wanted) in enumerate(zip(found, _by_hand(claim, rows, factor, interval), strict=True)):
                tally.equal(x, wanted, weights=rows, eta=factor, P=interval, t=t + 1)
        plain = _iterates(fedavg, FedAvgHyper(LR, F(1), STEPS), rows)
        tally.holds(_iterates(algorithm, Hyper(LR, F(1), 2, STEPS), rows) == plain, special="eta = 1", weights=rows)
        two_sided = _iterates(fedavg, FedAvgHyper(LR, F(2), STEPS), rows)
        tally.holds(_iterates(algorithm, Hyper(LR, F(2), 1, STEPS), rows) == two_sided, special="P = 1", weights=rows)
    example = Setting(algorithm, DiagonalQuadratic([1], [0]), Hyper(F(1, 10), 3, 2), [1])
    states = run(example, weighted_schedule([(F(1),)]), 4)
    printed = [F(1), F(9, 10), F(43, 100), F(387, 1000), F(1849, 10_000)]
    tally.holds([state.linear["x"][0] for state in states] == printed, example="x^2/2, gamma = .1, P = 2, eta = 3")
    return tally.evidence(
        "exact", "enumeration",
        "An interval leads from x to x + eta u; eta = 1 is FedAvg, P = 1 FedAvg with two-sided step sizes. On x^2/2 "
        "with gamma = .1, P = 2, eta = 3: 1, .9, .43, .387, .1849.",
        domain=f"all schedules of three weight vectors over {rounds} rounds, exact rationals",
    )  # fmt: skip


# ---- cyclic participation --------------------------------------------------------------------------------


@checks.trial(
    amplified.law_cyclic,
    space={
        "curvature": Real("1/8", 8, log=True),
        "centres": Several(Real(-4, 4), 1, 5),
        "who": MASKS,
        "emphasis": EMPHASIS,
        "local_share": Real("1/1000", 1, log=True),  # local step size times L
        "steps": Whole(1, 6),
    },
)
def settled_cycles(claim: Claim, point: Point) -> Sides:
    """The fixed point of a whole cycle: with D the decay of a round, x -> D x + (1 - D) b_t round by round."""
    assert claim.bound is not None
    centres, h = point["centres"], point["curvature"]
    rows = schedule(point["who"], point["emphasis"], len(centres), len(point["who"]))
    minimisers = [sum(q * b for q, b in zip(row, centres, strict=True)) for row in rows]
    lr = point["local_share"] / h
    keep = (1 - lr * h) ** point["steps"]
    offset, slope = 0 * h, 1 + 0 * h
    for b in minimisers:
        offset, slope = keep * offset + (1 - keep) * b, keep * slope
    average = sum(minimisers) / one(h, len(rows))
    constants = {
        "smoothness": h,
        "local_lr": lr,
        "local_steps": point["steps"],
        "interval": len(rows),
        "centre_spread": max(abs(b - average) for b in minimisers),
    }
    left = abs(offset / (1 - slope) - average)
    return Sides(left - (1e-12 if isinstance(left, float) else 0), right_side(claim.bound, constants), constants)


_CYCLES: tuple[tuple[tuple[F, ...], tuple[tuple[Any, ...], ...], F, int, F], ...] = (
    ((F(-1), F(1)), ((1, 0), (0, 1)), F(1, 10), 1, F(3, 2)),
    ((F(-1), F(1)), ((1, 0), (0, 1)), F(1, 10), 3, F(1, 2)),
    ((F(3), F(0), F(-1)), ((1, 0, 0), (0, 1, 0), (0, 0, 1)), F(1, 4), 2, F(1)),
    ((F(3), F(0), F(-1)), ((F(1, 2), F(1, 2), 0), (0, F(1, 3), F(2, 3))), F(1, 4), 1, F(5, 4)),
)


def _weight(claim: Claim, turn: int, **values: Any) -> F:
    return F(value_of(claim.formulas["weight of round t"].subs(amplified.turn, turn), values))


@checks(
    amplified.law_cyclic,
    mutants=[
        put("weight of round t", amplified.turn, amplified.turn + 1), times("weight of round t", 2),
        mutate("bound", "one round less", lambda e: e.subs(amplified.P - 1, sympy.Max(amplified.P - 2, 0))),
        times("bound", F(1, 10)), without("local step"),
    ],
)  # fmt: skip
@rests_on({"local step": amplified.gamma <= 1 / amplified.L})
def limit_cycles_of_the_library(claim: Claim, depth: Depth) -> Evidence:
    """The engine's limit cycle of the library's Algorithm 1, for several eta, against the weighted average."""
    tally = Tally()
    for centres, rows, lr, steps, factor in _CYCLES:
        for eta_value, h in ((factor, F(1)), (F(2, 3), F(2))):
            problem = DiagonalQuadratic([h] * len(centres), centres)
            setting = Setting(algorithm, problem, Hyper(lr / h, eta_value, len(rows), steps), [7])
            limit = Engine(setting, weighted_schedule(rows)).limit_cycle()[0].mean("x")[0]
            known: dict[str, Any] = {"smoothness": h, "local_lr": lr / h, "local_steps": steps, "interval": len(rows)}
            minimisers = [sum(q * b for q, b in zip(row, centres, strict=True)) for row in rows]
            wanted = sum(_weight(claim, t, **known) * b for t, b in enumerate(minimisers))
            tally.equal(limit, wanted, centres=centres, eta=eta_value, gamma=lr, I=steps, P=len(rows))
    if tally.witness:
        return tally.evidence("exact", "limit cycle", "", domain="")
    number = {"quick": 100, "default": 1000, "deep": 10_000}[depth]
    sharp: dict[str, Any] = {"centres": (-1.0, 1.0), "who": (1, 2, 2, 2, 2, 2), "emphasis": (1.0,)}
    points = [*drawn(settled_cycles, number), *drawn(settled_cycles, number, **sharp)]
    return held_at(
        settled_cycles, claim, points, "exact", "limit cycle",
        f"The library's limit in {tally.cases} exact cases, whatever eta, and no violation",
        domain="quadratics of one curvature, cycles of up to eight rounds",
    )  # fmt: skip


# ---- noise -----------------------------------------------------------------------------------------------


@checks(amplified.noise_average, mutants=[times("bound", F(1, 2)), times("bound", 100), put("bound", rho**2, rho**4)])
def common_and_independent_noise(claim: Claim, depth: Depth) -> Evidence:
    """All signs of the clients' noise, drawn independently or once for all clients."""
    assert claim.bound is not None
    common, independent = Tally(), Tally()
    for n in (1, 2, 3, 4):
        for row in (tuple(F(1, n) for _ in range(n)), tuple(F(2 * k + 1, n * n) for k in range(n))):
            constants = {"participation_norm": root(sum(q * q for q in row)), "noise_std": F(3, 2)}
            right = value_of(claim.bound.rhs, constants)
            signs = list(itertools.product((F(-3, 2), F(3, 2)), repeat=n))
            apart = sum(sum(q * x for q, x in zip(row, draw, strict=True)) ** 2 for draw in signs) / len(signs)
            independent.at_most(apart, right, weights=row, sigma=F(3, 2))
            common.at_most(F(9, 4) * sum(row) ** 2, right, weights=row, sigma=F(3, 2))
    return conditional(
        common, independent, "the noise of different clients is independent (customary, and surely meant)",
        "enumeration",
        "True for noise that is independent over clients, which (3) does not print; two clients that share their "
        "noise have sigma^2 instead of sigma^2/2.",
        domain="up to four clients, equal and unequal weights, noise of two values",
    )  # fmt: skip
