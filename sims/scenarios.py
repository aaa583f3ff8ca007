"""Participation as finitely many outcomes a round, with exact probabilities: what the exact engine runs on.

The first functions say who takes part, the later ones build on a scenario: what roles participants get, what weights,
who of the available is asked. Probabilities may be Fractions, ints or floats.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory import errors
from fltheory.errors import InputError, count, probabilities
from fltheory.weights import FedAUWeights
from sims.algorithms.protocol import Cohort, State
from sims.arrays import Array, marked
from sims.selection import Selection

Outcome = tuple[Any, Cohort, Any]


@dataclass(frozen=True)
class Scenario:
    """A participation process with finitely many outcomes in a round.

    start      state of the process before round 0 -> probability
    outcomes   (state of the process, discrete state of the algorithm) -> [(probability, cohort, next state)]; cohorts
               have no batch axes
    """

    start: Mapping[Any, Any]
    outcomes: Callable[[Any, Mapping[str, Array]], Sequence[Outcome]]


def cohort(participates: npt.ArrayLike) -> Cohort:
    """The cohort of the clients that take part, given as truth values (n_clients,)."""
    valid = _truths(participates)
    return Cohort(np.arange(len(valid)), valid, len(valid))


def _truths(values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Truth values, or 0 and 1 for them; the text "no" would count as true."""
    given = np.asarray(values)
    if given.dtype.kind not in "biufO" or not np.isin(given, (0, 1)).all():
        raise InputError("participation", values, "truth values")
    return given.astype(np.bool_)


def schedule(rounds: Sequence[npt.ArrayLike]) -> Scenario:
    """Who takes part in each round of a period, truth values (rounds, n_clients), over and over.

    >>> scenario = schedule([[True, False], [False, True]])
    >>> [(p, who.valid.tolist(), then) for p, who, then in scenario.outcomes(1, {})]
    [(1, [False, True], 0)]
    """
    if not all(_truths(row).ndim == 1 for row in rounds):
        raise InputError("rounds", rounds, "at least one round, each with a truth value for every client")
    cohorts = [cohort(row) for row in rounds]
    if len({who.n_clients for who in cohorts}) != 1:
        raise InputError("rounds", rounds, "at least one round, each with a truth value for every client")
    return Scenario({0: 1}, lambda r, discrete: [(1, cohorts[r], (r + 1) % len(cohorts))])


def bernoulli(rates: Sequence[Any]) -> Scenario:
    """Client n takes part with probability rates[n], independently of everything: all subsets."""
    _each_client(rates=probabilities("rates", rates, zero=True))
    outcomes = [(chance, cohort(on), None) for chance, on in _independent(_exact_decimals(rates))]
    return Scenario({None: 1}, lambda process, discrete: outcomes)


def uniform_subsets(n_clients: int, size: int) -> Scenario:
    """A subset of `size` clients, all equally likely."""
    size = count("size", size, least=0)
    if size > count("n_clients", n_clients):
        raise InputError("size", size, f"at most the number of clients, {n_clients}")
    chance = Fraction(1, math.comb(n_clients, size))
    chosen = itertools.combinations(range(n_clients), size)
    outcomes = [(chance, cohort(np.isin(np.arange(n_clients), subset)), None) for subset in chosen]
    return Scenario({None: 1}, lambda process, discrete: outcomes)


def markov(enter: Sequence[Any], leave: Sequence[Any]) -> Scenario:
    """Independent two-state clients from a stationary start: P(off -> on) = enter, P(on -> off) = leave."""
    _each_client(enter=probabilities("enter", enter), leave=probabilities("leave", leave, zero=True))
    enter, leave = _exact_decimals(enter), _exact_decimals(leave)
    rates = [Fraction(1) * a / (a + b) for a, b in zip(enter, leave, strict=True)]
    start = {on: chance for chance, on in _independent(rates)}

    def outcomes(on: tuple[bool, ...], discrete: Mapping[str, Array]) -> list[Outcome]:
        stays = [1 - b if now else a for now, a, b in zip(on, enter, leave, strict=True)]
        return [(chance, cohort(on), then) for chance, then in _independent(stays)]

    return Scenario(start, outcomes)


