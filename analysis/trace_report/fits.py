"""Which family of `fltheory.participation` describes a log best, by likelihood."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import xlog1py, xlogy

from analysis.trace_report.cyclic import fit_cyclic
from analysis.trace_report.maximise import profile, sections
from analysis.trace_report.transitions import Transitions, transitions
from analysis.traces import Log
from analysis.traces.log import Floats, Ints
from fltheory.estimate import Estimate
from fltheory.participation import Bernoulli, Cyclic, Markov, ParticipationProcess
from fltheory.streams import stream

MOST_FITTED, MOST_CELLS = 1000, 2 * 10**7  # clients, and clients times rounds; of more clients, so many are drawn
KNOTS = np.array([0, 0.003, 0.01, 0.03, *np.linspace(0.1, 0.9, 9), 0.97, 0.99, 0.997, 1])  # of a grid for chains
NOT_YET_ONE = 1 - 1e-6  # a chain that stays for ever has no rate


@dataclass(frozen=True)
class Fit:
    """A family at its maximum likelihood.

    family          what it is, in words; parameters: how many numbers were fitted
    log_likelihood  of all observed rounds of the clients fitted; minus infinity where the family cannot have made them
    observations    observed client-rounds behind it
    common          name of the parameter that all clients share, with its estimate; None where there is none
    process         the fitted process, one client after the other; None where the likelihood is 0
    """

    family: str
    parameters: int
    log_likelihood: float
    observations: int
    common: tuple[str, Estimate] | None
    process: ParticipationProcess | None

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 parameters - 2 log-likelihood: smaller is better."""
        return 2 * self.parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz' criterion, parameters log(observations) - 2 log-likelihood: smaller is better."""
        return self.parameters * math.log(max(self.observations, 1)) - 2 * self.log_likelihood


