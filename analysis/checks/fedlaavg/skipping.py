"""Checks of Corollary 1 and Theorem 4 where fewer than K clients are available, which Algorithms 1 and 2 leave open.

Both put ceil(N/K) E - 1 in the place of the largest age. Two clients with f_i' = clip(x, -1, 1) (so L = G = 1) and no
noise, available in turn (E = 2), with K = 2: given in advance, and nobody takes part if such iterations are
skipped. With one local step rounds are iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.checks import CheckBook, Depth, times
from analysis.checks.fedlaavg.model import Clients, take_part, traces
from analysis.checks.fedlaavg.staleness import READINGS, TAKEN
from analysis.checks.points import tally_of, value_of
from analysis.domains import Choice, Domain, Real, Whole
from analysis.evidence import Evidence, conditional, ratio_text
from analysis.trials import Point, Sides, Trial
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import by_rounds, iterations

checks = CheckBook()

CLIENTS = Clients((0, 0), (1, 1), (1, 1))
SYSTEM: dict[str, Any] = {
    "n_clients": 2, "cohort_size": 2, "selected_share": 1, "window": 2, "staleness": 1, "smoothness": 1,
    "gradient_bound": 1, "noise_std": 0, "local_steps": 1,
}  # fmt: skip
LAST = 10_000
SPACE: dict[str, Domain] = {"start": Real(-1, 1), "length": Whole(1, LAST), "when fewer than K": Choice(READINGS)}


def _run(statement: Claim, point: Point, right: Any, **facts: bool) -> Sides:
    """At the step size of a statement, with a formula on the right."""
    where = SYSTEM | {"iterations": point["length"], "rounds": point["length"], "initial_gap": point["start"] ** 2 / 2}
    where["local_lr"] = float(value_of(statement.formulas["step"], where))
    who = take_part((1, 2), point["length"], 2, 2, 2, skip=point["when fewer than K"] == "skip")
    (path,) = traces(CLIENTS, point["start"], where["local_lr"], 0, who.chosen, 1)
    left = sum(CLIENTS.gradient(x) ** 2 for x in path.x[:-1]) / point["length"]
    here = who.within(where["window"])
    met = {"ass1": True, "ass2": True, "ass3": where["gradient_bound"] >= max(CLIENTS.caps), "ass4": here, "ass5": here}
    return Sides(float(left), float(value_of(right, where)), where, facts, met)


def _at_the_stated_step(claim: Claim, point: Point) -> Sides:
    return _run(claim, point, claim.bound.rhs)  # type: ignore[union-attr]


def _from_the_horizon_on(claim: Claim, point: Point) -> Sides:
    """Our form of Corollary 1 is here (1 + 8 L B/G^2) times the first term and twice the second."""
    late = point["length"] >= value_of(claim.formulas["horizon"], SYSTEM)
    return _run(iterations.cor1, point, 7 * claim.formulas["first"], **{"T >= horizon": bool(late)})


def _few_available(claim: Claim, evaluate: Any, right: str, clock: str = "T") -> Evidence:
    trial = Trial(claim.id, SPACE, evaluate)

    def points(reading: str) -> Iterator[Point]:
        return ({"start": 1.0, "length": length, "when fewer than K": reading} for length in (LAST, 100, 10))

    taken, skipped = (tally_of(trial, claim, points(reading)) for reading in READINGS)
    return conditional(
        skipped, taken, TAKEN, "exact runs",
        "If iterations with fewer than K available clients are skipped, two clients available in turn never take part "
        f"for K = 2: the average stays 1, and at {clock} = {LAST} {right} is {skipped.witness.get('right', 0):.3g}. "
        f"If those who are available are taken, the largest ratio found is {ratio_text(taken.largest, '.3g')}.",
        domain=f"two clients in turn, K = E = 2, L = G = 1, no noise, {clock} in {{10, 100, {LAST}}}",
    )  # fmt: skip


MUTANTS = [times("bound", 100), times("bound", "1/100")]


@checks(iterations.cor1, mutants=MUTANTS)
def corollary_1_with_few_available(claim: Claim, depth: Depth) -> Evidence:
    """At the stated step, under both readings."""
    return _few_available(claim, _at_the_stated_step, "the bound")


@checks(by_rounds.thm4, mutants=MUTANTS)
def theorem_4_with_few_available(claim: Claim, depth: Depth) -> Evidence:
    """At the stated step and with I = ceil(N/K) E - 1, under both readings."""
    return _few_available(claim, _at_the_stated_step, "the bound", clock="R")


@checks(by_rounds.thm4_rate, mutants=MUTANTS)
def rate_with_few_available(claim: Claim, depth: Depth) -> Evidence:
    """At the stated step, under both readings."""
    return _few_available(claim, _at_the_stated_step, "the bound", clock="R")


@checks(iterations.cor1_speedup, mutants=[times("first", 100), times("first", "1/100")])
def speedup_with_few_available(claim: Claim, depth: Depth) -> Evidence:
    """From the horizon on, under both readings; there 7 times the first term is at least the bound of Corollary 1."""
    return _few_available(claim, _from_the_horizon_on, "7 times the first term, at least our form of Corollary 1,")