def in_turn(first: Scenario, rounds: int, second: Scenario) -> Scenario:
    """One scenario for a number of rounds, then another from its start."""
    rounds = count("rounds", rounds)

    def outcomes(state: tuple[int, Any], discrete: Mapping[str, Array]) -> list[Outcome]:
        r, process = state
        if r == rounds:
            return [(chance, who, (r, then)) for chance, who, then in second.outcomes(process, discrete)]
        now = first.outcomes(process, discrete)
        if r + 1 < rounds:
            return [(chance, who, (r + 1, then)) for chance, who, then in now]
        starts = second.start.items()
        return [(chance * p, who, (rounds, process)) for chance, who, _ in now for process, p in starts]

    return Scenario({(0, process): chance for process, chance in first.start.items()}, outcomes)


def snapshots(
    uniform: Scenario, otherwise: Scenario, *, interval: int | None = None, probability: Any = None
) -> Scenario:
    """FAST: in rounds 0, interval, 2 interval, ..., or with a probability in each round, `uniform`, else `otherwise`.

    Both go on in every round, whether it is theirs or not. Raises InputError unless exactly one of interval and
    probability is given.
    """
    if (interval is None) == (probability is None):
        raise InputError("interval and probability", (interval, probability), "one of them and not both")
    if interval is None:
        probabilities("probability", probability, zero=True)
        (probability,) = _exact_decimals([probability])
    period = 1 if interval is None else count("interval", interval)

    def outcomes(state: tuple[int, Any, Any], discrete: Mapping[str, Array]) -> list[Outcome]:
        r, one, other = state
        chance = int(r == 0) if probability is None else probability
        ours, theirs = uniform.outcomes(one, discrete), otherwise.outcomes(other, discrete)
        after = (r + 1) % period
        return [
            *((chance * p * q, who, (after, a, b)) for p, who, a in ours for b, q in _following(theirs).items()),
            *(((1 - chance) * p * q, who, (after, a, b)) for p, who, b in theirs for a, q in _following(ours).items()),
        ]

    starts = itertools.product(uniform.start.items(), otherwise.start.items())
    return Scenario({(0, a, b): p * q for (a, p), (b, q) in starts}, outcomes)


def roles(scenario: Scenario, probability: Any) -> Scenario:
    """Every participant is an anchor (role 1) with this probability, else a miner (role 0), independently.

    A sequence of probabilities is gone through round by round, over and over: (1, 0) is FedAMD's sequential form.
    """
    cycle = _exact_decimals(probability if isinstance(probability, Sequence | np.ndarray) else [probability])
    given = probabilities("probability", cycle, zero=True)
    if given.ndim != 1 or not given.size:
        raise InputError("probability", probability, "a number in [0, 1], or a list of at least one")

    def outcomes(state: tuple[int, Any], discrete: Mapping[str, Array]) -> Iterator[Outcome]:
        r, process = state
        for chance, who, then in scenario.outcomes(process, discrete):
            for share, anchors in _independent([cycle[r]] * int(np.sum(who.valid))):
                role = np.zeros(who.valid.shape, dtype=np.int64)
                role[who.valid] = anchors
                yield chance * share, replace(who, role=role), ((r + 1) % len(cycle), then)

    return Scenario({(0, process): p for process, p in scenario.start.items()}, lambda *state: list(outcomes(*state)))


def selected(scenario: Scenario, selection: Selection) -> Scenario:
    """Who takes part is selected, without chance, from those who take part in the scenario: they are the available."""

    def outcomes(process: Any, discrete: Mapping[str, Array]) -> list[Outcome]:
        state = State({}, dict(discrete))
        return [
            (chance, selection(_present(who), state, {}, None)[0], then)
            for chance, who, then in scenario.outcomes(process, discrete)
        ]

    return replace(scenario, outcomes=outcomes)