def fitted_clients(log: Log, seed: int = 0) -> Ints:
    """The clients that `fits` looks at, sorted: those that took part, or 1,000 of them (fewer in a very long log).

    They are drawn without looking at what they did, any set of so many as likely as any other; the seed tells which.
    """
    on, most = np.flatnonzero(log.participations()), max(1, min(MOST_FITTED, MOST_CELLS // log.n_rounds))
    return on if on.size <= most else np.sort(stream(seed, "trace.fits").choice(on, most, replace=False))


def fits(log: Log, seed: int = 0) -> list[Fit]:
    """Every family at its maximum likelihood, all on the same clients and observations; empty if nobody took part.

    Clients that never took part are left out: in each family they would have rate 0 and likelihood 1. The families:
    one coin for all; a coin each; `Markov(p, max_enter)` with a rate each and one `max_enter`;
    `Markov.from_stability(p, stability)` with a rate each and one stability; a two-state chain each; `Cyclic` with a
    rate each and one period. Chains start in their stationary law and take their m-step transition across unobserved
    rounds, so nothing that was observed is left out. With few rounds a client a common `max_enter` or stability comes
    out too small, as a rate is fitted for every client.
    """
    clients = fitted_clients(log, seed)
    if not clients.size:
        return []
    on, n = log.participations()[clients], log.observed_rounds()[clients]
    alone = log.only(clients)
    pairs = transitions(alone, np.arange(clients.size))
    return [_one_coin(on, n), _coins(on, n), _max_enter(pairs, n), _stability(pairs, n), _chains(pairs, n),
            _cyclic(alone, n)]  # fmt: skip


def _one_coin(on: Ints, n: Ints) -> Fit:
    p, total = on.sum() / n.sum(), int(n.sum())
    likelihood = float(xlogy(on.sum(), p) + xlog1py(total - on.sum(), -p))
    return Fit("Bernoulli, one rate", 1, likelihood, total, None, Bernoulli(np.full(on.size, p)))


def _coins(on: Ints, n: Ints) -> Fit:
    p = on / n
    likelihood = float((xlogy(on, p) + xlog1py(n - on, -p)).sum())
    return Fit("Bernoulli, a rate each", on.size, likelihood, int(n.sum()), None, Bernoulli(p))


def _max_enter(pairs: Transitions, n: Ints) -> Fit:
    def correlation(p: Floats, largest: float) -> Floats:
        enter = np.minimum(largest, p / np.maximum(1 - p, 1e-300))
        return 1 - enter / p

    found, p, likelihood = _shared(pairs, correlation, 1e-6, 1.0)
    process = Markov(np.minimum(p, 1.0), found.value)
    return Fit(
        "Markov, a rate each, one max_enter", p.size + 1, likelihood, int(n.sum()), ("max_enter", found), process
    )


def _stability(pairs: Transitions, n: Ints) -> Fit:
    found, p, likelihood = _shared(pairs, lambda p, c: np.full(p.size, c), 0.0, NOT_YET_ONE)
    process = Markov.from_stability(p, found.value)
    return Fit(
        "Markov, a rate each, one stability", p.size + 1, likelihood, int(n.sum()), ("stability", found), process
    )


def _shared(
    pairs: Transitions, correlation: Callable[[Floats, float], Floats], low: float, high: float
) -> tuple[Estimate, Floats, float]:
    """The parameter that clients share, their rates, and the log-likelihood."""

    def at(shared: float) -> tuple[Floats, Floats]:
        return sections(lambda p: pairs.log_likelihood(p, correlation(p, shared)), pairs.n_clients)

    found = profile(lambda shared: float(at(shared)[1].sum()), low, high, pairs.n_clients)
    p, likelihood = at(found.value)
    return found, p, float(likelihood.sum())


def _chains(pairs: Transitions, n: Ints) -> Fit:
    def likelihood(enter: Floats, leave: Floats) -> Floats:
        return pairs.log_likelihood(enter / (enter + leave), (1 - enter) - leave)

    def in_box(low: tuple[Floats, Floats], high: tuple[Floats, Floats]) -> tuple[Floats, Floats, Floats]:
        def best_leave(part: Floats) -> tuple[Floats, Floats]:
            enter = low[0] + (high[0] - low[0]) * part
            leave, value = sections(lambda x: likelihood(enter, low[1] + (high[1] - low[1]) * x), pairs.n_clients)
            return low[1] + (high[1] - low[1]) * leave, value

        part, value = sections(lambda x: best_leave(x)[1], pairs.n_clients)
        return low[0] + (high[0] - low[0]) * part, best_leave(part)[0], value

    none, one = np.zeros(pairs.n_clients), np.ones(pairs.n_clients)
    enter, leave, value = in_box((none, none), (one, one))
    if (pairs.apart > 1).any():  # across unobserved rounds there may be several maxima
        places = list(product(range(1, len(KNOTS) - 1), repeat=2))
        which = np.argmax([likelihood(KNOTS[i] * one, KNOTS[j] * one) for i, j in places], axis=0)
        i, j = np.array(places)[which].T
        other = in_box((KNOTS[i - 1], KNOTS[j - 1]), (KNOTS[i + 1], KNOTS[j + 1]))
        better = other[2] > value
        enter, leave, value = (np.where(better, *both) for both in zip(other, (enter, leave, value), strict=True))
    p = enter / (enter + leave)
    return Fit("Markov, a chain each", 2 * p.size, float(value.sum()), int(n.sum()), None, Markov(p, enter))


def _cyclic(log: Log, n: Ints) -> Fit:
    found = fit_cyclic(log, np.arange(n.size))
    parameters, family = n.size + 1, "cyclic, a rate each, one period"
    if found is None:
        return Fit(family, parameters, -math.inf, int(n.sum()), None, None)
    process = Cyclic(found.on / found.period, found.period)
    return Fit(f"{family} ({found.period})", parameters, found.log_likelihood, int(n.sum()), None, process)
