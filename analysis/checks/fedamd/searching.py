"""What several topics share: evidence of a seeded search, and the noise of a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.checks.points import facts_of, not_broken
from analysis.evidence import Evidence
from analysis.trials import Point, Trial, judge
from fltheory.errors import InputError
from fltheory.ledger import Claim

# what the averages over clients use, besides Assumption 4.2 as it is printed
INDEPENDENT = "noise independent over clients and samples (customary; not printed)"
SMALLER_BATCHES = "batches of miners are smaller: b' < b"  # Algorithm 1, Input; Theorems 4.6, 4.8, 4.11
POINTS = {"quick": 300, "default": 1000, "deep": 30_000}


def unbroken(trial: Trial, claim: Claim, depth: str, summary: str) -> Evidence:
    """A seeded search of the trial, longer at greater depth."""
    return not_broken(trial, claim, POINTS[depth], summary)


def fails_only_without(
    trial: Trial,
    claim: Claim,
    failing: Point,
    holding: Sequence[Point],
    hypothesis: str,
    summary: str,
    beyond: Sequence[Point] = (),
) -> Evidence:
    """`conditional` if the claim fails at one exact point and holds at all those that satisfy the hypothesis.

    `refuted` if it fails there as well, `exact` if it does not even fail at the first.

    beyond   points with the hypothesis, each of which a condition of the claim leaves out, as the bound fails there
    """
    trial.require(failing)  # which `replay` admits; the others may lie where a search does not look
    all_found = [judge(trial, claim, point) for point in holding]
    left_out = [judge(trial, claim, point) for point in beyond]
    for point, found in zip((*holding, *beyond), (*all_found, *left_out), strict=True):
        if found.violated:
            return Evidence("refuted", "exact points", "Fails with the hypothesis too.", witness=facts_of(point, found))
    if not all(found.admitted for found in all_found):
        return Evidence("not checked", "exact points", "A point with the hypothesis is not admitted.")
    found = judge(trial, claim, failing)
    if not found.violated:
        return Evidence("exact", "exact points", "Holds at every point.", cases=1 + len(holding))
    return Evidence(
        "conditional", "exact points", summary, f"1 point without and {len(holding)} with the hypothesis",
        1 + len(holding), hypothesis=hypothesis, witness=facts_of(failing, found),
    )  # fmt: skip


def met(constants: Mapping[str, Any], curvatures: Sequence[Any], noise: Any = 0, sampled: Any = 0) -> dict[str, bool]:
    """Assumptions 4.1 to 4.3 on quadratics of these curvatures, for noise of a standard deviation or of the curvature.

    Constants that a claim does not use are chosen to fit.
    """
    return {
        "A41": bool(max(map(abs, curvatures)) <= constants["smoothness"]),
        "A42": bool(noise <= constants.get("noise_std", noise)),
        "A43": bool(sampled <= constants.get("noise_smoothness", sampled)),
    }


def met_at(point: Point, constants: Mapping[str, Any], scale: Any = 1) -> dict[str, bool]:
    """The same at a point with `curvatures` and one of the two kinds of noise."""
    size = {"noise" if point["noise"] == "anchors" else "sampled": point["noise_size"]}
    return met(constants, [scale * h for h in point["curvatures"]], **size)


def smaller_batches(constants: Mapping[str, Any]) -> bool:
    return bool(constants["batch_size"] < constants["anchor_batch"])


def require_bounded_below(curvatures: Sequence[Any]) -> None:
    """Raise InputError for clients of these curvatures whose mean, that of the objective, is below 0."""
    mean = sum(curvatures) / len(curvatures)
    if mean < 0:
        raise InputError("mean of coordinate curvatures", mean, ">= 0, so that the objective is bounded below")


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
