"""Plans from theorems: which step sizes a statement admits, and in how many rounds it promises a target."""

from fltheory.planning.crossovers import SCALES, Crossover, Order, crossovers, rounds_at, table1
from fltheory.planning.promise import MOST_ROUNDS, Outcome
from fltheory.planning.rounds import plan, sensitivities
from fltheory.planning.statements import MEASURES, STATEMENTS, Statement, usable
from fltheory.planning.task import Task

__all__ = [
    "MEASURES",
    "MOST_ROUNDS",
    "SCALES",
    "STATEMENTS",
    "Crossover",
    "Order",
    "Outcome",
    "Statement",
    "Task",
    "crossovers",
    "plan",
    "rounds_at",
    "sensitivities",
    "table1",
    "usable",
]