def weighted(scenario: Scenario, weights: npt.ArrayLike | Callable[[Array], npt.ArrayLike]) -> Scenario:
    """Aggregation weights (n_clients,), or as a function of who takes part, bool (n_clients,)."""

    def outcomes(process: Any, discrete: Mapping[str, Array]) -> list[Outcome]:
        return [
            (chance, _weighing(who, weights(_present(who)) if callable(weights) else weights), then)
            for chance, who, then in scenario.outcomes(process, discrete)
        ]

    return replace(scenario, outcomes=outcomes)


def average_participating(present: Array) -> list[Fraction]:
    """Weights N / |S|: with them `fedavg` averages over the participants."""
    return [Fraction(len(present), max(1, int(present.sum())))] * len(present)


def fedau_weighted(scenario: Scenario, cutoff: float) -> Scenario:
    """FedAU's weights, from who took part in earlier rounds; they depend on the path.

    The process also remembers what the estimator does. Weights are Fractions: an interval's mean length in t rounds
    has a denominator of at most t, and the nearest such number to its float is the mean itself.
    """
    errors.cutoff("cutoff", cutoff)

    def outcomes(state: tuple[Any, Any], discrete: Mapping[str, Array]) -> Iterator[Outcome]:
        process, (rounds, completed, unfinished) = state
        for chance, who, then in scenario.outcomes(process, discrete):
            estimator = FedAUWeights(who.n_clients, cutoff)
            if rounds:
                estimator.load_state_dict({"rounds": rounds, "completed": completed, "open": unfinished})
            exact = [Fraction(weight).limit_denominator(rounds + 1) for weight in estimator.weights]
            estimator.update(_present(who))
            after = {name: tuple(np.ravel(values).tolist()) for name, values in estimator.state_dict().items()}
            memory = (rounds + 1, after["completed"], after["open"])
            yield chance, _weighing(who, exact), (then, memory)

    start = {(process, (0, (), ())): chance for process, chance in scenario.start.items()}
    return Scenario(start, lambda *state: list(outcomes(*state)))


def _each_client(**numbers: npt.NDArray[np.float64]) -> None:
    """Raise InputError unless these are lists with a number for each client, all of one length."""
    first, *_ = numbers
    for name, values in numbers.items():
        if values.ndim != 1:
            raise InputError(name, values, "a list with a number for each client")
        if len(values) != len(numbers[first]):
            raise InputError(name, values, f"{len(numbers[first])} numbers, as many as {first}")


def _exact_decimals(numbers: Sequence[Any] | npt.NDArray[Any]) -> list[Any]:
    """The numbers, Decimals as Fractions: those multiply with no other kind."""
    return [Fraction(value) if isinstance(value, Decimal) else value for value in numbers]


def _independent(rates: Sequence[Any]) -> Iterator[tuple[Any, tuple[bool, ...]]]:
    """(probability, who) for independent coins, the impossible left out."""
    for on in itertools.product((False, True), repeat=len(rates)):
        chance = math.prod((rate if now else 1 - rate for now, rate in zip(on, rates, strict=True)), start=1)
        if chance:
            yield chance, on


def _following(outcomes: Sequence[Outcome]) -> dict[Any, Any]:
    """Next state of a process -> probability."""
    following: dict[Any, Any] = {}
    for chance, _, then in outcomes:
        following[then] = following.get(then, 0) + chance
    return following


def _present(who: Cohort) -> Array:
    """Who takes part, bool (n_clients,)."""
    return marked(who.clients, who.valid, who.n_clients)


def _weighing(who: Cohort, weights: Any) -> Cohort:
    """The cohort with weights, given one a client."""
    values = np.array(weights, dtype=object)
    if values.shape != (who.n_clients,):
        raise InputError("weights", weights, f"{who.n_clients} numbers, one a client")
    return replace(who, weight=values[who.clients])
