"""Which statement speaks for an algorithm, and whether its recorded verdict lets it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from fltheory.ledger import Bound, Claim, ledger
from fltheory.papers.fast.setting import arbitrary_clients, snapshot_clients, snapshot_rate
from fltheory.papers.fedlaavg.letters import selected_share
from fltheory.participation.base import IndependentRounds
from fltheory.symbols import Constants, cohort_size, n_clients
from fltheory.verdicts import VERDICTS, Verdict, needs

MEASURES = {  # what a target is of -> in words, with its unit
    "squared_gradient": "Mean squared gradient norm, {} (loss^2 / param^2)",
    "objective_gap": "Expected objective minus its minimum, {} (loss)",
    "squared_distance": "Expected squared distance from the minimiser, {} (param^2)",
}

if TYPE_CHECKING:
    from fltheory.planning.task import Task

Values = Mapping[str, float]
# (constants with the number of rounds, the task, the statements it rests on) -> more constants
Derive = Callable[[Values, "Task", Sequence[Claim]], Values]


@dataclass(frozen=True)
class Statement:
    """One theorem about one algorithm, as the planner uses it.

    algorithm     its name in `sims.algorithms`
    claim         id of the paper's statement; its repaired twin is taken where the verdict asks for it
    rounds        code name of the number of rounds in the bound
    participants  clients that compute in a round, in the mean, None: the sum of rates
    derive        constants that other statements give where the plan does not
    rests_on      ids of these other statements; `derive` gets them, or their repaired twins, in this order
    local_steps   local steps a round, where the statement has no such constant
    measure       what its bound is of: a key of MEASURES
    asks          what it takes for granted of who takes part and no assumption of the ledger says, in words
    somebody      whether somebody must take part in every round
    available     whether the participants of a round are those available at most
    presumes      a constant that `derive` gives -> the law of participation that it takes for granted then, in words
    """

    algorithm: str
    claim: str
    rounds: str = "rounds"
    participants: sympy.Expr | None = None
    derive: Derive = lambda values, task, claims: {}
    rests_on: tuple[str, ...] = ()
    local_steps: int | None = None
    measure: str = "squared_gradient"
    asks: str = ""
    somebody: bool = False
    available: bool = False
    presumes: Mapping[str, str] = field(default_factory=dict)


class Unusable(Exception):
    """No statement may be used; the message says why in one sentence."""


def usable(id_: str, entries: Mapping[str, Mapping[str, Any]]) -> tuple[Claim, str]:
    """The statement to use for `id_` by recorded verdicts, and what has to be said about it (empty: nothing).

    A statement whose recorded verdict is below `supported` is replaced by its repaired twin. One that is conditional
    and has no twin is used, and what it needs is said. Raises Unusable for one that is refuted, inconsistent or not
    checked and has no twin.
    """
    claim, said = ledger[id_], ""
    for _ in range(len(VERDICTS)):  # a twin may have a twin, though not for ever
        verdict: Verdict = entries.get(claim.id, {}).get("verdict", "not checked")
        if VERDICTS.index(verdict) >= VERDICTS.index("supported"):
            return claim, said
        if not claim.repaired_by:
            break
        lacks = f" (it needs {needs(entries[claim.id])})" if verdict == "conditional" else ""
        said += f"{claim.id} is {verdict}{lacks}, so its repaired twin {claim.repaired_by} is used. "
        claim = ledger[claim.repaired_by]
    if verdict == "conditional":
        return claim, said + f"{claim.id} is conditional: it needs {needs(entries[claim.id])}."
    raise Unusable(f"{said}{claim.id} is {verdict} and no repaired twin can be used.")


def value(expression: sympy.Expr, values: Values) -> float:
    """The number that `expression` is at these constants, which are not checked again where it is finite."""
    function, names = _compiled(expression)
    with suppress(ArithmeticError, TypeError):  # a division by zero, a complex number
        result = float(function(*[values[name] for name in names]))
        if math.isfinite(result):
            return result
    return Bound("", expression).at(Constants(**{name: values[name] for name in names}))


@cache
def _compiled(expression: sympy.Expr) -> tuple[Callable[..., float], tuple[str, ...]]:
    symbols = sorted(expression.free_symbols, key=str)
    return sympy.lambdify(symbols, expression, "math"), tuple(symbol.name for symbol in symbols)


def _bound(claim: Claim) -> Bound:
    if claim.bound is None:
        raise Unusable(f"{claim.id} has no bound.")
    return claim.bound


def _fedau(values: Values, task: Task, claims: Sequence[Claim]) -> Values:
    """The weight error of Theorem 3, averaged over clients; Q from weights that never exceed the cutoff."""
    if not task.rates or "cutoff" not in values:
        return {}
    different, clients = np.unique(np.asarray(task.rates, dtype=np.float64), return_counts=True)
    error = _bound(claims[0])
    errors = [error.at(rate=p, cutoff=values["cutoff"], rounds=values["rounds"]) for p in different.tolist()]
    return {
        "mean_weight_error": float(np.average(errors, weights=clients)),
        "weight_square": values["cutoff"] * float(np.average(different, weights=clients)) * values["cutoff"],
    }


def _amplified(values: Values, task: Task, claims: Sequence[Claim]) -> Values:
    """The divergences of (5), (6) and (7), from the heterogeneity and the variance of a weight.

    (7) only for weights of equal means, independent over rounds: for unequal rates it is a constant of its own.
    """
    found: dict[str, float] = {}
    divergences, expectation = claims
    if "heterogeneity" in values:
        each = value(divergences.formulas.get("each", _bound(divergences).rhs), values) ** 0.5
        found |= {"cohort_divergence": each, "round_divergence": each}
    alike = len(set(task.rates)) <= 1 and (task.process is None or isinstance(task.process, IndependentRounds))
    if alike and {"heterogeneity", "weight_variance", "interval", "n_clients"} <= values.keys():
        found["interval_divergence"] = value(_bound(expectation).rhs, values) ** 0.5
    return found


def _fedlaavg(values: Values, task: Task, claims: Sequence[Claim]) -> Values:
    """The selected share, and the largest age of a gradient from the window in which all clients are available."""
    found: dict[str, float] = {}
    if {"cohort_size", "n_clients"} <= values.keys():
        found["selected_share"] = values["cohort_size"] / values["n_clients"]
        if "window" in values:
            found["staleness"] = value(_bound(claims[0]).rhs, values)
    return found


_COIN = snapshot_rate * snapshot_clients + (1 - snapshot_rate) * arbitrary_clients
_SELECTED = selected_share * n_clients
COHORTS = (cohort_size, snapshot_clients, arbitrary_clients)  # clients of a round, counted

_COINS = "participation is independent over rounds, at the given rates"
_ALIKE = "weights have equal means and are independent over rounds, with the given weight_variance"
_FAST = "each snapshot draws snapshot_clients of all n_clients, each as likely as any other, whoever is away"
_FEDAMD = "each round draws cohort_size of all n_clients, each as likely as any other, whoever is away"
_FEDLAAVG = "each round has selected_share of the clients, or all that are available where they are fewer"

STATEMENTS: tuple[Statement, ...] = (
    Statement("fedau", "fedau.thm2", derive=_fedau, rests_on=("fedau.thm3",), presumes={"mean_weight_error": _COINS}),
    Statement(
        "amplified",
        "amplified.thm31.average",
        derive=_amplified,
        rests_on=("amplified.prop41", "amplified.prop47.expectation"),
        somebody=True,
        presumes={"interval_divergence": _ALIKE},
    ),
    Statement(
        "fedlaavg",
        "fedlaavg.thm4",
        "rounds",
        _SELECTED,
        _fedlaavg,
        ("fedlaavg.lem5",),
        asks=_FEDLAAVG,
        available=True,
    ),
    Statement(
        "fedlaavg",
        "fedlaavg.thm3",
        "iterations",
        _SELECTED,
        _fedlaavg,
        ("fedlaavg.lem1",),
        1,
        asks=_FEDLAAVG,
        available=True,
    ),
    Statement("fast", "fast.thm1", participants=_COIN, asks=_FAST),
    Statement("fast", "fast.thm1.q1", participants=_COIN, asks=_FAST),
    Statement("fast", "fast.thm2.main", participants=_COIN, measure="squared_distance", asks=_FAST),
    Statement("fedamd", "fedamd.thm46", participants=cohort_size, asks=_FEDAMD),
    Statement("fedamd", "fedamd.thm48", participants=cohort_size, asks=_FEDAMD),
    Statement("fedamd", "fedamd.thm411", participants=cohort_size, measure="objective_gap", asks=_FEDAMD),
    Statement("fedamd", "fedamd.thm411.improved", participants=cohort_size, measure="objective_gap", asks=_FEDAMD),
)
