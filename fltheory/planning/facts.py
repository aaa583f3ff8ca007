"""What a task says of who takes part, held against what is known of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from fltheory.assumptions import bounded_gaps
from fltheory.errors import InputError
from fltheory.participation import (
    Bernoulli,
    Markov,
    ParticipationProcess,
    Permutation,
    Recorded,
    UniformSubset,
    WeightedDraws,
)

# Facts of who takes part: nobody is free to choose them. Where they are given, a plan says that they were.
FACTS = (
    "cohort_divergence", "interval_divergence", "mean_weight_error", "participation_norm", "round_divergence",
    "staleness", "weight_square", "weight_variance",
)  # fmt: skip
_ROUNDING = 1e-9  # of a number that was copied from a message


@dataclass(frozen=True)
class Known:
    """What is known of who takes part; None: not known.

    window   the least number of rounds in which every client takes part
    fewest   participants that a round with participants may have
    inverse  expectation of one over the participants of a round that has some, where all clients are alike
    empty    whether a round may have no participant
    source   what knows it, in words
    """

    window: int | None = None
    fewest: int | None = None
    inverse: float | None = None
    empty: bool | None = None
    source: str = "this process"


def of_process(process: ParticipationProcess) -> Known:
    """What a process tells of that; raises InputError for a log that is not repeated."""
    if isinstance(process, Recorded) and process.end != "repeat":  # its gaps leave out absences at either end
        allowed = "repeat, as a plan is about rounds after the log too"
        raise InputError("end of a recorded process", process.end, allowed)
    window, rates = bounded_gaps(process).constants.get("window"), set(process.rate.tolist())
    if isinstance(process, Permutation | UniformSubset | WeightedDraws):
        return Known(window, process.cohort_size, 1 / process.cohort_size if len(rates) == 1 else None, empty=False)
    if isinstance(process, Bernoulli | Markov):  # clients are independent: all may stay away but those that always come
        always = int(np.count_nonzero(process.rate == 1))
        inverse = _inverse(process.n_clients, *rates) if len(rates) == 1 else None
        return Known(window, max(1, always), inverse, empty=not always)
    return Known(window)


def of_rates(rates: Sequence[float], n_clients: int) -> Known:
    """What long-run rates tell, one for all clients or one a client, where somebody takes part in every round.

    Who comes at least once in any E rounds has a rate of at least 1 / E. Some rounds have no more participants than
    there are in the mean, and one over their number is at least one over their mean, in the mean.
    """
    rate, participants = min(rates), max(1.0, n_clients * sum(rates) / len(rates))
    window = math.ceil(min(1 / rate, 1 / np.finfo(np.float64).tiny) * (1 - _ROUNDING))
    fewest = math.floor(participants * (1 + _ROUNDING))
    return Known(window, fewest, 1 / participants if len(set(rates)) == 1 else None, source=f"a rate of {rate:g}")


def _inverse(n_clients: int, rate: float) -> float:
    """E[1 / participants] of a round with participants, for independent clients of one rate."""
    number = np.arange(1, n_clients + 1)
    chance = binom.pmf(number, n_clients, rate)
    return float((chance / number).sum() / chance.sum())


def require_possible(constants: Mapping[str, float], choices: Mapping[str, Sequence[float]], known: Known) -> None:
    """Raise InputError for constants that contradict each other or what is known of who takes part.

    The weights of a round are nonnegative and sum to one over its participants: their squares sum to at least one over
    the number of these. A round of FedLaAvg has a cohort at most, so that all clients need several to be seen.
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
    if known.inverse is not None:
        least = (known.inverse - 1 / n_clients) / n_clients
        why = f"weights vary that much with the participants of {known.source}"
        _at_least("weight_variance", constants, least, why)


def _at_least(name: str, constants: Mapping[str, float], least: float, why: str) -> None:
    if name in constants and constants[name] < least * (1 - _ROUNDING):
        raise InputError(name, constants[name], f"at least {least:.10g}, as {why}")
