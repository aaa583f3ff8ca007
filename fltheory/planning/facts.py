"""What a task says of who takes part, held against what is known of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from scipy.optimize import brentq

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
from fltheory.participation.base import IndependentRounds
from fltheory.participation.runs import FloatArray
from fltheory.participation.turns import RegularTurns

# Facts of who takes part: nobody is free to choose them. Where they are given, a plan says that they were.
FACTS = (
    "cohort_divergence", "interval_divergence", "mean_weight_error", "participation_norm", "round_divergence",
    "staleness", "weight_square", "weight_variance",
)  # fmt: skip
# Facts that are those of one value of what one is free to choose: an error and a size are those of the weights of one
# cutoff, a divergence over P rounds is that of one P.
_OF_ONE = {"interval_divergence": "interval", "mean_weight_error": "cutoff", "weight_square": "cutoff"}
_MOST_TERMS = 10**8  # of a sum that takes a second or two
ROUNDING = 1e-9  # of a number that was copied from a message


@dataclass(frozen=True)
class Known:
    """What is known of who takes part; None: not known.

    window   the least number of rounds in which every client takes part
    fewest   participants that some rounds with participants do not exceed
    at_most  participants that some rounds, which may be empty, do not exceed
    empty    whether rounds may have no participant
    drawn    whether each client takes part in each round with its rate as the probability; False also where that is
             not known: the rounds of a schedule have no chance, those of a log no law
    coins    whether each client has a coin, a chain or turns of its own: there are rounds of few, which may be rare
    source   what knows it, in words
    whom     of whom `fewest` and `at_most` are, in words
    """

    window: int | None = None
    fewest: int | None = None
    empty: bool | None = None
    drawn: bool = False
    coins: bool = False
    at_most: int | None = None
    source: str = "this process"
    whom: str = "the clients"


def of_process(process: ParticipationProcess) -> Known:
    """What a process tells of that; raises InputError for a log that is not repeated.

    Only the families of this package are known to the round. Of any other, also of a class that is derived from one of
    these and may draw its rounds together, what its rates and gaps tell.
    """
    if isinstance(process, Recorded) and process.end != "repeat":  # its gaps leave out absences at either end
        allowed = "repeat, as a plan is about rounds after the log too"
        raise InputError("end of a recorded process", process.end, allowed)
    window = bounded_gaps(process).constants.get("window")
    fewest, empty = _participants(process) if type(process) in _FAMILIES else (None, None)
    if empty is None:
        rates = of_rates(process.rate, process.n_clients)
        return Known(window or rates.window, None, rates.empty, isinstance(process, IndependentRounds))
    return Known(window, fewest, empty, _drawn(process), isinstance(process, Bernoulli | Cyclic | Markov))


def _drawn(process: ParticipationProcess) -> bool:
    return process.stationary if isinstance(process, RegularTurns) else not isinstance(process, Recorded)


_FAMILIES = (Bernoulli, Cyclic, Markov, Periodic, Permutation, Recorded, UniformSubset, WeightedDraws)


def _participants(process: ParticipationProcess) -> tuple[int | None, bool | None]:
    """`fewest` and `empty` of a process of this package; each is attained by some trace."""
    match process:
        case Permutation() | UniformSubset() | WeightedDraws():
            return process.cohort_size, False
        case Cyclic(preset="as_in_code"):
            # The last round of a cycle is off whatever the first wait. Cycles have one length, or two that differ by
            # one round: then every round of the one meets every round of the other, also the last rounds of both.
            # In the last rounds of the one, those of the other length may be alone; in the first of a cycle all of
            # them may wait but those with a wait of 0, or all but one.
            at_once = process.cycle - process.on == 1
            return min(max(1, int(at_once[process.cycle == cycle].sum())) for cycle in np.unique(process.cycle)), True
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


def of_rates(rates: Sequence[float] | FloatArray, n_clients: int) -> Known:
    """What long-run rates tell, one for all clients or one a client.

    Who comes at least once in any E rounds has a rate of at least 1 / E. With less than one participant in the mean
    some rounds have none; otherwise they may or may not. How few a round with participants has is not known: all may
    come together. A plan that has rates alone takes them for the chances of each round.
    """
    rate, mean = float(min(rates)), n_clients * float(sum(rates)) / len(rates)
    window = math.ceil(min(1 / rate, 1 / np.finfo(np.float64).tiny) * (1 - ROUNDING))
    empty = True if mean < 1 - ROUNDING else None
    return Known(window, None, empty, drawn=True, source=f"a rate of {rate:g}")


def require_possible(
    constants: Mapping[str, float], choices: Mapping[str, Sequence[float]], rates: Sequence[float], known: Known
) -> None:
    """Raise InputError for constants that contradict each other, the rates or what is known of who takes part.

    A `window` is an upper end: ages may stay below one that is given, though not below an absence that is known.
    """
    for name, chosen in _OF_ONE.items():
        if name in constants and len(set(choices.get(chosen, ()))) > 1:
            allowed = f"left out where several values of {chosen} are tried, as it is that of one of them"
            raise InputError(name, constants[name], allowed)
    _possible_problem(constants, choices)
    if len(rates):
        _possible_weights(constants, choices, rates)
    n_clients = constants.get("n_clients")
    given = constants.get("window")
    if known.window is not None:
        away = f"{known.source} has clients away for {known.window - 1} rounds in a row"
        if given is not None and given < known.window:
            raise InputError("window", given, f"at least {known.window}, as {away}")
        _at_least("staleness", constants, known.window - 1, away)
    if n_clients is None:
        return
    cohort = _smallest_cohort(n_clients, constants, choices)
    turns = math.ceil(n_clients / cohort * (1 - ROUNDING))  # a round of FedLaAvg has a cohort at most
    _at_least("staleness", constants, turns - 1, f"{n_clients:g} clients take turns in cohorts of {cohort:g}")
    # The weights of a round are nonnegative and sum to one over its participants: their squares sum to at least one
    # over the number of these.
    fewest, unless = known.fewest, ""
    if fewest is None and len(rates) and not known.empty:
        fewest, unless = _in_the_mean(n_clients, rates), ", if none is empty"
    few = min(fewest or n_clients, n_clients)
    _at_least("participation_norm", constants, few**-0.5, f"some rounds have at most {few:g} of {known.whom}{unless}")
    if len(rates) and known.drawn and not known.empty:
        why = "weights that sum to one vary that much where these rates are the chances of each round"
        _at_least("weight_variance", constants, _least_variance(n_clients, rates), why)


def fewest_in_a_round(known: Known, n_clients: float | None, rates: Sequence[float]) -> int | None:
    """Participants that some rounds do not exceed, those with none among them; None: not known.

    Of coins, chains and turns of their own these are no more than the mean: how seldom fewer come `share_of_few` says.
    """
    if known.coins and n_clients is not None and len(rates):
        return _in_the_mean(n_clients, rates)
    if known.empty:
        return 0
    known_of_some = [few for few in (known.fewest, known.at_most) if few is not None]
    if known_of_some or n_clients is None:
        return min(known_of_some, default=None)
    return _in_the_mean(n_clients, rates)


def share_of_few(known: Known, rates: Sequence[float], asked: float) -> float | None:
    """The share of rounds with fewer than `asked` coins, chains or turns on; None: not known, or long to count.

    In each round they are independent, each on with its rate, of `rates` (n_clients,), so that the number has a
    Poisson-binomial law.
    """
    if not (known.coins and known.drawn) or len(rates) * asked > _MOST_TERMS:
        return None
    return _poisson_binomial(tuple(map(float, rates)), math.ceil(asked))


@lru_cache(maxsize=32)
def _poisson_binomial(rates: tuple[float, ...], below: int) -> float:
    chance = np.zeros(below)  # of 0, 1, ... so far
    chance[0] = 1
    for rate in rates:
        on = rate * chance[:-1]
        chance *= 1 - rate
        chance[1:] += on
    return float(min(chance.sum(), 1))


def _in_the_mean(n_clients: float, rates: Sequence[float]) -> int | None:
    """Participants of a round in the mean, which some rounds do not exceed; None without rates."""
    return math.floor(n_clients * float(np.mean(rates)) * (1 + ROUNDING)) if len(rates) else None


def _possible_problem(constants: Mapping[str, float], choices: Mapping[str, Sequence[float]]) -> None:
    """Raise InputError for numbers that no objective has at once.

    A smooth one with a minimum has |grad f|^2 <= 2 L (f - f*), and f - f* <= L |x - x*|^2 / 2; one that is strongly
    convex has f - f* >= mu |x - x*|^2 / 2.
    """

    def tried(name: str) -> Sequence[float]:
        return [constants[name]] if name in constants else choices.get(name, [])

    for smoothness in map(float, tried("smoothness")):
        for name in ("strong_convexity", "polyak_lojasiewicz"):
            _at_most(name, tried(name), smoothness, "smoothness")
        for square in tried("start_distance_square"):
            _at_most(
                "initial_gap", tried("initial_gap"), smoothness * square / 2, "smoothness * start_distance_square / 2"
            )
    for convexity, square in product(tried("strong_convexity"), tried("start_distance_square")):
        least, what = convexity * square / 2, "strong_convexity * start_distance_square / 2"
        for gap in tried("initial_gap"):
            if gap < least * (1 - ROUNDING):
                raise InputError("initial_gap", gap, f"at least {what} = {least:.10g}, as it is for every objective")


def _at_most(name: str, given: Sequence[float], most: float, what: str) -> None:
    for one in given:
        if one > most * (1 + ROUNDING):
            raise InputError(name, one, f"at most {what} = {most:.10g}, as it is for every objective")


def _least_variance(n_clients: float, rates: Sequence[float]) -> float:
    """The least that the largest variance of a weight can be: 1 / (sum of root(p / (1 - p)))^2 over the rates p.

    A weight of mean m that is 0 but with probability p has E w^2 >= m^2 / p (Cauchy-Schwarz), so a variance of at least
    m^2 (1 - p) / p; with v for the largest of them, m <= root(v p / (1 - p)), and all m sum to one.
    """
    odds = [(rate / (1 - rate)) ** 0.5 if rate < 1 else math.inf for rate in rates]
    return (n_clients * sum(odds) / len(odds)) ** -2


def _possible_weights(
    constants: Mapping[str, float], choices: Mapping[str, Sequence[float]], rates: Sequence[float]
) -> None:
    """Raise InputError for a `mean_weight_error` that weights up to the cutoff exceed; `weight_square` goes with it."""
    if "mean_weight_error" not in constants:
        return
    p = np.asarray(rates, dtype=np.float64)
    cutoff = min([constants["cutoff"]] if "cutoff" in constants else choices.get("cutoff", [math.inf]))
    why = f"weights of at most cutoff = {cutoff:g} are that far from one over these rates"
    _at_least("mean_weight_error", constants, float((np.maximum(1 - p * cutoff, 0) ** 2).mean()), why)
    require_square(constants, p, cutoff)


def require_square(values: Mapping[str, float], rates: Sequence[float] | FloatArray, cutoff: float) -> None:
    """Raise InputError for a `weight_square` that weights of at most `cutoff` with this `mean_weight_error` exceed.

    The error W is the mean of (rate x weight - 1)^2 over clients and rounds, the square Q at least the mean of
    rate x weight^2. As both are convex, neither is larger with each client's mean weight instead, so that one weight a
    client tells the least that they can be.
    """
    p, error = np.asarray(rates, dtype=np.float64), values["mean_weight_error"]

    def weights(log_multiplier: float) -> FloatArray:
        """Of the least Q with their W: p w = a p (1 - p w) for one multiplier a > 0 (Lagrange), or w is the cutoff."""
        return np.minimum(1 / (math.exp(-log_multiplier) + p), cutoff)

    def excess(log_multiplier: float) -> float:
        return float(((1 - p * weights(log_multiplier)) ** 2).mean()) - error

    low, high = -50.0, 50 - math.log(p.min())
    if excess(low) <= 0:  # weights next to 0 have that
        return
    multiplier = brentq(excess, low, high) if excess(high) < 0 else high
    least = float((p * weights(multiplier) ** 2).mean())
    why = f"weights with a mean_weight_error of {error:.6g} are so large at these rates"
    _at_least("weight_square", values, least, why)


def _smallest_cohort(n_clients: float, constants: Mapping[str, float], choices: Mapping[str, Sequence[float]]) -> float:
    sizes = [constants["cohort_size"]] if "cohort_size" in constants else choices.get("cohort_size", [])
    shares = [constants["selected_share"]] if "selected_share" in constants else choices.get("selected_share", [])
    cohorts = [share * n_clients for share in shares]
    for size in sizes:
        for share, cohort in zip(shares, cohorts, strict=True):
            if not math.isclose(size, cohort, rel_tol=ROUNDING):
                allowed = f"{size / n_clients:g}, as cohort_size = {size:g} of n_clients = {n_clients:g} is that share"
                raise InputError("selected_share", share, allowed)
    return min([*sizes, *cohorts, n_clients])


def _at_least(name: str, constants: Mapping[str, float], least: float, why: str) -> None:
    if name in constants and constants[name] < least * (1 - ROUNDING):
        raise InputError(name, constants[name], f"at least {least:.10g}, as {why}")
