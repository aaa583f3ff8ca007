"""Corollary 4.12 is a case of Theorem 4.11 at L = 1, and for any L as repaired; runs within and beyond."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import sympy
from sympy import Rational, sqrt

from analysis.checks import CheckBook, Depth, times, without
from analysis.checks.certificates import Fact, identity, more_than, nonnegative, proved
from analysis.checks.fedamd.displacement import rhs
from analysis.checks.fedamd.pl import CHOSEN
from analysis.checks.fedamd.runs import Run
from analysis.checks.fedamd.searching import INDEPENDENT
from analysis.checks.points import value_of
from analysis.checks.tools import SLACK, reading, rests_on
from analysis.evidence import Evidence, Tally
from analysis.trials import conditions_at, right_side
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import A, K, L, L_sigma, b_small, c, eta_l, eta_s, moving, mu, p

checks = CheckBook()


def _at_least_half() -> list[Fact]:
    """p^A at c = 1 is the smaller root of z^2 - z (2 + C (A+1)) + 1 + C, C = (L/mu)^2, and 2^A is at least 1 + A."""
    z, square = sympy.Symbol("z", positive=True), fedamd.inverse_square
    quadratic = z**2 - z * (2 + square * (A + 1)) + 1 + square
    power = fedamd.cor412_repaired.formulas["probability"].subs({c: 1, mu: L / sqrt(square)}) ** A
    return [
        identity("p^A at c = 1 is a root", sympy.simplify(quadratic.subs(z, sympy.simplify(power)))),
        nonnegative("the other root is above 1", -quadratic.subs(z, 1)),
        nonnegative("2^(-A) is not beyond the smaller root", quadratic.subs(z, 1 / (1 + A + more_than(0)))),
    ]


def _follows(claim: Claim, scale: Any) -> list[Fact]:
    """At L = `scale`: the conditions of Theorem 4.11 hold at the claim's steps, p c being at least 1/2, and its
    bound there is the claim's."""
    theorem = {name: condition.subs({L: scale}) for name, condition in fedamd.thm411.conditions.items()}
    cache, move = theorem["product of steps: cache"], theorem["product of steps: move"]
    noise = theorem["local step and noise"]
    chance, local, taken = (claim.formulas[name].subs({L: scale}) for name in CHOSEN)
    (smaller,) = taken.atoms(sympy.Min)
    parts = [sympy.simplify(part * taken / smaller * local * K) for part in smaller.args]
    for_caches, for_moves = sorted(parts, key=lambda part: part.count_ops())
    at = {p: more_than(Rational(1, 2)) / c}
    enough = {K: 2 * L_sigma**2 / (b_small * scale**2) + more_than(0)}
    there = _taking(rhs(fedamd.thm411), sympy.Min(*parts)).subs({p: chance})
    return [
        nonnegative("cache, as 1 - p^A <= 1", cache.rhs - _taking(cache.lhs.subs({moving: 1}), for_caches), at),
        nonnegative("move", move.rhs - _taking(move.lhs, for_moves), at),
        identity("local step", theorem["local step"].rhs - local),
        nonnegative("local step and noise", noise.rhs - noise.lhs.subs({eta_l: local}), enough),
        Fact("the bound is Theorem 4.11's", sympy.simplify(rhs(claim).subs({L: scale}) - there) == 0),
    ]


def _taking(expression: Any, step: Any) -> Any:
    """The expression at eta_s eta_l K = step."""
    return expression.subs({eta_s: step / (eta_l * K)})


def _points(scales: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Two local steps with noise in the curvature of samples up to L, what the number of local steps asks for, and of
    1000 L; anchors with noise; c below 1, too."""
    problems = (((1.0,), 1), ((1.0, -0.5), 1), ((1.0, 1.0, 0.5), 2))
    noises = (("samples", 1.0), ("samples", 1000.0), ("anchors", 2.0))
    for scale, (h, size), (noise, much), thin, rounds in product(scales, problems, noises, (0.95, 1.0, 5.0), (1, 30)):
        yield {
            "curvatures": tuple(scale * v for v in h), "cohort_size": size, "local_steps": 2, "rounds": rounds,
            "start": 1.0, "noise": noise, "noise_size": much * scale, "anchor_batch": 4, "thinning": thin,
        }  # fmt: skip


def _runs(claim: Claim, scales: Iterable[int]) -> Tally:
    tally = Tally(slack=SLACK)
    for point in _points(scales):
        h, steps = point["curvatures"], point["local_steps"]
        known = {
            "n_clients": len(h), "cohort_size": point["cohort_size"], "local_steps": steps, "smoothness": max(h),
            "polyak_lojasiewicz": sum(h) / len(h), "thinning": point["thinning"],
        }  # fmt: skip
        chance, local, step = (value_of(claim.formulas[name], known) for name in CHOSEN)
        moved = {"anchor_probability": chance, "local": local * steps * max(h), "move": step * local * steps * max(h)}
        run = Run(point | moved)
        where = run.constants | known
        if all(conditions_at(claim, where).values()) and all((*run.facts.values(), *run.met.values())):
            tally.at_most(run.last(point | moved), right_side(claim.bound, where), **point)
    return tally


DOMAIN = "1 to 3 clients, two local steps, up to 30 rounds"
NOTICED = [times("global step", 2), times("local step", 2), times("bound", "1/100"), without("local steps")]


def _found(claim: Claim, scale: Any, scales: Iterable[int]) -> Evidence:
    points = _runs(claim, scales).evidence("exact", "moments", "No violation on quadratics.", domain=DOMAIN, ratio=True)
    summary = "Theorem 4.11 admits these steps, p being at least 1/2 at c = 1 and below 1."
    return proved([*_at_least_half(), *_follows(claim, scale)], points, summary)


ENOUGH = {"local steps": sympy.Max(1, 2 * L_sigma**2 / (b_small * L**2)) <= K}


@checks(fedamd.cor412_repaired, mutants=[*NOTICED, without("below one")])
@rests_on({"below one": fedamd.cor412_repaired.formulas["probability"] < 1, **ENOUGH})
@reading(INDEPENDENT)
def a_case_of_theorem_411(claim: Claim, depth: Depth) -> Evidence:
    """Its steps satisfy the conditions of Theorem 4.11, for any c that leaves a probability below 1."""
    return _found(claim, L, (1, 100))


@checks(fedamd.cor412, mutants=NOTICED)
def a_case_of_theorem_411_at_unit_smoothness(claim: Claim, depth: Depth) -> Evidence:
    """The same at L = 1."""
    found = _found(claim, 1, (1,))
    if found.verdict != "proved":
        return found
    return replace(found, verdict="conditional", hypothesis="L = 1: mu stands for mu/L, and the step lacks a factor L")
