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
    Cyclic,
    Markov,
    ParticipationProcess,
    Periodic,
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
    fewest   participants that some rounds with participants do not exceed
    inverse  expectation of one over the participants of a round that has some, where all clients are alike
    empty    whether rounds may have no participant
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
    window = bounded_gaps(process).constants.get("window")
    fewest, empty = _participants(process)
    return Known(window, fewest, _inverse(process), empty)


def _participants(process: ParticipationProcess) -> tuple[int | None, bool | None]:
    """`fewest` and `empty` of a process; a family that is not named here is not known."""
    match process:
        case Permutation() | UniformSubset() | WeightedDraws():
            return process.cohort_size, False
        case Cyclic(preset="as_in_code"):
            # The round before each cycle ends is off whatever the first wait; with cycles of two lengths, which differ
            # by one round, these last rounds meet. In round 0 all others may still wait for those with a wait of 0.
            return max(1, int(np.count_nonzero(process.cycle - process.on == 1))), True
        case Bernoulli() | Markov() | Cyclic():  # independent clients: all may stay away but those that always come
            always = int(np.count_nonzero(process.rate == 1))
            return max(1, always), not always
        case Periodic():
            sizes = process.group_sizes
            return int(sizes.min()), bool(len(sizes) * process.on[0] < process.cycle[0])
        case Recorded():
            sizes = process.participants
            return (int(sizes.min()) if sizes.size else None), sizes.size < process.n_rounds
    return None, None


def of_rates(rates: Sequence[float], n_clients: int) -> Known:
    """What long-run rates tell, one for all clients or one a client.

    Who comes at least once in any E rounds has a rate of at least 1 / E. Some rounds have no more participants than
    there are in the mean, none if that is below one, and one over their number is at least one over their mean, in
    the mean.
    """
    rate, mean = min(rates), n_clients * sum(rates) / len(rates)
    window = math.ceil(min(1 / rate, 1 / np.finfo(np.float64).tiny) * (1 - _ROUNDING))
    some = max(1.0, mean)
    inverse = 1 / some if len(set(rates)) == 1 else None
    empty = True if mean < 1 - _ROUNDING else None
    return Known(window, math.floor(some * (1 + _ROUNDING)), inverse, empty, f"a rate of {rate:g}")


def _inverse(process: ParticipationProcess) -> float | None:
    """E[1 / participants] of a round with participants, for clients that are all alike; None where it is not known."""
    if len(set(process.rate.tolist())) > 1:
        return None
    match process:
        case Permutation() | UniformSubset() | WeightedDraws():
            return 1 / process.cohort_size
        case Bernoulli() | Markov():
            number = np.arange(1, process.n_clients + 1)
            chance = binom.pmf(number, process.n_clients, process.rate[0])
            return float((chance / number).sum() / chance.sum())
    return None


def require_possible(
    constants: Mapping[str, float], choices: Mapping[str, Sequence[float]], rates: Sequence[float], known: Known
) -> None:
    """Raise InputError for constants that contradict each other, the rates or what is known of who takes part."""
    if len(rates):
        _possible_weights(constants, rates)
    n_clients = constants.get("n_clients")
    given = constants.get("window")
    if given is not None and known.window is not None and given < known.window:
        away = f"{known.source} has clients away for {known.window - 1} rounds in a row"
        raise InputError("window", given, f"at least {known.window}, as {away}")
    window = given or known.window
    if window is not None:
        _at_least("staleness", constants, window - 1, f"in a window of {window:g} rounds ages get so large")
    if n_clients is None:
        return
    cohort = _smallest_cohort(n_clients, constants, choices)
    turns = math.ceil(n_clients / cohort * (1 - _ROUNDING))  # a round of FedLaAvg has a cohort at most
    _at_least("staleness", constants, turns - 1, f"{n_clients:g} clients take turns in cohorts of {cohort:g}")
    # The weights of a round are nonnegative and sum to one over its participants: their squares sum to at least one
    # over the number of these.
    fewest = min(known.fewest or n_clients, n_clients)
    _at_least("participation_norm", constants, fewest**-0.5, f"some rounds have at most {fewest:g} of the clients")
    if known.inverse is not None:
        least = (known.inverse - 1 / n_clients) / n_clients
        why = f"weights vary that much with the participants of {known.source}"
        _at_least("weight_variance", constants, least, why)


def _possible_weights(constants: Mapping[str, float], rates: Sequence[float]) -> None:
    """The means over clients and rounds of q = rate x weight: W = E (q - 1)^2, and E q^2 / rate <= Q.

    Weights of at most K have q <= rate x K, which bounds W from below; and the root of E q^2 is at least 1 minus that
    of W (Minkowski), which bounds Q.
    """
    if "cutoff" in constants:
        short = [max(0.0, 1 - rate * constants["cutoff"]) ** 2 for rate in rates]
        why = f"weights of at most cutoff = {constants['cutoff']:g} are that far from one over these rates"
        _at_least("mean_weight_error", constants, sum(short) / len(short), why)
    if "mean_weight_error" in constants:
        least = max(0.0, 1 - constants["mean_weight_error"] ** 0.5) ** 2 / max(rates)
        _at_least("weight_square", constants, least, "weights with that mean_weight_error are so large at these rates")


def _smallest_cohort(n_clients: float, constants: Mapping[str, float], choices: Mapping[str, Sequence[float]]) -> float:
    sizes = [constants["cohort_size"]] if "cohort_size" in constants else choices.get("cohort_size", [])
    shares = [constants["selected_share"]] if "selected_share" in constants else choices.get("selected_share", [])
    cohorts = [share * n_clients for share in shares]
    for size in sizes:
        for share, cohort in zip(shares, cohorts, strict=True):
            if not math.isclose(size, cohort, rel_tol=_ROUNDING):
                allowed = f"{size / n_clients:g}, as cohort_size = {size:g} of n_clients = {n_clients:g} is that share"
                raise InputError("selected_share", share, allowed)
    return min([*sizes, *cohorts, n_clients])


def _at_least(name: str, constants: Mapping[str, float], least: float, why: str) -> None:
    if name in constants and constants[name] < least * (1 - _ROUNDING):
        raise InputError(name, constants[name], f"at least {least:.10g}, as {why}")
