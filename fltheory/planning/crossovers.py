"""Where one algorithm needs fewer rounds than another: by explicit bounds, and by the orders of FedAMD's Table 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import sympy

from fltheory.ledger import ledger
from fltheory.planning.promise import Outcome
from fltheory.planning.rounds import plan
from fltheory.planning.task import Task

SCALES = (10.0, 1.0, 0.1, 0.01)  # of the target, between which crossovers are sought
_CLOSE = 1.02  # a crossover is known within a factor of this


@dataclass(frozen=True)
class Crossover:
    """Above `target` the algorithm `above` needs fewer rounds, below it `below` does."""

    target: float
    above: str
    below: str


@dataclass(frozen=True)
class Order:
    """A row of Table 1 of FedAMD: rounds up to constants, and the target below which FedAMD needs fewer."""

    method: str
    rounds: float
    fedamd_below: float


def rounds_at(task: Task, planned: Sequence[Outcome], scales: Sequence[float] = SCALES) -> dict[str, list[float]]:
    """Algorithm -> fewest rounds of its statements at `scales` times the target; inf where that is out of reach."""
    found: dict[str, list[float]] = {outcome.statement.algorithm: [] for outcome in planned}
    for scale in scales:
        again = plan(replace(task, target=scale * task.target), [outcome.statement for outcome in planned])
        for algorithm, rounds in found.items():
            rounds.append(min(o.rounds or math.inf for o in again if o.statement.algorithm == algorithm))
    return found


def crossovers(task: Task, planned: Sequence[Outcome], table: Mapping[str, Sequence[float]]) -> list[Crossover]:
    """Where two algorithms of a table of `rounds_at` change places, to 2 %, the largest target first."""
    found = []
    for one, other in combinations(table, 2):
        ahead = [_ahead(*pair) for pair in zip(table[one], table[other], strict=True)]
        pair = [outcome for outcome in planned if outcome.statement.algorithm in (one, other)]
        for i, (high, low) in enumerate(pairwise(SCALES)):
            if ahead[i] * ahead[i + 1] < 0:
                above, below = (one, other) if ahead[i] > 0 else (other, one)
                found.append(Crossover(_between(task, pair, above, high, low), above, below))
    return sorted(found, key=lambda crossover: -crossover.target)


def _between(task: Task, pair: Sequence[Outcome], above: str, high: float, low: float) -> float:
    """The target at which `above` falls behind."""
    while high / low > _CLOSE:
        middle = math.sqrt(high * low)
        rounds = {algorithm: found for algorithm, (found,) in rounds_at(task, pair, [middle]).items()}
        still = rounds.pop(above) <= min(rounds.values())
        high, low = (middle, low) if still else (high, middle)
    return math.sqrt(high * low) * task.target


def _ahead(one: float, other: float) -> int:
    """1 where the first needs fewer rounds, -1 where the second does, 0 where neither."""
    return (one < other) - (one > other)


def table1(task: Task, constants: Mapping[str, float]) -> list[Order]:
    """The nonconvex rows of Table 1 of FedAMD at the target; empty where `constants` lacks a number that it needs.

    `constants` is code name -> value. The table has units in which L (F(x_0) - F_*) is 1, batches of one sample, and
    orders without their constants (Jin et al., 2023); `fedamd.tab1.crossovers` holds where M > A.
    """
    letters = {"M": "n_clients", "A": "cohort_size", "K": "local_steps"}
    needed = {*letters.values(), "noise_std", "smoothness", "initial_gap"}
    if task.measure != "squared_gradient" or not needed <= constants.keys():
        return []
    unit = constants["smoothness"] * constants["initial_gap"]
    if not unit or constants["n_clients"] <= constants["cohort_size"]:
        return []
    numbers = {letter: constants[name] for letter, name in letters.items()}
    numbers |= {"eps": task.target / unit, "sigma": constants["noise_std"] / math.sqrt(unit)}
    rows, below = ledger["fedamd.tab1"].formulas, ledger["fedamd.tab1.crossovers"].formulas
    found = []
    for method in below:
        if method == "VR-MARINA" and numbers["M"] / numbers["A"] <= 1 + numbers["sigma"] ** 2 / numbers["M"]:
            limit = math.inf
        else:
            limit = _at(below[method], numbers) * unit
        found.append(Order(method, _at(rows[method], numbers), limit))
    return [*found, Order("FedAMD", _at(rows["FedAMD"], numbers), math.nan)]


def _at(formula: sympy.Expr, numbers: Mapping[str, float]) -> float:
    return float(formula.subs({s: numbers[s.name] for s in formula.free_symbols}))
