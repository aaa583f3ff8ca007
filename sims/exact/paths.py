"""Every path that a scenario can take, run by the algorithm itself: what the moments are checked against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fltheory.errors import InputError, count
from sims.algorithms.protocol import State
from sims.arrays import is_exact
from sims.exact.draws import all_draws
from sims.exact.setting import Setting
from sims.problems.rational import scalar
from sims.scenarios import Scenario


def paths(setting: Setting, scenario: Scenario, rounds: int) -> Iterator[tuple[Any, list[State]]]:
    """(probability, states before rounds 0, 1, ..., `rounds`) of every path of participation and gradient noise.

    The states have no batch axis. There are as many paths as the outcomes of a round to the power of `rounds`.
    Raises InputError for noise with infinitely many values and for float probabilities in an exact setting, TypeError
    if an exact run meets a float elsewhere.
    """
    rounds = count("rounds", rounds, least=0)
    pending = [(probability, process, [setting.initial()]) for process, probability in scenario.start.items()]
    while pending:
        probability, process, states = pending.pop()
        if len(states) > rounds:
            yield probability, [_unbatched(state) for state in states]
            continue
        last = states[-1]
        for chance, cohort, following in scenario.outcomes(process, _unbatched(last).discrete):
            if is_exact(setting.x0):
                scalar("probability", chance, setting.x0)  # refuses a float
            if not chance:
                continue
            work = setting.work(last, cohort)
            for share, draws in all_draws(setting.noise, cohort, work):
                after = setting.round(last, cohort, draws)
                pending.append((probability * chance * share, following, [*states, after]))


def run(setting: Setting, scenario: Scenario, rounds: int) -> list[State]:
    """The states before rounds 0, 1, ..., `rounds` of a scenario that leaves nothing to chance.

    Raises InputError for one that does, TypeError if an exact run meets a float.
    """
    probability, states = next(paths(setting, scenario, rounds))
    if probability != 1:
        raise InputError("scenario", scenario, "one with a single outcome in every round, without gradient noise")
    return states


def _unbatched(state: State) -> State:
    return State(
        {name: values[0] for name, values in state.linear.items()},
        {name: values[0] for name, values in state.discrete.items()},
    )
