"""Hypothesis strategies: participation histories, rates, processes, logs.

Each shrinks towards few clients, few rounds, nobody taking part, rates of 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import DrawFn, SearchStrategy

from fltheory.errors import count
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
from fltheory.participation.runs import BoolArray, FloatArray, IntArray

Log = tuple[IntArray, IntArray, int, int]
LARGEST_SEED = 2**32 - 1


@st.composite
def participation_histories(
    draw: DrawFn, max_clients: int = 4, max_rounds: int = 30, min_clients: int = 1, min_rounds: int = 1
) -> BoolArray:
    """Bool arrays (rounds, clients): any pattern, traces of every family, and those that break estimators.

    The last are: nobody ever, everybody always, one client that is never or only once there, long gaps, blocks of
    clients that take turns.
    """
    n_clients = draw(st.integers(count("min_clients", min_clients), count("max_clients", max_clients)))
    rounds = draw(st.integers(count("min_rounds", min_rounds, least=0), count("max_rounds", max_rounds)))
    if rounds == 0:
        return np.zeros((0, n_clients), dtype=np.bool_)
    kind = draw(st.sampled_from(["any", "adversarial", "process"]))
    if kind == "any":
        return draw(arrays(np.bool_, (rounds, n_clients)))
    if kind == "adversarial":
        return draw(_adversarial(rounds, n_clients))
    process = draw(participation_processes(n_clients))
    return process.sample(rounds, draw(st.integers(0, LARGEST_SEED)))


@st.composite
def _adversarial(draw: DrawFn, rounds: int, n_clients: int) -> BoolArray:
    everybody = draw(st.booleans())
    history = np.full((rounds, n_clients), everybody)
    client = draw(st.integers(0, n_clients - 1))
    shape = draw(st.sampled_from(["alike", "never", "once", "gaps", "turns"]))
    when = np.arange(rounds)
    if shape == "never":
        history[:, client] = False
    elif shape == "once":
        history[:, client] = when == draw(st.integers(0, rounds - 1))
    elif shape == "gaps":
        history[:, client] = when % draw(st.integers(1, rounds)) == 0
    elif shape == "turns":
        length = draw(st.integers(1, rounds))
        history = (when[:, None] // length) % n_clients == np.arange(n_clients)
    return history


def participation_rates(n_clients: int, least: float = 1e-300) -> SearchStrategy[FloatArray]:
    """Float arrays (n_clients,) of rates in [least, 1], very small ones and 1 among them."""
    each = st.one_of(st.sampled_from([1.0, 0.5, 0.1, least]), st.floats(least, 1.0))
    return arrays(np.float64, count("n_clients", n_clients), elements=each)


@st.composite
def participation_processes(draw: DrawFn, n_clients: int) -> ParticipationProcess:
    """A process of every built-in family, of n_clients clients."""
    count("n_clients", n_clients)
    cohort, rates = st.integers(1, n_clients), participation_rates(n_clients, least=0.01)
    family = draw(st.sampled_from(["bernoulli", "markov", "cyclic", "periodic", "subset", "permutation", "weighted",
                                   "recorded"]))  # fmt: skip
    if family == "bernoulli":
        return Bernoulli(draw(rates))
    if family == "markov":
        return Markov.from_stability(draw(rates), draw(st.sampled_from([0.0, 0.5, 0.9])))
    if family == "cyclic":
        return Cyclic(draw(rates), period=draw(st.integers(1, 12)))
    if family == "periodic":
        return Periodic.block_cyclic(n_clients, draw(cohort), draw(st.integers(1, 5)))
    if family == "subset":
        return UniformSubset(n_clients, draw(cohort))
    if family == "permutation":
        return Permutation(n_clients, draw(st.sampled_from([s for s in range(1, n_clients + 1) if n_clients % s == 0])))
    if family == "weighted":
        return WeightedDraws(draw(st.sampled_from(["beta", "gamma", "weibull"])), n_clients, draw(cohort))
    log: Any = draw(arrays(np.bool_, (draw(st.integers(1, 12)), n_clients)))
    return Recorded.from_matrix(log, end=draw(st.sampled_from(["repeat", "hold"])))


@st.composite
def participation_logs(draw: DrawFn, max_clients: int = 5, max_rounds: int = 20) -> Log:
    """(client, round, n_clients, rounds): events as a log has them, unsorted and with duplicates.

    `client` and `round` are int64 arrays of one length, which may be 0.
    """
    history = draw(participation_histories(max_clients, max_rounds))
    when, client = np.nonzero(history)
    twice = draw(st.lists(st.integers(0, max(len(when) - 1, 0)), max_size=3)) if len(when) else []
    order = draw(st.permutations([*range(len(when)), *twice]))
    rounds, n_clients = history.shape
    return client[list(order)].astype(np.int64), when[list(order)].astype(np.int64), n_clients, rounds
