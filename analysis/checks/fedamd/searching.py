"""What several topics share: evidence of a seeded search, and the noise of a point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sympy

from analysis.checks.tools import SLACK, facts_of
from analysis.evidence import Evidence
from analysis.falsify import searched
from analysis.trials import Judgement, Point, Trial, conditions_at, exact_number, fraction
from fltheory.ledger import Bound, Claim
from fltheory.symbols import Constants


@lru_cache(maxsize=4096)
def _compiled(expression: Any) -> tuple[list[str], Any]:
    """Names and a function of exact sympy numbers: much faster than substitution at many points."""
    names = sorted(symbol.name for symbol in expression.free_symbols)
    text = sympy.sstr(expression, sympy_integers=True)  # fractions stay fractions, unlike in lambdify
    return names, eval(f"lambda {', '.join(names)}: {text}", vars(sympy).copy())


def _exactly(expression: Any, constants: Mapping[str, Any]) -> Any:
    names, function = _compiled(expression)
    return function(*(exact_number(constants[name]) for name in names))


def _any_float(expression: Any, constants: Mapping[str, Any]) -> bool:
    return any(isinstance(constants[s.name], float) for s in expression.free_symbols)


def _has_float(point: Point) -> bool:
    values = [part for value in point.values() for part in (value if isinstance(value, tuple) else (value,))]
    return any(isinstance(value, float) for value in values)


def right_side(bound: Bound | None, constants: Mapping[str, Any]) -> Any:
    """The bound at constants of any kind: a float as soon as one constant is a float, else exact."""
    assert bound is not None
    used = {s.name: constants[s.name] for s in bound.rhs.free_symbols}
    if _any_float(bound.rhs, constants):
        return bound.at(**used)
    Constants(**used)  # domains
    return fraction(_exactly(bound.rhs, constants))


def judged(trial: Trial, claim: Claim, point: Point) -> Judgement:
    """Both sides of the claim at the point, and every condition, exact where the point is."""
    sides = trial.evaluate(claim, point)
    if isinstance(sides.left, float) and not _has_float(point):
        raise TypeError(f"{trial.name} turned an exact point into a float: {dict(point)}")
    if any(_any_float(relation, sides.constants) for relation in claim.conditions.values()):
        return Judgement(sides, conditions_at(claim, sides.constants))
    return Judgement(sides, {name: bool(_exactly(r, sides.constants)) for name, r in claim.conditions.items()})


POINTS = {"quick": 150, "default": 600, "deep": 30_000}


def unbroken(trial: Trial, claim: Claim, depth: str, summary: str) -> Evidence:
    """`supported` if a seeded search of the trial finds no counterexample, else `refuted` with an exact one."""
    search = searched(trial, claim, POINTS[depth])
    if search.found is not None:
        witness = facts_of(search.found.point, search.found.judgement)
        return Evidence("refuted", "search", f"A search of {trial.name} finds a violation.", witness=witness)
    if not search.admitted:
        return Evidence("not checked", "search", "no point of the search satisfies every condition")
    found = f"No violation at {search.admitted} admitted points, largest ratio found {search.largest:.3g}."
    largest = float(f"{search.largest:.3g}")
    return Evidence("supported", "search", f"{summary} {found}", trial.name, search.admitted, largest)


def tested(trial: Trial, claim: Claim, points: Iterable[Point], summary: str, *, domain: str) -> Evidence:
    """`exact` with the largest ratio found if no admitted point violates the claim, else `refuted` with the first."""
    cases, largest = 0, 0.0
    for point in points:
        trial.require(point)
        found = judged(trial, claim, point)
        if not found.admitted:
            continue
        cases, largest = cases + 1, max(largest, found.ratio)
        room = 1 + SLACK if isinstance(found.sides.right, float) else 1
        if found.sides.left > found.sides.right * room:
            witness = facts_of(point, found)
            return Evidence("refuted", "exact moments", f"Violated at {dict(point)}.", domain, cases, witness=witness)
    if not cases:
        return Evidence("not checked", "exact moments", "no point satisfies every condition", domain)
    largest = float(f"{largest:.4g}")
    return Evidence("exact", "exact moments", f"{summary}; largest ratio found {largest:g}.", domain, cases, largest)


def fails_only_without(
    trial: Trial, claim: Claim, failing: Point, holding: Sequence[Point], hypothesis: str, summary: str
) -> Evidence:
    """`conditional` if the claim fails at one exact point and holds at all those that satisfy the hypothesis.

    `refuted` if it fails there as well, `exact` if it does not even fail at the first.
    """
    for point in (failing, *holding):
        trial.require(point)
    all_found = [judged(trial, claim, point) for point in holding]
    for point, found in zip(holding, all_found, strict=True):
        if found.violated:
            return Evidence("refuted", "exact points", "Fails with the hypothesis too.", witness=facts_of(point, found))
    if not all(found.admitted for found in all_found):
        return Evidence("not checked", "exact points", "A point with the hypothesis is not admitted.")
    found = judged(trial, claim, failing)
    if not found.violated:
        return Evidence("exact", "exact points", "Holds at every point.", cases=1 + len(holding))
    return Evidence(
        "conditional", "exact points", summary, f"1 point without and {len(holding)} with the hypothesis",
        1 + len(holding), hypothesis=hypothesis, witness=facts_of(failing, found),
    )  # fmt: skip


def noise_of(point: Point) -> dict[str, Any]:
    """Constants of the two kinds of noise: of anchor gradients (additive), or of the curvature of samples.

    Curvature noise grows with the model, so it stands for one that is clipped outside of where the run gets, and
    anchors then use all their samples.
    """
    additive = point["noise"] == "anchors"
    size = point["noise_size"]
    return {
        "noise_std": size if additive else 1,
        "subsampled": 1 if additive else 0,
        "noise_smoothness": 0 if additive else size,
        "anchor_batch": point["anchor_batch"],
        "batch_size": 1,
    }
