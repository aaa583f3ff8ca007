"""What is asked of a lemma, and how its claimed value stands to the computed worst case."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from analysis.trials import conditions_at, exact_value
from analysis.worst_case.problem import Problem, Solution
from fltheory.errors import InputError
from fltheory.ledger import Claim, ledger

Scope = Literal["exact", "outer", "inner"]
Status = Literal["tight", "upper", "violated", "undecided", "not compared"]

# The solver stops at 1e-8 in gap and feasibility; values nearer than this, relative to the larger, are one to it.
ACCURACY = 1e-5


@dataclass(frozen=True)
class Lemma:
    """A one-step lemma as a performance-estimation problem.

    claim_id  its id in the ledger
    points    the parameters of the table
    pose      (problem, parameters) -> the constants of the bound, after stating hypotheses and what is maximised
    scope     "exact": the problem is the lemma's own class of functions; "outer": it contains the class (a hypothesis
              for all x is asked at the points of the run alone); "inner": it is a part of it (a law of the noise)
    claim     the statement itself, where it is not in the ledger
    part      what bounds the worst case: "bound", or the name of a formula
    """

    claim_id: str
    points: tuple[Mapping[str, Any], ...]
    pose: Callable[[Problem, Mapping[str, Any]], dict[str, Any]]
    scope: Scope
    claim: Claim | None = None
    part: str = "bound"

    def at(self, parameters: Mapping[str, Any], claim: Claim | None = None) -> WorstCase:
        """The worst case at these parameters, beside what `claim` (the ledger's, by default) says of it.

        Raises InputError where a condition of the claim fails at these parameters, and without PEPit.
        """
        if parameters.keys() != self.points[0].keys():
            raise InputError(f"parameters of {self.claim_id}", sorted(parameters), f"{', '.join(self.points[0])}")
        claim = claim or self.claim or ledger.get(self.claim_id)
        problem = Problem()
        constants = self.pose(problem, parameters)
        claimed = None if claim is None else _claimed(claim, self.part, constants)
        solution = problem.solve()
        return WorstCase(
            self.claim_id,
            claim.title if claim else "",
            dict(parameters),
            self.scope,
            solution,
            claimed,
            "not compared" if claimed is None else judge(solution, claimed, self.scope),
        )


@dataclass(frozen=True)
class WorstCase:
    """One line of the table. `status` is that of the claimed value, to the accuracy of the solver:

    tight         it is the worst case
    upper         no function of the class exceeds it
    violated      a function of the class exceeds it
    undecided     the solver, or the scope of the problem, does not tell
    not compared  the ledger has no such statement in these constants
    """

    claim_id: str
    title: str
    parameters: dict[str, Any]
    scope: Scope
    solution: Solution
    claimed: float | None
    status: Status

    @property
    def ratio(self) -> float | None:
        """Computed worst case / claimed value, where both are positive."""
        if self.claimed is None or self.claimed <= 0 or self.solution.upper <= 0:
            return None
        return self.solution.upper / self.claimed

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values with the digits that the solver can vouch for."""
        solution = {key: _rounded(value) for key, value in asdict(self.solution).items()}
        return {
            "id": self.claim_id,
            "title": self.title,
            "parameters": self.parameters,
            "worst_case": _rounded(self.solution.upper),
            "claimed": _rounded(self.claimed),
            "ratio": _rounded(self.ratio),
            "status": self.status,
            "scope": self.scope,
            "certificate": solution | {"gap": float(f"{self.solution.gap:.1e}")},
        }


def judge(solution: Solution, claimed: float, scope: Scope) -> Status:
    """Where the claimed value stands: above the dual value, below the primal one, or at both."""
    slack = ACCURACY * max(abs(claimed), abs(solution.upper)) + abs(solution.gap) + solution.violation
    if solution.status != "optimal":
        return "undecided"
    if solution.lower > claimed + slack:
        return "undecided" if scope == "outer" else "violated"
    if scope == "outer":
        return "upper"
    if solution.upper >= claimed - slack:
        return "tight"
    return "upper" if scope == "exact" else "undecided"


def _claimed(claim: Claim, part: str, constants: Mapping[str, Any]) -> float | None:
    """The bound (or formula) at these constants; None where the claim has none, or none in these constants."""
    value = (claim.bound and claim.bound.rhs) if part == "bound" else claim.formulas.get(part)
    read = [*claim.conditions.values(), value]
    if value is None or not {s.name for expression in read for s in expression.free_symbols} <= constants.keys():
        return None
    for name, holds in conditions_at(claim, constants).items():
        if not holds:
            raise InputError("parameters", dict(constants), f"within the condition {name!r} of {claim.id}")
    return float(exact_value(value, constants))


def _rounded(value: Any) -> Any:
    """Six significant digits of a float; None for what is not finite."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else None
