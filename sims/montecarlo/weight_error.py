"""A Monte Carlo estimate of FedAU's weight error, for every availability process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count
from fltheory.errors import cutoff as checked_cutoff
from fltheory.estimate import Estimate
from fltheory.participation import TwoStateChain
from fltheory.weights.inputs import lone_rate
from fltheory.weights.law import MOST_ROUNDS
from sims.montecarlo.confidence import checked_level, empirical_bernstein
from sims.montecarlo.engine import run
from sims.montecarlo.intervals import IntervalSampling
from sims.montecarlo.traces import TraceSampling

FloatArray = npt.NDArray[np.float64]

CHUNK = 8192  # replicates
CHUNK_OF_TRACES = 256


@dataclass(frozen=True, eq=False)
class WeightError:
    """The estimated weight error of one client.

    average          of (1/T) sum_{t<T} E[(p w_t - 1)^2], with an interval that holds for all numbers of
                     replicates at once: one may look, and ask for more replicates with the same seed
    error            E[(p w_t - 1)^2], (rounds,), t being the round in which the weight w_t is used
    standard_error   of `error`, (rounds,)
    mean_weight      E[w_t], (rounds,)
    """

    average: Estimate
    error: FloatArray
    standard_error: FloatArray
    mean_weight: FloatArray


def weight_error(
    process_or_p: Any,
    cutoff: float,
    rounds: int,
    replicates: int,
    *,
    seed: int = 0,
    level: float = 0.999,
    workers: int = 1,
    store: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> WeightError:
    """Estimate E[(p w_t - 1)^2] of FedAU's weights (Algorithm 2; the left-hand side of Theorem 3) for one client.

    process_or_p   rate p of independent rounds, or a process with one client, whose `rate` is then p
    replicates     at least so many; rounded up to whole chunks of 8192 (two-state chains: Bernoulli, Markov, ...)
                   or 256 (all others), so that more replicates continue the same sequence
    level          of the interval of `average` (`empirical_bernstein`)
    workers, store, progress   see `sims.montecarlo.engine.run`

    Two-state chains are drawn interval by interval, other processes as whole traces with a fresh seed each. Where
    one client is a two-state chain or follows finitely many histories, `fltheory.weights.exact_weight_law` gives the
    exact values. Raises InputError for bad arguments and a process with several clients.

    >>> from fltheory.weights import exact_weight_law
    >>> estimate = weight_error(0.1, cutoff=50, rounds=200, replicates=8192)
    >>> estimate.average.covers(exact_weight_law(0.1, cutoff=50, rounds=200).error.mean())
    True
    """
    longest, rounds = checked_cutoff("cutoff", cutoff), count("rounds", rounds, most=MOST_ROUNDS)
    replicates, level = count("replicates", replicates), checked_level(level)
    task = _task(process_or_p, longest, rounds)
    averages, sums = [], np.zeros((3, rounds))
    chunks = run(
        task,
        -(-replicates // task.size),
        purpose="montecarlo.weight_error",
        seed=seed,
        workers=workers,
        store=store,
        progress=progress,
    )
    for chunk in chunks:
        averages.append(chunk["average"])
        sums += [chunk["weight"], chunk["square"], chunk["fourth"]]
    average = np.concatenate(averages)
    n, mean, variance = average.size, max(float(average.mean()), 0.0), float(average.var())
    mean_weight, error, fourth = sums / n
    return WeightError(
        average=empirical_bernstein(n, mean, variance, low=0, high=_highest(task), level=level),
        error=error,
        standard_error=np.sqrt(np.maximum(fourth - error**2, 0) / (n - 1)),
        mean_weight=mean_weight,
    )


def _highest(task: IntervalSampling | TraceSampling) -> float:
    """What a replicate's average cannot exceed: 1 <= w_t <= min(K, max(t, 1)), and (p w - 1)^2 is convex in w."""
    longest = np.minimum(task.cutoff, np.maximum(np.arange(task.rounds), 1))
    worst = np.maximum((task.rate - 1) ** 2, (task.rate * longest - 1) ** 2)
    return float(worst.mean()) * (1 + 1e-9)  # the averages are rounded


def _task(process_or_p: Any, cutoff: int | float, rounds: int) -> IntervalSampling | TraceSampling:
    p = lone_rate(process_or_p)
    if p is not None:
        return IntervalSampling(p, 1 - p, p, cutoff, rounds, CHUNK)
    if process_or_p.n_clients != 1:
        raise InputError("process_or_p", process_or_p, "a process with one client (estimate them one by one)")
    within = getattr(process_or_p, "marginal_within", None)  # of all rounds a process may have far more to tell
    rate, chain = float(process_or_p.rate[0]), within(rounds) if within else process_or_p.marginal()
    if isinstance(chain, TwoStateChain):
        return IntervalSampling(float(chain.enter[0]), float(chain.leave[0]), rate, cutoff, rounds, CHUNK)
    return TraceSampling(process_or_p, rate, cutoff, rounds, CHUNK_OF_TRACES)
