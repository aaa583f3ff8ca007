"""Runs that cannot go on: in which round, and what step sizes would have been stable."""

from __future__ import annotations

import math
from typing import Any

from fltheory.errors import InputError
from sims.problems.base import Problem


class Stopped(InputError):
    """A run that could not go on; what was recorded before is kept. The sentence says in which round."""

    def __init__(self, sentence: str) -> None:
        ValueError.__init__(self, sentence)


class Diverged(Stopped):
    """Something became infinite or NaN; what was recorded before is still in the simulation's record."""

    @classmethod
    def at(cls, round: int, client: int | None, hyper: Any, problem: Problem) -> Diverged:
        """The sentence: round, client where one is to blame, step sizes, and the largest stable one."""
        who = "the model" if client is None else f"the update of client {client}"
        steps = " and ".join(f"{n} {getattr(hyper, n)}" for n in ("local_lr", "global_lr") if hasattr(hyper, n))
        return cls(f"round {round}: {who} is no longer finite with {steps}; {_what_is_stable(hyper, problem)}")


def _what_is_stable(hyper: Any, problem: Problem) -> str:
    largest, local_lr = stable_step(problem), getattr(hyper, "local_lr", 0)
    if math.isinf(largest):
        return "a smaller step size may help"
    if getattr(hyper, "global_lr", 1) <= 1 or not local_lr:
        return f"gradient steps on this problem are stable up to {largest}"
    if getattr(hyper, "local_steps", 1) == 1:
        return f"gradient steps on this problem are stable up to local_lr times global_lr = {largest}"
    if local_lr > largest:
        return f"local steps on this problem are stable up to {largest}, and global_lr enlarges them"
    return f"local steps on this problem are stable up to {largest}, so that global_lr is what is too large"


def stable_step(problem: Problem) -> float:
    """2 / smoothness: gradient descent with a larger step moves away from the minimum of a quadratic."""
    smoothness = float(problem.constants.smoothness or 0)
    return 2 / smoothness if smoothness else math.inf
