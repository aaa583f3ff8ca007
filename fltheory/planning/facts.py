"""What a task says of who takes part, held against what is known of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fltheory.assumptions import bounded_gaps
from fltheory.errors import InputError
from fltheory.participation import Bernoulli, Markov, ParticipationProcess, Permutation, UniformSubset, WeightedDraws

# Facts of who takes part: nobody is free to choose them. Where they are given, a plan says that they were.
FACTS = (
    "cohort_divergence", "interval_divergence", "mean_weight_error", "participation_norm", "round_divergence",
    "staleness", "weight_square", "weight_variance",
)  # fmt: skip
_ROUNDING = 1e-9  # of a number that was copied from a message


@dataclass(frozen=True)
class Known:
    """What is known of who takes part; None: not known.

    window        the least number of rounds in which every client takes part
    fewest        participants that a round with participants may have
    participants  in a round with participants, in the mean, where all clients are alike
    source        what knows it, in words
    """

    window: int | None = None
    fewest: int | None = None
    participants: float | None = None
    source: str = "this process"


def of_process(process: ParticipationProcess) -> Known:
    """What a process tells of that."""
    window, fewest, participants = bounded_gaps(process).constants.get("window"), None, None
    if isinstance(process, Permutation | UniformSubset | WeightedDraws):
        fewest, participants = process.cohort_size, float(process.cohort_size)
    elif isinstance(process, Bernoulli | Markov):  # clients are independent: all but those that always come stay away
        fewest = max(1, int(np.count_nonzero(process.rate == 1)))
        with np.errstate(divide="ignore"):  # log 0, of a client that always comes
            anybody = -np.expm1(np.log1p(-process.rate).sum())
        participants = float(process.rate.sum() / anybody)
    alike = len(set(process.rate.tolist())) == 1
    return Known(window, fewest, participants if alike else None)


def require_possible(constants: Mapping[str, float], choices: Mapping[str, Sequence[float]], known: Known) -> None:
    """Raise InputError for constants that contradict each other or what is known of who takes part.

    A participant's weights are nonnegative and sum to one in each round, whatever they are: the sum of their squares
    is at least one over the number of participants.
    """
    n_clients = constants.get("n_clients")
    given = constants.get("window")
    if given is not None and known.window is not None and given < known.window:
        away = f"{known.source} has clients away for {known.window - 1} rounds in a row"
        raise InputError("window", given, f"at least {known.window}, as {away}")
    window = known.window or given
    if window is not None:
        _at_least("staleness", constants, window - 1, f"in a window of {window:g} rounds ages get so large")
    if n_clients is None:
        return
    if "selected_share" in constants:
        cohort = constants["selected_share"] * n_clients
    else:
        cohort = min([constants.get("cohort_size", n_clients), *choices.get("cohort_size", ())])
    turns = math.ceil(n_clients / cohort * (1 - _ROUNDING))
    _at_least("staleness", constants, turns - 1, f"{n_clients:g} clients take turns in cohorts of {cohort:g}")
    fewest = min(known.fewest or n_clients, n_clients)
    _at_least("participation_norm", constants, fewest**-0.5, f"some rounds have at most {fewest:g} of the clients")
    if known.participants is not None:
        least = (1 / known.participants - 1 / n_clients) / n_clients
        said = f"weights that sum to one over {known.participants:g} participants in the mean vary that much"
        _at_least("weight_variance", constants, least, said)


def _at_least(name: str, constants: Mapping[str, float], least: float, why: str) -> None:
    if name in constants and constants[name] < least * (1 - _ROUNDING):
        raise InputError(name, constants[name], f"at least {least:.10g}, as {why}")
