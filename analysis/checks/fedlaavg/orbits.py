"""FedLaAvg on Example 1 with exact gradients: its orbits, and trials on them.

Written in deviations z from x*, with means at d = 1 and -1: shift and scale of x are free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction as F
from itertools import product
from typing import Any

from sympy import Symbol

from analysis.checks import CheckBook, Depth
from analysis.checks.points import facts_of
from analysis.checks.tools import rational_sample
from analysis.domains import Domain, Real, Whole
from analysis.evidence import Evidence, Tally, algebra
from analysis.trials import Point, Sides, exact_value, judge, right_side
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import example1 as paper

checks = CheckBook()

z, d, s1, s2 = paper.z, paper.d, paper.stale_1, paper.stale_2
M = Symbol("half_gradient", positive=True)  # M = G/2


@dataclass(frozen=True)
class Orbit:
    """z[t] for t = 0..T, and for each iteration t = 1..T the latest iterations (T_1, T_2)."""

    z: list[Any]
    latest: list[tuple[int, int]]


def orbit(first: int, second: int, start: Any, step: Any, length: int) -> Orbit:
    """FedLaAvg on Example 1 from Algorithm 1, clients' gradients 2(z - d) and 2(z + d), zero before they take part."""
    values, latest, seen, gradient = [start], [], [0, 0], [0 * start, 0 * start]
    for t in range(1, length + 1):
        who = 0 if (t - 1) % (first + second) < first else 1
        seen[who], gradient[who] = t, 2 * (values[-1] - (1, -1)[who])
        values.append(values[-1] - step * (gradient[0] + gradient[1]) / 2)
        latest.append((seen[0], seen[1]))
    return Orbit(values, latest)


SPACE: dict[str, Domain] = {
    "first_block": Whole(1, 30),
    "second_block": Whole(1, 30),
    "start": Real(-4, 4),
    "example_lr": Real("1/1000", 3, log=True),
    "iterations": Whole(1, 400),
}


def constants(point: Point) -> dict[str, Any]:
    """Code names at a point: means 1 and -1, so d = 1 and |e_1 - e_2| = 2."""
    away = abs(point["start"])
    return {
        "block_staleness": max(point["first_block"], point["second_block"]),
        "start_distance": away,
        "example_gradient": max(2 * away, 2),
        "iterations": point["iterations"],
        "first_mean": 1,
        "second_mean": -1,
        **({"example_lr": point["example_lr"]} if "example_lr" in point else {}),
    }


def points(
    depth: Depth, *, steps: tuple[str, ...] = ("1/100", "1/10", "2/5", "1/2", "3/4", "3")
) -> Iterator[dict[str, Any]]:
    """A grid of the space, exact, longer steps than conditions allow among them: a claim without them fails there."""
    longest = {"quick": 3, "default": 6, "deep": 20}[depth]
    lengths = {"quick": (1, 2, 9), "default": (1, 2, 3, 7, 30), "deep": (1, 2, 3, 5, 9, 30, 100)}[depth]
    blocks = [b for b in (1, 3, 6, 20) if b <= longest]
    starts = (F(-3), F(0), F(1)) if depth == "quick" else (F(-3), F(0), F(1, 2), F(1), F(2))
    for first, second, start, step, length in product(blocks, blocks, starts, steps, lengths):
        yield {
            "first_block": first, "second_block": second, "start": start, "example_lr": F(step), "iterations": length,
        }  # fmt: skip


DOMAIN = "blocks 1, 3, 6, 20, starts -3 to 2, steps 1/100 to 1/2, means 1 and -1, exact rationals"


def on_orbits(claim: Claim, left: Callable[[Orbit, Any], Any]) -> Any:
    """Register a trial of a claim about the last iteration or the whole of an orbit."""

    @checks.trial(claim, SPACE)
    def example_1_orbit(claim: Claim, point: Point) -> Sides:
        """Example 1 with means 1 and -1: two clients with f_i = (x - e_i)^2, available in turn in blocks of
        `first_block` and `second_block` iterations, x^0 = `start`; at t = `iterations`, or over all up to there."""
        where = constants(point)
        path = orbit(*(point[name] for name in SPACE))
        return Sides(left(path, point["example_lr"]), right_side(claim.bound, where), where)

    return example_1_orbit


def last_distance(path: Orbit, step: Any) -> Any:
    return abs(path.z[-1])


def last_step(path: Orbit, step: Any) -> Any:
    return abs(path.z[-1] - path.z[-2])


def last_age(path: Orbit, step: Any) -> Any:
    return len(path.latest) - min(path.latest[-1])


def last_drift(path: Orbit, step: Any) -> Any:
    """|x^(t-1) - x^(T_i)|, the larger."""
    return max(abs(path.z[-2] - path.z[latest]) for latest in path.latest[-1])


def last_excess(path: Orbit, step: Any) -> Any:
    before, after = path.z[-2], path.z[-1]
    return before**2 - (before**2 - after**2) / (2 * step)


def mean_square(path: Orbit, step: Any) -> Any:
    squares = [value * value for value in path.z[:-1]]
    return sum(squares) / len(squares) if isinstance(squares[0], float) else F(sum(squares)) / len(squares)


distances = on_orbits(paper.thm2_eq9, last_distance)
step_lengths = on_orbits(paper.thm2_eq10, last_step)
ages = on_orbits(paper.thm2_I, last_age)
drifts = on_orbits(paper.thm2_eq11, last_drift)
excesses = on_orbits(paper.thm2_step, last_excess)
averages = on_orbits(paper.thm2_eq12, mean_square)


@checks.trial(paper.thm2_step_repaired, SPACE)
def excess_by_phase(claim: Claim, point: Point) -> Sides:
    """The difference before (12) against the constant of its phase."""
    where, path = constants(point), orbit(*(point[name] for name in SPACE))
    early = point["iterations"] <= point["first_block"]
    right = exact_value(claim.formulas["early"], where) if early else right_side(claim.bound, where)
    return Sides(last_excess(path, point["example_lr"]), right, where)


ROOTED: dict[str, Domain] = {
    name: domain for name, domain in SPACE.items() if name in ("first_block", "second_block", "start")
}


@checks.trial(paper.thm2_final, {**ROOTED, "root": Whole(1, 30)})
def averages_at_the_stated_step(claim: Claim, point: Point) -> Sides:
    """T = root^2, so that the stated step 1/(2 sqrt(T)) is rational."""
    length = point["root"] ** 2
    where = constants({**point, "iterations": length})
    step = exact_value(claim.formulas["example_lr"], where)
    if isinstance(point["start"], float):
        step = float(step)
    path = orbit(point["first_block"], point["second_block"], point["start"], step, length)
    return Sides(mean_square(path, step), right_side(claim.bound, where), where)


def algebraic(steps: list[Step]) -> Evidence:
    return algebra(steps, "proved", "", sample=rational_sample)


def phases(trial: Any, claim: Claim, grid: Iterator[dict[str, Any]]) -> tuple[Tally, Tally]:
    """All iterations, and those after the first block."""
    stated, late = Tally(), Tally()
    for point in grid:
        found = judge(trial, claim, point)
        if found.admitted:
            where = {name: value for name, value in facts_of(point, found).items() if name not in ("left", "right")}
            stated.at_most(found.sides.left, found.sides.right, **where)
            if point["iterations"] > point["first_block"]:
                late.at_most(found.sides.left, found.sides.right, **where)
    return stated, late
