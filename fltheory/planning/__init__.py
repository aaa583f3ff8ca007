"""Plans from theorems: which step sizes a statement admits, and in how many rounds it promises a target."""

from fltheory.planning.rounds import MOST_ROUNDS, Outcome, Task, plan
from fltheory.planning.statements import STATEMENTS, Statement, usable

__all__ = ["MOST_ROUNDS", "STATEMENTS", "Outcome", "Statement", "Task", "plan", "usable"]
